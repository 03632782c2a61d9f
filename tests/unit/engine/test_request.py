"""Requests: retries, timeouts, speculative executions, and statements that are prepared again."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest

from cassandra import ConsistencyLevel, ReadTimeout, Unavailable, WriteTimeout
from cassandra.bulk.retrying import may_have_been_executed
from cassandra.cluster import ExecutionProfile
from cassandra.engine.request import MOST_PREPARES, Request, _DelayedRetry
from cassandra.engine.schema.agreement import LOCAL_VERSION_QUERY
from cassandra.errors import (
    BindColumnsChanged,
    ConnectionException,
    DriverException,
    FunctionFailure,
    InvalidRequest,
    NoHostAvailable,
    OperationTimedOut,
    ReadFailure,
    UnknownContent,
    WriteFailure,
)
from cassandra.marshal import int32_pack, int64_pack
from cassandra.policies.balancing import (
    DCAwareRoundRobinPolicy,
    HostFilterPolicy,
    LoadBalancingPolicy,
    RoundRobinPolicy,
)
from cassandra.policies.retry import FallthroughRetryPolicy, LWTRetryPolicy, RetryPolicy
from cassandra.policies.speculation import ConstantSpeculativeExecutionPolicy
from cassandra.policies.token_aware import TokenAwarePolicy
from cassandra.protocol.messages.errors import (
    CASWriteUnknownMessage,
    ErrorMessage,
    IsBootstrappingErrorMessage,
    OverloadedErrorMessage,
    PreparedQueryNotFound,
    ServerError,
    TruncateError,
)
from cassandra.query import BatchStatement, HostTargetingStatement, SimpleStatement
from cassandra.testing.fake import (
    Answer,
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    close,
    error,
    garbage,
    half_frame,
    hold,
    message,
    paged,
    reset,
    schema_change,
    sequence,
    silence,
    void,
)
from cassandra.throttling import ConcurrencyLimitingThrottler
from tests.unit.engine.faults import (
    IDEMPOTENT_READ,
    INSERT,
    READ,
    READ_OTHER,
    AddressOrderPolicy,
    call_in_thread,
    connected,
    exception_of,
    int_row,
    node as node,
    only_connection,
)
from tests.unit.engine.pools.test_room_wait import FullPools
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

NON_IDEMPOTENT_READ = SimpleStatement(READ, is_idempotent=False)


def nodes_reached(nodes: FakeCluster) -> list[int]:
    """Return the index of the node for each `READ` that was received, in the order of arrival."""
    return [nodes.nodes.index(request.connection.node) for request in nodes.queries(READ)]


# -- refusals --------------------------------------------------------------------------------------


RETRIED_ERRORS = [
    pytest.param(error(ErrorCode.OVERLOADED, "busy"), OverloadedErrorMessage, id="overloaded"),
    pytest.param(
        error(ErrorCode.IS_BOOTSTRAPPING, "joining"),
        IsBootstrappingErrorMessage,
        id="bootstrapping",
    ),
    pytest.param(error(ErrorCode.SERVER_ERROR, "oops"), ServerError, id="server error"),
    pytest.param(error(ErrorCode.TRUNCATE_ERROR, "no"), TruncateError, id="truncate"),
    pytest.param(close(), ConnectionException, id="close"),
    pytest.param(reset(), ConnectionException, id="reset"),
    pytest.param(half_frame(int_row(9), 11), ConnectionException, id="half"),
]


@pytest.mark.parametrize(("answer", "error_class"), RETRIED_ERRORS)
async def test_an_idempotent_statement_is_retried_on_the_next_host(
    nodes: FakeCluster, answer: Answer, error_class: type[Exception]
) -> None:
    """If a host refuses an idempotent statement, the statement is retried on the next host.

    The result has the response of the second host, and lists both attempts.
    """
    nodes[0].prime(READ, answer, times=1)
    async with connected(nodes) as (_, session):
        result = await session.execute(IDEMPOTENT_READ)
        assert result.one().k == 1
        assert nodes_reached(nodes) == [0, 1]
        assert [attempt.host.address for attempt in result.attempts] == nodes.contact_points[:2]
        assert isinstance(result.attempts[0].error, error_class)
        assert [attempt.decision for attempt in result.attempts] == ["retry next host", None]
        assert result.coordinator_host is not None
        assert result.coordinator_host.address == nodes[1].address


class StatementRecordingPolicy(RetryPolicy):
    """A policy that retries like its base class, and records the statement of each call."""

    def __init__(self) -> None:
        self.statements: list[Any] = []

    def on_request_error(
        self, query: Any, consistency: int, error: Exception, retry_num: int
    ) -> Any:
        self.statements.append(query)
        return super().on_request_error(query, consistency, error, retry_num)


def changeable_statements(host: Any, prepared: Any) -> list[Any]:
    """Return a statement of each class whose `is_idempotent` an application may change."""
    batch = BatchStatement()
    batch.add(SimpleStatement(READ))
    return [
        SimpleStatement(READ),
        prepared.bind(()),
        batch,
        HostTargetingStatement(SimpleStatement(READ), host),
    ]


@pytest.mark.parametrize("was_idempotent", [False, True])
@pytest.mark.parametrize("statement_index", range(4), ids=["simple", "bound", "batch", "targeting"])
async def test_a_request_is_as_idempotent_as_its_statement_was_at_the_call(
    nodes: FakeCluster, statement_index: int, was_idempotent: bool
) -> None:
    """A request uses the value that `is_idempotent` of its statement had at the call.

    An application may change it for its next call while the request is in flight.
    """
    policy = StatementRecordingPolicy()
    async with connected(nodes, {"retry_policy": policy}) as (cluster, session):
        prepared = await session.prepare(READ)
        host = cluster.metadata.get_host(nodes[0].address)
        statement = changeable_statements(host, prepared)[statement_index]
        # A HostTargetingStatement has the `is_idempotent` of the statement inside it.
        idempotence_owner = getattr(statement, "inner_statement", statement)
        idempotence_owner.is_idempotent = was_idempotent
        held_error = hold(error(ErrorCode.OVERLOADED, "busy"))
        for node in nodes.nodes:
            node.prime(READ, error(ErrorCode.OVERLOADED, "busy"))
        nodes[0].prime(READ, held_error)
        pending_failure = asyncio.ensure_future(exception_of(session.execute(statement)))
        await call_in_thread(held_error.wait)
        idempotence_owner.is_idempotent = not was_idempotent
        held_error.release()
        failure = await pending_failure
        assert isinstance(failure, OverloadedErrorMessage)
        # The policy is called after each attempt. An idempotent request makes one attempt on each
        # of the three hosts, and any other request makes one attempt.
        assert len(policy.statements) == (3 if was_idempotent else 1)
        assert {statement_seen.is_idempotent for statement_seen in policy.statements} == {
            was_idempotent
        }
        # The application's own object keeps the changed value, for its next call.
        assert idempotence_owner.is_idempotent is not was_idempotent


@pytest.mark.parametrize(("answer", "error_class"), RETRIED_ERRORS)
async def test_any_other_statement_is_sent_once(
    nodes: FakeCluster, answer: Answer, error_class: type[Exception]
) -> None:
    """If a host refuses a statement that is not idempotent, the statement is not retried.

    The host may have executed it.
    """
    nodes[0].prime(READ, answer, times=1)
    async with connected(nodes) as (_, session):
        assert isinstance(await exception_of(session.execute(NON_IDEMPOTENT_READ)), error_class)
        assert nodes_reached(nodes) == [0]


@pytest.mark.parametrize("break_connection", [garbage(), reset()], ids=["garbage", "reset"])
async def test_a_broken_connection_causes_no_retry_of_non_idempotent_requests(
    nodes: FakeCluster, break_connection: Answer
) -> None:
    """If a connection breaks, its requests that are not idempotent fail and are not retried."""
    held_answers = hold()
    nodes[0].prime(READ, held_answers)
    # The query "end" makes the node break the connection.
    nodes[0].prime("end", break_connection, times=1)
    request_count = 20
    async with connected(nodes) as (_, session):
        pending_requests = [session.execute(NON_IDEMPOTENT_READ) for _ in range(request_count)]
        await call_in_thread(held_answers.wait, request_count)
        pending_requests.append(session.execute("end"))
        for request in pending_requests:
            assert isinstance(await exception_of(request), DriverException)
        # Only the first node has received the requests, each of them once.
        assert nodes_reached(nodes) == [0] * request_count


async def test_if_every_host_refuses_the_last_error_is_raised(nodes: FakeCluster) -> None:
    """If all hosts refuse an idempotent request, it fails with the last error of a server."""
    nodes.prime(READ, error(ErrorCode.OVERLOADED, "busy"))
    async with connected(nodes) as (_, session):
        failure = await exception_of(session.execute(IDEMPOTENT_READ))
        assert isinstance(failure, OverloadedErrorMessage)
        assert nodes_reached(nodes) == [0, 1, 2]


async def test_if_every_connection_breaks_no_host_available_is_raised(nodes: FakeCluster) -> None:
    """If all connections break during an idempotent request, it fails with NoHostAvailable.

    The request is tried on each host. The exception lists the errors by host.
    """
    nodes.prime(READ, reset())
    async with connected(nodes) as (_, session):
        failure = await exception_of(session.execute(IDEMPOTENT_READ))
        assert isinstance(failure, NoHostAvailable)
        assert set(failure.errors) == {node.endpoint for node in nodes.nodes}
        assert all(address in str(failure) for address in nodes.contact_points)
        assert nodes_reached(nodes) == [0, 1, 2]
        # The nodes may have executed the request. Without a connection it is not even sent.
        assert may_have_been_executed(failure)
        for node in nodes.nodes:
            node.refuse_connections()
            await call_in_thread(node.drop_connections)
        failure = await exception_of(session.execute(IDEMPOTENT_READ))
        assert isinstance(failure, NoHostAvailable)
        assert not may_have_been_executed(failure)


async def test_unavailable_is_tried_on_one_more_host(nodes: FakeCluster) -> None:
    """After UNAVAILABLE, even a statement that is not idempotent is retried once, on the next host.

    The coordinator has executed nothing, so a retry is safe.
    """
    refusal = error(
        ErrorCode.UNAVAILABLE, "too few", consistency=ConsistencyLevel.QUORUM, required=3, alive=2
    )
    nodes[0].prime(READ, refusal, times=1)
    async with connected(nodes) as (_, session):
        assert (await session.execute(NON_IDEMPOTENT_READ)).one().k == 1
        # From now on, all hosts refuse the statement.
        nodes.prime(READ, refusal)
        failure = await exception_of(session.execute(NON_IDEMPOTENT_READ))
        assert isinstance(failure, Unavailable)
        assert failure.consistency == ConsistencyLevel.QUORUM
        assert failure.required_replicas == 3
        assert failure.alive_replicas == 2
        # Each of the two requests was sent to the first node, and once more to the second node.
        assert nodes_reached(nodes) == [0, 1, 0, 1]


async def test_a_read_timeout_is_retried_once_if_enough_replicas_answered(
    nodes: FakeCluster,
) -> None:
    """The default policy retries a READ_TIMEOUT once if only the data was missing.

    The retry goes to the same host. If too few replicas responded, there is no retry.
    """
    data_missing = error(
        ErrorCode.READ_TIMEOUT,
        "slow",
        consistency=ConsistencyLevel.QUORUM,
        received=2,
        blockfor=2,
        data_present=False,
    )
    replicas_missing = error(
        ErrorCode.READ_TIMEOUT,
        "slow",
        consistency=ConsistencyLevel.QUORUM,
        received=1,
        blockfor=2,
        data_present=True,
    )
    async with connected(nodes) as (_, session):
        nodes[0].prime(READ, data_missing, times=1)
        # Enough replicas answered and only the data was missing, so the policy retries on the same
        # host.
        assert (await session.execute(NON_IDEMPOTENT_READ)).one().k == 0
        nodes[0].prime(READ, data_missing, times=2)
        assert isinstance(await exception_of(session.execute(NON_IDEMPOTENT_READ)), ReadTimeout)
        nodes[0].prime(READ, replicas_missing, times=1)
        failure = await exception_of(session.execute(NON_IDEMPOTENT_READ))
        assert isinstance(failure, ReadTimeout)
        assert failure.received_responses == 1
        assert failure.required_responses == 2
        assert failure.data_retrieved
        # The first two requests made two attempts each, and the third request was not retried.
        assert nodes_reached(nodes) == [0, 0, 0, 0, 0]


async def test_a_write_timeout_is_retried_only_for_the_batch_log(nodes: FakeCluster) -> None:
    """The default policy retries a WRITE_TIMEOUT only if the write type is BATCH_LOG.

    Writing the batch log again is harmless. With any other write type, the mutation may have been
    applied, so the error is raised.
    """
    async with connected(nodes) as (_, session):
        nodes[0].prime(
            READ, error(ErrorCode.WRITE_TIMEOUT, "slow", write_type="BATCH_LOG"), times=1
        )
        assert (await session.execute(NON_IDEMPOTENT_READ)).one().k == 0
        for write_type in ("SIMPLE", "BATCH", "UNLOGGED_BATCH", "COUNTER", "CAS", "VIEW", "CDC"):
            nodes[0].prime(
                READ, error(ErrorCode.WRITE_TIMEOUT, "slow", write_type=write_type), times=1
            )
            failure = await exception_of(session.execute(NON_IDEMPOTENT_READ))
            assert isinstance(failure, WriteTimeout)
            assert write_type in str(failure)
        assert set(nodes_reached(nodes)) == {0}


@pytest.mark.parametrize("version", [4, 5])
async def test_failures_are_not_retried(version: int) -> None:
    """READ_FAILURE, WRITE_FAILURE and FUNCTION_FAILURE are raised without a retry.

    The exceptions have all fields of the errors. Before protocol version 5, an error has the number
    of failed nodes, but not their addresses.
    """
    with FakeNode(max_version=version) as node:
        answer = sequence(
            error(
                ErrorCode.READ_FAILURE,
                "r",
                received=1,
                blockfor=2,
                failures={"127.0.0.9": 1},
                data_present=True,
            ),
            error(
                ErrorCode.WRITE_FAILURE,
                "w",
                received=1,
                blockfor=2,
                failures={"127.0.0.9": 2},
                write_type="BATCH",
            ),
            error(
                ErrorCode.FUNCTION_FAILURE,
                "f",
                keyspace="ks",
                function="fn",
                arg_types=["int", "text"],
            ),
        )
        node.prime(READ, answer)
        async with connected(node) as (_, session):
            read = await exception_of(session.execute(IDEMPOTENT_READ))
            assert isinstance(read, ReadFailure)
            assert read.failures == 1
            assert read.data_retrieved
            assert read.error_code_map == ({"127.0.0.9": 1} if version >= 5 else None)
            write = await exception_of(session.execute(IDEMPOTENT_READ))
            assert isinstance(write, WriteFailure)
            assert write.failures == 1
            function = await exception_of(session.execute(IDEMPOTENT_READ))
            assert isinstance(function, FunctionFailure)
            assert function.keyspace == "ks"
            assert function.function == "fn"
            assert list(function.arg_types or ()) == ["int", "text"]
            # There was one attempt for each of the three errors.
            assert len(node.queries(READ)) == 3


# -- retry policies --------------------------------------------------------------------------------


class ScriptedRetryPolicy(RetryPolicy):
    """A retry policy that returns the given decisions in order.

    A decision that is an error is raised. `calls` lists the calls as (name of the event, retry
    number).
    """

    def __init__(self, *decisions: Any) -> None:
        self._decisions = list(decisions)
        self.calls: list[tuple[str, int]] = []

    def _decide(self, event: str, retry_num: int) -> Any:
        """Record the call, and raise or return the next decision."""
        self.calls.append((event, retry_num))
        decision = self._decisions.pop(0)
        if isinstance(decision, Exception):
            raise decision
        return decision

    def on_read_timeout(self, query: Any, *args: Any, retry_num: int = -1, **kwargs: Any) -> Any:
        return self._decide("read", retry_num)

    def on_write_timeout(self, query: Any, *args: Any, retry_num: int = -1, **kwargs: Any) -> Any:
        return self._decide("write", retry_num)

    def on_unavailable(self, query: Any, *args: Any, retry_num: int = -1, **kwargs: Any) -> Any:
        return self._decide("unavailable", retry_num)

    def on_request_error(self, query: Any, *args: Any, retry_num: int = -1, **kwargs: Any) -> Any:
        return self._decide("request", retry_num)


# Each entry is a failure of an attempt, and the name of its event in `ScriptedRetryPolicy`.
EVENTS = [
    pytest.param(error(ErrorCode.READ_TIMEOUT), "read", id="read"),
    pytest.param(error(ErrorCode.WRITE_TIMEOUT), "write", id="write"),
    pytest.param(error(ErrorCode.UNAVAILABLE), "unavailable", id="unavailable"),
    pytest.param(error(ErrorCode.OVERLOADED), "request", id="overloaded"),
    pytest.param(reset(), "request", id="reset"),
]


@pytest.mark.parametrize(("answer", "event"), EVENTS)
async def test_decisions_of_a_retry_policy_are_obeyed(
    nodes: FakeCluster, answer: Answer, event: str
) -> None:
    """Each retry uses the host and the consistency level that the retry policy has decided on.

    The policy is called after each failed attempt.
    """
    policy = ScriptedRetryPolicy(
        (RetryPolicy.RETRY_NEXT_HOST, ConsistencyLevel.ONE),
        (RetryPolicy.RETRY_NEXT_HOST, None),
        (RetryPolicy.RETHROW, None),
    )
    nodes.prime(READ, answer)
    async with connected(
        nodes, {"retry_policy": policy, "consistency_level": ConsistencyLevel.ALL}
    ) as (_, session):
        await exception_of(session.execute(NON_IDEMPOTENT_READ))
        assert policy.calls == [(event, 0), (event, 1), (event, 2)]
        assert nodes_reached(nodes) == [0, 1, 2]
        levels = [request.consistency for request in nodes.queries(READ)]
        # The first decision has the level ONE. The second has no level, so ONE stays in force.
        assert levels == [ConsistencyLevel.ALL, ConsistencyLevel.ONE, ConsistencyLevel.ONE]


async def test_a_policy_may_retry_on_the_same_host_at_another_level(nodes: FakeCluster) -> None:
    """With the decision RETRY, the request is repeated on the same host.

    The decision may also name a consistency level and a delay in seconds.
    """
    policy = ScriptedRetryPolicy(
        (RetryPolicy.RETRY, ConsistencyLevel.TWO),
        # Retry after 1 ms, at the level of the attempt before.
        (RetryPolicy.RETRY, None, 0.001),
    )
    nodes[0].prime(
        READ, sequence(error(ErrorCode.UNAVAILABLE), error(ErrorCode.READ_TIMEOUT), int_row(5))
    )
    async with connected(nodes, {"retry_policy": policy}) as (_, session):
        assert (await session.execute(NON_IDEMPOTENT_READ)).one().k == 5
        assert nodes_reached(nodes) == [0, 0, 0]
        retries = nodes.queries(READ)[1:]
        # The second decision has no level, so the level of the attempt before stays in force.
        assert [retry.consistency for retry in retries] == [ConsistencyLevel.TWO] * 2


@pytest.mark.parametrize(("answer", "event"), EVENTS)
async def test_an_error_that_a_policy_ignores_is_an_empty_result(
    nodes: FakeCluster, answer: Answer, event: str
) -> None:
    """With the decision IGNORE, the error becomes a result without rows, and there is no retry."""
    nodes[0].prime(READ, answer, times=1)
    policy = ScriptedRetryPolicy((RetryPolicy.IGNORE, None))
    async with connected(nodes, {"retry_policy": policy}) as (_, session):
        assert (await session.execute(NON_IDEMPOTENT_READ)).all() == []
        assert nodes_reached(nodes) == [0]


async def test_an_error_of_a_later_page_is_raised_though_a_policy_ignores_it(
    nodes: FakeCluster,
) -> None:
    """If a policy ignores an error of a later page, the error is still raised.

    An empty page would end the result without the remaining rows. A later iteration continues with
    the page that failed.
    """
    columns = [("k", "int")]
    nodes.prime(READ, paged(columns, [(1,), (2,), (3,)]))
    statement = SimpleStatement(READ, fetch_size=1)
    policy = ScriptedRetryPolicy((RetryPolicy.IGNORE, None))
    async with connected(nodes, {"retry_policy": policy}) as (_, session):
        result = await session.execute(statement)
        nodes.prime(READ, error(ErrorCode.UNAVAILABLE), times=1)
        iterator = aiter(result)
        assert (await anext(iterator)).k == 1
        with pytest.raises(Unavailable):
            await anext(iterator)
        nodes.prime(READ, paged(columns, [(1,), (2,), (3,)]))
        assert [row.k async for row in result] == [2, 3]


async def test_an_error_of_use_is_raised_though_a_policy_ignores_it(nodes: FakeCluster) -> None:
    """If a policy ignores an error of USE, the error is still raised.

    Otherwise, later statements of the application would run in the old keyspace.
    """
    nodes.prime('USE "other"', error(ErrorCode.SERVER_ERROR))
    nodes.prime("USE other", error(ErrorCode.SERVER_ERROR))
    # Six decisions are enough for both calls.
    ignore = (RetryPolicy.IGNORE, None)
    async with connected(nodes, {"retry_policy": ScriptedRetryPolicy(*[ignore] * 6)}) as (
        _,
        session,
    ):
        for call in (session.set_keyspace("other"), session.execute("USE other")):
            assert isinstance(await exception_of(call), ServerError)
        assert session.keyspace is None


@pytest.mark.parametrize(("answer", "event"), EVENTS)
async def test_an_error_of_the_policy_is_raised(
    nodes: FakeCluster, answer: Answer, event: str
) -> None:
    """If the retry policy raises an error, the request fails with this error."""
    nodes[0].prime(READ, answer, times=1)
    policy = ScriptedRetryPolicy(ZeroDivisionError("mistake in the policy"))
    async with connected(nodes, {"retry_policy": policy}) as (_, session):
        failure = await exception_of(session.execute(NON_IDEMPOTENT_READ))
        assert isinstance(failure, ZeroDivisionError)
        # Afterwards, the session still works.
        assert (await session.execute("anything")).all() == []


async def coroutine_decision() -> Any:
    """Return a decision from a coroutine, as a policy's method does that is `async` by mistake."""
    return RetryPolicy.RETHROW, None


