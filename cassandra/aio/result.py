"""`ResultSet` of the asyncio API: the rows of an execution, which are read page by page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, NoReturn, overload

from cassandra._attempts import deciding_attempt
from cassandra._error_copies import copy_of
from cassandra._habits import ASYNC_RESULT, RESULT, add_habits, awaited
from cassandra.aio.columnar import (
    BY_ROWS,
    NOT_READ,
    PAGE_READ,
    PAGES_READ,
    ROWS_DROPPED,
    ColumnarResult,
)
from cassandra.client.columnar import ROWS_READ
from cassandra.client.display import DisplayedResult
from cassandra.client.lwt import APPLIED, applied
from cassandra.client.result_habits import warn_of_truth
from cassandra.errors import MultipleRowsFound
from cassandra.protocol.messages.results import ResultMessage
from cassandra.query.row_factories import rows_of_page, tuple_factory
from cassandra.query.trace import QueryTrace, warn_of_missing_trace

if TYPE_CHECKING:
    import uuid

    from typing_extensions import TypeVar

    from cassandra.aio.session import Session
    from cassandra.client.paging import NextPage
    from cassandra.engine import happy_path
    from cassandra.engine.happy_path import Attempt, RowsAnswer
    from cassandra.engine.request import Request
    from cassandra.metadata.host import Host

    # The default allows `ResultSet` without a type argument.
    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    from cassandra._impl import happy_path

    T = TypeVar("T")
    RowsAnswer = happy_path.RowsAnswer

PAGES_DROPPED = (
    "another task has fetched further pages of this result meanwhile, so that this iteration would "
    "miss rows: let one task iterate, or give each task the list of `await result.fetch_all()`"
)


class _RowIterator(AsyncIterator[T]):
    """Iterates over the rows of a result's current page and of all later pages.

    Unlike an asynchronous generator, the iterator continues after an error or a cancelled wait: the
    next call fetches the page again. So you can repeat ``await asyncio.wait_for(anext(rows), 5)``.
    A generator would end after the error, and you would mistake that for the end of the result.
    """

    __slots__ = ("_is_begun", "_is_fetching", "_is_over", "_next_request", "_request", "_result",
                 "_rows")  # fmt: skip

    def __init__(self, result: ResultSet[T]) -> None:
        self._result = result
        self._rows: Iterator[T] = iter(())  # the rows of the page that this iterator has taken
        # The request of the page that this iterator has taken, and the request of the page after
        # it. `_request` is None before the first page is taken. `_next_request` is None before the
        # next page is requested.
        self._request: Request | None = None
        self._next_request: Request | None = None
        self._is_begun = False  # True after the first `__anext__`
        self._is_fetching = False  # True while a task waits for a page
        self._is_over = False  # True if all rows were returned

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        """Return the next row.

        :raises RuntimeError: if earlier pages were dropped, so that their rows would be missing.
        """
        # This loop is the fastest way to get the next item without an exception at the end.
        for row in self._rows:
            return row
        return await self._take_page()

    async def aclose(self) -> None:
        """End the iteration."""
        self._rows = iter(())
        self._is_over = True

    async def _take_page(self) -> T:
        """Take the current page, or fetch the next page, and return its first row."""
        if self._is_fetching:
            raise RuntimeError(
                "another task is waiting for the next row of this iterator: write `async for row "
                "in result` in each task; each of them then gets all rows"
            )
        if not self._is_over and not self._is_begun:
            self._begin()
            self._is_begun = True
        while not self._is_over:
            result = self._result
            # Fetch the next page, unless another task, or the body of the `async for` loop, has
            # already done so.
            if self._request is not None and result._request is self._request:
                if not result.has_more_pages:
                    self._is_over = True
                    break
                await self._fetch_next()
            elif self._request is not None and result._request is not self._next_request:
                raise RuntimeError(PAGES_DROPPED)
            self._rows = self._rows_of_page()
            for row in self._rows:
                return row
        raise StopAsyncIteration

    def _begin(self) -> None:
        """Choose the first page: the current page, or the next page.

        If an earlier iteration has returned all rows of the current page, it is the next page.
        """
        result = self._result
        if result._begun not in (PAGE_READ, PAGES_READ):
            result._begin(BY_ROWS)
            return
        # An earlier iteration has returned all rows of the current page, but could not fetch the
        # next page. Begin this iteration at the next page.
        next_page = result._next
        if next_page is None or not next_page.readers:
            self._request = result._request
        # Another task is waiting for the next page in its own iteration. Each iteration returns all
        # rows, so this iteration begins at the current page, unless pages before it were dropped.
        elif result._begun == PAGES_READ:
            raise RuntimeError(ROWS_READ)

    def _rows_of_page(self) -> Iterator[T]:
        """Return an iterator over the rows of the current page."""
        result = self._result
        next_request = None
        if result.has_more_pages:
            # Request the next page now, so that it comes while this page is used. Request only one
            # page ahead, to limit the memory.
            next_request = result._ask_for_next_page().request
        rows: Iterator[T] = iter(result.current_rows)
        # Set these attributes last: if the rows cannot be decoded, the page does not count as
        # taken.
        self._request, self._next_request = result._request, next_request
        return rows

    async def _fetch_next(self) -> None:
        """Make the page after the current page the current page."""
        result = self._result
        # Record that all rows of the current page were returned. If fetching the next page fails or
        # is cancelled, a later iteration must not return these rows again.
        is_first_page = result._begun in (BY_ROWS, PAGE_READ)
        result._begun = PAGE_READ if is_first_page else PAGES_READ
        next_page = result._ask_for_next_page()
        self._next_request = next_page.request
        next_page.readers += 1
        self._is_fetching = True
        try:
            await result.fetch_next_page()
        finally:
            self._is_fetching = False
            next_page.readers -= 1
        if result._request is not next_page.request:
            raise RuntimeError(PAGES_DROPPED)
        # The previous page was dropped, so its rows would be missing if columns were read now. Do
        # not overwrite a state that another task has set during the wait.
        if result._begun == BY_ROWS:
            result._begun = ROWS_DROPPED


class _UntypedRow:
    """Used only by type checkers, in the overloads of `ResultSet.one`. It is never instantiated."""


class ResultSet(ColumnarResult, DisplayedResult, Generic[T]):
    """The result of an execution.

    `one`, `all` and `current_rows` are plain calls that use the current page. ``async for row in
    result`` iterates over all pages, and fetches the next page while the current page is used.

    :param session: the session that fetches further pages.
    :param request: the request of the first page, which is over.
    :param row_factory: makes the rows of a page.
    """

    __slots__ = ()

    # True allows the happy path to store a `RowsAnswer` (the compact form of a response) in
    # `_answer`, because `current_rows` can decode it.
    _reads_rows_answers = True

    # The compiled `happy_path.HappyPath` does not call this method, but sets the same attributes
    # itself.
    def __init__(self, session: Session, request: Request, row_factory: Callable[..., Any]) -> None:
        self._session = session
        self._request = request
        self._row_factory = row_factory
        self._answer: Any = request.response  # the response with the current page
        # The attempts of all pages so far. None until a further page is fetched: until then, the
        # request has all attempts.
        self._history: list[Attempt] | None = None
        self._page: Any = None  # the rows of the current page; None until they are decoded
        self._begun = NOT_READ
        self._next: NextPage | None = None  # the next page; None if it was not requested yet

    @property
    def _message(self) -> Any:
        """The response message of the current page."""
        answer = self._answer
        # Make the full message only here, because most callers need only the rows, which a
        # `RowsAnswer` has.
        if type(answer) is RowsAnswer:
            answer = self._answer = answer.message()
        return answer

    # -- the current page --------------------------------------------------------------------------

    @property
    def current_rows(self) -> Any:
        """The rows of the current page, as the row factory makes them; [] if there are no rows."""
        page = self._page
        if page is None:
            answer = self._answer
            # Decode the rows without making a full message. `rows` returns None if the row factory
            # is not one of the driver's own row factories.
            if type(answer) is RowsAnswer:
                page = answer.rows(self._row_factory)
            if page is None:
                message = self._message
                is_message = isinstance(message, ResultMessage)
                page = message.decode(self._row_factory) if is_message else []
                # Check for a list here, which is the usual case, to save a call.
                page = page if type(page) is list else rows_of_page(page)
            self._page = page
        return page

    def all_tuples(self) -> list[tuple[Any, ...]]:
        """Return the rows of the current page as plain tuples, regardless of the row factory."""
        message = self._message
        return message.decode(tuple_factory) if isinstance(message, ResultMessage) else []

    # Without `row_type`, T is Any. Then both overloads match, and type checkers infer Any, so that
    # they accept ``session.execute(query).one().name`` in applications written for
    # cassandra-driver. With a `row_type`, only the second overload matches: the row may be None.
    @overload
    def one(self: ResultSet[_UntypedRow], strict: bool = False) -> Any: ...

    @overload
    def one(self, strict: bool = False) -> T | None: ...

    def one(self, strict: bool = False) -> T | None:
        """Return the first row of the current page; None if the result has no rows.

        :param strict: True to raise an error if the result has more rows.
        :raises MultipleRowsFound: if `strict` is True and the page has more rows.
        :raises RuntimeError: if the page is empty, but there are more pages, which may have rows.
            If `strict` is True, also if the page has rows and there are more pages.
        """
        rows = self._page
        if rows is None:
            # For the usual kind of response, repeat the code of `current_rows` here, to save a call
            # for each request.
            answer = self._answer
            if type(answer) is RowsAnswer:
                rows = self._page = answer.rows(self._row_factory)
            if rows is None:
                rows = self.current_rows
        # Check that no other row follows, on this page or on a later page.
        if strict:
            if len(rows) > 1:
                raise MultipleRowsFound("one row was expected, but there are more")
            if self.has_more_pages:
                raise RuntimeError(
                    "whether there are more rows is not known before the next page has come: "
                    "use `await result.fetch_all()`"
                )
        if type(rows) is list:
            if rows:
                first: T = rows[0]
                return first
            self._check_no_page_follows()
            return None
        return next(iter(rows), None)

    def _check_no_page_follows(self) -> None:
        """Raise an error if there are more pages. This is called if the current page is empty.

        Servers send empty pages if they have read many rows without finding a row to return: with
        ALLOW FILTERING, or if rows were deleted. Such a page must not be reported as "no rows".
        """
        if self.has_more_pages:
            raise RuntimeError(
                "the current page is empty, but there are more pages, which may have rows: use "
                "`async for row in result`, or `await result.fetch_all()`"
            )

    def all(self) -> list[T]:
        """Return the rows of a result that has only one page.

        :raises RuntimeError: if there are more pages, because a plain call cannot wait for them.
        """
        if self.has_more_pages:
            raise RuntimeError(
                "the result has more pages: use `async for row in result`, "
                "or `await result.fetch_all()` for one list of all"
            )
        return list(self.current_rows)

    @property
    def column_names(self) -> list[str] | None:
        """The names of the columns; None if the result has no rows."""
        return getattr(self._message, "column_names", None)

    @property
    def column_types(self) -> list[Any] | None:
        """The columns' `cassandra.cqltypes` classes; None if the result has no rows."""
        return getattr(self._message, "column_types", None)

    def __bool__(self) -> bool:
        warn_of_truth(self.column_names)
        rows = self.current_rows
        if type(rows) is list and not rows:
            self._check_no_page_follows()
        return bool(rows)

    # -- further pages -----------------------------------------------------------------------------

    @property
    def has_more_pages(self) -> bool:
        """True if there is a page after the current page."""
        return self.paging_state is not None

    @property
    def paging_state(self) -> bytes | None:
        """The server's paging state; None on the last page.

        Pass it to `Session.execute`, later or in another process, to read the next page.
        """
        return getattr(self._answer, "paging_state", None)

    def _ask_for_next_page(self) -> NextPage:
        """Request the next page, unless it was already requested, and return its `NextPage`.

        Each call that needs another page calls this method first.

        :raises RuntimeError: if the running loop is not the session's.
        """
        self._session._check_loop()
        if self._next is None:
            self._next = self._session._next_page(self._request, self.paging_state)
        return self._next

    async def fetch_next_page(self) -> None:
        """Wait for the next page, and make it the current page.

        :raises QueryExhausted: if there is no further page.
        """
        next_page = self._ask_for_next_page()
        request = next_page.request
        page_arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def on_page(_request: Request) -> None:
            if not page_arrived.done():
                page_arrived.set_result(None)

        next_page.add_callback(on_page)
        try:
            await page_arrived
        except asyncio.CancelledError:
            # End the request only if no other task waits for the same page.
            if next_page.remove_callback(on_page):
                self._forget_next(next_page)
                request.cancel()
            raise
        # If several tasks wait for this page, only the task that continues first finds the page in
        # `_next`.
        is_first = self._next is next_page
        # Forget the request even after an error, so that the page can be requested again.
        self._forget_next(next_page)
        if request.error is not None:
            raise copy_of(request.error)
        if is_first:  # make the new page the current page
            self._history = [*self.attempts, *request.attempts]
            self._request = request
            self._answer = request.response
            self._page = None
            # PAGE_READ and PAGES_READ were about the previous page. The rows of the new page were
            # not returned yet.
            if self._begun in (PAGE_READ, PAGES_READ):
                self._begun = BY_ROWS

    def _forget_next(self, next_page: NextPage) -> None:
        """Forget that `next_page` was requested.

        Another task may have forgotten it already, and may even have requested another page.
        """
        if self._next is next_page:
            self._next = None

    async def fetch_all(self) -> list[T]:
        """Return the rows of the current page and of all later pages as a list."""
        return [row async for row in self]

    if not TYPE_CHECKING:  # hidden from type checkers, so that they report a plain `for`

        def __iter__(self) -> NoReturn:
            raise TypeError(
                "a plain `for` cannot fetch further pages: write `async for row in result`; for "
                "the current page write result.current_rows, for a result of one page result.all()"
            )

    def __aiter__(self) -> AsyncIterator[T]:
        """Return an iterator over the rows of the current page and of all later pages.

        Several tasks may iterate at the same time, and each of them gets all rows. When the fastest
        task fetches the next page, the previous page is dropped. If a task has not read a page that
        was dropped, it gets a RuntimeError.

        If a page cannot be fetched, or the wait for the page is cancelled, you can use the iterator
        again: it fetches the page again.
        """
        return _RowIterator(self)

    # -- details of the execution ------------------------------------------------------------------

    @property
    def was_applied(self) -> bool:
        """True if a lightweight transaction was applied.

        :raises RuntimeError: if the statement was not a lightweight transaction.
        """
        names = self.column_names or []
        if APPLIED not in names:
            raise RuntimeError(
                f"was_applied is for lightweight transactions; this result has the columns {names}"
            )
        # Decode the rows again as tuples, because the application's row factory may have returned
        # any objects.
        return applied(self._message.decode(tuple_factory), names.index(APPLIED))

    @property
    def warnings(self) -> list[str] | None:
        """The server's warnings; None if the server sent no warnings."""
        return getattr(self._answer, "warnings", None)

    @property
    def custom_payload(self) -> Mapping[str, bytes] | None:
        """The custom payload of the server's response; None if it has none."""
        return getattr(self._answer, "custom_payload", None)

    @property
    def trace_id(self) -> uuid.UUID | None:
        """The id of the trace; None if the request was not traced."""
        return getattr(self._answer, "trace_id", None)

    async def get_query_trace(
        self, max_wait: float | None = None, query_cl: int | None = None
    ) -> QueryTrace | None:
        """Read the trace of the current page; None if the request was not traced.

        :param max_wait: how many seconds to wait until the trace is complete; None for
            `Session.max_trace_wait`.
        :param query_cl: the consistency level of the read; None for LOCAL_ONE.
        :raises TraceUnavailable: if the trace is not complete in time.
        """
        trace_id = self.trace_id
        if trace_id is None:
            warn_of_missing_trace()
            return None
        trace = QueryTrace(trace_id, self._session)
        limit = self._session.max_trace_wait if max_wait is None else max_wait
        await trace.apopulate(limit, query_cl=query_cl)
        return trace

    @property
    def is_schema_agreed(self) -> bool:
        """False if the nodes did not agree on the schema in time after a schema change."""
        return bool(getattr(self._answer, "is_schema_agreed", True))

    @property
    def attempts(self) -> list[Attempt]:
        """The attempts for all pages so far.

        Each attempt has its host, start, latency, error and retry decision.
        """
        return list(self._request.attempts if self._history is None else self._history)

    @property
    def coordinator_host(self) -> Host | None:
        """The host that has sent the current page; None before the first attempt."""
        attempt = deciding_attempt(self.attempts)
        return attempt.host if attempt is not None else None


ResultSet.__module__ = "cassandra.aio"

add_habits(
    ResultSet,
    awaited(RESULT, ASYNC_RESULT),
    length="write len(await result.fetch_all())",
    operations={
        "__getitem__": "write result.one() for the first row, or result.current_rows[n] for a row "
        "of the current page"
    },
)
