"""Reads whole tables, range by range: `Session.scan` and the same method in `cassandra.aio`.

`Scan` (blocking) and `AsyncScan` (asyncio) read the token ranges of a table in parallel. A
`PageQueue` decides which page of which range is requested next, and remembers which pages the
application has used, for a checkpoint. Both classes only send requests and wait for pages.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from contextlib import aclosing, contextmanager, nullcontext, suppress
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from cassandra import _threads
from cassandra._attempts import deciding_attempt
from cassandra._clocks import monotonic
from cassandra._failed_iterations import Failure, LoudGenerator, LoudIterator
from cassandra._habits import SCAN, SCAN_ITEM, SCAN_LENGTH, add_habits, awaited
from cassandra._imports import OptionalPackage
from cassandra._logs import Log
from cassandra._steps import adrive, drive
from cassandra.aio.calls import returns_call
from cassandra.bulk.checkpoint import Checkpoint, describe_cluster, describe_id
from cassandra.bulk.page_queue import Fetch, PageQueue
from cassandra.bulk.plain import PlainRows, plain_session
from cassandra.bulk.progress import Progress
from cassandra.bulk.ranges import FIRST, LAST, TokenRange
from cassandra.bulk.report import counted
from cassandra.bulk.retrying import delay_before_retry
from cassandra.bulk.row_places import add_place
from cassandra.bulk.same_table import TableWatch
from cassandra.bulk.scan_options import (
    ScanOptions,
    parameters_of,
    positive,
    ranges_of,
    scan_options,
    selected_columns,
    switch,
)
from cassandra.bulk.scan_plan import AggregateOfRanges, ScanStatement, performer, plan_steps
from cassandra.bulk.target import full_name, table_of
from cassandra.client.columnar import (
    check_numpy_options,
    check_option_names,
    check_pandas_options,
    column_plans,
    columnar_module,
    rows_message,
)
from cassandra.client.ignored_errors import ignored_error
from cassandra.consistency import level_of
from cassandra.errors import DecodeError, DriverException

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from cassandra.bulk.sessions import AsyncSession, Page, Session
    from cassandra.metadata.host import Host
    from cassandra.metadata.schema.tables import TableMetadata
else:
    pandas, polars = OptionalPackage("pandas"), OptionalPackage("polars")
    pyarrow = OptionalPackage("pyarrow")

log = Log(__name__)

__all__ = ["AsyncScan", "Batches", "Scan", "ScanOptions", "acount", "count"]


# The error message for a scan with ``ranges=[]``. Such a scan reads no page, so we do not know the
# types of its columns.
NO_PAGE = "ranges= is empty, so there is no page that has the columns' types"


class _UsedPage(NamedTuple):
    """The page that the application currently uses.

    :param page: the result set.
    :param token_range: the token range of the page.
    :param sent_at: when the page's request was sent, in seconds of a monotonic clock.
    """

    page: Page
    token_range: TokenRange
    sent_at: float


class _ScanBase:
    """The options of a scan, and the code that `Scan` and `AsyncScan` share.

    :param session: the session that reads.
    :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
    :param columns: column names, or a string of CQL selectors; None for all columns.
    :param where: a condition in CQL, with ``?`` for ``parameters``; None for all rows.
    :param options: see `ScanOptions`.
    :raises TypeError: for an option that does not exist.
    """

    def __init__(
        self,
        session: Any,
        table: str,
        columns: Sequence[str] | str | None = None,
        where: str | None = None,
        options: ScanOptions | None = None,
    ) -> None:
        checked_options = scan_options(options or {})
        self.session = session
        self.table = table
        # Copy the columns and the ranges now: they may be iterators, or lists that the application
        # changes before the scan reads them.
        self.columns = columns if columns is None else selected_columns(columns)
        self.condition = where
        if where is not None and not isinstance(where, str):
            raise TypeError(
                "where is a condition in CQL, such as 'column > ?' with parameters=[5], but is "
                f"{where!r} ({type(where).__name__})"
            )
        if where is not None and where.strip().isidentifier():
            raise ValueError(
                f"where is a condition in CQL, such as 'column > 5', but is {where!r}: several "
                "columns are written as a list, session.scan(table, ['column', ...])"
            )
        self.parameters = parameters_of(checked_options["parameters"])
        self.splits = checked_options["splits"]
        self.concurrency = positive("concurrency", checked_options["concurrency"])
        self.page_size = positive("page_size", checked_options["page_size"])
        self.max_bytes = positive("max_buffered_bytes", checked_options["max_buffered_bytes"])
        self.row_limit = checked_options["limit"]
        self.progress = checked_options["progress"]
        if self.progress is not None:
            switch("progress", self.progress)
        self.in_order = switch("in_order", checked_options["in_order"])
        self.checkpoint = checked_options["checkpoint"]
        self.level = level_of(checked_options["consistency_level"])
        self.ranges = ranges_of(checked_options["ranges"])
        self._execute_options: dict[str, Any] = {
            "execution_profile": checked_options["execution_profile"],
            "timeout": checked_options["timeout"],
            "row_type": checked_options["row_type"],
        }
        if self.splits is not None:
            positive("splits", self.splits)
        if self.row_limit is not None:
            positive("limit", self.row_limit)
            # Do not request pages larger than the limit.
            self.page_size = min(self.page_size, self.row_limit)
            if self.checkpoint is not None:
                # The limit may cut off rows of the last page, but the checkpoint would record the
                # whole page as used. So the next scan would skip these rows.
                raise ValueError("a scan with a checkpoint does not have the option 'limit'")
        # What the checkpoint records about the purpose of the scan, besides the table and the
        # columns. For example, a copy adds its target table, so that no other scan can continue
        # from the checkpoint of the copy.
        self.purpose: dict[str, Any] = {}
        self.is_dry = False  # True for dry runs, which save no checkpoint
        self.unit = "rows"  # what the progress display counts
        # The id that the table must have, because other scans have read other ranges of it; None
        # for any id.
        self.table_id: str | None = None
        self._saved_checkpoint: Checkpoint | None = None
        # The latest page from `pages`; None while the application does not use a page.
        self._latest: _UsedPage | None = None

    @contextmanager
    def _noting(self, page: Page, fetch: Fetch, token_range: TokenRange) -> Iterator[None]:
        """Record that the application uses a page, until it asks for the next page or stops.

        :param page: the page that the body of the ``with`` statement yields.
        :param fetch: the page's entry in the queue.
        :param token_range: the token range of the page.
        """
        latest = self._latest = _UsedPage(page, token_range, fetch.sent_at)
        try:
            yield
        finally:
            # Release the page, which may be large. If two iterations of this scan alternate, the
            # other iteration may have stored its page here. Keep that page.
            if self._latest is latest:
                self._latest = None

    @contextmanager
    def locating(self, page: Page) -> Iterator[None]:
        """Add the location of the row to an error about a value of a page.

        The location is the table, the primary key of the row and the token range.

        :param page: the page that the body of the ``with`` statement decodes.
        """
        try:
            yield
        except (DecodeError, TypeError, ValueError) as error:
            token_range = None
            # Only add the range if it belongs to this page: if two iterations of this scan
            # alternate, the latest page may be a page of the other iteration.
            if self._latest is not None and self._latest.page is page:
                token_range = self._latest.token_range
            # The table may have been dropped since the scan began. Then raise the error unchanged.
            with suppress(KeyError, ValueError):
                name = full_name(self._table_metadata())
                add_place(error, page, name, self._key_names(), token_range)
            raise

    def _key_names(self) -> list[str]:
        """Return the names of the primary key's columns.

        :raises ValueError: if the table does not exist.
        """
        return [column.name for column in self._table_metadata().primary_key]

    def _table_metadata(self) -> TableMetadata:
        metadata = self.session.cluster.metadata
        return table_of(metadata, self.table, self.session.keyspace, with_views=True)

    def age_of(self, page: Page) -> float:
        """Return how many seconds ago the request for a page was sent.

        The page may have waited in memory for most of this time, while the application used earlier
        pages.

        :param page: a page. The age is 0 unless it is the latest page from `pages`.
        """
        latest = self._latest
        return 0.0 if latest is None or latest.page is not page else monotonic() - latest.sent_at

    def _check_collecting(self, method: str) -> None:
        """Raise TypeError if the scan has a checkpoint, because `method` collects all rows first.

        The checkpoint would record each page as used before the caller has its rows. After an error
        these rows would be lost, and the next scan would skip them.

        :param method: the name of the method, for the message.
        :raises TypeError: if the scan has a checkpoint.
        """
        if self.checkpoint is not None:
            raise TypeError(
                f"{method} does not have the option 'checkpoint': after an error the rows read so "
                "far would be lost; iterate over the rows, or over arrow_batches()"
            )

    def _batch(self, maker: Batches, page: Page) -> Any:
        with self.locating(page):
            return maker.batch(page)

    def _progress_display(self) -> Progress:
        return Progress(self.progress, self.table, self.row_limit, self.unit)

    def _steps(self) -> Generator[Callable[[Any], Any], Any, ScanStatement]:
        """Return the steps that plan the scan: see `plan_steps`.

        They prepare the statement of the scan, and divide the table into ranges.
        """
        return plan_steps(
            plain_session(self.session),
            self.table,
            self.columns,
            self.condition,
            self.parameters,
            self.splits,
            self.concurrency,
        )

    def _begin_steps(
        self,
    ) -> Generator[Callable[[Any], Any], Any, tuple[ScanStatement, TableWatch]]:
        """Return the steps before the first page: they plan the scan, and begin the watch."""
        statement = yield from self._steps()
        table = self._table_metadata()
        watch = TableWatch(self.session.cluster.metadata, table.keyspace_name, table.name)
        yield from watch.begin_steps()
        if self.table_id and watch.table_id and watch.table_id != self.table_id:
            raise DriverException(
                f"{self.table} was dropped and created again since its tasks were made, so other "
                "tasks may have read rows of the dropped table: make the tasks again"
            )
        return statement, watch

    def _end_steps(self, watch: TableWatch) -> Generator[Callable[[Any], Any], Any, None]:
        """Return the steps after the last page: they ask for the table's id again.

        :raises DriverException: if the table was dropped and created again since the scan began.
        """
        self._check_same_table((yield from watch.end_steps()))
        self._check_key((yield from watch.renamed_keys_steps()))

    def _check_same_table(self, is_another: bool) -> None:
        """Raise DriverException if the table was dropped and created again."""
        if is_another:
            raise DriverException(
                f"{self.table} was dropped and created again during the scan, so the pages read so "
                "far may have rows of both tables: scan it again from the beginning"
            )

    def _check_key(self, renamed: list[str]) -> None:
        """Raise DriverException if columns were renamed that were in the primary key.

        :param renamed: the old names of these columns.
        """
        if renamed:
            raise DriverException(
                f"{self.table} was altered during the scan, and {', '.join(map(repr, renamed))} is "
                "no longer in its primary key, so rows may lack this part of their keys: scan it "
                "again from the beginning"
            )

    def _opened_checkpoint(self) -> Checkpoint | None:
        """Open the checkpoint of the scan; return None if the scan has none."""
        if self.checkpoint is None:
            return None
        metadata = self.session.cluster.metadata
        table = self._table_metadata()
        subject: dict[str, Any] = {
            "work": "scan",
            # In the subject of a copy, "cluster" is the target cluster. So the cluster that the
            # copy reads gets another key.
            "source_cluster" if "cluster" in self.purpose else "cluster": describe_cluster(
                metadata
            ),
            "table": full_name(table),
            "table_id": describe_id(table),
            "columns": self.columns,
            "where": self.condition,
            "parameters": [_description(value) for value in self.parameters],
            **self.purpose,
        }
        if self.ranges is not None:
            # Leave out the replicas of the ranges, which may change between two runs.
            subject["ranges"] = sorted([part.start, part.end] for part in self.ranges)
        return Checkpoint(self.checkpoint, subject, is_read_only=self.is_dry)

    def _queue(self, statement: ScanStatement) -> PageQueue:
        """Return the queue of the pages to request.

        Pages that the application has already used, according to the checkpoint, are not in the
        queue.
        """
        # A statement that reads token ranges has two more bind markers, for the bounds of the
        # range. Their values come from the scan, not from the application.
        marker_count = len(statement.prepared.column_metadata) - 2 * statement.has_tokens
        value_count = len(self.parameters)
        if marker_count != value_count:
            # Several values for a single marker are probably the values of an IN: these must be
            # passed as one list.
            has_too_many = marker_count == 1 < value_count
            example = (
                "'column IN ?', parameters=[[1, 2]]"
                if has_too_many
                else ("'column > ?', parameters=[5]")
            )
            raise ValueError(
                f"where= has {counted(marker_count, 'bind marker')}, and parameters= has "
                f"{counted(value_count, 'value')}: write where={example}"
            )
        ranges = statement.ranges if self.ranges is None else self.ranges
        if not _are_readable(statement, ranges):
            raise ValueError(
                f"ranges= cannot be used here: {self.table} is not read by token ranges"
            )
        queue = PageQueue(ranges, self.concurrency, self.max_bytes, self.in_order)
        self._saved_checkpoint = self._opened_checkpoint()
        if self._saved_checkpoint is not None:
            queue.resume(self._saved_checkpoint)
            if not _are_readable(statement, queue.ranges):
                raise ValueError(
                    f"the checkpoint {self._saved_checkpoint.path} has token ranges, but "
                    f"{self.table} is not read by token ranges"
                )
            if self._saved_checkpoint.state and len(queue.finished) == len(queue.ranges):
                self._warn_of_finished_checkpoint(self._saved_checkpoint)
        return queue

    def _warn_of_finished_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Log a warning that the scan reads nothing, because an earlier scan has read all rows.

        Unlike a load, a scan does not remove its checkpoint at the end: the scan cannot know
        whether the application has finished its work with the last page.
        """
        path = checkpoint.path
        assert path is not None
        written_at = datetime.datetime.fromtimestamp(path.stat().st_mtime).astimezone()
        log.warning(
            "The checkpoint %s is complete: a %s of %s has read all rows, and wrote it at %s. "
            "Nothing is read now; delete the file to read the table again",
            path,
            self.purpose.get("work", "scan"),
            self.table,
            written_at.isoformat(" ", "seconds"),
        )

    def _send(self, statement: ScanStatement, queue: PageQueue, fetch: Fetch) -> None:
        """Send the request for a page, and store its future or awaitable in `fetch.handle`."""
        # An asyncio session has no `execute_async`: its `execute` returns an awaitable at once.
        session = plain_session(self.session)
        send = getattr(session, "execute_async", None) or session.execute
        token_range = queue.ranges[fetch.number]
        bound = statement.bind(token_range, self.page_size, self.level)
        execute_options = self._execute_options
        if statement.is_local and fetch.state is not None:
            execute_options = {**execute_options, "host": self._host_of(token_range)}
        fetch.sent_at = monotonic()
        fetch.handle = send(bound, paging_state=fetch.state, **execute_options)

    def _host_of(self, token_range: TokenRange) -> Host:
        """Return the host that has sent the first page of a range.

        If each node has its own rows of the table, all pages of the range must come from this host.

        :raises ValueError: if that host is not in the cluster any more.
        """
        hosts: list[Host] = self.session.cluster.metadata.all_hosts()
        for host in hosts:
            if str(host.endpoint) in token_range.replicas:
                return host
        raise ValueError(
            f"each node has its own rows of {self.table}, and the node whose rows this scan has "
            f"begun to read, {', '.join(token_range.replicas)}, is not in the cluster: begin anew"
        )

    def _arrived(
        self,
        statement: ScanStatement,
        queue: PageQueue,
        fetch: Fetch,
        page: Page,
        watch: TableWatch,
    ) -> Any:
        """Record that a page has arrived; return its paging state, which is None for the last page.

        :param page: the page, which was in flight.
        :param watch: notices if the table is another one now.
        :raises DriverException: if the table was dropped and created again since the scan began.
        """
        self._check_same_table(watch.is_another())
        self._check_key(watch.renamed_keys())
        state = page.paging_state
        if statement.is_local and fetch.state is None:
            queue.pin(fetch, str(_host_that_answered(page).endpoint))
        queue.arrived(fetch, state, size_of(page))
        return state

    def _used(self, queue: PageQueue, fetch: Fetch, state: bytes | None) -> None:
        """Record that the application has used a page, and save the checkpoint.

        The checkpoint must not be saved earlier, when the page arrives: after a crash, the next
        scan would skip rows that the application has never seen.
        """
        queue.used(fetch, state)
        if self._saved_checkpoint is not None:
            queue.save_used(self._saved_checkpoint, fetch, state)


