"""Tests of the events of a request that its observers get, in both APIs."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from typing import Any

import pytest

from cassandra import ConsistencyLevel, aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.engine.observers import MOST_SLOW_CALLS, SLOW, Observers
from cassandra.errors import InvalidRequest, OperationTimedOut, ReadTimeout
from cassandra.observability.counters import RequestCounters
from cassandra.observers import ObservedRequest, RequestObserver
from cassandra.policies.speculation import ConstantSpeculativeExecutionPolicy
from cassandra.protocol.messages.errors import OverloadedErrorMessage
from cassandra.query import SimpleStatement
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    Scylla,
    delay,
    error,
    hold,
    paged,
    rows,
    sequence,
    silence,
)
from tests.unit.engine.faults import AddressOrderPolicy
from tests.unit.observing import (
    INSERT,
    ONE_ROW,
    QUERY,
    Blocking,
    Connect,
    K,
    Recorder,
    RetryOnce,
    caller,
    connect as connect,
    node as node,
    recorder as recorder,
)


@pytest.mark.parametrize(
    "query_form", ["text", "statement", "prepared", "bound", "first execution"]
)
def test_a_request_reports_start_attempt_and_end(
    connect: Connect, node: FakeNode, recorder: Recorder, query_form: str
) -> None:
    """For each kind of query, there must be three events, and the request have its attributes."""
    session = connect(node, recorder)
    query: Any = QUERY
    parameters: Any = None
    if query_form == "statement":
        query = SimpleStatement(QUERY)
    elif query_form == "first execution":
        query, parameters = INSERT, (1,)
    elif query_form != "text":
        query, parameters = session.prepare(INSERT), (1,)
        if query_form == "bound":
            query, parameters = query.bind(parameters), None
    # Observers run in the context of the caller, so they can read its context variables.
    text = QUERY if query_form in ("text", "statement") else INSERT
    token = caller.set("me")
    try:
        session.execute(query, parameters)
    finally:
        caller.reset(token)
    assert recorder.events == [("start", text), ("attempt", node.address), ("end", None)]
    assert recorder.callers == ["me"] * 3
    # Check the attributes of the request when it has ended.
    (request,) = recorder.requests
    assert request.statement is not None
    assert request.host is not None
    assert request.host.address == node.address
    (attempt,) = request.attempts
    assert attempt.latency is not None
    assert request.latency is not None
    assert attempt.latency <= request.latency
    assert request.error is None
    assert request.retries == 0
    assert request.speculations == 0
    # The size must include the header of the frame, which has 9 bytes.
    assert request.request_size > 9
    assert request.response_size > 9
    assert request.page_number == 1
    assert request.shard is None
    assert request.consistency_level == ConsistencyLevel.LOCAL_ONE
    assert text in request.description
    assert "ms" in repr(request)


def test_context_variables_of_the_caller_are_visible_to_observers(
    node: FakeNode, recorder: Recorder
) -> None:
    """Observers must run in the caller's context even if the calling thread writes the request."""
    session = Blocking(node, recorder)
    prepared = session.prepare(INSERT)

    def execute_three_times() -> None:
        caller.set("thread")
        for _ in range(3):
            session.execute(prepared, (1,))

    try:
        thread = threading.Thread(target=execute_three_times)
        thread.start()
        thread.join()
    finally:
        session.close()
    assert recorder.names == ["start", "attempt", "end"] * 3
    assert recorder.callers == ["thread"] * 9


def test_each_page_reports_page_attempt_and_end(
    connect: Connect, node: FakeNode, recorder: Recorder
) -> None:
    """The first page must report a start, and each further page a page event instead."""
    node.prime(QUERY, paged(K, [(number,) for number in range(5)]))
    session = connect(node, recorder)
    assert len(session.rows(session.execute(SimpleStatement(QUERY, fetch_size=2)))) == 5
    assert recorder.names == [
        *("start", "attempt", "end"),
        *("page", "attempt", "end"),
        *("page", "attempt", "end"),
    ]
    assert [request.page_number for request in recorder.requests] == [1, 2, 3]


