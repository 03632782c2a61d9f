"""Progress of long steps without a terminal."""

from __future__ import annotations

import io

import pytest

from cassandra.testing.progress import Progress


def test_without_a_terminal_progress_is_two_lines() -> None:
    """A stream that is no terminal gets one line at the start, and one line at the end.

    If progress is disabled, the stream gets no line.
    """
    stream = io.StringIO()
    progress = Progress(stream=stream)
    progress.begin("starting")
    progress.update("1 of 3")
    progress.done("ready")
    first, second = stream.getvalue().splitlines()
    assert first == "turbocql: starting ..."
    assert second.startswith("turbocql: starting: ready in ")
    quiet_stream = io.StringIO()
    Progress(enabled=False, stream=quiet_stream).begin("starting")
    assert quiet_stream.getvalue() == ""


def test_a_long_step_prints_regularly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that takes 25 seconds prints a line every ten seconds, and a line at its end."""
    now = 0.0
    monkeypatch.setattr("cassandra.testing.progress.time.monotonic", lambda: now)
    stream = io.StringIO()
    progress = Progress(stream=stream)
    progress.begin("preparing")
    for second in range(1, 26):
        now = float(second)
        progress.update("1 of 2" if second > 15 else "")
    progress.done()
    assert stream.getvalue().splitlines() == [
        "turbocql: preparing ...",
        "turbocql: preparing 10 s ...",
        "turbocql: preparing (1 of 2) 20 s ...",
        "turbocql: preparing: done in 25.0 s",
    ]
