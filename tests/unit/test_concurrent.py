"""Tests of `execute_concurrent` over fake sessions.

They respond immediately, later, in another thread, or with errors.
"""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import repeat
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest

from cassandra import aio, concurrent
from cassandra.aio import concurrent as aio_concurrent
from cassandra.cluster import Cluster, Session
from cassandra.concurrent import (
    ExecutionResult,
    execute_concurrent,
    execute_concurrent_async,
    execute_concurrent_with_args,
    execute_each,
)
from cassandra.errors import InvalidRequest
from cassandra.query import dict_factory, named_tuple_factory, tuple_factory
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, error, paged, rows, silence, void
from tests.waiting import WAIT, until


class FakeFuture:
    """A future that stays pending until the test calls `fire`."""

    def __init__(self, value: Any, error: Exception | None) -> None:
        self.value = value
        self.error = error
        self.done = False
        self.callbacks: list[tuple[Any, ...]] = []

    def add_callbacks(
        self,
        callback: Any,
        errback: Any,
        callback_args: Any = (),
        errback_args: Any = (),
        **kwargs: Any,
    ) -> None:
        self.callbacks.append((callback, callback_args, errback, errback_args))
        if self.done:
            self.fire()

    def clear_callbacks(self) -> None:
        self.callbacks.clear()

    def fire(self) -> None:
        """Complete the future by calling its callbacks or errbacks.

        Callbacks get a page of one value, and errbacks the error.
        """
        self.done = True
        for callback, callback_args, errback, errback_args in list(self.callbacks):
            if self.error is not None:
                errback(self.error, *errback_args)
            else:
                callback([self.value], *callback_args)

    def result(self) -> Any:
        return [self.value]


class SynchronousSession:
    """A fake session that responds to each request inside `add_callbacks`.

    `depth` is the largest number of frames on the stack at an execution.
    """

    def __init__(self, failing: set[int] | None = None) -> None:
        self.failing = failing or set()
        self.depth = 0

    def execute_async(self, statement: Any, parameters: Any, **kwargs: Any) -> FakeFuture:
        self.depth = max(self.depth, len(list(frames())))
        value = parameters[0]
        future = FakeFuture(value, ValueError(value) if value in self.failing else None)
        future.done = True
        return future


def frames() -> Iterator[Any]:
    """Yield the frames on the stack, the innermost first."""
    frame: Any = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


class ThreadedSession:
    """A fake session that responds from another thread, the newest request first.

    It records how many requests were in flight.
    """

    def __init__(self) -> None:
        self.lock = threading.Condition()
        self.waiting: list[FakeFuture] = []
        self.max_in_flight = 0
        self.closed = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def execute_async(self, statement: Any, parameters: Any, **kwargs: Any) -> FakeFuture:
        future = FakeFuture(parameters[0], None)
        with self.lock:
            self.waiting.append(future)
            self.max_in_flight = max(self.max_in_flight, len(self.waiting))
            self.lock.notify()
        return future

    def run(self) -> None:
        while True:
            with self.lock:
                # Wait until a future has callbacks, so that its response reaches them.
                while not self.closed and not any(future.callbacks for future in self.waiting):
                    self.lock.wait(0.05)
                if self.closed:
                    return
                ready = [future for future in self.waiting if future.callbacks]
                # The newest future is completed first.
                future = ready[-1]
                self.waiting.remove(future)
            future.fire()

    def close(self) -> None:
        with self.lock:
            self.closed = True
            self.lock.notify()
        self.thread.join()


def arguments(count: int) -> list[tuple[int]]:
    """Return `count` tuples, each with another number."""
    return [(i,) for i in range(count)]


def test_outcomes_are_in_the_order_of_the_statements() -> None:
    outcomes = execute_concurrent_with_args(SynchronousSession(), "q", arguments(1000))
    assert [(success, value) for success, value in outcomes] == [(True, [i]) for i in range(1000)]