def _without_ellipsis(value: Any) -> object:
    """Return an array, a series or a frame's column as a list; return other values unchanged.

    The `repr` of a long array has an ellipsis instead of most of its items. Arrays inside lists,
    tuples and dicts are converted, too.
    """
    if type(value) in (list, tuple):
        return type(value)(map(_without_ellipsis, value))
    if type(value) is dict:
        return {key: _without_ellipsis(item) for key, item in value.items()}
    for name in ("tolist", "to_list", "to_pylist"):  # NumPy and pandas, polars, pyarrow
        if hasattr(value, "__len__") and hasattr(value, name):
            return getattr(value, name)()
    return value


def _description(value: Any) -> str:
    """Return a string that describes a parameter, and is the same in each process.

    It is similar to the `repr` of the value. But the items of sets and dicts are sorted, because
    the order of a set's items differs between processes. And named tuples, data classes, and
    objects whose class does not define `__repr__` are described by their fields, because the
    default `repr` of an object has its address.
    """
    value = _without_ellipsis(value)
    if isinstance(value, Set):
        return f"{{{', '.join(sorted(map(_description, value)))}}}" if value else "set()"
    if isinstance(value, Mapping):
        items = sorted(f"{_description(key)}: {_description(item)}" for key, item in value.items())
        return f"{{{', '.join(items)}}}"
    if type(value) is list:
        return f"[{', '.join(map(_description, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(_description, value))}{',' if len(value) == 1 else ''})"
    fields = _fields_of(value)
    if fields is not None:
        described = ", ".join(f"{name}={_description(item)}" for name, item in fields.items())
        return f"{type(value).__qualname__}({described})"
    return repr(value)


