"""Writes rows from files, data frames and iterables into a table; implements `Session.load`.

How the parts cooperate:

* `Load.steps` is a generator that yields steps: requests to execute, work of the reader thread to
  wait for, a pause, or CQL to prepare (`load_steps`). `load` (blocking) and `aload` (asyncio) drive
  the same generator: they carry out each step and send its outcome back into the generator.
* `Columns` decides which field of the source goes to which bind marker. Before the statement is
  prepared, a `Selection` has the columns of the statement.
* `Reader` reads the source in a thread, chunk by chunk, and the `Binder` turns each chunk into
  waves of requests. The thread works on the next chunk while the requests of the current chunk are
  sent, so at most two chunks are in memory.
* `Sender` sends the waves of a chunk, and repeats requests that fail. It reports to the `Recorder`
  each row that is written, not applied or failed.
* `Recorder` counts the rows in the report, writes failed rows to their file (`FailedRows`), and
  records both for the checkpoint. It ends the load if too many rows have failed.
* `LoadCheckpoint` saves the position in the source: at the end of each chunk, and if the load ends
  in the middle of a chunk.

`Load` makes these parts, and calls them for one chunk after another.

Mistakes in the call (a missing file, an unknown column, the checkpoint of another load) are raised
before anything is sent. Later errors are a `LoadError`, or have the report in their attribute
`report`. When a load ends early, it does not wait for its reader thread: if the thread is still
reading, the thread closes the files when it is done.

What None means:

* instead of a bound chunk: the source has no more rows;
* instead of a plan: the target is a prepared statement, so no statement had to be planned;
* instead of a list of field names: each row has separate names, or rows have no names;
* as `max_errors`: any number of rows may fail.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import aclosing, suppress
from functools import partial
from types import GeneratorType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from cassandra import _threads
from cassandra._clocks import monotonic
from cassandra._signals import is_from_signal_handler
from cassandra._steps import adrive, drive
from cassandra.bulk.async_rows import AsyncRows
from cassandra.bulk.binding import Bound
from cassandra.bulk.checkpoint import Checkpoint
from cassandra.bulk.chunks import Chunk, Reading
from cassandra.bulk.columns import (
    Columns,
    FieldsOfEach,
    reading_of_names,
    selection_of_statement,
    selection_of_table,
)
from cassandra.bulk.failed_rows import FailedRows, check_failed_rows
from cassandra.bulk.fields import check_index
from cassandra.bulk.load_checkpoint import (
    COUNTED_TWICE,
    LoadCheckpoint,
    check_repeatable,
    subject_of_load,
)
from cassandra.bulk.load_steps import Pause, Prepare, Requests, Step, Work
from cassandra.bulk.options import LoadOptions, load_options
from cassandra.bulk.pacing import Pace
from cassandra.bulk.plain import plain_session
from cassandra.bulk.progress import Progress
from cassandra.bulk.reader import Reader, new_worker
from cassandra.bulk.recorder import Recorder
from cassandra.bulk.report import LOST_ROWS, LoadError, LoadReport
from cassandra.bulk.retrying import is_outage
from cassandra.bulk.same_table import TableWatch
from cassandra.bulk.scan_plan import known_table_steps, performer
from cassandra.bulk.sender import Sender
from cassandra.bulk.sources import (
    RAISED_BY_SOURCE,
    RowsOfColumns,
    chunks_of,
    fields_of_each,
    files_of,
    is_file_of,
    is_unloaded,
    is_unopened,
    opened,
    rows_of_columns,
)
from cassandra.bulk.target import (
    Plan,
    check_statement_using,
    check_static_counters,
    owners_in,
    short_key_plans,
    static_plan,
    table_of,
    traits_of,
    written_table,
)
from cassandra.bulk.units import UnitWatch
from cassandra.bulk.unmapped import UnmappedWatch
from cassandra.concurrent import execute_each
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT
from cassandra.errors import DependencyException, DriverException, SessionShutdown
from cassandra.query.prepared import PreparedStatement

if TYPE_CHECKING:
    from cassandra.bulk.sessions import AsyncSession, BulkSession, Session
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.metadata.schema.tables import TableMetadata

__all__ = ["Load", "aload", "load", "load_options"]


class _Parts(NamedTuple):
    """The parts of a load that can only be made after its statement is prepared."""

    failed_rows: FailedRows | None
    checkpoint: LoadCheckpoint
    progress: Progress
    recorder: Recorder
    sender: Sender


class Load:
    """One load: makes the parts of the load, and carries out its steps in order.

    The attribute `report` is the report of the load.

    :param session: a session of either API.
    :param target: the name of a table, or a prepared statement.
    :param source: the source of the rows.
    :param options: see `LoadOptions`.
    :param is_plain: True if the rows already have CQL values, which are bound without converters
        (`Session.codecs`).
    :param watch: notices if the table is another one now, and has begun; None if the caller does.
    """

    def __init__(
        self,
        session: BulkSession,
        target: str | PreparedStatement,
        source: object,
        options: LoadOptions,
        is_plain: bool = False,
        watch: TableWatch | None = None,
    ) -> None:
        _check_checkpoint_options(options)
        self._watch = None if options.dry_run else watch
        self._options = options
        self._metadata = session.cluster.metadata
        # The list of the source's files, or the source itself if it has no files.
        self._source = _checked_source(source, options)
        self._is_plain = is_plain or (
            isinstance(self._source, RowsOfColumns) and self._source.is_plain
        )
        self._target: TableMetadata | PreparedStatement
        if isinstance(target, PreparedStatement):
            check_statement_using(target, options.using())
            self._target, name = target, target.query_string
        else:
            self._target = table_of(self._metadata, target, session.keyspace)
            name = str(target)
        self.report = LoadReport(name, is_dry=options.dry_run)
        self._checkpoint_file = Checkpoint(
            options.checkpoint,
            {}
            if options.checkpoint is None
            else subject_of_load(self._metadata, self._target, self._source, options),
            restart=options.restart,
            is_read_only=options.dry_run,
        )

    def steps(self) -> Generator[Step, Any, LoadReport]:
        """Yield the steps of the load, and return its report.

        The caller carries out each step (blocking or on asyncio), and sends its result back into
        this generator.
        """
        reader = Reader(new_worker("cassandra-load"))
        try:
            parts = yield from self._prepare(reader)
            yield from self._load(reader, parts)
            return self.report
        finally:
            reader.close()
            # Show warnings after an error, too: a warning may explain the error.
            reader.show_warnings()

    def _prepare(self, reader: Reader) -> Generator[Step, Any, _Parts]:
        """Read the field names, prepare the statements, and make the parts of the load.

        :raises ValueError: if the source does not fit the target.
        """
        options, target = self._options, self._target
        # Read the names in the reader thread: a pipe may be slow, and must not block an event loop.
        reading = reading_of_names(options, reader.pipes)
        if is_unopened(self._source):
            # Open Arrow data now: its columns decide which columns the load writes.
            self._source = yield reader.submit(opened, self._source)
        fields: FieldsOfEach = yield reader.submit(fields_of_each, self._source, reading)
        plan: Plan | None = None
        if isinstance(target, PreparedStatement):
            prepared = target
            selection = selection_of_statement(prepared, options)
        else:
            plan, selection = selection_of_table(target, options, fields)
            if options.columns is None:
                check_index(self._source, plan.names, options.ignore, target)
            if plan.is_counter:
                check_static_counters(target, plan, is_unloaded(self._source), fields)
            prepared = yield Prepare(plan.text)
        table = written_table(self._metadata, prepared)
        traits = traits_of(prepared, plan, options.counters, table)
        if options.checkpoint is not None:
            # A checkpoint is only allowed if rows may be written twice. That depends on the
            # prepared statement, so we cannot check it earlier.
            check_repeatable(traits)
        columns = Columns(prepared, selection, table, options, reading, self._is_plain)
        binder = columns.binder(
            options.batch if traits.may_be_batched else None,
            partial(owners_in, self._metadata, prepared.table_keyspace),
        )
        # Check the columns of every file before anything is sent, so that an error in a later file
        # does not end the load in the middle.
        columns.check_fields(fields)
        if plan is not None and not isinstance(target, PreparedStatement):
            # Partitions that only have static columns need a statement without clustering columns.
            static_text = static_plan(target, plan, options.using())
            if static_text is not None:
                binder.static_rows = columns.static_rows(target, (yield Prepare(static_text)))
            # Rows without their last clustering columns, in tables with compact storage, also need
            # separate statements.
            for short_text in short_key_plans(target, plan, options.using()):
                binder.short_rows.append(columns.short_rows(target, (yield Prepare(short_text))))
            if not plan.is_counter:
                binder.row_values = columns.row_values(target)
        failed_rows = _failed_rows_of(columns, options)
        checkpoint = LoadCheckpoint(self._checkpoint_file, self.report, failed_rows)
        # Begin where the last run of this load has ended, according to the checkpoint.
        reading = columns.reading._replace(skip=checkpoint.begin)
        binder.ahead = checkpoint.ahead
        checkpoint.keeps_rows_ahead = bool(columns.keys.positions)
        if isinstance(self._source, RowsOfColumns):
            self._source.convert_scalars(columns.types_without_converters(), reading.lost_times)
        reader.open(self._chunks(reading, fields), binder)
        progress = Progress(options.progress, self.report.target)
        recorder = Recorder(self.report, checkpoint, failed_rows, progress, options.max_errors)
        # The level is a number, because `LoadOptions` replaces names by levels.
        level = cast("int | None", options.consistency_level)
        sender = Sender(recorder, traits, Pace(options.concurrency), level)
        return _Parts(failed_rows, checkpoint, progress, recorder, sender)

    def _chunks(self, reading: Reading, fields: FieldsOfEach) -> Generator[Chunk, None, None]:
        """Return the chunks of the source; warn of probable mistakes in them.

        :param fields: the field names of each file of the source.
        """
        options = self._options
        chunks = chunks_of(self._source, reading)
        # A mapping may leave out a column of the table by mistake, so look for such columns. Other
        # forms of `columns=` name columns directly.
        if isinstance(options.columns, Mapping) and not isinstance(self._target, PreparedStatement):
            ignored = [*options.ignore, *options.marker_fields().values()]
            unmapped = UnmappedWatch(options.columns, ignored, self._target)
            for _, names in fields:
                unmapped.look_at_names(names or ())
            chunks = unmapped.watch(chunks)
        return UnitWatch(reading).watch(chunks)

    def _load(self, reader: Reader, parts: _Parts) -> Generator[Step, Any, None]:
        """Read, bind and write all chunks; save a checkpoint if the load ends early."""
        start_time = monotonic()
        try:
            with parts.progress:
                yield from self._write(reader, parts, start_time)
            if self._watch is not None:
                # Ask before the checkpoint is removed, which would mean that the load is done.
                self._check_same_table(self._watch, (yield from self._watch.end_steps()))
            parts.checkpoint.remove()
        except BaseException as error:  # also Control-C, and the cancellation of this task
            # If the load ends because too many rows have failed, do not save the position: the
            # checkpoint stays as it was saved last, so another run tries the later rows again.
            # After an outage, or any error other than LoadError, save how far the load has got.
            if not isinstance(error, LoadError) or is_outage(error.__cause__):
                parts.checkpoint.save_unfinished_chunk()
            if (
                isinstance(error, Exception)
                and not isinstance(error, _LOAD_ENDS)
                and not is_from_signal_handler(error)
            ):
                raise LoadError(_message_of(error), self.report) from error
            with suppress(AttributeError):
                error.report = self.report  # type: ignore[attr-defined]
            raise
        finally:
            self.report.seconds = monotonic() - start_time
            if parts.failed_rows is not None:
                parts.failed_rows.close()

    def _write(
        self, reader: Reader, parts: _Parts, start_time: float
    ) -> Generator[Step, Any, None]:
        """Read, bind and write one chunk after another."""
        next_chunk = reader.read_next()
        while True:
            bound: Bound | None = yield next_chunk
            reader.show_warnings()
            if bound is None:
                return
            # Let the reader read and bind the next chunk while the rows of this chunk are written.
            next_chunk = reader.read_next()
            parts.checkpoint.begin_chunk(bound.chunk)
            parts.recorder.note_read(bound)
            yield from parts.sender.send(bound)
            if self._watch is not None:
                self._check_same_table(self._watch, self._watch.is_another())
            parts.checkpoint.end_chunk(bound.chunk)
            self.report.seconds = monotonic() - start_time

    def _check_same_table(self, watch: TableWatch, is_another: bool) -> None:
        """Raise LoadError if the table was dropped and created again during the load."""
        if is_another:
            has_checkpoint = self._options.checkpoint is not None
            raise LoadError(
                f"{watch.table_name} {LOST_ROWS}: load all rows again"
                + (
                    " with restart=True, because the checkpoint is of the old table"
                    if has_checkpoint
                    else ""
                ),
                self.report,
            )


# Errors that a load raises unchanged, as well as errors of signal handlers. Any other error becomes
# the cause of a `LoadError`.
_LOAD_ENDS = (LoadError, SessionShutdown, DependencyException)


def _check_checkpoint_options(options: LoadOptions) -> None:
    """Raise ValueError if the checkpoint cannot be combined with another option."""
    if options.counters and options.checkpoint is not None:
        raise ValueError(COUNTED_TWICE)
    if None not in (options.checkpoint, options.failed_rows) and os.path.realpath(
        str(options.checkpoint)
    ) == os.path.realpath(str(options.failed_rows)):
        raise ValueError(f"checkpoint and failed_rows are one file: {options.checkpoint}")


def _checked_source(source: object, options: LoadOptions) -> object:
    """Return the list of a source's files; if the source has no files, return its rows.

    :raises ValueError: if the load would write to a file of the source, or append its failed rows
        to a file that is not a file of failed rows.
    """
    checkpoint_files = [] if options.checkpoint is None else [os.fspath(options.checkpoint)]
    checkpoint_files += [f"{path}.tmp" for path in checkpoint_files]
    _refuse_ended_generator(source)
    source = rows_of_columns(source)
    # Expand folders and globs once, so that all parts of the load use the same list of files.
    files = files_of(source, checkpoint_files)
    for name in ("failed_rows", "checkpoint"):
        path = getattr(options, name)
        if path is not None and is_file_of(files, path):
            raise ValueError(
                f"{name}={os.fspath(path)!r} is a file of the source: it would be written "
                "while it is read"
            )
    if options.failed_rows is not None:
        check_failed_rows(options.failed_rows)
    return source if files is None else files


def _refuse_ended_generator(source: object) -> None:
    """Raise ValueError for a generator that was already read to its end."""
    if isinstance(source, GeneratorType) and source.gi_frame is None:
        raise ValueError(
            f"the generator {source.__name__} has ended: it yields its rows once, so call its "
            "function again"
        )


def _failed_rows_of(columns: Columns, options: LoadOptions) -> FailedRows | None:
    """Return the file of failed rows; None if the load writes none."""
    if options.failed_rows is None:
        return None
    # `FailedRows` creates the file at the first failure, so a load without failures leaves no file.
    return FailedRows(
        options.failed_rows,
        columns=columns.columns,
        fields=columns.fields,
        mapping=columns.reading.mapping,
        nulls=columns.reading.formats.nulls,
        types=columns.bound_types,
        is_closed=columns.reading.is_closed,
        ignored=columns.reading.ignored,
    )


def _message_of(error: Exception) -> str:
    """Return the message of an error, preceded by the name of the error's class where useful.

    The name is useful for errors of user code, and for errors without a message.
    """
    is_ours = isinstance(error, (ValueError, OSError, DriverException)) and str(error)
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith(RAISED_BY_SOURCE)]
    if "SQLite objects created in a thread" in str(error):
        return (
            f"{error} A load reads its source in a thread of its own: write "
            "sqlite3.connect(path, check_same_thread=False), or pass cursor.fetchall()"
        )
    text = str(error)
    if isinstance(error, MemoryError):
        text += (
            f"{'; ' * bool(text)}memory is exhausted, and a load needs some hundred MB: look at "
            "the limit of the process or its container, and at what else it keeps in memory"
        )
    message = text if is_ours else f"{type(error).__name__}{': ' * bool(text)}{text}"
    return " ".join([message, *notes])


# -- the blocking and the asyncio API --------------------------------------------------------------


def _profile_of(session: BulkSession, options: LoadOptions) -> Any:
    """Return the execution profile of the requests, with the option `timeout`.

    None means the session's default profile.
    """
    profile = options.execution_profile
    if options.timeout is None:
        if profile is not None:
            # Look the profile up now: otherwise a wrong name would make every row fail.
            session.execution_profile_clone_update(profile)
        return profile
    # Set the timeout on a copy, because the application's profile must not change.
    return session.execution_profile_clone_update(
        EXEC_PROFILE_DEFAULT if profile is None else profile, request_timeout=options.timeout
    )


def _watch_steps(
    session: BulkSession, target: str | PreparedStatement
) -> Generator[Callable[[Any], Any], Any, TableWatch]:
    """Return a watch of the load's table, which has begun.

    This is a generator without I/O, like `cassandra.bulk.scan_plan.plan_steps`.

    :raises ValueError: if `target` is a name, and there is no such table.
    """
    metadata = session.cluster.metadata
    if isinstance(target, PreparedStatement):
        watch = TableWatch(metadata, target.table_keyspace, target.table)
    else:
        table = yield from known_table_steps(session, target, with_views=False)
        watch = TableWatch(metadata, table.keyspace_name, table.name)
    yield from watch.begin_steps()
    return watch


def load(
    session: Session,
    target: str | PreparedStatement,
    source: object,
    options: LoadOptions,
    is_plain: bool = False,
    is_watched: bool = True,
) -> LoadReport:
    """Load rows with a blocking session.

    :param session: the session.
    :param target: the name of a table, or a prepared statement.
    :param source: the source of the rows.
    :param options: see `LoadOptions`.
    :param is_plain: True if the rows already have CQL values, which are bound without converters
        (`Session.codecs`).
    :param is_watched: False if the caller itself notices if the table is dropped and created again.
    """
    profile = _profile_of(session, options)
    session = plain_session(session)
    watch = None
    if is_watched:
        watch = drive(_watch_steps(session, target), performer(session))
    steps = Load(session, target, source, options, is_plain, watch).steps()
    return drive(steps, lambda step: _carry_out(session, step, profile))


def _carry_out(session: Session, step: Step, profile: ExecutionProfile | str | None) -> Any:
    """Carry out a step of a load with a blocking session, and return its result."""
    if isinstance(step, Requests):
        return execute_each(session, step.statements, step.concurrency, step.on_outcome, profile)
    if isinstance(step, Work):
        return step.future.result()
    if isinstance(step, Pause):
        return _threads.sleep(step.seconds)
    if isinstance(step, Prepare):
        return session.prepare(step.text)
    return step(session)


async def aload(
    session: AsyncSession,
    target: str | PreparedStatement,
    source: object,
    options: LoadOptions,
    is_plain: bool = False,
    is_watched: bool = True,
) -> LoadReport:
    """Load rows with a session of `cassandra.aio`.

    :param session: the session.
    :param target: the name of a table, or a prepared statement.
    :param source: the source of the rows.
    :param options: see `LoadOptions`.
    :param is_plain: True if the rows already have CQL values, which are bound without converters
        (`Session.codecs`).
    :param is_watched: False if the caller itself notices if the table is dropped and created again.
    """
    profile = _profile_of(session, options)
    session = plain_session(session)
    # Look for `__aiter__` first: an asynchronous scan also has an `__iter__`, which raises an
    # error.
    rows = (
        AsyncRows(cast("Any", source), asyncio.get_running_loop())
        if hasattr(type(source), "__aiter__")
        else None
    )
    try:
        watch = None
        if is_watched:
            watch = await adrive(_watch_steps(session, target), performer(session))
        steps = Load(session, target, rows or source, options, is_plain, watch).steps()
        return await adrive(steps, lambda step: _acarry_out(session, step, profile))
    finally:
        if rows is not None:
            await rows.aclose()


async def _acarry_out(
    session: AsyncSession, step: Step, profile: ExecutionProfile | str | None
) -> Any:
    """Carry out a step of a load on asyncio, and return its result."""
    if isinstance(step, Requests):
        pairs = ((statement, None) for statement in step.statements)
        outcomes = session.execute_concurrent(
            pairs, step.concurrency, raise_on_first_error=False, execution_profile=profile
        )
        # Close the generator at once if this task is cancelled, so that nothing more is sent.
        async with aclosing(outcomes):
            async for success, result in outcomes:
                step.on_outcome(success, result)
        return None
    if isinstance(step, Work):
        return await asyncio.wrap_future(step.future)
    if isinstance(step, Pause):
        return await asyncio.sleep(step.seconds)
    if isinstance(step, Prepare):
        return await session.prepare(step.text)
    return await step(session)
