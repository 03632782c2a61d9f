"""The pytest plugin `turbocql_pytest`, under another name for ``-p`` and ``pytest_plugins``."""

from __future__ import annotations

from turbocql_pytest import (
    cassandra_cluster,
    cassandra_replay,
    cassandra_session,
    pytest_configure,
    pytest_load_initial_conftests,
)

__all__ = [
    "cassandra_cluster",
    "cassandra_replay",
    "cassandra_session",
    "pytest_configure",
    "pytest_load_initial_conftests",
]
