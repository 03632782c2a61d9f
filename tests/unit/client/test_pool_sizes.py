"""Connections per host by distance: before and after connect, more and fewer; on both faces."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import repeat
from typing import Any

import pytest

from cassandra.cluster import Cluster
from cassandra.connection import ConnectionException
from cassandra.engine.connection import Connection
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.engine.pools.pool import HostPool, PoolOwner
from cassandra.errors import NoHostAvailable
from cassandra.metadata.host import Host
from cassandra.policies import HostDistance, ReconnectionPolicy
from cassandra.testing.fake import FakeNode, Message, Opcode, Request, hold, message
from tests.unit.engine.faults import READ, WAIT, connected, number, only_connection, thread
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated


def test_one_connection_by_default_and_bounds() -> None:
    cluster = Cluster()
    for distance in (HostDistance.LOCAL_RACK, HostDistance.LOCAL, HostDistance.REMOTE):
        assert cluster.get_core_connections_per_host(distance) == 1
    assert cluster.get_max_connections_per_host(HostDistance.LOCAL) == 8
    assert cluster.get_max_connections_per_host(HostDistance.REMOTE) == 2
    cluster.set_core_connections_per_host(HostDistance.LOCAL, 10)
    assert cluster.get_core_connections_per_host(HostDistance.LOCAL_RACK) == 10
    assert cluster.get_max_connections_per_host(HostDistance.LOCAL) == 10
    assert cluster.get_core_connections_per_host(HostDistance.REMOTE) == 1
    cluster.set_max_connections_per_host(HostDistance.LOCAL, 3)
    assert cluster.get_core_connections_per_host(HostDistance.LOCAL) == 3
    cluster.set_min_requests_per_connection(HostDistance.LOCAL, 7)
    cluster.set_max_requests_per_connection(HostDistance.LOCAL, 70)
    assert cluster.get_min_requests_per_connection(HostDistance.LOCAL) == 7
    assert cluster.get_max_requests_per_connection(HostDistance.LOCAL) == 70
    assert cluster.get_min_requests_per_connection(HostDistance.REMOTE) == 5
    assert cluster.get_max_requests_per_connection(HostDistance.REMOTE) == 100


def test_sizes_as_a_keyword() -> None:
    assert Cluster(connections_per_host=3).get_core_connections_per_host(HostDistance.REMOTE) == 3
    cluster = Cluster(connections_per_host={HostDistance.LOCAL: 4})
    assert cluster.get_core_connections_per_host(HostDistance.LOCAL) == 4
    assert cluster.get_core_connections_per_host(HostDistance.REMOTE) == 1


@pytest.mark.parametrize(
    ("size", "kind"), [(0, ValueError), (-1, ValueError), ("2", TypeError), (True, TypeError)]
)
def test_what_is_no_size(size: object, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="connections_per_host"):
        Cluster(connections_per_host=size)  # type: ignore[arg-type]
    with pytest.raises(kind, match="core_connections"):
        Cluster().set_core_connections_per_host(HostDistance.LOCAL, size)  # type: ignore[arg-type]


def test_what_is_no_distance() -> None:
    with pytest.raises(ValueError, match="-1"):
        Cluster().set_core_connections_per_host(HostDistance.IGNORED, 2)
    with pytest.raises(ValueError, match="-1"):
        Cluster().get_max_requests_per_connection(HostDistance.IGNORED)


def test_open_pools_grow_and_shrink() -> None:
    with (
        FakeNode() as node,
        Cluster([node.address], port=node.port, connections_per_host=2) as cluster,
    ):
        session = cluster.connect(wait_for_all_pools=True)
        node.wait_for(lambda node: len(node.connections) == 3)  # with the control connection
        cluster.set_core_connections_per_host(HostDistance.LOCAL, 5)
        node.wait_for(lambda node: len(node.connections) == 6)
        cluster.set_core_connections_per_host(HostDistance.LOCAL, 1)
        node.wait_for(lambda node: len(node.connections) == 2)
        assert session.execute("SELECT 1").all() == []
        (state,) = session.get_pool_state().values()
        assert state["open_count"] == 1


async def test_a_connection_too_many_ends_with_its_last_request() -> None:
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


async def test_a_pool_that_shrinks_while_it_opens_keeps_its_size() -> None:
    with FakeNode() as node:
        async with connected(node) as (cluster, session):
            cluster.set_core_connections_per_host(HostDistance.LOCAL, 6)
            await node.wait_until(lambda node: node.opened >= 3)
            cluster.set_core_connections_per_host(HostDistance.LOCAL, 2)
            (pool,) = session._engine.pools.values()
            await pool.fill()
            assert len(pool.connections) == 2
            await node.wait_until(lambda node: len(node.connections) == 3)


async def test_a_pool_that_lacks_connections_gets_them_by_the_reconnection_policy() -> None:
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


def opened() -> Connection:
    return Connection(HOST.endpoint, 4, asyncio.get_running_loop())


def is_filled(pool: HostPool) -> bool:
    return pool._filling is None or pool._filling.done()


def pool_of(size: int, open_connection: Any, new_schedule: Any = lambda: repeat(0.0)) -> HostPool:
    """A pool that opens what is missing without delay, and is closed when it fails."""

    def fails(pool: HostPool, error: Exception) -> None:
        pool.close(error)

    owner = PoolOwner(open_connection, fails, asyncio.ensure_future, new_schedule, 1000)
    return HostPool(HOST, HostDistance.LOCAL, size, owner)


@pytest.mark.parametrize("after", [0, 1], ids=["before the pool has it", "after"])
async def test_a_pool_is_not_ready_with_a_connection_that_is_lost_at_once(after: int) -> None:
    """Else nobody would open another one: the host would be up, without connections, for ever."""

    async def lost(host: Any) -> Connection:
        connection = opened()
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


async def test_a_pool_replaces_a_connection_that_is_lost_while_others_are_opened() -> None:
    first, may_go_on, made = opened(), asyncio.Event(), []

    async def open_connection(host: Any) -> Connection:
        made.append(host)
        if len(made) == 1:
            return first
        await may_go_on.wait()
        return opened()

    pool = pool_of(2, open_connection)
    filling = asyncio.ensure_future(pool.fill())
    await until_on_loop(lambda: len(made) == 2 and pool.connections == [first])
    first.close(ConnectionException("lost"))
    may_go_on.set()
    await filling
    await until_on_loop(lambda: len(pool.connections) == 2)
    assert len(made) == 3
    pool.close()


async def test_a_host_that_dropped_connections_at_once_is_used_again_when_it_keeps_them() -> None:
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
                    except (
                        ConnectionException,
                        NoHostAvailable,
                    ):  # of the last one that is dropped
                        await asyncio.sleep(0)

            assert (await asyncio.wait_for(answer(), WAIT)).one().k == 7


async def test_a_pool_whose_further_connections_never_last_is_no_storm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cassandra.engine.pools.pool.SHORT_LIFE", 3600.0)
    delays: list[float] = []

    async def open_connection(host: Any) -> Connection:
        return opened()

    def schedule() -> Iterator[float]:
        delays.append(0.0)
        yield 0.0

    pool = pool_of(2, open_connection, schedule)
    await pool.fill()
    for _ in range(6):
        pool.connections[-1].close(ConnectionException("lost"))
        # Until the task has ended, too: a loss meanwhile is one more reason to fill.
        await until_on_loop(lambda: len(pool.connections) == 2 and is_filled(pool))
    # The first two are opened again at once, each of the others after a delay.
    assert len(delays) == 4
    pool.close()
