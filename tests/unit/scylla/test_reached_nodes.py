"""The host id in SUPPORTED shows whether a connection has reached the intended node."""

from __future__ import annotations

import itertools
import logging
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster, Session
from cassandra.connection import DefaultEndPoint, DefaultEndPointFactory, EndPoint
from cassandra.errors import ConnectionException
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy
from cassandra.testing.fake import FakeCluster, Scylla
from tests.proxies import Proxy, Relay
from tests.waiting import until, until_on_loop


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield three fake ScyllaDB nodes."""
    with FakeCluster(3, scylla=Scylla(2)) as running:
        yield running


class MisleadingFactory(DefaultEndPointFactory):
    """An endpoint factory that sends connections for one node to the proxy of another node."""

    def __init__(self, misled_address: str, proxy: Proxy) -> None:
        super().__init__()
        self.misled_address, self.proxy = misled_address, proxy

    def create(self, row: Any) -> EndPoint:
        endpoint = super().create(row)
        if endpoint.address == self.misled_address:
            return DefaultEndPoint(self.proxy.address, self.proxy.port)
        return endpoint


def connected(nodes: FakeCluster, **settings: Any) -> Cluster:
    """Return an unconnected cluster object that reconnects and reads the topology without delay."""
    return Cluster(
        nodes.contact_points[:1],
        port=nodes.port,
        reconnection_policy=ConstantReconnectionPolicy(0.05, max_attempts=None),
        topology_event_refresh_window=0,
        **settings,
    )


def nodes_that_answer(session: Session) -> set[str]:
    """Return the host ids of the nodes that respond to the session's requests.

    There are so many requests that each host gets some.
    """
    return {str(session.execute("SELECT host_id FROM system.local").one()[0]) for _ in range(9)}


def test_a_host_whose_connections_reach_another_node_gets_no_requests(
    nodes: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """If the connections for a host lead to another node, the host is down and gets no requests.

    A warning names both nodes.
    """
    first, second, third = nodes.nodes
    with (
        caplog.at_level(logging.WARNING, "cassandra.pool"),
        Proxy(third) as proxy,
        connected(nodes, endpoint_factory=MisleadingFactory(second.address, proxy)) as cluster,
    ):
        session = cluster.connect(wait_for_all_pools=True)
        misled_host = cluster.metadata.get_host_by_host_id(second.host_id)
        assert misled_host is not None
        until(lambda: misled_host.is_up is False)
        assert nodes_that_answer(session) == {str(first.host_id), str(third.host_id)}
    warning = caplog.records[0].getMessage()
    assert f"leads to another node: to {third.host_id} (" in warning
    assert f"{third.address}:{third.port}) instead of {second.host_id};" in warning


def test_nodes_that_swap_their_addresses_are_found(nodes: FakeCluster) -> None:
    """After two nodes have exchanged their addresses, the driver finds each node again."""
    _, second, third = nodes.nodes
    with connected(nodes) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        # Before the exchange, the driver uses all three nodes.
        assert len(nodes_that_answer(session)) == 3
        # Pretend that the nodes have exchanged their addresses.
        second.host_id, third.host_id = third.host_id, second.host_id
        for node in (second, third):
            node.drop_connections()

        def have_swapped() -> bool:
            hosts = [cluster.metadata.get_host_by_host_id(node.host_id) for node in nodes.nodes]
            addresses = [host.address for host in hosts if host is not None and host.is_up]
            return addresses == [node.address for node in nodes.nodes]

        def do_all_answer() -> bool:
            try:
                return nodes_that_answer(session) == {str(node.host_id) for node in nodes.nodes}
            except ConnectionException:  # from a connection that its node has just closed
                return False

        until(have_swapped)
        until(do_all_answer)


class Balancer(Relay):
    """A balancer in front of `nodes`, to which connections lead in turn."""

    def __init__(self, nodes: FakeCluster) -> None:
        turns = itertools.cycle([(node.address, node.port) for node in nodes.nodes])
        super().__init__(lambda _writer: next(turns))


async def test_a_balancer_as_a_contact_point_is_replaced_by_the_node_behind_it(
    nodes: FakeCluster,
) -> None:
    """If a contact point leads to several nodes, the node gets its own address as its end point.

    So all nodes are used.
    """
    balancer = Balancer(nodes)
    await balancer.start("127.0.0.1")
    settings: dict[str, Any] = {
        "reconnection_policy": ConstantReconnectionPolicy(0.01, max_attempts=None),
        "topology_event_refresh_window": 0,
        "port": nodes.port,
    }
    try:
        contact_point = (balancer.address, balancer.port)
        async with aio.Cluster([contact_point], **settings) as cluster:
            session = await cluster.connect()

            def all_are_up() -> bool:
                hosts = cluster.metadata.all_hosts()
                addresses = {node.address for node in nodes.nodes}
                return {host.address for host in hosts if host.is_up} == addresses

            await until_on_loop(all_are_up)
            asked = [
                (await session.execute("SELECT host_id FROM system.local")).one()[0]
                for _ in range(9)
            ]
            assert len(set(asked)) == 3
    finally:
        await balancer.stop()


class OneAddressFactory(DefaultEndPointFactory):
    """Returns the same end point for all nodes, such as the address of a balancer."""

    def __init__(self, address: str, port: int) -> None:
        super().__init__()
        self.endpoint = DefaultEndPoint(address, port)

    def create(self, row: Any) -> EndPoint:
        return self.endpoint


async def test_one_end_point_for_all_nodes_may_lead_to_any_of_them(nodes: FakeCluster) -> None:
    """If all nodes have the same end point, any node that a connection reaches is right."""
    balancer = Balancer(nodes)
    await balancer.start("127.0.0.1")
    factory = OneAddressFactory(balancer.address, balancer.port)
    settings: dict[str, Any] = {
        "endpoint_factory": factory,
        "load_balancing_policy": RoundRobinPolicy(),
    }
    try:
        for _ in range(4):
            async with aio.Cluster([factory.endpoint], **settings) as cluster:
                session = await cluster.connect()
                await session.execute("SELECT host_id FROM system.local")
    finally:
        await balancer.stop()


async def test_a_node_that_was_made_anew_behind_the_same_port_keeps_the_contact_point() -> None:
    """A new container behind a published port has another id, and no address for us but the port.

    Its advertised address is that of the container, which the driver may not be able to reach.
    """
    with FakeCluster(1, scylla=Scylla(2)) as nodes:
        (node,) = nodes.nodes
        port = Relay((node.address, node.port))
        await port.start("127.0.0.1")
        contact_point = (port.address, port.port)
        settings: dict[str, Any] = {
            "reconnection_policy": ConstantReconnectionPolicy(0.01, max_attempts=None),
            "topology_event_refresh_window": 0,
        }
        try:
            async with aio.Cluster([contact_point], **settings) as cluster:
                await cluster.connect(wait_for_all_pools=True)
                for _ in range(3):
                    node.host_id = uuid.uuid4()
                    node.drop_connections()

                    def is_known() -> bool:
                        host = cluster.metadata.get_host_by_host_id(node.host_id)
                        return host is not None and bool(host.is_up)

                    await until_on_loop(is_known)
                    (host,) = cluster.metadata.all_hosts()
                    assert (host.endpoint.address, host.endpoint.port) == contact_point
        finally:
            await port.stop()
