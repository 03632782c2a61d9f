"""Test `Checkpoint`, the file that records how far a load or scan has got."""

from __future__ import annotations

import errno
import io
import json
import os
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.bulk.checkpoint import (
    SYNC_SECONDS,
    Checkpoint,
    check_path,
    describe_files,
    describe_id,
)

# the load that the checkpoint belongs to: kind of work, table and options
SUBJECT = {"work": "load", "table": "ks.t", "options": {"header": True, "columns": ("a", "b")}}
# the end of each error message, which says what the user can do
ADVICE = "; restart=True begins anew, and another file leaves this one as it is"
ADVICE_OF_SCANS = "; delete it to begin anew, and another file leaves this one as it is"


def test_a_saved_checkpoint_can_be_read_restarted_and_removed(tmp_path: Path) -> None:
    """A saved checkpoint can be read again, ignored with `restart=True`, and removed."""
    path = tmp_path / "point"
    checkpoint = Checkpoint(path, SUBJECT)
    assert checkpoint.state == {}
    checkpoint.save(row=10)
    checkpoint.save(row=20, failed=1)
    assert Checkpoint(path, SUBJECT).state == {"row": 20, "failed": 1}
    assert Checkpoint(path, SUBJECT, restart=True).state == {}
    # `save` leaves no temporary files.
    assert [file.name for file in tmp_path.iterdir()] == ["point"]
    checkpoint.remove()
    # Removing the checkpoint a second time is allowed.
    checkpoint.remove()
    assert not path.exists()


def test_a_checkpoint_without_a_file_keeps_nothing() -> None:
    """A checkpoint whose path is None saves nothing."""
    nowhere = Checkpoint(path=None, subject=SUBJECT)
    nowhere.save(position=10)
    nowhere.remove()
    assert nowhere.state == {}


def test_a_read_only_checkpoint_does_not_change_its_file(tmp_path: Path) -> None:
    """`save` and `remove` of a read-only checkpoint have no effect on its file."""
    path = tmp_path / "point"
    Checkpoint(path, SUBJECT).save(row=10)
    content_before = path.read_bytes()
    read_only = Checkpoint(path, SUBJECT, is_read_only=True)
    assert read_only.state == {"row": 10}
    read_only.save(row=20)
    read_only.remove()
    assert path.read_bytes() == content_before


def test_runs_do_not_share_a_checkpoint(tmp_path: Path) -> None:
    """If another run has written the checkpoint, a run ends with an error, whoever began first.

    Otherwise, each run would replace or remove what the other one has recorded.
    """
    path = tmp_path / "point"
    first, second = Checkpoint(path, SUBJECT), Checkpoint(path, {**SUBJECT, "table": "ks.u"})
    second.save(row=1)
    with pytest.raises(FileExistsError, match=r"another run has written the checkpoint .*point"):
        first.save(row=10)
    first.remove()
    assert json.loads(path.read_text())["state"] == {"row": 1}
    # The other run goes on, and so does a run that begins anew.
    second.save(row=2)
    restarted = Checkpoint(path, SUBJECT, restart=True)
    restarted.save(row=5)
    with pytest.raises(FileExistsError, match="another run"):
        second.save(row=3)
    # A file that somebody has deleted is written again.
    path.unlink()
    second.save(row=4)
    assert [file.name for file in tmp_path.iterdir()] == ["point"]


def test_changes_are_appended_to_what_was_saved(tmp_path: Path) -> None:
    """A later run finds the saved state, and the changes that were appended to it, in order.

    Until the run has saved all of the state, nothing is appended. If the changes have become long,
    nothing more is appended.
    """
    path = tmp_path / "point"
    checkpoint = Checkpoint(path, SUBJECT)
    assert not checkpoint.append(1)
    assert not path.exists()
    checkpoint.save(row=10)
    assert checkpoint.append([1, None])
    assert checkpoint.append("x")
    resumed = Checkpoint(path, SUBJECT)
    assert (resumed.state, resumed.entries) == ({"row": 10}, [[1, None], "x"])
    assert Checkpoint(path, SUBJECT, restart=True).entries == []
    assert not resumed.append(2)
    resumed.save(row=20)
    assert (Checkpoint(path, SUBJECT).state, Checkpoint(path, SUBJECT).entries) == ({"row": 20}, [])
    count = 0
    while resumed.append("x" * 1000):
        count += 1
    assert 50 < count < 100
    resumed.save(row=30)
    assert resumed.append("y")
    assert Checkpoint(path, SUBJECT).entries == ["y"]
    # A file that somebody has deleted is written again.
    path.unlink()
    assert not resumed.append("z")
    assert not path.exists()
    resumed.save(row=40)
    resumed.append("z")
    resumed.remove()
    assert not path.exists()
    # If nothing is written, nothing needs to be saved.
    for idle in (Checkpoint(None, SUBJECT), Checkpoint(path, SUBJECT, is_read_only=True)):
        assert idle.append(1)
    assert not path.exists()


