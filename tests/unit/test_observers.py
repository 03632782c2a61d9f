"""Observers of requests, in both APIs."""

from __future__ import annotations

import asyncio
import copy
import gc
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

import cassandra.engine.observers as observers_module
from cassandra import ConsistencyLevel, aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.engine.profile import HELD_PROFILES
from cassandra.errors import InvalidRequest, OperationTimedOut, ReadTimeout
from cassandra.observers import ObservedRequest, RequestObserver, checked_observers
from cassandra.policies import RetryPolicy
from cassandra.policies.speculation import ConstantSpeculativeExecutionPolicy
from cassandra.protocol.messages.errors import OverloadedErrorMessage
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    Scylla,
    error,
    hold,
    paged,
    rows,
    sequence,
    silence,
)
from tests.unit.engine.faults import WAIT, AddressOrderPolicy

QUERY = "SELECT k FROM t"
INSERT = "INSERT INTO t (k) VALUES (?)"
K = [("k", "int")]
ONE_ROW = rows(K, [(1,)])

caller: ContextVar[str] = ContextVar("caller", default="nobody")


class Recorder(RequestObserver):
    """Records the name and the arguments of each event, and the value of the context variable
    `caller` at that moment.
    """

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.callers: list[str] = []
        self.requests: list[ObservedRequest] = []
        self.ended = threading.Event()

    def _note(self, *event: Any) -> None:
        self.events.append(event)
        self.callers.append(caller.get())

    def on_start(self, request: ObservedRequest) -> None:
        self.requests.append(request)
        self._note("start", request.query_string)

    def on_page(self, request: ObservedRequest) -> None:
        self.requests.append(request)
        self._note("page", request.page_number)

    def on_attempt(self, request: ObservedRequest, attempt: Any) -> None:
        assert attempt.started >= request.started
        self._note("attempt", attempt.host.address)

    def on_retry(
        self, request: ObservedRequest, attempt: Any, error: BaseException, decision: str
    ) -> None:
        assert attempt.error is error
        self._note("retry", type(error).__name__, decision)

    def on_speculation(self, request: ObservedRequest, attempt: Any) -> None:
        self._note("speculation", attempt.host.address)

    def on_end(self, request: ObservedRequest) -> None:
        assert request.latency is not None
        assert request.latency >= 0
        self._note("end", None if request.error is None else type(request.error).__name__)
        self.ended.set()

    @property
    def names(self) -> list[str]:
        return [event[0] for event in self.events]


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as running:
        running.prime(QUERY, ONE_ROW)
        running.prime_prepare(INSERT, K)
        yield running


class Blocking:
    """A connected session of the blocking API."""

    def __init__(self, nodes: Any, *observers: Any, **settings: Any) -> None:
        points = [nodes.address] if isinstance(nodes, FakeNode) else [nodes[0].address]
        self.cluster = Cluster(points, port=nodes.port, request_observers=observers, **settings)
        self.session: Any = self.cluster.connect()

    def execute(self, *arguments: Any, **options: Any) -> Any:
        return self.session.execute(*arguments, **options)

    def rows(self, result: Any) -> list[Any]:
        return list(result)

    def prepare(self, text: str) -> Any:
        return self.session.prepare(text)

    def close(self) -> None:
        self.cluster.shutdown()


class Asyncio:
    """A connected session of cassandra.aio that synchronous tests can call: each call runs a loop
    until it is done.
    """

    def __init__(self, nodes: Any, *observers: Any, **settings: Any) -> None:
        points = [nodes.address] if isinstance(nodes, FakeNode) else [nodes[0].address]
        self.loop = asyncio.new_event_loop()
        self.cluster = aio.Cluster(points, port=nodes.port, request_observers=observers, **settings)
        self.session = self.run(self.cluster.connect())

    def run(self, awaitable: Any) -> Any:
        async def outcome() -> Any:
            return await awaitable

        return self.loop.run_until_complete(outcome())

    def execute(self, *arguments: Any, **options: Any) -> Any:
        async def outcome() -> Any:
            return await self.session.execute(*arguments, **options)

        return self.loop.run_until_complete(outcome())

    def rows(self, result: Any) -> list[Any]:
        async def outcome() -> list[Any]:
            return [row async for row in result]

        return self.loop.run_until_complete(outcome())

    def prepare(self, text: str) -> Any:
        return self.run(self.session.prepare(text))

    def close(self) -> None:
        self.run(self.cluster.shutdown())
        self.loop.close()


