"""Server warnings in the log, and how often."""

from __future__ import annotations

import uuid

import pytest

from cassandra.engine import server_warnings
from cassandra.engine.server_warnings import log_warnings
from cassandra.util.intervals import OncePerInterval


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [one.getMessage() for one in caplog.records if one.name == "cassandra.protocol"]
    caplog.clear()
    return found


def test_each_text_once_an_interval(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[OncePerInterval] = []

    def interval(seconds: float) -> OncePerInterval:
        made.append(OncePerInterval(seconds))
        return made[-1]

    monkeypatch.setattr(server_warnings, "OncePerInterval", interval)
    one, other = f"one {uuid.uuid4()}", f"other {uuid.uuid4()}"
    log_warnings([one, other])
    log_warnings([one])
    log_warnings([one])
    assert logged(caplog) == [f"Server warning: {one}", f"Server warning: {other}"]
    made[0]._next = 0.0  # the interval is over
    log_warnings([one])
    assert logged(caplog) == [f"Server warning: {one} (2 more since it was logged last)"]


def test_texts_without_end_are_not_all_remembered() -> None:
    for number in range(1000):
        log_warnings([f"{number} {uuid.uuid4()}"])
    assert len(server_warnings._due) <= 200
