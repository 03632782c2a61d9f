"""Tests of throttlers, alone on a fake clock and with sessions of both APIs."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections import deque
from collections.abc import Hashable
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import pytest

import cassandra.throttling as throttling_module
from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.errors import (
    ConnectionShutdown,
    InvalidRequest,
    NoHostAvailable,
    OperationTimedOut,
    RequestThrottled,
    SessionShutdown,
)
from cassandra.protocol.messages.errors import OverloadedErrorMessage
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, error, hold, paged, rows, silence
from cassandra.throttling import (
    AdaptiveThrottler,
    ConcurrencyLimitingThrottler,
    RateLimitingThrottler,
    RequestThrottler,
)
from tests.waiting import WAIT, until, until_on_loop

QUERY = "SELECT k FROM t"
INSERT = "INSERT INTO t (k) VALUES (?)"
K = [("k", "int")]
# These are wrong arguments, typed as Any so that type checkers accept them.
NUMBER_AS_TEXT: Any = "1"
NUMBER: Any = 3
THROTTLER_CLASS: Any = RateLimitingThrottler
MISTAKEN_CLASS: Any = ConcurrencyLimitingThrottler


class FakeLoop:
    """A fake event loop with the attributes that throttlers use.

    The test moves its clock `now`, in seconds.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[tuple[float, Any]] = []

    def time(self) -> float:
        return self.now

    def is_closed(self) -> bool:
        return False

    def call_later(self, delay: float, call: Any) -> None:
        self.calls.append((self.now + delay, call))

    def call_soon(self, call: Any) -> Any:
        self.calls.append((self.now, call))
        return SimpleNamespace(cancel=self.calls.clear)

    def advance(self, seconds: float) -> None:
        """Move the clock forward, and make the calls that become due.

        They are made in the order of their times.
        """
        end_time = self.now + seconds
        while self.calls:
            earliest = min(self.calls, key=lambda timed_call: timed_call[0])
            due, call = earliest
            if due > end_time:
                break
            self.calls.remove(earliest)
            self.now = max(self.now, due)
            call()
        self.now = end_time


class CountingRequest:
    """A fake request that counts how often the throttler lets it begin."""

    def __init__(self, throttler: RequestThrottler, caller: object = 0) -> None:
        self.throttler = throttler
        self.caller = caller
        self.begun = 0
        self.done = False
        self.error: BaseException | None = None
        self.session: object = None
        self.attempts: list[Any] = []
        self.request_body: Any = None

    def ask(self) -> CountingRequest:
        """Begin immediately, or wait until the throttler lets the request begin."""
        if self.throttler.admit(self):
            self.begun += 1
        return self

    def start_admitted(self) -> None:
        self.begun += 1

    def end(self, latency: float | None = None, error: BaseException | None = None) -> None:
        """End the request, whatever its state is."""
        self.finish([SimpleNamespace(latency=latency)], error)

    def finish(self, attempts: list[Any], error: BaseException | None = None) -> None:
        """End the request with these attempts."""
        self.done = True
        self.error = error
        self.attempts = attempts
        if self.begun:
            self.throttler.release(self)
            fake_loop: Any = self.throttler._loop
            fake_loop.advance(0.0)
        else:
            self.throttler.withdraw(self)

    def fail(self, error: BaseException) -> None:
        self.end(error=error)


def attached(throttler: Any) -> tuple[Any, FakeLoop]:
    """Attach a throttler to a fake loop, and return both."""
    loop = FakeLoop()
    throttler.attach(loop)
    return throttler, loop


def begun(requests: list[CountingRequest]) -> list[int]:
    """Return the indexes of the requests that have begun."""
    return [index for index, request in enumerate(requests) if request.begun]


# -- without a session -----------------------------------------------------------------------------


