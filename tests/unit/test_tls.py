"""Tests of `ReloadingContext`, which builds a TLS context again if its files have changed."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Any

import pytest

from cassandra.tls import ReloadingContext


class CountingFactory:
    """A context factory that returns the number of its calls, or raises `error` if that is set."""

    def __init__(self) -> None:
        self.calls = 0
        self.error: Exception | None = None

    def __call__(self) -> Any:
        if self.error is not None:
            raise self.error
        self.calls += 1
        return self.calls


def change(path: Path, text: str) -> None:
    """Write a string to a file, so that the file has another modification time."""
    path.write_text(text)
    # Move the modification time by a second, because the clock of the file system may be too coarse
    # to show the change.
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**9))


def test_the_context_is_rebuilt_only_if_a_file_changed(tmp_path: Path) -> None:
    certificate_path, key_path, factory = tmp_path / "cert", tmp_path / "key", CountingFactory()
    for path in (certificate_path, key_path):
        path.write_text("old")
    context: Any = ReloadingContext(factory, certificate_path, str(key_path))
    # The results of the factory are numbers of calls, which show how often it was called.
    assert [context(), context()] == [1, 1]
    change(key_path, "new")
    assert [context(), context()] == [2, 2]
    assert str(key_path) in repr(context)


@pytest.mark.parametrize(
    "error", [ssl.SSLError("half a file"), OSError("none"), ValueError("odd"), KeyError("password")]
)
def test_the_earlier_context_stays_while_files_are_half_written(
    tmp_path: Path, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """If the new files cannot be loaded yet, the earlier context must be used, and a log say so."""
    path, factory = tmp_path / "cert", CountingFactory()
    path.write_text("old")
    context: Any = ReloadingContext(factory, path)
    change(path, "half")
    factory.error = error
    assert context() == 1
    assert "the earlier TLS context stays in use" in caplog.text
    factory.error = None
    assert context() == 2


def test_the_context_stays_while_a_file_is_missing(tmp_path: Path) -> None:
    """If a file was deleted, the earlier context must be used."""
    path, factory = tmp_path / "cert", CountingFactory()
    path.write_text("old")
    context: Any = ReloadingContext(factory, path)
    path.unlink()
    assert context() == 1


def test_a_factory_that_returns_the_same_context_again_is_noticed(tmp_path: Path) -> None:
    """The sessions of such a context may have another certificate, and must not be resumed."""
    path = tmp_path / "cert"
    path.write_text("old")
    same_context = ssl.create_default_context()
    for factory, creates_new in ((ssl.create_default_context, True), (lambda: same_context, False)):
        context = ReloadingContext(factory, path)
        for text in ("newer", "newest"):
            change(path, text)
            context()
            assert context._creates_new_contexts is creates_new


def test_wrong_paths_and_files_are_errors_at_construction(tmp_path: Path) -> None:
    """Missing paths, missing files and unusable files must be errors when the object is created."""
    with pytest.raises(ValueError, match="needs the paths"):
        ReloadingContext(CountingFactory())
    with pytest.raises(FileNotFoundError):
        ReloadingContext(CountingFactory(), tmp_path / "nothing")
    failing_factory = CountingFactory()
    failing_factory.error = ssl.SSLError("no certificate")
    (tmp_path / "cert").write_text("x")
    with pytest.raises(ssl.SSLError):
        ReloadingContext(failing_factory, tmp_path / "cert")


def test_a_context_is_no_function(tmp_path: Path) -> None:
    context: Any = ssl.create_default_context()
    with pytest.raises(TypeError, match="make must be a function that creates a context, but is <"):
        ReloadingContext(context, tmp_path / "ca.pem")


def test_a_list_of_paths_is_refused(tmp_path: Path) -> None:
    paths: Any = [tmp_path / "ca.pem"]
    with pytest.raises(TypeError, match=r"write ReloadingContext\(make, 'ca\.pem', 'client\.pem'"):
        ReloadingContext(CountingFactory(), paths)
