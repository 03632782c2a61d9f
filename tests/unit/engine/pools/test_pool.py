"""Connection pools: retired connections, orphaned requests, the waiting queue, and refilling."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import repeat
from typing import Any

import pytest

from cassandra.engine.connection import Connection
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.engine.pools.pool import HostPool, PoolOwner
from cassandra.errors import (
    ConnectionException,
    NoConnectionsAvailable,
    NoHostAvailable,
    OperationTimedOut,
)
from cassandra.metadata.host import Host
from cassandra.policies import HostDistance, ReconnectionPolicy
from cassandra.testing import FakeNode
from cassandra.testing.fake import Message, Opcode, Request, hold, message, silence
from tests.unit.engine.faults import (
    OTHER,
    READ,
    WAIT,
    connected,
    fails,
    node as node,
    number,
    only_connection,
    thread,
)
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

SLOW = "SELECT slow"


async def test_heartbeats_close_a_retired_connection_whose_node_is_silent() -> None:
    with FakeNode() as node:
        node.prime(SLOW, silence())
        async with connected(
            node,
            connections_per_host=2,
            idle_heartbeat_interval=0.05,
            idle_heartbeat_timeout=0.05,
        ) as (cluster, session):
            (pool,) = session._engine.pools.values()
            waiting = [session.execute(SLOW, timeout=None) for _ in range(2)]
            await until_on_loop(lambda: pool.in_flight == 2)
            cluster.set_core_connections_per_host(HostDistance.LOCAL, 1)
            assert len(pool.open_connections()) == 2
            for connection in node.connections:
                connection.loop.call_soon_threadsafe(connection.hang)
            ended = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), WAIT)
            assert [type(each) for each in ended] == [ConnectionException] * 2
            await until_on_loop(lambda: len(pool.open_connections()) == len(pool.connections))


async def test_a_retired_connection_closes_when_its_last_request_is_cancelled() -> None:
    with FakeNode() as node:
        node.prime(SLOW, silence())
        async with connected(node, connections_per_host=2, idle_heartbeat_interval=0) as (
            cluster,
            session,
        ):
            (pool,) = session._engine.pools.values()
            first, second = (
                asyncio.ensure_future(session.execute(SLOW, timeout=None)) for _ in range(2)
            )
            await until_on_loop(lambda: pool.in_flight == 2)
            cluster.set_core_connections_per_host(HostDistance.LOCAL, 1)
            (retired,) = set(pool.open_connections()) - set(pool.connections)
            assert not retired.closed
            first.cancel()
            second.cancel()
            await until_on_loop(lambda: retired.closed)
            assert pool.open_connections() == pool.connections


async def test_a_retired_connection_sends_no_waiting_request() -> None:
    with FakeNode() as node:
        held = hold(number(1))
        node.prime(SLOW, held)
        node.prime(READ, number(2))
        async with connected(node, connections_per_host=2) as (cluster, session):
            (pool,) = session._engine.pools.values()
            for connection in pool.connections:
                connection.set_stream_limit(1)
            slow = [session.execute(SLOW, timeout=WAIT) for _ in range(2)]
            waiting = session.execute(READ, timeout=WAIT)
            await until_on_loop(lambda: pool.waiting == 1)
            cluster.set_core_connections_per_host(HostDistance.LOCAL, 1)
            (remaining,) = pool.connections
            await thread(held.wait, 2)
            held.release_all()
            assert (await waiting).one().k == 2
            await asyncio.gather(*slow)
            assert pool.open_connections() == [remaining]


async def test_a_time_out_names_the_statement_and_the_host() -> None:
    with FakeNode() as node:
        node.prime(SLOW, silence())
        async with connected(node) as (_, session):
            for text, parameters in ((SLOW, None), ("SELECT %s", ("secret",))):
                node.prime("SELECT 'secret'", silence())
                with pytest.raises(OperationTimedOut) as caught:
                    await session.execute(text, parameters, timeout=0.02)
                assert caught.value.statement == repr(text)
                assert repr(text) in str(caught.value)
                assert node.address in str(caught.value)
                assert "secret" not in str(caught.value)


async def test_a_connection_with_too_many_orphans_is_replaced(node: FakeNode) -> None:
    """A connection with many orphaned requests is replaced, and closed after its last request."""
    late, going_on = hold(number(13)), hold(number(7))
    node.prime(READ, late)
    node.prime("go on", going_on)
    async with connected(node) as (_, session):
        before = only_connection(session)
        before.set_stream_limit(10)
        under_way = session.execute("go on")
        await thread(going_on.wait)
        waiting = [session.execute(READ, timeout=0.03) for _ in range(9)]
        for request in waiting:
            assert isinstance(await fails(request), OperationTimedOut)
        await thread(late.wait, 9)
        going_on.release()
        assert (await under_way).one().k == 7
        assert (await session.execute(OTHER)).one().k == 1
        assert only_connection(session) is not before
        late.release_all()
        await thread(node.wait_for, lambda node: len(node.connections) == 2)
        assert before.closed


async def test_a_connection_with_only_orphans_is_replaced(node: FakeNode) -> None:
    """A connection that has only orphaned requests is replaced, although it gets no answers."""
    node.prime(READ, silence())
    async with connected(node) as (_, session):
        only_connection(session).set_stream_limit(10)
        for request in [session.execute(READ, timeout=0.03) for _ in range(10)]:
            assert isinstance(await fails(request), OperationTimedOut)
        assert (await session.execute(OTHER, timeout=2.0)).one().k == 1


async def test_requests_that_wait_for_a_free_stream_time_out(node: FakeNode) -> None:
    held = hold(number(7))
    node.prime(READ, held)
    async with connected(node) as (_, session):
        only_connection(session).set_stream_limit(2)
        first = [session.execute(READ) for _ in range(2)]
        await thread(held.wait, 2)
        failure = await fails(session.execute(OTHER, timeout=0.03))
        assert isinstance(failure, OperationTimedOut)
        later = session.execute(OTHER)
        held.release_all()
        assert [(await request).one().k for request in first] == [7, 7]
        assert (await later).one().k == 1
        assert len(node.queries(OTHER)) == 1


async def test_max_waiting_requests_limits_the_queue(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cassandra.engine.pools.pool.DROP_INTERVAL", 0.0)
    held = hold(number(7))
    node.prime(READ, held)
    async with connected(node, max_waiting_requests=2) as (_, session):
        only_connection(session).set_stream_limit(1)
        first = session.execute(READ)
        await thread(held.wait, 1)
        waiting = [asyncio.ensure_future(session.execute(OTHER)) for _ in range(2)]
        failure = await fails(session.execute(OTHER))
        assert isinstance(failure, NoHostAvailable)
        (error,) = failure.errors.values()
        assert isinstance(error, NoConnectionsAvailable)
        assert "2 requests wait already, as many as may (max_waiting_requests)" in str(error)
        # A cancelled request leaves its place in the queue to a later one.
        waiting[0].cancel()
        later = session.execute(OTHER)
        held.release_all()
        assert (await first).one().k == 7
        assert [(await request).one().k for request in (waiting[1], later)] == [1, 1]
        assert len(node.queries(OTHER)) == 2


async def test_a_surplus_connection_closes_after_its_last_request() -> None:
    with FakeNode() as node:
        held = hold(number(7))
        node.prime(READ, held)
        async with connected(node, connections_per_host=2) as (cluster, session):
            (pool,) = session._engine.pools.values()
            requests = [asyncio.ensure_future(session.execute(READ)) for _ in range(2)]
            await thread(held.wait, 2)
            busy = list(pool.connections)
            assert [connection.in_flight for connection in busy] == [1, 1]
            cluster.set_core_connections_per_host(HostDistance.LOCAL, 1)
            assert len(pool.connections) == 1
            assert not any(connection.closed for connection in busy)
            held.open()
            assert [(await request).one().k for request in requests] == [7, 7]
            await node.wait_until(lambda node: len(node.connections) == 2)
            assert not only_connection(session).closed


async def test_a_pool_that_shrinks_while_it_fills_has_the_smaller_size() -> None:
    with FakeNode() as node:
        async with connected(node) as (cluster, session):
            cluster.set_core_connections_per_host(HostDistance.LOCAL, 6)
            await node.wait_until(lambda node: node.opened >= 3)
            cluster.set_core_connections_per_host(HostDistance.LOCAL, 2)
            (pool,) = session._engine.pools.values()
            await pool.fill()
            assert len(pool.connections) == 2
            await node.wait_until(lambda node: len(node.connections) == 3)


async def test_missing_connections_are_opened_by_the_reconnection_policy() -> None:
    with FakeNode() as node:
        schedules = []

        class Patient(ReconnectionPolicy):
            def new_schedule(self) -> Iterator[float]:
                schedules.append(self)
                yield 0.0
                node.accept_connections()
                yield 0.0

        async with connected(node, connections_per_host=3, reconnection_policy=Patient()) as (
            _,
            session,
        ):
            (pool,) = session._engine.pools.values()
            for times in (1, 2):
                node.refuse_connections()
                opened = node.opened
                for connection in pool.connections[:2]:
                    connection.close(ConnectionException("lost"))
                await node.wait_until(lambda node, opened=opened: node.opened == opened + 2)  # type: ignore[misc]
                await node.wait_until(lambda node: len(node.connections) == 4)
                assert len(schedules) == times
                await pool.fill()
                assert len(pool.connections) == 3
        assert pool.closed


HOST = Host(DefaultEndPoint("127.0.0.1"))


def new_connection() -> Connection:
    return Connection(HOST.endpoint, 4, asyncio.get_running_loop())


def is_filled(pool: HostPool) -> bool:
    return pool._filling is None or pool._filling.done()


def pool_of(size: int, open_connection: Any, new_schedule: Any = lambda: repeat(0.0)) -> HostPool:
    """Return a pool that opens missing connections at once. If it fails, it is closed."""

    def fails(pool: HostPool, error: Exception) -> None:
        pool.close(error)

    owner = PoolOwner(open_connection, fails, asyncio.ensure_future, new_schedule, 1000)
    return HostPool(HOST, HostDistance.LOCAL, size, owner)


@pytest.mark.parametrize("after", [0, 1], ids=["before the pool has it", "after"])
async def test_filling_fails_if_the_only_connection_is_lost_at_once(after: int) -> None:
    """If the first connection is lost at once, filling fails.

    Otherwise the host would stay up without a connection.
    """

    async def lost(host: Any) -> Connection:
        connection = new_connection()
        error = ConnectionException("lost")
        if after:
            asyncio.get_running_loop().call_soon(connection.close, error)
        else:
            connection.close(error)
        return connection

    pool = pool_of(1, lost)
    with pytest.raises(ConnectionException):
        await pool.fill()
    pool.close()


async def test_a_connection_lost_while_others_open_is_replaced() -> None:
    first, may_go_on, connected_hosts = new_connection(), asyncio.Event(), []

    async def open_connection(host: Any) -> Connection:
        connected_hosts.append(host)
        if len(connected_hosts) == 1:
            return first
        await may_go_on.wait()
        return new_connection()

    pool = pool_of(2, open_connection)
    filling = asyncio.ensure_future(pool.fill())
    await until_on_loop(lambda: len(connected_hosts) == 2 and pool.connections == [first])
    first.close(ConnectionException("lost"))
    may_go_on.set()
    await filling
    await until_on_loop(lambda: len(pool.connections) == 2)
    assert len(connected_hosts) == 3
    pool.close()


async def test_a_host_that_dropped_each_connection_is_used_when_it_keeps_one() -> None:
    with FakeNode() as node:
        node.prime(READ, number(7))
        async with connected(node) as (_, session):

            def ready_and_gone(request: Request) -> Message:
                node.loop.call_soon(request.connection.end)
                return message(Opcode.READY, b"")

            prime = node.prime(Opcode.STARTUP, ready_and_gone)
            await thread(node.drop_connections)
            await node.wait_until(lambda node: prime.used >= 20)
            prime.remove()

            async def answer() -> Any:
                while True:
                    try:
                        return await session.execute(READ)
                    # The connection may be the last one that the node drops.
                    except (ConnectionException, NoHostAvailable):
                        await asyncio.sleep(0)

            assert (await asyncio.wait_for(answer(), WAIT)).one().k == 7


async def test_connections_that_are_often_lost_are_reopened_by_the_policy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cassandra.engine.pools.pool.SHORT_LIFE", 3600.0)
    delays: list[float] = []

    async def open_connection(host: Any) -> Connection:
        return new_connection()

    def schedule() -> Iterator[float]:
        delays.append(0.0)
        yield 0.0

    pool = pool_of(2, open_connection, schedule)
    await pool.fill()
    for _ in range(6):
        pool.connections[-1].close(ConnectionException("lost"))
        # If a connection is lost before the filling task has ended, the task fills once more.
        await until_on_loop(lambda: len(pool.connections) == 2 and is_filled(pool))
    # The first two are reopened at once; for the other four, the policy gives the delay.
    assert len(delays) == 4
    pool.close()
