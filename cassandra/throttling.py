"""Throttlers: how many requests a cluster's sessions have under way, and how many may wait.

Without one, requests are sent as they come, and wait for a free stream if a host has none. A
throttler lets requests begin by a rule of its own, and keeps the others in a queue of limited
length:

* `ConcurrencyLimitingThrottler`: at most so many under way.
* `RateLimitingThrottler`: at most so many begun in a second.
* `AdaptiveThrottler`: as many under way as the servers can take, found by trying.

.. code-block:: python

   from cassandra.cluster import Cluster
   from cassandra.throttling import ConcurrencyLimitingThrottler

   cluster = Cluster(request_throttler=ConcurrencyLimitingThrottler(1000, max_queue_size=50_000))

A request that finds the queue full fails with `cassandra.errors.RequestThrottled`. Waiting is part
of the request's time-out, and a request that is given up leaves the queue. Callers (threads and
asyncio tasks) take turns: who asks for a hundred thousand requests at once does not keep others
waiting.
"""

from __future__ import annotations

import math
import os
from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from cassandra._patterns import pattern
from cassandra.errors import (
    OperationTimedOut,
    RequestThrottled,
    WriteTimeout,
)
from cassandra.protocol.messages.errors import IsBootstrappingErrorMessage, OverloadedErrorMessage

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


__all__ = [
    "AdaptiveThrottler",
    "ConcurrencyLimitingThrottler",
    "RateLimitingThrottler",
    "RequestThrottler",
]


class Sending(Protocol):
    """The part of one sending of a request that throttlers see."""

    @property
    def latency(self) -> float | None:
        """Seconds until its answer came; None if none did."""


class ThrottledRequest(Protocol):
    """The part of a request that throttlers see."""

    caller: object
    """The thread or task that made it: callers take turns."""
    session: Any
    """The engine's session that it belongs to."""
    done: bool
    """True if it is over."""
    error: BaseException | None
    """The error that it ended with; None for an answer."""

    @property
    def attempts(self) -> Sequence[Sending]:
        """Its sendings so far, the last one last."""

    def start_admitted(self) -> None:
        """Begin, after a wait."""

    def fail(self, error: BaseException) -> None:
        """End with an error.

        :param error: the error.
        """


