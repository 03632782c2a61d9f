"""Log lines that must not become a flood."""

from __future__ import annotations

import time

__all__ = ["OncePerInterval"]


class OncePerInterval:
    """Tells once in an interval that it is time.

    It has no lock, so two threads that ask in the same instant may both be told: for log lines that
    does no harm.

    :param interval: seconds.
    """

    __slots__ = ("_next", "interval", "missed")

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self.missed = 0
        """How often the answer was no since it was last yes."""
        self._next = 0.0

    def is_due(self) -> bool:
        """Return True once, then not before the interval is over. Read `missed` before."""
        now = time.monotonic()
        if now < self._next:
            self.missed += 1
            return False
        self._next = now + self.interval
        self.missed = 0
        return True
