"""Test `LoadCheckpoint`: which position it saves, and what it adopts from a load's earlier runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.bulk.checkpoint import Checkpoint
from cassandra.bulk.chunks import Chunk, Column, Position, RowLocation
from cassandra.bulk.failed_rows import FailedRows, size_of
from cassandra.bulk.load_checkpoint import (
    SAVE_SECONDS,
    LoadCheckpoint,
    check_repeatable,
    subject_of_load,
)
from cassandra.bulk.options import LoadOptions
from cassandra.bulk.report import LoadReport
from cassandra.bulk.target import Traits
from cassandra.cqltypes import Int32Type
from cassandra.metadata import TableMetadata
from cassandra.query import PreparedStatement

# What the checkpoint file says about its load. A later load must have the same subject.
SUBJECT = {"work": "load"}
# The chunk has rows 7 to 10 of the second file. Rows of files are counted from 1, and files from 0.
CHUNK = Chunk(
    [(n,) for n in range(6, 10)],
    size=4,
    source="b.csv",
    first=7,
    lines=None,
    position=Position(file=1, row=10),
    raw=None,
)


def failed_rows(path: Path) -> FailedRows:
    """Open the file of failed rows at `path`, for a table with only the column `id`."""
    return FailedRows(path, [Column("id", Int32Type)], ["id"], mapping={}, nulls=("",))


def fail_row(file: FailedRows, row: int) -> None:
    """Write a failed row with this row number to the file."""
    file.keep(CHUNK, 0, RowLocation("b.csv", row, line=None), "is wrong")


def state_in(path: Path) -> Any:
    """Return the saved state of a checkpoint file: the position and the counts of rows."""
    return json.loads(path.read_text())["state"]


def run_of(path: Path, failed: FailedRows | None = None) -> LoadCheckpoint:
    """Return the checkpoint of a new run, which resumes at the position in the file at `path`.

    :param failed: the run's file of failed rows; None if the run has no such file.
    """
    return LoadCheckpoint(Checkpoint(path, SUBJECT), LoadReport("t"), failed)


# -- positions -------------------------------------------------------------------------------------


def test_the_next_run_begins_after_the_last_complete_chunk(tmp_path: Path) -> None:
    """The end of a chunk saves its position, and the counts of this run and of all earlier runs."""
    path = tmp_path / "point"
    checkpoint = run_of(path)
    assert checkpoint.begin == Position(file=0, row=0)
    report = checkpoint.report
    checkpoint.begin_chunk(CHUNK)
    report.read, report.failed, report.not_applied = 10, 2, 1
    checkpoint.end_chunk(CHUNK)
    assert state_in(path) == {
        "file": 1,
        "row": 10,
        "rows": 10,
        "failed": 2,
        "not_applied": 1,
        "failed_rows": None,
    }
    # Between two chunks, `save_unfinished_chunk` changes nothing.
    content_before = path.read_bytes()
    checkpoint.save_unfinished_chunk()
    assert path.read_bytes() == content_before
    # The next run adds its counts to the counts of this run.
    next_run = run_of(path)
    report = next_run.report
    assert next_run.begin == Position(file=1, row=10)
    assert report.skipped == 10
    assert report.skipped_failed == 2
    assert report.skipped_not_applied == 1
    report.read = report.failed = 4
    next_run.end_chunk(CHUNK)
    assert (state_in(path)["rows"], state_in(path)["failed"]) == (14, 6)
    next_run.remove()
    assert not path.exists()


def test_an_unfinished_chunk_is_saved_with_the_rows_ahead_that_are_done(tmp_path: Path) -> None:
    """The checkpoint of an unfinished chunk has the rows that are done after its position.

    The position is that of the first row without an outcome. If a key occurs twice, its second row
    is sent long after the rows around it. So without the later rows, runs that are stopped early
    would make no progress. The rows of the chunk are counted from 0 here.
    """
    path = tmp_path / "point"
    checkpoint = run_of(path)
    checkpoint.begin_chunk(CHUNK)
    assert checkpoint.outcomes is not None
    # Row 1 of the chunk is written, but row 0 has no outcome yet. Six rows of the file precede the
    # chunk.
    checkpoint.outcomes.note_group(range(4), [1], is_applied=True)
    checkpoint.save_unfinished_chunk()
    assert (state_in(path)["row"], state_in(path)["rows"]) == (6, 1)
    assert run_of(path).ahead.in_chunk(CHUNK) == [1]
    checkpoint.outcomes.note_failed(0)
    checkpoint.outcomes.note_group(range(4), [3], is_applied=True)
    checkpoint.save_unfinished_chunk()
    # Rows 0, 1 and 3 of the chunk have outcomes, so the next run begins after row 8 of the file.
    state = state_in(path)
    assert state["file"] == 1
    assert state["row"] == 8
    assert state["rows"] == 3
    assert state["failed"] == 1


def test_rows_ahead_stay_in_the_checkpoint_while_chunks_are_smaller(tmp_path: Path) -> None:
    """If the chunks of the next run are smaller, rows after them are still known to be done."""
    path = tmp_path / "point"
    first_run = run_of(path)
    first_run.begin_chunk(CHUNK)
    assert first_run.outcomes is not None
    first_run.outcomes.note_group(range(4), [0, 2, 3], is_applied=True)
    first_run.save_unfinished_chunk()
    # This chunk has rows 1 and 2 of the chunk of the first run. Row 2 is done.
    chunk = CHUNK._replace(size=2, first=8, position=Position(file=1, row=9))
    next_run = run_of(path)
    assert (next_run.begin.row, next_run.report.skipped) == (7, 3)
    next_run.begin_chunk(chunk)
    # Without a new outcome, nothing is saved.
    content_before = path.read_bytes()
    next_run.save_unfinished_chunk()
    assert path.read_bytes() == content_before
    assert next_run.outcomes is not None
    next_run.outcomes.note_group([0], [0], is_applied=True)
    next_run.save_unfinished_chunk()
    assert (state_in(path)["row"], state_in(path)["rows"]) == (9, 4)
    # Only row 1 was read by this run, because row 2 was skipped.
    next_run.report.read = 1
    next_run.end_chunk(chunk)
    assert (state_in(path)["row"], state_in(path)["rows"]) == (9, 4)
    third_run = run_of(path)
    last = CHUNK._replace(size=1, position=Position(file=1, row=10))
    assert third_run.ahead.in_chunk(last) == [0]
    third_run.end_chunk(last)
    assert "ahead" not in state_in(path)


def test_a_long_chunk_is_saved_from_time_to_time(tmp_path: Path) -> None:
    """`save_if_due` saves if SAVE_SECONDS have passed since the last save or the chunk's start."""
    path = tmp_path / "point"
    now = 100.0
    checkpoint = LoadCheckpoint(
        Checkpoint(path, SUBJECT), LoadReport("t"), failed_rows=None, clock=lambda: now
    )
    checkpoint.begin_chunk(CHUNK)
    assert checkpoint.outcomes is not None
    checkpoint.outcomes.note_group(range(4), [0, 1], is_applied=True)
    now += SAVE_SECONDS - 0.1
    checkpoint.save_if_due()
    assert not path.exists()
    now += 0.1
    checkpoint.save_if_due()
    # Six rows of the file precede the chunk, and two rows of the chunk are written: 6 + 2 = 8.
    assert (state_in(path)["row"], state_in(path)["rows"]) == (8, 2)
    checkpoint.outcomes.note_group(range(4), [2], is_applied=True)
    # One second after the last save, the third row is not saved yet.
    now += 1.0
    checkpoint.save_if_due()
    assert state_in(path)["row"] == 8
    now += SAVE_SECONDS
    checkpoint.save_if_due()
    assert state_in(path)["row"] == 9
    # The end of a chunk also saves, so the next save is due SAVE_SECONDS later.
    checkpoint.end_chunk(CHUNK)
    checkpoint.begin_chunk(CHUNK)
    checkpoint.outcomes.note_group(range(4), [0, 1, 2, 3], is_applied=True)
    now += SAVE_SECONDS - 0.1
    checkpoint.save_if_due()
    assert state_in(path)["row"] == 10


