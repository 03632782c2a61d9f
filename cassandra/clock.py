"""A clock in microseconds that never repeats or goes back, for client-side timestamps.

The compiled twin is ``cassandra._accel.clock``.
"""

from __future__ import annotations

from collections.abc import Callable
from time import time_ns
from typing import Any

from cassandra._forks import renewed
from cassandra._threads import Lock

__all__ = ["MicrosecondClock"]

_LOST_AFTER = 1.0  # seconds: the lock is held for a microsecond


class MicrosecondClock:
    """Microseconds since the Unix epoch. Each value is greater than the previous one, in all
    threads.

    If the system clock stands still or goes back, the values run ahead of it by a microsecond each.

    :param tolerance: the number of microseconds that the values may be ahead.
    :param on_drift: called if they are further ahead, with the system time and the previous value,
        both in microseconds.
    """

    # `renewed` keeps a weak reference to it.
    __slots__ = ("__weakref__", "_lock", "last", "on_drift", "time_ns", "tolerance")

    def __init__(self, tolerance: int, on_drift: Callable[[int, int], None]) -> None:
        self.last = 0
        self.tolerance = tolerance
        self.on_drift = on_drift
        self.time_ns = time_ns
        """Returns the system time in nanoseconds. A simulation replaces it."""
        self._lock = Lock()
        renewed(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.tolerance, self.on_drift)

    def _renew_locks(self) -> None:
        """Replace the lock in a forked child."""
        self._lock = Lock()

    def next(self) -> int:
        """Return the next value."""
        lock = self._lock
        # We avoid `with`: since Python 3.14, a signal handler that raises may interrupt it between
        # its parts and leave the lock held. All later requests would wait for it.
        is_held = lock.acquire(timeout=_LOST_AFTER)
        try:
            now = self.time_ns() // 1000
            last = self.last
            self.last = value = now if now > last else last + 1
        finally:
            if is_held:
                lock.release()
            else:
                self._lock = Lock()
        # Outside the lock, because the callback may log, and logging may block.
        if last - now > self.tolerance:
            self.on_drift(now, last)
        return value
