"""`ConnectionOpener`: the checks of a new connection, on fake nodes."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cassandra import aio
from cassandra.engine.connection import Connection
from cassandra.engine.endpoint import EndPoint
from cassandra.engine.hosts.node_list import IDENTITY_QUERY
from cassandra.engine.opening import ConnectionOpener
from cassandra.engine.pools.pool import HostPool
from cassandra.errors import ConnectionException, ConnectionShutdown, DriverException
from cassandra.metadata.host import Host
from cassandra.policies import AddressTranslator, ConstantReconnectionPolicy, SimpleConvictionPolicy
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    Request,
    Scylla,
    error,
    message,
    rows,
)
from cassandra.testing.fake.answers import Answer
from cassandra.testing.fake.primitives import string
from tests.unit.engine.faults import connected, exception_of
from tests.unit.simulated import current_loop
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated


def core_of(cluster: aio.Cluster) -> Any:
    """Return the engine of a connected cluster."""
    assert cluster._core is not None
    return cluster._core


async def test_a_connection_to_another_node_is_closed_and_the_node_list_read_again() -> None:
    """If a new connection reaches a node with another host id, the driver closes the connection.

    The address now belongs to another node, so the driver also reads the node list again.
    """
    with FakeCluster(2, scylla=Scylla(shards=1)) as nodes:
        async with connected(nodes) as (cluster, _):
            core = core_of(cluster)
            first, second = (
                cluster.metadata.get_host_by_host_id(node.host_id) for node in nodes.nodes
            )
            assert first is not None
            assert second is not None
            connection = await core.open_connection_to(first)
            assert not connection.closed
            connection.close()
            count_before = len(queries_of_peers(nodes))
            # Pretend that the second host has the first host's id.
            real_id = second.host_id
            second.host_id = first.host_id
            failure = await exception_of(core.open_connection_to(second))
            assert isinstance(failure, ConnectionException)
            assert f"leads to another node: to {real_id}" in str(failure)
            second.host_id = real_id
            await until_on_loop(lambda: len(queries_of_peers(nodes)) > count_before)


async def test_without_a_known_id_the_reached_node_is_not_checked() -> None:
    """If the host id of a host is unknown, a new connection to it is not checked.

    The host id of a contact point is unknown at first.
    """
    with FakeCluster(1, scylla=Scylla(shards=1)) as nodes:
        async with connected(nodes) as (cluster, _):
            core = core_of(cluster)
            (host,) = cluster.metadata.all_hosts()
            real_id = host.host_id
            host.host_id = None
            connection = await core.open_connection_to(host)
            assert not connection.closed
            connection.close()
            host.host_id = real_id


async def test_the_cluster_is_asked_again_after_a_loss_although_the_node_was_replaced() -> None:
    """After all connections were lost, the next one asks for the cluster's name.

    This is also so if an earlier host had the same address, and was forgotten meanwhile.
    """
    checked: list[Connection] = []

    async def check_cluster(connection: Connection, _endpoint: EndPoint) -> None:
        checked.append(connection)

    with FakeCluster(1) as nodes:
        async with connected(nodes) as (cluster, _):
            core = core_of(cluster)
            (known,) = cluster.metadata.all_hosts()
            never: Any = print  # is not called
            opener = ConnectionOpener(
                core.settings, core.metadata, core.connector, bool, never, never, check_cluster,
                never,
            )  # fmt: skip
            earlier, host = (Host(known.endpoint, SimpleConvictionPolicy) for _ in range(2))
            (await opener.open_to(earlier)).close()
            assert not checked
            (await opener.open_to(host)).close()
            assert len(checked) == 1
            del earlier
            gc.collect()
            (await opener.open_to(host)).close()
            assert len(checked) == 2


NAME = "node.example"


@asynccontextmanager
async def named(nodes: FakeCluster, *others: str) -> AsyncIterator[tuple[Any, Host, HostPool]]:
    """Yield the engine, the host of the second node, whose end point is NAME, and the host's pool.

    :param others: the other addresses that NAME has in the end, after that of the second node.
    """
    second = nodes[1]
    names = current_loop().network.names
    names[NAME] = [second.address]

    class NameOfSecond(AddressTranslator):
        def translate(self, addr: str) -> str:
            return NAME if addr == second.address else addr

    async with connected(nodes[0], address_translator=NameOfSecond()) as (cluster, session):
        host = cluster.metadata.get_host_by_host_id(second.host_id)
        assert host is not None
        assert host.endpoint.address == NAME
        names[NAME] = [second.address, *others]
        yield core_of(cluster), host, session._engine.pools[host]


async def test_a_node_is_reached_at_the_other_address_of_its_name() -> None:
    """If one of two addresses of a node fails, its pool uses the other address, and stays there."""
    with FakeCluster(2) as nodes:
        first, second = nodes.nodes
        address = f"{second.address}1"
        with FakeNode(address, first.port, host_id=second.host_id, thread=first._thread) as other:
            async with named(nodes, address) as (core, host, pool):
                second.refuse_connections()
                second.drop_connections()
                await until_on_loop(lambda: other.connections and pool.connections)
                assert host.is_up
                # The next connection begins at this address.
                second.accept_connections()
                connection = await core.open_connection_to(host)
                assert connection.ip_address == address
                assert not second.connections
                connection.close()


@pytest.mark.parametrize("scylla", [None, Scylla(shards=1)], ids=["Cassandra", "ScyllaDB"])
async def test_a_pool_does_not_use_another_node_of_the_same_name(scylla: Scylla | None) -> None:
    """If the name of a service leads to several nodes, the pool of a node connects to no other."""
    with FakeCluster(3, scylla=scylla) as nodes:
        async with named(nodes, nodes[0].address, nodes[2].address) as (core, host, pool):
            nodes[1].refuse_connections()
            nodes[1].drop_connections()
            failures = [str(await exception_of(core.open_connection_to(host))) for _ in range(2)]
            for other in (nodes[0], nodes[2]):
                expected = f"leads to another node: to {other.host_id}"
                assert any(expected in failure for failure in failures)
            assert not pool.connections
            # The control connection may use the other addresses, but the pool does not follow it.
            (await core.open_connection(host.endpoint, is_control=True)).close()
            nodes[1].accept_connections()
            connection = await core.open_connection_to(host)
            assert connection.ip_address == nodes[1].address
            connection.close()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (rows([("cluster_name", "text")], [("Fake Cluster",)]), "without a host id"),
        (error(ErrorCode.UNAUTHORIZED, "no"), "no"),
    ],
    ids=["no id", "refused"],
)
async def test_a_node_that_says_no_host_id_is_not_used_at_another_address(
    answer: Any, message: str
) -> None:
    """Without a host id, the other addresses of a name might lead to another node."""
    with FakeCluster(2) as nodes:
        nodes[0].prime(IDENTITY_QUERY, answer)
        async with named(nodes, nodes[0].address) as (core, host, _):
            nodes[1].refuse_connections()
            nodes[1].drop_connections()
            failure = await exception_of(core.open_connection_to(host))
            assert isinstance(failure, DriverException)
            assert message in str(failure)


def queries_of_peers(nodes: FakeCluster) -> list[Request]:
    """Return the requests that read the node list from system.peers or system.peers_v2."""
    return [
        request
        for node in nodes.nodes
        for request in node.requests
        if "FROM system.peers" in str(request.query)
    ]


async def test_a_node_that_drains_during_the_handshake_gets_no_connection() -> None:
    """If a node drains during the handshake, opening raises ConnectionShutdown.

    The node has sent GRACEFUL_DISCONNECT.
    """

    def send_event_first(request: Request) -> Answer:
        request.connection.send(-1, Opcode.EVENT, 0, string("GRACEFUL_DISCONNECT"))
        return message(Opcode.READY, b"")

    with FakeCluster(2, graceful_disconnect=True) as nodes:
        never = ConstantReconnectionPolicy(delay=3600, max_attempts=None)
        async with connected(nodes, reconnection_policy=never) as (cluster, _):
            core = core_of(cluster)
            host = cluster.metadata.get_host(nodes[1].address, nodes[1].port)
            assert host is not None
            count_before = len(nodes[1].connections)
            nodes[1].prime(Opcode.REGISTER, send_event_first)
            assert isinstance(await exception_of(core.open_connection_to(host)), ConnectionShutdown)
            await until_on_loop(lambda: len(nodes[1].connections) <= count_before)