def test_requests_above_the_limit_wait_in_order() -> None:
    """With a limit of 2, each end of a request must let the next one begin, in order."""
    throttler, _ = attached(ConcurrencyLimitingThrottler(2, max_queue_size=10))
    requests = [CountingRequest(throttler).ask() for _ in range(5)]
    assert begun(requests) == [0, 1]
    assert (throttler.under_way, throttler.waiting) == (2, 3)
    requests[1].end()
    assert begun(requests) == [0, 1, 2]
    requests[0].end()
    requests[2].end()
    assert begun(requests) == [0, 1, 2, 3, 4]
    requests[3].end()
    requests[4].end()
    assert (throttler.under_way, throttler.waiting) == (0, 0)


def test_a_full_queue_refuses() -> None:
    """With one request in flight and two in the queue, a fourth request must be refused."""
    throttler, _ = attached(ConcurrencyLimitingThrottler(1, max_queue_size=2))
    for _ in range(3):
        CountingRequest(throttler).ask()
    with pytest.raises(RequestThrottled, match="requests under way: 1, waiting: 2, as many as"):
        CountingRequest(throttler).ask()
    assert throttler.refused == 1


def test_requests_that_end_before_they_begin_leave_the_queue() -> None:
    throttler, _ = attached(ConcurrencyLimitingThrottler(1, max_queue_size=2))
    requests = [CountingRequest(throttler).ask() for _ in range(3)]
    requests[1].end()
    assert throttler.waiting == 1
    # The second request was withdrawn, which leaves room for one more in the queue.
    last = CountingRequest(throttler).ask()
    requests[0].end()
    # Request 2 must have begun instead of request 0, since request 1 was withdrawn.
    assert requests[1].begun == 0
    assert requests[2].begun == 1
    assert last.begun == 0
    last.end()
    requests[2].end()
    assert throttler.under_way == 0
    assert throttler.waiting == 0
    assert len(throttler._queues) == 0


def test_withdrawn_requests_are_not_kept_in_the_queues() -> None:
    throttler, _ = attached(ConcurrencyLimitingThrottler(1, max_queue_size=10))
    first_request = CountingRequest(throttler).ask()
    for _ in range(100):
        CountingRequest(throttler).ask().end()
    assert throttler.waiting == 0
    assert not throttler._queues
    first_request.end()


def test_requests_that_time_out_in_the_queue_are_not_kept_while_another_waits() -> None:
    """Under overload, requests may time out for a long time before one of them may start."""
    throttler, _ = attached(ConcurrencyLimitingThrottler(1, max_queue_size=10))
    first_request = CountingRequest(throttler).ask()
    waiting = [CountingRequest(throttler, caller).ask() for caller in ("one", "two")]
    for number in range(1000):
        CountingRequest(throttler, f"caller {number % 3}").ask().end()
    assert throttler.waiting == 2
    assert sum(map(len, throttler._queues.values())) <= 2 * throttler.waiting + 1
    first_request.end()
    waiting[0].end()
    waiting[1].end()
    assert [request.begun for request in waiting] == [1, 1]
    assert (throttler.under_way, throttler.waiting, throttler._withdrawn) == (0, 0, 0)


def test_a_first_execution_that_waits_is_prepared_once() -> None:
    """A request in the queue has one timer, and is not prepared again when it is admitted."""
    throttler = ConcurrencyLimitingThrottler(1, max_queue_size=10)
    with FakeNode() as node, blocking(node, throttler) as cluster:
        node.prime_prepare(INSERT, K)
        held = hold()
        node.prime(QUERY, held)
        session = cluster.connect()
        first_future = session.execute_async(QUERY)
        held.wait()
        future = session.execute_async(INSERT, (1,), timeout=30)
        until(lambda: throttler.waiting == 1)
        held.release()
        first_future.result()
        future.result()
        assert [request.opcode for request in node.requests].count(Opcode.PREPARE) == 1
        assert len(node.queries(INSERT)) == 1
        until(lambda: len(session._engine.timers) == 0)


def test_waiting_callers_are_served_in_turn() -> None:
    throttler, _ = attached(ConcurrencyLimitingThrottler(1, max_queue_size=1000))
    first_request = CountingRequest(throttler).ask()
    # One caller sends many requests, and another one few.
    greedy_requests = [CountingRequest(throttler, "greedy").ask() for _ in range(100)]
    modest_requests = [CountingRequest(throttler, "modest").ask() for _ in range(3)]
    under_way = first_request
    served_callers = []
    for _ in range(6):
        under_way.end()
        (under_way,) = [
            request
            for request in (*greedy_requests, *modest_requests)
            if request.begun and not request.done
        ]
        served_callers.append(under_way.caller)
    assert served_callers == ["greedy", "modest"] * 3


