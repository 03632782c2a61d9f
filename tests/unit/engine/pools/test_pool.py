"""`HostPool`: retired connections, orphaned requests, the queue for free streams, and refilling."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import repeat
from typing import Any

import pytest

from cassandra.engine.connection import Connection
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.engine.pools.pool import (
    DROP_INTERVAL,
    EMPTY_SCHEDULE_DELAY,
    MOST_SHORT_LIVES,
    SHORT_LIFE,
    SHORTEST_REPEATED_DELAY,
    HostPool,
    PoolOwner,
)
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    NoConnectionsAvailable,
    NoHostAvailable,
    OperationTimedOut,
)
from cassandra.metadata.host import Host
from cassandra.policies import HostDistance, ReconnectionPolicy
from cassandra.testing import FakeNode
from cassandra.testing.fake import Message, Opcode, Request, hold, message, silence
from tests.unit.engine.faults import (
    READ,
    READ_OTHER,
    WAIT,
    call_in_thread,
    connected,
    exception_of,
    int_row,
    node as node,
    only_connection,
)
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

SLOW = "SELECT slow"


async def test_heartbeats_close_a_retired_connection_whose_node_is_silent() -> None:
    """A connection that left its pool but still waits for a response is watched by heartbeats.

    If the node no longer responds, the heartbeat closes the connection, and its request fails.
    """
    with FakeNode() as node:
        node.prime(SLOW, silence())
        async with connected(
            node,
            connections_per_host=2,
            idle_heartbeat_interval=0.05,
            idle_heartbeat_timeout=0.05,
        ) as (cluster, session):
            (pool,) = session._engine.pools.values()
            pending_requests = [session.execute(SLOW, timeout=None) for _ in range(2)]
            await until_on_loop(lambda: pool.in_flight == 2)
            # Retire one of the two connections; the request on it is still in flight.
            cluster.set_core_connections_per_host(HostDistance.LOCAL, 1)
            assert len(pool.open_connections()) == 2
            # From now on, the node sends no responses.
            for connection in node.connections:
                connection.loop.call_soon_threadsafe(connection.hang)
            errors = await asyncio.wait_for(
                asyncio.gather(*pending_requests, return_exceptions=True), WAIT
            )
            assert [type(error) for error in errors] == [ConnectionException] * 2
            await until_on_loop(lambda: len(pool.open_connections()) == len(pool.connections))


async def test_a_retired_connection_closes_when_its_last_request_is_cancelled() -> None:
    """A connection that left its pool closes when its last request is cancelled."""
    with FakeNode() as node:
        node.prime(SLOW, silence())
        async with connected(node, connections_per_host=2, idle_heartbeat_interval=0) as (
            cluster,
            session,
        ):
            (pool,) = session._engine.pools.values()
            first_request, second_request = (
                asyncio.ensure_future(session.execute(SLOW, timeout=None)) for _ in range(2)
            )
            await until_on_loop(lambda: pool.in_flight == 2)
            # Retire one of the two connections; the request on it is still in flight.
            cluster.set_core_connections_per_host(HostDistance.LOCAL, 1)
            (retired,) = set(pool.open_connections()) - set(pool.connections)
            assert not retired.closed
            first_request.cancel()
            second_request.cancel()
            await until_on_loop(lambda: retired.closed)
            assert pool.open_connections() == pool.connections


async def test_a_retired_connection_sends_no_waiting_request() -> None:
    """A request that waits for a free stream is never sent on a connection that has left the pool.

    The request is sent on the remaining connection, and the retired connection is closed.
    """
    with FakeNode() as node:
        held_answers = hold(int_row(1))
        node.prime(SLOW, held_answers)
        node.prime(READ, int_row(2))
        async with connected(node, connections_per_host=2) as (cluster, session):
            (pool,) = session._engine.pools.values()
            for connection in pool.connections:
                connection.set_stream_limit(1)
            slow_requests = [session.execute(SLOW, timeout=WAIT) for _ in range(2)]
            waiting_request = session.execute(READ, timeout=WAIT)
            await until_on_loop(lambda: pool.waiting == 1)
            # Retire one of the two connections while a request waits for a free stream.
            cluster.set_core_connections_per_host(HostDistance.LOCAL, 1)
            (remaining,) = pool.connections
            await call_in_thread(held_answers.wait, 2)
            held_answers.release_all()
            assert (await waiting_request).one().k == 2
            await asyncio.gather(*slow_requests)
            assert pool.open_connections() == [remaining]


async def test_a_time_out_names_the_statement_and_the_host() -> None:
    """OperationTimedOut names the host and the query, but not the values of the parameters."""
    with FakeNode() as node:
        node.prime(SLOW, silence())
        async with connected(node) as (_, session):
            for query, parameters in ((SLOW, None), ("SELECT %s", ("secret",))):
                node.prime("SELECT 'secret'", silence())
                with pytest.raises(OperationTimedOut) as caught:
                    await session.execute(query, parameters, timeout=0.02)
                assert caught.value.statement == repr(query)
                assert repr(query) in str(caught.value)
                assert node.address in str(caught.value)
                assert "secret" not in str(caught.value)


async def test_a_connection_with_too_many_orphans_is_replaced(node: FakeNode) -> None:
    """A connection with too many orphaned requests is replaced, and closed after its last request.

    A request is orphaned if the application no longer waits for it, but the node has not responded.
    """
    abandoned_answers = hold(int_row(13))
    live_answer = hold(int_row(7))
    node.prime(READ, abandoned_answers)
    node.prime("go on", live_answer)
    async with connected(node) as (_, session):
        old_connection = only_connection(session)
        old_connection.set_stream_limit(10)
        live_request = session.execute("go on")
        await call_in_thread(live_answer.wait)
        # Abandon nine requests, so that nine of the ten streams stay in use.
        abandoned_requests = [session.execute(READ, timeout=0.03) for _ in range(9)]
        for request in abandoned_requests:
            assert isinstance(await exception_of(request), OperationTimedOut)
        await call_in_thread(abandoned_answers.wait, 9)
        live_answer.release()
        assert (await live_request).one().k == 7
        assert (await session.execute(READ_OTHER)).one().k == 1
        assert only_connection(session) is not old_connection
        abandoned_answers.release_all()
        # Two connections are open: the new pool connection and the control connection.
        await call_in_thread(node.wait_for, lambda node: len(node.connections) == 2)
        assert old_connection.closed


async def test_a_connection_with_only_orphans_is_replaced(node: FakeNode) -> None:
    """A connection whose requests are all orphaned is replaced.

    This holds even if no response ever arrives on the connection.
    """
    node.prime(READ, silence())
    async with connected(node) as (_, session):
        only_connection(session).set_stream_limit(10)
        abandoned_requests = [session.execute(READ, timeout=0.03) for _ in range(10)]
        for request in abandoned_requests:
            assert isinstance(await exception_of(request), OperationTimedOut)
        assert (await session.execute(READ_OTHER, timeout=2.0)).one().k == 1


async def test_requests_that_wait_for_a_free_stream_time_out(node: FakeNode) -> None:
    """A request that times out while it waits for a free stream is never sent.

    A request behind it in the queue is sent when a stream is free.
    """
    held_answers = hold(int_row(7))
    node.prime(READ, held_answers)
    async with connected(node) as (_, session):
        only_connection(session).set_stream_limit(2)
        requests_in_flight = [session.execute(READ) for _ in range(2)]
        await call_in_thread(held_answers.wait, 2)
        failure = await exception_of(session.execute(READ_OTHER, timeout=0.03))
        assert isinstance(failure, OperationTimedOut)
        later_request = session.execute(READ_OTHER)
        held_answers.release_all()
        assert [(await request).one().k for request in requests_in_flight] == [7, 7]
        assert (await later_request).one().k == 1
        assert len(node.queries(READ_OTHER)) == 1


async def test_max_waiting_requests_limits_the_queue(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If `max_waiting_requests` requests wait for a stream, another request fails at once.

    Cancelled requests leave the queue.
    """
    # The pool removes cancelled requests from a full queue once per DROP_INTERVAL seconds. With 0,
    # it does so whenever the queue is full.
    monkeypatch.setattr("cassandra.engine.pools.pool.DROP_INTERVAL", 0.0)
    held_answer = hold(int_row(7))
    node.prime(READ, held_answer)
    async with connected(node, max_waiting_requests=2) as (_, session):
        only_connection(session).set_stream_limit(1)
        request_in_flight = session.execute(READ)
        await call_in_thread(held_answer.wait, 1)
        queued_requests = [asyncio.ensure_future(session.execute(READ_OTHER)) for _ in range(2)]
        failure = await exception_of(session.execute(READ_OTHER))
        assert isinstance(failure, NoHostAvailable)
        (error,) = failure.errors.values()
        assert isinstance(error, NoConnectionsAvailable)
        assert "2 requests wait already, as many as may (max_waiting_requests)" in str(error)
        assert "are full (connections: 1, in flight: 1 of 1), and" in str(error)
        # The cancelled request must not count, so the later request may enter the queue.
        queued_requests[0].cancel()
        later_request = session.execute(READ_OTHER)
        held_answer.release_all()
        assert (await request_in_flight).one().k == 7
        assert (await queued_requests[1]).one().k == 1
        assert (await later_request).one().k == 1
        assert len(node.queries(READ_OTHER)) == 2


