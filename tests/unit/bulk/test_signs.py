"""Tests of signs: the sign of a running unload is a locked file in its folder.

It keeps other unloads out of the folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cassandra.bulk import signs
from cassandra.bulk.signs import Sign
from tests.processes import HOME

NAME = ".unfinished-unload"


def no_check() -> None:
    """Accept any folder."""


def test_a_sign_keeps_others_out_until_it_is_removed(tmp_path: Path) -> None:
    """While a folder has the sign of an unload, another `Sign` there raises an error.

    The error names the process of that unload.
    """
    sign = Sign(tmp_path, no_check)
    assert not sign.was_there
    assert json.loads((tmp_path / NAME).read_text())["pid"] == os.getpid()
    with pytest.raises(
        FileExistsError, match=rf"another unload \(process {os.getpid()} on .*since"
    ):
        Sign(tmp_path, no_check)
    sign.remove()
    sign.remove()  # a second call does nothing
    assert not list(tmp_path.iterdir())
    Sign(tmp_path, no_check).remove()


@pytest.mark.parametrize("content", ["", "no JSON", "[]"])
def test_a_sign_that_was_left_does_not_block(tmp_path: Path, content: str) -> None:
    """If an unload has ended and has left its sign, the next unload takes the sign over.

    It does so even if an earlier release has made the sign.
    """
    (tmp_path / NAME).write_text(content)
    sign = Sign(tmp_path, no_check)
    assert sign.was_there
    sign.release()
    assert (tmp_path / NAME).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there, files cannot be deleted while open")
def test_a_sign_without_a_description_keeps_others_out(tmp_path: Path) -> None:
    """If a sign has no content yet, it keeps other unloads out nevertheless.

    An unload makes the file before it writes into it.
    """
    sign = Sign(tmp_path, no_check)
    (tmp_path / NAME).write_text("")
    with pytest.raises(FileExistsError, match="another unload is writing into the folder"):
        Sign(tmp_path, no_check)
    sign.remove()


def test_a_killed_process_does_not_block(tmp_path: Path) -> None:
    """If a process is killed, the system releases its lock, so its sign blocks no other unload."""
    code = (
        "import pathlib, sys; from cassandra.bulk.signs import Sign; "
        "sign = Sign(pathlib.Path(sys.argv[1]), lambda: None); print('made', flush=True); input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # In this folder, no file hides an installed module.
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": HOME},
    )
    assert process.stdout is not None
    with process:
        assert process.stdout.readline().strip() == b"made"
        with pytest.raises(FileExistsError, match=rf"process {process.pid} on"):
            Sign(tmp_path, no_check)
        process.kill()
    sign = Sign(tmp_path, no_check)
    assert sign.was_there
    sign.remove()


def test_the_folder_is_checked_again_when_it_is_locked(tmp_path: Path) -> None:
    """After a sign has locked its file, it calls the check of the folder again.

    Another unload may have ended between the first check and the lock.
    """
    calls: list[bool] = []

    def check() -> None:
        calls.append((tmp_path / NAME).exists())
        if calls == [False, True]:
            raise FileExistsError("there are files now")

    with pytest.raises(FileExistsError, match="there are files now"):
        Sign(tmp_path, check)
    assert not list(tmp_path.iterdir())
    (tmp_path / NAME).touch()
    calls[:] = [False]
    with pytest.raises(FileExistsError, match="there are files now"):
        Sign(tmp_path, lambda: check() if len(calls) < 2 else None)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


@pytest.mark.skipif(sys.platform == "win32", reason="there, files cannot be deleted while open")
def test_a_sign_that_is_deleted_meanwhile_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another unload deletes the file just before it is locked, the sign makes it again.

    The lock of a deleted file would keep nobody out.
    """
    is_locked = signs._is_locked
    (tmp_path / NAME).touch()

    def delete_first(descriptor: int) -> bool:
        (tmp_path / NAME).unlink(missing_ok=True)
        monkeypatch.setattr(signs, "_is_locked", is_locked)
        return is_locked(descriptor)

    monkeypatch.setattr(signs, "_is_locked", delete_first)
    sign = Sign(tmp_path, no_check)
    assert not sign.was_there
    with pytest.raises(FileExistsError, match="another unload"):
        Sign(tmp_path, no_check)
    sign.remove()


@pytest.mark.skipif(sys.platform == "win32", reason="this is about flock")
def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If files cannot be locked, signs are made nevertheless."""

    def fail(*arguments: object) -> None:
        raise OSError("no locks available")

    monkeypatch.setattr("fcntl.flock", fail)
    first, second = Sign(tmp_path, no_check), Sign(tmp_path, no_check)
    second.remove()
    first.remove()
    assert not list(tmp_path.iterdir())


def test_a_file_system_without_lasting_numbers_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a file has another inode number at each call, a sign is made nevertheless."""
    calls = []

    def is_same(*results: object) -> bool:
        calls.append(results)
        assert len(calls) < 100, "this would last for ever"
        return False

    monkeypatch.setattr("os.path.samestat", is_same)
    sign = Sign(tmp_path, no_check)
    assert not sign.was_there  # the sign is of this call
    with pytest.raises(FileExistsError, match="another unload"):
        Sign(tmp_path, no_check)
    sign.release()
    sign = Sign(tmp_path, no_check)
    assert sign.was_there
    sign.remove()


def test_a_file_system_that_cannot_delete_open_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If open files cannot be deleted, a sign is removed nevertheless: it is closed first."""
    unlink = Path.unlink
    sign = Sign(tmp_path, no_check)

    def unlink_closed(path: Path, missing_ok: bool = False) -> None:
        if not sign._file.closed:
            raise OSError("text file busy")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink_closed)
    sign.remove()
    assert not list(tmp_path.iterdir())