# Each entry is a function that returns a wrong decision, and a part of the resulting message.
WRONG_DECISIONS = [
    pytest.param(lambda: None, "has returned None", id="None"),
    pytest.param(lambda: RetryPolicy.RETRY, "write `return self.RETRY, None`", id="RETRY"),
    pytest.param(lambda: RetryPolicy.RETHROW, "write `return self.RETHROW, None`", id="RETHROW"),
    pytest.param(lambda: "RETRY", "has returned 'RETRY'", id="str"),
    pytest.param(lambda: (RetryPolicy.RETRY,), "has returned (0,)", id="one item"),
    pytest.param(coroutine_decision, "write `def`, not `async def`", id="coroutine"),
]


@pytest.mark.parametrize(("make_decision", "expected_text"), WRONG_DECISIONS)
@pytest.mark.parametrize(("answer", "event"), EVENTS)
async def test_a_wrong_decision_does_not_hide_the_error_of_the_server(
    nodes: FakeCluster, answer: Answer, event: str, make_decision: Any, expected_text: str
) -> None:
    """If a policy returns something else than a decision, the request fails with a TypeError.

    The error names the policy, its method and the returned value. Its cause is the server's error.
    """
    nodes[0].prime(READ, answer, times=1)
    async with connected(nodes, {"retry_policy": ScriptedRetryPolicy(make_decision())}) as (
        _,
        session,
    ):
        failure = await exception_of(session.execute(NON_IDEMPOTENT_READ))
    # `event` says which method of the policy was called.
    methods = {
        "read": "on_read_timeout",
        "write": "on_write_timeout",
        "unavailable": "on_unavailable",
        "request": "on_request_error",
    }
    assert isinstance(failure, TypeError)
    assert f"ScriptedRetryPolicy.{methods[event]}() has returned" in str(failure)
    assert "but must return an action and a consistency level or None" in str(failure)
    assert expected_text in str(failure)
    assert isinstance(failure.__cause__, DriverException)