def test_the_checkpoint_of_many_files_is_not_replaced_after_each(tmp_path: Path) -> None:
    """If a checkpoint describes thousands of files, the position is appended to it."""
    path = tmp_path / "point"
    subject = {**SUBJECT, "files": [{"path": f"{number:0>200}"} for number in range(1000)]}
    checkpoint = LoadCheckpoint(Checkpoint(path, subject), LoadReport("t"), None)
    inodes: set[int] = set()
    lengths: list[int] = []
    for number in range(200):
        checkpoint.report.read += 4
        checkpoint.begin_chunk(CHUNK)
        checkpoint.end_chunk(CHUNK._replace(position=Position(number, 4)))
        inodes.add(path.stat().st_ino)
        lengths.append(path.stat().st_size)
        next_run = LoadCheckpoint(Checkpoint(path, subject), LoadReport("t"), None)
        assert next_run.begin == Position(number, 4)
        assert next_run.report.skipped == checkpoint.report.read
    assert len(inodes) == 1
    assert lengths[-1] < lengths[0] + 200 * 200
    # The next run first saves all of the state.
    next_run.end_chunk(CHUNK)
    content = json.loads(path.read_text())
    assert content["subject"] == subject
    assert content["state"]["row"] == CHUNK.position.row
    next_run.end_chunk(CHUNK._replace(position=Position(5, 4)))
    assert LoadCheckpoint(Checkpoint(path, subject), LoadReport("t"), None).begin == Position(5, 4)