def test_runs_do_not_append_to_the_checkpoint_of_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run ends with an error if another run has saved the file, or has appended to it."""
    path = tmp_path / "point"
    first = Checkpoint(path, SUBJECT)
    first.save(row=1)
    first.append(1)
    second = Checkpoint(path, SUBJECT)
    second.save(row=2)
    for change in (first.append, lambda entry: first.save(row=entry)):
        with pytest.raises(FileExistsError, match=r"another run has written the checkpoint .*poi"):
            change(2)
    assert second.append(3)
    with path.open("ab") as file:
        file.write(b"4\n")
    with pytest.raises(FileExistsError, match="another run"):
        second.append(5)
    third = Checkpoint(path, SUBJECT)
    assert (third.state, third.entries) == ({"row": 2}, [3, 4])
    # On a network file system, the inode number of a file may change, so its content decides.
    third.save(row=5)
    monkeypatch.setattr(third, "_inode", 0)
    assert third.append(6)
    assert third.append(7)
    assert Checkpoint(path, SUBJECT).entries == [6, 7]


def test_changes_are_written_to_disk_from_time_to_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes are written to disk after a second, and the last change is written at once.

    Each write takes long, so not every change is written at once.
    """
    now = 100.0
    synced: list[float] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(now))
    checkpoint = Checkpoint(tmp_path / "point", SUBJECT, clock=lambda: now)
    checkpoint.save(row=1)
    for _ in range(25):
        now += SYNC_SECONDS / 10
        checkpoint.append(1)
    assert len(synced) == 3
    checkpoint.append(1, is_last=True)
    assert len(synced) == 4


def test_a_file_that_cannot_be_written_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The temporary file has a name of its own, and is removed after an error."""

    def fail(descriptor: int) -> None:
        names.append(next(tmp_path.iterdir()).name)
        raise OSError("the disk is full")

    names: list[str] = []
    monkeypatch.setattr(os, "fsync", fail)
    for _ in range(2):
        with pytest.raises(OSError, match="the disk is full"):
            Checkpoint(tmp_path / "point", SUBJECT).save(row=1)
    assert not list(tmp_path.iterdir())
    assert len(set(names)) == 2
    assert all(name.startswith(".point.") for name in names)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"work": "scan"}, "its work is 'load', and not 'scan'"),
        ({"table": "other.t"}, "its table is 'ks.t', and not 'other.t'"),
        ({"options": {"header": False}}, "its option header is True, and not False"),
        ({"options": {"header": True, "columns": None}}, r"its option columns is \['a', 'b'\], and not None"),  # noqa: E501
        ({"rows": {"name": "x"}}, "its rows is None, and not {'name': 'x'}"),
    ],
)  # fmt: skip
def test_a_checkpoint_of_another_load_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    """A checkpoint is refused for another kind of work, table or option; the error names it."""
    path = tmp_path / "point"
    Checkpoint(path, SUBJECT).save(row=10)
    content_before = path.read_bytes()
    advice = ADVICE if changes.get("work") is None else ADVICE_OF_SCANS
    with pytest.raises(ValueError, match=message + advice):
        Checkpoint(path, {**SUBJECT, **changes})
    assert path.read_bytes() == content_before


@pytest.mark.parametrize("name", ["cluster", "source_cluster"])
def test_a_checkpoint_of_another_cluster_is_refused(tmp_path: Path, name: str) -> None:
    """A checkpoint is refused if the name of its cluster, or of a copy's source, differs."""
    path = tmp_path / "point"
    Checkpoint(path, {**SUBJECT, name: "staging"}).save(row=10)
    role = name.replace("_", " ")
    with pytest.raises(ValueError, match=f"its {role} is 'staging', and not 'production'"):
        Checkpoint(path, {**SUBJECT, name: "production"})
    # A checkpoint that does not name a cluster can still be used, and the next save adds the name.
    path.unlink()
    Checkpoint(path, SUBJECT).save(row=20)
    checkpoint = Checkpoint(path, {**SUBJECT, name: "production"})
    assert checkpoint.state == {"row": 20}
    checkpoint.save(row=30)
    assert json.loads(path.read_text())["subject"][name] == "production"


