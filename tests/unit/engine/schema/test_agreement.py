"""Waiting until all live nodes report the same schema version. The tests use no node."""

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

UP, DOWN = uuid.UUID(int=1), uuid.UUID(int=2)


class Versions:
    """Fake schema versions of three nodes: the one that is queried, a peer that is up, and a peer
    that is down.
    """

    def __init__(self, *, local: str = "one", up: Any = "one", down: Any = "two") -> None:
        self.local, self.up, self.down = local, up, down
        self.queried_connections: list[Any] = []
        self.errors: list[Exception] = []

    async def rows(self, connection: Any, query: str) -> list[dict[str, Any]]:
        self.queried_connections.append(connection)
        if self.errors:
            raise self.errors.pop()
        if "system.local" in query:
            return [{"schema_version": self.local}]
        return [
            {"host_id": UP, "schema_version": self.up},
            {"host_id": DOWN, "schema_version": self.down},
            {"host_id": uuid.UUID(int=3), "schema_version": "of a stranger"},
        ]


def agreement(versions: Versions, control: Any = None, is_over: bool = False) -> Agreement:
    hosts = [new_host("10.0.0.1"), new_host("10.0.0.2", is_up=False)]
    hosts[0].host_id, hosts[1].host_id = UP, DOWN
    metadata = Metadata()
    metadata._replace_hosts(hosts)
    return Agreement(engine_settings(), metadata, versions.rows, lambda: control, lambda: is_over)


async def test_nodes_that_are_down_do_not_count() -> None:
    assert await agreement(Versions()).wait(fake_connection())


async def test_a_peer_without_a_version_does_not_count() -> None:
    assert await agreement(Versions(up=None)).wait(fake_connection())


async def test_nodes_that_disagree_are_asked_until_the_wait_ends() -> None:
    versions = Versions(up="two")
    assert not await agreement(versions).wait(fake_connection(), 0.3)
    assert len(versions.queried_connections) >= 4  # 2 rounds of 2 queries each


async def test_without_time_no_query_is_sent() -> None:
    versions = Versions()
    assert not await agreement(versions).wait(fake_connection(), 0)
    assert versions.queried_connections == []


async def test_after_a_lost_answer_the_versions_are_queried_again() -> None:
    versions = Versions()
    versions.errors = [ConnectionException("lost")]
    assert await agreement(versions).wait(fake_connection(), 5)


async def test_if_the_connection_is_closed_the_control_connection_is_used() -> None:
    versions, control = Versions(), fake_connection("10.0.0.7")
    assert await agreement(versions, control).wait(fake_connection(closed=True))
    assert versions.queried_connections == [control, control]


async def test_if_the_cluster_is_shut_down_the_wait_raises() -> None:
    versions = Versions()
    versions.errors = [ConnectionShutdown("the cluster is shut down")]
    with pytest.raises(ConnectionShutdown):
        await agreement(versions, is_over=True).wait(fake_connection(), 5)


# -- the hosts of a scope --------------------------------------------------------------------------


def pools(*distances: int) -> list[Any]:
    """For each distance, return a pool with one connection, whose address ends with the distance
    plus 1.
    """
    return [
        SimpleNamespace(distance=distance, connections=[fake_connection(f"10.0.0.{distance + 1}")])
        for distance in distances
    ]


@pytest.mark.parametrize(
    ("scope", "distances", "count"),
    [
        ("rack", (0, 0, 1, 2), 2),
        ("dc", (0, 0, 1, 2), 3),
        ("cluster", (0, 0, 1, 2), 4),
        ("rack", (1, 1, 2), 2),  # No host is in the local rack, so the nearest hosts are asked.
        ("dc", (1, 2), 1),
    ],
)
async def test_the_hosts_of_a_scope_are_asked(
    scope: str, distances: tuple[int, ...], count: int
) -> None:
    # The parameters above give the distances as these numbers.
    assert (HostDistance.LOCAL_RACK, HostDistance.LOCAL, HostDistance.REMOTE) == (0, 1, 2)
    versions = Versions()
    schema_versions = await versions_in(
        SchemaAgreementScope(scope), pools(*distances), versions.rows
    )
    assert schema_versions == {"one"}
    assert len(versions.queried_connections) == count


async def test_a_host_without_an_answer_prevents_agreement() -> None:
    versions = Versions()
    versions.errors = [ConnectionException("lost")]
    schema_versions = await versions_in(SchemaAgreementScope.CLUSTER, pools(0, 1), versions.rows)
    assert len(schema_versions) == 3


async def test_an_unexpected_exception_is_raised() -> None:
    versions = Versions()
    versions.errors = [ZeroDivisionError()]
    with pytest.raises(ZeroDivisionError):
        await versions_in(SchemaAgreementScope.CLUSTER, pools(0, 1), versions.rows)


async def test_a_scope_without_a_connected_host_is_an_error() -> None:
    unconnected_pools = pools(0)
    unconnected_pools[0].connections.clear()
    with pytest.raises(ConnectionException, match="'dc'"):
        await versions_in(SchemaAgreementScope.DC, unconnected_pools, Versions().rows)
