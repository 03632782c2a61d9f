"""Intended differences that no program in programs/ can show, with the paths of their tests.

Each difference is named by the key of its entry in `cassandra.migrate.table`.
"""

from __future__ import annotations

from tests.differential.compare import Defended, documented

ELSEWHERE: list[Defended] = [
    documented(
        "callbacks",
        test="tests/unit/cluster/test_response_future.py",
    ),
    documented(
        "forks",
        test="tests/unit/lifetimes/test_processes.py",
    ),
    documented(
        "connection-class",
        test="tests/unit/drop_in/test_parts.py",
    ),
    documented(
        "system-exit",
        test="tests/unit/faults",
    ),
    documented(
        "metadata-read-only",
        test="tests/unit/metadata",
    ),
    documented(
        "set-keyspace",
        test="tests/unit/drop_in/test_tracers.py",
    ),
    documented(
        "replaced-handlers",
        test="tests/unit/drop_in/test_tracers.py",
    ),
    documented(
        "error-notes",
        test="tests/unit/engine",
    ),
    documented(
        "error-texts",
        test="tests/unit/faults",
    ),
    documented(
        "bound-str",
        test="tests/unit/query/test_bound.py",
    ),
    documented(
        "connection-counts",
        test="tests/unit/client/test_pool_sizes.py",
    ),
    documented(
        "prepare-scope",
        test="tests/unit/engine/prepare/test_statements_scope.py",
    ),
    documented(
        "metrics",
        test="tests/unit/test_metrics.py",
    ),
    documented(
        "session-id",
        test="tests/unit/scylla",
    ),
    documented(
        "scylla-cloud",
        test="tests/unit/drop_in/test_settings.py",
    ),
    documented(
        "enterprise",
        test="tests/unit/drop_in/test_enterprise.py",
    ),
    documented(
        "blocking-parts",
        test="tests/unit/drop_in/test_parts.py",
    ),
    documented(
        "shared-tables",
        test="tests/unit/cqlengine/test_models.py",
    ),
    documented(
        "default-ttl",
        test="tests/integration/cqlengine",
    ),
    documented(
        "old-schemas",
        test="tests/unit/engine/schema",
    ),
    documented("missing-names", test="tests/unit/drop_in/test_names.py"),
    documented("compiled-parts", test="tests/unit/migrate/test_table.py"),
    documented("private-names", test="tests/unit/migrate/test_table.py"),
    documented("distribution-name", test="tests/shims"),
    documented("build-switches", test="tests/tools/test_build_switches.py"),
    documented("eventlet", test="tests/green"),
    documented("other-drivers", test="tests/unit/migrate/test_table.py"),
]
