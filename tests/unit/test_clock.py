"""Tests of the clock of client timestamps, which never returns a value twice and reports drift."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from cassandra.clock import MicrosecondClock
from tests.conftest import Implementation


def clock_and_drifts(
    implementation: Implementation, tolerance: int = 10**6
) -> tuple[Any, list[tuple[int, int]]]:
    """Return a clock, and the list of the drifts that it reports.

    Each drift is (time of the system, last value), both in microseconds.

    :param tolerance: microseconds of drift that are not reported.
    """
    drifts: list[tuple[int, int]] = []
    return implementation.clock.MicrosecondClock(
        tolerance, lambda now, last: drifts.append((now, last))
    ), drifts


def test_the_clock_returns_microseconds(implementation: Implementation) -> None:
    clock, drifts = clock_and_drifts(implementation)
    time_before = time.time_ns() // 1000
    value = clock.next()
    assert time_before <= value <= time.time_ns() // 1000 + 1
    assert clock.last == value
    assert not drifts


def test_values_increase_while_the_system_clock_is_behind(implementation: Implementation) -> None:
    """If the last value is half a second ahead, the next values must be the next numbers."""
    clock, drifts = clock_and_drifts(implementation)
    ahead = time.time_ns() // 1000 + 500_000
    clock.last = ahead
    assert [clock.next() for _ in range(3)] == [ahead + 1, ahead + 2, ahead + 3]
    assert not drifts


def test_drift_beyond_the_tolerance_is_reported(implementation: Implementation) -> None:
    """A last value that is a minute ahead must be reported: more than the tolerance of 1 s."""
    clock, drifts = clock_and_drifts(implementation)
    minute_ahead = time.time_ns() // 1000 + 60_000_000
    clock.last = minute_ahead
    assert clock.next() == minute_ahead + 1
    ((now, last),) = drifts
    assert last == minute_ahead
    assert last - now > 10**6


def test_threads_never_get_the_same_value(implementation: Implementation) -> None:
    """Four threads that share a clock must get different values, each in ascending order."""
    clock, _ = clock_and_drifts(implementation)
    values: list[list[int]] = [[] for _ in range(4)]
    barrier = threading.Barrier(4)

    def take_values(thread_values: list[int]) -> None:
        barrier.wait()
        thread_values.extend(clock.next() for _ in range(20_000))

    threads = [
        threading.Thread(target=take_values, args=(thread_values,)) for thread_values in values
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(thread_values == sorted(thread_values) for thread_values in values)
    assert len({value for thread_values in values for value in thread_values}) == 80_000


def test_a_lock_that_an_interrupt_left_held_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """If an interrupt has left the lock of the clock held, it must be replaced.

    Only the Python implementation is tested: no signal handler can raise inside the compiled one.
    """
    monkeypatch.setattr("cassandra.clock._LOST_AFTER", 0.01)
    clock = MicrosecondClock(tolerance=10**6, on_drift=lambda now, last: None)
    # Hold the lock as if after an interrupt, so that nobody releases it.
    clock._lock.acquire()
    first = clock.next()
    assert clock.next() > first
    assert not clock._lock.locked()


def test_timestamps_never_go_back_with_the_clock(implementation: Implementation) -> None:
    clock, drifts = clock_and_drifts(implementation)
    # These are nanoseconds, and the clock returns microseconds. The last time is the earliest.
    times = iter([5_000_000_000, 9_000_000_000, 2_000_000_000])
    clock.time_ns = lambda: next(times)
    assert [clock.next() for _ in range(3)] == [5_000_000, 9_000_000, 9_000_001]
    assert drifts == [(2_000_000, 9_000_000)]
