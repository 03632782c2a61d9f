"""The plugin `turbocql_pytest`, under a name for pytest's ``-p`` and ``pytest_plugins``."""

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
