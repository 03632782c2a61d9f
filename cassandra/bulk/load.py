"""Rows from files, frames and iterables into a table: `Session.load`.

`Load.steps` is a generator that both faces drive: it yields calls that wait (a chunk of
the source, a slice of requests, a pause), and gets the outcome. Chunks are read and bound in a
thread while the one before is sent; never more than two are in memory. A chunk is over when each of
its rows is written or has failed; then the checkpoint moves on.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import aclosing, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from cassandra._steps import adrive, drive
from cassandra.bulk.checkpoint import Checkpoint
from cassandra.bulk.chunks import Chunk, Column, Place, Reading, slice_of
from cassandra.bulk.files import unknown_field
from cassandra.bulk.groups import Keys, Owners
from cassandra.bulk.options import LoadOptions, load_options
from cassandra.bulk.pacing import Pace
from cassandra.bulk.progress import Progress
from cassandra.bulk.report import LoadError, LoadReport, RowFailure
from cassandra.bulk.retrying import delay_before_retry, may_pass
from cassandra.bulk.sources import chunks_of, field_names, is_file_of, name_for_people
from cassandra.bulk.target import Plan, columns_of, plan_of, table_of
from cassandra.bulk.texts import Formats, json_of
from cassandra.concurrent import execute_each
from cassandra.errors import DriverException, OperationTimedOut, SessionShutdown, WriteTimeout
from cassandra.protocol.messages.errors import IsBootstrappingErrorMessage, OverloadedErrorMessage
from cassandra.query.batch import BatchStatement, BatchType, BoundRows, bind_rows
from cassandra.query.bound import BoundStatement
from cassandra.query.prepared import PreparedStatement

if TYPE_CHECKING:
    from cassandra.aio.session import Session as AsyncSession
    from cassandra.bulk import grouping
    from cassandra.bulk.grouping import Group
    from cassandra.cluster.session import Session
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.metadata.schema.tables import TableMetadata
    from cassandra.protocol import bind
else:
    from cassandra._impl import bind, grouping

__all__ = ["Load", "aload", "load", "load_options"]

_OVERLOAD = (OverloadedErrorMessage, IsBootstrappingErrorMessage, OperationTimedOut, WriteTimeout)


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


class Bound(NamedTuple):
    """A chunk that is ready to be sent.

    :param chunk: the chunk; without its rows, if those were bound already.
    :param waves: its requests, in the order of `grouping.request_waves`.
    :param row_count: how many rows these have.
    :param size: the bytes of their values.
    :param places: the number of each row in the chunk.
    :param failures: the rows that could not be bound, as (number, error).
    """

    chunk: Chunk
    waves: list[list[Group]]
    row_count: int
    size: int
    places: Sequence[int]
    failures: list[tuple[int, BaseException]]


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
        self._new_reader: Callable[[int, str], Executor] = getattr(
            loop, "new_executor", ThreadPoolExecutor
        )
        self._target = target
        self._source = source
        self._options = options
        if options.failed_rows is not None and is_file_of(source, options.failed_rows):
            raise ValueError(
                f"failed_rows={os.fspath(options.failed_rows)!r} is a file of the source: it would "
                "be written while it is read"
            )
        name = target.query_string if isinstance(target, PreparedStatement) else str(target)
        self.report = LoadReport(name, is_dry=options.dry_run)
        self._checkpoint = Checkpoint(
            options.checkpoint, {"source": name_for_people(source), "target": name}
        )
        self._plan: Plan | None = None
        self._prepared: Any = None
        self._keys = Keys((), None)
        self._mapping: dict[str, str] = {}
        self._columns: list[Column] = []
        self._order: list[str] = []
        self._places: list[int] = []
        self._failed_file: IO[str] | None = None
        self._pace = Pace(options.concurrency)
        self._delay = 0.0  # before what has failed is tried again
        self._progress = Progress(False)

    # -- the steps ---------------------------------------------------------------------------------

    def steps(self) -> Generator[Step, Any, LoadReport]:
        """Yield the calls that wait; the report is returned."""
        began = self._clock()
        options = self._options
        if isinstance(self._target, PreparedStatement):
            self._prepared = self._target
        else:
            self._plan = self._planned()
            self._prepared = yield Prepare(self._plan.text)
        self._learn_columns()
        done = self._checkpoint.state
        self.report.skipped = int(done.get("position", 0))
        chunks = chunks_of(self._source, self._reading(self.report.skipped))
        self._progress = Progress(options.progress, self.report.target)
        # One thread: a source is read in order.
        reader = self._new_reader(1, "cassandra-load")
        coming: Future[Bound | None] | None = None
        try:
            with self._progress:
                coming = reader.submit(self._next, chunks)
                while True:
                    bound: Bound | None = yield Work(coming)
                    if bound is None:
                        break
                    coming = reader.submit(self._next, chunks)
                    yield from self._write(bound)
                    self._end_of(bound.chunk)
                    self.report.seconds = self._clock() - began
        finally:
            self.report.seconds = self._clock() - began
            # Nobody waits for a source that hangs. Its files are closed when it is at rest.
            if coming is not None and not coming.cancel():
                coming.add_done_callback(lambda _: chunks.close())
            else:
                chunks.close()
            reader.shutdown(wait=False)
            if self._failed_file is not None:
                self._failed_file.close()
        self._checkpoint.remove()
        return self.report

    def _planned(self) -> Plan:
        options = self._options
        metadata = self._session.cluster.metadata
        table = table_of(metadata, str(self._target), self._session.keyspace)
        self._mapping, wanted = _mapping_of(options.columns)
        special = (options.ttl_column, options.timestamp_column)
        if not wanted:
            wanted = self._columns_of_source(table, [one for one in special if one is not None])
        return plan_of(
            table,
            wanted,
            ttl=options.ttl,
            ttl_column=options.ttl_column,
            timestamp=options.timestamp,
            timestamp_column=options.timestamp_column,
            counters=options.counters,
        )

    def _columns_of_source(self, table: TableMetadata, special: Sequence[str]) -> list[str]:
        """Return the columns of the table that a source with names has; [] for all."""
        names = field_names(self._source, self._reading(0))
        if names is None:
            return []
        unknown = [name for name in names if name not in table.columns and name not in special]
        unknown = [name for name in unknown if not name.startswith("_")]
        if unknown:
            raise ValueError(
                f"the source has a column {unknown[0]!r}, and table {table.keyspace_name}."
                f"{table.name} has none of this name, but {', '.join(table.columns)}: columns= "
                "says which are written, and how they are called in the source"
            )
        return [name for name in table.columns if name in names]

    def _learn_columns(self) -> None:
        options, prepared = self._options, self._prepared
        fields = {"[ttl]": options.ttl_column, "[timestamp]": options.timestamp_column}
        for marker, field in fields.items():
            if field is not None:
                self._mapping[marker] = field
        if self._plan is None:
            self._mapping.update(_mapping_of(options.columns)[0])
        self._columns = columns_of(prepared)
        names = [column.name for column in self._columns]
        # As rows without names have them: bind markers of counters stand in another order.
        asked = names if self._plan is None else list(self._plan.names)
        asked += [name for name in names if name not in asked]
        self._order = [self._mapping.get(name, name) for name in asked]
        self._places = [asked.index(name) for name in names]
        keyspace = self._session.cluster.metadata.keyspaces.get(prepared.table_keyspace)
        table = keyspace.tables.get(prepared.table) if keyspace is not None else None
        clustering: list[int] | None = None
        # A name that stands twice (SET a = ? WHERE ... IF a = ?) says nothing of the key.
        if table is not None and len(set(names)) == len(names):
            wanted = [column.name for column in table.clustering_key]
            if all(name in names for name in wanted):
                clustering = [names.index(name) for name in wanted]
            elif not any(name in names for name in wanted):
                clustering = []  # static columns alone
        self._keys = Keys(tuple(prepared.routing_key_indexes or ()), clustering)

    def _reading(self, skip: int) -> Reading:
        options = self._options
        delimiter = options.delimiter
        if delimiter is None:
            delimiter = "\t" if ".tsv" in name_for_people(self._source).lower() else ","
        return Reading(
            options.format,
            self._columns,
            self._mapping,
            Formats(options.null, options.date_format, options.timestamp_format),
            self._order if options.header is False else options.header,
            delimiter,
            options.quote,
            skip,
            self._is_closed,
            (self._prepared.bind_plan, self._prepared.protocol_version) if self._prepared else None,
        )

    @property
    def _is_closed(self) -> bool:
        # What the source has and the table has not would be lost without a word.
        return self._plan is not None and self._options.columns is None

    # -- reading, in a thread ----------------------------------------------------------------------

    def _next(self, chunks: Iterator[Chunk]) -> Bound | None:
        chunk = next(chunks, None)
        if chunk is None:
            return None
        failures: list[tuple[int, BaseException]] = []
        source = chunk.rows
        places: Sequence[int] = range(chunk.size)
        if isinstance(source, bind.RowsBlock):
            return self._grouped(chunk._replace(rows=()), source, places, failures)
        if isinstance(source, list):
            failures = [(at, row) for at, row in enumerate(source) if isinstance(row, Exception)]
            if failures:
                bad = {at for at, _ in failures}
                places = [at for at in places if at not in bad]
                source = [source[at] for at in places]
            if chunk.source is None:
                source, places = self._by_markers(source, places, failures)
        bound: list[tuple[Sequence[int], Any]] = []
        self._bind(source, places, bound, failures)
        if len(bound) == 1:
            places, block = bound[0]
        else:
            places = [place for some, _ in bound for place in some]
            block = self._no_rows()
            for _, part in bound:
                for row in part.rows():
                    block.append(row)
        return self._grouped(chunk, block, places, sorted(failures, key=lambda one: one[0]))

    def _grouped(
        self,
        chunk: Chunk,
        block: Any,
        places: Sequence[int],
        failures: list[tuple[int, BaseException]],
    ) -> Bound:
        """Make the requests of a chunk. They have the rows, whose block is not kept beside."""
        waves = []
        if not self._options.dry_run:
            waves = grouping.request_waves(block, self._keys, self._batch, self._owners())
        return Bound(chunk, waves, len(block), block.size, places, failures)

    def _by_markers(
        self, rows: list[Any], places: Sequence[int], failures: list[tuple[int, BaseException]]
    ) -> tuple[list[Any], Sequence[int]]:
        """Return rows of the program as the bind markers want them, and their places."""
        is_in_order = self._places == list(range(len(self._places)))
        if is_in_order and all(type(row) is tuple for row in rows):
            return rows, places
        fields = [(one.name, self._mapping.get(one.name, one.name)) for one in self._columns]
        known = {field for _, field in fields} if self._is_closed else None
        made: list[Any] = []
        kept: list[int] = []
        for place, row in zip(places, rows, strict=True):
            found = row
            if isinstance(row, Mapping):
                wrong = unknown_field(row, known) if known is not None else None
                if wrong is not None:
                    failures.append((place, wrong))
                    continue
                found = {marker: row[field] for marker, field in fields if field in row}
            elif isinstance(row, (tuple, list)):
                if not is_in_order and len(row) == len(self._places):
                    found = [row[at] for at in self._places]
            elif self._mapping and not isinstance(row, (str, bytes)):
                found = {name: getattr(row, field) for name, field in fields if hasattr(row, field)}
            made.append(found)
            kept.append(place)
        return made, kept

    def _bind(
        self,
        source: Any,
        places: Sequence[int],
        bound: list[tuple[Sequence[int], Any]],
        failures: list[tuple[int, BaseException]],
    ) -> None:
        """Bind rows at once; halves of them if one cannot be bound, to find it."""
        if not places:
            return
        try:
            block = bind_rows(self._prepared, source)
        except (TypeError, ValueError, KeyError) as error:
            if len(places) == 1:
                failures.append((places[0], error))
                return
            middle = len(places) // 2
            for start, part in ((0, places[:middle]), (middle, places[middle:])):
                self._bind(slice_of(source, start, len(part)), part, bound, failures)
            return
        bound.append((places, block))

    # -- writing -----------------------------------------------------------------------------------

    def _write(self, bound: Bound) -> Generator[Step, Any, None]:
        self.report.read += bound.chunk.size
        for index, error in bound.failures:
            self._fail(bound.chunk, index, error)
        if self._options.dry_run:
            self._progress.add(bound.row_count)
            self.report.bytes += bound.size
            return
        for groups in bound.waves:
            while groups:
                again: list[Group] = []
                self._delay = 0.0
                at = 0
                while at < len(groups):
                    some = groups[at : at + self._pace.slice]
                    at += len(some)
                    again += yield from self._send(bound, some)
                groups = again
                if groups:
                    self.report.retries += len(groups)
                    yield Pause(self._delay)

    @property
    def _batch(self) -> str | None:
        # The server refuses counters in batches of this type, and one batch has one outcome.
        if self._plan is not None and self._plan.is_counter:
            return None
        return self._options.batch

    def _owners(self) -> Owners | None:
        routing = self._session.cluster.metadata.routing()
        return routing.map_of(self._prepared.table_keyspace) if routing is not None else None

    def _send(self, bound: Bound, groups: Sequence[Group]) -> Generator[Step, Any, list[Group]]:
        """Execute requests; return those that are to be tried again."""
        began = self._clock()
        failed: list[tuple[Group, BaseException]] = []
        written = 0
        sent = iter(groups)

        def take(success: bool, result: Any) -> None:
            nonlocal written
            group = next(sent)
            if success:
                written += len(group)
                self.report.bytes += group.size
            else:
                failed.append((group, result))

        try:
            yield Requests(map(self._statement, groups), self._pace.limit, take)
        finally:
            self.report.written += written
            self._progress.add(written)
        self.report.requests += len(groups)
        is_overloaded = any(isinstance(error, _OVERLOAD) for _, error in failed)
        self._pace.note(len(groups), self._clock() - began, is_overloaded)
        return [
            again for group, error in failed for again in self._after_failure(bound, group, error)
        ]

    def _after_failure(self, bound: Bound, group: Group, error: BaseException) -> list[Group]:
        group.tries += 1
        if isinstance(error, SessionShutdown) or not isinstance(
            error, (DriverException, TypeError, ValueError)
        ):
            raise error  # no row of the load would be written any more
        if self._is_idempotent:
            delay = delay_before_retry(error, group.tries)
            if delay is not None:
                self._delay = max(self._delay, delay)
                return [group]
            if len(group) > 1 and not may_pass(error):
                # One row of it may be wrong: which one is found by sending each alone.
                return group.alone()
        for row in group.rows:
            self._fail(bound.chunk, bound.places[row], error)
        return []

    @property
    def _is_idempotent(self) -> bool:
        if self._plan is not None:
            return self._plan.is_idempotent
        return bool(self._prepared.is_idempotent)

    def _statement(self, group: Group) -> Any:
        prepared = self._prepared
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

    def _no_rows(self) -> Any:
        return self._prepared.bind_plan.bind_many([], self._prepared.protocol_version)

    # -- failures, and the end of a chunk ----------------------------------------------------------

    def _fail(self, chunk: Chunk, index: int, error: BaseException) -> None:
        place = chunk.place(index)
        failure = RowFailure(str(place), error)
        self.report.note_failure(failure)
        if self._options.failed_rows is not None:
            self._keep(chunk, index, place, failure.reason)
        most = self._options.max_errors
        if most is not None and self.report.failed > most:
            raise LoadError(
                str(failure)
                if most == 0
                else f"more than max_errors={most} rows failed, the last one: {failure}",
                self.report,
            ) from error

    def _keep(self, chunk: Chunk, index: int, place: Place, reason: str) -> None:
        """Write a row, its place and its error to the file of failed rows."""
        if self._failed_file is None:
            path = Path(self._options.failed_rows or "")
            self._failed_file = path.open("a" if self.report.skipped else "w", encoding="utf-8")
        fields = self._fields_of(chunk, index)
        fields.update(_source=place.source, _row=place.row, _line=place.line, _error=reason)
        self._failed_file.write(json.dumps(fields, ensure_ascii=False) + "\n")
        self._failed_file.flush()

    def _fields_of(self, chunk: Chunk, index: int) -> dict[str, Any]:
        names = [self._mapping.get(column.name, column.name) for column in self._columns]
        if chunk.raw is not None:
            raw = chunk.raw[index]
            if isinstance(raw, str):  # of JSON lines
                with suppress(ValueError):
                    found = json.loads(raw)
                    if isinstance(found, dict):
                        return found
                return {"_text": raw}
            header = field_names(chunk.source, self._reading(0)) or names
            null = self._options.null
            return {
                name: None if text == null else text
                for name, text in zip(header, raw, strict=False)
            }
        row = chunk.rows[index] if isinstance(chunk.rows, list) else _row_of(chunk.rows, index)
        if isinstance(row, Mapping):
            return {str(name): json_of(value) for name, value in row.items()}
        if isinstance(row, (tuple, list)):
            return {name: json_of(one) for name, one in zip(names, row, strict=False)}
        return {name: json_of(getattr(row, name, None)) for name in names}

    def _end_of(self, chunk: Chunk) -> None:
        if self._failed_file is not None:
            os.fsync(self._failed_file.fileno())
        if not self._options.dry_run:
            self._checkpoint.save(
                position=chunk.position, written=self.report.written, failed=self.report.failed
            )


def _row_of(table: Any, index: int) -> Any:
    """Return a row of a table as a mapping."""
    one = slice_of(table, index, 1)
    if hasattr(one, "to_pylist"):
        return one.to_pylist()[0]
    if hasattr(one, "to_dict"):
        return one.to_dict("records")[0]
    return one.tolist()[0]


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