def test_frames_are_refused_because_their_items_are_columns() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=r"or pass frame.itertuples\(index=False, name=None\)"):
        execute_concurrent_with_args(SynchronousSession(), "q", pandas.DataFrame({"a": [1]}))


def test_synchronous_callbacks_do_not_recurse() -> None:
    session = SynchronousSession()
    depth_before = len(list(frames()))
    execute_concurrent_with_args(session, "q", arguments(5000))
    # `execute_concurrent_with_args` needs a few frames, but not some for each of the 5000
    # executions.
    assert session.depth - depth_before < 20


def test_order_and_concurrency_with_a_thread_that_answers_newest_first() -> None:
    """Outcomes must have the order of the statements, with at most 16 requests in flight."""
    session = ThreadedSession()
    try:
        outcomes = list(execute_concurrent_with_args(session, "q", arguments(500), concurrency=16))
    finally:
        session.close()
    assert [outcome.result_or_exc for outcome in outcomes] == [[i] for i in range(500)]
    assert session.max_in_flight <= 16


def test_the_first_error_is_raised() -> None:
    with pytest.raises(ValueError, match="7"):
        execute_concurrent_with_args(SynchronousSession({7, 9}), "q", arguments(20))


def test_errors_are_outcomes_without_raise_on_first_error() -> None:
    outcomes = list(
        execute_concurrent_with_args(
            SynchronousSession({3}), "q", arguments(5), raise_on_first_error=False
        )
    )
    assert [outcome.success for outcome in outcomes] == [True, True, True, False, True]
    assert isinstance(outcomes[3].result_or_exc, ValueError)


def test_an_error_that_execute_async_raises_is_an_outcome() -> None:
    """An error that `execute_async` raises must be an outcome, or be raised as the first error."""

    class RefusingSession:
        def execute_async(self, statement: Any, parameters: Any, **kwargs: Any) -> Any:
            raise TypeError("bad parameter")

    (outcome,) = execute_concurrent(RefusingSession(), [("q", 1)], raise_on_first_error=False)
    assert not outcome.success
    with pytest.raises(TypeError, match="bad parameter"):
        execute_concurrent(RefusingSession(), [("q", 1)])


def test_a_results_generator_reads_statements_lazily() -> None:
    read_numbers = []

    def statements() -> Iterator[tuple[str, tuple[int]]]:
        for i in range(1000):
            read_numbers.append(i)
            yield "q", (i,)

    outcomes = execute_concurrent(
        SynchronousSession(), statements(), concurrency=10, results_generator=True
    )
    first_outcome = next(iter(outcomes))
    assert first_outcome.result_or_exc == [0]
    # With a concurrency of 10, `execute_concurrent` must read only 10 statements before the first
    # results come, and 10 before these are read.
    assert len(read_numbers) <= 20
    assert len(list(outcomes)) == 999


def test_no_statements() -> None:
    """Without statements, the result must be empty."""
    assert execute_concurrent(SynchronousSession(), []) == []


@pytest.mark.parametrize("concurrency", [0, -1])
def test_concurrency_is_checked(concurrency: int) -> None:
    with pytest.raises(ValueError, match=str(concurrency)):
        execute_concurrent(SynchronousSession(), [], concurrency=concurrency)


def test_the_execution_profile_is_passed_to_the_session() -> None:
    """`execute_async` must get the execution profile, and no other option."""
    passed_options = []

    class Session(SynchronousSession):
        def execute_async(self, statement: Any, parameters: Any, **kwargs: Any) -> FakeFuture:
            passed_options.append(kwargs)
            return super().execute_async(statement, parameters, **kwargs)

    execute_concurrent_with_args(Session(), "q", arguments(1), execution_profile="fast")
    assert passed_options == [{"execution_profile": "fast"}]


