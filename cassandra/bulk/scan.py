"""Whole tables, range by range, on both faces."""

from __future__ import annotations

import asyncio
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypedDict

from cassandra._habits import SCAN, add_habits
from cassandra._misspelt import nearest
from cassandra._steps import adrive, drive
from cassandra.bulk.checkpoint import Checkpoint
from cassandra.bulk.plain import PlainRows, plain_session
from cassandra.bulk.progress import Progress
from cassandra.bulk.ranges import TokenRange
from cassandra.bulk.retrying import delay_before_retry
from cassandra.bulk.scan_plan import Fetch, PageQueue, ScanStatement, plan_steps
from cassandra.bulk.target import full_name, table_of
from cassandra.client.columnar import column_plans, columnar_module, rows_message
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT
from cassandra.query.settings import NOT_SET

if TYPE_CHECKING:
    from cassandra.aio.result import ResultSet as AsyncResultSet
    from cassandra.aio.session import Session as AsyncSession
    from cassandra.cluster.result_set import ResultSet
    from cassandra.cluster.session import Session
    from cassandra.engine.profile import ExecutionProfile

# A result of either face, of which the page at hand is used.
Page: TypeAlias = "ResultSet[Any] | AsyncResultSet[Any]"

__all__ = ["AsyncScan", "Batches", "Scan", "ScanOptions", "acount", "count"]


_INSTEAD = {
    **dict.fromkeys(
        ("max_rows", "nrows"),
        "write limit=n",
    ),
    **dict.fromkeys(("fetch_size", "batch_size", "chunksize"), "write page_size=n"),
    **dict.fromkeys(
        ("filter", "condition", "filters"), "write where='column > ?', parameters=[...]"
    ),
    **dict.fromkeys(
        ("delimiter", "null", "quote", "encoding", "sep", "header", "date_format"),
        "it is an option of session.unload and session.load, for files",
    ),
    **dict.fromkeys(("workers", "threads", "parallelism"), "write concurrency=n"),
}


class ScanOptions(TypedDict, total=False):
    """The options of `Session.scan`."""

    parameters: Sequence[Any]
    """Values for the ``?`` of `where`."""
    splits: int | None
    """About how many ranges to cut the table into; None for ranges of about 32 MiB."""
    concurrency: int
    """Pages in flight at most; 16 by default."""
    page_size: int
    """Rows of a page; 5000 by default."""
    max_buffered_bytes: int
    """Bytes of pages that were asked for and are not used yet; 64 MiB by default."""
    limit: int | None
    """Rows to read at most; None for all. Which rows that are is not defined without `in_order`. A
    checkpoint is refused."""
    progress: bool | None
    """True shows on standard error how many rows were read, None does so at a terminal. False by
    default."""
    in_order: bool
    """Take ranges in the order of their tokens."""
    checkpoint: str | Path | None
    """A file that says what was read. A scan that finds it goes on there."""
    consistency_level: int | None
    """None for the profile's."""
    execution_profile: ExecutionProfile | str
    """A profile or its name."""
    timeout: float | None
    """Seconds for a page."""
    row_type: type[Any] | None
    """The class to make rows of, as in `Session.execute`."""
    ranges: Sequence[TokenRange] | None
    """Read these ranges only, as they are."""