def test_a_disk_error_does_not_hide_the_error_that_ends_the_load(tmp_path: Path) -> None:
    """`save_unfinished_chunk`, which is called after an error, ignores an error of the disk.

    At the end of a chunk there is no other error to hide, so the error of the disk is raised.
    """
    folder = tmp_path / "nowhere"
    folder.mkdir()
    checkpoint = run_of(folder / "point")
    # The folder is there at the beginning, but not any more when the load saves its progress.
    folder.rmdir()
    checkpoint.begin_chunk(CHUNK)
    assert checkpoint.outcomes is not None
    checkpoint.outcomes.note_failed(0)
    checkpoint.save_unfinished_chunk()
    with pytest.raises(FileNotFoundError):
        checkpoint.end_chunk(CHUNK)


def test_without_a_file_nothing_is_saved() -> None:
    """A load without a checkpoint file saves nothing, and suggests no way to resume."""
    checkpoint = LoadCheckpoint(
        Checkpoint(path=None, subject={}), LoadReport("t"), failed_rows=None
    )
    checkpoint.begin_chunk(CHUNK)
    checkpoint.save_unfinished_chunk()
    checkpoint.end_chunk(CHUNK)
    checkpoint.remove()
    assert checkpoint.resume_hint == ""


def test_without_an_order_of_rows_only_the_position_is_saved(tmp_path: Path) -> None:
    """If the key of rows is unknown, all rows after the position are written again.

    A row that is written again must not replace a later row of its key.
    """
    path = tmp_path / "point"
    checkpoint = run_of(path)
    checkpoint.keeps_rows_ahead = False
    checkpoint.begin_chunk(CHUNK)
    assert checkpoint.outcomes is not None
    checkpoint.outcomes.note_group(range(4), [0, 2], is_applied=True)
    checkpoint.save_unfinished_chunk()
    assert (state_in(path)["row"], state_in(path)["rows"]) == (7, 1)
    assert "ahead" not in state_in(path)


# -- the file of failed rows -----------------------------------------------------------------------


def test_rows_that_failed_after_the_checkpoint_are_not_written_twice(tmp_path: Path) -> None:
    """The next run does not repeat failed rows that its file got after the last checkpoint.

    The checkpoint has the size (bytes) that the file of failed rows had when the checkpoint was
    saved. Rows after this size are known to be in the file.
    """
    path, failed_path = tmp_path / "point", tmp_path / "failed"
    file = failed_rows(failed_path)
    checkpoint = run_of(path, file)
    checkpoint.begin_chunk(CHUNK)
    fail_row(file, 1)
    checkpoint.end_chunk(CHUNK)
    size = file.size
    state = state_in(path)["failed_rows"]
    load = state.pop("load")
    assert state == {"path": os.path.realpath(failed_path), "size": size}
    assert json.loads(failed_path.read_text())["_load"] == load
    # The process is killed after row 2 has failed, so row 2 is in the file but not in the
    # checkpoint.
    checkpoint.begin_chunk(CHUNK)
    fail_row(file, 2)
    file.close()
    # The next run reads rows 2 and 3, and both fail.
    file = failed_rows(failed_path)
    run_of(path, file)
    fail_row(file, 2)
    fail_row(file, 3)
    file.close()
    rows = [json.loads(line)["_row"] for line in failed_path.read_text().splitlines()]
    assert rows == [1, 2, 3]
    # If the next run uses another file of failed rows, row 2 must be written to that file.
    other_path = tmp_path / "other"
    file = failed_rows(other_path)
    run_of(path, file)
    fail_row(file, 2)
    file.close()
    assert other_path.exists()