class CountingSession(ThreadedSession):
    """A fake session that counts the requests it gets."""

    def __init__(self) -> None:
        self.requested: list[Any] = []
        self.condition = threading.Condition()
        super().__init__()

    def execute_async(self, statement: Any, parameters: Any, **kwargs: Any) -> FakeFuture:
        with self.condition:
            self.requested.append(parameters[0])
            self.condition.notify_all()
        return super().execute_async(statement, parameters, **kwargs)

    def has_received(self, count: int) -> bool:
        """Wait until the session has got `count` requests. Return False after 10 s."""
        with self.condition:
            return self.condition.wait_for(lambda: len(self.requested) >= count, 10)


@pytest.fixture
def counting() -> Iterator[CountingSession]:
    """Yield a counting session, and wait for all threads at the end."""
    session = CountingSession()
    yield session
    for thread in background():
        thread.join(WAIT)
    session.close()


def background() -> list[threading.Thread]:
    """Return the threads that send the remaining statements of dropped results generators."""
    return [thread for thread in threading.enumerate() if thread.name == "cassandra-concurrent"]


def test_a_generator_sends_its_first_statements_at_the_call(counting: CountingSession) -> None:
    outcomes = execute_concurrent_with_args(
        counting, "q", arguments(50), concurrency=10, results_generator=True
    )
    assert counting.requested == list(range(10))
    assert [outcome.result_or_exc for outcome in outcomes] == [[i] for i in range(50)]


@pytest.mark.parametrize("read_count", [0, 1, 7, 30])
def test_dropping_a_results_generator_sends_its_remaining_statements(
    counting: CountingSession, read_count: int
) -> None:
    """If a results generator is dropped, a thread must send its remaining statements."""
    outcomes: Any = execute_concurrent_with_args(
        counting, "q", arguments(100), concurrency=4, results_generator=True
    )
    for _ in range(read_count):
        next(outcomes)
    del outcomes
    assert counting.has_received(100)
    assert counting.requested == list(range(100))


