"""ScyllaDB's nodes without tokens, which vote and store no data, get no requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.policies import (
    ConstantReconnectionPolicy,
    DCAwareRoundRobinPolicy,
    RoundRobinPolicy,
    WhiteListRoundRobinPolicy,
)
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


def connected(nodes: FakeCluster, *contact_points: FakeNode, **settings: Any) -> Cluster:
    return Cluster(
        [node.address for node in contact_points],
        port=nodes.port,
        reconnection_policy=ConstantReconnectionPolicy(0.05, max_attempts=None),
        **settings,
    )


def reason_of(voter: FakeNode) -> str:
    """Return the beginning of the reason why a node without tokens gets no requests."""
    return f"{voter.endpoint} has no tokens, so it gets no requests (allow_control_connection_query"


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


@pytest.mark.parametrize("names_datacenter", [False, True])
def test_the_error_for_a_policy_with_only_a_node_without_tokens_names_the_tokens(
    nodes: FakeCluster, names_datacenter: bool
) -> None:
    """If a policy uses only a node without tokens, the error says why the node is not used.

    It also names the setting that lets requests use the node.
    """
    voter = nodes[2]
    policy = (
        DCAwareRoundRobinPolicy("votes")
        if names_datacenter
        else WhiteListRoundRobinPolicy([voter.address])
    )
    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)}
    with (
        connected(nodes, voter, execution_profiles=profiles) as cluster,
        pytest.raises(NoHostAvailable) as caught,
    ):
        cluster.connect()
    assert reason_of(voter) in str(caught.value)


@pytest.mark.parametrize("loops", [1, 2])
def test_requests_for_a_node_without_tokens_fail_with_the_reason(
    nodes: FakeCluster, loops: int
) -> None:
    """If a profile or a call names only such a node, the error says why it is not used."""
    voter = nodes[2]
    profiles: dict[object, ExecutionProfile] = {
        EXEC_PROFILE_DEFAULT: ExecutionProfile(RoundRobinPolicy()),
        "voter": ExecutionProfile(WhiteListRoundRobinPolicy([voter.address])),
    }
    with connected(nodes, voter, execution_profiles=profiles, loops=loops) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        prepared = session.prepare(READ)
        control_host = cluster.get_control_connection_host()
        options: list[dict[str, Any]] = [{"execution_profile": "voter"}, {"host": control_host}]
        for statement in (READ, prepared):
            for arguments in options:
                with pytest.raises(NoHostAvailable) as caught:
                    session.execute(statement, **arguments)
                (reason,) = caught.value.errors.values()
                assert reason_of(voter) in str(reason)


def test_if_all_hosts_are_down_the_error_names_the_node_without_tokens(nodes: FakeCluster) -> None:
    """The application can reach this node, so the error says why it is not used."""
    first, second, voter = nodes.nodes
    for node in (first, second):
        nodes.stop_node(node)
    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(RoundRobinPolicy())}
    with connected(nodes, voter, execution_profiles=profiles) as cluster:
        with pytest.raises(NoHostAvailable) as caught:
            cluster.connect()
        assert len(caught.value.errors) == 3
        assert reason_of(voter) in str(caught.value.errors[voter.endpoint])
        # The hosts are known to be down now.
        with pytest.raises(NoHostAvailable, match="no host is up") as caught:
            cluster.connect()
        assert reason_of(voter) in str(caught.value)
