"""Writes rows from files, data frames and iterables into a table: `Session.load`.

How the parts cooperate:

* `Load.steps` is a generator that yields steps: requests to execute, work of the reader thread to
  wait for, a pause, or CQL to prepare. `load` (blocking) and `aload` (asyncio) drive the same
  generator: they carry out each step and send its outcome back into the generator.
* A reader thread (`Worker`; there is one per load) reads the source in chunks, and the `Binder`
  turns each chunk into waves of requests. The thread works on the next chunk while the requests of
  the present one are sent, so at most two chunks are in memory.
* `_write` sends the waves of a chunk one after the other, because rows with the same primary key
  are in different waves. Requests of one wave may be sent in any order. They are sent in slices
  (groups of requests that are sent together); after each slice, `Pace` adjusts how many requests
  may be in flight.
* When each row of a chunk is written or has failed, `_end_of` saves the checkpoint. If the load is
  interrupted (Control-C, or a cancelled task), `_save_unfinished_chunk` saves a checkpoint in the
  middle of the chunk, before its first row without an outcome. Another run with the same checkpoint
  skips all rows before the saved position. It writes all rows after it, and some of these may have
  been written by the interrupted run already. So counters and statements that are not idempotent
  cannot have a checkpoint.

How failed requests are repeated: the session's retry policy decides first. If the request still
fails, `_after_failure` decides what happens to its rows:

* If this cluster's own throttler refused it, it was never sent: it goes into the next round of the
  wave, without counting as a try. After MOST_WAITS slices in a row in which no row was written, it
  is treated like other errors.
* An idempotent request is repeated if `delay_before_retry` returns a delay. If no server can be
  reached after all of these tries, the load ends, whatever `max_errors` is. Otherwise, if the
  request has several rows and one of them may have caused the error, each row is sent alone. If the
  server's message shows that a value caused the error (`is_data_error`), the rows are sent alone at
  once, without these tries.
* In all other cases the rows of the request have failed: they are counted, and written to the file
  `failed_rows` if that option is set. If more than `max_errors` rows have failed, the load ends.
* A closed session ends the load at once. So does an exception that is no DriverException, TypeError
  or ValueError.

A round of a wave ends when each of its requests has an outcome. Then the requests to repeat are
sent in the next round, after the longest of their delays.

Mistakes in the call (a missing file, an unknown column, the checkpoint of another load) are raised
before anything is sent. Later errors are a `LoadError`, or have the report in their attribute
`report`. When a load ends early, it does not wait for its reader thread: if the thread is still
reading, it closes the files itself.

What None means:

* instead of a bound chunk: the source has no more rows;
* as `_plan`: the target is a prepared statement, so no table was looked up;
* instead of a list of field names: each row has its own names, or rows have no names;
* as a delay: do not repeat the request;
* as `max_errors`: any number of rows may fail.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from cassandra import _threads
from cassandra._clocks import monotonic
from cassandra._steps import adrive, drive
from cassandra.bulk.binding import Binder, Bound, Wave
from cassandra.bulk.checkpoint import Checkpoint, describe_cluster, describe_files
from cassandra.bulk.chunks import Chunk, Position
from cassandra.bulk.columns import (
    Columns,
    reading_of_names,
    selection_of_statement,
    selection_of_table,
)
from cassandra.bulk.failed_rows import FailedRows, check_failed_rows, rows_after, size_of
from cassandra.bulk.load_steps import Pause, Prepare, Requests, Step, Work
from cassandra.bulk.opened import Pipes
from cassandra.bulk.options import LoadOptions, load_options
from cassandra.bulk.outcomes import DoneRows, Outcomes
from cassandra.bulk.pacing import Pace
from cassandra.bulk.plain import plain_session
from cassandra.bulk.progress import Progress
from cassandra.bulk.report import LoadError, LoadReport, RowFailure
from cassandra.bulk.retrying import (
    RETRIES,
    delay_before_retry,
    is_outage,
    may_be_data_error,
)
from cassandra.bulk.sources import chunks_of, fields_of_each, files_of, is_file_of, rows_of_columns
from cassandra.bulk.target import (
    Traits,
    check_statement_using,
    full_name,
    owners_in,
    static_plan,
    table_of,
    traits_of,
    written_table,
)
from cassandra.bulk.units import UnitWatch
from cassandra.bulk.unmapped import UnmappedWatch
from cassandra.bulk.worker import Worker
from cassandra.concurrent import execute_each
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT
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
from cassandra.query.batch import batch_of_block
from cassandra.query.bound import BoundStatement
from cassandra.query.prepared import PreparedStatement

if TYPE_CHECKING:
    from cassandra.bulk.grouping import Group
    from cassandra.bulk.sessions import AsyncSession, BulkSession, Session
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.metadata.schema.tables import TableMetadata

__all__ = ["Load", "aload", "load", "load_options"]

# After one of these errors, `Pace` reduces the number of requests in flight. WriteFailure is among
# them because small nodes return it when a vector index cannot take more writes.
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
# After so many successive slices without a written row, a throttled request counts as failed.
MOST_WAITS = 2000
LONGEST_WAIT = 0.25  # the maximum number of seconds before throttled requests are sent again


class Load:
    """The state of one load. `steps` carries it out.

    :param session: a session of either API.
    :param target: the name of a table, or a prepared statement.
    :param source: the source of the rows.
    :param options: see `LoadOptions`.
    :param is_plain: True if the rows already have CQL values: they are bound without converters
        (`Session.codecs`).
    """

    def __init__(
        self,
        session: BulkSession,
        target: str | PreparedStatement,
        source: object,
        options: LoadOptions,
        is_plain: bool = False,
    ) -> None:
        self._session = session
        self._clock: Callable[[], float] = monotonic
        # The simulated event loop of `cassandra.testing` allows no threads. It has a method
        # `new_executor`, whose result we use instead of a reader thread.
        loop = asyncio._get_running_loop()
        self._new_reader: Callable[[str], Worker | Executor] = getattr(loop, "new_executor", Worker)
        self._target = target
        self._options = options
        self._is_plain = is_plain
        if options.counters and options.checkpoint is not None:
            raise ValueError(COUNTED_TWICE)
        if None not in (options.checkpoint, options.failed_rows) and os.path.realpath(
            str(options.checkpoint)
        ) == os.path.realpath(str(options.failed_rows)):
            raise ValueError(f"checkpoint and failed_rows are one file: {options.checkpoint}")
        checkpoint_files = [] if options.checkpoint is None else [os.fspath(options.checkpoint)]
        checkpoint_files += [f"{path}.tmp" for path in checkpoint_files]
        # Expand folders and globs once, so that everything below sees the same list of files.
        source = rows_of_columns(source)
        self._files = files_of(source, checkpoint_files)
        self._source = source if self._files is None else self._files
        for name in ("failed_rows", "checkpoint"):
            path = getattr(options, name)
            if path is not None and is_file_of(self._files, path):
                raise ValueError(
                    f"{name}={os.fspath(path)!r} is a file of the source: it would be written "
                    "while it is read"
                )
        if options.failed_rows is not None:
            check_failed_rows(options.failed_rows)
        self._table: TableMetadata | None = None
        if isinstance(target, PreparedStatement):
            check_statement_using(target, options.using())
            name = target.query_string
        else:
            self._table = table_of(session.cluster.metadata, str(target), session.keyspace)
            name = str(target)
        self.report = LoadReport(name, is_dry=options.dry_run)
        self._pipes = Pipes()
        self._chunks: Generator[Chunk, None, None] | None = None
        # The last call that was submitted to the reader thread.
        self._work: Future[Any] | None = None
        self._prepared: Any = None
        self._traits = Traits(is_idempotent=False, is_counter=False, is_conditional=False)
        self._columns: Columns | None = None
        self._failed: FailedRows | None = None
        # Rows that an interrupted run of this load has already written to the file of failed rows:
        # `FailedRows` does not write them again.
        self._failed_in_earlier_runs: set[tuple[str | None, int]] = set()
        # The size in bytes of the file of failed rows at the end of the last complete chunk. The
        # checkpoint stores it: rows behind this offset failed after the checkpoint, and another run
        # reads them again.
        self._failed_size = 0
        # Counts of all complete chunks, including those of earlier runs.
        self._done = DoneRows(0, 0, 0)
        self._outcomes: Outcomes | None = None  # outcomes of the rows of the present chunk
        self._pace = Pace(options.concurrency)
        self._delay = 0.0  # seconds to wait before the next round, which repeats failed requests
        # The number of successive slices in which no row was written; see MOST_WAITS.
        self._unsuccessful_slices = 0
        self._progress = Progress(False)
        self._checkpoint = Checkpoint(
            options.checkpoint,
            {} if options.checkpoint is None else self._subject(source),
            restart=options.restart,
            is_read_only=options.dry_run,
        )

    def _subject(self, source: object) -> dict[str, Any]:
        """Return the subject of the checkpoint: a description that identifies this load."""
        options = self._options
        subject: dict[str, Any] = {
            "work": "load",
            "cluster": describe_cluster(self._session.cluster.metadata),
            "options": options.subject_options(),
        }
        if self._table is not None:
            subject["table"] = full_name(self._table)
        elif isinstance(self._target, PreparedStatement):
            subject["table"] = f"{self._target.table_keyspace}.{self._target.table}"
            subject["statement"] = self._target.query_string
        # The paths of files identify their rows. For any other source, the application must name
        # the rows (`checkpoint_name`).
        if self._files is not None:
            subject["files"] = describe_files(self._files)
            return subject
        if options.checkpoint_name is None:
            raise ValueError(
                f"a checkpoint= for {type(source).__name__} needs checkpoint_name=, which says "
                "what these rows are: they have no path, size or time by which another run could "
                "know them"
            )
        count = len(source) if hasattr(source, "__len__") else None
        # A source without files has a single pair: its description and its field names.
        columns = fields_of_each(source, reading_of_names(options))[0][1]
        subject["rows"] = {"name": options.checkpoint_name, "count": count, "columns": columns}
        return subject

    # -- the steps ---------------------------------------------------------------------------------

    def steps(self) -> Generator[Step, Any, LoadReport]:
        """Yield the steps of the load, and return its report.

        The caller carries out each step (blocking or on asyncio), and sends its result back into
        this generator.
        """
        # One thread is enough: a source can only be read in order.
        reader = self._new_reader("cassandra-load")
        try:
            binder, chunks = yield from self._prepare(reader)
            yield from self._load(reader, binder, chunks)
            return self.report
        finally:
            # If the reader thread is still reading, we do not wait for it, because the source may
            # hang. Instead, we submit `_close`, so that the thread closes the files when its
            # present call returns.
            if self._work is None or self._work.cancel() or self._work.done():
                self._close()
            else:
                reader.submit(self._close)
            reader.shutdown()

    def _load(
        self, reader: Worker | Executor, binder: Binder, chunks: Generator[Chunk, None, None]
    ) -> Generator[Step, Any, None]:
        """Read, bind and write all chunks."""
        start_time = self._clock()
        self._progress = Progress(self._options.progress, self.report.target)
        self._work = reader.submit(binder.bind_next, chunks)
        try:
            with self._progress:
                while True:
                    bound: Bound | None = yield Work(self._work)
                    if bound is None:
                        break
                    # Read and bind the next chunk while the rows of this one are written.
                    self._work = reader.submit(binder.bind_next, chunks)
                    self._outcomes = Outcomes(bound.chunk)
                    yield from self._write(bound)
                    self._end_of(bound.chunk)
                    self.report.seconds = self._clock() - start_time
            self._checkpoint.remove()
        except (LoadError, SessionShutdown, DependencyException) as error:
            # If the load ends because too many rows have failed, save nothing: the checkpoint stays
            # at the beginning of this chunk, so another run tries all of its rows again.
            if not isinstance(error, LoadError) or is_outage(error.__cause__):
                self._save_unfinished_chunk()
            error.report = self.report  # type: ignore[union-attr]
            raise
        except Exception as error:
            self._save_unfinished_chunk()
            raise LoadError(_message_of(error), self.report) from error
        except BaseException as error:  # Control-C, or this task is cancelled
            self._save_unfinished_chunk()
            with suppress(AttributeError):
                error.report = self.report  # type: ignore[attr-defined]
            raise
        finally:
            self.report.seconds = self._clock() - start_time
            if self._failed is not None:
                self._failed.close()

    def _close(self) -> None:
        if self._chunks is not None:
            self._chunks.close()
        self._pipes.close()

    def _prepare(
        self, reader: Worker | Executor
    ) -> Generator[Step, Any, tuple[Binder, Generator[Chunk, None, None]]]:
        """Read the field names, prepare the statements, and raise ValueError for a source that does
        not fit the target.
        """
        options, metadata, table = self._options, self._session.cluster.metadata, self._table
        # Read the names in the thread: a pipe may be slow, and must not block an event loop.
        reading = reading_of_names(options, self._pipes)
        self._work = reader.submit(fields_of_each, self._source, reading)
        fields = yield Work(self._work)
        if isinstance(self._target, PreparedStatement):
            selection = selection_of_statement(self._target, options)
            prepared = self._target
        else:
            assert table is not None
            selection = selection_of_table(table, options, fields)
            assert selection.plan is not None
            prepared = yield Prepare(selection.plan.text)
        self._prepared = prepared
        self._traits = traits_of(prepared, selection.plan, options.counters)
        # Only a prepared statement tells whether its rows may be written twice, so check this now.
        self._check_checkpoint()
        columns = Columns(prepared, selection, written_table(metadata, prepared), options, reading)
        self._columns = columns
        binder = columns.binder(
            options.batch if self._traits.may_be_batched else None,
            partial(owners_in, metadata, prepared.table_keyspace),
            is_plain=self._is_plain,
        )
        # Check the columns of every file now, not when its turn comes in the middle of the load.
        columns.check_fields(fields)
        if table is not None and selection.plan is not None:
            # Partitions that only have static columns need a statement without clustering columns.
            static_text = static_plan(table, selection.plan, options.using())
            if static_text is not None:
                binder.static_rows = columns.static_rows(table, (yield Prepare(static_text)))
        # Begin where the checkpoint of an earlier run ended.
        state = self._checkpoint.state
        begin = Position(int(state.get("file", 0)), int(state.get("row", 0)))
        self._apply_checkpoint_state(state)
        reading = columns.reading._replace(skip=begin)
        source_chunks = chunks_of(self._source, reading)
        if isinstance(options.columns, Mapping) and table is not None:
            ignored = [*options.ignore, *options.marker_fields().values()]
            unmapped = UnmappedWatch(options.columns, ignored, table)
            for _, names in fields:
                unmapped.look_at_names(names or ())
            source_chunks = unmapped.watch(source_chunks)
        self._chunks = UnitWatch(reading).watch(source_chunks)
        return binder, self._chunks

    def _apply_checkpoint_state(self, state: Mapping[str, Any]) -> None:
        """Set the counts and the size of the file of failed rows from the checkpoint of earlier
        runs.

        :param state: the content of the checkpoint; empty if there was none.
        """
        report = self.report
        report.skipped = int(state.get("rows", 0))
        report.skipped_failed = int(state.get("failed", 0))
        report.skipped_not_applied = int(state.get("not_applied", 0))
        self._done = DoneRows(report.skipped, report.skipped_failed, report.skipped_not_applied)
        failed_rows = self._options.failed_rows
        if failed_rows is not None:
            self._failed_size = size_of(failed_rows)
            file_state = state.get("failed_rows") or {}
            if file_state.get("path") == os.path.realpath(failed_rows):
                self._failed_size = int(file_state["size"])
                self._failed_in_earlier_runs = rows_after(failed_rows, self._failed_size)

    def _check_checkpoint(self) -> None:
        """Raise ValueError if the load has a checkpoint, but writing a row twice would change the
        result.

        A load that resumes writes the rows since the last checkpoint again.
        """
        if self._options.checkpoint is None:
            return
        if self._traits.is_counter:
            raise ValueError(COUNTED_TWICE)
        if not self._traits.is_idempotent:
            raise ValueError(
                "checkpoint needs a statement that may be executed twice, because rows since the "
                "last checkpoint are: if this one may, set its is_idempotent to True"
            )

    # -- writing -----------------------------------------------------------------------------------

    def _write(self, bound: Bound) -> Generator[Step, Any, None]:
        """Send the requests of a chunk. Repeat those that fail, until each is acknowledged or may
        not be repeated any more.
        """
        self.report.read += bound.chunk.size
        for index, error in bound.failures:
            self._record_failed_row(bound.chunk, index, error)
        if self._options.dry_run:
            self._progress.add(bound.row_count)
            self.report.bytes += bound.size
            return
        for wave in bound.waves:
            # Send the groups of the wave in rounds. Each round after the first one sends the groups
            # that failed in the previous round and are to be repeated.
            groups = wave.groups
            while groups:
                failed_groups: list[Group] = []
                self._delay = 0.0
                start = 0
                while start < len(groups):
                    slice_groups = groups[start : start + self._pace.slice]
                    start += len(slice_groups)
                    failed_groups += yield from self._send(bound, wave, slice_groups)
                groups = failed_groups
                if groups:
                    yield Pause(self._delay)

    def _send(
        self, bound: Bound, wave: Wave, groups: Sequence[Group]
    ) -> Generator[Step, Any, list[Group]]:
        """Execute one request per group; return the groups whose requests have failed and should be
        repeated.
        """
        start_time = self._clock()
        failed: list[tuple[Group, BaseException]] = []
        sent = written = not_applied = 0
        # Outcomes come in the order in which the requests are sent.
        groups_in_order = iter(groups)

        def record_outcome(success: bool, result: Any) -> None:
            nonlocal written, not_applied
            group = next(groups_in_order)
            if not success:
                failed.append((group, result))
                return
            is_applied = not self._traits.is_conditional or result.was_applied
            if is_applied:
                written += len(group)
                self.report.bytes += group.size
            else:
                not_applied += len(group)
            if self._outcomes is not None:
                self._outcomes.note_group(wave.row_numbers, group.rows, is_applied)

        def statements() -> Iterator[Any]:
            nonlocal sent
            for group in groups:
                statement = self._statement(wave.prepared, group)
                sent += 1
                yield statement

        try:
            yield Requests(statements(), self._pace.limit, record_outcome)
        finally:
            # `finally`, so that the report also counts these requests if the load is interrupted.
            throttled = sum(isinstance(error, RequestThrottled) for _, error in failed)
            self.report.requests += sent - throttled
            self.report.written += written
            self.report.not_applied += not_applied
            self._progress.add(written + not_applied)
        # `_after_failure` gives up after too many slices without a written row.
        self._unsuccessful_slices = 0 if written or not_applied else self._unsuccessful_slices + 1
        if throttled:
            # The throttler also limits the application's other requests on this cluster. Slow down,
            # so that these get their turn.
            self._pace.give_way()
        is_overloaded = any(isinstance(error, _OVERLOAD) for _, error in failed)
        self._pace.note(len(groups) - throttled, self._clock() - start_time, is_overloaded)
        return [
            retried
            for group, error in failed
            for retried in self._after_failure(bound, wave, group, error)
        ]

    def _after_failure(
        self, bound: Bound, wave: Wave, group: Group, error: BaseException
    ) -> list[Group]:
        """Return the groups to send again after a failed request; [] if its rows have failed."""
        if isinstance(error, RequestThrottled) and self._unsuccessful_slices < MOST_WAITS:
            # The cluster's own throttler refused the request, so it was not sent: send it again
            # later. The delay doubles with each slice without a written row.
            self._delay = max(
                self._delay, min(0.001 * 2 ** min(self._unsuccessful_slices, 8), LONGEST_WAIT)
            )
            return [group]
        group.tries += 1
        if isinstance(error, SessionShutdown) or not isinstance(
            error, (DriverException, TypeError, ValueError)
        ):
            raise error  # this ends the load; see the head of the module
        if self._traits.is_idempotent:
            delay = delay_before_retry(error, group.tries)
            if delay is not None:
                self._delay = max(self._delay, delay)
                self.report.retries += 1
                return [group]
            if is_outage(error):
                raise LoadError(self._outage_message(error), self.report) from error
            if len(group) > 1 and may_be_data_error(error):
                # One of the rows may have caused the error: send each row alone to find out which.
                single_groups = group.single_rows()
                if group.tries > RETRIES:
                    # The whole group has already used all of its tries: give each row a single
                    # further try.
                    for single_group in single_groups:
                        single_group.tries = RETRIES
                self.report.retries += len(single_groups)
                return single_groups
        for row in group.rows:
            self._record_failed_row(bound.chunk, wave.row_numbers[row], error)
        return []

    def _outage_message(self, error: BaseException) -> str:
        message = f"no server can be reached: {error}"
        if self._options.checkpoint is not None:
            message += "; run the load again with the same checkpoint when the servers are back"
        return message

    def _statement(self, prepared: PreparedStatement, group: Group) -> Any:
        """Return a bound statement for a single row, or an unlogged batch of several rows."""
        statement: Any
        if len(group) == 1:
            statement = BoundStatement(prepared)
            statement.block = group.block.row(0)
        else:
            statement = batch_of_block(prepared, group.block)
        statement.is_idempotent = self._traits.is_idempotent
        if self._options.consistency_level is not None:
            statement.consistency_level = self._options.consistency_level
        return statement

    # -- failures, and the end of a chunk ----------------------------------------------------------

    def _record_failed_row(self, chunk: Chunk, index: int, error: BaseException) -> None:
        """Report a row that cannot be written; raise LoadError if too many rows have failed."""
        location = chunk.location(index)
        failure = RowFailure(str(location), error)
        self.report.note_failure(failure)
        if self._options.failed_rows is not None:
            # Open the file at the first failure, so that a load without failures leaves none.
            if self._failed is None:
                # The types by which the application's values were bound; they may apply its
                # converters. None for plain rows, which were bound by the types of the columns.
                types = (
                    None
                    if self._is_plain
                    else [column.type for column in self._prepared.bind_plan.columns]
                )
                assert self._columns is not None
                self._failed = FailedRows(
                    self._options.failed_rows,
                    columns=self._columns.columns,
                    fields=self._columns.fields,
                    mapping=self._columns.reading.mapping,
                    nulls=self._columns.reading.formats.nulls,
                    types=types,
                    existing=self._failed_in_earlier_runs,
                )
            self._failed.keep(chunk, index, location, failure.reason)
        if self._outcomes is not None:
            self._outcomes.note_failed(index)
        max_errors = self._options.max_errors
        if max_errors is not None and self.report.failed > max_errors:
            raise LoadError(
                str(failure)
                if max_errors == 0
                else f"more than max_errors={max_errors} rows failed, the last one: {failure}",
                self.report,
            ) from error

    def _end_of(self, chunk: Chunk) -> None:
        """Save the checkpoint after the last request of a chunk."""
        report = self.report
        done = DoneRows(
            report.skipped + report.read,
            report.skipped_failed + report.failed,
            report.skipped_not_applied + report.not_applied,
        )
        if self._options.failed_rows is not None:
            self._failed_size = size_of(self._options.failed_rows)
        self._save(chunk.position, done)
        # Set these after the checkpoint is saved. Control-C may interrupt any line: if it does so
        # before, `_save_unfinished_chunk` still has the outcomes of this chunk.
        self._done, self._outcomes = done, None

    def _save_unfinished_chunk(self) -> None:
        """Save a checkpoint in the middle of a chunk, before its first row without an outcome (that
        is neither written nor failed).

        Requests in flight may still be executed: their rows do not count as written.
        """
        if self._outcomes is None or self._options.checkpoint is None:
            return
        chunk = self._outcomes.chunk
        first_rows = self._outcomes.first_rows()
        if first_rows.total:
            row = chunk.position.row - chunk.size + first_rows.total
            done = DoneRows(*map(sum, zip(self._done, first_rows, strict=True)))
            # The error that ends the load matters more than an error of the disk.
            with suppress(OSError):
                self._save(Position(chunk.position.file, row), done)

    def _save(self, position: Position, done: DoneRows) -> None:
        """Save the checkpoint.

        :param position: where another run begins.
        :param done: the numbers of rows before this position, by outcome.
        """
        # A run that resumes skips the failed rows too, so their file must be on disk first.
        if self._failed is not None:
            self._failed.sync()
        path = self._options.failed_rows
        self._checkpoint.save(
            file=position.file,
            row=position.row,
            rows=done.total,
            failed=done.failed,
            not_applied=done.not_applied,
            failed_rows=None
            if path is None
            else {"path": os.path.realpath(path), "size": self._failed_size},
        )


def _message_of(error: Exception) -> str:
    """Return the message of an error. The name of the class comes first for errors of user code,
    and for errors without a message.
    """
    is_ours = isinstance(error, (ValueError, OSError, DriverException)) and str(error)
    return str(error) if is_ours else f"{type(error).__name__}: {error}"


# -- the blocking and the asyncio API --------------------------------------------------------------


def _profile_of(session: BulkSession, options: LoadOptions) -> Any:
    """Return the execution profile of the requests, with the option `timeout`.

    None stands for the session's default profile.
    """
    profile = options.execution_profile
    if options.timeout is None:
        return profile
    # Set the timeout on a copy, because the application's profile must not change.
    return session.execution_profile_clone_update(
        EXEC_PROFILE_DEFAULT if profile is None else profile, request_timeout=options.timeout
    )


def load(
    session: Session,
    target: str | PreparedStatement,
    source: object,
    options: LoadOptions,
    is_plain: bool = False,
) -> LoadReport:
    """Load rows with a blocking session; see `LoadOptions`.

    :param session: the session.
    :param target: the name of a table, or a prepared statement.
    :param source: the source of the rows.
    :param options: see `LoadOptions`.
    :param is_plain: True if the rows already have CQL values: they are bound without converters
        (`Session.codecs`).
    """
    profile = _profile_of(session, options)
    session = plain_session(session)
    steps = Load(session, target, source, options, is_plain).steps()
    return drive(steps, lambda step: _carry_out(session, step, profile))


def _carry_out(session: Session, step: Step, profile: ExecutionProfile | str | None) -> Any:
    """Carry out a step of a load with a blocking session, and return its result."""
    if isinstance(step, Requests):
        return execute_each(session, step.statements, step.concurrency, step.on_outcome, profile)
    if isinstance(step, Work):
        return step.future.result()
    if isinstance(step, Pause):
        return _threads.sleep(step.seconds)
    # The only other step is `Prepare`.
    return session.prepare(step.text)


async def aload(
    session: AsyncSession,
    target: str | PreparedStatement,
    source: object,
    options: LoadOptions,
    is_plain: bool = False,
) -> LoadReport:
    """Load rows with a session of `cassandra.aio`; see `LoadOptions`.

    :param session: the session.
    :param target: the name of a table, or a prepared statement.
    :param source: the source of the rows.
    :param options: see `LoadOptions`.
    :param is_plain: True if the rows already have CQL values: they are bound without converters
        (`Session.codecs`).
    """
    profile = _profile_of(session, options)
    session = plain_session(session)
    steps = Load(session, target, source, options, is_plain).steps()
    return await adrive(steps, lambda step: _acarry_out(session, step, profile))


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
    # The only other step is `Prepare`.
    return await session.prepare(step.text)
