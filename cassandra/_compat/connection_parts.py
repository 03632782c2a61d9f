"""Parts of cassandra-driver's event loops that applications import from `cassandra.connection`.

This driver uses asyncio's event loop instead. Parts that need no event loop work as in
cassandra-driver. Objects of the other classes can be created, but not used.
"""

from __future__ import annotations

import errno
import functools
import heapq
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

from cassandra._compat.refusal import CONTINUOUS_PAGING, holder, refuse
from cassandra.protocol.compression import compression

# Errors of a socket that is not ready. Applications import this name.
NONBLOCKING = (errno.EAGAIN, errno.EWOULDBLOCK)

_LARGEST_BODY = 256 * 1024 * 1024  # bytes: native_protocol_v5.spec, section 2.4.1.5
_ENGINE = "the driver's event loop has its own"  # the reason in messages about unused parts

_numbers = itertools.count()  # numbers timers, to order timers that have the same end


class Timer:
    """A timer: `finish` calls `callback` if `timeout` seconds have passed.

    :param timeout: seconds from now.
    :param callback: called without arguments.
    """

    def __init__(self, timeout: float, callback: Callable[[], object]) -> None:
        self.end = time.time() + timeout
        self.callback = callback
        self.canceled = False
        self._number = next(_numbers)

    def __lt__(self, other: Timer) -> bool:
        return (self.end, self._number) < (other.end, other._number)

    def cancel(self) -> None:
        """Cancel the timer: `callback` is not called."""
        self.canceled = True

    def finish(self, time_now: float) -> bool:
        """Call the callback if the timer has ended by `time_now`, a value of ``time.time()``.

        Return True if the callback was called, or if the timer was cancelled.
        """
        if self.canceled:
            return True
        if time_now < self.end:
            return False
        self.callback()
        return True


class TimerManager:
    """A collection of timers, sorted by the time at which they end."""

    def __init__(self) -> None:
        self._timers: list[Timer] = []  # a heap, whose first item ends first

    def add_timer(self, timer: Timer) -> None:
        """Add a timer."""
        heapq.heappush(self._timers, timer)

    @property
    def next_timeout(self) -> float | None:
        """Return the end of the next timer, a value of ``time.time()``; None without timers."""
        return self._timers[0].end if self._timers else None

    def service_timeouts(self) -> float | None:
        """Finish the timers that have ended by now. Return the end of the next timer, or None."""
        now = time.time()
        while self._timers and self._timers[0].finish(now):
            heapq.heappop(self._timers)
        return self.next_timeout


class ConnectionHeartbeat(threading.Thread):
    """In cassandra-driver, the thread that keeps idle connections alive.

    In this driver you can create the thread object, but not start it.
    """

    def __init__(
        self, interval_sec: float, get_connection_holders: Callable[[], Any], timeout: float
    ) -> None:
        super().__init__(name="Connection heartbeat", daemon=True)
        self.interval_sec = interval_sec
        self.get_connection_holders = get_connection_holders
        self.timeout = timeout

    def start(self) -> NoReturn:
        """Raise NotImplementedError: set ``Cluster.idle_heartbeat_interval``."""
        refuse("ConnectionHeartbeat.start()", f"{_ENGINE}, see Cluster.idle_heartbeat_interval")

    def stop(self) -> None:
        """Do nothing, because the thread was never started."""


# You can create objects of these classes, but not use them.
HeartbeatFuture = holder("HeartbeatFuture", "connection owner", "wait", _ENGINE)
ResponseWaiter = holder(
    "ResponseWaiter", "connection num_responses fail_on_error", "deliver", _ENGINE
)
ContinuousPagingState = holder("ContinuousPagingState", "max_queue_size")
ContinuousPagingSession = holder(
    "ContinuousPagingSession",
    "stream_id decoder row_factory connection state",
    "results",
    CONTINUOUS_PAGING,
)


def defunct_on_error(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that calls ``self.defunct(error)`` if `f` raises an error."""

    @functools.wraps(f)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return f(self, *args, **kwargs)
        except Exception as error:
            self.defunct(error)

    return wrapper


def lz4_compress(byts: bytes) -> bytes:
    """Return a body compressed with LZ4, with the length of the body in front.

    :raises ImportError: if the package lz4 is not installed.
    """
    return compression("lz4").compress_body(byts)


def lz4_decompress(byts: bytes) -> bytes:
    """Return the decompressed body, the inverse of `lz4_compress`."""
    return compression("lz4").decompress_body(byts, _LARGEST_BODY)


def decompress(byts: bytes) -> bytes:
    """Return a body decompressed with snappy.

    :raises ImportError: if the package python-snappy is not installed.
    """
    return compression("snappy").decompress_body(byts, _LARGEST_BODY)