def test_statements_that_are_lost_with_the_session_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Statements that are lost with the session must be logged.

    All but the first statements are sent when the results are read, or after the generator was
    dropped. If the session is closed before, they cannot be sent any more.
    """
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        insert = session.prepare("INSERT INTO t (a) VALUES (?)")
        unread = execute_concurrent_with_args(
            session, insert, [()] * 100, concurrency=2, results_generator=True
        )
    assert caplog.messages == []
    del unread
    for thread in background():
        thread.join(WAIT)
    (message,) = caplog.messages
    assert "the statements that were not sent yet are lost. Read all of its results" in message


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """If nobody reads a results generator, send its remaining statements after only 0.01 s."""
    monkeypatch.setattr(concurrent, "_PATIENCE", 0.01)


def join_threads_that_send_ahead() -> None:
    """Wait until the threads that send the statements of unread generators have ended."""
    for thread in threading.enumerate():
        if thread.name == "cassandra-concurrent-ahead":
            thread.join(WAIT)
            assert not thread.is_alive()


@pytest.mark.usefixtures("impatient")
def test_a_generator_that_is_kept_unread_sends_all_statements(counting: CountingSession) -> None:
    """A generator that is kept unread must send all statements, as in cassandra-driver.

    Its results can still be read, in the order of the statements.
    """
    outcomes = execute_concurrent_with_args(
        counting, "q", arguments(100), concurrency=4, results_generator=True
    )
    assert counting.has_received(100)
    assert counting.requested == list(range(100))
    assert [outcome.result_or_exc for outcome in outcomes] == [[i] for i in range(100)]


def test_a_generator_that_is_read_slowly_keeps_few_outcomes(counting: CountingSession) -> None:
    """When the application has begun to read, statements must be sent only as it continues."""
    outcomes = execute_concurrent_with_args(
        counting, "q", arguments(100), concurrency=4, results_generator=True
    )
    read = [next(outcomes)]
    join_threads_that_send_ahead()
    # With a concurrency of 4, four statements were sent first, and four before the first result was
    # read.
    assert len(counting.requested) <= 8
    read += outcomes
    assert [outcome.result_or_exc for outcome in read] == [[i] for i in range(100)]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fail_fast", [False, True])
def test_errors_of_a_generator_that_is_kept_unread(fail_fast: bool) -> None:
    """An error must be raised or returned only when the generator that was kept is read.

    With `raise_on_first_error`, most of the statements after the error must not be sent.
    """
    requested: list[int] = []
    is_requested = threading.Event()

    class Session(SynchronousSession):
        def execute_async(self, statement: Any, parameters: Any, **kwargs: Any) -> FakeFuture:
            requested.append(parameters[0])
            if parameters[0] == (30 if fail_fast else 99):
                is_requested.set()
            return super().execute_async(statement, parameters, **kwargs)

    outcomes = execute_concurrent_with_args(
        Session({30}),
        "q",
        arguments(100),
        concurrency=4,
        raise_on_first_error=fail_fast,
        results_generator=True,
    )
    assert is_requested.wait(WAIT)
    if fail_fast:
        with pytest.raises(ValueError, match="30"):
            list(outcomes)
        # Request 30 failed, while at most three others were in flight.
        assert requested == list(range(len(requested)))
        assert 31 <= len(requested) <= 34
    else:
        assert [number for number, outcome in enumerate(outcomes) if not outcome.success] == [30]


@pytest.mark.usefixtures("impatient")
def test_an_error_of_the_statements_of_a_generator_that_is_kept_unread() -> None:
    """If the iterable of statements raises an error, reading the generator later must raise it."""
    is_raised = threading.Event()

    def statements() -> Iterator[tuple[str, tuple[int]]]:
        for number in range(30):
            yield "q", (number,)
        is_raised.set()
        raise ZeroDivisionError

    outcomes = execute_concurrent(
        SynchronousSession(), statements(), concurrency=4, results_generator=True
    )
    assert is_raised.wait(WAIT)
    with pytest.raises(ZeroDivisionError):
        list(outcomes)


@pytest.mark.usefixtures("impatient")
def test_a_session_that_is_closed_ends_a_generator_that_is_kept_unread(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        insert = session.prepare("INSERT INTO t (a) VALUES (?)")
        node.prime("INSERT INTO t (a) VALUES (?)", silence())
        # The statements may be endless.
        unread = execute_concurrent(
            session,
            repeat((insert, ())),
            concurrency=2,
            raise_on_first_error=False,
            results_generator=True,
        )
    join_threads_that_send_ahead()
    (message,) = caplog.messages
    assert "the statements that were not sent yet are lost" in message
    unread.close()


def test_an_error_in_a_generator_stops_sending() -> None:
    sent_numbers: list[int] = []

    class Session(SynchronousSession):
        def execute_async(self, statement: Any, parameters: Any, **kwargs: Any) -> FakeFuture:
            sent_numbers.append(parameters[0])
            return super().execute_async(statement, parameters, **kwargs)

    outcomes = execute_concurrent_with_args(
        Session({3}), "q", arguments(1000), concurrency=2, results_generator=True
    )
    with pytest.raises(ValueError, match="3"):
        list(outcomes)
    del outcomes
    # At the error, at most one other statement was in flight.
    assert sent_numbers in ([0, 1, 2, 3], [0, 1, 2, 3, 4])
    # No background thread may be left that sends statements.
    assert background() == []


def test_no_statement_is_sent_after_an_error_that_will_be_raised() -> None:
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        insert = session.prepare("INSERT INTO t (a) VALUES (?)")
        node.prime("INSERT INTO t (a) VALUES (?)", error(ErrorCode.INVALID, "no"))
        with pytest.raises(InvalidRequest, match="no"):
            execute_concurrent_with_args(session, insert, [()] * 100, concurrency=2)
        # Only the two statements that were sent before the error must have been executed.
        assert len(executed(node)) == 2


@pytest.mark.parametrize("results_generator", [False, True])
def test_no_reference_to_the_session_is_kept_at_the_end(results_generator: bool) -> None:
    """After all statements have ended, nothing may refer to the session."""
    gc.collect()
    # The test runs without the garbage collector, so only its reference count can free the session.
    gc.disable()
    try:
        session = SynchronousSession()
        reference = weakref.ref(session)
        assert len(list(execute_concurrent_with_args(
            session, "q", arguments(10), results_generator=results_generator
        ))) == 10  # fmt: skip
        del session
        assert reference() is None
    finally:
        gc.enable()


def test_an_error_is_not_held_by_its_own_traceback() -> None:
    """A raised error must be part of no reference cycle."""

    class Failed(Exception):
        """An exception class of the test, since built-in exceptions have no weak references."""

    class Session(SynchronousSession):
        def execute_async(self, statement: Any, parameters: Any, **kwargs: Any) -> FakeFuture:
            future = super().execute_async(statement, parameters, **kwargs)
            future.error = Failed()
            return future

    gc.collect()
    # While the garbage collector is disabled, the error can only be freed when no reference to it
    # is left.
    gc.disable()
    try:
        try:
            execute_concurrent_with_args(Session(), "q", arguments(10))
        except Failed as raised:
            reference = weakref.ref(raised)
        assert reference() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "make_session", [Mock, lambda: MagicMock(spec=Session)], ids=["Mock", "spec"]
)
@pytest.mark.parametrize("results_generator", [False, True])
def test_sessions_may_be_mocks(make_session: Any, results_generator: bool) -> None:
    """Applications may pass a mock with its own `execute_async` as session."""
    session = make_session()

    def execute_async(statement: Any, parameters: Any, **kwargs: Any) -> Mock:
        future = Mock()
        future.add_callbacks.side_effect = lambda callback, callback_args, **others: callback(
            [parameters], *callback_args
        )
        return future

    session.execute_async.side_effect = execute_async
    outcomes = execute_concurrent_with_args(
        session, "q", arguments(5), results_generator=results_generator
    )
    assert [list(outcome.result_or_exc) for outcome in outcomes] == [[(i,)] for i in range(5)]
    pairs = [("q", (i,)) for i in range(3)]
    future = execute_concurrent_async(session, pairs)
    assert [list(outcome.result_or_exc) for outcome in future.result(WAIT)] == [
        [(i,)] for i in range(3)
    ]


def test_a_call_waits_for_the_futures_of_a_mock() -> None:
    """The call asks no method of the mock whether to wait longer, which would return at once."""
    session = MagicMock()
    callbacks: list[Callable[[], object]] = []

    def execute_async(statement: Any, parameters: Any, **kwargs: Any) -> Mock:
        future = Mock()
        future.add_callbacks.side_effect = lambda callback, callback_args, **others: (
            callbacks.append(functools.partial(callback, [parameters], *callback_args))
        )
        return future

    session.execute_async.side_effect = execute_async
    with ThreadPoolExecutor(1) as threads:
        results = threads.submit(execute_concurrent_with_args, session, "q", arguments(3))
        until(lambda: len(callbacks) == 3)
        for callback in callbacks:
            callback()
        outcomes = results.result(WAIT)
    assert [list(outcome.result_or_exc) for outcome in outcomes] == [[(i,)] for i in range(3)]
    assert not session._wait_patiently.called


@pytest.mark.parametrize("patched_object", ["class", "session"])
def test_a_tracers_wrapper_sees_each_request(
    monkeypatch: pytest.MonkeyPatch, patched_object: str
) -> None:
    traced_queries: list[str] = []
    execute_async = Session.execute_async

    # `wraps` makes the wrapper look like the method, as the wrappers of wrapt do.
    @functools.wraps(execute_async)
    def traced(session: Session, query: Any, *args: Any, **kwargs: Any) -> Any:
        traced_queries.append(query)
        return execute_async(session, query, *args, **kwargs)

    if patched_object == "class":
        monkeypatch.setattr(Session, "execute_async", traced)
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        if patched_object == "session":
            vars(session)["execute_async"] = functools.partial(traced, session)
        queries = [f"INSERT {number}" for number in range(5)]
        for query in queries:
            node.prime(query, void())
        # Clear the requests of `connect`.
        traced_queries.clear()
        assert len(list(execute_concurrent(session, [(query, None) for query in queries]))) == 5
        assert traced_queries == queries
        execute_concurrent_async(session, [(query, None) for query in queries]).result(WAIT)
        assert traced_queries == queries * 2


def test_both_functions_have_the_same_options_in_the_same_order() -> None:
    """Apart from the statements, both functions must have the same parameters in the same order."""
    with_args_parameters, concurrent_parameters = (
        list(inspect.signature(function).parameters.values())
        for function in (execute_concurrent_with_args, execute_concurrent)
    )
    assert with_args_parameters[3:] == concurrent_parameters[2:]
    assert [parameter.name for parameter in with_args_parameters[3:]] == [
        "concurrency",
        "raise_on_first_error",
        "results_generator",
        "execution_profile",
        "row_type",
        "_unknown",
    ]


def test_a_misspelled_keyword_is_an_error() -> None:
    wrong: Any = {"concurrencies": 5}
    with pytest.raises(TypeError, match=r"execute_concurrent_with_args.*'concurrencies'"):
        execute_concurrent_with_args(SynchronousSession(), "q", arguments(1), **wrong)


def test_the_first_statements_are_sent_at_the_call_in_spite_of_a_binding_error() -> None:
    query, columns = "INSERT INTO t (k) VALUES (?)", [("k", "int")]
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        node.prime_prepare(query, columns)
        node.prime(query, void())
        session = cluster.connect()
        prepared = session.prepare(query)
        read_values: list[Any] = []

        def statements() -> Iterator[Any]:
            for value in (0, "one", "two", 3, 4, 5, 6, 7, 8, 9):
                read_values.append(value)
                yield prepared, (value,)

        outcomes = execute_concurrent(
            session, statements(), 8, raise_on_first_error=False, results_generator=True
        )
        # All this must be read before the application reads any outcome.
        assert read_values[:6] == [0, "one", "two", 3, 4, 5]
        assert [outcome.success for outcome in outcomes] == [True, False, False] + [True] * 7


def test_a_statement_is_sent_before_the_iterator_is_asked_for_the_next() -> None:
    """A statement must be sent before the generator is asked for the next one.

    The next statement may depend on the response, so statements must not be collected before they
    are sent.
    """
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        insert = session.prepare("INSERT INTO t (a) VALUES (?)")

        def statements() -> Iterator[tuple[Any, Any]]:
            for number in range(5):
                yield insert, ()
                node.wait_for(functools.partial(has_executed, number + 1), timeout=20)

        outcomes = execute_concurrent(session, statements(), concurrency=10)
        assert [success for success, _ in outcomes] == [True] * 5
        # The statements of a list are all known from the start, but each must still be sent in a
        # separate request.
        outcomes = execute_concurrent_with_args(session, insert, [(), (1, 2, 3), ()], concurrency=10,  # noqa: E501
                                                raise_on_first_error=False)  # fmt: skip
        assert [success for success, _ in outcomes] == [True, False, True]
        # Five statements come from the calls above, and two from this one: the values (1, 2, 3) do
        # not fit the statement.
        assert len(executed(node)) == 7


def has_executed(count: int, node: FakeNode) -> bool:
    """Return True if the node has got `count` executions."""
    return len(executed(node)) >= count


def executed(node: FakeNode) -> list[Any]:
    """Return the EXECUTE requests that the node has got."""
    return [request for request in node.requests if request.opcode == Opcode.EXECUTE]


def test_execute_each_passes_every_outcome_to_the_callback() -> None:
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        node.prime("bad", error(ErrorCode.INVALID))
        session = cluster.connect()
        texts = ["bad" if number % 10 == 9 else f"SELECT {number}" for number in range(1000)]
        outcomes: list[tuple[bool, Any]] = []
        execute_each(
            session, iter(texts), 7, lambda success, outcome: outcomes.append((success, outcome))
        )
        # The outcomes must be in the order of the statements.
        assert [success for success, _ in outcomes] == [text != "bad" for text in texts]
        assert {type(outcome) for success, outcome in outcomes if not success} == {InvalidRequest}


def test_no_statement_is_sent_after_the_callback_raises() -> None:
    read_numbers: list[int] = []

    def texts() -> Iterator[str]:
        for number in range(1000):
            read_numbers.append(number)
            yield f"SELECT {number}"

    def interrupt(success: bool, outcome: Any) -> None:
        raise KeyboardInterrupt

    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        with pytest.raises(KeyboardInterrupt):
            execute_each(session, texts(), 5, interrupt)
        # Five statements run at the same time, and at most five more were sent after their results.
        assert len(read_numbers) <= 10


@pytest.mark.parametrize("call", [execute_concurrent, execute_concurrent_async])
def test_a_concurrency_of_the_command_line_is_no_number(call: Any) -> None:
    with pytest.raises(TypeError, match=r"is '100' of type str: write int\('100'\)"):
        call(Mock(), [("SELECT", None)], concurrency="100")


class HeldSession:
    """A fake session whose executions complete when a test calls `complete`."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def execute_async(self, *arguments: Any, **options: Any) -> Any:
        future = Mock()
        self.sent.append(future)
        return future

    def complete(self, number: int) -> None:
        (callback,) = self.sent[number].add_callbacks.call_args_list
        callback.kwargs["callback"]([], *callback.kwargs["callback_args"])