def test_on_page_calls_on_start_by_default(connect: Connect, node: FakeNode) -> None:
    """An observer without `on_page` must get `on_start` for each page."""
    node.prime(QUERY, paged(K, [(number,) for number in range(4)]))
    page_numbers: list[int] = []

    class StartRecorder(RequestObserver):
        def on_start(self, request: ObservedRequest) -> None:
            page_numbers.append(request.page_number)

    session = connect(node, StartRecorder())
    session.rows(session.execute(SimpleStatement(QUERY, fetch_size=2)))
    assert page_numbers == [1, 2]


def test_an_error_is_passed_to_on_end(connect: Connect, node: FakeNode, recorder: Recorder) -> None:
    node.prime(QUERY, error(ErrorCode.INVALID))
    session = connect(node, recorder)
    with pytest.raises(InvalidRequest) as raised:
        session.execute(QUERY)
    assert recorder.events[-1] == ("end", "InvalidRequest")
    assert recorder.requests[0].error is raised.value
    assert recorder.requests[0].attempts[0].error is not None


def test_a_timeout_is_passed_to_on_end(
    connect: Connect, node: FakeNode, recorder: Recorder
) -> None:
    """If a request times out, its end must have the error."""
    node.prime(QUERY, silence())
    session = connect(node, recorder)
    with pytest.raises(OperationTimedOut):
        session.execute(QUERY, timeout=0.05)
    assert recorder.names == ["start", "attempt", "end"]
    assert recorder.events[-1] == ("end", "OperationTimedOut")


def test_a_request_with_timeout_0_reports_start_and_end(
    connect: Connect, node: FakeNode, recorder: Recorder
) -> None:
    session = connect(node, recorder)
    with pytest.raises(OperationTimedOut):
        session.execute(QUERY, timeout=0)
    assert recorder.names == ["start", "end"]