def test_rows_of_other_loads_in_the_file_of_failed_rows_are_no_rows_of_this_load(
    tmp_path: Path,
) -> None:
    """If another load has added a row with the same number, a row is written to the file.

    The interrupted run has not written the other load's row. If it was taken for a row of that run,
    this load's own row would be in no file.
    """
    path, failed_path = tmp_path / "point", tmp_path / "failed"
    file = failed_rows(failed_path)
    checkpoint = run_of(path, file)
    checkpoint.begin_chunk(CHUNK)
    checkpoint.end_chunk(CHUNK)
    fail_row(file, 2)
    file.close()
    # Two other loads of the same source append to the file. One of them has no checkpoint.
    for other in (failed_rows(failed_path), failed_rows(failed_path)):
        run_of(tmp_path / "other", other)
        fail_row(other, 2)
        fail_row(other, 3)
        other.close()
    other = failed_rows(failed_path)
    fail_row(other, 4)
    other.close()
    size_before = size_of(failed_path)
    file = failed_rows(failed_path)
    run_of(path, file)
    for row in (2, 3, 4):
        fail_row(file, row)
    file.close()
    lines = failed_path.read_bytes()[size_before:].splitlines()
    assert [json.loads(line)["_row"] for line in lines] == [3, 4]


# -- which loads can resume ------------------------------------------------------------------------


def test_rows_that_must_not_be_written_twice_have_no_checkpoint() -> None:
    """A checkpoint is refused for statements that must not be repeated.

    A resumed load may write rows again, so the statement must be idempotent or conditional.
    """
    check_repeatable(Traits(is_idempotent=True, is_counter=False, is_conditional=True))
    with pytest.raises(ValueError, match="counters and checkpoint exclude each other"):
        check_repeatable(Traits(is_idempotent=False, is_counter=True, is_conditional=False))
    with pytest.raises(ValueError, match="needs a statement that may be executed twice"):
        check_repeatable(Traits(is_idempotent=False, is_counter=False, is_conditional=False))
    with pytest.raises(ValueError, match="a write time excludes a checkpoint if a list"):
        check_repeatable(Traits(False, is_counter=False, is_conditional=False, has_lists=True))


def test_the_subject_names_the_target_and_the_rows(tmp_path: Path) -> None:
    """The subject of a checkpoint names the table or statement, and the files or rows.

    Rows of an application need a name, with which the next run says that it has the same rows.
    Their number is recorded, too.
    """
    table = TableMetadata("ks", "Orders")
    keyspace = SimpleNamespace(tables={"Orders": table})
    metadata: Any = SimpleNamespace(cluster_name="c", all_hosts=list, keyspaces={"ks": keyspace})
    path = tmp_path / "a.csv"
    path.write_text("id\n1\n")
    named_options = LoadOptions(checkpoint="point", checkpoint_name="mine")
    # Files have paths, and a name would have no effect.
    path = tmp_path / "named.csv"
    path.write_text("id\n1\n")
    with pytest.raises(ValueError, match="checkpoint_name= has no effect on files"):
        subject_of_load(metadata, table, [str(path)], named_options)
    subject = subject_of_load(metadata, table, [str(path)], LoadOptions())
    assert subject["table"] == 'ks."Orders"'
    assert subject["table_id"] is None  # The metadata does not know the table's id.
    assert [file["path"] for file in subject["files"]] == [str(path)]
    prepared = PreparedStatement(
        column_metadata=[],
        query_id=b"id",
        routing_key_indexes=(),
        query="INSERT",
        keyspace="ks",
        protocol_version=5,
        result_metadata=None,
        result_metadata_id=None,
    )
    subject = subject_of_load(metadata, prepared, [(1,)], named_options)
    assert subject["statement"] == "INSERT"
    assert subject["rows"]["name"] == "mine"
    assert subject["rows"]["count"] == 1
    with pytest.raises(ValueError, match="a checkpoint= for list needs checkpoint_name="):
        subject_of_load(metadata, table, [(1,)], LoadOptions())
