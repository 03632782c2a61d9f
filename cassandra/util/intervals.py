"""Rate limits for log messages, so that a frequent event does not fill the log."""

from __future__ import annotations

import time
from collections.abc import Callable

from cassandra._bounded import Bounded


class OncePerInterval:
    """Allows a log line once per interval.

    There is no lock, so two threads that ask at the same instant may both be allowed. That does no
    harm for log lines.

    :param interval: the interval, in seconds.
    :param clock: returns the time in seconds, and never goes back; None for the system's monotonic
        clock.
    """

    __slots__ = ("_clock", "_next", "interval", "missed")

    def __init__(self, interval: float, clock: Callable[[], float] | None = None) -> None:
        self.interval = interval
        self._clock = clock
        self.missed = 0
        """The number of calls that returned False since the last call that returned True."""
        self._next = 0.0

    def is_due(self) -> bool:
        """Return True if a line is allowed now. Then later calls in the interval return False.

        Read `missed` before you call this method, because a call that returns True resets it.
        """
        # Use a monotonic clock: if the system's clock were set back, a clock of the time of day
        # would allow no lines for hours.
        now = time.monotonic() if self._clock is None else self._clock()
        if now < self._next:
            self.missed += 1
            return False
        self._next = now + self.interval
        self.missed = 0
        return True


class OncePerKey:
    """Allows a log line for each key once per interval.

    :param interval: the interval, in seconds.
    :param size: the maximum number of remembered keys. If there are more keys, all keys are
        forgotten, so that a line is allowed for each key again.
    :param most_bytes: the maximum total length of the remembered keys. If it is exceeded, all keys
        are forgotten.
    """

    __slots__ = ("_interval", "_limits")

    def __init__(self, interval: float, size: int, most_bytes: int) -> None:
        self._interval = interval
        self._limits: Bounded[str, OncePerInterval] = Bounded(size, most_bytes)

    def missed(self, key: str) -> int | None:
        """Return None if a log line for `key` is not allowed now, because of an earlier line.

        If a line is allowed, return how many lines for `key` were not allowed since the last line.
        """
        limit = self._limits.get(key) or self._limits.keep(
            key, OncePerInterval(self._interval), len(key)
        )
        missed = limit.missed
        return missed if limit.is_due() else None

    def __len__(self) -> int:
        return len(self._limits)
