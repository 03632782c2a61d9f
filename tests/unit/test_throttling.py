"""Throttlers: alone with a fake clock, and in both APIs."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections import deque
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
from cassandra.testing.fake import ErrorCode, FakeNode, error, hold, paged, rows
from cassandra.throttling import (
    AdaptiveThrottler,
    ConcurrencyLimitingThrottler,
    RateLimitingThrottler,
    RequestThrottler,
)
from tests.waiting import WAIT, until

QUERY = "SELECT k FROM t"
INSERT = "INSERT INTO t (k) VALUES (?)"
K = [("k", "int")]
NUMBER: Any = "1"
THREE: Any = 3
CLASS: Any = RateLimitingThrottler


class Clock:
    """Fake loop with the attributes that throttlers use."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[tuple[float, Any]] = []

    def time(self) -> float:
        return self.now

    def is_closed(self) -> bool:
        return False

    def call_later(self, delay: float, call: Any) -> None:
        self.calls.append((self.now + delay, call))

    def turn(self, seconds: float) -> None:
        until = self.now + seconds
        while self.calls and min(self.calls, key=lambda call: call[0])[0] <= until:
            next_one = min(self.calls, key=lambda call: call[0])
            self.calls.remove(next_one)
            self.now = max(self.now, next_one[0])
            next_one[1]()
        self.now = until


class CountingRequest:
    """A request that counts how often it may begin."""

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
        if self.throttler.admit(self):
            self.begun += 1
        return self

    def start_admitted(self) -> None:
        self.begun += 1

    def end(self, latency: float | None = None, error: BaseException | None = None) -> None:
        self.done = True
        self.error = error
        self.attempts = [SimpleNamespace(latency=latency)]
        if self.begun:
            self.throttler.release(self)
        else:
            self.throttler.withdraw(self)

    def fail(self, error: BaseException) -> None:
        self.end(error=error)


def attached(throttler: Any) -> tuple[Any, Clock]:
    clock = Clock()
    throttler.attach(clock)
    return throttler, clock


def begun(requests: list[CountingRequest]) -> list[int]:
    return [index for index, request in enumerate(requests) if request.begun]


# -- alone -----------------------------------------------------------------------------------------


def test_requests_above_the_limit_wait_in_order() -> None:
    throttler, _ = attached(ConcurrencyLimitingThrottler(2, 10))
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
    throttler, _ = attached(ConcurrencyLimitingThrottler(1, 2))
    for _ in range(3):
        CountingRequest(throttler).ask()
    with pytest.raises(RequestThrottled, match="1 requests are under way and 2 wait, as many as"):
        CountingRequest(throttler).ask()
    assert throttler.refused == 1


def test_requests_that_are_given_up_leave_the_queue() -> None:
    throttler, _ = attached(ConcurrencyLimitingThrottler(1, 2))
    requests = [CountingRequest(throttler).ask() for _ in range(3)]
    requests[1].end()
    assert throttler.waiting == 1
    last = CountingRequest(throttler).ask()  # there is capacity again
    requests[0].end()
    assert (requests[1].begun, requests[2].begun, last.begun) == (0, 1, 0)
    last.end()
    requests[2].end()
    assert (throttler.under_way, throttler.waiting, len(throttler._queues)) == (0, 0, 0)


def test_given_up_requests_are_not_kept() -> None:
    throttler, _ = attached(ConcurrencyLimitingThrottler(1, 10))
    first = CountingRequest(throttler).ask()
    for _ in range(100):
        CountingRequest(throttler).ask().end()
    assert throttler.waiting == 0
    assert not throttler._queues
    first.end()


def test_callers_take_turns() -> None:
    throttler, _ = attached(ConcurrencyLimitingThrottler(1, 1000))
    first = CountingRequest(throttler).ask()
    greedy = [CountingRequest(throttler, "greedy").ask() for _ in range(100)]
    modest = [CountingRequest(throttler, "modest").ask() for _ in range(3)]
    under_way = first
    order = []
    for _ in range(6):
        under_way.end()
        (under_way,) = [
            request for request in (*greedy, *modest) if request.begun and not request.done
        ]
        order.append(under_way.caller)
    assert order == ["greedy", "modest"] * 3


