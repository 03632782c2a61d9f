"""Intended differences that no program in programs/ can show, with the paths of their tests.

Each is named by the key of its entry in `cassandra.migrate.table`.
"""

from __future__ import annotations

from tests.differential.compare import Defended, told

ELSEWHERE: list[Defended] = [
    told(
        "callbacks",
        test="tests/unit/cluster/test_response_future.py",
    ),
    told(
        "forks",
        test="tests/unit/lifetimes/test_processes.py",
    ),
    told(
        "connection-class",
        test="tests/unit/drop_in/test_parts.py",
    ),
    told(
        "system-exit",
        test="tests/unit/faults",
    ),
    told(
        "metadata-read-only",
        test="tests/unit/metadata",
    ),
    told(
        "set-keyspace",
        test="tests/unit/drop_in/test_tracers.py",
    ),
    told(
        "error-notes",
        test="tests/unit/engine",
    ),
    told(
        "error-texts",
        test="tests/unit/faults",
    ),
    told(
        "bound-str",
        test="tests/unit/query/test_bound.py",
    ),
    told(
        "vector-types",
        test="tests/unit/drop_in/test_behaviour.py",
    ),
    told(
        "connection-counts",
        test="tests/unit/client/test_pool_sizes.py",
    ),
    told(
        "prepare-scope",
        test="tests/unit/engine/prepare/test_statements_scope.py",
    ),
    told(
        "metrics",
        test="tests/unit/test_metrics.py",
    ),
    told(
        "session-id",
        test="tests/unit/scylla",
    ),
    told(
        "scylla-cloud",
        test="tests/unit/drop_in/test_settings.py",
    ),
    told(
        "enterprise",
        test="tests/unit/drop_in/test_enterprise.py",
    ),
    told(
        "blocking-parts",
        test="tests/unit/drop_in/test_parts.py",
    ),
    told(
        "shared-tables",
        test="tests/unit/cqlengine/test_models.py",
    ),
    told(
        "default-ttl",
        test="tests/integration/cqlengine",
    ),
    told(
        "old-schemas",
        test="tests/unit/engine/schema",
    ),
    told("missing-names", test="tests/unit/drop_in/test_names.py"),
    told("compiled-parts", test="tests/unit/migrate/test_table.py"),
    told("private-names", test="tests/unit/migrate/test_table.py"),
    told("unknown-arguments", test="tests/unit/drop_in/test_settings.py"),
    told("distribution-name", test="tests/shims"),
    told("build-switches", test="tests/tools/test_build_switches.py"),
    told("eventlet", test="tests/green"),
    told("other-drivers", test="tests/unit/migrate/test_table.py"),
]