async def test_a_surplus_connection_closes_after_its_last_request() -> None:
    """If `connections_per_host` shrinks, a busy connection leaves the pool.

    The request on the connection still gets its response. Then the connection is closed.
    """
    with FakeNode() as node:
        held_answers = hold(int_row(7))
        node.prime(READ, held_answers)
        async with connected(node, connections_per_host=2) as (cluster, session):
            (pool,) = session._engine.pools.values()
            requests = [asyncio.ensure_future(session.execute(READ)) for _ in range(2)]
            await call_in_thread(held_answers.wait, 2)
            busy_connections = list(pool.connections)
            assert [connection.in_flight for connection in busy_connections] == [1, 1]
            cluster.set_core_connections_per_host(HostDistance.LOCAL, 1)
            assert len(pool.connections) == 1
            assert not any(connection.closed for connection in busy_connections)
            held_answers.open()
            assert [(await request).one().k for request in requests] == [7, 7]
            # Two connections are open: the remaining pool connection and the control connection.
            await node.wait_until(lambda node: len(node.connections) == 2)
            assert not only_connection(session).closed


async def test_a_pool_that_shrinks_while_it_fills_has_the_smaller_size() -> None:
    """If a pool shrinks from 6 to 2 while its connections open, it ends up with two."""
    with FakeNode() as node:
        async with connected(node) as (cluster, session):
            cluster.set_core_connections_per_host(HostDistance.LOCAL, 6)
            await node.wait_until(lambda node: node.opened >= 3)
            cluster.set_core_connections_per_host(HostDistance.LOCAL, 2)
            (pool,) = session._engine.pools.values()
            await pool.fill()
            assert len(pool.connections) == 2
            # Three connections are open: two of the pool and the control connection.
            await node.wait_until(lambda node: len(node.connections) == 3)


