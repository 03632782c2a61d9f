"""`Agreement`, which waits until all live nodes report the same schema version.

The tests use no nodes.
"""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.engine.schema.agreement import Agreement, versions_in
from cassandra.engine.schema.scope import SchemaAgreementScope
from cassandra.errors import ConnectionException, ConnectionShutdown
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.policies.balancing import HostDistance
from tests.unit.engine.partners import engine_settings, fake_connection, new_host

LOCAL_RACK, LOCAL, REMOTE = HostDistance.LOCAL_RACK, HostDistance.LOCAL, HostDistance.REMOTE
# These are the host ids of a node that is up and of a node that is down.
UP_ID, DOWN_ID = uuid.UUID(int=1), uuid.UUID(int=2)


class FakeVersions:
    """Fake schema versions of the queried node, a peer that is up, and a peer that is down.

    While `errors` is not empty, a query raises its last item. `queried_connections` has an entry
    for each query.

    :param local: the version of the queried node.
    :param up: the version of the peer that is up; None if it reports none.
    :param down: the version of the peer that is down.
    """

    def __init__(self, *, local: str = "one", up: Any = "one", down: Any = "two") -> None:
        self.local = local
        self.up = up
        self.down = down
        self.queried_connections: list[Any] = []
        self.errors: list[Exception] = []

    async def rows(self, connection: Any, query: str) -> list[dict[str, Any]]:
        """Return the schema version of the queried node or of its peers, or raise an error."""
        self.queried_connections.append(connection)
        if self.errors:
            raise self.errors.pop()
        if "system.local" in query:
            return [{"schema_version": self.local}]
        return [
            {"host_id": UP_ID, "schema_version": self.up},
            {"host_id": DOWN_ID, "schema_version": self.down},
            {"host_id": uuid.UUID(int=3), "schema_version": "that of an unknown node"},
        ]


def agreement_of(versions: FakeVersions, control: Any = None, is_over: bool = False) -> Agreement:
    """Return an `Agreement` between nodes with these versions.

    :param control: the control connection. None means that there is none.
    :param is_over: True if the cluster is shut down.
    """
    hosts = [new_host("10.0.0.1"), new_host("10.0.0.2", is_up=False)]
    hosts[0].host_id, hosts[1].host_id = UP_ID, DOWN_ID
    metadata = Metadata()
    metadata._replace_hosts(hosts)
    return Agreement(engine_settings(), metadata, versions.rows, lambda: control, lambda: is_over)


async def test_nodes_that_are_down_do_not_count() -> None:
    """A node that is down does not prevent agreement, although its version is "two" here.

    A node that is down cannot change its version, so waiting for it would be useless.
    """
    assert await agreement_of(FakeVersions()).wait(fake_connection())


async def test_a_peer_without_a_version_does_not_count() -> None:
    """A peer without a schema version does not prevent agreement: it is still joining."""
    assert await agreement_of(FakeVersions(up=None)).wait(fake_connection())


async def test_nodes_that_disagree_are_asked_until_the_wait_ends() -> None:
    """While the nodes disagree, their versions are queried again and again, until the wait ends."""
    versions = FakeVersions(up="two")
    assert not await agreement_of(versions).wait(fake_connection(), max_wait=0.3)
    queries_per_round = 2
    assert len(versions.queried_connections) >= 2 * queries_per_round


async def test_without_time_no_query_is_sent() -> None:
    """With a wait of 0 or fewer seconds, `wait` returns True without a query."""
    versions = FakeVersions()
    for seconds in (0, -1):
        assert await agreement_of(versions).wait(fake_connection(), max_wait=seconds)
    assert versions.queried_connections == []


async def test_after_a_lost_answer_the_versions_are_queried_again() -> None:
    """If a query of versions fails with a lost connection, the versions are queried once more."""
    versions = FakeVersions()
    versions.errors = [ConnectionException("lost")]
    assert await agreement_of(versions).wait(fake_connection(), max_wait=5)


async def test_if_the_connection_is_closed_the_control_connection_is_used() -> None:
    """If the given connection is closed, the versions are queried on the control connection."""
    versions = FakeVersions()
    control = fake_connection("10.0.0.7")
    assert await agreement_of(versions, control).wait(fake_connection(closed=True))
    assert versions.queried_connections == [control, control]


async def test_if_the_cluster_is_shut_down_the_wait_raises() -> None:
    """If the cluster is shut down, `wait` raises the error of the query, and does not try again."""
    versions = FakeVersions()
    versions.errors = [ConnectionShutdown("the cluster is shut down")]
    with pytest.raises(ConnectionShutdown):
        await agreement_of(versions, is_over=True).wait(fake_connection(), max_wait=5)


# -- the hosts of a scope --------------------------------------------------------------------------


def pools(*distances: int) -> list[Any]:
    """Return a pool with one connection for each of these distances."""
    return [
        SimpleNamespace(distance=distance, connections=[fake_connection(f"10.0.0.{distance + 1}")])
        for distance in distances
    ]


@pytest.mark.parametrize(
    ("scope", "distances", "query_count"),
    [
        ("rack", (LOCAL_RACK, LOCAL_RACK, LOCAL, REMOTE), 2),
        ("dc", (LOCAL_RACK, LOCAL_RACK, LOCAL, REMOTE), 3),
        ("cluster", (LOCAL_RACK, LOCAL_RACK, LOCAL, REMOTE), 4),
        # No host is in the local rack, so the nearest hosts, which are in the local data centre,
        # are queried.
        ("rack", (LOCAL, LOCAL, REMOTE), 2),
        ("dc", (LOCAL, REMOTE), 1),
    ],
)
async def test_the_hosts_of_a_scope_are_asked(
    scope: str, distances: tuple[int, ...], query_count: int
) -> None:
    """`versions_in` queries each host in the scope for its own schema version."""
    versions = FakeVersions()
    schema_versions = await versions_in(
        SchemaAgreementScope(scope), pools(*distances), versions.rows
    )
    assert schema_versions == {"one"}
    assert len(versions.queried_connections) == query_count


async def test_a_host_without_an_answer_prevents_agreement() -> None:
    """If a host in the scope does not respond, there is no agreement.

    Such a host counts as a host with another version.
    """
    versions = FakeVersions()
    versions.errors = [ConnectionException("lost")]
    schema_versions = await versions_in(
        SchemaAgreementScope.CLUSTER, pools(LOCAL_RACK, LOCAL), versions.rows
    )
    assert len(schema_versions) > 1


async def test_an_unexpected_exception_is_raised() -> None:
    """An error that is not the driver's, such as ZeroDivisionError, is raised to the caller."""
    versions = FakeVersions()
    versions.errors = [ZeroDivisionError()]
    with pytest.raises(ZeroDivisionError):
        await versions_in(SchemaAgreementScope.CLUSTER, pools(LOCAL_RACK, LOCAL), versions.rows)


async def test_a_scope_without_a_connected_host_is_an_error() -> None:
    """If no pool in the scope has a connection, `versions_in` raises ConnectionException."""
    unconnected_pools = pools(LOCAL_RACK)
    unconnected_pools[0].connections.clear()
    with pytest.raises(ConnectionException, match="'dc'"):
        await versions_in(SchemaAgreementScope.DC, unconnected_pools, FakeVersions().rows)
