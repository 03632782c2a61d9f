"""`ResponseFuture`, the future of the blocking API: callbacks, pages, traces and errors.

Each callback must run once for each page, and nothing may wait for ever.
"""

from __future__ import annotations

import contextlib
import gc
import pickle
import re
import threading
import uuid
import weakref
from dataclasses import dataclass
from typing import Any

import pytest

from cassandra.cluster import ResponseFuture, ResultSet, Session, response_future
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.errors import ConnectionShutdown, DriverException, InvalidRequest, OperationTimedOut
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeNode, error, hold, rows
from tests.waiting import WAIT, until

READ = "SELECT v FROM t"
COLUMNS = [("v", "int")]


def prime_pages(node: FakeNode, page_count: int) -> None:
    """Let READ return `page_count` pages, each with one row that has the page's number."""

    def answer_page(request: Any) -> Any:
        number = int((request.paging_state or b"0").decode())
        state = str(number + 1).encode() if number + 1 < page_count else None
        return rows(COLUMNS, [(number,)], paging_state=state)

    node.prime(READ, answer_page)


def test_a_callback_is_called_once_for_each_page(node: FakeNode, session: Session) -> None:
    """A callback is called once for each page, because it stays registered for later pages."""
    prime_pages(node, 5)
    future = session.execute_async(SimpleStatement(READ, fetch_size=1))
    pages: list[list[int]] = []
    pages_of_other: list[list[int]] = []
    finished = threading.Event()

    def record_and_go_on(page: Any) -> None:
        pages.append([row.v for row in page])
        if future.has_more_pages:
            future.start_fetching_next_page()
        else:
            finished.set()

    # Two callbacks are registered. The callback that requests each next page is registered last:
    # otherwise, pages might arrive before the other callback is registered.
    future.add_callback(lambda page: pages_of_other.append([row.v for row in page]))
    future.add_callback(record_and_go_on)
    assert finished.wait(WAIT)
    future.result()
    assert pages == [[number] for number in range(5)]
    assert pages_of_other == pages
    assert len([request for request in node.requests if request.query == READ]) == 5


def test_a_callback_can_make_a_result_with_names(node: FakeNode, session: Session) -> None:
    """A `ResultSet` can be made from a future and the rows that a callback gets.

    Some applications do this in their wrappers for asynchronous code.
    """
    node.prime(READ, rows(COLUMNS, [(1,), (2,)]))
    results: list[ResultSet[Any]] = []
    called = threading.Event()
    future = session.execute_async(READ)

    def keep(page: Any) -> None:
        results.append(ResultSet(future, page))
        called.set()

    future.add_callback(keep)
    expected = future.result()
    assert called.wait(WAIT)
    assert results[0].column_names == expected.column_names == ["v"]
    assert results[0].column_types == expected.column_types
    assert list(results[0]) == list(expected)


def test_the_names_of_the_columns_can_be_replaced(node: FakeNode, session: Session) -> None:
    """An application may replace the column names of a future.

    In cassandra-driver, they are ordinary attributes, which tracing libraries set.
    """
    node.prime(READ, rows(COLUMNS, [(1,)]))
    future = session.execute_async(READ)
    future.result()
    assert future._col_names == ["v"]
    future._col_names = ["renamed"]
    assert ResultSet(future, [(1,)]).column_names == ["renamed"]


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID, ErrorCode.SYNTAX_ERROR, ErrorCode.SERVER_ERROR]
)
def test_a_failed_request_has_a_trace(node: FakeNode, session: Session, code: ErrorCode) -> None:
    """If a traced request fails, the error and the future have the id of the trace.

    The server sends the id with its error, and cassandra-driver returns it.
    """
    trace_id = uuid.uuid4()
    node.prime(READ, error(code).having(tracing_id=trace_id))
    future = session.execute_async(READ, trace=True)
    with pytest.raises(DriverException) as caught:
        future.result()
    assert caught.value.trace_id == trace_id
    assert pickle.loads(pickle.dumps(caught.value)).trace_id == trace_id
    assert future.get_query_trace_ids() == [trace_id]