async def test_missing_connections_are_opened_by_the_reconnection_policy() -> None:
    """To replace lost connections, the pool takes one new schedule from the reconnection policy.

    The pool retries after the delays of this schedule. A later loss takes a new schedule.
    """
    with FakeNode() as node:
        schedules = []

        class RecordingReconnectionPolicy(ReconnectionPolicy):
            def new_schedule(self) -> Iterator[float]:
                schedules.append(self)
                yield 0.0
                # The pool asks for the second delay after its first attempt was refused. Let the
                # next attempt succeed.
                node.accept_connections()
                yield 0.0

        async with connected(
            node, connections_per_host=3, reconnection_policy=RecordingReconnectionPolicy()
        ) as (
            _,
            session,
        ):
            (pool,) = session._engine.pools.values()
            for refills in (1, 2):
                node.refuse_connections()
                opened = node.opened
                for connection in pool.connections[:2]:
                    connection.close(ConnectionException("lost"))
                await node.wait_until(lambda node, opened=opened: node.opened == opened + 2)  # type: ignore[misc]
                # Four connections are open: three of the pool and the control connection.
                await node.wait_until(lambda node: len(node.connections) == 4)
                assert len(schedules) == refills
                await pool.fill()
                assert len(pool.connections) == 3
        assert pool.closed


@pytest.mark.simulated
@pytest.mark.parametrize(
    ("delays", "pause"),
    [([0.1, 5.0], 5.0), ([0.0], SHORTEST_REPEATED_DELAY), ([], EMPTY_SCHEDULE_DELAY)],
    ids=["short", "zero", "empty"],
)
async def test_a_pool_with_a_connection_never_gives_up(delays: list[float], pause: float) -> None:
    """At the end of the policy's schedule, the pool repeats the last delay."""
    attempts: list[float] = []
    is_refusing = False
    clock = asyncio.get_running_loop().time

    async def open_connection(host: Host) -> Connection:
        if is_refusing:
            attempts.append(clock())
            raise ConnectionException("refused")
        return new_connection()

    pool = pool_of(2, open_connection, lambda: iter(delays))
    await pool.fill()
    is_refusing = True
    pool.connections[0].close(ConnectionException("lost"))
    await asyncio.sleep(20 * pause)
    assert len(attempts) >= 20
    assert attempts[-1] - attempts[-2] == pytest.approx(pause, abs=0.01)
    # A host that is reported up is tried at once, and then with the delays of a new schedule.
    count, begun = len(attempts), clock()
    pool.hurry()
    await asyncio.sleep(min(delays, default=0.0) + 0.01)
    assert attempts[count:] == pytest.approx(
        [begun, *(begun + delay for delay in delays[:1])], abs=0.01
    )
    is_refusing = False
    pool.hurry()
    await asyncio.sleep(0.01)
    assert len(pool.connections) == 2
    pool.close(ConnectionException("over"))


