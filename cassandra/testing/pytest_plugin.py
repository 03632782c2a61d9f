"""The pytest plugin, under the path that ``pytest -p`` and ``pytest_plugins`` name. It stands in
`turbocql_pytest`.
"""

from __future__ import annotations

from turbocql_pytest import cassandra_cluster, cassandra_session, pytest_load_initial_conftests

__all__ = ["cassandra_cluster", "cassandra_session", "pytest_load_initial_conftests"]