@pytest.mark.parametrize(
    ("concurrency", "count"),
    [(2.5, 2), (2.0, 2), (0.5, 1), (Fraction(7, 2), 3), (float("inf"), 9), (10**30, 9)],
)
def test_a_concurrency_that_is_no_integer_is_a_limit(concurrency: Any, count: int) -> None:
    """A fraction is rounded down, and infinity is no limit."""
    session = HeldSession()
    execute_concurrent_async(session, [("SELECT", None)] * 9, concurrency=concurrency)
    assert len(session.sent) == count
    session.complete(0)
    assert len(session.sent) == min(9, count + 1)
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        node.prime("SELECT a", rows([("a", "int")], [(1,)]))
        pairs = [("SELECT a", None)] * 9
        results = execute_concurrent(cluster.connect(), pairs, concurrency)
        assert [success for success, _ in results] == [True] * 9


@pytest.mark.parametrize("call", [execute_concurrent, execute_concurrent_async])
@pytest.mark.parametrize("concurrency", [0, -1, -0.5, float("nan")])
def test_a_concurrency_that_is_not_greater_than_zero(call: Any, concurrency: Any) -> None:
    with pytest.raises(ValueError, match="concurrency must be greater than 0, but is"):
        call(Mock(), [("SELECT", None)], concurrency=concurrency)