def _fields_of(value: Any) -> dict[str, Any] | None:
    """Return the fields of a named tuple, a data class, or an object without its own `repr`.

    Return None for other values.
    """
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    # The default `repr` of an object is its address, so describe the object by its fields.
    if getattr(type(value), "__repr__", None) == object.__repr__:
        slots = [getattr(cls, "__slots__", ()) for cls in type(value).__mro__]
        names = {name for each in slots for name in ([each] if isinstance(each, str) else each)}
        names = (names - {"__dict__", "__weakref__"}) | getattr(value, "__dict__", {}).keys()
        present = {name: getattr(value, name) for name in sorted(names) if hasattr(value, name)}
        return present or None
    return None


def _are_readable(statement: ScanStatement, ranges: Iterable[TokenRange]) -> bool:
    """Return True if a statement can read these ranges, so that it returns each row only once.

    A statement without bind markers for the bounds of a range reads the whole table. So it would
    return all rows for each range.
    """
    return statement.has_tokens or [token_range[:2] for token_range in ranges] in (
        [],
        [(FIRST, LAST)],
    )


def _cut(page: Page, remaining: int | None) -> tuple[int, int | None]:
    """Cut a page to the number of rows that are still needed.

    :param page: a result whose current page has not been read yet.
    :param remaining: the number of rows that are still needed; None for all rows.
    :returns: the number of rows in the page after the cut, and the number of rows that are needed
        from later pages (None for all rows).
    """
    message = page._message
    if message is None:
        return 0, remaining
    if remaining is not None and message.row_count > remaining:
        rows_message(message).keep_first(remaining)
    return message.row_count, None if remaining is None else remaining - message.row_count