def test_each_attempt_of_a_retried_request_has_a_trace(node: FakeNode, session: Session) -> None:
    """A future has a trace for each attempt of its request, in the order of the attempts."""
    trace_ids = [uuid.uuid4() for _ in range(2)]
    timed_out = error(
        ErrorCode.READ_TIMEOUT, consistency=1, received=1, blockfor=1, data_present=False
    )
    node.prime(READ, rows(COLUMNS, [(1,)]).having(tracing_id=trace_ids[1]))
    node.prime(READ, timed_out.having(tracing_id=trace_ids[0]), times=1)
    future = session.execute_async(READ, trace=True)
    assert future.result().one().v == 1
    assert future.get_query_trace_ids() == trace_ids


@pytest.mark.parametrize("code", [ErrorCode.INVALID, ErrorCode.OVERLOADED])
def test_a_failed_request_has_warnings_and_a_payload(
    node: FakeNode, session: Session, code: ErrorCode
) -> None:
    """If a request fails, the future and the error have the warnings and the payload of the server.

    This holds even if the request was tried on all hosts, as after the error OVERLOADED.
    """
    answer = error(code).having(warnings=["many tombstones"], custom_payload={"a": b"b"})
    node.prime(READ, answer)
    future = session.execute_async(READ)
    with pytest.raises(DriverException):
        future.result()
    assert future.warnings == ["many tombstones"]
    assert future.custom_payload == {"a": b"b"}
    error_of_attempt = future.attempts[-1].error
    assert isinstance(error_of_attempt, DriverException)
    assert error_of_attempt.warnings == ["many tombstones"]
    assert error_of_attempt.custom_payload == {"a": b"b"}


def test_without_tracing_an_error_has_no_trace(node: FakeNode, session: Session) -> None:
    """If a request without tracing fails, neither the error nor the future has a trace."""
    node.prime(READ, error(ErrorCode.INVALID))
    future = session.execute_async(READ)
    with pytest.raises(InvalidRequest) as caught:
        future.result()
    assert caught.value.trace_id is None
    assert future.get_query_trace_ids() == []
    with pytest.warns(RuntimeWarning, match="write session.execute.query, trace=True"):
        assert future.get_query_trace() is None


def test_an_error_of_the_row_factory_is_passed_to_the_errback(
    node: FakeNode, session: Session
) -> None:
    """If the rows do not fit their class, the errback is called, and the callback is not."""

    @dataclass
    class RowWithoutColumn:
        w: int

    node.prime(READ, rows(COLUMNS, [(1,)]))
    errors: list[Exception] = []
    finished = threading.Event()

    def record_error(error: Exception) -> None:
        errors.append(error)
        finished.set()

    future = session.execute_async(READ, row_type=RowWithoutColumn)
    future.add_callbacks(lambda page: finished.set(), record_error)
    assert finished.wait(WAIT)
    assert "has no field in" in str(errors[0])


def test_every_execution_after_shutdown_is_refused(node: FakeNode, session: Session) -> None:
    """After `Cluster.shutdown`, each execution raises ConnectionShutdown, and none hangs."""
    session.cluster.shutdown()
    errors: list[Exception] = []

    def execute() -> None:
        for _ in range(3):
            try:
                session.execute(READ)
            except ConnectionShutdown as error:
                errors.append(error)

    # Use a daemon thread, because the calls would hang if they were not refused.
    thread = threading.Thread(target=execute, daemon=True)
    thread.start()
    thread.join(WAIT)
    assert len(errors) == 3


