"""Hosts that go and come back, and requests meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from cassandra import aio
from cassandra.errors import (
    DriverException,
    NoHostAvailable,
)
from cassandra.testing.fake import (
    FakeCluster,
    Opcode,
    hold,
    message,
)
from tests.unit.engine.faults import (
    SAFE,
    WAIT,
    HostEvents,
    connected,
    fails,
    thread,
    three_nodes,
)


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    with three_nodes() as cluster:
        yield cluster


@pytest.mark.parametrize("tell", [True, False], ids=["with events", "without"])
async def test_a_host_goes_down_and_comes_back(nodes: FakeCluster, tell: bool) -> None:
    async with connected(nodes) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        for victim in nodes.nodes:
            await thread(nodes.stop_node, victim, tell)
            await events.expect("down", victim.address)
            assert (await session.execute(SAFE)).one().k != nodes.nodes.index(victim)
            await thread(nodes.start_node, victim, tell)
            await events.expect("up", victim.address)
        assert (await session.execute(SAFE)).one().k == 0


async def test_all_hosts_go_down_and_come_back(nodes: FakeCluster) -> None:
    async with connected(nodes) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        for node in nodes.nodes:
            await thread(node.stop)
        for node in nodes.nodes:
            await events.expect("down", node.address)
        failure = await fails(session.execute(SAFE))
        assert isinstance(failure, NoHostAvailable)
        for node in nodes.nodes:
            await thread(node.start)
        events.seen.clear()
        await thread(nodes[0].wait_for, lambda node: node.connections)
        await asyncio.wait_for(until_answered(session), WAIT)


async def until_answered(session: aio.Session) -> None:
    """Ask until an answer comes."""
    while True:
        try:
            await session.execute(SAFE)
            return
        except DriverException:
            await asyncio.sleep(0.01)


async def test_a_flapping_host_keeps_nobody_waiting(nodes: FakeCluster) -> None:
    async with connected(nodes) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        for _ in range(5):
            await thread(nodes[0].refuse_connections)
            await thread(nodes[0].drop_connections, True)
            await events.expect("down", nodes[0].address)
            assert (await session.execute(SAFE)).one().k == 1
            await thread(nodes[0].accept_connections)
            await events.expect("up", nodes[0].address)
            assert (await session.execute(SAFE)).one().k == 0


async def test_a_host_that_does_not_answer_heartbeats_goes_down(nodes: FakeCluster) -> None:
    async with connected(
        nodes, idle_heartbeat_interval=0.05, idle_heartbeat_timeout=0.05, connect_timeout=0.2
    ) as (
        cluster,
        session,
    ):
        events = HostEvents()
        cluster.register_listener(events)
        await thread(nodes[0].pause)
        await events.expect("down", nodes[0].address)
        assert (await session.execute(SAFE)).one().k == 1
        await thread(nodes[0].resume)
        await events.expect("up", nodes[0].address)
        assert (await session.execute(SAFE)).one().k == 0


async def test_a_host_that_is_down_at_connect_is_used_when_it_comes(nodes: FakeCluster) -> None:
    await thread(nodes[1].stop)
    async with connected(nodes) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        assert (await session.execute(SAFE)).one().k == 0
        await thread(nodes.start_node, nodes[1])
        await events.expect("up", nodes[1].address)
        await thread(nodes[0].stop)
        await events.expect("down", nodes[0].address)
        assert (await session.execute(SAFE)).one().k == 1


async def test_statements_are_prepared_on_a_host_that_comes_back(nodes: FakeCluster) -> None:
    query = "INSERT INTO t (k) VALUES (?)"
    async with connected(nodes) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        statement = await session.prepare(query)
        assert [node.prepared for node in nodes.nodes] == [[query]] * 3
        await thread(nodes.stop_node, nodes[1])
        await events.expect("down", nodes[1].address)
        await thread(nodes.start_node, nodes[1])
        await thread(nodes[1].wait_for, lambda node: node.prepared == [query])
        assert statement.query_string == query


async def test_shutdown_while_the_pool_of_a_host_that_came_back_is_opened(
    nodes: FakeCluster,
) -> None:
    """The connection that is being opened belongs to the engine alone, and goes with it."""
    async with connected(nodes) as (cluster, _):
        events = HostEvents()
        cluster.register_listener(events)
        await thread(nodes[1].stop)
        await events.expect("down", nodes[1].address)
        nodes[1].forget_requests()
        held = hold(message(Opcode.READY, b""))
        # The first one only looks whether the host answers; the pool's comes then.
        nodes[1].prime(
            lambda request: (
                request.opcode == Opcode.STARTUP and nodes[1].count(Opcode.STARTUP) == 2
            ),
            held,
            times=1,
        )
        await thread(nodes[1].start)
        await thread(held.wait)
        await cluster.shutdown()
        held.release()
        await thread(nodes[1].wait_for, lambda node: not node.connections)