def test_requests_that_end_as_they_begin_do_not_pile_up() -> None:
    throttler, _ = attached(ConcurrencyLimitingThrottler(1, 100_000))

    class Failing(CountingRequest):
        def start_admitted(self) -> None:
            super().start_admitted()
            self.end()

    first = CountingRequest(throttler).ask()
    others = [Failing(throttler).ask() for _ in range(20_000)]
    first.end()  # a recursion would end at 1,000
    assert all(request.begun == 1 for request in others)
    assert (throttler.under_way, throttler.waiting) == (0, 0)


def test_a_rate() -> None:
    throttler, clock = attached(RateLimitingThrottler(10, 100, burst=0.2))
    requests = [CountingRequest(throttler).ask() for _ in range(10)]
    assert begun(requests) == [0, 1]  # the burst
    clock.turn(0.1)
    assert begun(requests) == [0, 1, 2]
    clock.turn(0.5)
    assert len(begun(requests)) == 8
    clock.turn(10)
    assert len(begun(requests)) == 10
    more = [CountingRequest(throttler).ask() for _ in range(5)]
    assert begun(more) == [0, 1]  # after a pause, no more than a burst


def test_a_rate_below_one_a_second() -> None:
    throttler, clock = attached(RateLimitingThrottler(0.5))
    requests = [CountingRequest(throttler).ask() for _ in range(3)]
    assert begun(requests) == [0]
    clock.turn(1.9)
    assert begun(requests) == [0]
    clock.turn(0.2)
    assert begun(requests) == [0, 1]


def test_a_limit_that_rises_while_it_is_used_up() -> None:
    throttler, _ = attached(AdaptiveThrottler(10, 5, 50))
    for _ in range(2000):
        requests = [
            CountingRequest(throttler).ask() for _ in range(throttler.max_concurrent_requests)
        ]
        requests[0].end(0.001)
        for request in requests[1:]:
            request.end(0.001)
    assert throttler.max_concurrent_requests == 50
    throttler, _ = attached(AdaptiveThrottler(10, 5, 50))
    for _ in range(2000):
        CountingRequest(throttler).ask().end(0.001)
    assert throttler.max_concurrent_requests == 10  # it never reached the limit


@pytest.mark.parametrize(
    "sign",
    [OverloadedErrorMessage(0x1001, "busy"), OperationTimedOut()],
    ids=["overloaded", "late"],
)
def test_a_limit_that_falls_once_in_a_while(sign: Exception) -> None:
    throttler, clock = attached(AdaptiveThrottler(100, 10, 1000, patience=0.5))
    clock.turn(1)
    for _ in range(10):
        CountingRequest(throttler).ask().end(error=sign)
    assert throttler.max_concurrent_requests == 80
    for _ in range(50):
        clock.turn(0.6)
        CountingRequest(throttler).ask().end(error=sign)
    assert throttler.max_concurrent_requests == 10


def test_a_limit_that_falls_when_answers_slow_down() -> None:
    throttler, clock = attached(AdaptiveThrottler(100, 10, 1000))
    for _ in range(100):
        CountingRequest(throttler).ask().end(0.002)
    assert throttler.max_concurrent_requests == 100
    for _ in range(100):
        clock.turn(0.1)
        CountingRequest(throttler).ask().end(0.1)
    assert throttler.max_concurrent_requests < 60


def request_of(throttler: RequestThrottler, text: str) -> CountingRequest:
    request = CountingRequest(throttler)
    request.request_body = SimpleNamespace(statement_text=lambda: text)
    return request


@pytest.mark.parametrize("is_one_statement", [True, False])
@pytest.mark.parametrize("share", [0.1, 0.2, 0.35, 0.5, 0.65, 0.75, 0.85, 0.95])
def test_a_mixture_of_quick_and_slow_answers_is_no_overload(
    is_one_statement: bool, share: float
) -> None:
    throttler, clock = attached(AdaptiveThrottler(100, 10, 200))
    generator = random.Random(share)
    for number in range(20_000):
        clock.turn(0.01)
        is_slow = generator.random() < share
        text = f"SELECT v FROM {'slow' if is_slow else 'quick'} WHERE k = {number}"
        request = request_of(throttler, "SELECT same" if is_one_statement else text).ask()
        request.end(0.05 if is_slow else 0.001)
        assert throttler.max_concurrent_requests == 100


