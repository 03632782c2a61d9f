"""HostTargetingStatement, which executes the statement inside it on a given host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, ExecutionProfile, Session
from cassandra.metadata.host import Host
from cassandra.policies.balancing import DefaultLoadBalancingPolicy, RoundRobinPolicy
from cassandra.query import BatchStatement, HostTargetingStatement, SimpleStatement
from cassandra.testing.fake import FakeCluster, Opcode

WRITE = "INSERT INTO t (k) VALUES (?)"
EXECUTION_OPCODES = (Opcode.QUERY, Opcode.EXECUTE, Opcode.BATCH)


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield three fake nodes that can prepare WRITE."""
    with FakeCluster(3) as running:
        for node in running.nodes:
            node.prime_prepare(WRITE, [("k", "int")], pk_indexes=[0])
        yield running


@pytest.fixture
def session(nodes: FakeCluster) -> Iterator[Session]:
    """Yield a session with the profile `targeting`, whose policy uses a statement's target host."""
    profile = ExecutionProfile(load_balancing_policy=DefaultLoadBalancingPolicy(RoundRobinPolicy()))
    with Cluster(
        nodes.contact_points, port=nodes.port, execution_profiles={"targeting": profile}
    ) as cluster:
        yield cluster.connect(wait_for_all_pools=True)


def execute(
    nodes: FakeCluster, session: Session, statement: Any, host: Host, parameters: Any = None
) -> Any:
    """Execute a statement on a host, and return the request that the host's node has received."""
    counts_before = {node.address: len(node.requests) for node in nodes.nodes}
    target_address: Any = host.address
    targeting = HostTargetingStatement(statement, target_address)
    session.execute(targeting, parameters, execution_profile="targeting")
    # Check all nodes: only one request may have arrived.
    ((address, request),) = [
        (node.address, request)
        for node in nodes.nodes
        for request in node.requests[counts_before[node.address] :]
        if request.opcode in EXECUTION_OPCODES and "system" not in (request.query or "")
    ]
    assert address == host.address
    return request


@pytest.mark.parametrize("form", ["host", "endpoint", "address"])
def test_the_target_is_a_host_its_end_point_or_its_address(
    nodes: FakeCluster, session: Session, form: str
) -> None:
    """HostTargetingStatement accepts each form of a target, and sends its requests to this host."""
    for host in session.cluster.metadata.all_hosts():
        target: Any = host if form == "host" else getattr(host, form)
        targeting = HostTargetingStatement(SimpleStatement("SELECT 1"), target)
        results = [session.execute(targeting, execution_profile="targeting") for _ in range(3)]
        assert {result.response_future.coordinator_host for result in results} == {host}


@pytest.mark.parametrize("empty", [(), [], {}, None])
def test_with_empty_parameters_percent_signs_are_sent_unchanged(
    nodes: FakeCluster, session: Session, empty: Any
) -> None:
    """Without parameters, the query string has no markers, so "%%" is sent unchanged."""
    query = "INSERT INTO t (v) VALUES ('100%% a')"
    for host in session.cluster.metadata.all_hosts():
        request = execute(nodes, session, SimpleStatement(query), host, empty)
        assert request.query == query


def test_parameters_are_put_into_a_query_string(nodes: FakeCluster, session: Session) -> None:
    for host in session.cluster.metadata.all_hosts():
        statement = SimpleStatement("INSERT INTO t (v) VALUES (%s)")
        request = execute(nodes, session, statement, host, ("100%",))
        assert request.query == "INSERT INTO t (v) VALUES ('100%')"


def test_a_query_string_with_markers_is_prepared(nodes: FakeCluster, session: Session) -> None:
    for number, host in enumerate(session.cluster.metadata.all_hosts()):
        request = execute(nodes, session, SimpleStatement(WRITE), host, (number,))
        assert request.opcode == Opcode.EXECUTE
        assert int.from_bytes(request.values[0], "big") == number


def test_bound_statements_and_batches_are_executed_on_the_host(
    nodes: FakeCluster, session: Session
) -> None:
    """A bound statement or batch in a HostTargetingStatement is sent to its host.

    Parameters for a bound statement are ignored with a warning.
    """
    bound = session.prepare(WRITE).bind((1,))
    for host in session.cluster.metadata.all_hosts():
        assert execute(nodes, session, bound, host).values == [b"\0\0\0\1"]
        batch = BatchStatement().add(WRITE, (2,)).add(bound)
        request = execute(nodes, session, batch, host)
        assert [statement.values for statement in request.statements] == [
            [b"\0\0\0\2"],
            [b"\0\0\0\1"],
        ]
        with pytest.warns(RuntimeWarning, match="the parameters are ignored: a BoundStatement"):
            execute(nodes, session, bound, host, (5,))
