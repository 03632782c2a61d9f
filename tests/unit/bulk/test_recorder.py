"""Test `Recorder`, which counts the outcomes of a load's rows and ends the load at `max_errors`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cassandra.bulk import LoadError, LoadReport
from cassandra.bulk.binding import Bound, Wave
from cassandra.bulk.checkpoint import Checkpoint
from cassandra.bulk.chunks import Chunk, Column, Position
from cassandra.bulk.failed_rows import FailedRows
from cassandra.bulk.load_checkpoint import LoadCheckpoint
from cassandra.bulk.progress import Progress
from cassandra.bulk.recorder import Recorder
from cassandra.cqltypes import Int32Type

CHUNK = Chunk(
    [(1,), (2,), (3,)], size=3, source=None, first=1, lines=None, position=Position(0, 3), raw=None
)


class Rows:
    """The rows of a request, like the driver's `Group`; `size` is the bytes of their values."""

    size = 10

    def __init__(self, *rows: int) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)


def recorder_of(
    report: LoadReport, failed_rows: FailedRows | None = None, max_errors: int | None = None
) -> tuple[Recorder, LoadCheckpoint]:
    """Return a recorder in the middle of `CHUNK`, and its checkpoint, which is not saved."""
    checkpoint = LoadCheckpoint(Checkpoint(path=None, subject={}), report, failed_rows)
    checkpoint.begin_chunk(CHUNK)
    progress = Progress(is_shown=False)
    return Recorder(report, checkpoint, failed_rows, progress, max_errors), checkpoint


def test_the_outcome_of_each_row_is_in_the_report_and_in_the_checkpoint(tmp_path: Path) -> None:
    """The report and the checkpoint count rows that fail, are written, or are not applied.

    Of three rows, the first is written, the second cannot be bound, and the condition of the third
    is false. `done` returns which rows have an outcome, and how many rows have one, have failed,
    and were not applied.
    """
    path, report = tmp_path / "failed", LoadReport("t")
    failed_rows = FailedRows(path, [Column("id", Int32Type)], ["id"], mapping={}, nulls=("",))
    recorder, checkpoint = recorder_of(report, failed_rows)
    # Row 1 of the chunk cannot be bound, so rows 0 and 1 of the wave are rows 0 and 2 of the chunk.
    recorder.note_read(
        Bound(CHUNK, waves=[], row_count=2, size=20, failures=[(1, ValueError("no"))])
    )
    assert report.read == 3
    assert report.failed == 1
    assert report.bytes == 0
    wave = Wave(prepared=None, groups=[], row_numbers=[0, 2])  # type: ignore[arg-type]
    recorder.note_answer(wave, Rows(0), is_applied=True)  # type: ignore[arg-type]
    assert report.written == 1
    assert report.not_applied == 0
    assert report.bytes == 10
    assert checkpoint.outcomes is not None
    flags, counts = checkpoint.outcomes.done()
    assert (list(flags), tuple(counts)) == ([1, 1, 0], (2, 1, 0))
    recorder.note_answer(wave, Rows(1), is_applied=False)  # type: ignore[arg-type]
    assert report.written == 1
    assert report.not_applied == 1
    assert report.bytes == 10
    flags, counts = checkpoint.outcomes.done()
    assert (list(flags), tuple(counts)) == ([1, 1, 1], (3, 1, 1))
    recorder.note_slice(request_count=2, row_count=2)
    recorder.note_retries(request_count=1)
    assert report.requests == 2
    assert report.retries == 1
    failed_rows.close()
    (line,) = path.read_text().splitlines()
    assert json.loads(line) == {
        "id": 2,
        "_source": None,
        "_row": 2,
        "_line": None,
        "_error": "no",
    }


def test_a_dry_run_counts_the_bytes_of_the_rows_that_could_be_bound() -> None:
    """A dry run counts the bytes of the rows that could be bound.

    A load counts the bytes of rows when they are written, but a dry run writes no rows.
    """
    report = LoadReport("t", is_dry=True)
    recorder, _ = recorder_of(report)
    recorder.note_read(
        Bound(CHUNK, waves=[], row_count=2, size=20, failures=[(1, ValueError("no"))])
    )
    assert report.read == 3
    assert report.failed == 1
    assert report.bytes == 20
    assert report.written == 0


@pytest.mark.parametrize(
    ("max_errors", "message"),
    [(0, "^row 1: no 0$"), (1, "^more than max_errors=1 rows failed, the last one: row 2: no 1$")],
)
def test_too_many_failed_rows_end_the_load(max_errors: int, message: str) -> None:
    """If more than `max_errors` rows fail, the load ends with the error of the last failed row."""
    report = LoadReport("t")
    recorder, _ = recorder_of(report, max_errors=max_errors)
    errors = [ValueError(f"no {index}") for index in range(3)]
    failures: list[tuple[int, BaseException]] = list(enumerate(errors))
    with pytest.raises(LoadError, match=message) as caught:
        recorder.note_read(Bound(CHUNK, waves=[], row_count=0, size=0, failures=failures))
    assert caught.value.report is report
    assert caught.value.__cause__ is errors[max_errors]
    assert report.failed == max_errors + 1


def test_an_outage_names_the_way_to_resume(tmp_path: Path) -> None:
    """If the load has a checkpoint, the error for an outage says how to continue the load."""
    report = LoadReport("t")
    recorder_without_file, _ = recorder_of(report)
    outage = recorder_without_file.outage(ValueError("gone"))
    assert str(outage) == "no server can be reached: gone"
    checkpoint = LoadCheckpoint(
        Checkpoint(path=tmp_path / "point", subject={}), report, failed_rows=None
    )
    recorder = Recorder(
        report, checkpoint, failed_rows=None, progress=Progress(is_shown=False), max_errors=None
    )
    error = recorder.outage(ValueError("gone"))
    assert str(error).startswith("no server can be reached: gone; run the load again with the same")
    assert error.report is report
