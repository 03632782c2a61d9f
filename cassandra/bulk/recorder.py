"""Records the outcome of each row of a load.

A load reads its rows in chunks. It divides the requests of a chunk into waves, and sends one wave
after another: see `cassandra.bulk.sender`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra.bulk.binding import Bound, Wave
from cassandra.bulk.chunks import Chunk
from cassandra.bulk.failed_rows import FailedRows
from cassandra.bulk.load_checkpoint import LoadCheckpoint
from cassandra.bulk.progress import Progress
from cassandra.bulk.report import LoadError, LoadReport, RowFailure

if TYPE_CHECKING:
    from cassandra.bulk.grouping import Group


class Recorder:
    """Records the outcome of each row of a load.

    It counts the outcomes in the report, records them for the checkpoint, and writes failed rows to
    their file. It ends the load if too many rows have failed.

    :param report: the report of the load.
    :param checkpoint: the checkpoint of the load.
    :param failed_rows: the file of failed rows; None if failed rows are only counted.
    :param progress: shows how many rows are done.
    :param max_errors: the maximum number of failed rows; None for no limit.
    """

    def __init__(
        self,
        report: LoadReport,
        checkpoint: LoadCheckpoint,
        failed_rows: FailedRows | None,
        progress: Progress,
        max_errors: int | None,
    ) -> None:
        self._report = report
        self._checkpoint = checkpoint
        self._failed_rows = failed_rows
        self._progress = progress
        self._max_errors = max_errors

    def note_read(self, bound: Bound) -> None:
        """Record a chunk that was read and bound. Rows that could not be bound count as failed.

        In a dry run, all other rows are done after this.

        :param bound: the chunk.
        :raises LoadError: if too many rows have failed.
        """
        self._report.read += bound.chunk.size - bound.skipped_count
        for index, error in bound.failures:
            self.note_failed(bound.chunk, index, error)
        if self._report.is_dry:
            self._progress.add(bound.row_count)
            self._report.bytes += bound.size

    def note_answer(self, wave: Wave, group: Group, is_applied: bool) -> None:
        """Record that a server has executed a request.

        :param wave: the wave that has the request; see `Wave`.
        :param group: the rows of the request.
        :param is_applied: False if the IF condition of the request did not hold.
        """
        if is_applied:
            self._report.written += len(group)
            self._report.bytes += group.size
        else:
            self._report.not_applied += len(group)
        if self._checkpoint.outcomes is not None:
            self._checkpoint.outcomes.note_group(wave.row_numbers, group.rows, is_applied)

    def note_slice(self, request_count: int, row_count: int) -> None:
        """Count requests that were sent, show the progress, and save the checkpoint if it is due.

        :param request_count: the number of requests.
        :param row_count: the number of rows in the requests that servers have executed.
        """
        self._report.requests += request_count
        self._progress.add(row_count)
        self._checkpoint.save_if_due()

    def note_retries(self, request_count: int) -> None:
        """Count requests that will be sent again.

        :param request_count: the number of requests.
        """
        self._report.retries += request_count

    def note_failed(self, chunk: Chunk, index: int, error: BaseException) -> None:
        """Record a row that cannot be written.

        :param chunk: the current chunk.
        :param index: the row's index in the chunk.
        :param error: why the row cannot be written.
        :raises LoadError: if too many rows have failed.
        """
        location = chunk.location(index)
        failure = RowFailure(str(location), error)
        self._report.note_failure(failure)
        if self._failed_rows is not None:
            self._failed_rows.keep(chunk, index, location, failure.reason)
        if self._checkpoint.outcomes is not None:
            self._checkpoint.outcomes.note_failed(index)
        max_errors = self._max_errors
        if max_errors is not None and self._report.failed > max_errors:
            raise LoadError(
                str(failure)
                if max_errors == 0
                else f"more than max_errors={max_errors} rows failed, the last one: {failure}",
                self._report,
            ) from error

    def outage(self, error: BaseException) -> LoadError:
        """Return the error for a load that ends because no server can be reached.

        :param error: the error of the last attempt.
        """
        hint = self._checkpoint.resume_hint
        return LoadError(f"no server can be reached: {error}{hint}", self._report)
