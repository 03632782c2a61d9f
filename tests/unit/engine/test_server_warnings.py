"""Warnings of servers are logged, but each warning only once per interval."""

from __future__ import annotations

import time
import uuid

import pytest

from cassandra.engine import server_warnings
from cassandra.engine.server_warnings import log_warnings


def logged_messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the messages that were logged about servers' warnings, and forget them."""
    messages = [
        record.getMessage() for record in caplog.records if record.name == "cassandra.protocol"
    ]
    caplog.clear()
    return messages


def test_each_warning_is_logged_once_in_an_interval(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a warning is repeated within the interval, it is only counted.

    After the interval, the next message has the number of repetitions.
    """
    now = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now)
    # Other tests may have logged warnings, so make these warnings unique.
    repeated, other = f"one {uuid.uuid4()}", f"other {uuid.uuid4()}"
    log_warnings([repeated, other])
    log_warnings([repeated])
    log_warnings([repeated])
    assert logged_messages(caplog) == [f"Server warning: {repeated}", f"Server warning: {other}"]
    now += server_warnings.INTERVAL
    log_warnings([repeated])
    assert logged_messages(caplog) == [
        f"Server warning: {repeated} (2 more since it was logged last)"
    ]


def test_the_number_of_remembered_warnings_is_limited() -> None:
    """The driver remembers 200 warnings; if there are more, it forgets all of them."""
    sizes: set[int] = set()
    for number in range(1000):
        log_warnings([f"{number} {uuid.uuid4()}"])
        sizes.add(len(server_warnings._lines))
    assert max(sizes) == 200