async def test_connections_lost_together_use_one_delay_of_the_schedule() -> None:
    """Several failures before the next attempt use one delay, because that attempt serves all.

    Otherwise a schedule of few delays would end after its first attempt.
    """
    is_refusing = False

    async def open_connection(host: Host) -> Connection:
        if is_refusing:
            raise ConnectionException("refused")
        return new_connection()

    never = 3600.0
    pool = pool_of(4, open_connection, lambda: iter([never, never]))
    await pool.fill()
    is_refusing = True
    for _ in range(3):
        pool.connections[0].close(ConnectionException("lost"))
        for _ in range(100):
            await asyncio.sleep(0)
            if is_filled(pool):
                break
    # One of the two delays is left, although three attempts to refill the pool have failed.
    assert pool._delays is not None
    assert list(pool._delays) == [never]
    # A refill for another reason succeeds: the next loss begins with a new schedule.
    is_refusing = False
    await pool.fill()
    assert len(pool.connections) == 4
    schedule: Any = (pool._delays, pool._next_try)
    assert schedule == (None, None)
    pool.close(ConnectionException("over"))


HOST = Host(DefaultEndPoint("127.0.0.1"))


def new_connection() -> Connection:
    """Return a connection without a socket, in protocol version 4."""
    return Connection(HOST.endpoint, 4, asyncio.get_running_loop())


def is_filled(pool: HostPool) -> bool:
    """Return True if no task is opening connections for the pool."""
    return pool._filling is None or pool._filling.done()


def pool_of(size: int, open_connection: Any, new_schedule: Any = lambda: repeat(0.0)) -> HostPool:
    """Return a pool that is closed if it cannot be filled.

    :param size: the number of connections.
    :param open_connection: opens a connection; called with the host.
    :param new_schedule: returns the delays between attempts in seconds. By default, all are 0.
    """

    def close_pool(pool: HostPool, error: Exception) -> None:
        pool.close(error)

    most_waiting = 1000  # The number of requests that may wait for a free stream.
    owner = PoolOwner(
        open_connection, close_pool, asyncio.ensure_future, new_schedule, most_waiting
    )
    return HostPool(HOST, HostDistance.LOCAL, size, owner)


async def test_any_exception_while_refilling_is_a_failure() -> None:
    """If user code raises an exception that is no Exception, the pool still reports a failure."""

    async def fail(host: Any) -> Connection:
        raise GeneratorExit

    pool = pool_of(size=1, open_connection=fail)
    pool.refill()
    await until_on_loop(lambda: pool.closed)


@pytest.mark.parametrize("is_in_pool", [0, 1], ids=["before the pool has it", "after"])
async def test_filling_fails_if_the_only_connection_is_lost_at_once(is_in_pool: bool) -> None:
    """If the pool's only connection is lost at once, `fill` raises ConnectionException.

    Otherwise, the host would count as up without having a connection.
    """

    async def open_and_lose(host: Any) -> Connection:
        """Return a connection that is lost before the pool has it, or soon after."""
        connection = new_connection()
        error = ConnectionException("lost")
        if is_in_pool:
            asyncio.get_running_loop().call_soon(connection.close, error)
        else:
            connection.close(error)
        return connection

    pool = pool_of(size=1, open_connection=open_and_lose)
    with pytest.raises(ConnectionException):
        await pool.fill()
    pool.close()


async def test_a_connection_lost_while_others_open_is_replaced() -> None:
    """If a connection is lost while other connections open, the pool still reaches its size."""
    first = new_connection()
    may_open = asyncio.Event()
    connected_hosts = []

    async def open_connection(host: Any) -> Connection:
        connected_hosts.append(host)
        if len(connected_hosts) == 1:
            return first
        await may_open.wait()
        return new_connection()

    pool = pool_of(size=2, open_connection=open_connection)
    filling = asyncio.ensure_future(pool.fill())
    await until_on_loop(lambda: len(connected_hosts) == 2 and pool.connections == [first])
    first.close(ConnectionException("lost"))
    may_open.set()
    await filling
    await until_on_loop(lambda: len(pool.connections) == 2)
    # The pool opened three connections: two at first, and one to replace the lost connection.
    assert len(connected_hosts) == 3
    pool.close()


