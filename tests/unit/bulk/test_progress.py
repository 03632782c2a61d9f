"""Test `Progress`, the display of the progress of bulk work on a terminal."""

from __future__ import annotations

import io
import sys

import pytest

from cassandra.bulk import progress
from cassandra.bulk.progress import Progress


def test_without_tqdm_progress_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without tqdm, each update returns to the beginning of the line, and overwrites the line."""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    # With 0 seconds between updates, each change is shown at once.
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    with Progress(is_shown=True, title="ks.t") as bar:
        bar.add(1500)
        bar.add(1)
    output = capsys.readouterr().err
    assert "\rks.t: 1,500 rows, " in output
    assert output.endswith(" a second\n")
    assert "\rks.t: 1,501 rows, " in output


def test_no_progress_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """No progress is shown if `is_shown` is False, or by default if stderr is not a terminal."""
    with Progress(is_shown=False) as hidden:
        hidden.add(10)
    # By default, progress is shown only on a terminal. The test captures standard error, so it is
    # not a terminal.
    with Progress() as not_on_terminal:
        not_on_terminal.add(10)
    assert capsys.readouterr().err == ""


def test_progress_without_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a process has no standard error, it shows no progress, even with `is_shown=True`."""
    monkeypatch.setattr(sys, "stderr", None)
    for is_shown in (None, True):
        with Progress(is_shown=is_shown) as bar:
            bar.add(10)


def test_progress_ends_if_its_stream_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work goes on if its progress cannot be written any more."""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress(is_shown=True) as bar:
        bar.add(1)
        stream.close()
        bar.add(1)
        bar.add(1)
