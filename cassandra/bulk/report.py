"""Reports of loads: counts, and the rows that could not be written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cassandra.errors import DriverException

__all__ = ["LoadError", "LoadReport", "RowFailure", "counted"]

MOST_FAILURES = 100


@dataclass(frozen=True)
class RowFailure:
    """A row that was not written.

    :param place: where it stands: file and line, or its number.
    :param error: why.
    """

    place: str
    error: BaseException

    @property
    def reason(self) -> str:
        """The error's text, without the number that the row had when it was bound alone."""
        return str(self.error).removeprefix("row 0: ")

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass
class LoadReport:
    """The outcome of a load.

    :param target: the table, or the text of the statement.
    :param read: rows that were read.
    :param written: rows that servers have acknowledged.
    :param failed: rows that were not written.
    :param not_applied: rows whose condition (``IF NOT EXISTS``) did not hold, so that servers wrote
        nothing.
    :param skipped: rows that an earlier run had done, as its checkpoint says.
    :param requests: how many requests were sent.
    :param retries: how many of them again.
    :param bytes: of the values that were written.
    :param seconds: how long it took.
    :param is_dry: True if nothing was sent.
    :param failures: the first 100 rows that were not written.
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

    @property
    def rows_per_second(self) -> float:
        """Rows written in a second; rows read if it was a dry run."""
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
        """Return it as JSON has it."""
        found = {name: value for name, value in vars(self).items() if name != "failures"}
        found["failures"] = [str(one) for one in self.failures]
        found["rows_per_second"] = self.rows_per_second
        return found

    def __str__(self) -> str:
        verb = "would be written" if self.is_dry else "written"
        done = self.read - self.failed if self.is_dry else self.written
        retried = f", {self.retries:,} retried" if self.retries else ""
        lines = [
            f"{counted(done, 'row')} {verb} to {self.target} in {self.seconds:.1f} s "
            f"({self.rows_per_second:,.0f} rows/s, {self.bytes:,} bytes, "
            f"{counted(self.requests, 'request')}{retried})"
        ]
        if self.skipped:
            lines.append(
                f"{self.skipped:,} rows were skipped: the checkpoint says that they are written"
            )
        if self.not_applied:
            lines.append(f"{self.not_applied:,} rows were not applied: their condition was not met")
        if self.failed:
            lines.append(f"{self.failed:,} rows failed:")
            lines += [f"  {one}" for one in self.failures[:10]]
            if self.failed > 10:
                lines.append(f"  ... and {self.failed - 10:,} more")
        return "\n".join(lines)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 row", "2,000 rows".

    :param number: how many there are.
    :param noun: in the singular; its plural ends in s.
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class LoadError(DriverException):
    """A load ended before its source did: more rows failed than may, or the source cannot be read.

    :param message: the cause.
    :param report: of the rows until then.
    """

    def __init__(self, message: str, report: LoadReport) -> None:
        super().__init__(message)
        self.report = report
