"""Ends the process if a test takes longer than its time limit (`timeout` in pyproject.toml).

pytest-timeout starts and joins a thread for each test, which took about a fifth of a short test.
Here, one thread watches all tests of a process.
"""

from __future__ import annotations

import threading

# Tests may patch these functions in their module.
from time import monotonic, sleep
from typing import Any

import pytest

_INTERVAL = 1.0  # seconds between two looks at the clock

# The running test, its settings and the time at which it has taken too long; None between tests.
_running: tuple[pytest.Item, Any, float] | None = None
_thread: threading.Thread | None = None


def begin(item: pytest.Item, settings: Any) -> None:
    """Start to watch a test.

    :param settings: the settings of pytest-timeout for it.
    """
    global _running, _thread
    _running = (item, settings, monotonic() + settings.timeout)
    if _thread is None:
        _thread = threading.Thread(target=_watch, name="time limits", daemon=True)
        _thread.start()


def end() -> None:
    """Stop to watch the running test."""
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