@pytest.mark.parametrize(
    ("recorded", "is_same"),
    [
        ("Test Cluster", True),
        ({"name": "Test Cluster", "host_ids": []}, True),
        ({"name": "Test Cluster", "host_ids": ["b", "z"]}, True),
        ({"name": "Test Cluster", "host_ids": ["x", "z"]}, False),
    ],
    ids=["an earlier version", "hosts without ids", "a replaced host", "another cluster"],
)
def test_clusters_with_the_same_name_are_distinguished_by_host_ids(
    tmp_path: Path, recorded: Any, is_same: bool
) -> None:
    """Two clusters with one name count as the same cluster if they share a host id.

    The remaining hosts may have been replaced. If no host ids were recorded, the name decides.
    """
    path = tmp_path / "point"
    Checkpoint(path, {**SUBJECT, "cluster": recorded}).save(row=10)
    subject = {**SUBJECT, "cluster": {"name": "Test Cluster", "host_ids": ["a", "b"]}}
    if is_same:
        assert Checkpoint(path, subject).state == {"row": 10}
    else:
        with pytest.raises(ValueError, match="its cluster is another one with the name 'Test Clu"):
            Checkpoint(path, subject)


@pytest.mark.parametrize(("name", "table"), [("table_id", "table"), ("target_id", "target table")])
def test_a_checkpoint_of_a_table_that_was_created_again_is_refused(
    tmp_path: Path, name: str, table: str
) -> None:
    """A checkpoint is refused if its table was dropped and created again since.

    The rows that an earlier run wrote are gone with the old table.
    """
    path = tmp_path / "point"
    Checkpoint(path, {**SUBJECT, name: "1"}).save(row=10)
    assert Checkpoint(path, {**SUBJECT, name: "1"}).state == {"row": 10}
    with pytest.raises(ValueError, match=f"its {table} was dropped since, and another one was cr"):
        Checkpoint(path, {**SUBJECT, name: "2"})
    # The table ids are only compared if both are known.
    assert Checkpoint(path, {**SUBJECT, name: None}).state == {"row": 10}
    assert Checkpoint(path, SUBJECT).state == {"row": 10}
    Checkpoint(path, SUBJECT, restart=True).save(row=20)
    assert Checkpoint(path, {**SUBJECT, name: "2"}).state == {"row": 20}


def test_the_id_of_a_table_is_a_string_if_it_is_known() -> None:
    """`describe_id` returns a table's id as a string; None if the id or the table is unknown."""
    table_id = uuid.uuid4()
    table: Any = SimpleNamespace(id=table_id)
    assert describe_id(table) == str(table_id)
    unknown: Any = SimpleNamespace(id=None)
    assert describe_id(unknown) is None
    assert describe_id(None) is None