def _check_not_ignored(page: Page) -> None:
    """Raise the error of a page if the application's retry policy has ignored that error.

    Otherwise the rows of this page, and of all later pages of its range, would be missing.
    """
    error = ignored_error(page)
    if error is not None:
        raise error


def _host_that_answered(page: Any) -> Host:
    """Return the host that has sent a page."""
    # On asyncio, the result has the attempts; in the blocking API, its future has them.
    attempts = getattr(page, "response_future", page).attempts
    attempt = deciding_attempt(attempts)
    assert attempt is not None  # the page has come
    host: Host = attempt.host
    return host


def size_of(result: Page) -> int:
    """Return the size of the current page in bytes.

    :param result: a `ResultSet`, or a row set of a scan, that has received a page.
    """
    message = result._message
    return 0 if message is None or message.has_own_rows else len(message.rows_body[0])


def rows_of(page: Page) -> Iterable[Any]:
    """Return the rows of a page, in the form in which the session's row factory returns them.

    :param page: a result; its current page is used.
    :raises TypeError: if the factory returns something else than a list of rows, for example a data
        frame: iterating over a frame would yield column names.
    """
    rows = page.current_rows
    if isinstance(rows, Mapping) or not isinstance(rows, (Sequence, Iterator)):
        raise TypeError(
            f"the row factory makes a {type(rows).__name__} of a page, and not a list of rows: "
            "take `current_rows` of each of the scan's pages(), or use another profile, or "
            "`row_type`"
        )
    return rows