def test_many_rows_in_the_place_of_the_concurrency() -> None:
    with pytest.raises(TypeError, match=r"of type list: one statement with many rows is .*_args\("):
        execute_concurrent(Mock(), "SELECT", [(1,)])  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "call", [execute_concurrent, execute_concurrent_async, execute_concurrent_with_args]
)
def test_the_first_argument_is_a_session(call: Any) -> None:
    """A statement in place of the session must be refused, and so must a session of cassandra.aio.

    The latter has no `execute_async`.
    """
    name = call.__name__
    message = rf"of {name} is the session, but is of type str: write {name}\("
    with pytest.raises(TypeError, match=message):
        call("SELECT", [(1,)], 100)
    with pytest.raises(TypeError, match="write `async for success, result in session"):
        call(object.__new__(aio.Session), [(1,)], 100)


@pytest.mark.parametrize("outcome_class", [ExecutionResult, aio_concurrent.ExecutionResult])
@pytest.mark.parametrize("name", ["one", "all", "error", "some_column"])
def test_an_outcome_taken_for_its_result(outcome_class: Any, name: str) -> None:
    """An outcome that is taken for its result must raise an error with advice.

    An attribute of the result or of its row is looked up on the pair.
    """
    outcome = outcome_class(True, None)
    message = (
        rf"'ExecutionResult' object has no attribute '{name}': this is a pair of success and "
        r"result: write `for success, result in \.\.\.`"
    )
    with pytest.raises(AttributeError, match=message):
        getattr(outcome, name)
    assert not hasattr(outcome, name)
    assert copy.deepcopy(outcome) == pickle.loads(pickle.dumps(outcome)) == outcome == (True, None)