async def test_an_error_of_the_policy_has_the_error_of_the_server_as_cause(
    nodes: FakeCluster,
) -> None:
    """If a policy raises an error while it handles a server's error, the latter is its cause."""
    nodes[0].prime(READ, error(ErrorCode.READ_TIMEOUT), times=1)
    policy = ScriptedRetryPolicy(ZeroDivisionError("mistake in the policy"))
    async with connected(nodes, {"retry_policy": policy}) as (_, session):
        failure = await exception_of(session.execute(NON_IDEMPOTENT_READ))
    assert isinstance(failure, ZeroDivisionError)
    assert isinstance(failure.__cause__, ReadTimeout)


async def test_a_class_in_place_of_a_retry_policy_is_named(nodes: FakeCluster) -> None:
    """If a statement's `retry_policy` is a class, the request fails with a TypeError that says so.

    This happens at the first error that needs the policy.
    """
    nodes[0].prime(READ, error(ErrorCode.READ_TIMEOUT), times=1)
    statement = SimpleStatement(READ)
    statement.retry_policy = RetryPolicy  # type: ignore[assignment]
    async with connected(nodes) as (_, session):
        failure = await exception_of(session.execute(statement))
    assert isinstance(failure, TypeError)
    assert "retry_policy must be an instance, but is the class RetryPolicy" in str(failure)
    assert isinstance(failure.__cause__, ReadTimeout)


