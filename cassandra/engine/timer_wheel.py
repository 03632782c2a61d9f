"""The wheel that holds the deadlines of requests: the Python twin of the compiled `TimerWheel`.

It belongs to the happy path in `cassandra.engine.happy_path`, which hands the name on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Protocol

from cassandra.engine.failures import as_exception

__all__ = ["TimerWheel"]

log = logging.getLogger("cassandra.connection")

# A deadline is rounded up to 10 ms, or to 100 ms for timeouts of a second and more.
_FINE = 0.01
_FINE_TICKS_OF_COARSE = 10
_COARSE_FROM = 1.0
_LONGEST = 1e9  # seconds
_SAME_CLOCK = 1.0  # seconds; uvloop's time is that of the loop's last turn


class Timed(Protocol):
    """Something with a deadline."""

    def on_timeout(self) -> None:
        """Called once, at the deadline."""

    def fail(self, error: BaseException) -> None:
        """Called with the error that `on_timeout` raised."""


class TimerWheel:
    """Deadlines of things that usually complete before them. Belongs to one loop.

    A request enters the slot of its deadline, and leaves it when it completes: both are one
    operation on a dictionary, which keeps the order of arrival. The loop has at most one timer for
    the wheel, for its earliest slot.

    Other threads only add. Each operation on a dictionary is atomic; the thread that takes a slot
    out of the wheel, and the one that puts something into a slot, look afterwards if the other did
    so too.
    """

    __slots__ = (
        "_call_at",
        "_handle",
        "_handle_tick",
        "_loop",
        "_offset",
        "_slots",
        "_time",
        "clock",
    )

    clock: Callable[[], float]
    """Returns seconds, in any thread: the time by which latencies are measured."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        self._time = loop.time
        self._call_at = loop.call_at
        self._loop = loop
        # Other threads cannot ask the loop for its time: uvloop's stands still while it waits.
        offset = loop.time() - clock()
        self._offset = offset if abs(offset) > _SAME_CLOCK else 0.0
        self._slots: dict[int, dict[Timed, None]] = {}
        self._handle: asyncio.TimerHandle | None = None
        self._handle_tick = 0

    def add(self, timeout: float, item: Timed) -> int:
        """Call ``item.on_timeout()`` once, `timeout` seconds from now or up to a slot later.

        :returns: the slot, which `discard` takes.
        """
        # Rounded up: a deadline may be late, never early. int() cannot take an infinite time.
        tick = int((self._time() + min(timeout, _LONGEST)) / _FINE) + 1
        if timeout >= _COARSE_FROM:
            # Long timeouts share slots: the wheel has fewer of them, and the loop fewer timers.
            tick += -tick % _FINE_TICKS_OF_COARSE
        slot = self._slots.get(tick)
        if slot is None:
            # A thread may have made it meanwhile.
            slot = self._slots.setdefault(tick, {})
        # Only the loop takes slots out, so this one is still there.
        slot[item] = None
        if self._handle is None or tick < self._handle_tick:
            self._schedule(tick)
        return tick

    def add_from_thread(self, timeout: float, item: Timed) -> int:
        """Do the same in another thread than the loop's.

        The loop is woken only if it has no timer that is early enough.

        :raises RuntimeError: if the loop is closed.
        """
        tick = int((self.clock() + self._offset + min(timeout, _LONGEST)) / _FINE) + 1
        if timeout >= _COARSE_FROM:
            tick += -tick % _FINE_TICKS_OF_COARSE
        self._put(tick, item)
        if self._handle is None or tick < self._handle_tick:
            self._loop.call_soon_threadsafe(self._rearm)
        return tick

    def _put(self, tick: int, item: Timed) -> None:
        slots = self._slots
        slot = None
        while slot is None or slots.get(tick) is not slot:
            slot = slots.get(tick)
            if slot is None:
                slot = slots.setdefault(tick, {})
            slot[item] = None

    def discard(self, tick: int, item: Timed) -> None:
        """Forget `item`, which was put into slot `tick`; does nothing if it is gone."""
        slot = self._slots.get(tick)
        if slot is not None:
            slot.pop(item, None)
            # The slot that the loop's timer is for stays: the next request may need it again.
            if not slot and tick != self._handle_tick:
                self._slots.pop(tick, None)
                if slot:  # a thread was just about to add to it
                    for late in list(slot):
                        self._put(tick, late)

    def close(self) -> None:
        """Forget everything."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._slots.clear()

    def __len__(self) -> int:
        return sum(map(len, list(self._slots.values())))

    def _rearm(self) -> None:
        """See that the loop has a timer for the earliest slot."""
        ticks = list(self._slots)
        if ticks and (self._handle is None or min(ticks) < self._handle_tick):
            self._schedule(min(ticks))

    def _schedule(self, tick: int) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle_tick = tick
        self._handle = self._call_at(tick * _FINE, self._expire)

    def _expire(self) -> None:
        self._handle = None
        # A time divided by the width of a slot may come out just below a whole number.
        now = int(self._time() / _FINE + 1e-6)
        due = [tick for tick in list(self._slots) if tick <= now or tick == self._handle_tick]
        expired = [item for tick in sorted(due) for item in list(self._slots.pop(tick))]
        self._handle_tick = 0
        self._rearm()
        # The wheel is in order again by now: what is called may add a new deadline.
        for item in expired:
            try:
                item.on_timeout()
            # An error of one of them is not a reason to forget the others.
            except BaseException as error:
                log.exception("the end of a time limit could not be processed")
                item.fail(as_exception(error))