def list_of_texts(column_names: list[str], page: list[Any]) -> list[str]:
    """Format rows like a row factory of an application."""
    return [f"{column_names}: {row}" for row in page]


def rows_of_another_factory(result: Any) -> Any:
    """Return the rows of a result as dicts, although another factory was set."""
    result.response_future.row_factory = dict_factory
    return result.all()


SELECT = "SELECT k, v FROM t WHERE k = ?"

# Each function reads a result in one way, and must find the same in results of `execute_concurrent`
# as in those of `execute`.
READERS: dict[str, Callable[[Any], Any]] = {
    "one": lambda result: result.one(),
    "all": lambda result: result.all(),
    "one then all": lambda result: (result.one(), result.all(), result.all()),
    "current_rows": lambda result: (result.current_rows, result._current_rows),
    "all_tuples": lambda result: result.all_tuples(),
    "columns": lambda result: (result.column_names, [t.typename for t in result.column_types]),
    "pages": lambda result: (result.has_more_pages, result.paging_state),
    "truth": lambda result: (bool(result), result == result.current_rows),
    "future": lambda result: result.response_future.result().all(),
    "future then rows": lambda result: (result.response_future.query.keyspace, result.all()),
    "future's row factory": rows_of_another_factory,
    "to_numpy": lambda result: [str(column) for column in result.to_numpy().values()],
    "a later page": lambda result: (result.fetch_next_page(), result.current_rows),
}


