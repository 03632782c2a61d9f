"""Progress of long steps, off a terminal."""

from __future__ import annotations

import io

from cassandra.testing.progress import Progress


def test_progress_off_a_terminal_is_two_lines() -> None:
    stream = io.StringIO()
    progress = Progress(stream=stream)
    progress.begin("starting")
    progress.update("1 of 3")
    progress.done("ready")
    first, second = stream.getvalue().splitlines()
    assert first == "turbocql: starting ..."
    assert second.startswith("turbocql: starting: ready in ")
    quiet = io.StringIO()
    Progress(False, quiet).begin("starting")
    assert quiet.getvalue() == ""