class RequestThrottler:
    """A queue of requests that wait for their turn. A subclass says when one may begin.

    A throttler belongs to one cluster, whose engine calls it on its event loop, until the cluster
    is shut down. Its numbers may be read in any thread.

    :param max_queue_size: how many requests may wait.
    :raises ValueError: if it is negative.
    """

    def __init__(self, max_queue_size: int) -> None:
        self.max_queue_size = _checked_int("max_queue_size", max_queue_size, 0)
        self.under_way = 0
        """Requests that have begun and are not over."""
        self.waiting = 0
        """Requests in the queue."""
        self.refused = 0
        """Requests that found the queue full."""
        self._loop: AbstractEventLoop | None = None
        self._process = 0  # a forked child is another one
        self._is_draining = False
        # By caller: each round, every caller has one request begun.
        self._queues: OrderedDict[Any, deque[ThrottledRequest]] = OrderedDict()

    def attach(self, loop: AbstractEventLoop) -> None:
        """Belong to the engine on `loop` from now on, until `detach`.

        :param loop: the engine's loop.
        :raises ValueError: if it belongs to another engine that runs, on the same loop or another.
        """
        is_used = (
            self._loop is not None and not self._loop.is_closed() and self._process == os.getpid()
        )
        if is_used:
            raise ValueError(f"{self!r} belongs to another cluster: make one for each")
        self._loop = loop
        self._process = os.getpid()
        self._begin_anew()

    def detach(self) -> None:
        """Belong to no engine: that of the cluster is closed. Another one may attach it."""
        self._loop = None
        self._begin_anew()

    def _begin_anew(self) -> None:
        # Requests of the former engine are gone with it.
        self._queues.clear()
        self.under_way = self.waiting = 0
        self._is_draining = False

    # -- of the subclass ---------------------------------------------------------------------------

    def may_begin(self) -> bool:
        """Return True if one more request may begin now."""
        raise NotImplementedError

    def on_begun(self) -> None:
        """A request begins."""

    def on_over(self, request: ThrottledRequest) -> None:
        """A request that has begun is over.

        :param request: the request.
        """

    # -- of the engine -----------------------------------------------------------------------------

    def admit(self, request: ThrottledRequest) -> bool:
        """Let a request begin, or put it into the queue.

        :param request: the request.
        :returns: True if it may begin now.
        :raises RequestThrottled: if the queue is full.
        """
        # Those that wait go first, even if there is room: a newcomer would overtake them.
        if not self.waiting and self.may_begin():
            self._begin()
            return True
        if self.waiting >= self.max_queue_size:
            self.refused += 1
            raise RequestThrottled(
                f"{self.under_way} requests are under way and {self.waiting} wait, as many as may "
                f"(max_queue_size={self.max_queue_size} of {type(self).__name__})"
            )
        queue = self._queues.get(request.caller)
        if queue is None:
            queue = self._queues[request.caller] = deque()
        queue.append(request)
        self.waiting += 1
        return False

    def withdraw(self, request: ThrottledRequest) -> None:
        """A request in the queue is given up.

        :param request: the request, which is done.
        """
        # It stays where it is, and is passed over when its turn comes: a queue is not searched.
        self.waiting -= 1
        if not self.waiting:
            self._queues.clear()

    def release(self, request: ThrottledRequest) -> None:
        """A request that has begun is over: others may begin.

        :param request: the request.
        """
        self.under_way -= 1
        self.on_over(request)
        self.drain()

    def drain(self) -> None:
        """Let requests begin, for as long as they may."""
        # A request that ends as it begins comes here again: the loop below goes on for it.
        if self._is_draining:
            return
        self._is_draining = True
        try:
            while self.waiting and self.may_begin():
                request = self._next()
                if request is None:
                    return
                self._begin()
                request.start_admitted()
        finally:
            self._is_draining = False

    def fail_all_of(self, session: object, error: BaseException) -> None:
        """Fail the requests in the queue that are a session's.

        :param session: the engine's session, which is being closed.
        :param error: their error.
        """
        # Copies: a request that fails withdraws itself, and the last one clears the queues.
        for queue in list(self._queues.values()):
            for request in list(queue):
                if request.session is session:
                    request.fail(error)

    def _begin(self) -> None:
        self.under_way += 1
        self.on_begun()

    def _next(self) -> ThrottledRequest | None:
        """Take the next request of the next caller."""
        while self._queues:
            caller, queue = next(iter(self._queues.items()))
            request = queue.popleft()
            if queue:
                # Behind all others: it has had its turn in this round.
                self._queues.move_to_end(caller)
            else:
                del self._queues[caller]
            # One that was withdrawn is not counted any more.
            if not request.done:
                self.waiting -= 1
                return request
        return None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.under_way} under way, {self.waiting} waiting>"


class ConcurrencyLimitingThrottler(RequestThrottler):
    """At most `max_concurrent_requests` are under way.

    :param max_concurrent_requests: how many.
    :param max_queue_size: how many may wait.
    :raises ValueError: if a limit is out of range.
    """

    def __init__(self, max_concurrent_requests: int, max_queue_size: int = 10_000) -> None:
        super().__init__(max_queue_size)
        self.max_concurrent_requests = _checked_int(
            "max_concurrent_requests", max_concurrent_requests, 1
        )

    def may_begin(self) -> bool:
        return self.under_way < self.max_concurrent_requests