async def test_a_host_that_dropped_each_connection_is_used_when_it_keeps_one() -> None:
    """A host that dropped 20 connections in a row is still tried.

    It is used when it stops dropping connections.
    """
    with FakeNode() as node:
        node.prime(READ, int_row(7))
        async with connected(node) as (_, session):

            def answer_and_drop(request: Request) -> Message:
                node.loop.call_soon(request.connection.end)
                return message(Opcode.READY, b"")

            # Let the node drop each connection right after its handshake, so that the pool loses
            # each connection at once.
            startup_rule = node.prime(Opcode.STARTUP, answer_and_drop)
            await call_in_thread(node.drop_connections)
            await node.wait_until(lambda node: startup_rule.used >= 20)
            startup_rule.remove()

            async def read_until_successful() -> Any:
                while True:
                    try:
                        return await session.execute(READ)
                    # This request may have used a connection that the node drops. Try again.
                    except (ConnectionException, NoHostAvailable):
                        await asyncio.sleep(0)

            assert (await asyncio.wait_for(read_until_successful(), WAIT)).one().k == 7


async def test_connections_that_are_often_lost_are_reopened_by_the_policy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The pool replaces the first two connections that are lost in quick succession at once.

    For later losses, it waits for the delays of the reconnection policy.
    """
    monkeypatch.setattr("cassandra.engine.pools.pool.SHORT_LIFE", 3600.0)
    delays: list[float] = []

    async def open_connection(host: Any) -> Connection:
        return new_connection()

    def new_schedule() -> Iterator[float]:
        delays.append(0.0)
        yield 0.0

    pool = pool_of(2, open_connection, new_schedule)
    await pool.fill()
    for _ in range(6):
        pool.connections[-1].close(ConnectionException("lost"))
        # If the connection is lost while the filling task still runs, the same task opens the
        # replacement, so we also wait for the end of the task.
        await until_on_loop(lambda: len(pool.connections) == 2 and is_filled(pool))
    # The first two of six losses are repaired at once. For the other four, the reconnection policy
    # gives the delay.
    assert len(delays) == 4
    pool.close()


# -- a pool without a node -------------------------------------------------------------------------


class Opener:
    """Opens connections for a pool, and calls `on_open` with each connection.

    Each call waits until `gate` is set. While `errors` is not empty, a call raises its first item.
    """

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.opened: list[Connection] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.on_open: Any = lambda connection: None

    async def __call__(self, host: Any) -> Connection:
        """Wait for the gate. Raise the next error, or return a new connection."""
        assert host is HOST
        await self.gate.wait()
        if self.errors:
            raise self.errors.pop(0)
        connection = new_connection()
        self.opened.append(connection)
        self.on_open(connection)
        return connection


class FakeWaiter:
    """A fake request that waits for a free stream, and records in `ends` how the pool notifies it.

    :param error: an error that each method raises; None raises nothing.
    """

    def __init__(self, error: Exception | None = None) -> None:
        self.done = False
        self.error = error
        self.ends: list[tuple[str, Any]] = []

    def _end(self, event: str, cause: Any) -> None:
        """Record the event ("room", "closed" or "draining") and its connection or error.

        "room" means that a stream is free.
        """
        self.ends.append((event, cause))
        if self.error is not None:
            raise self.error

    def on_room(self, host: Host, connection: Connection) -> None:
        self._end("room", connection)

    def on_pool_closed(self, host: Host, error: Exception) -> None:
        self._end("closed", error)

    def on_pool_draining(self, host: Host, error: Exception) -> None:
        self._end("draining", error)

    def fail(self, error: BaseException) -> None:
        self.ends.append(("failed", error))


class Unanswered:
    """A responder for requests whose response does not matter."""

    def on_response(self, *answer: Any) -> None:
        pass

    def on_connection_lost(self, *loss: Any) -> None:
        pass


def send(connection: Connection) -> tuple[int, Any]:
    """Send a request on `connection`, and return its stream and its responder."""
    responder = Unanswered()
    stream = connection.send(responder, Opcode.OPTIONS, flags=0, body=b"")
    return stream, responder


async def filled_pool(size: int = 1, opener: Opener | None = None, **settings: Any) -> Any:
    """Return a pool that has already opened `size` connections.

    :param settings: further arguments of `pool_of`.
    """
    pool = pool_of(size, opener or Opener(), **settings)
    await pool.fill()
    return pool


async def test_the_connection_with_the_fewest_requests_is_picked() -> None:
    """`pick` returns the connection with the fewest requests, or None if no stream is free."""
    pool = await filled_pool(size=2)
    first, second = pool.connections
    assert pool.pick() is first
    send(first)
    assert pool.pick() is second
    # With one stream each, both connections are full after another request.
    for connection in (first, second):
        connection.set_stream_limit(1)
    send(second)
    assert pool.pick() is None
    assert pool.in_flight == 2
    assert pool.state() == {
        "shutdown": False,
        "open_count": 2,
        "in_flights": [1, 1],
        "orphan_requests": [set(), set()],
    }
    assert repr(pool) == f"<HostPool of {HOST}: 2 open, 2 in flight>"
    pool.close()
    assert pool.state()["shutdown"]


async def test_a_pool_is_worth_waiting_for_while_it_has_or_opens_a_connection() -> None:
    """`is_worth_waiting_for` is True while the pool has a connection or opens one.

    Only then may a stream become free. Otherwise, a request tries the next host.
    """
    opener = Opener()
    pool: Any = pool_of(size=1, open_connection=opener)
    assert not pool.is_worth_waiting_for
    opener.gate.clear()
    filling = asyncio.ensure_future(pool.fill())
    # Let `fill` begin to open the connection.
    await asyncio.sleep(0)
    assert pool.is_worth_waiting_for
    opener.gate.set()
    await filling
    assert pool.is_worth_waiting_for
    pool.close()
    assert not pool.is_worth_waiting_for


async def test_two_callers_fill_a_pool_once_and_one_may_be_cancelled() -> None:
    """Concurrent calls of `fill` share one task.

    The task continues if one of the calls is cancelled.
    """
    opener = Opener()
    opener.gate.clear()
    pool = pool_of(size=2, open_connection=opener)
    cancelled_call, other_call = (asyncio.ensure_future(pool.fill()) for _ in range(2))
    # Let both calls start to wait for the connections.
    await asyncio.sleep(0)
    cancelled_call.cancel()
    # Let the cancellation happen.
    await asyncio.sleep(0)
    opener.gate.set()
    await other_call
    assert len(opener.opened) == len(pool.connections) == 2
    await pool.fill()
    assert len(opener.opened) == 2
    pool.close()


async def test_waiting_requests_get_the_streams_of_a_new_connection_in_order() -> None:
    """When a connection opens, queued requests get its streams in their order of arrival."""
    opener = Opener()
    pool = pool_of(size=1, open_connection=opener)
    opener.on_open = lambda connection: connection.set_stream_limit(2)
    timed_out: Any = FakeWaiter()
    timed_out.done = True  # the pool must skip it
    raising: Any = FakeWaiter(ZeroDivisionError())
    waiter: Any = FakeWaiter()
    for queued in (timed_out, raising, waiter):
        pool.wait_for_room(queued)
    assert pool.waiting == 3
    await pool.fill()
    (connection,) = pool.connections
    assert timed_out.ends == []
    # The error that this request raises must not affect the other requests in the queue.
    assert raising.ends == [("room", connection), ("failed", raising.error)]
    assert waiter.ends == [("room", connection)]
    assert pool.waiting == 0
    # Fill both streams of the connection, so that the next request waits until one is free.
    streams = [send(connection)[0] for _ in range(2)]
    later_waiter: Any = FakeWaiter()
    pool.wait_for_room(later_waiter)
    pool._on_room(connection)
    assert later_waiter.ends == []
    # A SUPPORTED response without options, as (stream, opcode, flags, body, version), frees a
    # stream.
    supported = (streams[0], Opcode.SUPPORTED, 0, b"\0\0", 4)
    connection.streams.dispatch(connection, [supported])
    pool._on_room(connection)
    assert later_waiter.ends == [("room", connection)]
    pool.close()


async def test_finished_requests_leave_the_queue_when_it_is_full() -> None:
    """A full queue drops requests that have ended, so that new requests can wait.

    The pool searches for such requests at most once per DROP_INTERVAL seconds.
    """
    pool = await filled_pool()
    pool._most_waiting = 2
    first: Any = FakeWaiter()
    second: Any = FakeWaiter()
    third: Any = FakeWaiter()
    pool.wait_for_room(first)
    pool.wait_for_room(second)
    with pytest.raises(NoConnectionsAvailable, match="2 requests wait already"):
        pool.wait_for_room(third)
    first.done = True
    # The queue still counts the request that has ended, because the pool has just searched for such
    # requests.
    with pytest.raises(NoConnectionsAvailable):
        pool.wait_for_room(third)
    await asyncio.sleep(DROP_INTERVAL * 2)
    pool.wait_for_room(third)
    assert pool.waiting == 2
    pool.close()
    assert first.ends == []
    assert [event for event, _error in second.ends] == ["closed"]
    assert [event for event, _error in third.ends] == ["closed"]


@pytest.mark.parametrize("action", ["close", "drain"])
async def test_waiting_requests_are_notified_of_the_end_although_one_fails(action: str) -> None:
    """Each waiting request is notified that the pool closes or drains, even if one request raises.

    A request that has already ended is not notified.
    """
    pool = await filled_pool()
    waiters: list[Any] = [FakeWaiter(), FakeWaiter(ZeroDivisionError()), FakeWaiter()]
    waiters[0].done = True
    for waiter in waiters:
        pool.wait_for_room(waiter)
    error = ConnectionException("the end")
    if action == "close":
        pool.close(error)
    else:
        pool.drain(error, lambda pool: None)
    end = ("closed" if action == "close" else "draining", error)
    assert waiters[0].ends == []
    assert repr(waiters[1].ends) == repr([end, ("failed", waiters[1].error)])
    assert repr(waiters[2].ends) == repr([end])
    assert pool.waiting == 0


async def test_a_pool_that_is_closed_closes_all_connections_and_opens_no_others() -> None:
    """`close` closes all connections, and afterwards `refill` and `resize` open no connections.

    `close` also closes connections that left the pool but are still busy.
    """
    opener = Opener()
    pool = await filled_pool(size=2, opener=opener)
    first, second = pool.connections
    for connection in (first, second):
        send(connection)
    pool.resize(1)
    assert pool.open_connections() == [second, first]
    pool.close()
    assert first.closed
    assert second.closed
    assert isinstance(first.close_error, ConnectionShutdown)
    assert "the pool of" in str(first.close_error)
    assert first.close_error.endpoint == pool.host.endpoint
    assert pool.open_connections() == []
    pool.refill()
    pool.resize(3)
    # If `refill` or `resize` opened connections, they would be open by now.
    await asyncio.sleep(1)
    assert len(opener.opened) == 2


async def test_a_connection_that_opens_after_the_end_is_closed() -> None:
    """A connection that finishes opening after the pool was closed is closed and not added."""
    opener = Opener()
    pool = pool_of(size=1, open_connection=opener)
    opener.on_open = lambda connection: pool.close()
    await pool._open_one()
    assert opener.opened[0].closed
    assert pool.connections == []


async def test_a_connection_that_drains_already_is_refused() -> None:
    """If a connection drains during the handshake, `fill` raises ConnectionShutdown.

    The server has sent GRACEFUL_DISCONNECT.
    """

    def drain(connection: Connection) -> None:
        connection.is_draining = True

    opener = Opener()
    opener.on_open = drain
    pool = pool_of(size=1, open_connection=opener)
    with pytest.raises(ConnectionShutdown, match="GRACEFUL_DISCONNECT"):
        await pool.fill()
    assert opener.opened[0].closed


@pytest.mark.parametrize("is_busy", [True, False])
async def test_a_draining_pool_ends_when_its_last_connection_is_idle(is_busy: bool) -> None:
    """`drain` closes idle connections at once, and each busy connection after its last request.

    When all connections are closed, `drain` calls its callback once.
    """
    pool = await filled_pool(size=2)
    drained: list[Any] = []
    first, second = pool.connections
    if is_busy:
        stream, responder = send(first)
    pool.drain(ConnectionException("will stop"), drained.append)
    assert pool.closed
    assert second.closed
    assert first.is_draining
    if is_busy:
        assert not first.closed
        assert drained == []
        first.abandon(stream, responder)
        assert first.closed
    assert drained == [pool]
    # Further calls of `drain` and `close` must not call the callback again.
    pool.drain(ConnectionException("again"), drained.append)
    pool.close()
    assert drained == [pool]


async def test_a_connection_that_is_given_up_is_replaced() -> None:
    """`Connection.give_up` makes the pool close an idle connection and open a replacement."""
    opener = Opener()
    pool = await filled_pool(size=1, opener=opener)
    (first,) = pool.connections
    first.give_up("a USE on it was abandoned")
    await until_on_loop(lambda: len(pool.connections) == 1)
    assert pool.connections == [opener.opened[1]]
    assert first.closed


async def test_a_host_whose_connections_live_briefly_fails_after_some() -> None:
    """After MOST_SHORT_LIVES losses of young connections in a row, the pool reports a failure.

    It opens no further connection, and the requests in its queue are notified.
    """
    failures: list[Any] = []
    opener = Opener()
    pool = await filled_pool(size=1, opener=opener)
    pool._on_failure = lambda pool, error: failures.append(error)
    waiter: Any = FakeWaiter()
    lost = ConnectionException("lost")
    # The loss number MOST_SHORT_LIVES makes the pool fail, so there is one loss less here.
    for count in range(MOST_SHORT_LIVES - 1):
        pool.connections[0].close(lost)
        # The pool has opened the first connection and a replacement for each loss.
        await until_on_loop(lambda count=count: len(opener.opened) == count + 2)  # type: ignore[misc]
        await until_on_loop(lambda: bool(pool.connections) and is_filled(pool))
    assert failures == []
    pool.wait_for_room(waiter)
    waiter.ends.clear()
    pool.connections[0].close(lost)
    assert failures == [lost]
    assert repr(waiter.ends) == repr([("closed", lost)])
    # The pool must not open further connections during this second.
    await asyncio.sleep(1)
    assert len(opener.opened) == MOST_SHORT_LIVES
    pool.close()


async def test_young_connections_that_are_lost_together_count_once() -> None:
    """Young connections that are lost together count as one loss.

    The pool replaces them at once. The pool fails only if the host closes one new connection after
    the other.
    """
    failures: list[Any] = []
    count = 2 * MOST_SHORT_LIVES
    pool = await filled_pool(size=count)
    pool._on_failure = lambda pool, error: failures.append(error)
    for connection in list(pool.connections):
        connection.close(ConnectionException("lost"))
    await until_on_loop(lambda: len(pool.connections) == count and is_filled(pool))
    assert failures == []
    pool.close()


async def test_long_lives_between_losses_are_no_failure() -> None:
    """If each lost connection was older than SHORT_LIFE seconds, the pool always replaces it."""
    opener = Opener()
    pool = await filled_pool(size=1, opener=opener)
    for count in range(2 * MOST_SHORT_LIVES):
        await asyncio.sleep(SHORT_LIFE * 2)
        pool.connections[0].close(ConnectionException("lost"))
        # The pool has opened the first connection and a replacement for each loss.
        await until_on_loop(lambda count=count: len(opener.opened) == count + 2)  # type: ignore[misc]
        await until_on_loop(lambda: bool(pool.connections) and is_filled(pool))
    pool.close()


async def test_a_refill_that_fails_is_reported_with_its_error() -> None:
    """If the last connection is lost and cannot be replaced, the pool reports the error.

    The pool's owner and the waiting requests get the error of the attempt.
    """
    failures: list[Any] = []
    opener = Opener()
    pool = await filled_pool(size=1, opener=opener)
    pool._on_failure = lambda pool, error: failures.append((pool, error))
    refused = ConnectionException("refused")
    opener.errors.append(refused)
    opener.gate.clear()
    pool.connections[0].close(ConnectionException("lost"))
    waiter: Any = FakeWaiter()
    pool.wait_for_room(waiter)
    opener.gate.set()
    await until_on_loop(lambda: bool(failures))
    assert failures == [(pool, refused)]
    assert repr(waiter.ends) == repr([("closed", refused)])
    pool.close()


async def test_a_request_that_waits_for_a_new_connection_gets_another_if_none_opens() -> None:
    """If no new connection opens, a waiting request gets a stream of another connection.

    The request does not wait for the pool's next attempt.
    """
    opener = Opener()
    pool = await filled_pool(size=2, opener=opener)
    lost, other = pool.connections
    opener.errors.append(ConnectionException("refused"))
    opener.gate.clear()
    lost.close(ConnectionException("lost"))
    waiter: Any = FakeWaiter()
    pool.wait_for_room(waiter)
    opener.gate.set()
    await until_on_loop(lambda: is_filled(pool))
    assert waiter.ends == [("room", other)]
    pool.close()


async def test_the_first_error_of_a_failed_fill_is_raised() -> None:
    """If no connection of the pool can be opened, `fill` raises the error of the first attempt."""
    opener = Opener(ConnectionException("first"), ConnectionException("second"))
    pool = pool_of(size=2, open_connection=opener)
    with pytest.raises(ConnectionException, match="first"):
        await pool.fill()
    pool.close()


async def test_a_pool_that_grows_opens_what_is_missing() -> None:
    """`resize` opens the missing connections, or closes the connections beyond the new size."""
    opener = Opener()
    pool = await filled_pool(size=1, opener=opener)
    pool.resize(1)
    pool.resize(3)
    await until_on_loop(lambda: len(pool.connections) == 3)
    pool.resize(1)
    assert len(pool.connections) == 1
    assert sum(connection.closed for connection in opener.opened) == 2
    pool.close()


async def test_a_pool_that_grows_while_it_fills_opens_the_rest_afterwards() -> None:
    """If `resize` enlarges a pool during `fill`, the pool opens the rest in the background.

    `fill` itself opens only as many connections as the pool should have had when `fill` began.
    """
    opener = Opener()
    opener.gate.clear()
    pool = pool_of(size=1, open_connection=opener)
    filling = asyncio.ensure_future(pool.fill())
    # Let `fill` start to open the connection.
    await asyncio.sleep(0)
    pool.resize(3)
    opener.gate.set()
    await filling
    await until_on_loop(lambda: len(pool.connections) == 3)
    pool.close()
