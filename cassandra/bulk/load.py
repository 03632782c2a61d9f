"""Rows from files, frames and iterables into a table: `Session.load`.

`Load.steps` is a generator that both faces drive: it yields calls that wait (a chunk of
the source, a slice of requests, a pause), and gets the outcome. Chunks are read and bound in a
thread while the one before is sent; never more than two are in memory. A chunk is over when each of
its rows is written or has failed; then the checkpoint moves on.

What is wrong with the call (a file that is not there, a column that the table does not have, a
checkpoint of something else) is raised as it is, before anything is sent. Whatever ends a load
after that is a `LoadError`, or has the report in its attribute `report`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._steps import adrive, drive
from cassandra.bulk.binding import Binder, Bound, StaticRows, Wave
from cassandra.bulk.checkpoint import Checkpoint, describe_files
from cassandra.bulk.chunks import Chunk, Column, Position, Reading
from cassandra.bulk.failed_rows import FailedRows
from cassandra.bulk.fields import check_names, positions_of
from cassandra.bulk.groups import Keys, Owners
from cassandra.bulk.opened import Pipes
from cassandra.bulk.options import LoadOptions, load_options
from cassandra.bulk.pacing import Pace
from cassandra.bulk.progress import Progress
from cassandra.bulk.report import LoadError, LoadReport, RowFailure
from cassandra.bulk.retrying import delay_before_retry, may_pass
from cassandra.bulk.sources import chunks_of, fields_of_each, files_of, is_file_of, rows_of_columns
from cassandra.bulk.target import Plan, columns_of, full_name, plan_of, static_plan, table_of
from cassandra.bulk.texts import Formats
from cassandra.bulk.worker import Worker
from cassandra.concurrent import execute_each
from cassandra.errors import (
    DependencyException,
    DriverException,
    OperationTimedOut,
    RequestThrottled,
    SessionShutdown,
    WriteFailure,
    WriteTimeout,
)
from cassandra.protocol.messages.errors import IsBootstrappingErrorMessage, OverloadedErrorMessage
from cassandra.query.batch import BatchStatement, BatchType, BoundRows
from cassandra.query.bound import BoundStatement
from cassandra.query.conditional import is_conditional
from cassandra.query.prepared import PreparedStatement

if TYPE_CHECKING:
    from cassandra.aio.session import Session as AsyncSession
    from cassandra.bulk.grouping import Group
    from cassandra.cluster.session import Session
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.metadata.schema.tables import TableMetadata

__all__ = ["Load", "aload", "load", "load_options"]

# WriteFailure, too: small nodes answer it when a vector index has no room for more writes.
_OVERLOAD = (
    OverloadedErrorMessage,
    IsBootstrappingErrorMessage,
    OperationTimedOut,
    WriteFailure,
    WriteTimeout,
)
COUNTED_TWICE = (
    "counters and checkpoint exclude each other: rows since the last checkpoint are written twice, "
    "and so would be added twice"
)
MOST_WAITS = 2000  # in a row for the cluster's throttler, in which no row was written
LONGEST_WAIT = 0.25  # seconds of one of them


class Requests(NamedTuple):
    """A step: requests to execute, at most so many at a time; its outcome is None.

    :param statements: made as they are sent: thousands of them at once would keep Python's
        collector busy.
    :param concurrency: how many are in flight.
    :param take: is given the outcome of each in order: whether it was executed, and its result or
        error. It does not raise.
    """

    statements: Iterator[Any]
    concurrency: int
    take: Callable[[bool, Any], None]


class Pause(NamedTuple):
    """A step: seconds to wait."""

    seconds: float


class Work(NamedTuple):
    """A step: work of a thread, whose result is the outcome."""

    future: Future[Any]


class Prepare(NamedTuple):
    """A step: a text to prepare."""

    text: str


Step = Requests | Pause | Work | Prepare


class Load:
    """One load.

    :param session: a session of either face.
    :param target: the name of a table, or a prepared statement.
    :param source: where the rows are.
    :param options: see `LoadOptions`.
    """

    def __init__(
        self,
        session: Session | AsyncSession,
        target: str | PreparedStatement,
        source: object,
        options: LoadOptions,
    ) -> None:
        self._session = session
        # Of the loop that runs the load, if there is one. A simulated loop has no threads.
        loop = asyncio._get_running_loop()
        self._clock: Callable[[], float] = loop.time if loop is not None else time.monotonic
        self._new_reader: Callable[[str], Worker | Executor] = getattr(loop, "new_executor", Worker)
        self._target = target
        self._options = options
        if options.counters and options.checkpoint is not None:
            raise ValueError(COUNTED_TWICE)
        if None not in (options.checkpoint, options.failed_rows) and os.path.realpath(
            str(options.checkpoint)
        ) == os.path.realpath(str(options.failed_rows)):
            raise ValueError(f"checkpoint and failed_rows are one file: {options.checkpoint}")
        own = [] if options.checkpoint is None else [os.fspath(options.checkpoint)]
        own += [f"{path}.tmp" for path in own]
        # Looked for once: the list is the same for all that follows.
        source = rows_of_columns(source)
        self._files = files_of(source, own)
        self._source = source if self._files is None else self._files
        for name in ("failed_rows", "checkpoint"):
            path = getattr(options, name)
            if path is not None and is_file_of(self._files, path):
                raise ValueError(
                    f"{name}={os.fspath(path)!r} is a file of the source: it would be written "
                    "while it is read"
                )
        self._table: TableMetadata | None = None
        if isinstance(target, PreparedStatement):
            name = target.query_string
        else:
            self._table = table_of(session.cluster.metadata, str(target), session.keyspace)
            name = str(target)
        self.report = LoadReport(name, is_dry=options.dry_run)
        self._pipes = Pipes()
        self._chunks: Generator[Chunk, None, None] | None = None
        self._work: Future[Any] | None = None  # of the thread, the last one
        self._plan: Plan | None = None
        self._prepared: Any = None
        self._is_conditional = False
        self._keys = Keys((), None)
        self._mapping: dict[str, str] = {}
        self._columns: list[Column] = []
        self._order: list[str] = []
        self._failed: FailedRows | None = None
        self._pace = Pace(options.concurrency)
        self._delay = 0.0  # before what has failed is tried again
        self._waits = 0  # for the throttler, since the last row was written
        self._progress = Progress(False)
        self._checkpoint = Checkpoint(
            options.checkpoint,
            {} if options.checkpoint is None else self._subject(source),
            restart=options.restart,
            is_read_only=options.dry_run,
        )

    def _subject(self, source: object) -> dict[str, Any]:
        """Return what the checkpoint belongs to."""
        options = self._options
        found: dict[str, Any] = {"work": "load", "options": options.that_change_rows()}
        if self._table is not None:
            found["table"] = full_name(self._table)
        elif isinstance(self._target, PreparedStatement):
            found["table"] = f"{self._target.table_keyspace}.{self._target.table}"
            found["statement"] = self._target.query_string
        if self._files is not None:
            found["files"] = describe_files(self._files)
            return found
        if options.checkpoint_name is None:
            raise ValueError(
                f"a checkpoint= for {type(source).__name__} needs checkpoint_name=, which says "
                "what these rows are: they have no path, size or time by which another run could "
                "know them"
            )
        count = len(source) if hasattr(source, "__len__") else None
        columns = fields_of_each(source, self._reading(Position(0, 0)))[0][1]
        found["rows"] = {"name": options.checkpoint_name, "count": count, "columns": columns}
        return found

    # -- the steps ---------------------------------------------------------------------------------

    def steps(self) -> Generator[Step, Any, LoadReport]:
        """Yield the calls that wait; the report is returned."""
        # One thread: a source is read in order.
        reader = self._new_reader("cassandra-load")
        try:
            binder, chunks = yield from self._prepare(reader)
            yield from self._load(reader, binder, chunks)
            return self.report
        finally:
            # Nobody waits for a source that hangs. Its files are closed when it is at rest.
            if self._work is None or self._work.cancel() or self._work.done():
                self._close()
            else:
                reader.submit(self._close)
            reader.shutdown()

    def _load(
        self, reader: Worker | Executor, binder: Binder, chunks: Generator[Chunk, None, None]
    ) -> Generator[Step, Any, None]:
        """Read, bind and write all chunks."""
        began = self._clock()
        self._progress = Progress(self._options.progress, self.report.target)
        self._work = reader.submit(binder.next_of, chunks)
        try:
            with self._progress:
                while True:
                    bound: Bound | None = yield Work(self._work)
                    if bound is None:
                        break
                    self._work = reader.submit(binder.next_of, chunks)
                    yield from self._write(bound)
                    self._end_of(bound.chunk)
                    self.report.seconds = self._clock() - began
            self._checkpoint.remove()
        except (LoadError, SessionShutdown, DependencyException) as error:
            error.report = self.report  # type: ignore[union-attr]
            raise
        except Exception as error:
            raise LoadError(_words_of(error), self.report) from error
        except BaseException as error:  # Control-C, say
            with suppress(AttributeError):
                error.report = self.report  # type: ignore[attr-defined]
            raise
        finally:
            self.report.seconds = self._clock() - began
            if self._failed is not None:
                self._failed.close()

    def _close(self) -> None:
        if self._chunks is not None:
            self._chunks.close()
        self._pipes.close()

    def _prepare(
        self, reader: Worker | Executor
    ) -> Generator[Step, Any, tuple[Binder, Generator[Chunk, None, None]]]:
        """Find out what is written, and refuse what cannot be."""
        options = self._options
        # In the thread: the first bytes of a pipe may come late, and a loop must not wait for them.
        self._work = reader.submit(fields_of_each, self._source, self._reading(Position(0, 0)))
        fields = yield Work(self._work)
        if isinstance(self._target, PreparedStatement):
            self._prepared = self._target
            self._mapping.update(_mapping_of(options.columns)[0])
        else:
            assert self._table is not None
            self._plan = self._planned(self._table, fields)
            self._prepared = yield Prepare(self._plan.text)
        self._is_conditional = is_conditional(self._prepared.query_string)
        self._check_checkpoint()
        binder = self._learn_columns()
        reading = self._reading(Position(0, 0))
        for source, names in fields:
            if names is not None:
                positions_of(names, source, reading)
        if self._table is not None and self._plan is not None:
            plan = static_plan(self._table, self._plan, options.using())
            if plan is not None:
                binder.static_rows = self._static_rows(self._table, (yield Prepare(plan)))
        done = self._checkpoint.state
        begin = Position(int(done.get("file", 0)), int(done.get("row", 0)))
        self.report.skipped = int(done.get("rows", 0))
        self._chunks = chunks_of(self._source, self._reading(begin))
        return binder, self._chunks

    def _check_checkpoint(self) -> None:
        """Refuse a checkpoint for what must not be written twice: rows since the last one are."""
        if self._options.checkpoint is None:
            return
        is_counter = any(
            column.type.typename == "counter" for column in self._prepared.column_metadata
        )
        if is_counter or (self._plan is not None and self._plan.is_counter):
            raise ValueError(COUNTED_TWICE)
        if not self._is_idempotent:
            raise ValueError(
                "checkpoint needs a statement that may be executed twice, because rows since the "
                "last checkpoint are: if this one may, set its is_idempotent to True"
            )

    def _planned(
        self, table: TableMetadata, fields: Sequence[tuple[str, list[str] | None]]
    ) -> Plan:
        options = self._options
        self._mapping, wanted = _mapping_of(options.columns)
        special = [one for one in (options.ttl_column, options.timestamp_column) if one is not None]
        if not wanted:
            wanted = self._columns_of_source(table, fields, special)
        return plan_of(
            table,
            wanted,
            ttl=options.ttl,
            ttl_column=options.ttl_column,
            timestamp=options.timestamp,
            timestamp_column=options.timestamp_column,
            counters=options.counters,
        )

    def _columns_of_source(
        self,
        table: TableMetadata,
        fields: Sequence[tuple[str, list[str] | None]],
        special: Sequence[str],
    ) -> list[str]:
        """Return the columns of the table that any file of the source has; [] for all."""
        ignored = self._options.ignore
        present: set[str] = set()
        for source, names in fields:
            if names is None:  # each row has its own, or it is by position
                present.update(table.columns)
                continue
            check_names(names, source, (*ignored, *special), None, table)
            present.update(names)
        found = [name for name in table.columns if name in present and name not in ignored]
        return found or list(table.columns)

    def _learn_columns(self) -> Binder:
        options, prepared = self._options, self._prepared
        markers = {"[ttl]": options.ttl_column, "[timestamp]": options.timestamp_column}
        for marker, field in markers.items():
            if field is not None:
                self._mapping[marker] = field
        columns = columns_of(prepared)
        names = [column.name for column in columns]
        # As rows without names have them: bind markers of counters stand in another order.
        asked = names if self._plan is None else list(self._plan.names)
        asked += [name for name in names if name not in asked]
        self._order = [self._mapping.get(name, name) for name in asked]
        keyspace = self._session.cluster.metadata.keyspaces.get(prepared.table_keyspace)
        table = keyspace.tables.get(prepared.table) if keyspace is not None else None
        clustering: list[int] | None = None
        key: set[str] = {names[at] for at in prepared.routing_key_indexes or ()}
        # A name that stands twice (SET a = ? WHERE ... IF a = ?) says nothing of the key.
        if table is not None and len(set(names)) == len(names):
            wanted = [column.name for column in table.clustering_key]
            if all(name in names for name in wanted):
                clustering = [names.index(name) for name in wanted]
            elif not any(name in names for name in wanted):
                clustering = []  # static columns alone
            key.update(wanted)
        # Columns that nobody asked for by name may be missing in some of many files.
        is_free = self._is_closed
        self._columns = [
            column._replace(
                is_key=column.name in key,
                is_needed=not is_free or column.name in key or column.name in markers,
            )
            for column in columns
        ]
        self._keys = Keys(tuple(prepared.routing_key_indexes or ()), clustering)
        order = [asked.index(name) for name in names]
        binder = Binder(
            prepared, self._columns, self._mapping, order, self._keys, self._batch, self._owners
        )
        binder.is_closed = self._is_closed
        binder.ignored = frozenset(options.ignore)
        binder.is_dry = options.dry_run
        binder.is_empty_null = "" in Formats(options.null).nulls
        return binder

    def _static_rows(self, table: TableMetadata, prepared: PreparedStatement) -> StaticRows:
        names = [column.name for column in self._columns]
        keys = {column.name for column in (*table.partition_key, *table.clustering_key)}
        others = [at for at, name in enumerate(names) if name in table.columns]
        others = [at for at in others if names[at] not in keys]
        return StaticRows(
            prepared,
            [names.index(column.name) for column in prepared.column_metadata],
            [at for at in others if table.columns[names[at]].is_static],
            list(self._keys.clustering or ()),
            [at for at in others if not table.columns[names[at]].is_static],
        )

    def _reading(self, skip: Position) -> Reading:
        options = self._options
        return Reading(
            options.format,
            self._columns,
            self._mapping,
            Formats(options.null, options.date_format, options.timestamp_format),
            self._order if options.header is False else options.header,
            options.delimiter,
            options.quote,
            skip,
            self._is_closed,
            (self._prepared.bind_plan, self._prepared.protocol_version) if self._prepared else None,
            options.encoding,
            frozenset(options.ignore),
            self._pipes,
        )

    @property
    def _is_closed(self) -> bool:
        # What the source has and the table has not would be lost without a word.
        return self._plan is not None and self._options.columns is None

    # -- writing -----------------------------------------------------------------------------------

    def _write(self, bound: Bound) -> Generator[Step, Any, None]:
        self.report.read += bound.chunk.size
        for index, error in bound.failures:
            self._fail(bound.chunk, index, error)
        if self._options.dry_run:
            self._progress.add(bound.row_count)
            self.report.bytes += bound.size
            return
        for wave in bound.waves:
            groups = wave.groups
            while groups:
                again: list[Group] = []
                self._delay = 0.0
                at = 0
                while at < len(groups):
                    some = groups[at : at + self._pace.slice]
                    at += len(some)
                    again += yield from self._send(bound, wave, some)
                groups = again
                if groups:
                    yield Pause(self._delay)

    @property
    def _batch(self) -> str | None:
        # The server refuses counters in batches of this type, and one batch has one outcome.
        # Conditions have an outcome for each row, and none may be of several partitions.
        if self._is_conditional or (self._plan is not None and self._plan.is_counter):
            return None
        return self._options.batch

    def _owners(self) -> Owners | None:
        routing = self._session.cluster.metadata.routing()
        return routing.map_of(self._prepared.table_keyspace) if routing is not None else None

    def _send(
        self, bound: Bound, wave: Wave, groups: Sequence[Group]
    ) -> Generator[Step, Any, list[Group]]:
        """Execute requests; return those that are to be tried again."""
        began = self._clock()
        failed: list[tuple[Group, BaseException]] = []
        written = missed = 0
        sent = iter(groups)

        def take(success: bool, result: Any) -> None:
            nonlocal written, missed
            group = next(sent)
            if not success:
                failed.append((group, result))
            elif self._is_conditional and not result.was_applied:
                missed += len(group)
            else:
                written += len(group)
                self.report.bytes += group.size

        try:
            yield Requests(
                (self._statement(wave.prepared, group) for group in groups), self._pace.limit, take
            )
        finally:
            self.report.written += written
            self.report.not_applied += missed
            self._progress.add(written + missed)
        held = [group for group, error in failed if isinstance(error, RequestThrottled)]
        self.report.requests += len(groups) - len(held)
        self._waits = 0 if written or missed else self._waits + 1
        if held:
            self._pace.give_way()
        is_overloaded = any(isinstance(error, _OVERLOAD) for _, error in failed)
        self._pace.note(len(groups) - len(held), self._clock() - began, is_overloaded)
        return [
            again
            for group, error in failed
            for again in self._after_failure(bound, wave, group, error)
        ]

    def _after_failure(
        self, bound: Bound, wave: Wave, group: Group, error: BaseException
    ) -> list[Group]:
        if isinstance(error, RequestThrottled) and self._waits < MOST_WAITS:
            # The throttler of this very cluster says that it has not been sent: it waits.
            self._delay = max(self._delay, min(0.001 * 2 ** min(self._waits, 8), LONGEST_WAIT))
            return [group]
        group.tries += 1
        if isinstance(error, SessionShutdown) or not isinstance(
            error, (DriverException, TypeError, ValueError)
        ):
            raise error  # no row of the load would be written any more
        if self._is_idempotent:
            delay = delay_before_retry(error, group.tries)
            if delay is not None:
                self._delay = max(self._delay, delay)
                self.report.retries += 1
                return [group]
            if len(group) > 1 and not may_pass(error):
                # One row of it may be wrong: which one is found by sending each alone.
                alone = group.alone()
                self.report.retries += len(alone)
                return alone
        for row in group.rows:
            self._fail(bound.chunk, wave.places[row], error)
        return []

    @property
    def _is_idempotent(self) -> bool:
        if self._plan is not None:
            return self._plan.is_idempotent
        return bool(self._prepared.is_idempotent)

    def _statement(self, prepared: PreparedStatement, group: Group) -> Any:
        statement: Any
        if len(group) == 1:
            statement = BoundStatement(prepared)
            statement.block = group.block.row(0)
        else:
            statement = BatchStatement(BatchType.UNLOGGED)
            statement._append_rows(BoundRows(prepared, group.block))
            statement._count += len(group)
        statement.is_idempotent = self._is_idempotent
        if self._options.consistency_level is not None:
            statement.consistency_level = self._options.consistency_level
        return statement

    # -- failures, and the end of a chunk ----------------------------------------------------------

    def _fail(self, chunk: Chunk, index: int, error: BaseException) -> None:
        place = chunk.place(index)
        failure = RowFailure(str(place), error)
        self.report.note_failure(failure)
        if self._options.failed_rows is not None:
            if self._failed is None:
                self._failed = FailedRows(
                    self._options.failed_rows,
                    self._columns,
                    self._order,
                    self._mapping,
                    Formats(self._options.null).nulls,
                    bool(self.report.skipped),
                )
            self._failed.keep(chunk, index, place, failure.reason)
        most = self._options.max_errors
        if most is not None and self.report.failed > most:
            raise LoadError(
                str(failure)
                if most == 0
                else f"more than max_errors={most} rows failed, the last one: {failure}",
                self.report,
            ) from error

    def _end_of(self, chunk: Chunk) -> None:
        if self._failed is not None:
            self._failed.sync()
        report = self.report
        self._checkpoint.save(
            file=chunk.position.file,
            row=chunk.position.row,
            rows=report.skipped + report.read,
            written=report.written,
            failed=report.failed,
        )


def _words_of(error: Exception) -> str:
    """Return what an error of a source says; errors of the program are named with their class."""
    is_ours = isinstance(error, (ValueError, OSError, DriverException)) and str(error)
    return str(error) if is_ours else f"{type(error).__name__}: {error}"


def _mapping_of(
    columns: Mapping[str, str] | Sequence[str] | None,
) -> tuple[dict[str, str], list[str]]:
    """Return (fields by column, columns) of the option ``columns``."""
    if columns is None:
        return {}, []
    if isinstance(columns, str):
        raise TypeError(f"columns is a list of names, or a dict of column by field: {columns!r}")
    if isinstance(columns, Mapping):
        fields = {column: field for field, column in columns.items()}
        if len(fields) < len(columns):
            raise ValueError(f"columns names one column twice: {dict(columns)}")
        return fields, list(fields)
    return {}, list(columns)


# -- the faces -------------------------------------------------------------------------------------


def _profile_of(session: Session | AsyncSession, options: LoadOptions) -> Any:
    """Return the profile of the requests; None for the session's."""
    profile = options.execution_profile
    if options.timeout is None:
        return profile
    return session.execution_profile_clone_update(
        session._default_profile if profile is None else profile, request_timeout=options.timeout
    )