def test_requests_that_end_at_their_start_cause_no_recursion() -> None:
    throttler, _ = attached(ConcurrencyLimitingThrottler(1, max_queue_size=100_000))

    class RequestEndingAtStart(CountingRequest):
        def start_admitted(self) -> None:
            super().start_admitted()
            self.end()

    first_request = CountingRequest(throttler).ask()
    other_requests = [RequestEndingAtStart(throttler).ask() for _ in range(20_000)]
    # This begins and ends all the other requests, too. If each call was nested in the last one,
    # Python's limit of 1,000 calls would be exceeded.
    first_request.end()
    assert all(request.begun == 1 for request in other_requests)
    assert (throttler.under_way, throttler.waiting) == (0, 0)


def test_requests_above_the_rate_wait() -> None:
    throttler, loop = attached(RateLimitingThrottler(10, max_queue_size=100, burst=0.2))
    requests = [CountingRequest(throttler).ask() for _ in range(10)]
    # 10 requests a second for 0.2 seconds are a burst of 2.
    assert begun(requests) == [0, 1]
    loop.advance(0.1)
    assert begun(requests) == [0, 1, 2]
    loop.advance(0.5)
    # These are 10 requests a second for 0.6 seconds, after the burst of 2.
    assert len(begun(requests)) == 8
    loop.advance(10)
    assert len(begun(requests)) == 10
    later_requests = [CountingRequest(throttler).ask() for _ in range(5)]
    # After a pause, there must be no more than a burst.
    assert begun(later_requests) == [0, 1]


async def test_the_timer_of_a_limited_rate_runs_in_an_empty_context() -> None:
    """The timer does not run in the context of the request that sets it.

    It starts the requests of other callers, too.
    """
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    variable.set("set")
    values: list[str] = []

    class ReadingRequest(CountingRequest):
        def start_admitted(self) -> None:
            super().start_admitted()
            values.append(variable.get())

    throttler: Any = RateLimitingThrottler(100, burst=0.0)
    throttler.attach(asyncio.get_running_loop())
    for _ in range(3):
        ReadingRequest(throttler).ask()
    await until_on_loop(lambda: len(values) == 2)
    assert values == ["unset"] * 2


def test_a_rate_below_one_a_second() -> None:
    """With a rate of 0.5 per second, the second request must begin after two seconds."""
    throttler, loop = attached(RateLimitingThrottler(0.5))
    requests = [CountingRequest(throttler).ask() for _ in range(3)]
    assert begun(requests) == [0]
    loop.advance(1.9)
    assert begun(requests) == [0]
    loop.advance(0.2)
    assert begun(requests) == [0, 1]


def test_the_limit_rises_only_while_requests_use_it_up() -> None:
    throttler, _ = attached(AdaptiveThrottler(initial=10, least=5, most=50))
    for _ in range(2000):
        requests = [
            CountingRequest(throttler).ask() for _ in range(throttler.max_concurrent_requests)
        ]
        for request in requests:
            request.end(0.001)
    # The limit must have grown to its maximum.
    assert throttler.max_concurrent_requests == 50
    throttler, _ = attached(AdaptiveThrottler(initial=10, least=5, most=50))
    for _ in range(2000):
        CountingRequest(throttler).ask().end(0.001)
    # The requests never reached the limit, so it must not be raised.
    assert throttler.max_concurrent_requests == 10


