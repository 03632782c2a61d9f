"""`ResultSet`: the rows of an execution, which are read page by page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NoReturn, SupportsIndex, overload

from cassandra._habits import RESULT, add_habits
from cassandra._imports import at_first_cluster
from cassandra._misspelt import is_of_driver
from cassandra._threads import new_lock
from cassandra.client.columnar import ColumnarResult, ReadByColumns
from cassandra.client.display import DisplayedResult
from cassandra.client.lwt import APPLIED, applied
from cassandra.client.result_habits import (
    UNPICKLABLE,
    warn_of_empty_iteration,
    warn_of_missing_pages,
    warn_of_truth,
)
from cassandra.cluster.unread_pages import KNOWN_PAGES, UnreadPages, unread_by_attribute
from cassandra.errors import DecodeError, MultipleRowsFound
from cassandra.protocol.opcodes import RESULT_KIND_ROWS
from cassandra.query.row_factories import rows_of_page, tuple_factory

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from cassandra.engine import happy_path
    from cassandra.engine.happy_path import RowsAnswer
    from cassandra.protocol.messages.results import ResultMessage
    from cassandra.query.trace import QueryTrace

    # The default allows `ResultSet` without a type argument.
    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    at_first_cluster(
        __name__,
        ResultMessage="cassandra.protocol.messages.results",
        happy_path="cassandra._impl",
    )

    T = TypeVar("T")

_NO_ROW = "the result has no rows; result.one() returns None then"


class _RowIterator(Iterator[Any]):
    """Iterates over the rows of a result's current page and of all later pages.

    Unlike a generator, the iterator continues after an error: the next call fetches the page again.
    Applications written for cassandra-driver rely on that to repeat a failed fetch. A generator
    would end after the error, and the application would mistake that for the end of the result.
    Several threads may share one iterator: each row is then returned in one of the threads.
    """

    __slots__ = ("_had_rows", "_is_over", "_lock", "_page", "_result", "_rows")

    def __init__(self, result: ResultSet[Any]) -> None:
        self._result = result
        self._rows: Iterator[Any] = iter(())  # the rows of the page that this iterator has taken
        # The number of the taken page; None if the result's current page should be taken next.
        self._page: int | None = None
        self._had_rows = False
        self._is_over = False
        self._lock = new_lock()  # held while a thread takes a page

    def __next__(self) -> Any:
        # This loop is the fastest way to get the next item without an exception at the end.
        for row in self._rows:
            return row
        return self._take_page()

    def _take_page(self) -> Any:
        """Take the current page, or fetch the next page, and return its first row."""
        result = self._result
        with self._lock:
            # Another thread may have taken a page before this thread got the lock.
            for row in self._rows:
                return row
            while not self._is_over:
                if self._page is not None:
                    # Another iteration, or the application, may have fetched the page already.
                    if not result._fetch_after(self._page, is_read=True):
                        self._is_over = True
                        result._end(self._had_rows)
                        break
                    self._page = None
                # Read the number of the page before its rows: another thread may make the next page
                # the current page in between.
                page = result._pages_before
                if not result._is_read:
                    page, rows = result._numbered_page()
                    self._rows = iter(rows)
                    self._had_rows = self._had_rows or (type(rows) is list and bool(rows))
                self._page = page
                for row in self._rows:
                    return row
            raise StopIteration


class _UntypedRow:
    """Used only by type checkers, in the overloads of `ResultSet.one`. It is never instantiated."""


class ResultSet(ColumnarResult, DisplayedResult, Generic[T]):
    """The rows of an execution.

    Iteration fetches further pages when they are needed. Each iteration begins at the first row of
    the current page, even if you left an earlier iteration by `break`. After a complete iteration,
    no rows are left. Several threads may iterate over the same result, each with its own iterator:
    each page is fetched once, and each row is returned in at least one of the threads.

    :param response_future: the future of the execution.
    :param initial_response: the first page: a list of rows, or the response message with the rows.
    """

    # These class attributes are defaults. Most results never set the attributes themselves.
    _full_message: ResultMessage | None = None
    # The compact form of the response (a `RowsAnswer`), from which `_full_message` is made when it
    # is needed. Only results with a single page have a `RowsAnswer`.
    _rows_answer: RowsAnswer | None = None
    # The rows of the current page; None until they are decoded.
    _page: Any = None
    # The iterator that the latest call of `__iter__` has returned. `__next__` uses it, too.
    _iterator: Iterator[Any] | None = None
    # True if `_page` has the rows of all pages, in a list (see `_enter_list_mode`).
    _is_list = False
    # The number of pages before the current page. An iterator that has read a page compares this
    # number to find out if that page is still the current page.
    _pages_before = 0
    # True if an iteration has returned all rows of the current page, but the next page has not
    # become the current page: the next page has not come yet, or could not be fetched.
    _is_read = False
    # The value of the future's `_pages_of_results` (the number of fetched pages) when this result
    # has last fetched a page or warned. If the value of the future differs, another result of the
    # same future has fetched pages, and their rows are missing here.
    _known_pages = 0
    # A thread holds this lock while it fetches a page. The lock is created when it is first needed,
    # so results with a single page have no lock.
    _fetch_lock: threading.Lock | None = None
    # True from the request for the next page until that page is the current page, or has failed. If
    # the wait is interrupted, for example by KeyboardInterrupt, this stays True.
    _is_fetching = False
    # True after `result[0]`, which needs only the current page. A later iteration then first reads
    # all rows into a list, so that it begins with the first row again.
    _is_indexed = False
    # The response message with all rows, if `_page` has them in a list, and they were on one page.
    _only_message: ResultMessage | None = None
    # While `_enter_list_mode` reads all pages, its iterator and the rows so far. They are kept if a
    # page could not be fetched, so that the next operation goes on from there.
    _gathering: tuple[Iterator[Any], list[Any]] | None = None
    # The thread whose iteration has returned the last row. If this thread begins another iteration,
    # the driver warns that no rows are left. Other threads that share the result get no warning.
    _last_reader: threading.Thread | None = None
    # True if an iteration has returned all rows. `_message` still has the last page then, because
    # `was_applied` needs it.
    _is_over = False
    # Logs that the application has read `_current_rows`, but has not asked for the further pages.
    # `_current_rows` sets this if there are further pages.
    _unread_pages: UnreadPages | None = None
    # The value of `response_future`; None before it is first needed.
    _future: Any = None
    # The tuple (session, request, row factory), from which `response_future` is made when it is
    # first needed. None if the constructor got the future.
    _future_arguments: tuple[Any, Any, Callable[..., Any]] | None = None
    # The tuple (column names, column types); None before it is first needed.
    _cached_columns: tuple[list[str] | None, list[Any] | None] | None = None

    def __init__(self, response_future: Any, initial_response: object) -> None:
        self.response_future = response_future
        if isinstance(initial_response, ResultMessage):
            self._message = initial_response
        else:
            self._set_page(initial_response)

    @property
    def response_future(self) -> Any:
        """The `ResponseFuture` of the execution. It is made when it is first needed."""
        future = self._future
        future_arguments = self._future_arguments
        if future is None and future_arguments is not None:
            session, request, row_factory = future_arguments
            # `setdefault` is atomic, so two threads get the same future.
            future = self.__dict__.setdefault("_future", session._future_of(request, row_factory))
        return future

    @response_future.setter
    def response_future(self, future: Any) -> None:
        self._future = future
        self._future_arguments = None

    @property
    def _message(self) -> ResultMessage | None:
        """The response message of the current page; None if the page came without a message."""
        # Make the full message only here, because most callers need only the rows, which a
        # `RowsAnswer` has.
        answer = self._rows_answer
        if answer is not None:
            self._full_message = answer.message()
            self._rows_answer = None
        return self._full_message

    @_message.setter
    def _message(self, message: ResultMessage | None) -> None:
        self._full_message = message
        self._rows_answer = None

    def _set_page(self, response: Any) -> None:
        """Make `response` the current page.

        :param response: a response message, a list of rows, or None for no rows.
        """
        self._pages_before += 1
        self._only_message = None
        self._is_read = self._is_over = self._is_fetching = False
        if isinstance(response, ResultMessage):
            self._message = response
            self._page = None
            if response.kind == RESULT_KIND_ROWS:
                # The columns of this page are read from its message when they are needed.
                self._cached_columns = None
        else:
            # The rows come without a message, and so without columns: keep the columns of the last
            # message.
            if self._cached_columns is None and self._message is not None:
                self._cached_columns = (self.column_names, self.column_types)
            self._message = None
            self._page = response if type(response) is list else rows_of_page(response)

    # Applications use this private name of cassandra-driver to read or replace the current page.
    @property
    def _current_rows(self) -> Any:
        rows = self.current_rows
        # Many applications read only the first rows, so do not warn about lists. But the data frame
        # of a row factory is probably meant to be the whole result.
        if not isinstance(rows, list) and self._unread_pages is None and self._has_more_pages():
            future = self.response_future
            self._unread_pages = unread_by_attribute(getattr(future, "query", None))
            # Iterations and data frames request pages from the future, and the application may do
            # so, too. The future must then mark the object as read, so store the object there, too.
            # A future of the application's own class may not accept the attribute.
            with suppress(AttributeError):
                future._unread_pages = self._unread_pages
        return rows

    @_current_rows.setter
    def _current_rows(self, rows: Any) -> None:
        self._set_current_rows(rows)

    def _set_current_rows(self, rows: Any) -> None:
        self._set_page(rows)

    @property
    def column_names(self) -> list[str] | None:
        """The names of the columns; None if the result has no rows."""
        return self._columns_at_hand()[0]

    @property
    def column_types(self) -> list[Any] | None:
        """The columns' `cassandra.cqltypes` classes; None if the result has no rows."""
        return self._columns_at_hand()[1]

    def _columns_at_hand(self) -> tuple[list[str] | None, list[Any] | None]:
        """Return (column names, column types) and cache the tuple; (None, None) without rows."""
        columns = self._cached_columns
        if columns is None:
            message = self._message
            if message is not None and message.kind == RESULT_KIND_ROWS:
                columns = (message.column_names, message.column_types)
            # Without a message, the future may know the columns of an earlier page.
            else:
                future = self.response_future
                columns = (getattr(future, "_col_names", None), getattr(future, "_col_types", None))
            self._cached_columns = columns
        return columns

    # -- the current page --------------------------------------------------------------------------

    @property
    def current_rows(self) -> Any:
        """The rows of the current page: a list, or the row factory's result."""
        page = self._page
        if page is not None:
            return page
        answer = self._rows_answer
        if answer is None:
            assert self._message is not None
            if self._message.kind != RESULT_KIND_ROWS:
                self._page = page = []
                return page
        # Do not make the future to get its row factory.
        future_arguments = self._future_arguments
        row_factory: Callable[..., Any] = (
            self.response_future.row_factory
            if future_arguments is None or self._future is not None
            else future_arguments[2]
        )
        # Decode the rows without making a full message, if possible: `rows` returns None if the row
        # factory is not one of the driver's own row factories.
        if answer is not None:
            page = answer.rows(row_factory)
        if page is None:
            assert self._message is not None
            page = self._message.decode(row_factory)
            # Check for a list here, which is the usual case, to save a call.
            page = page if type(page) is list else rows_of_page(page)
        self._page = page
        return page

    @property
    def has_more_pages(self) -> bool:
        """True if there is a page after the current page."""
        has_more_pages = self._has_more_pages()
        if has_more_pages:
            self._note_pages_known()
        return has_more_pages

    def _note_pages_known(self) -> None:
        """Called when the application learns about further pages: do not log them as unread."""
        if self._unread_pages is None:
            self._unread_pages = KNOWN_PAGES
        else:
            self._unread_pages.is_read = True

    def _has_more_pages(self) -> bool:
        """Return True if there is a page after the current page."""
        if self._is_fetching:
            return True
        future_arguments = self._future_arguments
        if future_arguments is not None and self._future is None:
            # Without a future, no other page was requested, so the request still has the response
            # of the current page. A `RowsAnswer` has no paging state, because it is only used if no
            # page follows.
            response = future_arguments[1].response
            return getattr(response, "paging_state", None) is not None
        # Compare with True: an application's tests may use another class of futures, which lacks
        # this attribute, or a mock, whose attribute may be any object.
        return getattr(self.response_future, "has_more_pages", False) is True

    @property
    def paging_state(self) -> bytes | None:
        """The server's paging state; None on the last page.

        Pass it to `Session.execute`, later or in another process, to read the next page.
        """
        message = self._message if self._is_fetching else None
        # The future may already have the page that was requested, and that page's state.
        state: bytes | None = (message or self.response_future).paging_state
        if state is not None:
            self._note_pages_known()
        return state

    def fetch_next_page(self) -> None:
        """Wait for the next page, and make it the current page.

        After the last page, the current page becomes empty.
        """
        if not self._fetch_after(self._pages_before):
            self._set_page([])

    def _get_fetch_lock(self) -> threading.Lock:
        """Return the lock of this result. The first call creates it."""
        lock: threading.Lock | None = self._fetch_lock
        # Create the lock. `setdefault` is atomic, so two threads get the same lock.
        if lock is None:
            lock = self.__dict__.setdefault("_fetch_lock", new_lock())
        return lock

    def _numbered_message(self) -> tuple[int, ResultMessage | None]:
        """Return the number of the current page, and its response message."""
        page, message = self._pages_before, self._message
        # If another thread still waits for the next page, it has not replaced the current page. Do
        # not wait for its lock, because this thread begins with the current page.
        if self._is_fetching:
            return page, message
        # Hold the lock, so that no other thread replaces the current page between these steps.
        with self._get_fetch_lock():
            return self._pages_before, self._message

    def _request_page_after(self, page: int) -> None:
        """Request the page after `page`, unless a thread has requested it already.

        :param page: the number of the caller's current page, from `_pages_before`.
        """
        with self._get_fetch_lock():
            if page == self._pages_before and not self._is_fetching:
                self.response_future.start_fetching_next_page()
                self._is_fetching = True

    def _fetch_after(self, page: int, is_read: bool = False) -> bool:
        """Make the page after `page` the current page; if another thread is fetching it, wait.

        :param page: the number of the caller's current page, from `_pages_before`.
        :param is_read: True if an iteration has returned all rows of the current page. If the fetch
            fails, a later iteration does not return these rows again.
        :returns: False if there is no further page.
        """
        with self._get_fetch_lock():
            if page != self._pages_before:  # another thread has fetched the next page
                return True
            if not self.has_more_pages:
                self._warn_of_missing_pages()
                return False
            self._is_read = self._is_read or is_read
            future = self.response_future
            self._warn_of_missing_pages()
            if not self._is_fetching:
                future.start_fetching_next_page()
                self._is_fetching = True
            try:
                next_result = future.result()
            except BaseException:
                # If the future has no error, only the wait was interrupted, and the next call must
                # wait for the same page. A future of the application's own class may lack the
                # attribute.
                self._is_fetching = getattr(future, "error", True) is None
                raise
            # Count only pages that an iteration has fetched. An application that fetches pages
            # itself may call `future.result()` for each page, and needs no warning. In an
            # application's tests, the future may be a mock, whose attribute is no int.
            page_count = getattr(future, "_pages_of_results", None)
            if is_read and type(page_count) is int:
                self._known_pages = future._pages_of_results = page_count + 1
            self._set_page(
                next_result._message
                if next_result._message is not None
                else next_result.current_rows
            )
            return True

    def _warn_of_missing_pages(self) -> None:
        """Warn if another result of the same future has fetched pages, which are missing here."""
        page_count = getattr(self._future, "_pages_of_results", None)
        if type(page_count) is int and page_count != self._known_pages:
            self._known_pages = page_count
            warn_of_missing_pages()

    # -- all pages ---------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[T]:
        # After `result[0]`, read all rows into a list, so that the iteration begins with the first
        # row. See `_is_indexed`.
        if self._is_indexed:
            self._enter_list_mode("iteration")
        if self._is_list:
            self._iterator = iter(self._page)
            return self._iterator
        if self._is_over and self._last_reader is threading.current_thread():
            warn_of_empty_iteration()
        # If pages were read by columns, `_iterator` is a `ReadByColumns`. Keep it: it raises an
        # error, because the rows of these pages are gone.
        if not isinstance(self._iterator, ReadByColumns):
            self._iterator = self._rows()
        return self._iterator

    def _rows(self) -> Iterator[T]:
        """Return an iterator over the rows of the current page and of all later pages."""
        if self._future is not None:
            self._warn_of_missing_pages()
        # Most results have a single page. For these, a generator is the fastest iterator.
        if self._fetch_lock is None and not self._has_more_pages():
            # If the rows cannot be decoded, each call of `next` must raise the error. A generator
            # would say after the first error that there are no more rows.
            try:
                return self._rows_of_single_page(self.current_rows)
            except DecodeError:
                return _RowIterator(self)
        return _RowIterator(self)

    def _rows_of_single_page(self, rows: Any) -> Iterator[T]:
        """Yield the rows of the current page, if there is no further page when iteration begins.

        :param rows: the rows.
        """
        page = self._pages_before
        yield from rows
        # No rows are left, unless the application has fetched or replaced a page during the
        # iteration. In that case, continue with the current page.
        if page == self._pages_before:
            self._end(had_rows=type(rows) is list and bool(rows))
        else:
            yield from _RowIterator(self)

    def _end(self, had_rows: bool) -> None:
        """Called when an iteration has returned all rows.

        :param had_rows: True if the pages had rows. False if they had none, or if they are not
            lists: an application's row factory may return an object whose truth value is undefined.
        """
        # Further iterations return no rows.
        self._page = []
        self._is_over = True
        if had_rows:
            # If this thread begins another iteration, `__iter__` warns that no rows are left. Store
            # the thread object instead of its identity, because a later thread may get the identity
            # of a thread that has ended.
            self._last_reader = threading.current_thread()

    def _numbered_page(self) -> tuple[int, Any]:
        """Return the number of the current page, and its rows.

        Request the next page now, so that it comes while the application uses the rows.
        """
        # Hold the lock, so that no other thread replaces the current page between these steps.
        with self._get_fetch_lock():
            # A future of the application's own class may lack this method.
            ask_ahead = getattr(self.response_future, "_ask_for_page_ahead", None)
            if ask_ahead is not None and not self._is_fetching:
                ask_ahead()
            return self._pages_before, self.current_rows

    def __next__(self) -> T:
        row: T = next(iter(self) if self._iterator is None else self._iterator)
        return row

    next = __next__

    # Without `row_type`, T is Any. Then both overloads match, and type checkers infer Any, so that
    # they accept ``session.execute(query).one().name`` in applications written for
    # cassandra-driver. With a `row_type`, only the second overload matches: the row may be None.
    @overload
    def one(self: ResultSet[_UntypedRow], strict: bool = False) -> Any: ...

    @overload
    def one(self, strict: bool = False) -> T | None: ...

    def one(self, strict: bool = False) -> T | None:
        """Return the first row of the current page; None if no rows are left.

        A page may be empty although there are more pages. In that case, the next pages are fetched,
        up to the first page that has rows.

        :param strict: True to check that the result has no second row, on this page or a later
            page.
        :raises MultipleRowsFound: if `strict` is True and there are more rows.
        """
        if strict:
            first_rows = list(islice(self.current_rows, 2))
            # Fetch further pages, because a page may have only one row, or none, although there are
            # more pages.
            while len(first_rows) < 2 and self.has_more_pages:
                self.fetch_next_page()
                first_rows += islice(self.current_rows, 2 - len(first_rows))
            if len(first_rows) > 1:
                raise MultipleRowsFound("one row was expected, but there are more")
            return first_rows[0] if first_rows else None
        rows = self._page
        if rows is None:
            rows = self.current_rows
        if type(rows) is list:  # all row factories of this package return a list
            if not rows:
                rows = self._skip_empty_pages()
            return rows[0] if rows else None
        if not rows:
            return None
        return rows[0] if isinstance(rows, Sequence) else next(iter(rows), None)

    def _skip_empty_pages(self) -> Any:
        """Return the rows of the current page, or of the first later page that has rows.

        Servers send empty pages if they have read many rows without finding a row to return: with
        ALLOW FILTERING, or if rows were deleted.
        """
        rows = self.current_rows
        while type(rows) is list and not rows and self.has_more_pages:
            self.fetch_next_page()
            rows = self.current_rows
        return rows

    def all(self) -> list[T]:
        """Return the remaining rows of all pages as a list."""
        return list(self)

    def all_tuples(self) -> list[tuple[Any, ...]]:
        """Return the rows of the current page as plain tuples, regardless of the row factory."""
        message = self._only_message or (None if self._is_over else self._message)
        if message is None:
            return list(map(self._plain_tuple, self._page))
        rows: list[tuple[Any, ...]] = message.decode(tuple_factory)
        return rows

    def _plain_tuple(self, row: Any) -> tuple[Any, ...]:
        """Return the values of a row of any row factory."""
        if isinstance(row, Mapping):
            return tuple(row.values())
        names = self.column_names
        # The row may be an object of the application's class, whose iterator, if it has one, need
        # not return the values of the columns.
        if names and not isinstance(row, Sequence) and all(hasattr(row, name) for name in names):
            return tuple(getattr(row, name) for name in names)
        return tuple(row)

    def _enter_list_mode(self, operation: str) -> None:
        """Read all pages into one list, for operations that need all rows.

        :param operation: what the application does with the result, for the error message.
        """
        if self._is_list:
            return
        if self._iterator is not None:
            raise RuntimeError(f"{operation} cannot be used once iteration has begun")
        # If a page cannot be fetched, no row is lost: the next operation and iteration come here.
        self._is_indexed = True
        if self._gathering is None:
            self._gathering = (self._rows(), [])
        iterator, rows = self._gathering
        has_single_page = not isinstance(iterator, _RowIterator)
        try:
            for row in iterator:
                rows.append(row)
        except BaseException:
            if has_single_page:  # a generator has ended, so begin with its first row again
                self._gathering = None
            raise
        self._gathering = None
        self._is_indexed = False
        self._page = rows
        self._columns_at_hand()  # cached, because they are read from the message
        self._only_message = self._message if has_single_page else None
        self._message = None
        self._is_list = True

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice | str) -> T | list[T]:
        """Return the row at `index`, or the rows of a slice.

        For the first row, this skips empty pages, as `one` does. For other rows, this reads all
        pages into a list.
        """
        is_begun = self._is_list or self._gathering is not None or self._iterator is not None
        if index == 0 and not is_begun:
            rows = self._skip_empty_pages()  # like `one`, without reading all pages
            # The page of a row factory that is a generator cannot be indexed: see below.
            if type(rows) is list or not isinstance(rows, Iterator):
                try:
                    first: T = rows[0]
                except IndexError:
                    raise IndexError(_NO_ROW) from None
                except TypeError:  # a set, for example: read the rows into a list below
                    pass
                else:
                    # A later iteration must begin with this row again, so it must not drop the
                    # current page.
                    self._is_indexed = True
                    return first
        if isinstance(index, str):
            raise TypeError(
                f"a result has rows by position, not by name, {index!r}: write "
                f"result.one().{index}, or [row.{index} for row in result]"
            )
        self._enter_list_mode("indexing")
        try:
            selected: T | list[T] = self._page[index]
            return selected
        except IndexError:
            count = len(self._page)
            raise IndexError(f"there is no row {index}: the result has {count} rows") from None

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        # Pickling and deep copies would reach the future, and fail there with an error about a
        # private class. `_guard` comes first in the state, and raises a better error. A shallow
        # copy is possible.
        reduced: Any = super().__reduce_ex__(protocol)
        if self._future_arguments is None and not is_of_driver(type(self._future)):
            return reduced
        make, arguments, state, *rest = reduced
        return (make, arguments, {"_guard": UNPICKLABLE, **state}, *rest)

    def __eq__(self, other: object) -> bool:
        self._enter_list_mode("comparing")
        return bool(self._page == other)

    if not TYPE_CHECKING:  # hidden from type checkers, which report this themselves

        def __add__(self, other: object) -> Any:
            # If `other` is an object of another package, such as an array, let its `__radd__` do
            # the addition.
            cls = type(other)
            if cls.__module__ != "builtins" and hasattr(cls, "__radd__"):
                return NotImplemented
            raise TypeError(
                "results are not added: write [*first, *second], or result.all() + rows"
            )

        # There is no `__radd__`: Python would call it for ``rows += result``, too, which extends
        # the list.

    def __hash__(self) -> NoReturn:
        # `asyncio.gather` hashes its arguments. Passing a result to it is a common mistake, so the
        # message explains it.
        raise TypeError(
            "unhashable type: 'ResultSet': a result cannot be in a set or a key of a dict. "
            "asyncio.gather takes executions of cassandra.aio, which are awaitable; this is the "
            "result of a blocking call"
        )

    def __bool__(self) -> bool:
        warn_of_truth(self.column_names)
        return bool(self._skip_empty_pages())

    # -- lightweight transactions ------------------------------------------------------------------

    @property
    def was_applied(self) -> bool:
        """True if a lightweight transaction was applied.

        :raises RuntimeError: if the statement was not a lightweight transaction.
        """
        names = self.column_names or []
        if self._message is not None and APPLIED in names:
            # Decode the rows again as tuples: the row factory of the application may have returned
            # any objects, and its rows may have been used up.
            return applied(self._message.decode(tuple_factory), names.index(APPLIED))
        first = self.one()
        # Without a message, the application has replaced the rows, so look at the first row. A dict
        # has the value under the name [applied]; in a tuple, the value is the first item.
        if isinstance(first, dict) and APPLIED in first:
            return bool(first[APPLIED])
        if (
            self._message is None
            and isinstance(first, tuple)
            and first
            and isinstance(first[0], bool)
        ):
            return first[0]
        raise RuntimeError(
            f"was_applied is for lightweight transactions; this result has the columns {names}"
        )

    # -- traces ------------------------------------------------------------------------------------

    def get_query_trace(self, max_wait_sec: float | None = None) -> QueryTrace | None:
        """Read the trace of the last page; None if the request was not traced.

        :param max_wait_sec: how many seconds to wait until the trace is complete; None for
            `Session.max_trace_wait`.
        """
        trace: QueryTrace | None = self.response_future.get_query_trace(max_wait_sec)
        return trace

    def get_all_query_traces(self, max_wait_sec_per: float | None = None) -> list[QueryTrace]:
        """Read the traces of all pages.

        :param max_wait_sec_per: how many seconds to wait until each trace is complete; None for
            `Session.max_trace_wait`.
        """
        traces: list[QueryTrace] = self.response_future.get_all_query_traces(max_wait_sec_per)
        return traces


_new = object.__new__


def result_of(session: Any, request: Any, row_factory: Any) -> ResultSet[Any]:
    """Return the `ResultSet` of a request that is over.

    The result has no future yet. It makes the future only when the future is needed.
    """
    result: ResultSet[Any] = _new(ResultSet)
    answer = request.response
    if type(answer) is happy_path.RowsAnswer:
        result._rows_answer = answer
    elif type(answer) is ResultMessage:
        result._full_message = answer
    else:  # the response is None if a retry policy has ignored the error
        result._set_page(answer)
    result._future_arguments = (session, request, row_factory)
    return result


result_of._reads_rows_answers = True  # type: ignore[attr-defined]  # see `HappyPath`


ResultSet.__module__ = "cassandra.cluster"

add_habits(ResultSet, RESULT, length="write len(result.all())")
