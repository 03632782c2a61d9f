"""A burst of events causes one action, which is delayed only for a limited time."""

from __future__ import annotations

import asyncio

import pytest

from cassandra.engine.hosts.debouncing import REFRESH_DELAY, Debouncer, spread


async def test_a_burst_of_events_causes_one_action(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cassandra.engine.hosts.debouncing.REFRESH_DELAY", 0.0)
    acted = asyncio.Event()
    calls: list[None] = []

    def record_call() -> None:
        calls.append(None)
        acted.set()

    timer = Debouncer(lambda: 3600.0, record_call)
    for _ in range(5):
        timer.add()
    await acted.wait()
    assert len(calls) == 1
    assert timer.due is None


async def test_the_action_waits_for_the_rest_of_the_burst() -> None:
    timer = Debouncer(lambda: 3600.0, lambda: None)
    time_before = asyncio.get_running_loop().time()
    timer.add()
    assert timer.due is not None
    assert timer.due >= time_before + REFRESH_DELAY
    timer.cancel()


async def test_later_events_delay_the_action_at_most_by_the_window() -> None:
    window = REFRESH_DELAY / 10  # shorter than the delay after the last event
    timer = Debouncer(lambda: window, lambda: None)
    time_before = asyncio.get_running_loop().time()
    timer.add()
    first_due = timer.due
    timer.add()
    assert first_due is not None
    assert timer.due is not None
    # Allow a millisecond, because `add` reads the clock twice.
    assert timer.due <= first_due + 1e-3
    assert timer.due >= time_before
    timer.cancel()
    assert timer.due is None


async def test_with_a_negative_window_the_action_comes_at_once() -> None:
    acted = asyncio.Event()
    timer = Debouncer(lambda: -1.0, acted.set)
    time_before = asyncio.get_running_loop().time()
    timer.add()
    assert timer.due is not None
    assert timer.due - time_before < REFRESH_DELAY
    await acted.wait()


def test_spread_is_a_short_random_delay() -> None:
    assert spread(0.0) == 0.0
    assert {0 <= spread(3600.0) <= REFRESH_DELAY for _ in range(100)} == {True}
    assert {0 <= spread(0.01) <= 0.01 for _ in range(100)} == {True}