Face = Callable[..., Any]


@pytest.fixture(params=[Blocking, Asyncio], ids=["blocking", "asyncio"])
def connect(request: pytest.FixtureRequest) -> Iterator[Face]:
    """Return a function that connects a session of the blocking or the asyncio API."""
    sessions: list[Any] = []

    def open_session(*arguments: Any, **settings: Any) -> Any:
        sessions.append(request.param(*arguments, **settings))
        return sessions[-1]

    yield open_session
    for session in sessions:
        session.close()


# -- events ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query_form", ["text", "statement", "prepared", "bound", "first execution"]
)
def test_a_request_reports_start_attempt_and_end(
    connect: Face, node: FakeNode, recorder: Recorder, query_form: str
) -> None:
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
    # Observers run in the context of the caller, so they can read the caller's context variables.
    text = QUERY if query_form in ("text", "statement") else INSERT
    token = caller.set("me")
    try:
        session.execute(query, parameters)
    finally:
        caller.reset(token)
    assert recorder.events == [("start", text), ("attempt", node.address), ("end", None)]
    assert recorder.callers == ["me"] * 3
    # Check what the request's attributes are when it has ended.
    (request,) = recorder.requests
    assert request.statement is not None
    assert request.host is not None
    assert request.host.address == node.address
    (attempt,) = request.attempts
    assert attempt.latency is not None
    assert request.latency is not None
    assert attempt.latency <= request.latency
    assert (request.error, request.retries, request.speculations) == (None, 0, 0)
    # The size counts the frame's header of 9 bytes, too.
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
    """Observers run in the caller's context even if the calling thread writes the request
    itself.
    """
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


def test_observers_see_the_request_s_settings(connect: Face, node: FakeNode) -> None:
    settings: list[Any] = []

    class SettingsRecorder(RequestObserver):
        def on_start(self, request: ObservedRequest) -> None:
            settings.append(
                (
                    request.keyspace,
                    request.consistency_level,
                    request.serial_consistency_level,
                    request.is_idempotent,
                    request.page_size,
                    request.timeout,
                    request.batch_size,
                    request.host,
                    request.latency,
                )
            )

    session = connect(node, SettingsRecorder())
    statement = SimpleStatement(
        QUERY,
        consistency_level=ConsistencyLevel.QUORUM,
        serial_consistency_level=ConsistencyLevel.LOCAL_SERIAL,
        is_idempotent=True,
        fetch_size=7,
        keyspace="other",
    )
    session.execute(statement, timeout=3.5)
    batch = BatchStatement()
    batch.add(SimpleStatement("INSERT INTO t (k) VALUES (1)"))
    batch.add(session.prepare(INSERT), (2,))
    session.execute(batch)
    # The driver's own PREPARE, sent between the two requests, is not observed.
    quorum, local_serial = ConsistencyLevel.QUORUM, ConsistencyLevel.LOCAL_SERIAL
    assert settings == [
        ("other", quorum, local_serial, True, 7, 3.5, None, None, None),
        (None, ConsistencyLevel.LOCAL_ONE, None, False, None, 10.0, 2, None, None),
    ]


def test_each_page_reports_page_attempt_and_end(
    connect: Face, node: FakeNode, recorder: Recorder
) -> None:
    node.prime(QUERY, paged(K, [(number,) for number in range(5)]))
    session = connect(node, recorder)
    assert len(session.rows(session.execute(SimpleStatement(QUERY, fetch_size=2)))) == 5
    assert recorder.names == [
        *("start", "attempt", "end"),
        *("page", "attempt", "end"),
        *("page", "attempt", "end"),
    ]
    assert [request.page_number for request in recorder.requests] == [1, 2, 3]


def test_on_page_calls_on_start_by_default(connect: Face, node: FakeNode) -> None:
    node.prime(QUERY, paged(K, [(number,) for number in range(4)]))
    page_numbers: list[int] = []

    class StartRecorder(RequestObserver):
        def on_start(self, request: ObservedRequest) -> None:
            page_numbers.append(request.page_number)

    session = connect(node, StartRecorder())
    session.rows(session.execute(SimpleStatement(QUERY, fetch_size=2)))
    assert page_numbers == [1, 2]


