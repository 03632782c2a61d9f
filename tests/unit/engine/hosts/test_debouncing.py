"""`Debouncer`, which runs one action for several events, and delays it only for a limited time."""

from __future__ import annotations

import asyncio

import pytest

from cassandra.engine.hosts.debouncing import REFRESH_DELAY, Debouncer, spread

LONG_WINDOW = 3600.0  # seconds; the longest time for which further events may delay the action


async def test_events_in_quick_succession_cause_one_action(monkeypatch: pytest.MonkeyPatch) -> None:
    """The action is called once for five events in quick succession.

    It is called REFRESH_DELAY seconds after the last event; here, this delay is zero. Afterwards,
    nothing is due.
    """
    monkeypatch.setattr("cassandra.engine.hosts.debouncing.REFRESH_DELAY", 0.0)
    is_called = asyncio.Event()
    call_count = 0

    def count_call() -> None:
        nonlocal call_count
        call_count += 1
        is_called.set()

    timer = Debouncer(lambda: LONG_WINDOW, count_call)
    for _ in range(5):
        timer.add()
    await is_called.wait()
    assert call_count == 1
    assert timer.due is None


def test_the_due_time_is_known_on_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The due time does not come from uvloop's handle, which does not always know it."""
    uvloop = pytest.importorskip("uvloop")
    monkeypatch.setattr("cassandra.engine.hosts.debouncing.REFRESH_DELAY", 0.0)

    async def add_event() -> None:
        loop = asyncio.get_running_loop()
        timer = Debouncer(lambda: 0.0, lambda: None)
        timer.add()
        assert timer.due is not None
        assert timer.due <= loop.time() + 0.001
        timer.cancel()

    loop = uvloop.new_event_loop()
    try:
        loop.run_until_complete(add_event())
    finally:
        loop.close()


async def test_the_action_waits_for_further_events() -> None:
    """The action is due REFRESH_DELAY seconds after the last event."""
    timer = Debouncer(lambda: LONG_WINDOW, lambda: None)
    time_before = asyncio.get_running_loop().time()
    timer.add()
    assert timer.due is not None
    assert timer.due >= time_before + REFRESH_DELAY
    timer.cancel()


async def test_later_events_delay_the_action_at_most_by_the_window() -> None:
    """A further event delays the action, but not beyond the end of the window.

    The window begins with the first event.
    """
    window = REFRESH_DELAY / 10  # seconds; shorter than the delay after the last event
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
    """With a negative window, the action does not wait for REFRESH_DELAY.

    A negative window switches the debouncing off.
    """
    is_called = asyncio.Event()
    timer = Debouncer(lambda: -1.0, is_called.set)
    time_before = asyncio.get_running_loop().time()
    timer.add()
    assert timer.due is not None
    assert timer.due - time_before < REFRESH_DELAY
    await is_called.wait()


def test_spread_is_a_short_random_delay() -> None:
    """`spread` returns a random delay, which is at most the window and at most REFRESH_DELAY.

    Clients that get an event at the same time should not all act at the same time.
    """
    assert spread(0.0) == 0.0
    for _ in range(100):
        assert 0 <= spread(LONG_WINDOW) <= REFRESH_DELAY
        assert 0 <= spread(0.01) <= 0.01
