"""Fixtures for tests on a real node, so that a test is three lines::

    def test_insert(cassandra_session):
        cassandra_session.execute("CREATE TABLE t (k int PRIMARY KEY)")
        cassandra_session.execute("INSERT INTO t (k) VALUES (1)")

pytest imports this file at every start, whether a test wants a node or not. So it imports nothing heavy, and nothing
looks for Java before a test asks for a fixture.

Options: ``--cassandra-version`` and ``--cassandra-nodes``, or ``cassandra_version`` and ``cassandra_nodes`` in an ini
file.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cassandra.testing.local import LocalCluster

__all__ = ["cassandra_cluster", "cassandra_session"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options on the command line win over those of the ini file."""
    group = parser.getgroup("cassandra", "real Cassandra nodes (turbocql)")
    group.addoption(
        "--cassandra-version", metavar="VERSION", help="the version that the fixture cassandra_cluster runs"
    )
    group.addoption("--cassandra-nodes", metavar="N", type=int, help="how many nodes it has (default: 1)")
    parser.addini("cassandra_version", "the version of Cassandra that the fixture cassandra_cluster runs", default="")
    parser.addini("cassandra_nodes", "how many nodes the fixture cassandra_cluster has", default="1")


def _setting(config: pytest.Config, name: str) -> str:
    given = config.getoption(name)
    return str(config.getini(name) if given is None else given)


@pytest.fixture(scope="session")
def cassandra_cluster(pytestconfig: pytest.Config) -> Iterator[LocalCluster]:
    """A started :class:`cassandra.testing.LocalCluster`, one for the whole run; stopped at its end."""
    # Here, not above: this file is imported at every start of pytest.
    from cassandra.testing.local import LocalCluster
    from cassandra.testing.versions import DEFAULT_VERSION

    nodes = _setting(pytestconfig, "cassandra_nodes")
    if not nodes.isdigit() or int(nodes) < 1:
        raise pytest.UsageError(f"cassandra_nodes={nodes!r}: expected a number from 1 up")
    with LocalCluster(int(nodes), _setting(pytestconfig, "cassandra_version") or DEFAULT_VERSION) as cluster:
        yield cluster


@pytest.fixture
def cassandra_session(cassandra_cluster: LocalCluster) -> Iterator[Any]:
    """A session of the driver in a fresh keyspace, which is dropped afterwards."""
    # The driver is loaded by the tests that use it alone: pytest imports this file at every start.
    from cassandra.cluster import Cluster

    keyspace = f"test_{uuid.uuid4().hex[:12]}"
    replicas = min(3, len(cassandra_cluster.contact_points))
    cluster = Cluster(cassandra_cluster.contact_points, port=cassandra_cluster.port)
    try:
        session = cluster.connect()
        session.execute(
            f"CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}"
        )
        try:
            session.set_keyspace(keyspace)
            yield session
        finally:
            session.execute(f"DROP KEYSPACE {keyspace}")
    finally:
        cluster.shutdown()
