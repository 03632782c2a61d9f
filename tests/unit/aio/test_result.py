"""Results of the asyncio API.

Their plain methods return rows of the current page, and information about the execution.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from cassandra import aio
from cassandra.errors import InvalidRequest, MultipleRowsFound
from cassandra.query import SimpleStatement, dict_factory
from cassandra.testing.fake import ErrorCode, FakeNode, error, hold, paged, rows, sequence, void
from tests.unit.aio.conftest import READ
from tests.waiting import WAIT, until_on_loop

PAGED = "SELECT k FROM pages"
CONDITIONAL = "UPDATE t SET v = 'a' WHERE k = 1 IF v = 'b'"


@pytest.fixture
async def result(session: aio.Session) -> Any:
    """Return the result of READ, which has two rows."""
    return await session.execute(READ)


async def test_plain_methods_return_the_rows_of_the_page(result: Any) -> None:
    """For a single page, the methods without `await` return its rows and columns."""
    assert [tuple(row) for row in result.current_rows] == [(1, "a"), (2, "b")]
    # The page is decoded only once, so both calls return the same list.
    assert result.current_rows is result.current_rows
    assert result.all() == list(result.current_rows)
    assert result.all_tuples() == [(1, "a"), (2, "b")]
    assert result.one().v == "a"
    assert result
    with pytest.raises(MultipleRowsFound):
        result.one(strict=True)
    assert result.column_names == ["k", "v"]
    assert [column_type.typename for column_type in result.column_types] == ["int", "varchar"]


async def test_a_void_result_has_no_rows_or_columns(node: FakeNode, session: aio.Session) -> None:
    """The result of a statement without rows is empty, and its columns are None."""
    node.prime("INSERT", void())
    result = await session.execute("INSERT")
    assert result.current_rows == []
    assert result.all() == []
    assert result.one() is None
    assert not result
    assert result.column_names is None
    assert result.column_types is None
    with pytest.raises(RuntimeError, match="was_applied is for lightweight transactions"):
        _ = result.was_applied


@pytest.mark.parametrize("look", [aio.ResultSet.one, bool])
async def test_an_empty_page_before_further_pages_is_not_an_empty_result(
    node: FakeNode, session: aio.Session, look: Callable[[Any], object]
) -> None:
    """If the current page is empty, but more follow, `one()` and `bool()` raise RuntimeError.

    The results None and False would mean that there is no row, but later pages may have rows.
    """
    columns = [("k", "int")]
    empty_page = rows(columns, [], paging_state=b"next")
    node.prime(PAGED, sequence(empty_page, empty_page, rows(columns, [(3,)])))
    result = await session.execute(PAGED)
    with pytest.raises(RuntimeError, match="the current page is empty, but there are more pages"):
        look(result)
    await result.fetch_next_page()
    await result.fetch_next_page()
    assert look(result)


async def test_plain_methods_refuse_results_with_further_pages(
    node: FakeNode, session: aio.Session
) -> None:
    """If there are further pages, methods without `await` raise RuntimeError.

    These methods cannot fetch pages. `fetch_all` and iteration read the further pages.
    """
    node.prime(PAGED, paged([("k", "int")], [(k,) for k in range(5)]))
    statement = SimpleStatement(PAGED, fetch_size=1)
    result: Any = await session.execute(statement)
    assert result.has_more_pages
    with pytest.raises(RuntimeError, match="fetch_all"):
        result.all()
    with pytest.raises(RuntimeError, match="whether there are more rows is not known"):
        result.one(strict=True)
    assert [row.k for row in await result.fetch_all()] == [0, 1, 2, 3, 4]
    assert len(result.attempts) == 5  # one attempt for each page
    first_page: Any = await session.execute(statement)
    resumed = await session.execute(statement, paging_state=first_page.paging_state)
    assert [row.k async for row in resumed] == [1, 2, 3, 4]


@pytest.mark.parametrize("applied", [True, False])
async def test_was_applied_works_with_any_row_factory(
    node: FakeNode, session: aio.Session, applied: bool
) -> None:
    """`was_applied` reads the column `[applied]`, whatever the row factory makes of the row."""
    node.prime(CONDITIONAL, rows([("[applied]", "boolean")], [(applied,)]))
    for row_factory in (dict_factory, lambda names, values: "odd"):
        session.row_factory = row_factory
        assert (await session.execute(CONDITIONAL)).was_applied is applied


async def test_results_have_information_about_the_execution(
    node: FakeNode, session: aio.Session
) -> None:
    """A result has the warnings, payload and trace id of its response, and its attempts."""
    trace = uuid.UUID(int=5)
    answer = rows([("k", "int")], [(1,)])
    node.prime(
        PAGED, answer.having(warnings=["slow"], tracing_id=trace, custom_payload={"a": b"1"})
    )
    result: Any = await session.execute(PAGED)
    assert (result.warnings, result.custom_payload) == (["slow"], {"a": b"1"})
    assert result.trace_id == trace
    (attempt,) = result.attempts
    assert attempt.host == result.coordinator_host
    assert result.coordinator_host.address == node.address
    assert result.is_schema_agreed is True
    # A result without warnings, payload and trace has None for each.
    plain: Any = await session.execute(READ)
    assert plain.warnings is None
    assert plain.custom_payload is None
    assert plain.trace_id is None
    with pytest.warns(RuntimeWarning, match="write session.execute.query, trace=True"):
        assert await plain.get_query_trace() is None


# -- pages that fail, are cancelled, or are shared -------------------------------------------------

SINGLE_ROWS = SimpleStatement(PAGED, fetch_size=1)


def prime_pages(node: FakeNode, special_page: int = 0, answer: Any = None) -> None:
    """Prime four pages of one row each for PAGED, but respond to one request with `answer`.

    :param special_page: the number of this request, counted from 1; 0 if there is no such request.
    """
    pages = paged([("k", "int")], [(k,) for k in range(4)])
    request_count = 0

    def answer_page(request: Any) -> Any:
        nonlocal request_count
        request_count += 1
        return answer if request_count == special_page else pages

    node.prime(PAGED, answer_page)


async def read_into(values_read: list[int], result: aio.ResultSet[Any]) -> None:
    """Append the value of each row to `values_read`.

    If the iteration fails, the list still has the values before the error.
    """
    async for row in result:
        values_read.append(row.k)  # noqa: PERF401


@pytest.mark.parametrize("page", [2, 3])
async def test_an_iteration_goes_on_with_the_page_that_failed(
    node: FakeNode, session: aio.Session, page: int
) -> None:
    """After a failed page, a new iteration requests this page again, and no row is missed."""
    prime_pages(node, page, error(ErrorCode.INVALID, "not now"))
    result = await session.execute(SINGLE_ROWS)
    values_read: list[int] = []
    with pytest.raises(InvalidRequest):
        await read_into(values_read, result)
    await asyncio.wait_for(read_into(values_read, result), WAIT)
    assert values_read == [0, 1, 2, 3]


@pytest.mark.parametrize("page", [2, 3])
async def test_the_same_iterator_goes_on_with_the_page_that_failed(
    node: FakeNode, session: aio.Session, page: int
) -> None:
    """After a failed page, the next `anext` fetches the page again.

    The iterator must not report the end of the result.
    """
    prime_pages(node, page, error(ErrorCode.INVALID, "not now"))
    rows_of_result = aiter(await session.execute(SINGLE_ROWS))
    assert [(await anext(rows_of_result)).k for _ in range(page - 1)] == list(range(page - 1))
    with pytest.raises(InvalidRequest):
        await anext(rows_of_result)
    assert [row.k async for row in rows_of_result] == list(range(page - 1, 4))
    with pytest.raises(StopAsyncIteration):
        await anext(rows_of_result)


@pytest.mark.parametrize("page", [2, 3])
async def test_the_same_iterator_goes_on_after_a_cancelled_wait(
    node: FakeNode, session: aio.Session, page: int
) -> None:
    """If `anext` is cancelled, the same iterator returns the remaining rows later."""
    held = hold()
    prime_pages(node, page, held)
    rows_of_result = aiter(await session.execute(SINGLE_ROWS))
    assert [(await anext(rows_of_result)).k for _ in range(page - 1)] == list(range(page - 1))
    waiting = asyncio.ensure_future(anext(rows_of_result))
    await until_on_loop(lambda: held.held)
    # A second task cannot wait for the same row of an iterator.
    with pytest.raises(RuntimeError, match="another task is waiting"):
        await anext(rows_of_result)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert [row.k async for row in rows_of_result] == list(range(page - 1, 4))


async def test_after_rows_that_cannot_be_made_the_iterator_makes_them_again(
    node: FakeNode, session: aio.Session
) -> None:
    """If the application's row factory fails, the next `anext` creates the rows of this page again.

    The rows are not skipped.
    """
    prime_pages(node)
    failures = [ValueError("not now")]

    def make_rows(names: Any, values: Any) -> Any:
        if values[0][0] == 1 and failures:
            raise failures.pop()
        return [k for (k,) in values]

    session.row_factory = make_rows
    rows_of_result = aiter(await session.execute(SINGLE_ROWS))
    assert await anext(rows_of_result) == 0
    with pytest.raises(ValueError, match="not now"):
        await anext(rows_of_result)
    assert [k async for k in rows_of_result] == [1, 2, 3]


async def test_a_closed_iterator_returns_no_rows(node: FakeNode, session: aio.Session) -> None:
    """The iterator has the method `aclose`, and returns no rows after this call.

    Asynchronous generators have the same method.
    """
    prime_pages(node)
    async with contextlib.aclosing(aiter(await session.execute(SINGLE_ROWS))) as rows_of_result:  # type: ignore[type-var]
        assert (await anext(rows_of_result)).k == 0
    assert [row async for row in rows_of_result] == []


@pytest.mark.parametrize("page", [2, 3])
async def test_a_page_fetched_by_hand_after_an_error_is_iterated_over(
    node: FakeNode, session: aio.Session, page: int
) -> None:
    """After a failed page, `fetch_next_page` requests this page again.

    A new iteration then begins with this page.
    """
    prime_pages(node, page, error(ErrorCode.INVALID, "not now"))
    result = await session.execute(SINGLE_ROWS)
    values_read: list[int] = []
    with pytest.raises(InvalidRequest):
        await read_into(values_read, result)
    await asyncio.wait_for(result.fetch_next_page(), WAIT)
    await asyncio.wait_for(read_into(values_read, result), WAIT)
    assert values_read == [0, 1, 2, 3]


@pytest.mark.parametrize("page", [2, 3])
async def test_an_iteration_goes_on_with_the_page_that_was_cancelled(
    node: FakeNode, session: aio.Session, page: int
) -> None:
    """If an iteration is cancelled while it waits for a page, a new iteration gets this page."""
    held = hold()
    prime_pages(node, page, held)
    result = await session.execute(SINGLE_ROWS)
    values_read: list[int] = []
    reading = asyncio.ensure_future(read_into(values_read, result))
    await until_on_loop(lambda: held.held and len(values_read) == page - 1)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await asyncio.wait_for(read_into(values_read, result), WAIT)
    assert values_read == [0, 1, 2, 3]


@pytest.mark.parametrize("cancelled_index", [0, 1])
async def test_a_cancelled_task_leaves_the_page_to_the_others(
    node: FakeNode, session: aio.Session, cancelled_index: int
) -> None:
    """Two tasks wait for one page. If one task is cancelled, the other task still gets the page.

    The page is not requested again.
    """
    held = hold(rows([("k", "int")], [(7,)]))
    prime_pages(node, 2, held)
    result = await session.execute(SINGLE_ROWS)
    tasks = [asyncio.ensure_future(result.fetch_next_page()) for _ in range(2)]
    await until_on_loop(lambda: held.held)
    tasks[cancelled_index].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[cancelled_index]
    held.release()
    other_index = 1 - cancelled_index
    await asyncio.wait_for(tasks[other_index], WAIT)
    assert result.one().k == 7
    assert len(node.queries(PAGED)) == 2


async def test_an_attempt_for_a_shared_page_counts_once(
    node: FakeNode, session: aio.Session
) -> None:
    """When three tasks fetch the second page together, it adds only one attempt to `attempts`."""
    prime_pages(node)
    result = await session.execute(SINGLE_ROWS)
    await asyncio.wait_for(asyncio.gather(*(result.fetch_next_page() for _ in range(3))), WAIT)
    # One attempt was for the first page, and one for the second page.
    assert len(result.attempts) == 2


async def test_tasks_that_iterate_over_one_result_miss_no_row(
    node: FakeNode, session: aio.Session
) -> None:
    """Two tasks that iterate over one result miss no row, and neither task gets a row twice.

    Each of the four pages is requested once.
    """
    prime_pages(node)
    result = await session.execute(SINGLE_ROWS)
    values_read: list[list[int]] = [[], []]
    await asyncio.wait_for(
        asyncio.gather(*(read_into(values, result) for values in values_read)), WAIT
    )
    assert set().union(*values_read) == {0, 1, 2, 3}
    assert all(values == sorted(set(values)) for values in values_read)
    assert len(node.queries(PAGED)) == 4


async def test_tasks_that_iterate_over_one_result_get_each_row_once(
    node: FakeNode, session: aio.Session
) -> None:
    """A second task that begins before the second page arrives still gets all rows."""
    held = hold(paged([("k", "int")], [(k,) for k in range(4)]))
    prime_pages(node, 2, held)
    result = await session.execute(SINGLE_ROWS)
    values_read: list[list[int]] = [[], []]
    tasks = [asyncio.ensure_future(read_into(values_read[0], result))]
    await until_on_loop(lambda: held.held and values_read[0] == [0])
    tasks.append(asyncio.ensure_future(read_into(values_read[1], result)))
    await until_on_loop(lambda: values_read[1] == [0])
    held.release()
    await asyncio.wait_for(asyncio.gather(*tasks), WAIT)
    assert values_read == [[0, 1, 2, 3], [0, 1, 2, 3]]


async def test_a_task_that_begins_later_is_refused(node: FakeNode, session: aio.Session) -> None:
    """If another task has already fetched further pages, `fetch_all` raises RuntimeError.

    `fetch_all` would miss the rows of the earlier pages. The other task gets all rows.
    """
    held = hold(paged([("k", "int")], [(k,) for k in range(4)]))
    prime_pages(node, 3, held)
    result = await session.execute(SINGLE_ROWS)
    values_read: list[int] = []
    reading = asyncio.ensure_future(read_into(values_read, result))
    await until_on_loop(lambda: held.held and values_read == [0, 1])
    with pytest.raises(RuntimeError, match="would miss their rows"):
        await result.fetch_all()
    held.release()
    await asyncio.wait_for(reading, WAIT)
    assert values_read == [0, 1, 2, 3]


async def test_a_slow_task_misses_no_page_silently(node: FakeNode, session: aio.Session) -> None:
    """A task at the first page gets an error after another task has read all pages."""
    prime_pages(node)
    result = await session.execute(SINGLE_ROWS)
    slow = aiter(result)
    assert (await anext(slow)).k == 0
    fast: list[int] = []
    await asyncio.wait_for(read_into(fast, result), WAIT)
    assert fast == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="another task has fetched further pages"):
        await anext(slow)


async def test_after_a_break_the_same_iterator_goes_on(
    node: FakeNode, session: aio.Session
) -> None:
    """After a `break`, an iterator that the application has kept returns the remaining rows.

    A new iteration raises RuntimeError, because it would miss rows.
    """
    prime_pages(node)
    result = await session.execute(SINGLE_ROWS)
    rows_of_result = aiter(result)
    async for row in rows_of_result:
        if row.k == 1:
            break
    with pytest.raises(RuntimeError, match=r"after a `break`, write `rows = aiter\(result\)`"):
        await result.fetch_all()
    assert [row.k async for row in rows_of_result] == [2, 3]


async def test_pages_fetched_by_hand_within_a_loop_are_not_skipped(
    node: FakeNode, session: aio.Session
) -> None:
    """If `fetch_next_page` is called within a loop, the loop still gets the rows of this page."""
    prime_pages(node)
    result = await session.execute(SINGLE_ROWS)
    values_read = []
    async for row in result:
        values_read.append(row.k)
        if row.k == 1:
            await asyncio.wait_for(result.fetch_next_page(), WAIT)
    assert values_read == [0, 1, 2, 3]


async def test_a_row_by_position_gets_advice(result: Any) -> None:
    """`result[0]` raises TypeError, which says to write `result.one()`."""
    with pytest.raises(TypeError, match=r"write result\.one\(\) for the first row"):
        result[0]


@pytest.mark.parametrize("method", ["to_arrow", "to_pandas", "to_polars", "to_numpy"])
async def test_columns_that_were_not_awaited_get_advice(result: Any, method: str) -> None:
    """Using the object that, for example, `to_arrow()` returns as a table raises an error.

    The error says that the object must be awaited.
    """
    reading = getattr(result, method)()
    with pytest.raises(AttributeError, match=rf"^{method}\(\) has not been awaited.*result\.shape"):
        reading.shape  # noqa: B018
    reading.close()
