"""A clock in microseconds that never repeats a value or goes back, for client-side timestamps.

``cassandra._accel.clock`` is the compiled version of this module.
"""

from __future__ import annotations

from collections.abc import Callable
from time import time_ns
from typing import Any

from cassandra._forks import renewed
from cassandra._impl import reduced
from cassandra._threads import Lock

__all__ = ["MicrosecondClock"]

# Threads hold the lock for about a microsecond. If a thread holds it for longer than this, we
# assume that the thread was interrupted and will never release the lock.
_LOST_AFTER = 1.0  # seconds


class MicrosecondClock:
    """Returns microseconds since the Unix epoch; each value is greater than all earlier values.

    Any thread may call it. If the system clock stands still or goes back, each value is one
    microsecond greater than the previous value, so the values run ahead of the clock.

    :param tolerance: the number of microseconds that the values may be ahead of the clock.
    :param on_drift: called if the values are further ahead, with the system time and the previous
        value, both in microseconds.
    """

    # `renewed` keeps a weak reference to this object, which requires the slot `__weakref__`.
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
        return reduced(self, MicrosecondClock, "clock", self.tolerance, self.on_drift)

    def _renew_locks(self) -> None:
        """Replace the lock in a forked child."""
        self._lock = Lock()

    def next(self) -> int:
        """Return the next value."""
        lock = self._lock
        # Do not use `with lock`. Since Python 3.14, a signal handler that raises an error may
        # interrupt the statement at a point where the lock stays held, and all later requests would
        # wait for the lock. Other threads hold it only for microseconds, so if it is not free in
        # time, it will never be released: then replace it, below.
        is_held = lock.acquire(timeout=_LOST_AFTER)
        try:
            now = self.time_ns() // 1000
            last = self.last
            # Each value is greater than the previous value, even if the clock is set back.
            self.last = value = now if now > last else last + 1
        finally:
            if is_held:
                lock.release()
            else:
                # The thread that holds the lock was interrupted: replace the lock by a new lock.
                self._lock = Lock()
        # Call the callback without the lock: it may log, and logging may block.
        if last - now > self.tolerance:
            self.on_drift(now, last)
        return value
