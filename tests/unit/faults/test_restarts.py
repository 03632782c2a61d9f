"""What docs/guides/runbook.rst says about requests to a node that is restarted, with the default
retry policy.
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
# A stopping Cassandra node answers so to each request that it has not begun to execute.
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
    """Yield two nodes. The second one executes the statement."""
    with FakeCluster(2) as running:
        running[1].prime(WRITE, void())
        yield running


@pytest.fixture
def connect(nodes: FakeCluster) -> Iterator[Callable[..., Session]]:
    """Yield a function that connects with a retry policy. The first node is the coordinator."""
    clusters: list[Cluster] = []

    def open_session(retry_policy: RetryPolicy | None = None) -> Session:
        profile = ExecutionProfile(
            AddressOrderPolicy(), retry_policy=retry_policy or RetryPolicy(), request_timeout=30
        )
        cluster = Cluster(
            [nodes[0].address],  # so this node has the control connection, too
            port=nodes.port,
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        )
        clusters.append(cluster)
        return cluster.connect(wait_for_all_pools=True)

    yield open_session
    for cluster in clusters:
        cluster.shutdown()


def execute(session: Session, *, is_idempotent: bool) -> None:
    """Execute WRITE, which may be executed twice only if it is idempotent."""
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
    """The node has not begun to execute the statements, so they need not be idempotent."""
    nodes[0].prime(WRITE, SHUTTING_DOWN)
    execute(connect(policy), is_idempotent=is_idempotent)
    assert len(nodes[1].queries(WRITE)) == 1


def test_all_nodes_shutting_down_are_an_error(
    nodes: FakeCluster, connect: Callable[..., Session]
) -> None:
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
    """After these answers, the statement may have been executed. An idempotent one is sent to the
    next node; for another one the error is raised.
    """
    nodes[0].prime(WRITE, answer)
    session = connect()
    with pytest.raises(error_class):
        execute(session, is_idempotent=False)
    assert not nodes[1].queries(WRITE)
    # The driver connects again if the connection was closed.
    (pool,) = (
        pool for host, pool in session._engine.pools.items() if host.address == nodes[0].address
    )
    until(lambda: any(not connection.closed for connection in pool.connections))
    execute(session, is_idempotent=True)
    assert len(nodes[0].queries(WRITE)) == 2
    assert len(nodes[1].queries(WRITE)) == 1


def test_statements_go_to_another_node_while_the_connection_is_closed(
    nodes: FakeCluster, connect: Callable[..., Session]
) -> None:
    """A statement that was not sent yet goes to the next node, even if it is not idempotent."""
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
    """An Unavailable error is retried once on the next node, even for a statement that is not
    idempotent: the coordinator has not executed it. The second such error is raised.
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
    """Some replicas may have executed the write, so the default policy does not repeat it, even if
    it is idempotent.
    """
    nodes[0].prime(WRITE, WRITE_TIMEOUT)
    with pytest.raises(WriteTimeout):
        execute(connect(), is_idempotent=is_idempotent)
    assert not nodes[1].queries(WRITE)


def test_a_restarted_node_gets_prepared_statements_again(
    nodes: FakeCluster, connect: Callable[..., Session]
) -> None:
    """If a node has forgotten a statement, the driver prepares and executes it there again.

    The statement need not be idempotent, since the node has not executed it.
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
    """After the error, the same session can be used at once."""
    nodes[0].prime(WRITE, sequence(close(), void()))
    session = connect()
    with pytest.raises(ConnectionException):
        execute(session, is_idempotent=False)
    execute(session, is_idempotent=False)