class _ScanBase:
    """The options of a scan, and its parts that neither wait nor send.

    :param session: the session that reads.
    :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
    :param columns: names of columns, or a text of selectors as in CQL; None for all.
    :param where: a condition in CQL with ``?`` for ``parameters``; None for all rows.
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
        # A copy, from which each option is taken: what is left over is unknown.
        given: dict[str, Any] = dict(options or {})
        self.session = session
        self.table = table
        self.columns = columns
        self.where = where
        self.parameters = tuple(given.pop("parameters", None) or ())
        self.splits = given.pop("splits", None)
        self.concurrency = _positive("concurrency", given.pop("concurrency", 16))
        self.page_size = _positive("page_size", given.pop("page_size", 5000))
        self.max_bytes = _positive("max_buffered_bytes", given.pop("max_buffered_bytes", 64 << 20))
        self.limit: int | None = given.pop("limit", None)
        self.progress: bool | None = given.pop("progress", False)
        self.in_order = bool(given.pop("in_order", False))
        self.checkpoint: str | Path | None = given.pop("checkpoint", None)
        self.level: int | None = given.pop("consistency_level", None)
        self.ranges: Sequence[TokenRange] | None = given.pop("ranges", None)
        self._call: dict[str, Any] = {
            "execution_profile": given.pop("execution_profile", EXEC_PROFILE_DEFAULT),
            "timeout": given.pop("timeout", NOT_SET),
            "row_type": given.pop("row_type", None),
        }
        if given:
            name = next(iter(given))
            known = sorted(ScanOptions.__annotations__)
            near = nearest(name, known, 0.6)
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(known)}"
            raise TypeError(f"a scan does not have the option {name!r}; {_INSTEAD.get(name, hint)}")
        if self.splits is not None:
            _positive("splits", self.splits)
        if self.limit is not None:
            _positive("limit", self.limit)
            # No larger than what can be used.
            self.page_size = min(self.page_size, self.limit)
            if self.checkpoint is not None:
                # The page that is cut would count as used, and its other rows would be lost.
                raise ValueError("a scan with a checkpoint does not have the option 'limit'")
        # What else a checkpoint belongs to: a copy has its target, say.
        self.purpose: dict[str, Any] = {}
        self.is_dry = False  # nothing is done with the pages that another run could go on from
        self.unit = "rows"  # what the progress counts
        self._point: Checkpoint | None = None

    def _shown(self) -> Progress:
        return Progress(self.progress, self.table, self.limit, self.unit)

    def _steps(self) -> Generator[Callable[[Any], Any], Any, ScanStatement]:
        return plan_steps(
            plain_session(self.session),
            self.table,
            self.columns,
            self.where,
            self.parameters,
            self.splits,
            self.concurrency,
        )

    def _opened_checkpoint(self) -> Checkpoint | None:
        """Return the file that says what was read; None if there is to be none."""
        if self.checkpoint is None:
            return None
        metadata = self.session.cluster.metadata
        table = table_of(metadata, self.table, self.session.keyspace, with_views=True)
        columns: Any = self.columns
        subject = {
            "work": "scan",
            "table": full_name(table),
            "columns": columns if columns is None or isinstance(columns, str) else list(columns),
            "where": self.where,
            "parameters": [repr(value) for value in self.parameters],
            **self.purpose,
        }
        return Checkpoint(self.checkpoint, subject, is_read_only=self.is_dry)

    def _queue(self, statement: ScanStatement) -> PageQueue:
        ranges = statement.ranges if self.ranges is None else self.ranges
        queue = PageQueue(ranges, self.concurrency, self.max_bytes, self.in_order)
        self._point = self._opened_checkpoint()
        if self._point is not None:
            queue.resume(self._point)
        return queue

    def _send(self, statement: ScanStatement, queue: PageQueue, fetch: Fetch) -> None:
        # On asyncio `execute` itself returns at once.
        session = plain_session(self.session)
        send = getattr(session, "execute_async", None) or session.execute
        bound = statement.bind(queue.ranges[fetch.number], self.page_size, self.level)
        fetch.handle = send(bound, paging_state=fetch.state, **self._call)

    def _used(self, queue: PageQueue, fetch: Fetch, state: bytes | None) -> None:
        queue.used(fetch, state)
        # After the page was used: one that was only read would be missing after a crash.
        if self._point is not None:
            queue.save(self._point)


def _positive(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is a number from 1 on, not {value!r} ({type(value).__name__})")
    return value


def _cut(page: Page, left: int | None) -> tuple[int, int | None]:
    """Leave no more rows in a page than are wanted.

    :param page: a result whose page at hand nobody has read yet.
    :param left: how many rows are wanted; None for all.
    :returns: how many rows the page has then, and how many are wanted after it.
    """
    message = page._message
    if message is None:
        return 0, left
    if left is not None and message.row_count > left:
        # Whatever reads the page reads so many of its rows, in any form.
        rows_message(message).row_count = left
    return message.row_count, None if left is None else left - message.row_count


def size_of(result: Page) -> int:
    """Return the bytes of the page at hand.

    :param result: the result.
    """
    message = result._message
    return 0 if message is None or message.has_own_rows else len(message.rows_body[0])


def rows_of(page: Page) -> Iterable[Any]:
    """Return the rows of a page, as the row factory makes them.

    :param page: a result whose page at hand is read.
    :raises TypeError: if the factory makes something else of a page. Iterating over a frame, for
        example, would give the names of its columns.
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
    """Makes record batches of pages; they have the schema of the first one.

    :param options: those of `cassandra.cluster.ResultSet.to_arrow`.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._columnar = columnar_module()
        self._pyarrow = self._columnar.pyarrow_module("arrow_batches")
        self._layout: Any = None
        self.schema: Any = None

    def batch(self, result: Page) -> Any:
        """Return a `pyarrow.RecordBatch` of the page at hand.

        :param result: the result whose page it is.
        :raises ValueError: if its columns are not those of the first page.
        """
        message = rows_message(result._message)
        plan, _ = column_plans(message, self._options)
        if self.schema is None:
            self._layout = plan.layout
            self.schema = self._columnar.arrow_schema(self._pyarrow, plan.layout)
        # The table may be altered while it is read.
        self._columnar.check_same(self._layout, plan.layout)
        return self._columnar.arrow_batch(self._pyarrow, self.schema, message.columns(plan))

    def table(self, batches: list[Any]) -> Any:
        """Return a `pyarrow.Table` of record batches that it made.

        :param batches: the batches.
        """
        return self._pyarrow.Table.from_batches(batches, self.schema)


class Arrays:
    """Makes a dict of NumPy arrays of pages, as `ResultSet.to_numpy` does."""

    def __init__(self) -> None:
        self._columnar = columnar_module()
        self._columnar.numpy_module("to_numpy")
        self._form: Any = None
        self._pages: list[Any] = []

    def add(self, result: Page) -> None:
        """Take a page in.

        :param result: the result whose page it is.
        :raises ValueError: if its columns are not those of the first page.
        """
        message = rows_message(result._message)
        if self._form is None:
            self._form = result._numpy_form()
        plan = self._form.column_plan_of(message.metadata)
        self._columnar.check_same(self._form.column_plan.layout, plan.layout)
        self._pages.append(self._form.each(message.columns(plan)))

    def joined(self) -> dict[str, Any]:
        """Return the arrays of all pages.

        :raises ValueError: if there was no page: a checkpoint says that all was read.
        """
        if self._form is None:
            raise ValueError("the checkpoint says that all was read already")
        arrays: dict[str, Any] = self._form.joined(self._pages)
        return arrays


class Frames:
    """Makes a frame of pandas of pages, as `ResultSet.to_pandas` does.

    :param options: those of `cassandra.cluster.ResultSet.to_pandas`.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._columnar = columnar_module()
        self._pyarrow = self._columnar.pyarrow_module("to_pandas")
        self._columnar.pandas_module()
        self._options = dict(options)
        self._choices: dict[str, Any] = {
            name: self._options.pop(name)
            for name in ("decimals", "varints", "durations")
            if name in options
        }
        self._layout: Any = None
        self._pages: list[Any] = []

    def add(self, result: Page) -> None:
        """Take a page in.

        :param result: the result whose page it is.
        :raises ValueError: if its columns are not those of the first page.
        """
        message = rows_message(result._message)
        plan, _ = column_plans(message, self._choices)
        if self._layout is None:
            self._layout = plan.layout
        self._columnar.check_same(self._layout, plan.layout)
        self._pages.append(message.columns(plan))

    def frame(self) -> Any:
        """Return the `pandas.DataFrame` of the pages.

        :raises ValueError: if there was no page: a checkpoint says that all was read.
        """
        if self._layout is None:
            raise ValueError("the checkpoint says that all was read already")
        return self._columnar.pandas_of_arrow(
            self._pyarrow, self._layout, self._pages, self._options
        )