class Batches:
    """Converts pages to record batches with the schema of the first page.

    :param options: see `cassandra.cluster.ResultSet.to_arrow`.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._columnar = columnar_module()
        self._pyarrow = self._columnar.pyarrow_module("arrow_batches")
        check_option_names("arrow_batches", options)
        # The layout of the columns of the first page, and its Arrow schema; None before that page.
        self._layout: Any = None
        self.schema: Any = None

    def batch(self, result: Page) -> pyarrow.RecordBatch:
        """Return the current page as a `pyarrow.RecordBatch`.

        :param result: the result of the scan's current request.
        :raises ValueError: if the columns of the page differ from the columns of the first page.
        """
        message = rows_message(result._message)
        plan, _ = column_plans(message, self._options)
        if self.schema is None:
            self._layout = plan.layout
            self.schema = self._columnar.arrow_schema(self._pyarrow, plan.layout)
        # The table may be altered during the scan, so compare the columns with the columns of the
        # first page.
        self._columnar.check_same(self._layout, plan.layout)
        return self._columnar.arrow_batch(self._pyarrow, self.schema, message.columns(plan))

    def table(self, batches: list[Any]) -> pyarrow.Table:
        """Return a `pyarrow.Table` of record batches made by this object.

        :param batches: objects that `batch` has returned.
        """
        return self._pyarrow.Table.from_batches(batches, self.schema)


class Arrays:
    """Collects pages, and joins them to a dict of NumPy arrays, like `ResultSet.to_numpy`."""

    def __init__(self) -> None:
        self._columnar = columnar_module()
        self._columnar.numpy_module("to_numpy")
        self._form: Any = None  # how pages are converted; None before the first page
        self._pages: list[Any] = []  # the converted pages

    def add(self, result: Page) -> None:
        """Add the current page of a result.

        :param result: the result of the scan's current request.
        :raises ValueError: if the columns of the page differ from the columns of the first page.
        """
        message = rows_message(result._message)
        # The form says how columns become NumPy arrays. It depends on the first page.
        if self._form is None:
            self._form = result._numpy_form()
        plan = self._form.column_plan_of(message.metadata)
        self._columnar.check_same(self._form.column_plan.layout, plan.layout)
        # Convert the page now. `joined` concatenates the arrays of all pages.
        columns = message.columns(plan)
        self._pages.append(self._form.each(columns))

    def joined(self) -> dict[str, Any]:
        """Return the arrays of all pages.

        :raises ValueError: if there was no page, because the scan has no ranges.
        """
        if self._form is None:
            raise ValueError(NO_PAGE)
        arrays: dict[str, Any] = self._form.joined(self._pages)
        return arrays


class _Pages:
    """Collects the columns of pages, which must have the same types.

    :param options: the options of ``to_arrow`` that say how columns are decoded.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._columnar = columnar_module()
        self._column_options = options
        self._layout: Any = None
        self._pages: list[Any] = []

    def add(self, result: Page) -> None:
        """Add the current page of a result.

        :param result: the result of the scan's current request.
        :raises ValueError: if the columns of the page differ from the columns of the first page.
        """
        message = rows_message(result._message)
        plan, _ = column_plans(message, self._column_options)
        if self._layout is None:
            self._layout = plan.layout
            self._check_layout()
        self._columnar.check_same(self._layout, plan.layout)
        self._pages.append(message.columns(plan))

    def _check_layout(self) -> None:
        """Raise an error if the types of the columns do not fit the options."""

    def _check_pages(self) -> None:
        """Raise ValueError if there was no page, because the scan has no ranges."""
        if self._layout is None:
            raise ValueError(NO_PAGE)


class PolarsFrames(_Pages):
    """Collects pages, and joins them to a polars data frame, like `ResultSet.to_polars`.

    :param options: see `cassandra.cluster.ResultSet.to_polars`.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        check_option_names("to_polars", options)
        # Polars has no type for durations of months, days and nanoseconds, so make structs of them.
        super().__init__({"durations": "struct", **options})
        self._polars = self._columnar.polars_module()

    def frame(self) -> polars.DataFrame:
        """Return a `polars.DataFrame` of all pages.

        :raises ValueError: if there was no page, because the scan has no ranges.
        """
        self._check_pages()
        frame: polars.DataFrame = self._columnar.polars_frame(
            self._polars, self._layout, self._pages
        )
        return frame


class Frames(_Pages):
    """Collects pages, and joins them to a pandas data frame, like `ResultSet.to_pandas`.

    :param options: see `cassandra.cluster.ResultSet.to_pandas`.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = dict(options)
        # These options say how columns are decoded. All other options are passed to
        # `pyarrow.Table.to_pandas`.
        super().__init__(
            {
                name: self._options.pop(name)
                for name in ("decimals", "varints", "durations")
                if name in options
            }
        )
        self._pyarrow = self._columnar.pyarrow_module("to_pandas")
        # Raise an error now if pandas is missing, and not only after the first page.
        self._columnar.pandas_module()
        check_pandas_options(self._pyarrow, options)

    def _check_layout(self) -> None:
        self._columnar.check_types_mapper(self._pyarrow, self._layout, self._options)

    def frame(self) -> pandas.DataFrame:
        """Return a `pandas.DataFrame` of all pages.

        :raises ValueError: if there was no page, because the scan has no ranges.
        """
        self._check_pages()
        return self._columnar.pandas_of_arrow(
            self._pyarrow, self._layout, self._pages, self._options
        )


class _RowsBase:
    """An iteration over the rows of a scan.

    After the iteration has failed, each further use raises an error. A generator would end instead,
    so the application would not notice that rows are missing.
    """

    __slots__ = ("_failure", "_page", "_rows", "_scan")

    def __init__(self, scan: _ScanBase) -> None:
        self._scan = scan
        self._rows: Iterator[Any] = iter(())  # the remaining rows of the page
        self._page: Page | None = None  # None while a page is awaited
        self._failure = Failure()

    def _use(self, page: Page) -> Iterator[Any]:
        """Store the iterator over the rows of a page in `_rows`, and return it."""
        self._page = page
        self._rows = iter(rows_of(page))
        return self._rows

    def _fail(self, error: BaseException) -> NoReturn:
        """Record that the iteration has failed, and raise `error`.

        If a row cannot be read, the error names the location of the row.
        """
        self._failure.note(error)
        page, self._page, self._rows = self._page, None, iter(())
        try:
            with self._scan.locating(page) if page is not None else nullcontext():
                raise error
            raise AssertionError  # for type checkers, which do not know that the block raises
        finally:
            # The traceback of the error refers to this frame. Delete the reference to the error, to
            # avoid a reference cycle.
            del error, page