@pytest.mark.parametrize(
    "overload_error",
    [OverloadedErrorMessage(ErrorCode.OVERLOADED, "busy"), OperationTimedOut()],
    ids=["overloaded", "late"],
)
def test_signs_of_overload_lower_the_limit_once_per_patience(overload_error: Exception) -> None:
    throttler, loop = attached(AdaptiveThrottler(initial=100, least=10, most=1000, patience=0.5))
    loop.advance(1)
    for _ in range(10):
        CountingRequest(throttler).ask().end(error=overload_error)
    # Ten signs of an overload at one time must lower the limit only once, by a fifth.
    assert throttler.max_concurrent_requests == 80
    for _ in range(50):
        loop.advance(0.6)
        CountingRequest(throttler).ask().end(error=overload_error)
    # The limit must have fallen to its minimum.
    assert throttler.max_concurrent_requests == 10


def test_slow_responses_lower_the_limit() -> None:
    throttler, loop = attached(AdaptiveThrottler(initial=100, least=10, most=1000))
    for _ in range(100):
        CountingRequest(throttler).ask().end(0.002)
    assert throttler.max_concurrent_requests == 100
    for _ in range(100):
        loop.advance(0.1)
        # This is fifty times as slow as before.
        CountingRequest(throttler).ask().end(0.1)
    # The limit must have been lowered several times, each time by a fifth.
    assert throttler.max_concurrent_requests < 60


@pytest.mark.parametrize("answered", [0, 1])
def test_slow_responses_lower_the_limit_despite_speculative_executions(answered: int) -> None:
    """A response must be measured from the first attempt, whichever attempt it answers."""
    throttler, loop = attached(AdaptiveThrottler(initial=100, least=10, most=1000))
    for _ in range(100):
        CountingRequest(throttler).ask().end(0.01)
    assert throttler.max_concurrent_requests == 100
    for _ in range(100):
        loop.advance(0.3)
        request = CountingRequest(throttler).ask()
        # The second attempt begins after a quarter of a second. The response comes a moment later.
        attempts = [
            SimpleNamespace(started=loop.now, latency=None),
            SimpleNamespace(started=loop.now + 0.25, latency=None),
        ]
        attempts[answered].latency = (0.26, 0.01)[answered]
        request.finish(attempts)
    assert throttler.max_concurrent_requests < 60


def test_the_failed_attempts_of_a_retried_request_are_not_measured() -> None:
    """Only the attempt that was answered counts, and an abandoned one does not hide it."""
    throttler, loop = attached(AdaptiveThrottler(initial=100, least=10, most=1000))
    for number in range(200):
        loop.advance(0.3)
        request = CountingRequest(throttler).ask()
        first_latency = 0.25 if number >= 100 else 0.002
        request.finish(
            [
                SimpleNamespace(started=loop.now, latency=first_latency),
                SimpleNamespace(started=loop.now + first_latency, latency=0.002),
            ]
        )
    assert throttler.max_concurrent_requests == 100


def request_of(throttler: RequestThrottler, text: str) -> CountingRequest:
    """Return a request that executes this query."""
    request = CountingRequest(throttler)
    request.request_body = SimpleNamespace(statement_text=lambda: text)
    return request


@pytest.mark.parametrize("is_one_statement", [True, False])
@pytest.mark.parametrize("slow_share", [0.1, 0.2, 0.35, 0.5, 0.65, 0.75, 0.85, 0.95])
def test_a_mixture_of_quick_and_slow_responses_keeps_the_limit(
    is_one_statement: bool, slow_share: float
) -> None:
    """A constant share of slow responses must not change the limit.

    The slow responses are to another statement, or to the same one.
    """
    throttler, loop = attached(AdaptiveThrottler(initial=100, least=10, most=200))
    generator = random.Random(slow_share)
    for number in range(5_000):
        loop.advance(0.01)
        is_slow = generator.random() < slow_share
        text = f"SELECT v FROM {'slow' if is_slow else 'quick'} WHERE k = {number}"
        request = request_of(throttler, "SELECT same" if is_one_statement else text).ask()
        request.end(0.05 if is_slow else 0.001)
        assert throttler.max_concurrent_requests == 100


def test_bursts_of_requests_keep_the_limit() -> None:
    throttler, loop = attached(AdaptiveThrottler(initial=400, least=10, most=500))
    for _ in range(30):
        requests = [CountingRequest(throttler).ask() for _ in range(400)]
        for number, request in enumerate(requests):
            loop.advance(0.001)
            # The server answers one request at a time, so the latency of a request includes the
            # time for the requests before it.
            request.end(0.001 * (number + 1))
    assert throttler.max_concurrent_requests >= 400


