"""Requests to a restarting node behave as docs/guides/runbook.rst says.

All tests but one use the default retry policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import ConsistencyLevel, Unavailable, WriteTimeout
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    Session,
)
from cassandra.connection import ConnectionException
from cassandra.policies import ExponentialBackoffRetryPolicy, RateLimitRetryPolicy, RetryPolicy
from cassandra.protocol import (
    IsBootstrappingErrorMessage,
    OverloadedErrorMessage,
    ServerError,
    TruncateError,
)
from cassandra.query import SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeCluster, close, error, reset, sequence, void
from tests.unit.engine.faults import AddressOrderPolicy
from tests.waiting import until

WRITE = "UPDATE t SET n = n + 1 WHERE k = 1"
# A Cassandra node that is stopping returns this error to each request whose execution has not
# begun.
SHUTTING_DOWN = error(ErrorCode.OVERLOADED, "Server is shutting down")
WRITE_TIMEOUT = error(
    ErrorCode.WRITE_TIMEOUT,
    consistency=ConsistencyLevel.LOCAL_QUORUM,
    received=1,
    blockfor=2,
    write_type="SIMPLE",
)


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield two nodes, of which the second one executes WRITE."""
    with FakeCluster(2) as running:
        running[1].prime(WRITE, void())
        yield running


@pytest.fixture
def connect(nodes: FakeCluster) -> Iterator[Callable[..., Session]]:
    """Yield a function that opens a session with a retry policy.

    The session sends each request to the first node first.
    """
    clusters: list[Cluster] = []

    def open_session(retry_policy: RetryPolicy | None = None) -> Session:
        profile = ExecutionProfile(
            AddressOrderPolicy(), retry_policy=retry_policy or RetryPolicy(), request_timeout=30
        )
        cluster = Cluster(
            [nodes[0].address],  # so the control connection is on this node, too
            port=nodes.port,
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        )
        clusters.append(cluster)
        return cluster.connect(wait_for_all_pools=True)

    yield open_session
    for cluster in clusters:
        cluster.shutdown()


def execute(session: Session, *, is_idempotent: bool) -> None:
    """Execute WRITE, which the driver may send twice only if `is_idempotent` is True."""
    session.execute(SimpleStatement(WRITE, is_idempotent=is_idempotent))


