"""Throttlers limit how many requests of a cluster run at the same time or start per second.

Without a throttler, requests are sent immediately, and only wait if no connection has a free
stream. A throttler decides when a request may start, and keeps other requests in a queue of limited
length. There are three throttlers:

* `ConcurrencyLimitingThrottler`: limits the number of running requests.
* `RateLimitingThrottler`: limits the number of requests that start per second.
* `AdaptiveThrottler`: adapts the number of running requests to the capacity of the servers.

.. code-block:: python

   from cassandra.cluster import Cluster
   from cassandra.throttling import ConcurrencyLimitingThrottler

   cluster = Cluster(request_throttler=ConcurrencyLimitingThrottler(1000, max_queue_size=50_000))

If the queue is full, a request fails with `cassandra.errors.RequestThrottled`. The time in the
queue is part of the request's time-out, and a cancelled request leaves the queue. Callers (threads
and asyncio tasks) take turns, so a caller with a hundred thousand requests does not delay the
requests of other callers.
"""

from __future__ import annotations

import math
import os
from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, Any, Protocol

from cassandra._error_copies import copy_of
from cassandra._patterns import pattern
from cassandra._unknown_options import advise_options
from cassandra.errors import OperationTimedOut, RequestThrottled, WriteTimeout
from cassandra.protocol.messages.errors import IsBootstrappingErrorMessage, OverloadedErrorMessage

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Handle


__all__ = [
    "AdaptiveThrottler",
    "ConcurrencyLimitingThrottler",
    "RateLimitingThrottler",
    "RequestThrottled",
    "RequestThrottler",
]


class Sending(Protocol):
    """The attributes of an `Attempt` that throttlers use."""

    @property
    def started(self) -> float:
        """When the attempt was sent, in seconds by a monotonic clock."""

    @property
    def latency(self) -> float | None:
        """Seconds until the response arrived; None if there was none."""


class ThrottledRequest(Protocol):
    """The attributes and methods of a request that throttlers use."""

    caller: object
    """Identifies the thread or task that created the request; callers take turns."""
    session: Any
    """The engine's part of the session that executes the request."""
    done: bool
    """True if the request is finished."""
    error: BaseException | None
    """The error with which the request ended; None if it succeeded."""

    @property
    def attempts(self) -> Sequence[Sending]:
        """The attempts so far, in order."""

    def start_admitted(self) -> None:
        """Start the request, which has waited in the queue."""

    def fail(self, error: BaseException) -> None:
        """End the request with an error.

        :param error: the error.
        """


