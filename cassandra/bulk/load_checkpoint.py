"""The checkpoint of a load: the position in the source at which another run resumes.

`LoadCheckpoint` saves this position at the end of each chunk. In the middle of a chunk it saves the
position of the first row that has no outcome, and which rows after it have one (`RowsAhead`): every
`SAVE_SECONDS`, and if the load is interrupted (Control-C, or a cancelled task). Another run with
the same checkpoint skips the rows before the position and these later rows, and writes all other
rows. The interrupted run may already have written some of those. So loads of counters, and of
statements that are not idempotent, cannot have a checkpoint.

Rows with the same key are still written in their order: the second row of a key is only sent after
the first row has an outcome. So if a row is written again, all later rows of its key are written
again, too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cassandra._clocks import monotonic
from cassandra.bulk.checkpoint import Checkpoint, describe_cluster, describe_files, describe_id
from cassandra.bulk.chunks import Chunk, Position
from cassandra.bulk.columns import reading_of_names
from cassandra.bulk.failed_rows import FailedRows
from cassandra.bulk.outcomes import DoneRows, Outcomes
from cassandra.bulk.report import LoadReport
from cassandra.bulk.rows_ahead import RowsAhead
from cassandra.bulk.sources import fields_of_each, files_of
from cassandra.bulk.target import Traits, full_name, written_table
from cassandra.query.prepared import PreparedStatement

if TYPE_CHECKING:
    from cassandra.bulk.options import LoadOptions
    from cassandra.metadata import Metadata
    from cassandra.metadata.schema.tables import TableMetadata

SAVE_SECONDS = 10.0  # a checkpoint is at most this old while requests succeed

# The error message for a load of counters that has a checkpoint.
COUNTED_TWICE = (
    "counters and checkpoint exclude each other: rows since the last checkpoint are written twice, "
    "and so would be added twice"
)


def subject_of_load(
    metadata: Metadata,
    target: TableMetadata | PreparedStatement,
    source: object,
    options: LoadOptions,
) -> dict[str, Any]:
    """Return the subject of a load's checkpoint, which describes and identifies the load.

    :param metadata: the metadata of the cluster.
    :param target: the table, or the prepared statement.
    :param source: the list of files, or another source of rows.
    :param options: the options of the load.
    :raises ValueError: if the source has no files and the options do not name the rows.
    """
    subject: dict[str, Any] = {
        "work": "load",
        "cluster": describe_cluster(metadata),
        "options": options.subject_options(),
    }
    if isinstance(target, PreparedStatement):
        subject["table"] = f"{target.table_keyspace}.{target.table}"
        subject["statement"] = target.query_string
        subject["table_id"] = describe_id(written_table(metadata, target))
    else:
        subject["table"] = full_name(target)
        subject["table_id"] = describe_id(target)
    # The paths of files identify the rows in them. For any other source, the application must name
    # the rows (`checkpoint_name`).
    files = files_of(source)
    if files is not None:
        if options.checkpoint_name is not None:
            raise ValueError(
                "checkpoint_name= has no effect on files, whose paths, sizes and times say what "
                "they are: leave it out"
            )
        subject["files"] = describe_files(files)
        return subject
    if options.checkpoint_name is None:
        raise ValueError(
            f"a checkpoint= for {type(source).__name__} needs checkpoint_name=, which says "
            "what these rows are: they have no path, size or time by which another run could "
            "know them"
        )
    count = len(source) if hasattr(source, "__len__") else None
    # For a source without files, `fields_of_each` returns one pair: its description and its field
    # names.
    columns = fields_of_each(source, reading_of_names(options))[0][1]
    subject["rows"] = {"name": options.checkpoint_name, "count": count, "columns": columns}
    return subject


def check_repeatable(traits: Traits) -> None:
    """Raise ValueError if a load must not write rows twice. Such a load must not have a checkpoint.

    A load that resumes from a checkpoint writes some rows after the checkpoint again.

    :param traits: the traits of the load's statement.
    """
    if traits.is_counter:
        raise ValueError(COUNTED_TWICE)
    if not traits.is_idempotent and traits.has_lists:
        raise ValueError(
            "a write time excludes a checkpoint if a list that is not frozen is written: rows "
            "since the last checkpoint are written twice, and so would be the elements of their "
            "lists"
        )
    if not traits.is_idempotent:
        raise ValueError(
            "checkpoint needs a statement that may be executed twice, because rows since the "
            "last checkpoint are: if this one may, set its is_idempotent to True"
        )


class LoadCheckpoint:
    """Saves how far a load has got, and counts the rows by outcome.

    The constructor takes over the counts of earlier runs from the file.

    The attribute `begin` is the position at which this run begins, and `ahead` has the rows after
    it that earlier runs have done. `outcomes` has the outcomes of the rows of the current chunk; it
    is None between two chunks.

    :param file: the file of the checkpoint.
    :param report: the report of the load. The counts of earlier runs are written to it.
    :param failed_rows: the file of failed rows; None if the load writes none.
    :param clock: returns a monotonic time in seconds.
    """

    def __init__(
        self,
        file: Checkpoint,
        report: LoadReport,
        failed_rows: FailedRows | None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._file = file
        self._clock = clock
        self._saved_at = clock()  # the time of the last attempt to save
        self.report = report
        self._failed_rows = failed_rows
        # An appended entry has the whole state, so the last entry replaces everything before it.
        state = file.entries[-1] if file.entries else file.state
        self.begin = Position(int(state.get("file", 0)), int(state.get("row", 0)))
        self.ahead = RowsAhead.from_text(self.begin, str(state.get("ahead", "")))
        report.skipped = int(state.get("rows", 0))
        report.skipped_failed = int(state.get("failed", 0))
        report.skipped_not_applied = int(state.get("not_applied", 0))
        # The counts of all rows before the current chunk: rows of complete chunks, and rows that
        # earlier runs have done.
        self._done = DoneRows(report.skipped, report.skipped_failed, report.skipped_not_applied)
        # The size in bytes of the file of failed rows at the end of the last complete chunk. The
        # checkpoint stores this size. Rows beyond it have failed after the checkpoint was saved, so
        # another run reads them again.
        self._failed_size = 0
        # The name of this load in the file of failed rows.
        self._load = uuid4().hex[:12]
        if failed_rows is not None:
            self._failed_size = failed_rows.size
            file_state = state.get("failed_rows") or {}
            # Use the name of the earlier run: it tells the rows of this load from rows of other
            # loads with the same numbers.
            self._load = file_state.get("load", self._load)
            if file.path is not None:
                failed_rows.name_load(self._load)
            if file_state.get("path") == failed_rows.path:
                self._failed_size = int(file_state["size"])
                failed_rows.skip_rows_after(self._failed_size)
        self.outcomes: Outcomes | None = None
        # False if the primary key is unknown, so that rows with the same key are sent in any order.
        # Then the checkpoint only has a position: all rows after it are written again, to keep
        # their order as far as possible.
        self.keeps_rows_ahead = True

    def begin_chunk(self, chunk: Chunk) -> None:
        """Start to collect the outcomes of a chunk's rows in `outcomes`.

        :param chunk: the next chunk of the source.
        """
        self.outcomes = Outcomes(chunk, self.ahead.in_chunk(chunk))

    def end_chunk(self, chunk: Chunk) -> None:
        """Save the position after a chunk in which each row has an outcome.

        :param chunk: the current chunk.
        :raises OSError: if the checkpoint cannot be saved.
        """
        report = self.report
        # The counts of all chunks up to this one, including the chunks of earlier runs.
        done = DoneRows(
            report.skipped + report.read,
            report.skipped_failed + report.failed,
            report.skipped_not_applied + report.not_applied,
        )
        if self._failed_rows is not None:
            self._failed_size = self._failed_rows.size
        self._save(chunk.position, done, self.ahead.after(chunk.position))
        # Set these after the checkpoint is saved. Control-C may interrupt at any line: if it
        # interrupts the save, `save_unfinished_chunk` still has the outcomes of this chunk.
        self._done, self.outcomes = done, None

    def save_if_due(self) -> None:
        """Save a position in the middle of the chunk if the last save was `SAVE_SECONDS` ago.

        A chunk may take minutes, for example if the table has a vector index.
        """
        if self._file.path is not None and self._clock() - self._saved_at >= SAVE_SECONDS:
            # Set the time even if no position can be saved yet: looking for a position takes time,
            # so the next attempt must wait for the whole interval.
            self._saved_at = self._clock()
            self.save_unfinished_chunk()

    def save_unfinished_chunk(self) -> None:
        """Save a position in the middle of the current chunk, and the rows after it that are done.

        The position is before the first row that is not done. See `DoneRows` for what "done" means.
        Requests in flight may still be executed, but their rows do not count as written.
        """
        if self.outcomes is None or self._file.path is None:
            return
        chunk = self.outcomes.chunk
        flags, counts = self.outcomes.done(are_first=not self.keeps_rows_ahead)
        if counts.total:
            first_rows = len(flags) - len(flags.lstrip(b"\1"))
            # A chunk's position is the position after its last row.
            row = chunk.position.row - chunk.size + first_rows
            # Add the counts of this chunk to the counts of all earlier chunks, field by field.
            done = DoneRows(*map(sum, zip(self._done, counts, strict=True)))
            # Add the rows after this chunk that an earlier run has done: its chunk may have ended
            # later.
            flags += self.ahead.after(chunk.position)
            # Ignore an error of the disk here: it would hide the error that ends the load.
            with suppress(OSError):
                self._save(Position(chunk.position.file, row), done, flags[first_rows:])

    def _save(self, position: Position, done: DoneRows, flags: bytes | bytearray) -> None:
        """Save the checkpoint.

        :param position: where another run begins.
        :param done: the numbers of all rows that are done, by outcome.
        :param flags: which rows after the position are done: see `RowsAhead`.
        """
        ahead = RowsAhead(position, flags)
        failed_rows = self._failed_rows
        # A run that resumes also skips the failed rows, so their file must be on disk first.
        if failed_rows is not None:
            failed_rows.sync()
        self._saved_at = self._clock()
        state = {
            "file": position.file,
            "row": position.row,
            "rows": done.total,
            "failed": done.failed,
            "not_applied": done.not_applied,
            **({"ahead": ahead.as_text()} if ahead else {}),
            "failed_rows": None
            if failed_rows is None
            else {"path": failed_rows.path, "size": self._failed_size, "load": self._load},
        }
        # Append the state if the file is long, which it is if the source has thousands of files:
        # the file describes each of them, so replacing it would take longer than loading a small
        # file.
        if not (self._file.is_long and self._file.append(state)):
            self._file.save(**state)

    def remove(self) -> None:
        """Delete the checkpoint, because all rows have an outcome."""
        self._file.remove()

    @property
    def resume_hint(self) -> str:
        """Advice on how to continue the load, for the end of an error message.

        "" if the load has no checkpoint.
        """
        if self._file.path is None:
            return ""
        return "; run the load again with the same checkpoint when the servers are back"
