"""Latches: what threads wait at, and when the loop opens them."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import deque
from typing import Any

import pytest

from tests.conftest import Twins

WAIT = 5.0


@pytest.mark.parametrize("how", ["open", "open_soon"])
def test_who_comes_later_does_not_wait(twins: Twins, how: str) -> None:
    latch = twins.flight.Latch()
    getattr(latch, how)()
    assert latch.wait()
    assert latch.wait(0)
    getattr(latch, how)()
    assert latch.wait(60)


def test_it_opens_for_all_threads(twins: Twins) -> None:
    latch = twins.flight.Latch()
    seen: list[bool] = []
    threads = [
        threading.Thread(target=lambda wait=wait: seen.append(latch.wait(*wait)), daemon=True)
        for wait in ((), (), (60,), (1e9,), (None,))
    ]
    for thread in threads:
        thread.start()
    latch.open()
    for thread in threads:
        thread.join(WAIT)
    assert seen == [True] * 5


@pytest.mark.parametrize("seconds", [0, 0.0, 0.02])
def test_it_does_not_wait_longer_than_that(twins: Twins, seconds: float) -> None:
    latch = twins.flight.Latch()
    began = time.monotonic()
    assert not latch.wait(seconds)
    assert time.monotonic() - began >= seconds
    latch.open()
    assert latch.wait(seconds)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such signals")
@pytest.mark.parametrize("seconds", [None, 60])
def test_signal_handlers_run_meanwhile(twins: Twins, seconds: float | None) -> None:
    latch = twins.flight.Latch()
    calls: list[int] = []

    def handle(*_: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        with pytest.raises(KeyboardInterrupt):
            latch.wait(seconds)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(calls) >= 3
    latch.open()
    assert latch.wait()


def test_the_loop_opens_them_last(twins: Twins) -> None:
    wakes = twins.flight.Wakes()
    first, second, third = (twins.flight.Latch() for _ in range(3))
    wakes.open(first)
    assert first.wait(0)
    wakes.is_gathering = True
    wakes.open(second)
    wakes.open(second)
    assert not second.wait(0)
    wakes.wake()
    assert second.wait(0)
    assert not wakes.is_gathering
    wakes.open(third)
    assert third.wait(0)
    wakes.wake()


def test_other_threads_may_open_some_meanwhile(twins: Twins) -> None:
    wakes = twins.flight.Wakes()
    opened: deque[Any] = deque()
    over = threading.Event()

    def work() -> None:
        for _ in range(2000):
            opened.append(twins.flight.Latch())
            wakes.open(opened[-1])
        over.set()

    thread = threading.Thread(target=work)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        while not over.is_set():
            wakes.is_gathering = True
            wakes.wake()
        thread.join()
    finally:
        sys.setswitchinterval(before)
    assert all(latch.wait(0) for latch in opened)


def test_one_that_comes_when_the_others_were_opened(twins: Twins) -> None:
    """The Python twin, for which the moment can be made up."""
    if twins.impl == "c":
        pytest.skip("nothing can come in between there")

    class Late(twins.flight.Wakes):  # type: ignore[name-defined,misc]
        answers = iter((True, False))
        is_gathering = property(lambda self: next(self.answers), lambda self, value: None)

    latch = twins.flight.Latch()
    Late().open(latch)
    assert latch.wait(0)


def test_many_at_a_time(twins: Twins) -> None:
    wakes = twins.flight.Wakes()
    latches = [twins.flight.Latch() for _ in range(200)]
    wakes.is_gathering = True
    for latch in (*latches, *latches[:10]):
        wakes.open(latch)
    wakes.wake()
    assert all(latch.wait(0) for latch in latches)


def test_one_that_is_never_opened_can_be_dropped(twins: Twins) -> None:
    for _ in range(1000):
        twins.flight.Latch()
