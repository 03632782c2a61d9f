"""The id in SUPPORTED reveals a connection that leads to a wrong node."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.connection import DefaultEndPoint, DefaultEndPointFactory, EndPoint
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing.fake import FakeCluster, Scylla
from tests.proxies import Proxy
from tests.waiting import until


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    with FakeCluster(3, scylla=Scylla(2)) as running:
        yield running


class Misleading(DefaultEndPointFactory):
    """Directs all connections for one node to a proxy."""

    def __init__(self, meant: str, proxy: Proxy) -> None:
        super().__init__()
        self.meant, self.proxy = meant, proxy

    def create(self, row: Any) -> EndPoint:
        endpoint = super().create(row)
        if endpoint.address == self.meant:
            return DefaultEndPoint(self.proxy.address, self.proxy.port)
        return endpoint


def connected(nodes: FakeCluster, **settings: Any) -> Cluster:
    return Cluster(
        nodes.contact_points[:1],
        port=nodes.port,
        reconnection_policy=ConstantReconnectionPolicy(0.05, max_attempts=None),
        topology_event_refresh_window=0,
        **settings,
    )


def nodes_that_answer(session: Session) -> set[str]:
    """Send requests until a round robin has reached each host; return the nodes that answer."""
    return {str(session.execute("SELECT host_id FROM system.local").one()[0]) for _ in range(9)}


def test_a_node_that_cannot_be_reached_gets_no_requests(
    nodes: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    first, second, third = nodes.nodes
    with (
        caplog.at_level(logging.WARNING, "cassandra.pool"),
        Proxy(third) as proxy,
        connected(nodes, endpoint_factory=Misleading(second.address, proxy)) as cluster,
    ):
        session = cluster.connect(wait_for_all_pools=True)
        misled = cluster.metadata.get_host_by_host_id(second.host_id)
        assert misled is not None
        until(lambda: misled.is_up is False)
        assert nodes_that_answer(session) == {str(first.host_id), str(third.host_id)}
    warning = caplog.records[0].getMessage()
    assert f"leads to another node: to {third.host_id} (" in warning
    assert f"{third.address}:{third.port}) instead of {second.host_id};" in warning


def test_nodes_that_swap_their_addresses_are_found_again(nodes: FakeCluster) -> None:
    _, second, third = nodes.nodes
    with connected(nodes) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        assert len(nodes_that_answer(session)) == 3
        second.host_id, third.host_id = third.host_id, second.host_id
        for node in (second, third):
            node.drop_connections()

        def by_their_ids() -> bool:
            hosts = [cluster.metadata.get_host_by_host_id(node.host_id) for node in nodes.nodes]
            return [host and host.is_up and host.address for host in hosts] == [
                node.address for node in nodes.nodes
            ]

        until(by_their_ids)
        assert nodes_that_answer(session) == {str(node.host_id) for node in nodes.nodes}