async def test_a_class_with_static_methods_is_a_retry_policy(nodes: FakeCluster) -> None:
    """A class is accepted as a retry policy if its methods can be called without an instance."""

    class StaticPolicy:
        @staticmethod
        def on_read_timeout(*args: Any, **kwargs: Any) -> Any:
            return RetryPolicy.IGNORE, None

    nodes[0].prime(READ, error(ErrorCode.READ_TIMEOUT), times=1)
    statement = SimpleStatement(READ, retry_policy=StaticPolicy)  # type: ignore[arg-type]
    async with connected(nodes) as (_, session):
        assert (await session.execute(statement)).all() == []


def test_a_statement_refuses_a_class_in_place_of_a_retry_policy() -> None:
    """A class as the `retry_policy` of SimpleStatement raises ValueError.

    The error names the class, and says to write `RetryPolicy()`.
    """
    with pytest.raises(ValueError, match=r"is the class RetryPolicy: write RetryPolicy\("):
        SimpleStatement(READ, retry_policy=RetryPolicy)  # type: ignore[arg-type]


async def test_the_timeout_covers_all_attempts(nodes: FakeCluster) -> None:
    """A retry does not restart the request's timeout.

    Here, the second host never responds, so the request times out.
    """
    nodes[0].prime(READ, error(ErrorCode.OVERLOADED))
    nodes[1].prime(READ, silence())
    async with connected(nodes) as (_, session):
        failure = await exception_of(session.execute(IDEMPOTENT_READ, timeout=0.05))
        assert isinstance(failure, OperationTimedOut)
        assert nodes[1].endpoint in str(failure)
        assert nodes_reached(nodes) == [0, 1]


@pytest.mark.parametrize("sent", [True, False])
async def test_the_error_of_a_timeout_says_what_became_of_the_request(sent: bool) -> None:
    """OperationTimedOut says whether the request was sent, and to which host.

    It also has the number of requests that were in flight on the host's connection.
    """
    failures: list[Any] = []
    with FakeNode() as node:
        node.prime(READ, silence())
        async with connected(node) as (cluster, session):
            assert cluster._core is not None
            # The hook is called with the host, the error and the retry policy's decision.
            cluster._core.on_failure = lambda *failure: failures.append(failure)
            other_requests = [session.execute(READ, timeout=None) for _ in range(2)]
            await node.wait_until(lambda node: len(node.queries(READ)) == len(other_requests))
            timeout = 1.0 if sent else 0.0
            failure = await exception_of(session.execute(IDEMPOTENT_READ, timeout=timeout))
            assert isinstance(failure, OperationTimedOut)
            assert failure.errors is not None
            (host,) = cluster.metadata.all_hosts()
            if sent:
                (reason,) = failure.errors.values()
                assert str(reason).startswith("no answer within the client's time")
                assert failure.in_flight == len(other_requests) + 1
                assert failure.last_host == host.endpoint
            else:
                assert str(failure.errors["(no host)"]).startswith(
                    "the time was over before the request was sent, as it is with timeout=0"
                )
                assert failure.in_flight is None
                assert failure.last_host is None
            assert failures == [(host if sent else None, failure, None)]
        for request in other_requests:
            await exception_of(request)


async def test_the_error_of_a_timeout_at_a_throttler_names_the_throttler(node: FakeNode) -> None:
    """If a request times out in the queue of a throttler, the error names the throttler.

    The throttler admits one request, which gets no response.
    """
    node.prime(READ, silence())
    throttler = ConcurrencyLimitingThrottler(max_concurrent_requests=1, max_queue_size=1)
    async with connected(node, request_throttler=throttler) as (_, session):
        occupant = session.execute(READ, timeout=None)
        failure = await exception_of(session.execute(READ_OTHER, timeout=1.0))
        assert isinstance(failure, OperationTimedOut)
        assert failure.errors is not None
        assert "the throttler let others go first" in str(failure.errors["(no host)"])
    await exception_of(occupant)


