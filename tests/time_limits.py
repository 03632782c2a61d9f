"""Ends the process if a test takes longer than its time limit.

The limit is `timeout` in pyproject.toml. pytest-timeout starts and joins a thread for each test,
which took about a fifth of the time of a short test. In this module, one thread watches all tests
of a process.
"""

from __future__ import annotations

import threading

# Tests may replace these functions in this module.
from time import monotonic, sleep
from typing import Any

import pytest

# The thread checks the time at this interval, in seconds.
_INTERVAL = 1.0

# This contains the running test, its settings and the time of its limit; None between tests.
_running: tuple[pytest.Item, Any, float] | None = None
_thread: threading.Thread | None = None


def begin(item: pytest.Item, settings: Any) -> None:
    """Start watching a test.

    :param settings: the settings of pytest-timeout for it.
    """
    global _running, _thread
    _running = (item, settings, monotonic() + settings.timeout)
    if _thread is None:
        _thread = threading.Thread(target=_watch, name="time limits", daemon=True)
        _thread.start()


def end() -> None:
    """Stop watching the running test."""
    global _running
    _running = None


def _watch() -> None:
    from pytest_timeout import timeout_timer

    while True:
        sleep(_INTERVAL)
        running = _running
        if running is not None and monotonic() > running[2]:
            # Write the stacks of all threads, and end the process.
            timeout_timer(*running[:2])