def test_requests_that_are_sent_together_are_no_overload() -> None:
    throttler, clock = attached(AdaptiveThrottler(400, 10, 500))
    for _ in range(30):
        requests = [CountingRequest(throttler).ask() for _ in range(400)]
        for number, request in enumerate(requests):
            clock.turn(0.001)
            request.end(0.001 * (number + 1))
    assert throttler.max_concurrent_requests >= 400


def test_an_overload_lowers_the_limit_until_answers_are_quick_again() -> None:
    throttler, clock = attached(AdaptiveThrottler(100, 10, 200, patience=0.5))
    flying: deque[tuple[float, CountingRequest]] = deque()
    served = 0.0

    def one_more(capacity: float) -> None:
        # A server with a fixed number of answers per second, in sequence.
        nonlocal served
        served = max(served, clock.now) + 1 / capacity
        flying.append((clock.now, CountingRequest(throttler).ask()))

    def answered() -> None:
        begun, request = flying.popleft()
        clock.turn(max(served - clock.now - len(flying) / capacity, 0))
        request.end(clock.now - begun)

    capacity = 10_000.0
    for _ in range(2000):
        one_more(capacity)
        answered()
    assert throttler.max_concurrent_requests == 100
    capacity = 1000.0
    limits = []
    for _ in range(20_000):
        while len(flying) < throttler.max_concurrent_requests:
            one_more(capacity)
        answered()
        limits.append(throttler.max_concurrent_requests)
    assert min(limits) < 40
    # The server answers as many requests as before, so none of its time is wasted.
    assert min(limits) >= 10


def test_statements_are_known_by_their_shape_and_few_are_kept() -> None:
    likeness = throttling_module._likeness
    throttler: Any = None
    assert likeness(request_of(throttler, "SELECT a WHERE k = 1")) == likeness(
        request_of(throttler, "SELECT a WHERE k = 27")
    )
    assert likeness(request_of(throttler, "SELECT a WHERE k = 'x y'")) != likeness(
        request_of(throttler, "SELECT b WHERE k = 'x'")
    )
    throttler, _ = attached(AdaptiveThrottler())
    for number in range(2000):
        request_of(throttler, f"SELECT {'x' * 5000}{number}").ask().end(0.001)
        request_of(throttler, f"SELECT a{number} {'x' * 5000}").ask().end(0.001)
    assert len(throttler._speeds) <= 500
    assert max(len(key) for key in throttler._speeds) <= 300