class _Rows(_RowsBase, Iterator[Any]):
    """Iterates over the rows of a `Scan`.

    :param pages: the pages of the scan.
    """

    __slots__ = ("_pages",)

    def __init__(self, scan: Scan, pages: Iterator[Any]) -> None:
        super().__init__(scan)
        self._pages = pages

    def __next__(self) -> Any:
        # A `for` loop is the fastest way to get the next item without an exception at the end.
        try:
            for row in self._rows:
                return row
        except BaseException as error:
            self._fail(error)
        return self._first_row_of_next_page()

    def _first_row_of_next_page(self) -> Any:
        """Return the first row of the next page that has rows.

        :raises StopIteration: if there is no further row.
        """
        if self._failure.error_name is not None:
            self._failure.raise_error()
        # The rows of the current page are used up. Forget the page, so that an error while the next
        # page is awaited does not name a row of this page.
        self._page = None
        try:
            for page in self._pages:
                # Return the first row. `_use` has stored the iterator in `_rows`, from which
                # `__next__` takes the other rows.
                for row in self._use(page):
                    return row
                # The page has no rows: forget this page, too, and go on with the next page.
                self._page = None
        except BaseException as error:
            self._fail(error)  # always raises
        raise StopIteration

    def close(self) -> None:
        """End the iteration."""
        self._rows = iter(())
        close = getattr(self._pages, "close", None)
        if close is not None:
            close()