def test_an_overload_lowers_the_limit_until_responses_are_quick_again() -> None:
    throttler, loop = attached(AdaptiveThrottler(initial=100, least=10, most=200, patience=0.5))
    in_flight: deque[tuple[float, CountingRequest]] = deque()
    served_until = 0.0

    def send_request(capacity: float) -> None:
        # The server answers one request after the other, `capacity` of them per second.
        nonlocal served_until
        served_until = max(served_until, loop.now) + 1 / capacity
        in_flight.append((loop.now, CountingRequest(throttler).ask()))

    def receive_response() -> None:
        begun, request = in_flight.popleft()
        # The server serves requests in order, and has served all of them at `served_until`. It has
        # served this one earlier: each of the requests after it takes 1 / capacity seconds.
        loop.advance(max(served_until - loop.now - len(in_flight) / capacity, 0))
        request.end(loop.now - begun)

    capacity = 10_000.0
    for _ in range(2000):
        send_request(capacity)
        receive_response()
    assert throttler.max_concurrent_requests == 100
    # The server becomes ten times as slow.
    capacity = 1000.0
    limits = []
    for _ in range(20_000):
        while len(in_flight) < throttler.max_concurrent_requests:
            send_request(capacity)
        receive_response()
        limits.append(throttler.max_concurrent_requests)
    # The limit of 100 must have been lowered several times, each time by a fifth.
    assert min(limits) < 40
    # The limit must not fall below its minimum of 10, so that the server always has requests to
    # process.
    assert min(limits) >= 10


def test_statements_are_grouped_without_their_literals_and_few_groups_are_kept() -> None:
    """Statements that differ only in literals must be one group; number and size are limited."""
    group_of = throttling_module._likeness
    throttler: Any = None

    def group_of_text(text: str) -> Hashable:
        return group_of(request_of(throttler, text))

    assert group_of_text("SELECT a WHERE k = 1") == group_of_text("SELECT a WHERE k = 27")
    assert group_of_text("SELECT a WHERE k = 'x y'") == group_of_text("SELECT a WHERE k = 'z'")
    # A quote in a string is doubled.
    assert group_of_text("SELECT a WHERE k = 'it''s 1'") == group_of_text("SELECT a WHERE k = 'z'")
    assert group_of_text("SELECT a WHERE k = 'z'") != group_of_text("SELECT b WHERE k = 'z'")
    throttler, _ = attached(AdaptiveThrottler())
    for number in range(2000):
        request_of(throttler, f"SELECT {'x' * 5000}{number}").ask().end(0.001)
        request_of(throttler, f"SELECT a{number} {'x' * 5000}").ask().end(0.001)
    assert len(throttler._speeds) == throttling_module._MOST_STATEMENTS
    assert {len(key) for key in throttler._speeds} == {throttling_module._LONGEST_TEXT}


def test_errors_of_the_application_keep_the_limit() -> None:
    """Errors such as InvalidRequest are no signs of an overload."""
    throttler, loop = attached(AdaptiveThrottler(initial=100, least=10, most=1000))
    loop.advance(1)
    for _ in range(10):
        CountingRequest(throttler).ask().end(0.001, InvalidRequest("no"))
    assert throttler.max_concurrent_requests == 100