class RateLimitingThrottler(RequestThrottler):
    """At most `max_requests_per_second` begin in a second, evenly.

    After a pause, as many begin at once as would have begun in `burst` seconds.

    :param max_requests_per_second: how many.
    :param max_queue_size: how many may wait.
    :param burst: seconds.
    :raises ValueError: if a limit is out of range.
    """

    def __init__(
        self, max_requests_per_second: float, max_queue_size: int = 10_000, burst: float = 0.1
    ) -> None:
        super().__init__(max_queue_size)
        if not 0 < max_requests_per_second < math.inf:
            raise ValueError(
                "max_requests_per_second must be a positive number, but is "
                f"{max_requests_per_second!r}"
            )
        if not 0 <= burst < math.inf:
            raise ValueError(f"burst must be seconds, 0 or more, but is {burst!r}")
        self.max_requests_per_second = max_requests_per_second
        self.burst = burst
        self._tokens = self._most
        self._counted_at: float | None = None
        self._timer: Any = None

    @property
    def _most(self) -> float:
        # At least one, or none would ever begin at less than one in a burst.
        return max(1.0, self.max_requests_per_second * self.burst)

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._tokens = self._most
        # Clocks of two loops have nothing to do with each other.
        self._counted_at = None
        timer, self._timer = self._timer, None
        if timer is not None and self._loop is None:
            timer.cancel()

    def may_begin(self) -> bool:
        loop = self._loop
        assert loop is not None
        now = loop.time()
        if self._counted_at is not None:
            earned = (now - self._counted_at) * self.max_requests_per_second
            self._tokens = min(self._most, self._tokens + earned)
        self._counted_at = now
        if self._tokens > 1 - 1e-9:  # or rounding would have it wait for nothing
            return True
        # One timer serves all that wait: the queue is drained when it fires.
        if self._timer is None:
            lacking = (1 - self._tokens) / self.max_requests_per_second
            self._timer = loop.call_later(lacking, self._on_time)
        return False

    def on_begun(self) -> None:
        self._tokens -= 1

    def _on_time(self) -> None:
        self._timer = None
        self.drain()


class AdaptiveThrottler(ConcurrencyLimitingThrottler):
    """As many are under way as the servers can take.

    The limit rises by one for as many answers as it has room for, as long as it is used up, and
    falls to `backoff` of itself if a server is overloaded, a request times out, or answers take
    `tolerance` times as long as they usually do. It falls at most once in `patience` seconds.

    Like is compared with like: the latest answers to a statement with earlier ones to the same
    statement, whatever its values are. A mixture of quick and slow answers is no overload: both the
    median and the quickest tenth have to be slow, for longer than it takes to answer all that is
    under way.

    :param initial: the limit to begin with.
    :param least: the lowest limit.
    :param most: the highest limit.
    :param max_queue_size: how many may wait.
    :param tolerance: how many times the usual latency is too long.
    :param backoff: the limit's factor.
    :param patience: seconds.
    :raises ValueError: if a limit is out of range.
    """

    def __init__(
        self,
        initial: int = 100,
        least: int = 10,
        most: int = 5_000,
        max_queue_size: int = 10_000,
        *,
        tolerance: float = 5.0,
        backoff: float = 0.8,
        patience: float = 0.5,
    ) -> None:
        _checked_int("least", least, 1)
        if not least <= initial <= most:
            raise ValueError(
                f"least <= initial <= most does not hold: {least!r}, {initial!r}, {most!r}"
            )
        if not 0 < backoff < 1 or not tolerance > 1 or not patience >= 0:
            raise ValueError(
                "backoff must be between 0 and 1, tolerance above 1 and patience 0 or more, but "
                f"are {backoff!r}, {tolerance!r} and {patience!r}"
            )
        super().__init__(initial, max_queue_size)
        self.least = least
        self.most = most
        self.tolerance = tolerance
        self.backoff = backoff
        self.patience = patience
        self._limit = float(initial)
        self._next_fall = 0.0
        self._answers = 0
        self._speeds: OrderedDict[Hashable, _Speed] = OrderedDict()

    def _begin_anew(self) -> None:
        super()._begin_anew()
        # The clock of another loop, and perhaps other servers.
        self._next_fall = 0.0
        self._speeds.clear()

    def on_over(self, request: ThrottledRequest) -> None:
        error = request.error
        if isinstance(error, _SIGNS):
            self._fall()
            return
        # The last attempt alone: retries and speculation say little about the present load.
        latency = request.attempts[-1].latency if request.attempts else None
        if latency is None:
            return
        self._answers += 1
        speed = self._speed_of(request)
        if speed.is_slow_after(latency, self._answers, self.under_way + 1, self.tolerance):
            self._fall()
        # A limit that is not used up says nothing: it would rise while nobody is busy.
        elif self.under_way + 1 >= self.max_concurrent_requests:
            self._set(min(self._limit + 1 / self._limit, float(self.most)))

    def _speed_of(self, request: ThrottledRequest) -> _Speed:
        key = _likeness(request)
        speed = self._speeds.get(key)
        if speed is None:
            if len(self._speeds) >= _MOST_STATEMENTS:
                self._speeds.popitem(last=False)
            speed = self._speeds[key] = _Speed()
        return speed

    def _fall(self) -> None:
        assert self._loop is not None
        now = self._loop.time()
        # Many requests notice the same overload: the limit falls once for all of them.
        if now >= self._next_fall:
            self._next_fall = now + self.patience
            self._set(max(self._limit * self.backoff, float(self.least)))

    def _set(self, limit: float) -> None:
        self._limit = limit
        self.max_concurrent_requests = int(limit)


