"""The report of a load: its counts, and the rows that could not be written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cassandra._habits import LOAD_REPORT, add_habits
from cassandra.errors import DriverException, NoHostAvailable

MOST_FAILURES = 100  # the maximum number of failed rows that a report describes
MOST_EXAMPLES = 10  # how many of these rows `str(report)` shows
# What the errors of a load and a copy say if the table is another one at the end.
LOST_ROWS = (
    "was dropped and created again meanwhile, so rows that were acknowledged before that are lost"
)


@dataclass(frozen=True)
class RowFailure:
    """A row that was not written.

    If the statement is not idempotent and no server has answered, the row may be in the table all
    the same: `reason` says so.

    :param place: the location of the row: the file and the line, or the number of the row.
    :param error: why the row was not written.
    """

    place: str
    error: BaseException

    @property
    def reason(self) -> str:
        """The message of the error, with its notes (`__notes__`).

        A note says, for example, that a collection has a null inside. We remove the beginning "row
        0: ", which is misleading: a row that cannot be bound is finally bound alone, so the message
        always calls it row 0.
        """
        reason = str(self.error).removeprefix("row 0: ")
        for note in _notes_of(self.error):
            is_new_sentence = note[:1] != "(" and not reason.endswith((".", "!", "?"))
            reason += f"{'.' if is_new_sentence else ''} {note}"
        return reason

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


def _notes_of(error: BaseException) -> list[str]:
    """Return the notes of an error that say more about the row.

    We leave out the note with the host and the statement: all rows have the same statement.
    """
    errors = [error, *(error.errors.values() if isinstance(error, NoHostAvailable) else ())]
    notes = [note for each in errors for note in getattr(each, "__notes__", ())]
    return list(dict.fromkeys(note for note in notes if not note.startswith("(from ")))


@dataclass
class LoadReport:
    """The outcome of a load.

    :param target: the table, or the CQL of the statement.
    :param read: the number of rows that were read.
    :param written: the number of rows that servers have acknowledged.
    :param failed: the number of rows that were not written.
    :param not_applied: the number of rows whose condition (``IF NOT EXISTS``) did not hold, so that
        nothing was written.
    :param skipped: the number of rows that earlier runs have done, according to the checkpoint:
        they were written, or failed.
    :param requests: the number of requests that were sent.
    :param retries: how many of the requests were sent again after an error.
    :param bytes: the size of the values that were written.
    :param seconds: the duration in seconds.
    :param is_dry: True for a dry run, which sends nothing.
    :param failures: the first 100 rows that were not written.
    :param skipped_failed: how many of the skipped rows have failed.
    :param skipped_not_applied: for how many of the skipped rows the condition did not hold.
    """

    target: str
    read: int = 0
    written: int = 0
    failed: int = 0
    skipped: int = 0
    requests: int = 0
    retries: int = 0
    bytes: int = 0
    seconds: float = 0.0
    is_dry: bool = False
    failures: list[RowFailure] = field(default_factory=list)
    not_applied: int = 0
    skipped_failed: int = 0
    skipped_not_applied: int = 0

    @property
    def rows_per_second(self) -> float:
        """Rows written per second; for a dry run, rows read per second."""
        done = self.read if self.is_dry else self.written
        return done / self.seconds if self.seconds else 0.0

    def note_failure(self, failure: RowFailure) -> None:
        """Count a row that was not written.

        :param failure: the row.
        """
        self.failed += 1
        if len(self.failures) < MOST_FAILURES:
            self.failures.append(failure)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        values = {name: value for name, value in vars(self).items() if name != "failures"}
        values["failures"] = [str(failure) for failure in self.failures]
        values["rows_per_second"] = self.rows_per_second
        return values

    def __str__(self) -> str:
        verb = "would be written" if self.is_dry else "written"
        row_count = self.read - self.failed if self.is_dry else self.written
        retried = f", {self.retries:,} retried" if self.retries else ""
        # Begin with the rows that were written. Then describe the rows that were not written.
        lines = [
            f"{counted(row_count, 'row')} {verb} to {self.target} in {self.seconds:.1f} s "
            f"({self.rows_per_second:,.0f} rows/s, {self.bytes:,} bytes, "
            f"{counted(self.requests, 'request')}{retried})"
        ]
        if self.skipped:
            lines.append(self._skipped_line())
        if self.not_applied:
            were = "was not applied: its" if self.not_applied == 1 else "were not applied: their"
            lines.append(f"{counted(self.not_applied, 'row')} {were} condition was not met")
        if self.failed:
            lines.append(f"{counted(self.failed, 'row')} failed:")
            lines += [f"  {failure}" for failure in _examples(self.failures)]
            if self.failed > MOST_EXAMPLES:
                lines.append(f"  ... and {self.failed - MOST_EXAMPLES:,} more")
        return "\n".join(lines)

    def _skipped_line(self) -> str:
        """Return the line about rows that earlier runs of the load have done."""
        written = self.skipped - self.skipped_failed - self.skipped_not_applied
        outcomes = [f"{written:,} written"]
        if self.skipped_failed:
            outcomes.append(f"{self.skipped_failed:,} failed")
        if self.skipped_not_applied:
            outcomes.append(f"{self.skipped_not_applied:,} not applied")
        verb = "row was" if self.skipped == 1 else "rows were"
        return f"{self.skipped:,} {verb} done by earlier runs: {', '.join(outcomes)}"


def _examples(failures: Sequence[RowFailure]) -> list[RowFailure]:
    """Return ten of the failures in their order, including the first failure of each kind.

    Two failures are of the same kind if their reasons only differ in numbers and quoted values.
    """
    first_of_kind: dict[str, int] = {}
    for index, failure in enumerate(failures):
        # The name of the column distinguishes kinds, although it is quoted.
        column = re.match(r"column '[^']*'", failure.reason)
        kind = re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "", failure.reason)
        first_of_kind.setdefault(f"{column[0] if column else ''} {kind}", index)
    indexes = dict.fromkeys([*first_of_kind.values(), *range(len(failures))])
    return [failures[index] for index in sorted(list(indexes)[:MOST_EXAMPLES])]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 row", "2,000 rows".

    :param number: a count of rows, requests or files.
    :param noun: the singular noun, whose plural ends in s.
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class LoadError(DriverException):
    """A load ended early: too many rows failed, or the source cannot be read.

    :param message: the cause.
    :param report: what the load had done when it ended.
    """

    def __init__(self, message: str, report: LoadReport) -> None:
        super().__init__(message)
        self.report = report


add_habits(
    LoadReport,
    LOAD_REPORT,
    operations={"__getitem__": "write report.written, or report.as_dict()['written']"},
)
