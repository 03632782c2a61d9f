"""A TLS context is rebuilt if its files have changed."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Any

import pytest

from cassandra.tls import ReloadingContext


class Maker:
    """Creates a new object at each call, or fails."""

    def __init__(self) -> None:
        self.made = 0
        self.error: Exception | None = None

    def __call__(self) -> Any:
        if self.error is not None:
            raise self.error
        self.made += 1
        return self.made


def change(path: Path, text: str) -> None:
    path.write_text(text)
    # The time changes even on file systems with a coarse clock.
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**9))


def test_files_that_stay_are_read_once_and_changed_ones_again(tmp_path: Path) -> None:
    first, second, maker = tmp_path / "cert", tmp_path / "key", Maker()
    for path in (first, second):
        path.write_text("old")
    context: Any = ReloadingContext(maker, first, str(second))
    assert [context(), context()] == [1, 1]
    change(second, "new")
    assert [context(), context()] == [2, 2]
    assert str(second) in repr(context)


@pytest.mark.parametrize("error", [ssl.SSLError("half a file"), OSError("none"), ValueError("odd")])
def test_the_earlier_context_stays_while_files_are_half_written(
    tmp_path: Path, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    path, maker = tmp_path / "cert", Maker()
    path.write_text("old")
    context: Any = ReloadingContext(maker, path)
    change(path, "half")
    maker.error = error
    assert context() == 1
    assert "the earlier TLS context stays in use" in caplog.text
    maker.error = None
    assert context() == 2


def test_a_file_that_is_gone_for_a_moment(tmp_path: Path) -> None:
    path, maker = tmp_path / "cert", Maker()
    path.write_text("old")
    context: Any = ReloadingContext(maker, path)
    path.unlink()
    assert context() == 1


def test_mistakes_are_errors_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs the paths"):
        ReloadingContext(Maker())
    with pytest.raises(FileNotFoundError):
        ReloadingContext(Maker(), tmp_path / "nothing")
    failing = Maker()
    failing.error = ssl.SSLError("no certificate")
    (tmp_path / "cert").write_text("x")
    with pytest.raises(ssl.SSLError):
        ReloadingContext(failing, tmp_path / "cert")


def test_a_context_is_no_function(tmp_path: Path) -> None:
    context: Any = ssl.create_default_context()
    with pytest.raises(TypeError, match="make must be a function that creates a context, but is <"):
        ReloadingContext(context, tmp_path / "ca.pem")