class _Speed:
    """How long the answers to one statement take: lately, and usually.

    Usual seconds follow down soon and up slowly, over some thousand answers: what is slow for good
    becomes usual.
    """

    __slots__ = ("_count", "_is_slow", "_latest", "_most_under_way", "_quick_at", "_usual")

    def __init__(self) -> None:
        self._latest: deque[float] = deque(maxlen=_WINDOW)
        self._count = 0
        # Logarithms of seconds, so that a single pause does not outweigh hundreds of answers: of
        # the quickest tenth, and of the median. None before the first measure.
        self._usual: tuple[float, float] | None = None
        # The throttler's answers when this statement was last found quick, and the most requests
        # that were under way since.
        self._quick_at = 0
        self._most_under_way = 1
        self._is_slow = False

    def is_slow_after(self, latency: float, answers: int, under_way: int, tolerance: float) -> bool:
        """Take an answer in, and return True if answers take too long.

        :param latency: the seconds that it took.
        :param answers: how many answers the throttler has seen, to all statements.
        :param under_way: how many requests are under way.
        :param tolerance: how many times the usual seconds are too long.
        """
        self._latest.append(latency)
        self._count += 1
        self._most_under_way = max(self._most_under_way, under_way)
        if self._count % _STEP == 0 and self._count >= 2 * _STEP:
            self._is_slow = self._measure(answers, tolerance)
        return self._is_slow

    def _measure(self, answers: int, tolerance: float) -> bool:
        latest = sorted(self._latest)
        count = len(latest)
        now = (_logarithm(latest[count // 10]), _logarithm(latest[count // 2]))
        usual = self._usual or now
        limit = math.log(tolerance)
        is_slow = all(late - early > limit for late, early in zip(now, usual, strict=True))
        if not is_slow or now[1] <= _NOTICEABLE:
            self._quick_at = answers
            self._most_under_way = 1
        up = _STEP / max(_MEMORY, _ROUNDS_OF_MEMORY * self._most_under_way)
        low, middle = (
            early + (late - early) * (_DOWN if late < early else up)
            for late, early in zip(now, usual, strict=True)
        )
        self._usual = low, middle
        # Requests that are sent together wait for each other: the last ones are slow each time.
        return answers - self._quick_at > max(_ROUNDS * self._most_under_way, _LONG)


def _logarithm(seconds: float) -> float:
    return math.log(max(seconds, _SHORTEST))


def _likeness(request: ThrottledRequest) -> Hashable:
    """Return a key that requests share whose answers should take about the same time."""
    body = getattr(request, "request_body", None)
    body = getattr(body, "inner", body)
    prepared = getattr(body, "prepared", None)
    if prepared is not None:
        query_id: Hashable = prepared.query_id
        return query_id
    if body is None:
        return None
    if hasattr(body, "count"):
        return "BATCH", int(body.count).bit_length()
    # Without most of its values. A short piece will do: this is a part of each request's time.
    return _VALUES.sub("?", (body.statement_text() or "")[:_LONGEST_TEXT])


_VALUES = pattern(r"'(?:[^']|'')*(?:'|\Z)|\b\d[\w.-]*")
_LONGEST_TEXT = 300
_MOST_STATEMENTS = 500
_WINDOW = 50  # answers that are "lately"
_STEP = 10  # answers from one measure to the next
_ROUNDS = 3  # times that all requests under way are answered, or more:
_LONG = 30  # answers
_DOWN = 0.3  # weight of a measure in what is usual, if it is quicker
_MEMORY = 2500  # answers to a statement until what is slow becomes usual, or more:
_ROUNDS_OF_MEMORY = 50  # times that all requests under way are answered
_SHORTEST = 1e-6  # seconds

# A server, or the way to it, has more than it can do.
_SIGNS = (OverloadedErrorMessage, IsBootstrappingErrorMessage, OperationTimedOut, WriteTimeout)
_NOTICEABLE = math.log(0.005)  # of seconds: below it, a slow answer says nothing about load


def _checked_int(name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, but is {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, but is {value}")
    return value