@pytest.mark.parametrize(
    ("make_throttler", "error_class", "message"),
    [
        (lambda: ConcurrencyLimitingThrottler(0), ValueError, "max_concurrent_requests must be at"),
        (
            lambda: ConcurrencyLimitingThrottler(1, -1),
            ValueError,
            "max_queue_size must be at least",
        ),
        (
            lambda: ConcurrencyLimitingThrottler(NUMBER_AS_TEXT),
            TypeError,
            "must be an integer, but is '1'",
        ),
        (lambda: MISTAKEN_CLASS(limit=5), TypeError, "'limit'; write max_concurrent_requests="),
        (lambda: RateLimitingThrottler(0), ValueError, "must be a positive number, but is 0"),
        (lambda: RateLimitingThrottler(1, burst=-1), ValueError, "burst must be seconds"),
        (lambda: AdaptiveThrottler(5, 10), ValueError, "least <= initial <= most"),
        (lambda: AdaptiveThrottler(backoff=1), ValueError, "backoff must be between 0 and 1"),
        (lambda: Cluster(request_throttler=NUMBER), TypeError, "must be a cassandra.throttling"),
        (lambda: Cluster(request_throttler=THROTTLER_CLASS), TypeError, "write RateLimiting"),
    ],
)
def test_wrong_limits(make_throttler: Any, error_class: type[Exception], message: str) -> None:
    """A wrong limit or throttler must be refused with an error that says what is allowed."""
    with pytest.raises(error_class, match=message):
        make_throttler()


def test_a_throttler_belongs_to_one_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    throttler, loop = attached(ConcurrencyLimitingThrottler(1))
    request = CountingRequest(throttler).ask()
    for used_loop in (FakeLoop(), loop):
        with pytest.raises(ValueError, match="belongs to another cluster"):
            throttler.attach(used_loop)
    assert throttler.under_way == 1
    # The refused `attach` must not have changed the throttler, which works as before.
    request.end()
    throttler.detach()
    throttler.attach(loop)
    # A forked child must be able to attach the throttler to another cluster.
    monkeypatch.setattr(os, "getpid", lambda: -1)
    throttler.attach(FakeLoop())


def test_detaching_cancels_the_timer() -> None:
    cancelled: list[Any] = []

    class FakeLoopWithTimers(FakeLoop):
        def call_later(self, delay: float, call: Any) -> Any:
            return SimpleNamespace(cancel=lambda: cancelled.append(call))

    throttler = RateLimitingThrottler(0.1)
    throttler.attach(FakeLoopWithTimers())  # type: ignore[arg-type]
    # The rate allows one request now, so the second one waits for a timer.
    for _ in range(2):
        CountingRequest(throttler).ask()
    throttler.detach()
    assert len(cancelled) == 1


# -- in the APIs -----------------------------------------------------------------------------------


def blocking(node: FakeNode, throttler: RequestThrottler) -> Cluster:
    """Return a cluster of the blocking API with a throttler, not connected yet."""
    return Cluster([node.address], port=node.port, request_throttler=throttler)


def test_futures_above_the_limit_wait() -> None:
    held_answer = hold(rows(K, []))
    throttler = ConcurrencyLimitingThrottler(2, max_queue_size=100)
    with FakeNode() as node, blocking(node, throttler) as cluster:
        node.prime(QUERY, held_answer)
        session = cluster.connect()
        futures = [session.execute_async(QUERY) for _ in range(6)]
        # Only two requests must have reached the node.
        held_answer.wait(2)
        assert (len(held_answer.held), throttler.under_way) == (2, 2)
        held_answer.open()
        for future in futures:
            future.result()
        assert (throttler.under_way, throttler.waiting) == (0, 0)


def test_the_timeout_includes_the_wait_for_the_throttler() -> None:
    """A request must time out while it waits in the queue, and the error must say so."""
    held_answer = hold(rows(K, []))
    throttler = ConcurrencyLimitingThrottler(1, max_queue_size=100)
    with FakeNode() as node, blocking(node, throttler) as cluster:
        node.prime(QUERY, held_answer)
        session = cluster.connect()
        first_future = session.execute_async(QUERY)
        held_answer.wait()
        with pytest.raises(OperationTimedOut, match="the throttler let others go first"):
            session.execute(QUERY, timeout=0.05)
        assert throttler.waiting == 0
        held_answer.release()
        first_future.result()
        assert throttler.under_way == 0


def test_the_error_of_a_full_queue_names_the_setting() -> None:
    held_answer = hold(rows(K, []))
    throttler = ConcurrencyLimitingThrottler(1, max_queue_size=2)
    with FakeNode() as node, blocking(node, throttler) as cluster:
        node.prime(QUERY, held_answer)
        session = cluster.connect()
        # One request is running, and two are in the queue.
        futures = [session.execute_async(QUERY) for _ in range(3)]
        held_answer.wait()
        with pytest.raises(RequestThrottled, match="max_queue_size=2 of ConcurrencyLimiting"):
            session.execute(QUERY)
        held_answer.open()
        for future in futures:
            future.result()