class RequestThrottler:
    """A queue of requests that wait for their turn. A subclass decides when a request may start.

    A throttler belongs to one cluster. The engine calls the throttler's methods on its event loop
    until the cluster is shut down. You may read the attributes in any thread.

    :param max_queue_size: the maximum number of waiting requests.
    :raises ValueError: if `max_queue_size` is negative.
    """

    def __init__(self, max_queue_size: int) -> None:
        self.max_queue_size = _checked_int("max_queue_size", max_queue_size, 0)
        self.under_way = 0
        """The number of running requests, which have started but are not finished."""
        self.waiting = 0
        """The number of requests in the queue."""
        self.refused = 0
        """The number of requests that were rejected because the queue was full."""
        self._loop: AbstractEventLoop | None = None  # the engine's loop; None if not attached
        self._process = 0  # the id of the process that called `attach`, to detect a forked child
        self._is_draining = False  # True while `drain` runs
        # The loop's handle of `_drain_later`; None if it will not be called.
        self._drain_handle: Handle | None = None
        # The waiting requests of each caller. The callers take turns: in each round, one request of
        # each caller starts.
        self._queues: OrderedDict[Any, deque[ThrottledRequest]] = OrderedDict()
        self._withdrawn = 0  # the number of finished requests in the queues

    def attach(self, loop: AbstractEventLoop) -> None:
        """Attach the throttler to the engine on `loop`, until `detach`.

        :param loop: the engine's event loop.
        :raises ValueError: if the throttler is attached to another running engine.
        """
        # In a forked child, the throttler is a copy that may be attached again.
        is_used = (
            self._loop is not None and not self._loop.is_closed() and self._process == os.getpid()
        )
        if is_used:
            raise ValueError(f"{self!r} belongs to another cluster: make one for each")
        self._loop = loop
        self._process = os.getpid()
        self._begin_anew()

    def detach(self) -> None:
        """Detach the throttler from its closed cluster, so that another engine can attach it."""
        self._loop = None
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Reset the counts and queues for another engine."""
        # The queues and counts may still contain requests of the previous engine, because a
        # throttler that is detached is not notified when these requests end.
        self._queues.clear()
        self.under_way = self.waiting = self._withdrawn = 0
        self._is_draining = False
        handle, self._drain_handle = self._drain_handle, None
        if handle is not None and self._loop is None:
            handle.cancel()

    # -- for subclasses ----------------------------------------------------------------------------

    def may_begin(self) -> bool:
        """Return True if another request may start now."""
        raise NotImplementedError

    def on_begun(self) -> None:
        """Called when a request starts."""

    def on_over(self, request: ThrottledRequest) -> None:
        """Called when a request that had started is finished.

        :param request: the request.
        """

    # -- for the engine ----------------------------------------------------------------------------

    def admit(self, request: ThrottledRequest) -> bool:
        """Let a request start, or put it into the queue.

        :param request: the request.
        :returns: True if the request may start now, False if it is in the queue.
        :raises RequestThrottled: if the queue is full.
        """
        # If requests wait, put the new request into the queue even if there is capacity, because it
        # must not overtake them.
        if not self.waiting and self.may_begin():
            self._begin()
            return True
        if self.waiting >= self.max_queue_size:
            self.refused += 1
            raise RequestThrottled(
                f"requests under way: {self.under_way}, waiting: {self.waiting}, as many as may "
                f"(max_queue_size={self.max_queue_size} of {type(self).__name__})"
            )
        queue = self._queues.get(request.caller)
        if queue is None:
            queue = self._queues[request.caller] = deque()
        queue.append(request)
        self.waiting += 1
        return False

    def withdraw(self, request: ThrottledRequest) -> None:
        """Called when a request in the queue is cancelled.

        :param request: the request, which is finished.
        """
        # Leave the request in its queue, because searching the queue would be slow. `_next` skips
        # requests that are done. If more than half of the queued requests are done, remove them:
        # under overload, requests may time out for a long time before one of them may start.
        self.waiting -= 1
        self._withdrawn += 1
        if self._withdrawn > self.waiting:
            self._drop_withdrawn()

    def _drop_withdrawn(self) -> None:
        """Remove the requests that are done from the queues."""
        for caller, queue in list(self._queues.items()):
            remaining = deque(request for request in queue if not request.done)
            if remaining:
                self._queues[caller] = remaining
            else:
                del self._queues[caller]
        self._withdrawn = 0

    def release(self, request: ThrottledRequest) -> None:
        """Called when a request that had started is finished, so that other requests may start.

        They start in the next turn of the loop to which the throttler is attached.

        :param request: the request.
        """
        self.under_way -= 1
        self.on_over(request)
        # A time limit or a cancellation often ends many requests in one turn of the loop, first
        # those under way. If others started at once, each of them would be sent, end next, and make
        # room for another one. So they start when the loop has ended all that end now.
        if self.waiting and self._drain_handle is None and self._loop is not None:
            # They belong to other callers, so do not start them in the context (see `contextvars`)
            # of this one.
            self._drain_handle = Context().run(self._loop.call_soon, self._drain_later)

    def _drain_later(self) -> None:
        self._drain_handle = None
        self.drain()

    def drain(self) -> None:
        """Start requests while `may_begin` allows it."""
        # A subclass may call this method again from a method that is called below. In that case
        # return, because the loop of the outer call continues.
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
        """Fail a session's requests in the queue.

        :param session: the engine's part of the session that is being closed.
        :param error: the error for the requests.
        """
        # Iterate over copies: each failing request calls `withdraw`, and the last call clears the
        # queues.
        for queue in list(self._queues.values()):
            for request in list(queue):
                if request.session is session:
                    request.fail(copy_of(error))

    def _begin(self) -> None:
        self.under_way += 1
        self.on_begun()

    def _next(self) -> ThrottledRequest | None:
        """Remove and return the next request that may start; None if no request waits.

        The next request is the first request of the caller whose turn it is.
        """
        while self._queues:
            caller, queue = next(iter(self._queues.items()))
            request = queue.popleft()
            if queue:
                # Move the caller to the end: it has had its turn in this round.
                self._queues.move_to_end(caller)
            else:
                del self._queues[caller]
            # Skip requests that were withdrawn: `withdraw` has already subtracted them from
            # `waiting`.
            if not request.done:
                self.waiting -= 1
                if not self.waiting:  # only requests that are done are left
                    self._queues.clear()
                    self._withdrawn = 0
                return request
            self._withdrawn -= 1
        return None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.under_way} under way, {self.waiting} waiting>"


class ConcurrencyLimitingThrottler(RequestThrottler):
    """Allows at most `max_concurrent_requests` running requests.

    :param max_concurrent_requests: the maximum number of running requests.
    :param max_queue_size: the maximum number of waiting requests.
    :raises ValueError: if a limit is out of range.
    """

    def __init__(self, max_concurrent_requests: int, max_queue_size: int = 10_000) -> None:
        super().__init__(max_queue_size)
        self.max_concurrent_requests = _checked_int(
            "max_concurrent_requests", max_concurrent_requests, 1
        )

    def may_begin(self) -> bool:
        return self.under_way < self.max_concurrent_requests


advise_options(ConcurrencyLimitingThrottler)


class RateLimitingThrottler(RequestThrottler):
    """Lets at most `max_requests_per_second` requests start per second, at equal intervals.

    After a pause, as many requests as are allowed in `burst` seconds may start at once.

    :param max_requests_per_second: the maximum rate.
    :param max_queue_size: the maximum number of waiting requests.
    :param burst: limits how many requests may start at once, in seconds.
    :raises TypeError: if a limit is not a number.
    :raises ValueError: if a limit is out of range.
    """

    def __init__(
        self, max_requests_per_second: float, max_queue_size: int = 10_000, burst: float = 0.1
    ) -> None:
        super().__init__(max_queue_size)
        for name, value in (("max_requests_per_second", max_requests_per_second), ("burst", burst)):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"{name} must be a number, but is {value!r}")
        if not 0 < max_requests_per_second < math.inf:
            raise ValueError(
                "max_requests_per_second must be a positive number, but is "
                f"{max_requests_per_second!r}"
            )
        if not 0 <= burst < math.inf:
            raise ValueError(f"burst must be seconds, 0 or more, but is {burst!r}")
        self.max_requests_per_second = max_requests_per_second
        self.burst = burst
        # Each request that starts uses one token. Tokens are added as time passes, up to `_most`.
        self._tokens = self._most
        # The loop's time when the earned tokens were last added; None before the first time.
        self._counted_at: float | None = None
        # The timer that starts waiting requests; None if none is set.
        self._timer: Any = None

    @property
    def _most(self) -> float:
        # The maximum number of tokens, which is reached in a pause of `burst` seconds. It is at
        # least 1, because a request costs one token: otherwise no request could ever start.
        return max(1.0, self.max_requests_per_second * self.burst)

    def _begin_anew(self) -> None:
        """Forget the times and timer of the previous event loop, and begin with `_most` tokens."""
        super()._begin_anew()
        self._tokens = self._most
        # Discard this time, which was read from the previous event loop's clock: the clock of
        # another event loop may have another origin.
        self._counted_at = None
        timer, self._timer = self._timer, None
        if timer is not None and self._loop is None:
            timer.cancel()

    def may_begin(self) -> bool:
        """Return True if a request has a token; otherwise set a timer for the next token."""
        loop = self._loop
        assert loop is not None
        now = loop.time()
        if self._counted_at is not None:
            earned_tokens = (now - self._counted_at) * self.max_requests_per_second
            self._tokens = min(self._most, self._tokens + earned_tokens)
        self._counted_at = now
        # A request may start if there is a token for it. Allow for rounding errors, so that it does
        # not wait for a billionth of a token.
        if self._tokens > 1 - 1e-9:
            return True
        # One timer is enough for all waiting requests: when it fires, `drain` starts as many as may
        # start, and sets the timer again if necessary.
        if self._timer is None:
            seconds_to_next_token = (1 - self._tokens) / self.max_requests_per_second
            # The timer starts the requests of other callers, too. So it must not run in the context
            # (see `contextvars`) of this request's caller.
            self._timer = Context().run(loop.call_later, seconds_to_next_token, self._on_time)
        return False

    def on_begun(self) -> None:
        self._tokens -= 1

    def _on_time(self) -> None:
        self._timer = None
        self.drain()


class AdaptiveThrottler(ConcurrencyLimitingThrottler):
    """Allows as many running requests as the servers can handle.

    As long as the number of running requests is at the limit N, the limit rises by one after N
    responses. The limit is multiplied by `backoff` if a server is overloaded, a request times out,
    or responses take `tolerance` times as long as usual. It falls at most once in `patience`
    seconds.

    Recent responses to a statement are compared with earlier responses to the same statement,
    regardless of its values. Recent responses count as slow only if both their median and their
    fastest tenth are slow, for longer than it takes to complete all running requests. A mixture of
    fast and slow responses is therefore not an overload.

    :param initial: the initial limit.
    :param least: the limit never falls below this.
    :param most: the limit never rises above this.
    :param max_queue_size: the maximum number of waiting requests.
    :param tolerance: responses that take longer than this multiple of the usual latency are slow.
    :param backoff: the limit is multiplied by this when it falls; between 0 and 1.
    :param patience: the minimum time between two falls of the limit, in seconds.
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
        # The limit as a float, because it rises by fractions of one.
        self._limit = float(initial)
        self._next_fall = 0.0  # the event loop's time at which the limit may fall again
        self._answers = 0  # the number of responses so far
        # The latencies of each statement, by its `_likeness`.
        self._speeds: OrderedDict[Hashable, _Speed] = OrderedDict()

    def _begin_anew(self) -> None:
        super()._begin_anew()
        # Forget times and latencies: the new engine's loop has another clock, and it may connect to
        # other servers.
        self._next_fall = 0.0
        self._speeds.clear()

    def on_over(self, request: ThrottledRequest) -> None:
        """Adjust the limit by the outcome of a request."""
        error = request.error
        if isinstance(error, _SIGNS_OF_OVERLOAD):
            self._lower_limit()
            return
        latency = _latency_of(request.attempts)
        # Without a latency, no host has responded, and there is nothing to measure.
        if latency is None:
            return
        self._answers += 1
        # `release` has already subtracted this request from `under_way`.
        under_way = self.under_way + 1
        speed = self._speed_of(request)
        if speed.is_slow_after(latency, self._answers, under_way, self.tolerance):
            self._lower_limit()
        # Raise the limit only if as many requests run as the limit allows: otherwise the limit
        # would rise while there is no load.
        elif under_way >= self.max_concurrent_requests:
            # This adds one request per round, that is, after as many responses as the limit.
            self._set_limit(min(self._limit + 1 / self._limit, float(self.most)))

    def _speed_of(self, request: ThrottledRequest) -> _Speed:
        """Return the measured latencies of the same statement, or of batches of a similar size."""
        key = _likeness(request)
        speed = self._speeds.get(key)
        if speed is None:
            if len(self._speeds) >= _MOST_STATEMENTS:
                # Drop the statement that was added first.
                self._speeds.popitem(last=False)
            speed = self._speeds[key] = _Speed()
        return speed

    def _lower_limit(self) -> None:
        """Lower the limit, but at most once per `patience` seconds."""
        assert self._loop is not None
        now = self._loop.time()
        # Many requests notice the same overload: let the limit fall only once for all requests.
        if now >= self._next_fall:
            self._next_fall = now + self.patience
            self._set_limit(max(self._limit * self.backoff, float(self.least)))

    def _set_limit(self, limit: float) -> None:
        self._limit = limit
        self.max_concurrent_requests = int(limit)