def test_an_error_is_passed_to_on_end(connect: Face, node: FakeNode, recorder: Recorder) -> None:
    node.prime(QUERY, error(ErrorCode.INVALID))
    session = connect(node, recorder)
    with pytest.raises(InvalidRequest) as raised:
        session.execute(QUERY)
    assert recorder.events[-1] == ("end", "InvalidRequest")
    assert recorder.requests[0].error is raised.value
    assert recorder.requests[0].attempts[0].error is not None


def test_a_timeout_is_passed_to_on_end(connect: Face, node: FakeNode, recorder: Recorder) -> None:
    node.prime(QUERY, silence())
    session = connect(node, recorder)
    with pytest.raises(OperationTimedOut):
        session.execute(QUERY, timeout=0.05)
    assert recorder.names == ["start", "attempt", "end"]
    assert recorder.events[-1] == ("end", "OperationTimedOut")


def test_a_request_with_timeout_0_reports_start_and_end(
    connect: Face, node: FakeNode, recorder: Recorder
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
        # wait until the node has the request
        await asyncio.to_thread(held_answer.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held_answer.release()
    assert recorder.events[-1] == ("end", "CancelledError")


class RetryOnce(RetryPolicy):
    def on_read_timeout(self, *arguments: Any, retry_num: int = 0, **details: Any) -> Any:
        return (self.RETRY_NEXT_HOST, None) if retry_num == 0 else (self.RETHROW, None)


def test_retries_are_reported_with_error_and_decision(connect: Face, recorder: Recorder) -> None:
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
    connect: Face, node: FakeNode, recorder: Recorder
) -> None:
    session = connect(node, recorder)
    prepared = session.prepare(INSERT)
    node.forget_prepared()
    session.execute(prepared, (1,))
    assert recorder.names == ["start", "attempt", "retry", "end"]
    assert recorder.events[2] == ("retry", "PreparedQueryNotFound", "prepare")


def test_speculative_executions_are_reported(connect: Face, recorder: Recorder) -> None:
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
    # The requests run at the same time, so their events come in any order.
    assert sorted(recorder.names) == sorted(["start", "attempt", "end"] * 300)
    assert set(recorder.callers) == {"bulk"}


async def test_concurrent_executions_on_asyncio_have_the_caller_s_context(
    node: FakeNode, recorder: Recorder
) -> None:
    async with aio.Cluster([node.address], port=node.port, request_observers=[recorder]) as cluster:
        session = await cluster.connect()
        prepared = await session.prepare(INSERT)
        caller.set("bulk")
        pairs = ((prepared, (number,)) for number in range(300))
        assert (
            len([outcome async for outcome in session.execute_concurrent(pairs, concurrency=10)])
            == 300
        )
    assert sorted(recorder.names) == sorted(["start", "attempt", "end"] * 300)
    assert set(recorder.callers) == {"bulk"}


def test_no_event_is_repeated_and_every_start_has_an_end(connect: Face, recorder: Recorder) -> None:
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.prime(QUERY, error(ErrorCode.OVERLOADED))
        session = connect(nodes, recorder)
        for _ in range(5):
            with pytest.raises(OverloadedErrorMessage):
                session.execute(QUERY)
    # Each request has one start and one end event, however many hosts it tried.
    assert recorder.names.count("start") == recorder.names.count("end") == 5


# -- registration ----------------------------------------------------------------------------------


def test_observers_of_session_profile_and_cluster(connect: Face, node: FakeNode) -> None:
    """A request is reported to the observers of the cluster, the session and its profile, all of
    which can be added, removed and replaced.
    """
    observer_names: list[str] = []

    class NamedObserver(RequestObserver):
        def __init__(self, name: str) -> None:
            self.name = name

        def on_end(self, request: ObservedRequest) -> None:
            observer_names.append(self.name)

    profile = ExecutionProfile(request_observers=[NamedObserver("profile")])
    session = connect(node, NamedObserver("cluster"), execution_profiles={"own": profile})
    session_observer = NamedObserver("session")
    session.session.add_request_observer(session_observer)
    session.execute(QUERY)
    assert observer_names == ["cluster", "session"]
    observer_names.clear()
    session.execute(QUERY, execution_profile="own")
    assert observer_names == ["cluster", "session", "profile"]
    observer_names.clear()
    # Observers can be removed.
    profile.request_observers = ()
    session.session.remove_request_observer(session_observer)
    session.execute(QUERY, execution_profile="own")
    assert observer_names == ["cluster"]
    observer_names.clear()
    # Observers can be added, and all can be replaced, while the cluster is connected.
    late_observer = NamedObserver("late")
    session.cluster.add_request_observer(late_observer)
    session.execute(QUERY)
    assert observer_names == ["cluster", "late"]
    observer_names.clear()
    session.cluster.request_observers = [NamedObserver("other")]
    session.execute(QUERY)
    assert observer_names == ["other"]
    with pytest.raises(ValueError, match="is not registered"):
        session.cluster.remove_request_observer(late_observer)
    with pytest.raises(ValueError, match="is not registered"):
        session.session.remove_request_observer(session_observer)


@pytest.mark.parametrize("owner_name", ["cluster", "session", "profile"])
def test_removed_observers_are_freed(connect: Face, node: FakeNode, owner_name: str) -> None:
    class EndRecorder(RequestObserver):
        def on_end(self, request: ObservedRequest) -> None:
            ended_queries.append(request.query_string)

    ended_queries: list[Any] = []
    session = connect(node)
    observer_references = []
    for _ in range(30):
        observer = EndRecorder()
        observer_references.append(weakref.ref(observer))
        if owner_name == "profile":
            profile = ExecutionProfile(request_observers=[observer])
            for _ in range(2):
                session.execute(QUERY, execution_profile=profile)
            del profile
        else:
            owner = session.cluster if owner_name == "cluster" else session.session
            owner.add_request_observer(observer)
            session.execute(QUERY)
            owner.remove_request_observer(observer)
        del observer
    assert len(ended_queries) == (60 if owner_name == "profile" else 30)
    # The engine keeps the last HELD_PROFILES profiles, so use as many new ones to make it drop the
    # profile of this test.
    for _ in range(HELD_PROFILES):
        session.execute(QUERY, execution_profile=ExecutionProfile())
    # The latest request may still refer to the last profile, so send one more.
    session.execute(QUERY)
    gc.collect()
    assert [reference() for reference in observer_references] == [None] * 30
    assert not session.session._engine.core._by_id


def test_a_profile_s_observers_are_resolved_once_for_each_session(
    connect: Face, node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    observer_tuples = []
    resolve = observers_module.Observers.hooks_of

    def record_and_resolve(self: Any, observers: Any) -> Any:
        observer_tuples.append(tuple(observers))
        return resolve(self, observer_tuples[-1])

    profile = ExecutionProfile(request_observers=[Recorder()])
    session = connect(node, execution_profiles={"own": profile})
    monkeypatch.setattr(observers_module.Observers, "hooks_of", record_and_resolve)
    for _ in range(3):
        session.execute(QUERY, execution_profile="own")
    assert observer_tuples == [profile.request_observers]
    # The list of observers carries data that the engine caches in it. A copy must have the same
    # observers without that data.
    assert copy.copy(profile.request_observers) == profile.request_observers


def test_unobserved_requests_have_no_hooks(connect: Face, node: FakeNode) -> None:
    session: Any = connect(node)
    hooks = [session.session._engine.hooks]
    observer = Recorder()
    session.cluster.add_request_observer(observer)
    hooks.append(session.session._engine.hooks)
    session.cluster.remove_request_observer(observer)
    hooks.append(session.session._engine.hooks)
    assert [hook is None for hook in hooks] == [True, False, True]
    session.execute(QUERY)
    assert observer.events == []


def test_an_observer_of_latencies_only_creates_no_observed_request(node: FakeNode) -> None:
    seconds: list[float] = []

    class LatencyRecorder(RequestObserver):
        def on_latency(self, host: Any, latency: float) -> None:
            seconds.append(latency)

    session = Blocking(node, LatencyRecorder())
    try:
        session.execute(QUERY)
        # Hooks (the engine's object for observers) would create one more object for each request,
        # which a latency recorder does not need.
        assert session.session._engine.hooks is None
        assert len(seconds) == 1
    finally:
        session.close()


@pytest.mark.parametrize(
    ("observers", "message"),
    [
        (RequestObserver(), r"write \[observer\]"),
        (3, "iterable of RequestObserver, not 3"),
        ([print], "must be a cassandra.observers.RequestObserver"),
        ([RequestObserver], "write an instance of it"),
        (None, "iterable of RequestObserver, not None"),
    ],
)
def test_objects_that_are_not_observers_are_refused(observers: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Cluster(request_observers=observers)
    with pytest.raises(TypeError, match=message):
        ExecutionProfile(request_observers=observers)


def test_on_latency_is_refused_for_observers_of_a_profile() -> None:
    class LatencyObserver(RequestObserver):
        def on_latency(self, host: Any, seconds: float) -> None:
            raise NotImplementedError

    assert len(checked_observers([LatencyObserver()], "cluster")) == 1
    with pytest.raises(
        ValueError, match=r"LatencyObserver\.on_latency is called for observers of a clust"
    ):
        ExecutionProfile(request_observers=[LatencyObserver()])


# -- faults of observers ---------------------------------------------------------------------------


def test_an_observer_that_raises_does_not_fail_the_request(
    connect: Face, node: FakeNode, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    class FailingObserver(RequestObserver):
        def on_start(self, request: ObservedRequest) -> None:
            raise ValueError("start")

        def on_attempt(self, request: ObservedRequest, attempt: Any) -> None:
            raise StopIteration

        def on_end(self, request: ObservedRequest) -> None:
            raise asyncio.CancelledError

    session = connect(node, FailingObserver(), recorder)
    for _ in range(3):
        assert session.rows(session.execute(QUERY))[0].k == 1
    assert recorder.names == ["start", "attempt", "end"] * 3
    records = [record for record in caplog.records if record.name == "cassandra.observers"]
    assert len(records) == 1  # at most one line is logged in ten seconds
    assert "on_start of the request observer" in records[0].getMessage()


def test_an_observer_that_blocks_gets_later_events_from_another_thread(
    connect: Face,
    node: FakeNode,
    recorder: Recorder,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # An observer's thread ends after this number of seconds without events.
    monkeypatch.setattr("cassandra.engine.observers._IDLE", 0.05)
    may_continue = threading.Event()
    has_all_events = threading.Event()
    callers_and_sizes: list[tuple[str, int | None]] = []

    class SlowObserver(RequestObserver):
        def on_end(self, request: ObservedRequest) -> None:
            if not callers_and_sizes:
                # This is longer than an observer may take before it is moved from the engine's
                # thread to its own.
                time.sleep(0.11)
            elif len(callers_and_sizes) == 1:
                may_continue.wait(WAIT)
            callers_and_sizes.append((caller.get(), request.response_size))
            if len(callers_and_sizes) == 4:
                has_all_events.set()

    session = connect(node, SlowObserver(), recorder)
    token = caller.set("me")
    try:
        for _ in range(4):
            session.execute(QUERY)
    finally:
        caller.reset(token)
    # The observer still handles the first event. The second waits in the observer's thread, but the
    # requests themselves were not delayed.
    assert len(callers_and_sizes) == 1
    assert recorder.names == ["start", "attempt", "end"] * 4
    may_continue.set()
    assert has_all_events.wait(WAIT)
    assert [caller_name for caller_name, _ in callers_and_sizes] == ["me"] * 4
    assert all(size for _, size in callers_and_sizes)
    with caplog.at_level(logging.WARNING):
        assert "in a thread of its own" in caplog.text


def test_storage_is_shared_by_the_events_of_a_request(connect: Face, node: FakeNode) -> None:
    stored_values: list[Any] = []

    class StoringObserver(RequestObserver):
        def on_start(self, request: ObservedRequest) -> None:
            request.storage[self] = "kept"

        def on_end(self, request: ObservedRequest) -> None:
            stored_values.append(request.storage[self])

    connect(node, StoringObserver()).execute(QUERY)
    assert stored_values == ["kept"]


def test_the_shard_of_an_attempt(connect: Face, recorder: Recorder) -> None:
    """On ScyllaDB, the shard of the attempt is known."""
    with FakeCluster(1, scylla=Scylla(2)) as node:
        node[0].prime(QUERY, ONE_ROW)
        session = connect(node, recorder)
        session.execute(QUERY)
        assert recorder.requests[0].shard in (0, 1)


def test_the_response_size_counts_all_chunks_of_a_response(connect: Face, node: FakeNode) -> None:
    sizes: list[int] = []

    class SizeRecorder(RequestObserver):
        def on_end(self, request: ObservedRequest) -> None:
            sizes.append(request.response_size)

    node.prime(QUERY, sequence(ONE_ROW, rows(K, [(number,) for number in range(5000)])))
    session = connect(node, SizeRecorder())
    session.execute(QUERY)
    session.execute(QUERY)
    # Add 4999 rows. Each is the length of an int (4), and its four bytes.
    assert sizes[1] - sizes[0] == 4999 * 8