async def test_a_second_cluster_of_the_loop_is_refused() -> None:
    throttler = RateLimitingThrottler(100, burst=0.1)
    with FakeNode() as node:
        first_cluster = aio.Cluster([node.address], port=node.port, request_throttler=throttler)
        second_cluster = aio.Cluster([node.address], port=node.port, request_throttler=throttler)
        session = await first_cluster.connect()
        futures = [session.execute("SELECT 1") for _ in range(20)]
        assert throttler.waiting > 0
        with pytest.raises(ValueError, match="belongs to another cluster: make one for each"):
            await second_cluster.connect()
        await asyncio.gather(*futures)
        assert (throttler.under_way, throttler.waiting) == (0, 0)
        futures_at_shutdown = [session.execute("SELECT 1") for _ in range(20)]
        await first_cluster.shutdown()
        outcomes = await asyncio.gather(*futures_at_shutdown, return_exceptions=True)
        assert any(isinstance(outcome, ConnectionShutdown) for outcome in outcomes)
        assert throttler.under_way == 0
        assert throttler.waiting == 0
        assert throttler._timer is None
        # The first cluster was shut down, so a second cluster must be able to use the throttler.
        await (await second_cluster.connect()).execute("SELECT 1")
        assert (throttler.under_way, throttler.waiting) == (0, 0)
        await second_cluster.shutdown()


def test_a_cluster_that_cannot_connect_detaches_from_the_throttler() -> None:
    """After a failed connect, another cluster must be able to use the throttler."""
    throttler = ConcurrencyLimitingThrottler(1)
    with FakeNode() as node:
        node.refuse_connections()
        with pytest.raises(NoHostAvailable), blocking(node, throttler) as cluster:
            cluster.connect()
        node.accept_connections()
        with blocking(node, throttler) as cluster:
            cluster.connect().execute("SELECT 1")


async def test_cancelled_tasks_leave_the_queue() -> None:
    held_answer = hold(rows(K, []))
    throttler = ConcurrencyLimitingThrottler(1, max_queue_size=100)
    with FakeNode() as node:
        node.prime(QUERY, held_answer)
        async with aio.Cluster(
            [node.address], port=node.port, request_throttler=throttler
        ) as cluster:
            session = await cluster.connect()
            first_task = asyncio.ensure_future(session.execute(QUERY))
            await asyncio.to_thread(held_answer.wait)
            second_task = asyncio.ensure_future(session.execute(QUERY))
            third_task = asyncio.ensure_future(session.execute(QUERY))
            # Let the two tasks start.
            await asyncio.sleep(0)
            assert throttler.waiting == 2
            second_task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second_task
            assert throttler.waiting == 1
            held_answer.open()
            await first_task
            await third_task
    assert (throttler.under_way, throttler.waiting) == (0, 0)


@pytest.mark.simulated
@pytest.mark.parametrize("is_cancelled", [False, True], ids=["time limit", "cancelled"])
@pytest.mark.parametrize("throttler_class", [ConcurrencyLimitingThrottler, AdaptiveThrottler])
async def test_requests_that_end_together_let_no_others_of_them_start(
    throttler_class: Any, is_cancelled: bool
) -> None:
    """While a node hangs, it gets only as many requests as the throttler lets start.

    The requests have the same deadline. When those under way end, the others must not be sent: they
    end in the same turn of the loop.
    """
    limit = 10
    throttler = throttler_class(limit)
    with FakeNode() as node:
        node.prime(QUERY, silence())
        async with aio.Cluster(
            [node.address], port=node.port, request_throttler=throttler
        ) as cluster:
            session = await cluster.connect()
            tasks = [
                asyncio.ensure_future(session.execute(QUERY, timeout=None if is_cancelled else 1.0))
                for _ in range(100)
            ]
            if is_cancelled:
                await until_on_loop(lambda: len(node.queries(QUERY)) == limit)
                for task in tasks:
                    task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(1.0)
            assert len(node.queries(QUERY)) == limit
            error_class = asyncio.CancelledError if is_cancelled else OperationTimedOut
            assert {type(outcome) for outcome in outcomes} == {error_class}
            assert throttler.under_way == throttler.waiting == 0