def test_errors_of_the_program_say_nothing_of_load() -> None:
    throttler, clock = attached(AdaptiveThrottler(100, 10, 1000))
    clock.turn(1)
    for _ in range(10):
        CountingRequest(throttler).ask().end(0.001, InvalidRequest("no"))
    assert throttler.max_concurrent_requests == 100


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: ConcurrencyLimitingThrottler(0), ValueError, "max_concurrent_requests must be at"),
        (
            lambda: ConcurrencyLimitingThrottler(1, -1),
            ValueError,
            "max_queue_size must be at least",
        ),
        (lambda: ConcurrencyLimitingThrottler(NUMBER), TypeError, "must be an integer, but is '1'"),
        (lambda: RateLimitingThrottler(0), ValueError, "must be a positive number, but is 0"),
        (lambda: RateLimitingThrottler(1, burst=-1), ValueError, "burst must be seconds"),
        (lambda: AdaptiveThrottler(5, 10), ValueError, "least <= initial <= most"),
        (lambda: AdaptiveThrottler(backoff=1), ValueError, "backoff must be between 0 and 1"),
        (lambda: Cluster(request_throttler=THREE), TypeError, "must be a cassandra.throttling"),
        (lambda: Cluster(request_throttler=CLASS), TypeError, "write RateLimiting"),
    ],
)
def test_wrong_limits(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()


def test_a_throttler_belongs_to_one_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    throttler, clock = attached(ConcurrencyLimitingThrottler(1))
    request = CountingRequest(throttler).ask()
    for loop in (Clock(), clock):
        with pytest.raises(ValueError, match="belongs to another cluster"):
            throttler.attach(loop)
    assert throttler.under_way == 1
    request.end()
    throttler.detach()
    throttler.attach(clock)
    # In a forked child the parent's cluster is useless.
    monkeypatch.setattr(os, "getpid", lambda: -1)
    throttler.attach(Clock())


def test_the_timer_ends_with_the_cluster() -> None:
    cancelled: list[Any] = []

    class Timed(Clock):
        def call_later(self, delay: float, call: Any) -> Any:
            return SimpleNamespace(cancel=lambda: cancelled.append(call))

    throttler = RateLimitingThrottler(0.1)
    throttler.attach(Timed())  # type: ignore[arg-type]
    for _ in range(2):
        CountingRequest(throttler).ask()
    throttler.detach()
    assert len(cancelled) == 1


# -- in the APIs -----------------------------------------------------------------------------------


def blocking(node: FakeNode, throttler: RequestThrottler) -> Cluster:
    return Cluster([node.address], port=node.port, request_throttler=throttler)


def test_futures_wait_for_their_turn() -> None:
    held = hold(rows(K, []))
    throttler = ConcurrencyLimitingThrottler(2, 100)
    with FakeNode() as node, blocking(node, throttler) as cluster:
        node.prime(QUERY, held)
        session = cluster.connect()
        futures = [session.execute_async(QUERY) for _ in range(6)]
        held.wait(2)
        assert (len(held.held), throttler.under_way) == (2, 2)
        held.open()
        for future in futures:
            future.result()
        assert (throttler.under_way, throttler.waiting) == (0, 0)


def test_the_wait_is_a_part_of_the_time_out() -> None:
    held = hold(rows(K, []))
    throttler = ConcurrencyLimitingThrottler(1, 100)
    with FakeNode() as node, blocking(node, throttler) as cluster:
        node.prime(QUERY, held)
        session = cluster.connect()
        first = session.execute_async(QUERY)
        held.wait()
        with pytest.raises(OperationTimedOut, match="the throttler let others go first"):
            session.execute(QUERY, timeout=0.05)
        assert throttler.waiting == 0
        held.release()
        first.result()
        assert throttler.under_way == 0


def test_more_than_may_wait_are_refused_by_name() -> None:
    held = hold(rows(K, []))
    throttler = ConcurrencyLimitingThrottler(1, 2)
    with FakeNode() as node, blocking(node, throttler) as cluster:
        node.prime(QUERY, held)
        session = cluster.connect()
        waiting = [session.execute_async(QUERY) for _ in range(3)]
        held.wait()
        with pytest.raises(RequestThrottled, match="max_queue_size=2 of ConcurrencyLimiting"):
            session.execute(QUERY)
        held.open()
        for future in waiting:
            future.result()


async def test_a_second_cluster_of_the_loop_is_refused() -> None:
    throttler = RateLimitingThrottler(1000, burst=0.01)
    with FakeNode() as node:
        first = aio.Cluster([node.address], port=node.port, request_throttler=throttler)
        second = aio.Cluster([node.address], port=node.port, request_throttler=throttler)
        session = await first.connect()
        futures = [session.execute("SELECT 1") for _ in range(20)]
        with pytest.raises(ValueError, match="belongs to another cluster: make one for each"):
            await second.connect()
        assert throttler.waiting > 0
        await asyncio.gather(*futures)
        assert (throttler.under_way, throttler.waiting) == (0, 0)
        waiting = [session.execute("SELECT 1") for _ in range(20)]
        await first.shutdown()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert any(isinstance(outcome, ConnectionShutdown) for outcome in ended)
        assert (throttler.under_way, throttler.waiting, throttler._timer) == (0, 0, None)
        # The throttler is free now.
        await (await second.connect()).execute("SELECT 1")
        assert (throttler.under_way, throttler.waiting) == (0, 0)
        await second.shutdown()


def test_a_cluster_that_cannot_connect_leaves_the_throttler() -> None:
    throttler = ConcurrencyLimitingThrottler(1)
    with FakeNode() as node:
        node.refuse_connections()
        with pytest.raises(NoHostAvailable), blocking(node, throttler) as cluster:
            cluster.connect()
        node.accept_connections()
        with blocking(node, throttler) as cluster:
            cluster.connect().execute("SELECT 1")


async def test_tasks_that_are_cancelled_leave_the_queue() -> None:
    held = hold(rows(K, []))
    throttler = ConcurrencyLimitingThrottler(1, 100)
    with FakeNode() as node:
        node.prime(QUERY, held)
        async with aio.Cluster(
            [node.address], port=node.port, request_throttler=throttler
        ) as cluster:
            session = await cluster.connect()
            first = asyncio.ensure_future(session.execute(QUERY))
            await asyncio.to_thread(held.wait)
            second = asyncio.ensure_future(session.execute(QUERY))
            third = asyncio.ensure_future(session.execute(QUERY))
            await asyncio.sleep(0)
            assert throttler.waiting == 2
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            assert throttler.waiting == 1
            held.open()
            await first
            await third
    assert (throttler.under_way, throttler.waiting) == (0, 0)


def test_a_session_that_is_closed_fails_what_waits() -> None:
    throttler = ConcurrencyLimitingThrottler(1, 100)
    with FakeNode() as node, blocking(node, throttler) as cluster:
        node.prime(QUERY, hold(rows(K, [])))
        session = cluster.connect()
        futures = [session.execute_async(QUERY, timeout=None) for _ in range(5)]
        cluster.shutdown()
        for future in futures:
            with pytest.raises(SessionShutdown):
                future.result()
    assert (throttler.under_way, throttler.waiting) == (0, 0)


def test_pages_prepared_and_concurrent_executions_go_through_it() -> None:
    peaks: list[int] = []

    class Noting(ConcurrencyLimitingThrottler):
        def on_begun(self) -> None:
            peaks.append(self.under_way)

    throttler = Noting(3, 10_000)
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
    assert max(peaks) == 3
    assert len(peaks) >= 503
    assert (throttler.under_way, throttler.waiting) == (0, 0)


def test_failures_give_their_place_back() -> None:
    throttler = ConcurrencyLimitingThrottler(1, 10)
    with FakeNode() as node, blocking(node, throttler) as cluster:
        node.prime(QUERY, error(ErrorCode.INVALID))
        session = cluster.connect()
        for _ in range(5):
            with pytest.raises(InvalidRequest):
                session.execute(QUERY)
        assert throttler.under_way == 0


def test_threads_take_turns() -> None:
    held = hold(rows(K, []))
    throttler = ConcurrencyLimitingThrottler(1, 1000)
    with FakeNode() as node, blocking(node, throttler) as cluster:
        node.prime(QUERY, held)
        session = cluster.connect()
        greedy = [session.execute_async(QUERY) for _ in range(50)]
        held.wait()
        done = threading.Event()

        def ask() -> None:
            session.execute(QUERY)
            done.set()

        thread = threading.Thread(target=ask)
        thread.start()
        until(lambda: throttler.waiting == 50)
        for _ in range(3):  # the one in flight, the next greedy one, the modest one
            held.release()
        assert done.wait(WAIT)
        thread.join()
        assert sum(future._event.is_set() for future in greedy if hasattr(future, "_event")) < 5
        held.open()
        for future in greedy:
            future.result()


def test_a_throttler_of_a_program_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(ConcurrencyLimitingThrottler):
        def on_over(self, request: Any) -> None:
            raise ValueError("broken")

    with FakeNode() as node, blocking(node, Broken(5)) as cluster:
        session = cluster.connect()
        assert session.execute(QUERY) is not None
    assert "Broken" in caplog.text
    assert "ValueError: broken" in caplog.text
