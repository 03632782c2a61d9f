"""Client-side timestamps: microseconds since the Unix epoch that never repeat or go back."""

from __future__ import annotations

import logging
import threading
from time import time_ns as _time_ns

__all__ = ["MonotonicTimestampGenerator"]

log = logging.getLogger(__name__)


class MonotonicTimestampGenerator:
    """Callable that gives the time in microseconds, each value greater than the one before, from any thread.

    Where the clock stands still or goes back, the values run ahead of it by a microsecond each. A warning says so when they
    are more than `warning_threshold` seconds ahead, at most once in `warning_interval` seconds.
    """

    def __init__(
        self, warn_on_drift: bool = True, warning_threshold: float = 1.0, warning_interval: float = 1.0
    ) -> None:
        self.lock = threading.Lock()
        self.last = 0
        self._last_warn = 0
        self.warn_on_drift = warn_on_drift
        self.warning_threshold = warning_threshold
        self.warning_interval = warning_interval

    def _next_timestamp(self, now: int, last: int) -> int:
        """The timestamp that follows `last` at the clock's `now`, both in microseconds. Called with the lock held."""
        if now > last:
            self.last = now
            return now
        self._warn_of_drift(now, last)
        self.last = last + 1
        return last + 1

    def __call__(self) -> int:
        with self.lock:
            now = _time_ns() // 1000
            if now > self.last:
                self.last = now
                return now
            return self._next_timestamp(now, self.last)

    def _warn_of_drift(self, now: int, last: int) -> None:
        ahead = last - now
        due = now - self._last_warn >= self.warning_interval * 1e6 or self._last_warn > now
        if self.warn_on_drift and due and ahead > self.warning_threshold * 1e6:
            log.warning(
                "Clock skew detected: the current tick (%d) was %d microseconds behind the last generated timestamp (%d)",
                now,
                ahead,
                last,
            )
            self._last_warn = now
