"""Connections that a pool no longer gives to requests: they end, whatever their peer does."""

from __future__ import annotations

import asyncio

import pytest

from cassandra.errors import ConnectionException, OperationTimedOut
from cassandra.policies import HostDistance
from cassandra.testing import FakeNode
from cassandra.testing.fake import hold, silence
from tests.unit.engine.faults import READ, WAIT, connected, number, thread
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

SLOW = "SELECT slow"


async def test_a_retired_connection_of_a_silent_peer_is_closed_by_its_heartbeat() -> None:
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


async def test_the_last_request_that_is_given_up_closes_a_retired_connection() -> None:
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


async def test_a_retired_connection_takes_no_request_that_waits_for_room() -> None:
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
            (kept,) = pool.connections
            await thread(held.wait, 2)
            held.release_all()
            assert (await waiting).one().k == 2
            await asyncio.gather(*slow)
            assert pool.open_connections() == [kept]


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
