"""A coarse timer wheel: one loop timer for any number of request timeouts.

A request enters the slot of its deadline, rounded up to 10 ms, or to 100 ms for timeouts of a second and more; a completed
request leaves it again. Both are one set operation. The loop has at most one timer for the wheel, for its earliest slot.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

_FINE = 0.01
_FINE_TICKS_OF_COARSE = 10
_COARSE_FROM = 1.0


class Expirable(Protocol):
    """What may wait in the wheel."""

    def on_timeout(self) -> None:
        """Called once, on the loop, at or within one slot after the deadline."""


class TimerWheel:
    """Deadlines of things that usually complete before them. Belongs to one loop."""

    __slots__ = ("_handle", "_handle_tick", "_loop", "_slots", "_time")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._time = loop.time
        self._slots: dict[int, set[Expirable]] = {}
        self._handle: asyncio.TimerHandle | None = None
        self._handle_tick = 0

    def add(self, timeout: float, item: Expirable) -> int:
        """Call ``item.on_timeout()`` in `timeout` seconds; returns the slot that `discard` takes."""
        tick = int((self._time() + timeout) / _FINE) + 1
        if timeout >= _COARSE_FROM:
            tick += -tick % _FINE_TICKS_OF_COARSE
        slot = self._slots.get(tick)
        if slot is None:
            slot = self._slots[tick] = set()
            if self._handle is None or tick < self._handle_tick:
                self._schedule(tick)
        slot.add(item)
        return tick

    def discard(self, tick: int, item: Expirable) -> None:
        """Forget `item`, which `add` put into slot `tick`; nothing happens where it is gone."""
        slot = self._slots.get(tick)
        if slot is not None:
            slot.discard(item)
            if not slot and tick != self._handle_tick:
                del self._slots[tick]

    def close(self) -> None:
        """Forget everything."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._slots.clear()

    def __len__(self) -> int:
        return sum(map(len, self._slots.values()))

    def _schedule(self, tick: int) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle_tick = tick
        self._handle = self._loop.call_at(tick * _FINE, self._expire)

    def _expire(self) -> None:
        self._handle = None
        now = int(self._time() / _FINE + 1e-6)
        due = [tick for tick in self._slots if tick <= now or tick == self._handle_tick]
        expired = [item for tick in sorted(due) for item in self._slots.pop(tick)]
        self._handle_tick = 0
        if self._slots:
            self._schedule(min(self._slots))
        for item in expired:
            item.on_timeout()
