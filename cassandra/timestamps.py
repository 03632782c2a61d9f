"""Client-side write timestamps: microseconds since the Unix epoch that never repeat or go back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cassandra._logs import Log

if TYPE_CHECKING:
    from cassandra import clock
else:
    from cassandra._impl import clock

__all__ = ["MonotonicTimestampGenerator"]

log = Log(__name__)

_LONGEST = 2**63 - 1  # the longest drift, in microseconds, that the clock compares with


class MonotonicTimestampGenerator:
    """A callable that returns the time in microseconds, each value greater than all earlier values.

    Any thread may call it. If the system clock stands still or goes back, each value is one
    microsecond greater than the previous value, so the values run ahead of the clock.

    :param warn_on_drift: True to log a warning if the values are too far ahead of the clock.
    :param warning_threshold: the drift in seconds that causes a warning; infinity never warns.
    :param warning_interval: the minimum number of seconds between two warnings.
    """

    def __init__(
        self,
        warn_on_drift: bool = True,
        warning_threshold: float = 1.0,
        warning_interval: float = 1.0,
    ) -> None:
        self.warn_on_drift = warn_on_drift
        self.warning_interval = warning_interval
        self._last_warn = 0  # the clock's time of the last warning, in microseconds
        # The clock is thread-safe, so this object needs no lock. It counts in microseconds.
        self._clock = clock.MicrosecondClock(_microseconds(warning_threshold), self._warn_of_drift)

    @property
    def last(self) -> int:
        """The latest value, in microseconds."""
        return self._clock.last

    @last.setter
    def last(self, last: int) -> None:
        self._clock.last = last

    @property
    def warning_threshold(self) -> float:
        """The drift ahead of the clock, in seconds, that causes a warning."""
        tolerance = self._clock.tolerance
        return float("inf") if tolerance == _LONGEST else tolerance / 1e6

    @warning_threshold.setter
    def warning_threshold(self, seconds: float) -> None:
        self._clock.tolerance = _microseconds(seconds)

    def read_from(self, time_ns: Callable[[], int]) -> None:
        """Read another clock instead of the system clock, for example in a simulation.

        :param time_ns: returns nanoseconds since the Unix epoch.
        """
        self._clock.time_ns = time_ns

    def _next_timestamp(self, now: int, last: int) -> int:
        """Return the timestamp after `last` if the clock shows `now`, both in microseconds."""
        if last - now > self._clock.tolerance:
            self._warn_of_drift(now, last)
        # Never return the same timestamp twice: of two writes with equal timestamps, servers keep
        # the write with the greater value, and not the later write.
        self._clock.last = max(now, last + 1)
        return self._clock.last

    def __call__(self) -> int:
        return self._clock.next()

    def _warn_of_drift(self, now: int, last: int) -> None:
        """Log that timestamps run ahead of the clock, at most once per `warning_interval`."""
        # A warning is also due if the clock was set back to before the last warning.
        is_due = now - self._last_warn >= self.warning_interval * 1e6 or self._last_warn > now
        if self.warn_on_drift and is_due:
            log.warning(
                "Timestamps run %d microseconds ahead of the clock: the latest is %d, the clock "
                "says %d",
                last - now,
                last,
                now,
            )
            self._last_warn = now


def _microseconds(seconds: float) -> int:
    """Return a number of seconds, which may be infinite, as microseconds.

    :raises ValueError: if `seconds` is NaN.
    """
    # `min` and `max` return their first argument if it is NaN, which is then an error.
    return int(max(min(seconds * 1e6, _LONGEST), -_LONGEST))