class Scan(_ScanBase):
    """All rows of a table, read by ranges of tokens in parallel. Each iteration reads it anew.

    Pages are asked for ahead. A page that fails is asked for again, from the place that it begins
    at: each row comes once while nodes die and come back.
    """

    def pages(self) -> Iterator[Any]:
        """Yield the pages, each a `ResultSet` of which only the page at hand is to be used."""
        steps = self._steps()
        statement = drive(steps, lambda call: call(plain_session(self.session)))
        queue = self._queue(statement)
        left = self.limit
        with self._shown() as progress:
            for fetch in queue.to_send():
                self._send(statement, queue, fetch)
            while left != 0 and (following := queue.oldest()) is not None:
                result = self._result(statement, queue, following)
                state = result.paging_state
                queue.arrived(following, state, size_of(result))
                count, left = _cut(result, left)
                # On their way while this page is used, unless it has the last rows wanted.
                for fetch in queue.to_send() if left != 0 else ():
                    self._send(statement, queue, fetch)
                progress.add(count)
                yield result
                self._used(queue, following, state)

    def _result(self, statement: ScanStatement, queue: PageQueue, fetch: Fetch) -> Any:
        while True:
            try:
                return fetch.handle.result()
            except Exception as error:
                fetch.attempts += 1
                # From its own paging state: rows that were given do not come again.
                delay = delay_before_retry(error, fetch.attempts)
                if delay is None:
                    raise
                time.sleep(delay)
                self._send(statement, queue, fetch)

    def __iter__(self) -> Iterator[Any]:
        for page in self.pages():
            yield from rows_of(page)

    def arrow_batches(self, **options: Any) -> Iterator[Any]:
        """Return an iterator of `pyarrow.RecordBatch`, one for each page.

        :param options: those of `cassandra.cluster.ResultSet.to_arrow`.
        """
        maker = Batches(options)
        return (maker.batch(page) for page in self.pages())

    def reader(self, **options: Any) -> Any:
        """Return a `pyarrow.RecordBatchReader`, which DuckDB, polars and pandas read.

        :param options: those of `cassandra.cluster.ResultSet.to_arrow`.
        """
        maker = Batches(options)
        pages = self.pages()
        # There is one: a range without rows has an empty page.
        page = next(pages, None)
        if page is None:
            raise ValueError(f"the checkpoint {self.checkpoint!r} says that all was read already")
        first = maker.batch(page)

        def batches() -> Iterator[Any]:
            yield first
            for page in pages:
                yield maker.batch(page)

        return maker._pyarrow.RecordBatchReader.from_batches(maker.schema, batches())

    def to_arrow(self, **options: Any) -> Any:
        """Return the whole table as a `pyarrow.Table`.

        :param options: those of `cassandra.cluster.ResultSet.to_arrow`.
        """
        return self.reader(**options).read_all()

    def to_pandas(self, **options: Any) -> Any:
        """Return the whole table as a `pandas.DataFrame`.

        :param options: those of `cassandra.cluster.ResultSet.to_pandas`: ``decimals``, ``varints``
            and ``durations``, and keywords of ``pyarrow.Table.to_pandas``.
        """
        maker = Frames(options)
        for page in self.pages():
            maker.add(page)
        return maker.frame()

    def to_polars(self, **options: Any) -> Any:
        """Return the whole table as a `polars.DataFrame`.

        :param options: those of `cassandra.cluster.ResultSet.to_polars`.
        """
        polars = columnar_module().polars_module()
        # Polars has no type for months beside days and nanoseconds.
        return polars.from_arrow(self.to_arrow(**{"durations": "struct", **options}))

    def to_numpy(self) -> dict[str, Any]:
        """Return the whole table as a dict of column name to NumPy array.

        :raises ValueError: if two columns have the same name, or a checkpoint says that all rows
            were read already.
        """
        maker = Arrays()
        for page in self.pages():
            maker.add(page)
        return maker.joined()

    def token_ranges(self) -> list[TokenRange]:
        """Return the ranges that it reads, in the order of their tokens."""
        if self.ranges is not None:
            return list(self.ranges)
        steps = self._steps()
        return list(drive(steps, lambda call: call(plain_session(self.session))).ranges)


