"""A brake for log lines that must not become a flood."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["OncePerInterval"]


class OncePerInterval:
    """Says once in an interval that it is time for a log line.

    It has no lock, so two threads that ask in the same instant may both be told yes. For log lines
    that does no harm.

    :param interval: seconds.
    :param clock: returns the time in seconds, and never goes back; None for the system's.
    """

    __slots__ = ("_clock", "_next", "interval", "missed")

    def __init__(self, interval: float, clock: Callable[[], float] | None = None) -> None:
        self.interval = interval
        self._clock = clock
        self.missed = 0
        """The number of times that the answer was no since it was last yes."""
        self._next = 0.0

    def is_due(self) -> bool:
        """Return True once, then not before the interval is over. Read `missed` before."""
        # Monotonic: a clock that is set back must not silence the log for hours.
        now = time.monotonic() if self._clock is None else self._clock()
        if now < self._next:
            self.missed += 1
            return False
        self._next = now + self.interval
        self.missed = 0
        return True