def test_an_error_of_a_callback_is_raised_if_the_result_has_come(
    node: FakeNode, session: Session
) -> None:
    """`add_callback` and `add_errback` raise the error of a function that they call themselves."""

    def fail(outcome: Any) -> None:
        raise LookupError(outcome)

    outcomes: list[Any] = []
    node.prime(READ, rows(COLUMNS, [(1,)]))
    future = session.execute_async(READ)
    future.result()
    with pytest.raises(LookupError, match="v=1"):
        future.add_callback(fail)
    with pytest.raises(LookupError, match="v=1"):
        future.add_callbacks(fail, outcomes.append)
    # The future is unharmed: callbacks that are added later are called.
    future.add_callback(outcomes.append).add_errback(fail)
    assert [row.v for row in outcomes[0]] == [1]

    node.prime(READ, error(ErrorCode.INVALID, "no"))
    future = session.execute_async(READ)
    with pytest.raises(InvalidRequest):
        future.result()
    with pytest.raises(LookupError, match="no"):
        future.add_errback(fail)


def test_the_log_of_a_failed_callback_has_no_values(
    node: FakeNode, session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """The driver logs the statement whose callback has failed without its values and passwords."""
    insert, role = "INSERT INTO card (number) VALUES (?)", "ALTER ROLE bob WITH PASSWORD = 'S3cr3t'"
    node.prime_prepare(insert, [("number", "text")])
    prepared = session.prepare(insert)
    called: list[object] = []

    def fail(outcome: object) -> None:
        called.append(outcome)
        raise RuntimeError("the callback failed")

    for query in (
        role,
        SimpleStatement(role),
        prepared.bind(("S3cr3t",)),
        BatchStatement().add(prepared, ("S3cr3t",)),
    ):
        held = hold()
        node.prime(re.compile("ROLE|INSERT"), held)
        called.clear()
        session.execute_async(query).add_callbacks(fail, fail)
        held.release()
        until(lambda: called)
    until(lambda: caplog.text.count("a callback of the execution of") == 4)
    assert "ALTER ROLE bob WITH PASSWORD = ?" in caplog.text
    assert insert in caplog.text
    assert "S3cr3t" not in caplog.text


@pytest.mark.parametrize("argument", ["statement", b"PASSWORD = 'S3cr3t'", ("S3cr3t",)])
def test_the_error_of_a_wrong_callback_has_no_values(
    node: FakeNode, session: Session, argument: object
) -> None:
    """An argument that is not a function is described without values."""
    if argument == "statement":
        argument = SimpleStatement("ALTER ROLE bob WITH PASSWORD = 'S3cr3t'")
    with pytest.raises(TypeError, match="the callback must be a function") as raised:
        session.execute_async(READ).add_callback(argument)  # type: ignore[arg-type]
    assert "S3cr3t" not in str(raised.value)


def test_execute_concurrent_in_a_callback_is_refused(node: FakeNode, session: Session) -> None:
    """`execute_concurrent_with_args` in a callback on the event loop raises RuntimeError."""
    errors: list[Any] = []
    finished = threading.Event()

    def call_execute_concurrent(page: Any) -> None:
        try:
            execute_concurrent_with_args(session, READ, [None])
        except RuntimeError as error:
            errors.append(error)
        finally:
            finished.set()

    # Hold the response until the callback is added, so that the loop's thread calls it, not this
    # thread.
    pause = hold(rows(COLUMNS, [(1,)]))
    node.prime(READ, pause)
    session.execute_async(READ).add_callback(call_execute_concurrent)
    pause.release()
    assert finished.wait(WAIT)
    assert "in the driver's own event loop thread" in str(errors[0])


def test_iteration_can_continue_after_a_page_failed(node: FakeNode, session: Session) -> None:
    """After the error of a page, a new iteration requests this page again."""
    has_failed = False

    def answer_page(request: Any) -> Any:
        nonlocal has_failed
        if not request.paging_state:
            return rows(COLUMNS, [(0,)], paging_state=b"1")
        # The first request for the second page fails.
        if not has_failed:
            has_failed = True
            return error(ErrorCode.INVALID, "not now")
        return rows(COLUMNS, [(1,)])

    node.prime(READ, answer_page)
    result = session.execute(SimpleStatement(READ, fetch_size=1))
    assert next(result).v == 0
    with pytest.raises(InvalidRequest):
        next(result)
    assert [row.v for row in result] == [1]


def test_a_timeout_of_result_and_a_missing_errback_are_explained(
    node: FakeNode, session: Session
) -> None:
    """`result` with a timeout and `add_callbacks` without an errback raise TypeError.

    The errors say what to write instead.
    """
    prime_pages(node, 1)
    future: Any = session.execute_async(READ)
    for arguments, options in (((5,), {}), ((), {"timeout": 5})):
        with pytest.raises(TypeError, match=r"execute_async\(query, parameters, timeout=5\)"):
            future.result(*arguments, **options)
    with pytest.raises(TypeError, match=r"add_callback\(callback\) for the rows alone"):
        future.add_callbacks(print)
    assert future.result().one().v == 0


def test_a_page_in_flight_is_not_requested_again(node: FakeNode, session: Session) -> None:
    """If a page is requested while its request is in flight, it is not requested again.

    A thread that waits in `result` gets this page, too.
    """
    held = hold(rows(COLUMNS, [(1,)]))
    first_page = rows(COLUMNS, [(0,)], paging_state=b"1")
    node.prime(READ, lambda request: held if request.paging_state else first_page)
    future = session.execute_async(SimpleStatement(READ, fetch_size=1))
    future.result()
    future.start_fetching_next_page()
    values: list[int] = []
    thread = threading.Thread(target=lambda: values.append(future.result().one().v), daemon=True)
    thread.start()
    until(lambda: future._waiters and future._request in future._waiters)
    held.wait()
    future.start_fetching_next_page()
    held.release()
    thread.join(WAIT)
    assert values == [1]
    assert future.result().one().v == 1
    # The first page was requested once, and so was the second page.
    assert len(node.queries(READ)) == 2


class OvertakenFuture(ResponseFuture[Any]):
    """A future that requests its next page when one of its attributes is read for the first time.

    This imitates another thread that requests the page while a method of the future is running.
    `attribute` is the name of the attribute.
    """

    attribute = ""

    def __getattribute__(self, name: str) -> Any:
        if name == "__dict__" or name != self.__dict__.get("attribute"):
            return super().__getattribute__(name)
        # Only the first read of the attribute is special. Later reads, also by the request for the
        # next page below, return the attribute as it is.
        del self.attribute
        old_value = super().__getattribute__(name)
        self.start_fetching_next_page()
        # The caller gets the value of `_done` from before the request for the next page, and the
        # values of the other attributes from after this request.
        return old_value if name == "_done" else super().__getattribute__(name)


@pytest.fixture
def overtaken(node: FakeNode, session: Session, monkeypatch: pytest.MonkeyPatch) -> OvertakenFuture:
    """Return a future that has the first of two pages."""
    prime_pages(node, 2)
    monkeypatch.setattr("cassandra.cluster.session.ResponseFuture", OvertakenFuture)
    future = session.execute_async(SimpleStatement(READ, fetch_size=1))
    until(lambda: future.is_over)
    assert isinstance(future, OvertakenFuture)
    return future


@pytest.mark.parametrize("attribute", ["_done", "_error", "_response"])
def test_a_result_whose_page_is_replaced_is_not_empty(
    overtaken: OvertakenFuture, attribute: str
) -> None:
    """If another thread requests the next page during `result`, `result` waits for this page."""
    overtaken.attribute = attribute
    assert [row.v for row in overtaken.result().current_rows] == [1]


def test_a_callback_added_while_the_next_page_is_requested_gets_that_page(
    overtaken: OvertakenFuture,
) -> None:
    """A callback that is added while another thread requests the next page gets this page."""
    pages: list[Any] = []
    overtaken.attribute = "_done"
    overtaken.add_callback(pages.append)
    until(lambda: pages)
    assert [[row.v for row in page] for page in pages] == [[1]]


def test_the_error_of_a_page_is_gone_once_the_page_is_requested_again(
    node: FakeNode, session: Session
) -> None:
    """While a failed page is requested again, the future is neither failed nor complete."""
    held = hold(rows(COLUMNS, [(1,)]))
    answers = [rows(COLUMNS, [(0,)], paging_state=b"1"), error(ErrorCode.INVALID, "no"), held]
    node.prime(READ, lambda request: answers.pop(0))
    future = session.execute_async(SimpleStatement(READ, fetch_size=1))
    future.result()
    future.start_fetching_next_page()
    with pytest.raises(InvalidRequest):
        future.result()
    future.start_fetching_next_page()
    held.wait()
    assert future.error is None
    held.release()
    assert future.result().one().v == 1


def test_a_first_callback_is_called_if_it_is_added_while_the_page_comes(
    node: FakeNode, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first callback may be added while the loop completes the future.

    If the next page is requested at the same moment, the callback still gets both pages.
    """
    prime_pages(node, 2)
    pages: list[list[int]] = []

    class AddingFuture(ResponseFuture[Any]):
        """Adds a callback and requests the next page, as other threads do during `_complete`."""

        def __setattr__(self, name: str, value: object) -> None:
            # `_complete` has looked for callbacks already when it sets `_done`.
            is_first_page = name == "_done" and value is True and not vars(self).get("has_added")
            if is_first_page:
                self.has_added = True
                self.add_callback(lambda page: pages.append([row.v for row in page]))
            super().__setattr__(name, value)
            if is_first_page:
                self.start_fetching_next_page()

    monkeypatch.setattr("cassandra.cluster.session.ResponseFuture", AddingFuture)
    session.execute_async(SimpleStatement(READ, fetch_size=1))
    until(lambda: len(pages) == 2)
    assert sorted(pages) == [[0], [1]]


def test_a_callback_is_added_while_another_one_requests_the_next_page(
    node: FakeNode, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A callback that is added meanwhile is called once for each page, too.

    The thread that adds it must not take the page for its own after the page is over, because the
    loop, which is calling the callbacks of this page, reaches the new callback as well.
    """
    # Hold the first page until its callback is added, so that the loop calls it.
    held = hold(rows(COLUMNS, [(0,)], paging_state=b"1"))
    node.prime(READ, lambda request: rows(COLUMNS, [(1,)]) if request.paging_state else held)
    is_adding, is_requested, finished = (threading.Event() for _ in range(3))
    pages: list[int] = []
    future = session.execute_async(SimpleStatement(READ, fetch_size=1))
    adding = threading.Thread(
        target=lambda: future.add_callback(lambda page: pages.append(page[0].v)), daemon=True
    )
    claims_of = response_future._Callbacks.claims_of

    def claims_after_the_request(callbacks: Any, request: Any) -> dict[int, object]:
        if threading.current_thread() is adding:
            is_adding.set()
            assert is_requested.wait(WAIT)
        return claims_of(callbacks, request)

    monkeypatch.setattr(response_future._Callbacks, "claims_of", claims_after_the_request)

    def go_on(page: Any) -> None:
        if page[0].v == 0:
            adding.start()
            assert is_adding.wait(WAIT)
            future.start_fetching_next_page()
            is_requested.set()
            adding.join(WAIT)
        else:
            finished.set()

    future.add_callback(go_on)
    held.release()
    assert finished.wait(WAIT)
    until(lambda: 1 in pages)
    assert pages == [0, 1]


def test_callbacks_may_be_removed_while_the_first_one_is_added(
    node: FakeNode, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread may call `clear_callbacks` at any time."""
    node.prime(READ, rows(COLUMNS, [(0,)]))

    class ClearingFuture(ResponseFuture[Any]):
        """Removes the callbacks when the first one is added, as another thread does."""

        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if name == "_callbacks" and value is not None:
                self.clear_callbacks()

    monkeypatch.setattr("cassandra.cluster.session.ResponseFuture", ClearingFuture)
    future = session.execute_async(READ)
    future.add_callback(print)
    future.add_errback(print)
    assert future.result().one().v == 0


def test_a_request_for_a_page_under_way_does_not_stop_the_callbacks(
    node: FakeNode, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread may request the page under way again while the loop completes that page.

    The callbacks on the loop request the next page, which they could not do if the thread had the
    lock at this moment.
    """
    held = hold(rows(COLUMNS, [(1,)], paging_state=b"2"))
    pages_by_state: dict[Any, Any] = {
        None: rows(COLUMNS, [(0,)], paging_state=b"1"), b"1": held, b"2": rows(COLUMNS, [(2,)])
    }  # fmt: skip
    node.prime(READ, lambda request: pages_by_state[request.paging_state])
    pages: list[int] = []
    has_gone_on, finished = threading.Event(), threading.Event()

    def go_on(page: Any) -> None:
        pages.append(page[0].v)
        if future.has_more_pages:
            future.start_fetching_next_page()
            has_gone_on.set()
        else:
            finished.set()

    future = session.execute_async(SimpleStatement(READ, fetch_size=1))
    future.result()
    future.start_fetching_next_page()
    held.wait()
    future.add_callback(go_on)
    thread = threading.Thread(target=future.start_fetching_next_page, daemon=True)

    class LateLock:
        """A lock that the thread releases late."""

        def __init__(self) -> None:
            lock = threading.RLock()
            self.acquire, self._release = lock.acquire, lock.release

        def release(self) -> None:
            if threading.current_thread() is thread:
                held.release()
                has_gone_on.wait(WAIT)
            self._release()

    assert future._page_lock is not None
    monkeypatch.setattr(future._page_lock, "lock", LateLock())
    thread.start()
    thread.join(WAIT)
    if not has_gone_on.is_set():
        held.release()
    assert finished.wait(WAIT)
    assert pages == [1, 2]


def fail(session: Session, value: Any) -> None:
    """Execute a statement that the server refuses, and ignore the error."""
    with contextlib.suppress(InvalidRequest):
        session.execute("INSERT bad %s", (value,))


def test_a_failed_request_is_freed_at_once(node: FakeNode, session: Session) -> None:
    """Its values may be large, and during an outage all requests fail."""

    class Value(str):
        """A text to which a weak reference may refer."""

    node.prime(re.compile("INSERT bad"), error(ErrorCode.INVALID, "no"))
    fail(session, "warm up")
    gc.collect()
    gc.disable()
    try:
        value = Value("x")
        reference = weakref.ref(value)
        fail(session, value)
        del value
        # The loop thread may still hold the request in local variables of its last callback.
        session.execute(READ)
        assert reference() is None
    finally:
        gc.enable()


def test_a_blocked_loop_does_not_let_threads_wait_for_ever(
    node: FakeNode, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A logging handler may execute requests while the loop's thread waits for its lock."""
    monkeypatch.setattr(response_future, "LAST_WAIT", 0.01)
    release, is_blocked = threading.Event(), threading.Event()

    def block(rows: Any) -> None:
        is_blocked.set()
        release.wait(WAIT)

    # Hold the response back until the callback is added, which is then called on the loop.
    response = hold(rows(COLUMNS, [(1,)]))
    node.prime("SELECT held", response)
    session.execute_async("SELECT held").add_callback(block)
    response.release()
    assert is_blocked.wait(WAIT)
    try:
        with pytest.raises(OperationTimedOut, match="event loop thread is blocked") as caught:
            session.execute(READ, timeout=0.05)
        assert caught.value.timeout == 0.05
        assert caught.value.statement is not None
    finally:
        release.set()
    assert session.execute(READ) is not None


def test_a_failed_request_for_a_page_is_freed_at_once(node: FakeNode, session: Session) -> None:
    answers = [rows(COLUMNS, [(1,)], paging_state=b"more"), error(ErrorCode.INVALID, "no")]
    node.prime(READ, lambda request: answers[request.paging_state is not None])
    result = session.execute(READ)
    gc.collect()
    gc.disable()
    try:
        with contextlib.suppress(InvalidRequest):
            result.fetch_next_page()
        reference = weakref.ref(result)
        del result
        session.execute("SELECT other")
        assert reference() is None
    finally:
        gc.enable()