async def test_cancelling_a_request_is_passed_to_on_end(node: FakeNode, recorder: Recorder) -> None:
    held_answer = hold(ONE_ROW)
    node.prime(QUERY, held_answer)
    async with aio.Cluster([node.address], port=node.port, request_observers=[recorder]) as cluster:
        session = await cluster.connect()
        task = asyncio.ensure_future(session.execute(QUERY))
        # Wait until the node has the request.
        await asyncio.to_thread(held_answer.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held_answer.release()
    assert recorder.events[-1] == ("end", "CancelledError")


def test_retries_are_reported_with_error_and_decision(connect: Connect, recorder: Recorder) -> None:
    """A retry on the next host must be reported with its reason, before the next attempt."""
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.prime(QUERY, error(ErrorCode.READ_TIMEOUT))
        profile = ExecutionProfile(
            load_balancing_policy=AddressOrderPolicy(), retry_policy=RetryOnce()
        )
        session = connect(nodes, recorder, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
        with pytest.raises(ReadTimeout):
            session.execute(QUERY)
        assert recorder.events == [
            ("start", QUERY),
            ("attempt", nodes[0].address),
            ("retry", "ReadTimeout", "retry next host"),
            ("attempt", nodes[1].address),
            ("end", "ReadTimeout"),
        ]
        assert recorder.requests[0].retries == 1


def test_repreparing_a_forgotten_statement_is_reported_as_retry(
    connect: Connect, node: FakeNode, recorder: Recorder
) -> None:
    """If the node has forgotten the statement, there must be a retry: "prepare"."""
    session = connect(node, recorder)
    prepared = session.prepare(INSERT)
    node.forget_prepared()
    session.execute(prepared, (1,))
    assert recorder.names == ["start", "attempt", "retry", "end"]
    assert recorder.events[2] == ("retry", "PreparedQueryNotFound", "prepare")


def test_speculative_executions_are_reported(connect: Connect, recorder: Recorder) -> None:
    """A speculative execution must be reported before its attempt, and be counted."""
    with FakeCluster(2) as nodes:
        held_answer = hold(ONE_ROW)
        nodes[0].prime(QUERY, held_answer)
        nodes[1].prime(QUERY, ONE_ROW)
        profile = ExecutionProfile(
            load_balancing_policy=AddressOrderPolicy(),
            speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.01, 1),
        )
        session = connect(nodes, recorder, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
        session.execute(SimpleStatement(QUERY, is_idempotent=True))
        held_answer.release()
        assert recorder.events == [
            ("start", QUERY),
            ("attempt", nodes[0].address),
            ("speculation", nodes[1].address),
            ("attempt", nodes[1].address),
            ("end", None),
        ]
        assert recorder.requests[0].speculations == 1


def test_the_host_that_answers_is_the_coordinator(connect: Connect, recorder: Recorder) -> None:
    """If the first attempt answers after a speculative execution, its host must be the coordinator.

    The coordinator of the request, and the shard, must not be those of the abandoned attempt.
    """
    counters = RequestCounters()
    with FakeCluster(2, scylla=Scylla(3)) as nodes:
        held_answer, never = hold(ONE_ROW), hold(ONE_ROW)
        nodes[0].prime(QUERY, held_answer)
        nodes[1].prime(QUERY, never)
        profile = ExecutionProfile(
            load_balancing_policy=AddressOrderPolicy(),
            speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.01, 1),
        )
        shards: list[int] = []

        class ReleasesFirst(RequestObserver):
            def on_speculation(self, request: ObservedRequest, attempt: Any) -> None:
                connection: Any = request.attempts[0].connection
                shards.append(connection.features.shard_id)
                held_answer.release()

        session = connect(
            nodes,
            *(recorder, counters, ReleasesFirst()),
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        )
        result = session.execute(SimpleStatement(QUERY, is_idempotent=True))
        never.release()
        request = recorder.requests[0]
        assert request.speculations == 1
        assert request.host is not None
        assert request.host.address == nodes[0].address
        assert request.shard == shards[0]
        # On asyncio, the result itself has the coordinator.
        future = getattr(result, "response_future", result)
        assert future.coordinator_host is request.host
        bytes_in = {host.address: counted.bytes_in for host, counted in counters.hosts.items()}
        assert bytes_in[nodes[0].address] == request.response_size
        assert bytes_in.get(nodes[1].address, 0) == 0


def test_concurrent_executions_have_the_caller_s_context(
    node: FakeNode, recorder: Recorder
) -> None:
    session = Blocking(node, recorder)
    prepared = session.prepare(INSERT)
    token = caller.set("bulk")
    try:
        execute_concurrent_with_args(
            session.session, prepared, [(number,) for number in range(300)], concurrency=10
        )
    finally:
        caller.reset(token)
        session.close()
    # The requests run at the same time, so their events may come in any order.
    assert sorted(recorder.names) == sorted(["start", "attempt", "end"] * 300)
    assert set(recorder.callers) == {"bulk"}


async def test_concurrent_executions_on_asyncio_have_the_caller_s_context(
    node: FakeNode, recorder: Recorder
) -> None:
    """All events of concurrent executions must come in the context of the calling coroutine."""
    async with aio.Cluster([node.address], port=node.port, request_observers=[recorder]) as cluster:
        session = await cluster.connect()
        prepared = await session.prepare(INSERT)
        caller.set("bulk")
        pairs = ((prepared, (number,)) for number in range(300))
        outcomes = [outcome async for outcome in session.execute_concurrent(pairs, concurrency=10)]
        assert len(outcomes) == 300
    assert sorted(recorder.names) == sorted(["start", "attempt", "end"] * 300)
    assert set(recorder.callers) == {"bulk"}


def test_no_event_is_repeated_and_every_start_has_an_end(
    connect: Connect, recorder: Recorder
) -> None:
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.prime(QUERY, error(ErrorCode.OVERLOADED))
        session = connect(nodes, recorder)
        for _ in range(5):
            with pytest.raises(OverloadedErrorMessage):
                session.execute(QUERY)
    # Each request must have one start and one end event, however many hosts it tried.
    assert recorder.names.count("start") == 5
    assert recorder.names.count("end") == 5


def test_the_shard_of_an_attempt(connect: Connect, recorder: Recorder) -> None:
    """On ScyllaDB, the shard of the attempt must be known."""
    with FakeCluster(1, scylla=Scylla(2)) as node:
        node[0].prime(QUERY, ONE_ROW)
        session = connect(node, recorder)
        session.execute(QUERY)
        assert recorder.requests[0].shard in (0, 1)


def test_the_response_size_counts_all_chunks_of_a_response(
    connect: Connect, node: FakeNode
) -> None:
    sizes: list[int] = []

    class SizeRecorder(RequestObserver):
        def on_end(self, request: ObservedRequest) -> None:
            sizes.append(request.response_size)

    node.prime(QUERY, sequence(ONE_ROW, rows(K, [(number,) for number in range(5000)])))
    session = connect(node, SizeRecorder())
    session.execute(QUERY)
    session.execute(QUERY)
    # The second response has 4999 more rows. Each has the length of an int (4 bytes), and its four
    # bytes.
    assert sizes[1] - sizes[0] == 4999 * 8


# -- times and faults ------------------------------------------------------------------------------


@pytest.mark.simulated
async def test_the_latency_is_the_time_from_start_to_end(recorder: Recorder) -> None:
    """The latency must be in seconds, by the clock of the event loop, and None before the end."""
    latencies: list[float | None] = []

    class LatencyRecorder(RequestObserver):
        def on_attempt(self, request: ObservedRequest, attempt: Any) -> None:
            latencies.append(request.latency)

        def on_end(self, request: ObservedRequest) -> None:
            latencies.append(request.latency)

    async with FakeNode() as node:
        node.prime(QUERY, delay(3.0, ONE_ROW))
        cluster = aio.Cluster(
            [node.address], port=node.port, request_observers=[LatencyRecorder(), recorder]
        )
        async with cluster:
            session = await cluster.connect()
            await session.execute(QUERY)
    assert latencies == [None, pytest.approx(3.0, abs=0.5)]
    (request,) = recorder.requests
    # The request started after some time of the loop, which the connect took.
    assert request.started > 0


class Clock:
    """A clock that only the test moves, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_observer_may_take_as_long_as_slow_after(caplog: pytest.LogCaptureFixture) -> None:
    """The time of each observer must be measured separately.

    Only an observer that often takes longer than 0.1 s is called in another thread from then on,
    and the log names it.
    """
    clock = Clock()

    class SlowObserver(RequestObserver):
        def __init__(self, seconds: float) -> None:
            self.seconds = seconds

        def on_start(self, request: ObservedRequest) -> None:
            clock.now += self.seconds

        def __repr__(self) -> str:
            return f"<works {self.seconds} s>"

    seconds_of_observers = (SLOW, 0.09, 0.11, 0.09)
    hooks = Observers(clock).hooks_of([SlowObserver(seconds) for seconds in seconds_of_observers])
    assert hooks is not None
    calls = [hook.call for hook in hooks.start]
    request: Any = object()
    for _ in range(MOST_SLOW_CALLS):
        assert not caplog.records
        ObservedRequest(request, hooks)._start()
    assert clock.now == pytest.approx(MOST_SLOW_CALLS * sum(seconds_of_observers))
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith("on_start of the request observer <works 0.11 s> took 0.110 s")
    unchanged = [hook.call == call for hook, call in zip(hooks.start, calls, strict=True)]
    assert unchanged == [True, True, False, True]


def test_a_request_starts_once_and_does_not_end_before_its_start() -> None:
    """A request must start once, and have no end without a start.

    The engine may report the start twice.
    """
    events: list[Any] = []

    class NameRecorder(RequestObserver):
        def on_start(self, request: ObservedRequest) -> None:
            events.append("start")

        def on_end(self, request: ObservedRequest) -> None:
            events.append(("end", request.latency))

    clock = Clock()
    hooks = Observers(clock).hooks_of([NameRecorder()])
    assert hooks is not None
    engine_request: Any = object()
    cancelled, request = (ObservedRequest(engine_request, hooks) for _ in range(2))
    cancelled._end()
    assert (events, cancelled.latency) == ([], None)
    request._start()
    request._start()
    clock.now = 7.5
    request._end()
    assert events == ["start", ("end", 7.5)]


def test_an_observer_that_raises_does_not_keep_events_from_others(
    connect: Connect, node: FakeNode, recorder: Recorder
) -> None:
    """If an observer raises errors, other observers must still get all events."""

    class FailingObserver(RequestObserver):
        def on_start(self, request: ObservedRequest) -> None:
            raise ValueError("start")

        def on_end(self, request: ObservedRequest) -> None:
            raise asyncio.CancelledError

    session = connect(node, FailingObserver(), recorder)
    assert session.rows(session.execute(QUERY))[0].k == 1
    assert recorder.names == ["start", "attempt", "end"]


def test_a_request_cannot_be_copied_or_pickled(
    connect: Connect, node: FakeNode, recorder: Recorder
) -> None:
    connect(node, recorder).execute(QUERY)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot pickle or copy 'ObservedRequest' object"):
            duplicate(recorder.requests[0])