class _Speed:
    """The recent and the usual latency of one statement.

    If responses become faster, the usual latency follows quickly. If responses become slower, the
    usual latency rises over some thousand responses, so a latency that stays high finally counts as
    usual.
    """

    __slots__ = ("_count", "_is_slow", "_latest", "_most_under_way", "_quick_at", "_usual")

    def __init__(self) -> None:
        self._latest: deque[float] = deque(maxlen=_WINDOW)  # the recent latencies in seconds
        self._count = 0  # the number of responses to this statement
        # The usual latency of the fastest tenth, and the usual median; None before the first
        # measurement. Both are logarithms of seconds, so that a single pause does not outweigh
        # hundreds of responses.
        self._usual: tuple[float, float] | None = None
        # The throttler's count of responses when this statement was last fast, and the maximum
        # number of running requests since then.
        self._quick_at = 0
        self._most_under_way = 1
        self._is_slow = False  # the result of the last measurement

    def is_slow_after(self, latency: float, answers: int, under_way: int, tolerance: float) -> bool:
        """Add a response, and return True if responses take too long.

        :param latency: the latency of the response in seconds.
        :param answers: the number of responses to all statements that the throttler has seen.
        :param under_way: the number of running requests.
        :param tolerance: the factor of the usual latency that counts as slow.
        """
        self._latest.append(latency)
        self._count += 1
        self._most_under_way = max(self._most_under_way, under_way)
        # Measure only after every tenth response, because sorting takes time.
        if self._count % _STEP == 0 and self._count >= 2 * _STEP:
            self._is_slow = self._measure(answers, tolerance)
        return self._is_slow

    def _measure(self, answers: int, tolerance: float) -> bool:
        """Compare the recent latencies with the usual latencies, and update the usual latencies.

        :returns: True if responses have been slow for several rounds of all running requests.
        """
        latest = sorted(self._latest)
        count = len(latest)
        # The logarithms of the 10th percentile and of the median of the recent latencies.
        current = (_logarithm(latest[count // 10]), _logarithm(latest[count // 2]))
        usual = self._usual or current
        limit = math.log(tolerance)
        # A difference of logarithms stands for the ratio of two latencies.
        is_slow = all(
            current_value - usual_value > limit
            for current_value, usual_value in zip(current, usual, strict=True)
        )
        if not is_slow or current[1] <= _NOTICEABLE:
            # The responses are not slow, or take less than 5 ms, so that slowness does not matter:
            # restart the count of slow responses.
            self._quick_at = answers
            self._most_under_way = 1
        # Let faster responses change the usual latency quickly, and slower responses slowly.
        weight_up = _STEP / max(_MEMORY, _ROUNDS_OF_MEMORY * self._most_under_way)
        fast_tenth, median = (
            usual_value
            + (current_value - usual_value) * (_DOWN if current_value < usual_value else weight_up)
            for current_value, usual_value in zip(current, usual, strict=True)
        )
        self._usual = fast_tenth, median
        # If many requests are sent together, the last of them are always slow, because they wait
        # for the other requests. So slowness counts only if it lasts for several rounds: in one
        # round, as many responses arrive as requests were running.
        return answers - self._quick_at > max(_ROUNDS * self._most_under_way, _LONG)


def _latency_of(attempts: Sequence[Sending]) -> float | None:
    """Return the latency of the attempt that ended a request; None if no host has responded.

    Earlier attempts of a retried request are left out, because they say little about the current
    load. If a speculative execution has overtaken attempts that nobody has answered, the latency is
    measured from the first of these: the servers have worked on the request since then.
    """
    if len(attempts) < 2:
        return attempts[0].latency if attempts else None
    ends = [
        attempt.started + attempt.latency for attempt in attempts if attempt.latency is not None
    ]
    if not ends:
        return None
    end = max(ends)
    return end - min(
        attempt.started
        for attempt in attempts
        if attempt.latency is None or attempt.started + attempt.latency == end
    )


def _logarithm(seconds: float) -> float:
    return math.log(max(seconds, _SHORTEST))


def _likeness(request: ThrottledRequest) -> Hashable:
    """Return a key that is equal for requests whose latencies are probably similar.

    Latencies are probably similar for the same statement, and for batches of a similar size.
    """
    body = getattr(request, "request_body", None)
    # A `MessageBody` wraps another body, which has the statement.
    body = getattr(body, "inner", body)
    prepared = getattr(body, "prepared", None)
    if prepared is not None:
        query_id: Hashable = prepared.query_id
        return query_id
    if body is None:
        return None
    if hasattr(body, "count"):
        # Batches whose counts have the same number of binary digits are similar.
        return "BATCH", int(body.count).bit_length()
    # Replace literals in the CQL. Use only the beginning of it, because this runs for each request.
    return _VALUES.sub("?", (body.statement_text() or "")[:_LONGEST_TEXT])


# Matches literals in CQL: strings and numbers. A string may be cut off at the end.
_VALUES = pattern(r"'(?:[^']|'')*(?:'|\Z)|\b\d[\w.-]*")
_LONGEST_TEXT = 300  # the number of characters of CQL that identify a statement
_MOST_STATEMENTS = 500  # the maximum number of statements whose latencies are stored
_WINDOW = 50  # the number of responses that count as recent
_STEP = 10  # the number of responses between two measurements
# Responses count as slow only if they have been slow for _ROUNDS rounds of all running requests,
# and for at least _LONG responses.
_ROUNDS = 3
_LONG = 30
_DOWN = 0.3  # the weight of a measurement that is faster than the usual latency
# A high latency becomes the usual latency after _MEMORY responses to a statement, but not before
# _ROUNDS_OF_MEMORY rounds of all running requests.
_MEMORY = 2500
_ROUNDS_OF_MEMORY = 50
_SHORTEST = 1e-6  # seconds; shorter latencies count as this, because 0 has no logarithm

# These errors show that a server, or the network to it, is overloaded.
_SIGNS_OF_OVERLOAD = (
    OverloadedErrorMessage,
    IsBootstrappingErrorMessage,
    OperationTimedOut,
    WriteTimeout,
)
# The logarithm of a latency in seconds. Lower latencies are not a sign of overload.
_NOTICEABLE = math.log(0.005)


def _checked_int(name: str, value: object, least: int) -> int:
    """Return `value`; raise an error if it is not an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, but is {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, but is {value}")
    return value