class AsyncScan(_ScanBase):
    """All rows of a table, read by ranges of tokens in parallel, on asyncio.

    ``async for row in scan``. See `Scan`.
    """

    async def pages(self) -> AsyncGenerator[Any, None]:
        """Yield the pages, each a `ResultSet` of which only the page at hand is to be used."""
        steps = self._steps()
        statement = await adrive(steps, lambda call: call(plain_session(self.session)))
        queue = self._queue(statement)
        left = self.limit
        progress = self._shown()
        try:
            for fetch in queue.to_send():
                self._send(statement, queue, fetch)
            while left != 0 and (following := queue.oldest()) is not None:
                result = await self._result(statement, queue, following)
                state = result.paging_state
                queue.arrived(following, state, size_of(result))
                count, left = _cut(result, left)
                for fetch in queue.to_send() if left != 0 else ():
                    self._send(statement, queue, fetch)
                progress.add(count)
                yield result
                self._used(queue, following, state)
        finally:
            progress.close()
            for fetch in queue.rest():
                # Nobody will await it: its request is given up.
                if fetch.handle is not None:
                    fetch.handle.cancel()

    async def _result(self, statement: ScanStatement, queue: PageQueue, fetch: Fetch) -> Any:
        while True:
            try:
                return await fetch.handle
            except Exception as error:
                fetch.attempts += 1
                delay = delay_before_retry(error, fetch.attempts)
                if delay is None:
                    raise
                await asyncio.sleep(delay)
                self._send(statement, queue, fetch)

    async def __aiter__(self) -> AsyncGenerator[Any, None]:
        # Closed with this one, if the caller leaves early.
        async with aclosing(self.pages()) as pages:
            async for page in pages:
                for row in rows_of(page):
                    yield row

    def arrow_batches(self, **options: Any) -> AsyncIterator[Any]:
        """Return an iterator of `pyarrow.RecordBatch`, one for each page.

        :param options: those of `cassandra.cluster.ResultSet.to_arrow`.
        """
        maker = Batches(options)
        return (maker.batch(page) async for page in self.pages())

    async def to_arrow(self, **options: Any) -> Any:
        """Return the whole table as a `pyarrow.Table`.

        :param options: those of `cassandra.cluster.ResultSet.to_arrow`.
        """
        maker = Batches(options)
        return maker.table([maker.batch(page) async for page in self.pages()])

    async def to_pandas(self, **options: Any) -> Any:
        """Return the whole table as a `pandas.DataFrame`.

        :param options: those of `cassandra.cluster.ResultSet.to_pandas`: ``decimals``, ``varints``
            and ``durations``, and keywords of ``pyarrow.Table.to_pandas``.
        """
        maker = Frames(options)
        async for page in self.pages():
            maker.add(page)
        return maker.frame()

    async def to_numpy(self) -> dict[str, Any]:
        """Return the whole table as a dict of column name to NumPy array.

        :raises ValueError: if two columns have the same name, or a checkpoint says that all rows
            were read already.
        """
        maker = Arrays()
        async for page in self.pages():
            maker.add(page)
        return maker.joined()

    if not TYPE_CHECKING:  # type checkers refuse `for` by themselves

        def __iter__(self) -> NoReturn:
            raise TypeError(
                "pages have to be awaited: write `async for row in session.scan(table)`"
            )

    async def to_polars(self, **options: Any) -> Any:
        """Return the whole table as a `polars.DataFrame`.

        :param options: those of `cassandra.cluster.ResultSet.to_polars`.
        """
        polars = columnar_module().polars_module()
        return polars.from_arrow(await self.to_arrow(**{"durations": "struct", **options}))


def _refuse_for_counts(options: Mapping[str, Any]) -> None:
    # A checkpoint does not have the number of the rows that were counted before.
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
    _refuse_for_counts(options)
    # The servers count: each range gives one row with its number.
    scan = Scan(session, table, "count(*)", where, options)  # type: ignore[arg-type]
    scan.unit = "ranges"
    rows = PlainRows()
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
    _refuse_for_counts(options)
    scan = AsyncScan(session, table, "count(*)", where, options)  # type: ignore[arg-type]
    scan.unit = "ranges"
    rows = PlainRows()
    total = 0
    async with aclosing(scan.pages()) as pages:
        async for page in pages:
            total += rows.tuples(page)[0][0]
    return total


add_habits(Scan, SCAN)
add_habits(AsyncScan, SCAN)