def test_shutting_down_fails_the_waiting_requests() -> None:
    """A shutdown must fail the request in flight and those in the queue, and empty the queue."""
    throttler = ConcurrencyLimitingThrottler(1, max_queue_size=100)
    with FakeNode() as node, blocking(node, throttler) as cluster:
        node.prime(QUERY, hold(rows(K, [])))
        session = cluster.connect()
        futures = [session.execute_async(QUERY, timeout=None) for _ in range(5)]
        cluster.shutdown()
        for future in futures:
            with pytest.raises(SessionShutdown):
                future.result()
    assert (throttler.under_way, throttler.waiting) == (0, 0)


def test_pages_prepared_and_concurrent_executions_are_throttled() -> None:
    under_way_counts: list[int] = []

    class RecordingThrottler(ConcurrencyLimitingThrottler):
        def on_begun(self) -> None:
            under_way_counts.append(self.under_way)

    throttler = RecordingThrottler(3, 10_000)
    with FakeNode() as node, blocking(node, throttler) as cluster:
        node.prime_prepare(INSERT, K)
        node.prime(QUERY, paged(K, [(number,) for number in range(5)]))
        session = cluster.connect()
        insert = session.prepare(INSERT)
        values = [(number,) for number in range(500)]
        assert all(
            outcome.success for outcome in execute_concurrent_with_args(session, insert, values)
        )
        session.default_fetch_size = 2
        assert len(list(session.execute(QUERY))) == 5
    assert max(under_way_counts) == 3
    # There are 500 inserts and three pages.
    assert len(under_way_counts) == 503
    assert (throttler.under_way, throttler.waiting) == (0, 0)


def test_failed_requests_make_room_for_others() -> None:
    """With a limit of 1, a failed request must let the next one begin."""
    throttler = ConcurrencyLimitingThrottler(1, max_queue_size=10)
    with FakeNode() as node, blocking(node, throttler) as cluster:
        node.prime(QUERY, error(ErrorCode.INVALID))
        session = cluster.connect()
        for _ in range(5):
            with pytest.raises(InvalidRequest):
                session.execute(QUERY)
        assert throttler.under_way == 0


def test_waiting_threads_are_served_in_turn() -> None:
    held_answer = hold(rows(K, []))
    throttler = ConcurrencyLimitingThrottler(1, max_queue_size=1000)
    with FakeNode() as node, blocking(node, throttler) as cluster:
        node.prime(QUERY, held_answer)
        session = cluster.connect()
        greedy_futures = [session.execute_async(QUERY) for _ in range(50)]
        held_answer.wait()
        is_executed = threading.Event()

        def execute() -> None:
            session.execute(QUERY)
            is_executed.set()

        thread = threading.Thread(target=execute)
        thread.start()
        until(lambda: throttler.waiting == 50)
        # Release three held answers: to the request in flight, to the next request of the greedy
        # thread, and to the only one of the modest thread.
        for _ in range(3):
            held_answer.release()
        assert is_executed.wait(WAIT)
        thread.join()
        # Only a few of the 50 requests of the greedy thread must have been served before the one of
        # the modest thread.
        assert sum(future.is_over for future in greedy_futures) < 5
        held_answer.open()
        for future in greedy_futures:
            future.result()


def test_an_error_in_a_throttler_s_hook_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """An error in a hook of a throttler must be logged, and the request must succeed."""

    class BrokenThrottler(ConcurrencyLimitingThrottler):
        def on_over(self, request: Any) -> None:
            raise ValueError("broken")

    with FakeNode() as node, blocking(node, BrokenThrottler(5)) as cluster:
        session = cluster.connect()
        assert session.execute(QUERY) is not None
    assert "BrokenThrottler" in caplog.text
    assert "ValueError: broken" in caplog.text
