"""The host id in SUPPORTED shows whether a connection has reached the intended node."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.connection import DefaultEndPoint, DefaultEndPointFactory, EndPoint
from cassandra.errors import ConnectionException
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing.fake import FakeCluster, Scylla
from tests.proxies import Proxy
from tests.waiting import until


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
