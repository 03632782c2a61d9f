"""`TimerWheel`: the deadlines of requests.

Use the class that `cassandra.engine.happy_path` exports: the compiled Cython version if it is in
use, else the Python version in this module.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextvars import Context
from typing import Protocol

from cassandra._logs import Log
from cassandra.engine.failures import as_exception

log = Log("cassandra.connection")

# Deadlines are rounded up to a multiple of 10 ms (one tick). For timeouts of _COARSE_FROM or more,
# they are rounded up to a multiple of 100 ms.
_FINE = 0.01  # seconds per tick
_FINE_TICKS_OF_COARSE = 10
_COARSE_FROM = 1.0  # seconds
_LONGEST = 1e9  # seconds; longer timeouts count as this
# If the loop's timer is called this much too late, the loop was blocked or did not run.
_LATE = 0.01  # seconds
# If the loop's clock and `clock` differ by less than this, they count as the same clock. A small
# difference is normal with uvloop, whose clock does not advance within a loop iteration.
_SAME_CLOCK = 1.0  # seconds


class Timed(Protocol):
    """An object that can be added to a `TimerWheel`, for example a request."""

    def on_timeout(self) -> None:
        """Called once, when the deadline has passed."""

    def fail(self, error: BaseException) -> None:
        """Called with the error that `on_timeout` raised."""


class TimerWheel:
    """The deadlines of requests on one loop. Most requests complete before their deadlines.

    A slot is a dict of the requests whose deadlines are rounded up to the same tick. A request is
    added to the slot of its deadline, and is removed from the slot when it completes. Adding and
    removing are one dict operation each, and the dict keeps the order. The loop has at most one
    timer for the whole wheel, for the earliest slot.

    Threads other than the loop's may only add requests. Each dict operation is atomic, but the loop
    may remove a slot while a thread adds a request to that slot. Afterwards, the thread and the
    loop check whether this has happened, so that one of them adds the request to a new slot.
    """

    __slots__ = (
        "_call_at", "_handle", "_handle_tick", "_loop", "_offset", "_slots", "_time", "clock",
    )  # fmt: skip

    clock: Callable[[], float]
    """Returns the time in seconds. Any thread may call it; it is also used to measure latencies."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        self._time = loop.time
        self._call_at = loop.call_at
        self._loop = loop
        # Other threads need deadlines in the loop's time, but cannot call loop.time(), because
        # uvloop's clock does not advance while the loop waits. They call `clock` and add this
        # offset.
        offset = loop.time() - clock()
        self._offset = offset if abs(offset) > _SAME_CLOCK else 0.0
        # The slots by their tick. Each slot is a dict that serves as an ordered set.
        self._slots: dict[int, dict[Timed, None]] = {}
        # The loop's timer, and the tick of its slot; None and 0 if no timer is set.
        self._handle: asyncio.Handle | None = None
        self._handle_tick = 0

    def add(self, timeout: float, item: Timed) -> int:
        """Call ``item.on_timeout()`` once, after `timeout` seconds or up to one slot later.

        :returns: the number of the slot, for `discard`.
        """
        # Round up, because a request may time out late, but never early. Limit the timeout, because
        # int() cannot convert infinity.
        tick = int((self._time() + min(timeout, _LONGEST)) / _FINE) + 1
        if timeout >= _COARSE_FROM:
            # Long timeouts share coarser slots, so that the loop needs fewer timers: round up to
            # the next multiple of 10 ticks.
            tick += -tick % _FINE_TICKS_OF_COARSE
        slot = self._slots.get(tick)
        if slot is None:
            # Use `setdefault`, because a thread may have added the slot since the line above.
            slot = self._slots.setdefault(tick, {})
        # Only the loop removes slots, and this runs on the loop. So this slot is still in the
        # wheel.
        slot[item] = None
        if self._handle is None or tick < self._handle_tick:
            self._schedule(tick)
        return tick

    def add_from_thread(self, timeout: float, item: Timed) -> int:
        """Do the same as `add`, but in a thread other than the loop's.

        Wake the loop only if its timer is not early enough for this deadline.

        :raises RuntimeError: if the loop is closed.
        """
        # This is the same computation as in `add`, but with the clock that this thread may read.
        tick = int((self.clock() + self._offset + min(timeout, _LONGEST)) / _FINE) + 1
        if timeout >= _COARSE_FROM:
            tick += -tick % _FINE_TICKS_OF_COARSE
        self._put(tick, item)
        if self._handle is None or tick < self._handle_tick:
            self._loop.call_soon_threadsafe(self._rearm)
        return tick

    def _put(self, tick: int, item: Timed) -> None:
        """Add `item` to the slot `tick`, from any thread."""
        slots = self._slots
        while True:
            slot = slots.get(tick)
            if slot is None:
                slot = slots.setdefault(tick, {})
            slot[item] = None
            # If the loop has removed the slot from the wheel since `setdefault`, begin again. But
            # if `_expire` has already taken the item out of the slot, the item has expired.
            if slots.get(tick) is slot or slot.pop(item, item) is not None:
                return

    def discard(self, tick: int, item: Timed) -> None:
        """Remove `item` from the slot `tick`, if the slot still contains it."""
        slot = self._slots.get(tick)
        if slot is not None:
            slot.pop(item, None)
            # Remove the slot if it is empty. But keep the slot of the loop's timer, because the
            # next request will probably need it.
            if not slot and tick != self._handle_tick:
                self._slots.pop(tick, None)
                if slot:  # a thread has just added a request to the removed slot
                    for late_item in list(slot):
                        self._put(tick, late_item)

    def close(self) -> None:
        """Cancel the loop's timer, and remove all slots, so that no request times out any more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._slots.clear()

    def __len__(self) -> int:
        return sum(map(len, list(self._slots.values())))

    def _rearm(self) -> None:
        """Set the loop's timer to the earliest slot."""
        ticks = list(self._slots)
        if ticks and (self._handle is None or min(ticks) < self._handle_tick):
            self._schedule(min(ticks))

    def _schedule(self, tick: int) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle_tick = tick
        # The timer belongs to all requests. So it must not run in the context (see `contextvars`)
        # of the request that happens to set it.
        self._handle = Context().run(self._call_at, tick * _FINE, self._on_time)

    def _on_time(self) -> None:
        """Called by the loop's timer: let the items expire whose deadlines have passed.

        If the loop was blocked, or did not run for a while, responses may have come in time and
        wait in the sockets. uvloop calls its timers before it reads from the sockets. So let the
        loop read before the items expire. A loop that is run by ``run_until_complete`` for each
        call of the application does not run in between.
        """
        if self._time() - self._handle_tick * _FINE <= _LATE:
            self._expire()
        else:
            self._handle = self._loop.call_soon(self._after_reading)

    def _after_reading(self) -> None:
        """Let the items expire in the loop's next iteration, when the loop has read."""
        self._handle = self._loop.call_soon(self._expire)

    def _expire(self) -> None:
        """Remove the slots that are due, and call `on_timeout` of their items."""
        self._handle = None
        # Add a little because of rounding errors: the division may yield slightly less than a whole
        # number.
        now = int(self._time() / _FINE + 1e-6)
        # The slot for which the loop's timer was set is due, even if the clock reads a little less
        # than the time of this slot.
        due = [tick for tick in list(self._slots) if tick <= now or tick == self._handle_tick]
        slots = [self._slots.pop(tick) for tick in sorted(due)]
        # A thread may be adding an item to a slot that we have just removed. Take each item out of
        # its slot, so that `_put` does not add it again.
        expired = [item for slot in slots for item in list(slot) if slot.pop(item, item) is None]
        self._handle_tick = 0
        self._rearm()
        # Call `on_timeout` last, when the wheel is consistent again, because `on_timeout` may add
        # deadlines.
        for item in expired:
            try:
                item.on_timeout()
            # If `on_timeout` of one item raises an error, the other items must be called
            # nevertheless.
            except BaseException as error:
                log.exception("the end of a time limit could not be processed")
                item.fail(as_exception(error))