@pytest.mark.parametrize("is_idempotent", [True, False])
@pytest.mark.parametrize(
    "policy",
    [
        RetryPolicy(),
        ExponentialBackoffRetryPolicy(3, min_interval=0.001),
        RateLimitRetryPolicy(min_interval=0.001),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_statements_that_a_stopping_node_refuses_go_to_the_next_one(
    nodes: FakeCluster,
    connect: Callable[..., Session],
    policy: RetryPolicy,
    is_idempotent: bool,
) -> None:
    """If a stopping node refuses a statement, the driver sends it to the next node.

    The stopping node has not begun to execute the statement, so the statement need not be
    idempotent.
    """
    nodes[0].prime(WRITE, SHUTTING_DOWN)
    execute(connect(policy), is_idempotent=is_idempotent)
    assert len(nodes[1].queries(WRITE)) == 1


def test_all_nodes_shutting_down_are_an_error(
    nodes: FakeCluster, connect: Callable[..., Session]
) -> None:
    """If all nodes are shutting down, the request fails after one attempt on each node."""
    for node in nodes.nodes:
        node.clear_primes()
        node.prime(WRITE, SHUTTING_DOWN)
    with pytest.raises(NoHostAvailable, match="Server is shutting down"):
        execute(connect(), is_idempotent=False)
    assert [len(node.queries(WRITE)) for node in nodes.nodes] == [1, 1]


@pytest.mark.parametrize(
    ("answer", "error_class"),
    [
        (close(), ConnectionException),
        (reset(), ConnectionException),
        (error(ErrorCode.SERVER_ERROR), ServerError),
        (error(ErrorCode.OVERLOADED, "Too many in flight hints"), OverloadedErrorMessage),
        (error(ErrorCode.IS_BOOTSTRAPPING), IsBootstrappingErrorMessage),
        (error(ErrorCode.TRUNCATE_ERROR), TruncateError),
    ],
)
def test_statements_that_may_have_been_executed_are_repeated_only_if_idempotent(
    nodes: FakeCluster, connect: Callable[..., Session], answer: Any, error_class: Any
) -> None:
    """A broken connection or one of these errors does not say whether the node executed the write.

    An idempotent statement is sent to the next node. For any other statement, the error is raised.
    """
    nodes[0].prime(WRITE, answer)
    session = connect()
    with pytest.raises(error_class):
        execute(session, is_idempotent=False)
    assert not nodes[1].queries(WRITE)
    # Some of the faults close the connection. Wait until the driver has opened a new connection.
    (pool,) = (
        pool for host, pool in session._engine.pools.items() if host.address == nodes[0].address
    )
    until(lambda: any(not connection.closed for connection in pool.connections))
    execute(session, is_idempotent=True)
    # The first node has received both statements, and the second node only the idempotent one.
    assert len(nodes[0].queries(WRITE)) == 2
    assert len(nodes[1].queries(WRITE)) == 1


def test_statements_go_to_another_node_while_the_connection_is_closed(
    nodes: FakeCluster, connect: Callable[..., Session]
) -> None:
    """While a node refuses connections, a statement goes to the next node.

    The statement was not sent yet, so it need not be idempotent.
    """
    session = connect()
    nodes[0].refuse_connections()
    nodes[0].drop_connections()
    host = session.cluster.metadata.get_host(nodes[0].address)
    assert host is not None
    until(lambda: not host.is_up)
    execute(session, is_idempotent=False)
    assert len(nodes[1].queries(WRITE)) == 1


def test_a_replica_that_is_missing_is_tried_once_elsewhere(
    nodes: FakeCluster, connect: Callable[..., Session]
) -> None:
    """After an Unavailable error, the statement is retried once, on the next node.

    The coordinator has not executed the statement, so it need not be idempotent. The second such
    error is raised.
    """
    nodes[0].prime(WRITE, error(ErrorCode.UNAVAILABLE))
    session = connect()
    execute(session, is_idempotent=False)
    assert len(nodes[1].queries(WRITE)) == 1
    nodes[1].clear_primes()
    nodes[1].prime(WRITE, error(ErrorCode.UNAVAILABLE))
    with pytest.raises(Unavailable):
        execute(session, is_idempotent=True)


@pytest.mark.parametrize("is_idempotent", [True, False])
def test_a_write_timeout_is_raised(
    nodes: FakeCluster, connect: Callable[..., Session], is_idempotent: bool
) -> None:
    """A write timeout is raised, even if the statement is idempotent.

    Some replicas may have executed the write, so the default policy does not repeat the statement.
    """
    nodes[0].prime(WRITE, WRITE_TIMEOUT)
    with pytest.raises(WriteTimeout):
        execute(connect(), is_idempotent=is_idempotent)
    assert not nodes[1].queries(WRITE)


def test_a_restarted_node_gets_prepared_statements_again(
    nodes: FakeCluster, connect: Callable[..., Session]
) -> None:
    """If a node has lost a prepared statement, the driver prepares and executes it there again.

    The statement need not be idempotent, because the node has not executed it.
    """
    session = connect()
    prepared = session.prepare(WRITE)
    assert not prepared.is_idempotent
    session.execute(prepared)
    nodes[0].forget_prepared()
    session.execute(prepared)
    assert len(nodes[0].prepared) == 1


def test_the_error_of_a_broken_connection_is_followed_by_success(
    nodes: FakeCluster, connect: Callable[..., Session]
) -> None:
    """After the error of a broken connection, the next statement of the same session succeeds."""
    nodes[0].prime(WRITE, sequence(close(), void()))
    session = connect()
    with pytest.raises(ConnectionException):
        execute(session, is_idempotent=False)
    execute(session, is_idempotent=False)