@pytest.mark.parametrize("throttled", [False, True])
async def test_the_error_of_a_timeout_without_a_free_stream_says_so(
    node: FakeNode, throttled: bool
) -> None:
    """If a request times out because no stream is free, the error says so.

    The connection has one stream, which a request without a response uses.
    """
    node.prime(READ, silence())
    throttler = (
        ConcurrencyLimitingThrottler(max_concurrent_requests=5, max_queue_size=5)
        if throttled
        else None
    )
    async with connected(node, request_throttler=throttler) as (_, session):
        # A request without a response occupies the only stream.
        only_connection(session).set_stream_limit(1)
        occupant = session.execute(READ, timeout=None)
        failure = await exception_of(session.execute(READ_OTHER, timeout=1.0))
        assert isinstance(failure, OperationTimedOut)
        assert failure.errors == {
            f"{node.address}:{node.port}": "no connection had room for the request within the "
            "client's time (connections: 1, in flight: 1 of 1, waiting: 1)"
        }
    await exception_of(occupant)


async def test_the_error_of_a_timeout_names_full_pools_after_a_failed_attempt() -> None:
    """The error of a timeout lists the host that refused the request and the host without a stream.

    The second host had no free stream for the retry.
    """
    with FakeCluster(2) as nodes:
        nodes[0].prime(READ, silence())
        nodes[1].prime(READ, silence())
        nodes[0].prime(READ_OTHER, error(ErrorCode.OVERLOADED))
        settings = {"load_balancing_policy": AddressOrderPolicy()}
        async with connected(nodes, settings) as (_, session):
            # A request without a response occupies the only stream of the second node.
            full_pool = next(
                pool
                for host, pool in session._engine.pools.items()
                if host.address == nodes[1].address
            )
            full_pool.connections[0].set_stream_limit(1)
            occupant = session.execute(READ, host=full_pool.host, timeout=None)
            await nodes[1].wait_until(lambda node: len(node.queries(READ)) == 1)
            # The first node refuses this request, and its retry waits for a stream of the second
            # node.
            statement = SimpleStatement(READ_OTHER, is_idempotent=True)
            failure = await exception_of(session.execute(statement, timeout=1.0))
            assert isinstance(failure, OperationTimedOut)
            assert failure.errors is not None
            overloaded_entry, full_entry = failure.errors.items()
            assert overloaded_entry[0].address == nodes[0].address
            assert full_entry[0] == nodes[1].endpoint
            assert full_entry[1].startswith("no connection had room for the request")
        await exception_of(occupant)


@pytest.mark.parametrize(
    ("node_count", "names_host", "reason"),
    [
        (1, False, " (one was tried, the cluster has no other)"),
        (2, True, " (one was tried, the call names it)"),
        (2, False, ""),
    ],
)
async def test_no_host_available_says_if_only_one_host_was_tried(
    node_count: int, names_host: bool, reason: str
) -> None:
    """If only one host was tried, NoHostAvailable says why.

    The cluster may have one node, or the call may name a host. There is no reason if several hosts
    were tried.
    """
    with FakeCluster(node_count) as nodes:
        for node in nodes.nodes:
            node.prime(READ, error(ErrorCode.OVERLOADED))
        async with connected(nodes) as (cluster, session):
            target: Any = {"host": cluster.metadata.all_hosts()[0]} if names_host else {}
            failure = await exception_of(session.execute(IDEMPOTENT_READ, **target))
    assert isinstance(failure, NoHostAvailable)
    message = f"Unable to complete the operation against any hosts{reason}"
    assert failure.args[0] == message
    assert str(failure).startswith(message + ": " + next(iter(failure.errors)) + ": Overloaded")


async def test_no_host_available_says_if_the_plan_had_only_one_host(nodes: FakeCluster) -> None:
    """If a host filter leaves one host in the query plan, NoHostAvailable says so."""
    for fake_node in nodes.nodes:
        fake_node.prime(READ, error(ErrorCode.OVERLOADED))
    policy = HostFilterPolicy(RoundRobinPolicy(), lambda host: host.address == nodes[0].address)
    async with connected(nodes, {"load_balancing_policy": policy}) as (_, session):
        failure = await exception_of(session.execute(IDEMPOTENT_READ))
    assert "any hosts (one was tried, the query plan has no other): " in str(failure)


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (
            TokenAwarePolicy(DCAwareRoundRobinPolicy("DC1")),
            "no node is in the data centre 'DC1', the local_dc of the load balancing policy: the "
            "nodes are in 'datacenter1'",
        ),
        (
            HostFilterPolicy(RoundRobinPolicy(), lambda host: False),
            "HostFilterPolicy returned none of the hosts",
        ),
    ],
)
async def test_no_host_available_says_why_the_plan_is_empty(
    nodes: FakeCluster, policy: LoadBalancingPolicy, reason: str
) -> None:
    """If the query plan is empty, the request is not sent, and NoHostAvailable says why."""
    async with connected(nodes) as (cluster, session):
        cluster.add_execution_profile("other", ExecutionProfile(policy))
        failure = await exception_of(session.execute(READ, execution_profile="other"))
    assert isinstance(failure, NoHostAvailable)
    assert str(failure) == f"Unable to complete the operation: the query plan is empty; {reason}"


async def test_hosts_that_the_policy_ignores_are_not_called_down(
    two_datacenters: FakeCluster,
) -> None:
    """If the local data centre has left, NoHostAvailable says so: its policy ignores other hosts.

    Nobody has tried to reach these hosts, so it is not known whether they are up.
    """
    settings = {"load_balancing_policy": DCAwareRoundRobinPolicy("east")}
    async with connected(two_datacenters, settings, topology_event_refresh_window=0) as (
        cluster,
        session,
    ):
        await session.execute(READ)
        await call_in_thread(two_datacenters.remove_node, two_datacenters[0])
        await until_on_loop(lambda: len(cluster.metadata.all_hosts()) == 2)
        assert {host.is_up for host in cluster.metadata.all_hosts()} == {None}
        failure = await exception_of(session.execute(READ))
    assert "is empty; no node is in the data centre 'east', the local_dc" in str(failure)


async def test_no_host_available_says_if_the_statement_is_not_idempotent(
    nodes: FakeCluster,
) -> None:
    """If a statement that is not idempotent fails on one host, NoHostAvailable says so.

    The driver does not send the statement to a second host, because it might take effect twice.
    """
    for fake_node in nodes.nodes:
        fake_node.prime(READ, error(ErrorCode.OVERLOADED))
    async with connected(nodes) as (_, session):
        failure = await exception_of(session.execute(READ))
    assert isinstance(failure, NoHostAvailable)
    assert str(failure).startswith(
        "Unable to complete the operation against any hosts (one was tried, no other was, because "
        "the statement is not idempotent): "
    )


# -- speculative executions ------------------------------------------------------------------------


# Send an idempotent request to the next host every 10 ms, for at most two further hosts.
SPECULATIVE: dict[str, Any] = {
    "speculative_execution_policy": ConstantSpeculativeExecutionPolicy(delay=0.01, max_attempts=2)
}


async def test_a_speculative_execution_may_answer_first(nodes: FakeCluster) -> None:
    """If the first node is slow, the response to a speculative execution becomes the result.

    The late response of the first node only frees its stream.
    """
    late_answer = hold(int_row(0))
    nodes[0].prime(READ, late_answer)
    async with connected(nodes, SPECULATIVE) as (_, session):
        result = await session.execute(IDEMPOTENT_READ)
        assert result.one().k == 1
        assert result.coordinator_host is not None
        assert result.coordinator_host.address == nodes[1].address
        late_answer.release()  # no caller waits for this response
        assert (await session.execute("anything")).all() == []
        pools = session._engine.pools.values()
        # `in_flight` is 0 only if the late response has freed its stream.
        assert sum(connection.in_flight for pool in pools for connection in pool.connections) == 0