class _AsyncRows(_RowsBase, AsyncIterator[Any]):
    """Iterates over the rows of an `AsyncScan`.

    :param pages: the pages of the scan.
    """

    __slots__ = ("_pages",)

    def __init__(self, scan: AsyncScan, pages: AsyncGenerator[Any, None]) -> None:
        super().__init__(scan)
        self._pages = pages

    async def __anext__(self) -> Any:
        try:
            for row in self._rows:
                return row
        except BaseException as error:
            self._fail(error)
        return await self._first_row_of_next_page()

    async def _first_row_of_next_page(self) -> Any:
        """Return the first row of the next page that has rows.

        :raises StopAsyncIteration: if there is no further row.
        """
        if self._failure.error_name is not None:
            self._failure.raise_error()
        # The rows of the current page are used up. Forget the page, so that an error while the next
        # page is awaited does not name a row of this page.
        self._page = None
        try:
            async for page in self._pages:
                # Return the first row. `_use` has stored the iterator in `_rows`, from which
                # `__anext__` takes the other rows.
                for row in self._use(page):
                    return row
                # The page has no rows: forget this page, too, and go on with the next page.
                self._page = None
        except BaseException as error:
            self._fail(error)  # always raises
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the iteration, and cancel its requests."""
        self._rows = iter(())
        await self._pages.aclose()


class Scan(_ScanBase):
    """All rows of a table, read by token ranges in parallel. Each iteration reads the table again.

    Pages are requested ahead. A page that fails is requested again with the same paging state, so
    the scan returns each row exactly once, even if nodes go down and come back.
    """

    def pages(self) -> Iterator[Any]:
        """Return an iterator over the pages, each as a `ResultSet`.

        Only use the current page of each `ResultSet`.

        :raises RuntimeError: by the iterator, if it is used again after it has failed.
        """
        return LoudIterator(self._pages())

    def _pages(self) -> Iterator[Any]:
        """Yield the pages."""
        statement, watch = drive(self._begin_steps(), performer(self.session))
        queue = self._queue(statement)
        remaining = self.row_limit
        with self._progress_display() as progress:
            for fetch in queue.to_send():
                self._send(statement, queue, fetch)
            while remaining != 0 and (oldest := queue.oldest()) is not None:
                result = self._result(statement, queue, oldest)
                state = self._arrived(statement, queue, oldest, result, watch)
                count, remaining = _cut(result, remaining)
                # Send the next requests before the application uses this page, unless the limit is
                # reached.
                for fetch in queue.to_send() if remaining != 0 else ():
                    self._send(statement, queue, fetch)
                progress.add(count)
                with self._noting(result, oldest, queue.ranges[oldest.number]):
                    yield result
                # The caller asked for the next page, so it has finished with this page.
                self._used(queue, oldest, state)
            drive(self._end_steps(watch), performer(self.session))

    def _result(self, statement: ScanStatement, queue: PageQueue, fetch: Fetch) -> Page:
        """Wait for a page; request it again after an error if the same request may succeed."""
        while True:
            try:
                # `_send` has stored a future in `handle`. If it sends the request again, it
                # replaces the future.
                page: Page = fetch.handle.result()
                _check_not_ignored(page)
                return page
            except Exception as error:
                fetch.attempts += 1
                # The repeated request has the same paging state, so no row is returned twice.
                delay = delay_before_retry(error, fetch.attempts)
                if delay is None:
                    raise
                _threads.sleep(delay)
                self._send(statement, queue, fetch)

    def __iter__(self) -> Iterator[Any]:
        return _Rows(self, self.pages())

    def arrow_batches(self, **options: Any) -> Iterator[Any]:
        """Return an iterator of `pyarrow.RecordBatch`, one per page.

        :param options: see `cassandra.cluster.ResultSet.to_arrow`.
        """
        maker = Batches(options)
        return LoudIterator(self._batch(maker, page) for page in self.pages())

    def reader(self, **options: Any) -> pyarrow.RecordBatchReader:
        """Return a `pyarrow.RecordBatchReader`, which DuckDB, polars and pandas can read.

        :param options: see `cassandra.cluster.ResultSet.to_arrow`.
        :raises TypeError: if the scan has a checkpoint.
        """
        # A checkpoint records a batch as used when the next batch is requested. Libraries request
        # batches before they use them, so the checkpoint would be ahead of the application.
        self._check_collecting("reader")
        batch_maker = Batches(options)
        pages = self.pages()
        # There is a page even if no range has rows. Only if `ranges` is empty, there is no page.
        page = next(pages, None)
        if page is None:
            raise ValueError(NO_PAGE)
        first_batch = self._batch(batch_maker, page)

        def batches() -> Iterator[Any]:
            yield first_batch
            for page in pages:
                yield self._batch(batch_maker, page)

        return batch_maker._pyarrow.RecordBatchReader.from_batches(batch_maker.schema, batches())

    def to_arrow(self, **options: Any) -> pyarrow.Table:
        """Return the whole table as a `pyarrow.Table`.

        :param options: see `cassandra.cluster.ResultSet.to_arrow`.
        :raises TypeError: if the scan has a checkpoint.
        """
        self._check_collecting("to_arrow")
        return self.reader(**options).read_all()

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """Return the whole table as a `pandas.DataFrame`.

        :param options: see `cassandra.cluster.ResultSet.to_pandas`: ``decimals``, ``varints`` and
            ``durations``, and keyword arguments of ``pyarrow.Table.to_pandas``.
        :raises TypeError: if the scan has a checkpoint.
        """
        self._check_collecting("to_pandas")
        frames = Frames(options)
        for page in self.pages():
            with self.locating(page):
                frames.add(page)
        return frames.frame()

    def to_polars(self, **options: Any) -> polars.DataFrame:
        """Return the whole table as a `polars.DataFrame`.

        :param options: see `cassandra.cluster.ResultSet.to_polars`.
        :raises TypeError: if the scan has a checkpoint.
        """
        self._check_collecting("to_polars")
        frames = PolarsFrames(options)
        for page in self.pages():
            with self.locating(page):
                frames.add(page)
        return frames.frame()

    def to_numpy(self, *_extra: NoReturn, **_unknown: NoReturn) -> dict[str, Any]:
        """Return the whole table as a dict of column name to NumPy array.

        :raises TypeError: if the scan has a checkpoint.
        :raises ValueError: if two columns have the same name.
        """
        # The method has no options. If an option was passed, raise an error that says what to use
        # instead.
        check_numpy_options(_extra, _unknown)
        self._check_collecting("to_numpy")
        arrays = Arrays()
        for page in self.pages():
            with self.locating(page):
                arrays.add(page)
        return arrays.joined()

    def token_ranges(self) -> list[TokenRange]:
        """Return the ranges that the scan reads, in token order."""
        if self.ranges is not None:
            return list(self.ranges)
        steps = self._steps()
        return list(drive(steps, performer(self.session)).ranges)


class AsyncScan(_ScanBase):
    """All rows of a table, read by token ranges in parallel, on asyncio: ``async for row in scan``.

    See `Scan`.
    """

    def pages(self) -> AsyncGenerator[Any, None]:
        """Return an asynchronous generator of the pages, each as a `ResultSet`.

        Only use the current page of each `ResultSet`.

        :raises RuntimeError: by the generator, if it is used again after it has failed, or after
            the wait for a page was cancelled.
        """
        failure = Failure()
        return LoudGenerator(self._pages(failure), failure)

    async def _pages(self, failure: Failure) -> AsyncGenerator[Any, None]:
        """Yield the pages.

        :param failure: records that the generator has failed.
        """
        with failure:
            async with aclosing(self._read_pages()) as pages:
                async for page in pages:
                    yield page

    async def _read_pages(self) -> AsyncGenerator[Any, None]:
        """Yield the pages, and cancel the requests in flight at the end."""
        # Each step is a function of a session, whose result `adrive` awaits.
        statement, watch = await adrive(self._begin_steps(), performer(self.session))
        queue = self._queue(statement)
        remaining = self.row_limit
        progress = self._progress_display()
        try:
            for fetch in queue.to_send():
                self._send(statement, queue, fetch)
            while remaining != 0 and (oldest := queue.oldest()) is not None:
                result = await self._result(statement, queue, oldest)
                state = self._arrived(statement, queue, oldest, result, watch)
                count, remaining = _cut(result, remaining)
                # Send the next requests before the application uses this page, unless the limit is
                # reached.
                for fetch in queue.to_send() if remaining != 0 else ():
                    self._send(statement, queue, fetch)
                progress.add(count)
                with self._noting(result, oldest, queue.ranges[oldest.number]):
                    yield result
                # The caller asked for the next page, so it has finished with this page.
                self._used(queue, oldest, state)
            await adrive(self._end_steps(watch), performer(self.session))
        finally:
            progress.close()
            for fetch in queue.rest():
                # Nobody will await these pages, so cancel their requests.
                if fetch.handle is not None:
                    fetch.handle.cancel()

    async def _result(self, statement: ScanStatement, queue: PageQueue, fetch: Fetch) -> Page:
        """Wait for a page; request it again after an error if the same request may succeed."""
        while True:
            try:
                # `_send` has stored an awaitable in `handle`. If it sends the request again, it
                # replaces the awaitable.
                page: Page = await fetch.handle
                _check_not_ignored(page)
                return page
            except Exception as error:
                fetch.attempts += 1
                # The repeated request has the same paging state, so no row is returned twice.
                delay = delay_before_retry(error, fetch.attempts)
                if delay is None:
                    raise
                await asyncio.sleep(delay)
                self._send(statement, queue, fetch)

    def __aiter__(self) -> AsyncIterator[Any]:
        return _AsyncRows(self, self.pages())

    def arrow_batches(self, **options: Any) -> AsyncIterator[Any]:
        """Return an iterator of `pyarrow.RecordBatch`, one per page.

        :param options: see `cassandra.cluster.ResultSet.to_arrow`.
        """
        failure = Failure()
        return LoudGenerator(self._batches(Batches(options), failure), failure)

    async def _batches(self, maker: Batches, failure: Failure) -> AsyncGenerator[Any, None]:
        """Yield the pages as batches.

        :param failure: records that the generator has failed.
        """
        with failure:
            async with aclosing(self.pages()) as pages:
                async for page in pages:
                    yield self._batch(maker, page)

    @returns_call
    async def to_arrow(self, **options: Any) -> pyarrow.Table:
        """Return the whole table as a `pyarrow.Table`.

        :param options: see `cassandra.cluster.ResultSet.to_arrow`.
        :raises TypeError: if the scan has a checkpoint.
        """
        self._check_collecting("to_arrow")
        batch_maker = Batches(options)
        batches = [self._batch(batch_maker, page) async for page in self.pages()]
        return batch_maker.table(batches)

    @returns_call
    async def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """Return the whole table as a `pandas.DataFrame`.

        :param options: see `cassandra.cluster.ResultSet.to_pandas`: ``decimals``, ``varints`` and
            ``durations``, and keyword arguments of ``pyarrow.Table.to_pandas``.
        :raises TypeError: if the scan has a checkpoint.
        """
        self._check_collecting("to_pandas")
        frames = Frames(options)
        async for page in self.pages():
            with self.locating(page):
                frames.add(page)
        return frames.frame()

    @returns_call
    async def to_numpy(self, *_extra: NoReturn, **_unknown: NoReturn) -> dict[str, Any]:
        """Return the whole table as a dict of column name to NumPy array.

        :raises TypeError: if the scan has a checkpoint.
        :raises ValueError: if two columns have the same name.
        """
        # The method has no options. If an option was passed, raise an error that says what to use
        # instead.
        check_numpy_options(_extra, _unknown)
        self._check_collecting("to_numpy")
        arrays = Arrays()
        async for page in self.pages():
            with self.locating(page):
                arrays.add(page)
        return arrays.joined()

    if not TYPE_CHECKING:  # hidden, so that type checkers report `for row in scan` as an error

        def __iter__(self) -> NoReturn:
            raise TypeError(
                "pages have to be awaited: write `async for row in session.scan(table)`"
            )

        def __await__(self) -> NoReturn:
            raise TypeError(
                "a scan is not awaited itself: write `async for row in session.scan(table)`, or "
                "await session.scan(table).to_pandas(), to_polars() or to_arrow()"
            )

    @returns_call
    async def to_polars(self, **options: Any) -> polars.DataFrame:
        """Return the whole table as a `polars.DataFrame`.

        :param options: see `cassandra.cluster.ResultSet.to_polars`.
        :raises TypeError: if the scan has a checkpoint.
        """
        self._check_collecting("to_polars")
        frames = PolarsFrames(options)
        async for page in self.pages():
            with self.locating(page):
                frames.add(page)
        return frames.frame()


def _check_count_options(options: Mapping[str, Any]) -> None:
    """Raise TypeError for an option that scans have, but counts do not."""
    # A checkpoint does not store the count, so a second run would not know how many rows the
    # first run has counted.
    for name in ("checkpoint", "limit"):
        if options.get(name) is not None:
            raise TypeError(f"a count does not have the option {name!r}")


def count(session: Session, table: str, where: str | None = None, **options: Any) -> int:
    """Count the rows of a table by ranges.

    :param session: a blocking session.
    :param table: the table.
    :param where: a condition in CQL; None for all rows.
    :param options: see `ScanOptions`.
    """
    _check_count_options(options)
    # The servers count: each range returns one row with its count.
    scan = Scan(session, table, AggregateOfRanges("count(*)"), where, options)  # type: ignore[arg-type]
    scan.unit = "ranges"
    rows = PlainRows()
    # Each page has a single row with a single value, the count of a range.
    return sum(rows.tuples(page)[0][0] for page in scan.pages())


async def acount(
    session: AsyncSession, table: str, where: str | None = None, **options: Any
) -> int:
    """Count the rows of a table by ranges, on asyncio.

    :param session: a session of `cassandra.aio`.
    :param table: the table.
    :param where: a condition in CQL; None for all rows.
    :param options: see `ScanOptions`.
    """
    _check_count_options(options)
    scan = AsyncScan(session, table, AggregateOfRanges("count(*)"), where, options)  # type: ignore[arg-type]
    scan.unit = "ranges"
    rows = PlainRows()
    total = 0
    async with aclosing(scan.pages()) as pages:
        async for page in pages:
            # Each page has a single row with a single value, the count of a range.
            total += rows.tuples(page)[0][0]
    return total


add_habits(
    Scan,
    SCAN,
    length=SCAN_LENGTH,
    operations={"__enter__": "it needs no closing; iterate over it", "__getitem__": SCAN_ITEM},
)
add_habits(
    AsyncScan,
    awaited(SCAN),
    length=f"{SCAN_LENGTH} (and await it)",
    operations={"__aenter__": "it needs no closing; write `async for row in scan`"},
)
