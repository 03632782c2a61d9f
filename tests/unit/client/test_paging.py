"""While a page is read, the next page is requested once, in the blocking and asyncio APIs."""

from __future__ import annotations

import asyncio
import copy
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from cassandra import aio
from cassandra.client.paging import NextPage
from cassandra.cluster import ResponseFuture, Session
from cassandra.errors import InvalidRequest, QueryExhausted
from cassandra.protocol import InvalidPagingState
from cassandra.query import SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeNode, Request, error, hold, paged
from tests.interrupted_locks import Interrupt, InterruptedLock, is_free

READ = "SELECT k FROM t"
PAGE_SIZE = 10
ROW_COUNT = 45


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node that responds to READ with ROW_COUNT rows, in pages."""
    with FakeNode() as fake_node:
        fake_node.prime(READ, paged([("k", "int")], [(k,) for k in range(ROW_COUNT)]))
        yield fake_node


def read_count(node: FakeNode) -> int:
    """Return how many pages were requested from the node."""
    return len(node.queries(READ))


def is_for_later_page(request: Request) -> bool:
    """Return True if the request is for a page after the first page."""
    return request.query == READ and bool(request.paging_state)


def test_the_next_page_is_requested_while_one_is_read(node: FakeNode, session: Session) -> None:
    """While the rows of a page are read, the driver requests the next page, but no later page."""
    result = session.execute(SimpleStatement(READ, fetch_size=PAGE_SIZE))
    rows = iter(result)
    assert read_count(node) == 1
    first_state = result.paging_state
    assert next(rows).k == 0
    node.wait_for(lambda fake_node: read_count(fake_node) == 2)
    # The result still has its first page, although the second was requested.
    assert result.paging_state == first_state
    assert [next(rows).k for _ in range(PAGE_SIZE - 1)] == list(range(1, PAGE_SIZE))
    assert read_count(node) == 2
    assert [row.k for row in rows] == list(range(PAGE_SIZE, ROW_COUNT))
    assert read_count(node) == 5  # These are the requests for 45 rows in pages of 10 rows.
    assert not result.has_more_pages


def test_fetch_next_page_uses_the_page_already_requested(node: FakeNode, session: Session) -> None:
    """`fetch_next_page` does not repeat the request for a page that was requested ahead."""
    result = session.execute(SimpleStatement(READ, fetch_size=PAGE_SIZE))
    # Reading the first row makes the driver request the next page.
    next(iter(result))
    node.wait_for(lambda fake_node: read_count(fake_node) == 2)
    result.fetch_next_page()
    assert [row.k for row in result.current_rows] == list(range(PAGE_SIZE, 2 * PAGE_SIZE))
    assert read_count(node) == 2


def test_an_error_of_the_next_page_is_raised_when_it_is_read(
    node: FakeNode, session: Session
) -> None:
    """An error of the next page is raised only after all rows of the current page were read."""
    node.prime(is_for_later_page, error(ErrorCode.INVALID, "no such page"), times=1)
    result = session.execute(SimpleStatement(READ, fetch_size=PAGE_SIZE))
    rows = iter(result)
    assert [next(rows).k for _ in range(PAGE_SIZE)] == list(range(PAGE_SIZE))
    with pytest.raises(InvalidRequest, match="no such page"):
        next(rows)
    # After the error, a new iteration continues with the page that failed.
    assert [row.k for row in result] == list(range(PAGE_SIZE, ROW_COUNT))


@pytest.mark.parametrize(
    "iterate", [iter, lambda result: result, partial(map, copy.copy)], ids=["iter", "next", "map"]
)
def test_the_same_iterator_goes_on_after_errors(
    node: FakeNode, session: Session, iterate: Any
) -> None:
    """If a later page fails, calling `next` again continues with this page.

    It must not report the end of the result. Applications of cassandra-driver call `next` again
    after an error.
    """
    node.prime(is_for_later_page, error(ErrorCode.INVALID, "no such page"), times=2)
    rows = iterate(session.execute(SimpleStatement(READ, fetch_size=PAGE_SIZE)))
    assert [next(rows).k for _ in range(PAGE_SIZE)] == list(range(PAGE_SIZE))
    for _ in range(2):
        with pytest.raises(InvalidRequest, match="no such page"):
            next(rows)
    assert [row.k for row in rows] == list(range(PAGE_SIZE, ROW_COUNT))
    with pytest.raises(StopIteration):
        next(rows)


def read_one_after_the_other(future: ResponseFuture[Any]) -> None:
    assert len(list(future.result())) == ROW_COUNT
    list(future.result())


def read_two_made_before(future: ResponseFuture[Any]) -> None:
    results = future.result(), future.result()
    assert len(list(results[0])) == ROW_COUNT
    list(results[1])


def read_alternately(future: ResponseFuture[Any]) -> None:
    list(zip(future.result(), future.result(), strict=False))


@pytest.mark.parametrize("read", [read_one_after_the_other, read_two_made_before, read_alternately])
def test_rows_that_another_result_of_the_future_has_fetched_cause_a_warning(
    session: Session, read: Callable[[ResponseFuture[Any]], None]
) -> None:
    """If two results of one future are read, a warning says that both fetch from the same pages.

    In cassandra-driver, such results share their pages, too.
    """
    future = session.execute_async(SimpleStatement(READ, fetch_size=PAGE_SIZE))
    with pytest.warns(RuntimeWarning, match="another result of this execution has fetched"):
        read(future)


def test_pages_that_are_requested_by_hand_cause_no_warning(session: Session) -> None:
    """If the pages of a future are requested one by one, there is no warning."""
    future = session.execute_async(SimpleStatement(READ, fetch_size=PAGE_SIZE))
    values = [row.k for row in future.result().current_rows]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while future.has_more_pages:
            future.start_fetching_next_page()
            values += [row.k for row in future.result().current_rows]
        # The last page has the rows from 40 on.
        assert [row.k for row in future.result()] == list(range(40, ROW_COUNT))
    assert values == list(range(ROW_COUNT))


def test_a_new_result_for_each_page_causes_no_warning(session: Session) -> None:
    """If `result()` is called for each page, there is no warning."""
    future = session.execute_async(SimpleStatement(READ, fetch_size=PAGE_SIZE))
    result, values = future.result(), []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while result.has_more_pages:
            values += [row.k for row in result.current_rows]
            result.fetch_next_page()
            result = future.result()
        values += [row.k for row in result]
    assert values == list(range(ROW_COUNT))


@pytest.mark.parametrize("state", [b"", ""])
def test_an_empty_paging_state_is_refused(node: FakeNode, session: Session, state: Any) -> None:
    """An empty paging state raises InvalidPagingState.

    Otherwise, a token that an application has damaged would return the first page again.
    """
    with pytest.raises(InvalidPagingState, match="the paging state is empty") as caught:
        session.execute(READ, paging_state=state)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(InvalidPagingState, match="the paging state is empty"):
        session.execute_async(READ, paging_state=state).result()
    assert read_count(node) == 0


def test_with_callbacks_no_page_is_requested_ahead(node: FakeNode, session: Session) -> None:
    """If a future has callbacks, no page is requested ahead.

    The application then calls `start_fetching_next_page` itself.
    """
    future = session.execute_async(SimpleStatement(READ, fetch_size=PAGE_SIZE))
    future.add_callback(lambda rows: None)
    rows = iter(future.result())
    assert [next(rows).k for _ in range(PAGE_SIZE)] == list(range(PAGE_SIZE))
    assert read_count(node) == 1


# -- class NextPage, without a session -------------------------------------------------------------


class FakeRequest:
    """A fake request from which the requests for later pages are derived."""

    def __init__(self) -> None:
        self.state: bytes | None = None
        self.started = 0

    def for_page(self, state: bytes, on_done: Callable[[Any], None]) -> Any:
        self.state, self.complete = state, on_done
        return self

    def start(self) -> None:
        self.started += 1


def fake_request() -> Any:
    """Return a `FakeRequest`, typed as `Any` because `NextPage` expects real requests."""
    return FakeRequest()


def test_a_next_page_is_requested_once_and_kept() -> None:
    """A `NextPage` sends its request once, and passes the response to each callback."""
    responses: list[Any] = []
    request = fake_request()
    page = NextPage(request, b"state", FakeRequest.start)  # type: ignore[arg-type]
    assert (request.state, request.started) == (b"state", 0)
    page.start()
    assert request.started == 1
    assert page.request == request
    request.complete(request)
    # Callbacks that are added after the response are called at once, and no second request is sent.
    page.add_callback(responses.append)
    page.add_callback(responses.append)
    assert responses == [request, request]
    assert request.started == 1


def test_all_callbacks_of_a_page_get_it() -> None:
    """All callbacks that are added before the response are called when the page arrives."""
    responses: list[Any] = []
    request = fake_request()
    page = NextPage(request, b"state", FakeRequest.start)  # type: ignore[arg-type]
    page.add_callback(lambda request: responses.append("first"))
    page.add_callback(lambda request: responses.append("second"))
    assert responses == []
    request.complete(request)
    assert responses == ["first", "second"]


def test_the_loop_does_not_wait_for_a_thread_that_adds_a_callback() -> None:
    """If a page arrives while a thread adds a callback, the callback is called exactly once.

    The event loop must not wait for this thread. A signal handler may interrupt the thread and wait
    for another request, which needs the event loop.
    """
    responses: list[Any] = []
    request = fake_request()
    page = NextPage(request, b"state", FakeRequest.start)  # type: ignore[arg-type]

    class InterruptedQueue(deque[Any]):
        def append(self, callback: Any, /) -> None:
            complete_on_loop()
            super().append(callback)

    def complete_on_loop() -> None:
        loop = threading.Thread(target=request.complete, args=(request,))
        loop.start()
        loop.join(timeout=20)
        assert not loop.is_alive()

    page._callbacks = InterruptedQueue()
    page.add_callback(responses.append)
    assert responses == [request]
    assert not page.remove_callback(responses.append)


def test_removing_the_last_callback_before_the_page_has_come_returns_true() -> None:
    """If the last callback is removed before the page has come, `remove_callback` returns True.

    Nobody waits for the page then, so the caller should cancel its request.
    """
    responses: list[Any] = []
    request = fake_request()
    page = NextPage(request, b"state", FakeRequest.start)  # type: ignore[arg-type]

    def first(request: Any) -> None:
        responses.append("first")

    second = responses.append
    page.add_callback(first)
    page.add_callback(second)
    # The second caller still waits for the page.
    assert not page.remove_callback(first)
    request.complete(request)
    assert responses == [request]
    # The page has already come, so there is nothing to cancel.
    assert not page.remove_callback(second)
    # Here, the only caller removes its callback before the page has come.
    other = NextPage(request, b"state", FakeRequest.start)  # type: ignore[arg-type]
    other.add_callback(first)
    assert other.remove_callback(first)


def test_after_the_last_page_nothing_is_requested() -> None:
    request = fake_request()
    with pytest.raises(QueryExhausted, match="no more pages"):
        NextPage(request, None, FakeRequest.start)  # type: ignore[arg-type]
    assert request.started == 0


# -- asyncio ---------------------------------------------------------------------------------------


async def first_page(cluster: aio.Cluster) -> aio.ResultSet[Any]:
    """Connect and execute READ. Return the result with its first page."""
    session = await cluster.connect()
    return await session.execute(SimpleStatement(READ, fetch_size=PAGE_SIZE))


async def test_asyncio_requests_one_page_ahead(node: FakeNode) -> None:
    """While the rows of a page are read in asyncio, the driver requests only the next page."""
    async with aio.Cluster([node.address], port=node.port) as cluster:
        result = await first_page(cluster)
        rows = result.__aiter__()
        assert (await rows.__anext__()).k == 0
        await asyncio.to_thread(node.wait_for, lambda fake_node: read_count(fake_node) == 2)
        assert [(await rows.__anext__()).k for _ in range(PAGE_SIZE - 1)] == list(
            range(1, PAGE_SIZE)
        )
        assert read_count(node) == 2
        assert [row.k async for row in rows] == list(range(PAGE_SIZE, ROW_COUNT))
        assert read_count(node) == 5
        with pytest.raises(QueryExhausted):
            await result.fetch_next_page()


async def test_asyncio_raises_an_error_of_the_next_page_when_it_is_read(
    node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """An error of a page that was requested ahead is raised only if the page is read."""
    node.prime(is_for_later_page, error(ErrorCode.INVALID, "no such page"), times=2)
    async with aio.Cluster([node.address], port=node.port) as cluster:
        # If reading stops early, the error of the next page is dropped without a log message.
        async for _ in await first_page(cluster):
            break
        await asyncio.to_thread(node.wait_for, lambda fake_node: read_count(fake_node) == 2)
        result = await first_page(cluster)
        with pytest.raises(InvalidRequest, match="no such page"):
            await result.fetch_next_page()
        # After the error, the result still has its first page. Another call requests the failed
        # page again.
        assert [row.k for row in result.current_rows] == list(range(PAGE_SIZE))
        await result.fetch_next_page()
        assert [row.k for row in result.current_rows] == list(range(PAGE_SIZE, 2 * PAGE_SIZE))
    assert caplog.records == []


async def test_two_tasks_request_a_page_once(node: FakeNode) -> None:
    """If two tasks fetch the next page at the same time, the page is requested once."""
    async with aio.Cluster([node.address], port=node.port) as cluster:
        result = await first_page(cluster)
        await asyncio.gather(result.fetch_next_page(), result.fetch_next_page())
        assert read_count(node) == 2
        assert [row.k for row in result.current_rows] == list(range(PAGE_SIZE, 2 * PAGE_SIZE))


async def test_a_cancelled_page_can_be_requested_again(node: FakeNode) -> None:
    """If `fetch_next_page` is cancelled, another call requests the page again."""
    held = hold()

    node.prime(is_for_later_page, held, times=1)
    async with aio.Cluster([node.address], port=node.port) as cluster:
        result = await first_page(cluster)
        page_task = asyncio.ensure_future(result.fetch_next_page())
        await asyncio.to_thread(node.wait_for, lambda fake_node: read_count(fake_node) == 2)
        (pool,) = result._session._engine.pools.values()
        (connection,) = pool.connections
        assert (connection.in_flight, connection.orphans) == (1, 0)
        page_task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await page_task
        # The request was cancelled, but its stream stays in use until the response comes.
        assert connection.orphans == 1
        await result.fetch_next_page()
        assert [row.k for row in result.current_rows] == list(range(PAGE_SIZE, 2 * PAGE_SIZE))


@pytest.mark.parametrize("method", ["start_fetching_next_page", "_ask_for_page_ahead"])
def test_a_signal_handler_leaves_the_lock_of_the_pages_free(
    node: FakeNode, session: Session, method: str
) -> None:
    """If a signal handler interrupts the request for a page, any thread can request it later."""
    future = session.execute_async(SimpleStatement(READ, fetch_size=PAGE_SIZE))
    future.result()
    lock = InterruptedLock(threading.RLock())
    future._page_lock = type("Lock", (), {"lock": lock, "_renew_locks": print})()
    with pytest.raises(Interrupt):
        getattr(future, method)()
    assert is_free(lock)
    future.start_fetching_next_page()
    assert [row.k for row in future.result().current_rows] == list(range(PAGE_SIZE, 2 * PAGE_SIZE))