async def test_an_observer_of_latencies_that_raises_does_not_stop_the_end_of_a_request(
    nodes: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """The host that was overtaken is reported while the request ends: it must end all the same."""
    late_answer = hold(int_row(0))
    nodes[0].prime(READ, late_answer)
    throttler = ConcurrencyLimitingThrottler(1, max_queue_size=1)
    async with connected(nodes, SPECULATIVE, request_throttler=throttler) as (_, session):

        def refuse_slow_host(host: Any, seconds: float) -> None:
            if host.address == nodes[0].address:
                raise LookupError(host.address)

        session._engine.core.observe_latencies(refuse_slow_host)
        # The throttler must get its place back after each request.
        for _ in range(2):
            assert (await session.execute(IDEMPOTENT_READ, timeout=10)).one().k == 1
        assert f"raised LookupError('{nodes[0].address}')" in caplog.text
        late_answer.open()


async def test_a_timeout_names_each_host_that_has_not_answered(nodes: FakeCluster) -> None:
    """If several attempts are in flight at the timeout, the error and observers name all."""
    for index in range(3):
        nodes[index].prime(READ, silence())
    failed: list[str] = []

    def record_failure(host: Any, error: BaseException, decision: int | None) -> None:
        failed.append(str(host.endpoint))

    async with connected(nodes, SPECULATIVE) as (_, session):
        session._engine.core.observe_failures(record_failure)
        with pytest.raises(OperationTimedOut) as raised:
            await session.execute(IDEMPOTENT_READ, timeout=0.3)
    errors = raised.value.errors
    assert errors is not None
    assert len(errors) == len(nodes.nodes)
    assert sorted(map(str, errors)) == sorted(failed)
    assert all("no answer within" in reason for reason in errors.values())
    assert str(raised.value.last_host) == failed[-1]


async def test_non_idempotent_statements_have_no_speculative_executions(nodes: FakeCluster) -> None:
    """For a statement that is not idempotent, there are no speculative executions.

    The timeout would leave enough time for them.
    """
    late_answer = hold(int_row(0))
    nodes[0].prime(READ, late_answer)
    async with connected(nodes, SPECULATIVE) as (_, session):
        failure = await exception_of(session.execute(NON_IDEMPOTENT_READ, timeout=0.08))
        assert isinstance(failure, OperationTimedOut)
        assert nodes_reached(nodes) == [0]


async def test_a_later_change_of_idempotence_starts_no_speculative_execution(
    nodes: FakeCluster,
) -> None:
    """If a statement becomes idempotent after the call, no speculative execution is started."""
    statement = SimpleStatement(READ, is_idempotent=False)
    late_answer = hold(int_row(0))
    nodes[0].prime(READ, late_answer)
    async with connected(nodes, SPECULATIVE) as (_, session):
        failure = asyncio.ensure_future(exception_of(session.execute(statement, timeout=0.08)))
        # Let the task execute the statement before the statement is changed.
        await asyncio.sleep(0)
        statement.is_idempotent = True
        assert isinstance(await failure, OperationTimedOut)
        assert nodes_reached(nodes) == [0]


async def test_if_speculative_executions_fail_the_first_may_answer(nodes: FakeCluster) -> None:
    """If all speculative executions fail, the request still waits for its first attempt."""
    late_answer = hold(int_row(0))
    nodes[0].prime(READ, late_answer)
    nodes[1].prime(READ, error(ErrorCode.OVERLOADED))
    nodes[2].prime(READ, error(ErrorCode.OVERLOADED))
    async with connected(nodes, SPECULATIVE) as (_, session):
        request = session.execute(IDEMPOTENT_READ)
        await call_in_thread(nodes[2].wait_for, lambda node: node.queries(READ))
        late_answer.release()
        assert (await request).one().k == 0


async def test_if_all_speculative_executions_fail_the_error_is_raised(nodes: FakeCluster) -> None:
    """If the first attempt and all speculative executions fail, the request fails.

    Its error is the server's.
    """
    held_answers = [hold() for _ in nodes.nodes]
    for fake_node, held_answer in zip(nodes.nodes, held_answers, strict=True):
        fake_node.prime(READ, held_answer)
    async with connected(nodes, SPECULATIVE) as (_, session):
        failure = asyncio.ensure_future(exception_of(session.execute(IDEMPOTENT_READ)))
        for held_answer in held_answers:
            await call_in_thread(held_answer.wait)
        for held_answer in held_answers:
            held_answer.release(error(ErrorCode.OVERLOADED, "busy"))
        assert isinstance(await failure, OverloadedErrorMessage)


DDL = "CREATE TABLE ks.t (k int PRIMARY KEY)"
CREATED = schema_change("CREATED", "TABLE", "ks", "t")


async def test_a_ddl_statement_that_was_executed_is_not_executed_again(
    nodes: FakeCluster,
) -> None:
    """While the session waits for schema agreement, there are no speculative executions.

    The DDL statement was already executed, so a second execution would fail, and so would the
    request.
    """
    nodes[0].prime(DDL, CREATED)
    for fake_node in nodes.nodes[1:]:
        fake_node.prime(DDL, error(ErrorCode.ALREADY_EXISTS, keyspace="ks", table="t"))
    nodes[1].schema_version = nodes[1].host_id  # the nodes never agree on the schema
    statement = SimpleStatement(DDL, is_idempotent=True)
    async with connected(nodes, SPECULATIVE, max_schema_agreement_wait=0.5) as (_, session):
        await session.execute(statement)
    assert len(nodes.queries(DDL)) == 1


@pytest.mark.parametrize(
    "late_answer",
    [
        error(ErrorCode.ALREADY_EXISTS, keyspace="ks", table="t"),
        error(ErrorCode.OVERLOADED),
        close(),
    ],
    ids=["already exists", "overloaded", "close"],
)
async def test_other_attempts_cannot_fail_a_ddl_statement_that_was_executed(
    nodes: FakeCluster, late_answer: Answer
) -> None:
    """After a DDL statement has succeeded, the failure of another attempt is ignored.

    Here, a speculative execution fails while the session waits for schema agreement.
    """
    first_answer, second_answer = hold(CREATED), hold(late_answer)
    nodes[0].prime(DDL, first_answer)
    nodes[1].prime(DDL, second_answer)
    nodes[2].prime(DDL, silence())
    nodes[1].schema_version = nodes[1].host_id  # the nodes never agree on the schema
    statement = SimpleStatement(DDL, is_idempotent=True)
    async with connected(nodes, SPECULATIVE, max_schema_agreement_wait=0.5) as (_, session):
        execution = asyncio.ensure_future(session.execute(statement))
        await call_in_thread(second_answer.wait)
        first_answer.release()
        await until_on_loop(lambda: bool(nodes[0].queries(LOCAL_VERSION_QUERY)))
        second_answer.release()
        assert not (await execution).is_schema_agreed
        assert len(nodes[0].queries(DDL)) == 1


@pytest.mark.parametrize(
    ("statement", "answer", "reason"),
    [
        ("CREATE WIDGET w", schema_change("CREATED", "WIDGET", "ks", "w"), None),
        (DDL, schema_change("RENAMED", "TABLE", "ks", "t"), None),
        (INSERT, message(Opcode.RESULT, b"\0\0\0\x09"), "unknown kind 9"),
        # rows with one column "a" of a table "k.t"; its type has the code 0x99
        (
            READ_OTHER,
            message(
                Opcode.RESULT,
                b"\0\0\0\2\0\0\0\1\0\0\0\1\0\1k\0\1t\0\1a\0\x99\0\0\0\0",
            ),
            "unknown code 0x0099",
        ),
    ],
    ids=["target of DDL", "change by DDL", "kind of result", "type of a column"],
)
async def test_answers_of_a_newer_server_leave_the_connection_open(
    node: FakeNode, statement: str, answer: Answer, reason: str | None
) -> None:
    """If an answer has something that the driver does not know, its connection stays open.

    Other requests on the connection do not fail. A schema change of an unknown kind does not fail
    its request, either.
    """
    node.prime(statement, answer)
    late_answer = hold(int_row(0))
    node.prime(READ, late_answer)
    async with connected(node) as (_, session):
        other = asyncio.ensure_future(session.execute(READ))
        await call_in_thread(late_answer.wait)
        if reason is None:
            assert (await session.execute(statement)).all() == []
        else:
            with pytest.raises(UnknownContent, match=reason):
                await session.execute(statement)
        late_answer.release()
        assert (await other).one().k == 0


CAS_UNKNOWN = error(
    ErrorCode.CAS_WRITE_UNKNOWN,
    "contended",
    consistency=ConsistencyLevel.SERIAL,
    received=1,
    blockfor=2,
)


@pytest.mark.parametrize("is_idempotent", [True, False])
async def test_the_policy_for_transactions_repeats_one_with_an_unknown_outcome(
    nodes: FakeCluster, is_idempotent: bool
) -> None:
    """LWTRetryPolicy retries CAS_WRITE_UNKNOWN on the same host, for all statements.

    The statement need not be idempotent.
    """
    nodes[0].prime(READ, CAS_UNKNOWN, times=2)
    policy = LWTRetryPolicy(max_num_retries=2, min_interval=0.001)
    async with connected(nodes, {"retry_policy": policy}) as (_, session):
        result = await session.execute(SimpleStatement(READ, is_idempotent=is_idempotent))
        assert nodes_reached(nodes) == [0, 0, 0]
        assert [attempt.decision for attempt in result.attempts] == ["retry", "retry", None]
        nodes[0].prime(READ, CAS_UNKNOWN)
        failure = await exception_of(session.execute(NON_IDEMPOTENT_READ))
        assert isinstance(failure, CASWriteUnknownMessage)
        # The policy allows two retries, so each of the two requests must make three attempts.
        assert nodes_reached(nodes) == [0] * 6


async def test_other_policies_raise_the_unknown_outcome_of_a_transaction(
    nodes: FakeCluster,
) -> None:
    """The default policy does not retry CAS_WRITE_UNKNOWN, even for an idempotent statement."""
    nodes[0].prime(READ, CAS_UNKNOWN)
    async with connected(nodes) as (_, session):
        failure = await exception_of(session.execute(IDEMPOTENT_READ))
        assert isinstance(failure, CASWriteUnknownMessage)
        assert nodes_reached(nodes) == [0]


async def test_errors_of_the_server_are_raised_unchanged(nodes: FakeCluster) -> None:
    """With FallthroughRetryPolicy, every error of the server is raised without a retry.

    The error is unchanged.
    """
    # Leave out UNPREPARED, after which the driver prepares the statement again, and two errors with
    # more fields than a code and a message.
    special = (ErrorCode.UNPREPARED, ErrorCode.RATE_LIMITED, ErrorCode.ALREADY_EXISTS)
    codes = [code for code in ErrorCode if code not in special]
    async with connected(nodes, {"retry_policy": FallthroughRetryPolicy()}) as (_, session):
        for code in codes:
            nodes[0].prime(READ, error(code, f"this is {code:04x}"), times=1)
            failure = await exception_of(session.execute(IDEMPOTENT_READ))
            assert isinstance(failure, (DriverException, ErrorMessage))
            assert f"this is {code:04x}" in str(failure)
            assert not isinstance(failure, NoHostAvailable)
        assert len(nodes_reached(nodes)) == len(codes)


@pytest.mark.parametrize(
    "code", [ErrorCode.SERVER_ERROR, ErrorCode.OVERLOADED, ErrorCode.TRUNCATE_ERROR]
)
async def test_an_error_that_is_not_retried_is_also_no_host_available(
    nodes: FakeCluster, code: ErrorCode
) -> None:
    """An error that is not retried is an instance of its own class and of NoHostAvailable.

    cassandra-driver would try all hosts and raise NoHostAvailable, so applications may catch
    either.
    """
    async with connected(nodes) as (_, session):
        nodes[0].prime(READ, error(code, "that failed"), times=1)
        failure = await exception_of(session.execute(READ))
        assert isinstance(failure, NoHostAvailable)
        assert isinstance(failure, ErrorMessage)
        (reason,) = failure.errors.values()
        assert type(reason).__name__ == type(failure).__name__
        assert isinstance(failure, type(reason))
        assert failure.code == reason.code
        assert failure.message == reason.message
        assert "that failed" in str(failure)
        unpickled = pickle.loads(pickle.dumps(failure))
        assert str(unpickled) == str(failure)
        assert isinstance(unpickled, type(reason))
        assert len(nodes_reached(nodes)) == 1


# -- subclasses -----------------------------------------------------------------------------------

# Methods of `Request` that its compiled base class calls directly, so that overrides would be
# ignored.
STEPS = [
    "choose", "end", "fail", "finish", "learn", "on_answer", "send", "send_to", "try_next_host",
    "version_block",
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_subclasses_of_request_may_not_override_steps(step: str) -> None:
    """A subclass of `Request` may not override a method that compiled code calls.

    Otherwise, the class definition raises TypeError.
    """
    with pytest.raises(TypeError, match=f"Eager overrides {step}, which the compiled base class"):
        type("Eager", (Request,), {"__slots__": (), step: lambda self: None})
    # A subclass that overrides none of these methods is allowed.
    assert issubclass(type("Usual", (Request,), {"__slots__": ()}), Request)
    # If a mixin precedes `Request` in the bases, its method counts as an override, too.
    mixin = type("Beside", (), {step: lambda self: None})
    with pytest.raises(TypeError, match=f"Mixed overrides {step}, which the compiled base class"):
        type("Mixed", (mixin, Request), {})


# -- prepared again --------------------------------------------------------------------------------


async def test_a_forgotten_statement_is_prepared_again(node: FakeNode) -> None:
    """After UNPREPARED, the driver prepares the statement again and repeats the EXECUTE."""
    async with connected(node) as (_, session):
        statement = await session.prepare(INSERT)
        await session.execute(statement, (1,))
        node.forget_prepared()
        result = await session.execute(statement, (2,))
        assert node.count(Opcode.PREPARE) == 2
        # The second EXECUTE was refused, and sent again after the PREPARE.
        assert [request.values for request in node.queries()] == [
            [int32_pack(1)],
            [int32_pack(2)],
            [int32_pack(2)],
        ]
        # Preparing again is not a retry, so the result has one attempt.
        assert len(result.attempts) == 1


async def test_a_statement_may_be_forgotten_right_after_it_was_prepared(node: FakeNode) -> None:
    """If a node forgets a statement right after its PREPARE, the driver prepares it again.

    The driver does so MOST_PREPARES times. The cache of a node may be full of statements that are
    executed more often.
    """
    async with connected(node) as (_, session):
        statement = await session.prepare(INSERT)
        forgotten = error(ErrorCode.UNPREPARED, "never heard of it")
        node.prime(INSERT, sequence(*[forgotten] * MOST_PREPARES, void()))
        await session.execute(statement, (1,))
        assert node.count(Opcode.PREPARE) == 1 + MOST_PREPARES


async def test_a_node_that_always_forgets_a_statement_is_no_endless_loop(node: FakeNode) -> None:
    """If a node always returns UNPREPARED, the request fails after MOST_PREPARES retries."""
    async with connected(node) as (_, session):
        statement = await session.prepare(INSERT)
        node.prime(INSERT, error(ErrorCode.UNPREPARED, "never heard of it"))
        failure = await exception_of(session.execute(statement, (1,)))
        assert isinstance(failure, PreparedQueryNotFound)
        assert "never heard of it" in str(failure)
        # A PREPARE and an EXECUTE were sent for the application's calls, and once more each time
        # when the driver prepared the statement again.
        assert node.count(Opcode.PREPARE) == 1 + MOST_PREPARES
        assert node.count(Opcode.EXECUTE) == 1 + MOST_PREPARES


async def test_the_forgotten_statements_of_a_batch_are_prepared_again(node: FakeNode) -> None:
    """If a node has forgotten all statements of a batch, the driver prepares each of them again.

    Then it sends the batch with the same values.
    """
    async with connected(node) as (_, session):
        inserts = [f"INSERT INTO t{number} (k) VALUES (?)" for number in range(3)]
        batch = BatchStatement()
        for insert in inserts:
            batch.add(await session.prepare(insert), (5,))
        node.forget_prepared()
        await session.execute(batch)
        assert sorted(node.prepared) == inserts
        executed_batch = node.queries()[-1]
        assert [statement.values for statement in executed_batch.statements] == [
            [int32_pack(5)]
        ] * 3


async def test_values_are_bound_again_for_changed_columns(node: FakeNode) -> None:
    """If a column's type has changed when a statement is prepared, values are encoded again.

    Values that do not fit the new type raise BindColumnsChanged.
    """
    async with connected(node) as (_, session):
        statement = await session.prepare(INSERT)
        node.forget_prepared()
        node.prime_prepare(INSERT, [("k", "bigint")])
        await session.execute(statement, (1,))
        executed = [request.values for request in node.requests if request.opcode == Opcode.EXECUTE]
        # The EXECUTE with an int is refused. Then the value is sent as a bigint.
        assert executed == [[int32_pack(1)], [int64_pack(1)]]
        # An int does not fit a text column, so the driver sends no EXECUTE.
        node.prime_prepare(INSERT, [("k", "text")])
        node.forget_prepared()
        failure = await exception_of(session.execute(statement, (1,)))
        assert isinstance(failure, BindColumnsChanged)
        assert "k int -> k varchar" in str(failure)
        assert "INSERT INTO t" in str(failure)
        assert node.requests[-1].opcode != Opcode.EXECUTE


@pytest.mark.parametrize(
    ("answer", "error_class"),
    [
        (error(ErrorCode.INVALID, "table t is gone"), InvalidRequest),
        (reset(), NoHostAvailable),  # there is no other host
        (void(), DriverException),
        # A RESULT of kind Prepared that ends after one byte.
        (message(Opcode.RESULT, b"\0\0\0\x04\0"), DriverException),
    ],
    ids=["refused", "reset", "void", "cut"],
)
async def test_an_error_of_preparing_again_fails_the_request(
    node: FakeNode, answer: Answer, error_class: type[Exception]
) -> None:
    """If the PREPARE after UNPREPARED fails, the request fails, and the session still works."""
    async with connected(node) as (_, session):
        statement = await session.prepare(INSERT)
        node.forget_prepared()
        node.prime(Opcode.PREPARE, answer, times=1)
        assert isinstance(await exception_of(session.execute(statement, (1,))), error_class)
        assert (await session.execute(READ_OTHER)).one().k == 1


async def test_the_timeout_covers_preparing_again(node: FakeNode) -> None:
    """If the node does not respond to the PREPARE after UNPREPARED, the request times out."""
    async with connected(node) as (_, session):
        statement = await session.prepare(INSERT)
        node.forget_prepared()
        node.prime(Opcode.PREPARE, silence(), times=1)
        failure = await exception_of(session.execute(statement, (1,), timeout=0.05))
        assert isinstance(failure, OperationTimedOut)
        # The next execution can prepare the statement again.
        await session.execute(statement, (1,))


async def test_the_id_from_preparing_again_is_used(node: FakeNode) -> None:
    """If preparing again returns another id, this and all later executions send the new id."""
    async with connected(node) as (_, session):
        statement = await session.prepare(INSERT)
        node.forget_prepared()
        node.prime_prepare(INSERT, [("k", "int")], query_id=b"another")
        await session.execute(statement, (1,))
        assert node.queries()[-1].query_id == b"another"
        # A later execution sends the new id at once, without another PREPARE.
        await session.execute(statement, (2,))
        assert node.queries()[-1].query_id == b"another"
        assert node.count(Opcode.PREPARE) == 2


async def test_all_retries_that_wait_are_cancelled_when_the_request_ends() -> None:
    """If two retries of a request are delayed, cancelling the request cancels both retries.

    A speculative execution may lead to two retries. When one retry runs, the request's handle
    belongs to the other retry.
    """

    class StubSession:
        def __init__(self) -> None:
            self.loop = asyncio.get_running_loop()
            self.delayed: set[Any] = set()

    class StubRequest:
        def __init__(self) -> None:
            self.session = StubSession()
            self._retry_handle: Any = None
            self.hosts: list[Any] = []
            self.has_retried = asyncio.Event()

        def retry_now(self, host: Any) -> None:
            self.hosts.append(host)
            self.has_retried.set()

    # Two retries wait. Cancelling the latest handle cancels both.
    request: Any = StubRequest()
    host: Any
    for host in ("a", "b"):
        request._retry_handle = _DelayedRetry(request, host, delay=60)
    assert len(request.session.delayed) == 2
    request._retry_handle.cancel()
    assert not request.session.delayed
    assert request.hosts == []

    # Of two retries, the second one has no delay and runs at once. Afterwards, `_retry_handle` is
    # the handle of the first retry again.
    request = StubRequest()
    hosts: list[Any] = ["a", "b"]
    request._retry_handle = slow_retry = _DelayedRetry(request, hosts[0], delay=60)
    request._retry_handle = _DelayedRetry(request, hosts[1], delay=0)
    await asyncio.wait_for(request.has_retried.wait(), timeout=10)
    assert request.hosts == ["b"]
    assert request._retry_handle is slow_retry
    slow_retry.cancel()


@pytest.mark.parametrize("has_token", [False, True])
async def test_a_request_that_waits_at_a_draining_host_is_planned_again(
    nodes: FakeCluster, has_token: bool
) -> None:
    """If a request waits at a host that will stop, it makes a new query plan.

    The plan is made like the first plan: if the call has a token, the token's owner comes first.
    """
    async with connected(nodes) as (cluster, session):
        # Let requests use every stream, so that the next request must wait. The policy tries the
        # hosts in the order of their addresses. The third host owns the token.
        full = FullPools(nodes, session)
        await full.fill()
        draining, next_by_address, owner = full.pools
        members = cluster.metadata.members
        assert members is not None
        # Find a token of the ring that the third host owns.
        position = members.ring.owners().index(members.hosts.index(owner.host))
        target: Any = {"token": members.ring.tokens()[position]} if has_token else {}
        request = asyncio.ensure_future(session.execute(READ, timeout=None, **target))
        await until_on_loop(lambda: full.waiting == [1, 1, 1])
        # The other hosts have a free stream now, but the request was not notified of this.
        for pool in (next_by_address, owner):
            pool.connections[0].set_stream_limit(2)
        draining.drain(ConnectionException("the host stops"), lambda pool: None)
        assert (await request).one().k == (2 if has_token else 1)
        assert full.waiting == [0, 0, 0]
        await full.free_all()