def load(
    session: Session, target: str | PreparedStatement, source: object, options: LoadOptions
) -> LoadReport:
    """Load rows by a blocking session; see `LoadOptions`.

    :param session: the session.
    :param target: the name of a table, or a prepared statement.
    :param source: where the rows are.
    :param options: see `LoadOptions`.
    """
    profile = _profile_of(session, options)
    steps = Load(session, target, source, options).steps()
    return drive(steps, lambda step: _done(session, step, profile))


def _done(session: Session, step: Step, profile: ExecutionProfile | str | None) -> Any:
    if isinstance(step, Requests):
        return execute_each(session, step.statements, step.concurrency, step.take, profile)
    if isinstance(step, Work):
        return step.future.result()
    if isinstance(step, Pause):
        return time.sleep(step.seconds)
    return session.prepare(step.text)


async def aload(
    session: AsyncSession, target: str | PreparedStatement, source: object, options: LoadOptions
) -> LoadReport:
    """Load rows by a session of `cassandra.aio`; see `LoadOptions`.

    :param session: the session.
    :param target: the name of a table, or a prepared statement.
    :param source: where the rows are.
    :param options: see `LoadOptions`.
    """
    profile = _profile_of(session, options)
    steps = Load(session, target, source, options).steps()
    return await adrive(steps, lambda step: _adone(session, step, profile))


async def _adone(session: AsyncSession, step: Step, profile: ExecutionProfile | str | None) -> Any:
    if isinstance(step, Requests):
        pairs = ((statement, None) for statement in step.statements)
        outcomes = session.execute_concurrent(
            pairs, step.concurrency, False, execution_profile=profile
        )
        # Closed at once if it is cancelled: nothing more is sent.
        async with aclosing(outcomes):
            async for success, result in outcomes:
                step.take(success, result)
        return None
    if isinstance(step, Work):
        return await asyncio.wrap_future(step.future)
    if isinstance(step, Pause):
        return await asyncio.sleep(step.seconds)
    return await session.prepare(step.text)
