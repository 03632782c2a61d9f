"""ScyllaDB's nodes without tokens, which vote and store no data, get no requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cassandra.cluster import Cluster
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing.fake import FakeCluster, FakeNode, Scylla, rows
from tests.waiting import until

READ = "SELECT k FROM ks.t"


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield two nodes with data, and a node without tokens in a data centre of its own."""
    with FakeCluster({"dc1": 2, "votes": 1}, scylla=Scylla(2)) as running:
        running[2].tokens = ()
        running.prime(READ, rows([("k", "int")], [(1,)]))
        # The other nodes' peers tables do not have nodes without tokens.
        yield running


def connected(nodes: FakeCluster, *contact_points: FakeNode) -> Cluster:
    return Cluster(
        [node.address for node in contact_points],
        port=nodes.port,
        reconnection_policy=ConstantReconnectionPolicy(0.05, max_attempts=None),
    )


@pytest.mark.parametrize("is_only_contact_point", [False, True])
def test_a_contact_point_without_tokens_is_no_host(
    nodes: FakeCluster, is_only_contact_point: bool
) -> None:
    """A node without tokens may have the control connection, but never gets requests.

    It does not determine the local data centre, either, even if it is the only contact point. So
    its restart disturbs nobody.
    """
    first, second, voter = nodes.nodes
    contact_points = [voter] if is_only_contact_point else [voter, first]
    # The contact points are tried in random order: connect until the voter was the first.
    for _ in range(100):
        with connected(nodes, *contact_points) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            control_host = cluster.get_control_connection_host()
            assert control_host is not None
            if control_host.host_id != voter.host_id:
                continue
            addresses = {host.address for host in cluster.metadata.all_hosts()}
            assert addresses == {first.address, second.address}
            for _ in range(10):
                session.execute(READ)
            nodes.stop_node(voter)
            until(
                lambda: cluster.get_control_connection_host() in set(cluster.metadata.all_hosts())
            )
            for _ in range(10):
                session.execute(READ)
            nodes.start_node(voter)
            for _ in range(10):
                session.execute(READ)
        break
    assert not voter.queries(READ)
    assert first.queries(READ)
    assert second.queries(READ)
