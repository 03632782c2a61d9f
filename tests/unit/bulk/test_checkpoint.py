"""How far a load is, on the disk."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk.checkpoint import Checkpoint, describe_files

SUBJECT = {"work": "load", "table": "ks.t", "options": {"header": True, "columns": ("a", "b")}}
WAY_OUT = "; restart=True begins anew, and another file leaves this one as it is"


def test_it_is_read_again_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "point"
    first = Checkpoint(path, SUBJECT)
    assert first.state == {}
    first.save(row=10)
    first.save(row=20, failed=1)
    assert Checkpoint(path, SUBJECT).state == {"row": 20, "failed": 1}
    assert Checkpoint(path, SUBJECT, restart=True).state == {}
    assert [one.name for one in tmp_path.iterdir()] == ["point"]
    first.remove()
    first.remove()
    assert not path.exists()


def test_without_a_file_nothing_is_kept() -> None:
    nowhere = Checkpoint(None, SUBJECT)
    nowhere.save(position=10)
    nowhere.remove()
    assert nowhere.state == {}


def test_a_dry_run_reads_it_only(tmp_path: Path) -> None:
    path = tmp_path / "point"
    Checkpoint(path, SUBJECT).save(row=10)
    before = path.read_bytes()
    dry = Checkpoint(path, SUBJECT, is_read_only=True)
    assert dry.state == {"row": 10}
    dry.save(row=20)
    dry.remove()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"work": "scan"}, "its work is 'load', and not 'scan'"),
        ({"table": "other.t"}, "its table is 'ks.t', and not 'other.t'"),
        ({"options": {"header": False}}, "its option header is True, and not False"),
        ({"options": {"header": True, "columns": None}}, r"its option columns is \['a', 'b'\], and not None"),  # noqa: E501
        ({"rows": {"name": "x"}}, "its rows is None, and not {'name': 'x'}"),
    ],
)  # fmt: skip
def test_that_of_another_subject_is_refused(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    path = tmp_path / "point"
    Checkpoint(path, SUBJECT).save(row=10)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=words + WAY_OUT):
        Checkpoint(path, {**SUBJECT, **changes})
    assert path.read_bytes() == before


def test_files_are_known_by_more_than_their_number(tmp_path: Path) -> None:
    first, second, path = tmp_path / "1.csv", tmp_path / "2.csv", tmp_path / "point"
    first.write_text("id\n1\n")
    second.write_text("id\n2\n")
    both = [str(first), str(second)]

    def made(paths: list[str]) -> Checkpoint:
        return Checkpoint(path, {**SUBJECT, "files": describe_files(paths)})

    made(both).save(file=1, row=0)
    assert made(both).state == {"file": 1, "row": 0}
    for paths, words in (
        ([str(second)], r"where it has the file '.*1\.csv', there is '.*2\.csv'"),
        ([str(first)], r"the file '.*2\.csv' is gone"),
        ([*both, str(second)], r"the file '.*2\.csv' is new"),
    ):
        with pytest.raises(ValueError, match=words):
            made(paths)
    about = second.stat()
    second.write_text("id\n3\n")  # of the same size and time
    os.utime(second, ns=(about.st_atime_ns, about.st_mtime_ns))
    with pytest.raises(ValueError, match=r"the file '.*2\.csv' has another content since"):
        made(both)
    second.write_text("id\n2\n")
    os.utime(second, ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    with pytest.raises(ValueError, match=r"'.*2\.csv' has another time of change since"):
        made(both)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes with names")
def test_a_pipe_has_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "-"):
        with pytest.raises(ValueError, match="is a pipe, which can be read once"):
            describe_files([path])


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "point"
    for version in (1, 99):
        path.write_text(json.dumps({"version": version, "subject": SUBJECT, "state": {}}))
        with pytest.raises(ValueError, match=f"of another version, {version}.*{WAY_OUT}"):
            Checkpoint(path, SUBJECT)
    for text in ("", "[]", "{}", "id,name", '{"version": 2, "subject": {}, "state": 5}'):
        path.write_text(text)
        with pytest.raises(ValueError, match="is not a checkpoint"):
            Checkpoint(path, SUBJECT)