# A reader may begin an iteration on purpose when all rows were read.
@pytest.mark.filterwarnings("ignore:all rows of this result have been read:RuntimeWarning")
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "factory", [named_tuple_factory, tuple_factory, dict_factory, list_of_texts]
)
@pytest.mark.parametrize("answer", ["a row", "no row", "two pages"])
def test_results_are_read_as_those_of_execute(reader: str, factory: Any, answer: str) -> None:
    """Each way to read a result must return the same as for a result of `execute`."""
    if reader == "to_numpy":
        pytest.importorskip("numpy")
    read, columns = READERS[reader], [("k", "int"), ("v", "text")]
    values = {"a row": [(1, "a")], "no row": [], "two pages": [(1, "a"), (2, "b")]}[answer]
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        response = paged(columns, values) if answer == "two pages" else rows(columns, values)
        node.prime(SELECT, response)
        node.prime_prepare(SELECT, [("k", "int")], columns)
        session = cluster.connect()
        session.row_factory = factory
        session.default_fetch_size = 1
        select = session.prepare(SELECT)
        expected = read(session.execute(select, (1,)))
        for result in execute_concurrent_with_args(session, select, [(1,)] * 2):
            assert result.success
            assert read(result.result_or_exc) == expected


def test_a_mapping_in_place_of_rows() -> None:
    """A mapping in place of rows must be refused, since iterating over it yields its keys."""
    session: Any = Session.__new__(Session)
    with pytest.raises(TypeError, match=r"write \[mapping\] for one row"):
        execute_concurrent_with_args(session, "SELECT ?", {"k": 1})