def test_files_with_other_content_are_refused(tmp_path: Path) -> None:
    """A checkpoint of files is refused unless the files have the same names, contents and times.

    In this test, a file is renamed, removed, added, changed, and written again with another mtime.
    """
    first, second, path = tmp_path / "1.csv", tmp_path / "2.csv", tmp_path / "point"
    first.write_text("id\n1\n")
    second.write_text("id\n2\n")
    both_paths = [str(first), str(second)]

    def checkpoint_of(paths: list[str]) -> Checkpoint:
        return Checkpoint(path, {**SUBJECT, "files": describe_files(paths)})

    checkpoint_of(both_paths).save(file=1, row=0)
    assert checkpoint_of(both_paths).state == {"file": 1, "row": 0}
    for paths, message in (
        ([str(second)], r"where it has the file '.*1\.csv', there is '.*2\.csv'"),
        ([str(first)], r"the file '.*2\.csv' is gone"),
        ([*both_paths, str(second)], r"the file '.*2\.csv' is new"),
    ):
        with pytest.raises(ValueError, match=message):
            checkpoint_of(paths)
    stat = second.stat()
    # Change only the content: the file keeps its size, and the next line restores its mtime.
    second.write_text("id\n3\n")
    os.utime(second, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(ValueError, match=r"the file '.*2\.csv' has another content since"):
        checkpoint_of(both_paths)
    second.write_text("id\n2\n")
    os.utime(second, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    with pytest.raises(ValueError, match=r"'.*2\.csv' has another time of change since"):
        checkpoint_of(both_paths)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes with names")
def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """A checkpoint is refused for a named pipe and the standard input, which can be read once."""
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "-"):
        with pytest.raises(ValueError, match="is a pipe, which can be read once"):
            describe_files([path])


@pytest.mark.parametrize("name", ["write", "append"])
def test_the_error_of_a_full_disk_names_the_checkpoint(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the disk is full, the error names the checkpoint file.

    Otherwise, it could be the error of any file of a load, or of its source.
    """
    checkpoint = Checkpoint(tmp_path / "point", SUBJECT, clock=lambda: 0.0)
    if name == "append":
        checkpoint.save(row=1)

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"No space left on device: '.*point'"):
        checkpoint.append(1, is_last=True) if name == "append" else checkpoint.save(row=1)


@pytest.mark.parametrize("written", [0, 3, 5])
@pytest.mark.parametrize("name", ["append", "save", "remove"])
def test_an_append_that_was_cut_off_is_no_other_run(
    tmp_path: Path, name: str, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If an append is cut off, its bytes in the file are not taken for those of another run.

    If the disk is full, a part of the line may be written. Control-C may come right after the line.
    """
    path = tmp_path / "point"
    checkpoint = Checkpoint(path, SUBJECT)
    checkpoint.save(row=1)
    assert checkpoint.append("a")
    original = os.fdopen

    class CutOff(io.BytesIO):
        def __init__(self, descriptor: int, mode: str) -> None:
            super().__init__()
            self._file = original(descriptor, mode)

        def flush(self) -> None:
            with self._file as file:
                file.write(self.getvalue()[:written])
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patches:
        patches.setattr(os, "fdopen", CutOff)
        with pytest.raises(OSError, match="No space left on device"):
            checkpoint.append("bc")
    # A killed process leaves such a file.
    assert path.read_bytes().endswith(b'"a"\n' + b'"bc"\n'[:written])
    assert Checkpoint(path, SUBJECT).entries == ["a", "bc"][: 1 + (written == 5)]
    if name == "remove":
        checkpoint.remove()
        assert not path.exists()
        return
    # If the file ends with a part of a line, nothing may be appended.
    if name == "save" or not checkpoint.append("bc"):
        checkpoint.save(row=2)
        assert Checkpoint(path, SUBJECT).state == {"row": 2}
    else:
        assert not written
    with path.open("a") as file:
        file.write('"by another run"\n')
    with pytest.raises(FileExistsError, match="another run has written the checkpoint"):
        checkpoint.append("d")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="this system has no such device")
def test_a_device_is_no_checkpoint() -> None:
    """A device is refused without reading it, because it may have no end."""
    for path in ("/dev/zero", "/dev/null"):
        with pytest.raises(ValueError, match=f"checkpoint={path!r} is a device or a pipe"):
            Checkpoint(path, SUBJECT)


def test_a_file_that_is_not_a_checkpoint_is_refused(tmp_path: Path) -> None:
    """A file that the user named by mistake is never overwritten, not even with `restart=True`."""
    path = tmp_path / "point"
    # The current version of the checkpoint format is 2.
    for version in (1, 99):
        path.write_text(json.dumps({"version": version, "subject": SUBJECT, "state": {}}))
        with pytest.raises(ValueError, match=f"of another version, {version}.*{ADVICE}"):
            Checkpoint(path, SUBJECT)
    for text in ("", "[]", "{}", "id,name", '{"version": 2, "subject": {}, "state": 5}'):
        path.write_text(text)
        with pytest.raises(ValueError, match="is not a checkpoint"):
            Checkpoint(path, SUBJECT)
        # With `restart=True`, an empty file may be overwritten, because it holds no data.
        if not text:
            assert Checkpoint(path, SUBJECT, restart=True).state == {}
            continue
        with pytest.raises(ValueError, match="is not a checkpoint"):
            Checkpoint(path, SUBJECT, restart=True)


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("~/point", r"checkpoint: write os\.path\.expanduser\('~/point'\)"),
        ("s3://b/point", "checkpoint is a file of this machine, and not 's3://b/point'"),
    ],
)
def test_paths_that_are_no_files_of_this_machine(path: str, advice: str) -> None:
    """A checkpoint's path that is not a local file raises a ValueError with advice."""
    with pytest.raises(ValueError, match=advice):
        Checkpoint(path, SUBJECT)


@pytest.mark.parametrize("name", ["checkpoint", "failed_rows"])
def test_a_file_in_a_missing_folder_is_refused(tmp_path: Path, name: str) -> None:
    """If there is no folder for the file, that is an error at once.

    The file itself is written only later, perhaps after hours.
    """
    path = tmp_path / "missing" / "file.json"
    with pytest.raises(FileNotFoundError, match=f"{name}='.*there is no folder '.*missing'"):
        check_path(name, path)
    path.parent.mkdir()
    check_path(name, path)
    check_path(name, "file.json")
