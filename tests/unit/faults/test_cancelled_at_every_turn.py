"""If a caller is cancelled at any turn of the loop, it leaves nothing behind.

Each operation is cancelled after 0, 1, 2, ... turns of the loop, until it ends before its
cancellation. Afterwards the cluster must still work, and leave no tasks and no connections after
its shutdown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from cassandra import aio
from cassandra.testing.fake import FakeCluster
from tests.unit.engine.faults import READ, WAIT, number
from tests.waiting import cancelled_after, until_on_loop

MOST_TURNS = 400


@pytest.fixture
def fake() -> Any:
    with FakeCluster(2) as cluster:
        cluster.prime(READ, number(1))
        yield cluster


def cluster_of(fake: FakeCluster, **settings: Any) -> aio.Cluster:
    return aio.Cluster([fake[0].address], port=fake.port, **settings)


async def nothing_is_left(fake: FakeCluster) -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert not others, others
    await until_on_loop(lambda: not any(node.connections for node in fake.nodes))


async def test_connect(fake: FakeCluster) -> None:
    for turns in range(MOST_TURNS):
        cluster = cluster_of(fake)
        was_over = await cancelled_after(turns, partial(cluster.connect, "ks"))
        await asyncio.wait_for(cluster.shutdown(), WAIT)
        await nothing_is_left(fake)
        if was_over:
            return
    raise AssertionError(f"connect() was not over after {MOST_TURNS} turns")


async def test_connect_of_a_cluster_that_goes_on(fake: FakeCluster) -> None:
    """The next caller finds the cluster connected normally."""
    for turns in range(0, MOST_TURNS, 3):
        async with cluster_of(fake) as cluster:
            was_over = await cancelled_after(turns, cluster.connect)
            session = await asyncio.wait_for(cluster.connect(), WAIT)
            assert (await session.execute(READ)).one().k == 1
        await nothing_is_left(fake)
        if was_over:
            return
    raise AssertionError(f"connect() was not over after {MOST_TURNS} turns")


def operations(session: aio.Session) -> dict[str, Callable[[int], Awaitable[Any]]]:
    return {
        "execute": lambda turns: session.execute(READ),
        "prepare": lambda turns: session.prepare(f"SELECT {turns} WHERE k = ?"),
        "first": lambda turns: session.execute(f"SELECT {turns} WHERE k = ?", (1,)),
        "keyspace": lambda turns: session.set_keyspace("ab"[turns % 2]),
        "agreement": lambda turns: session.wait_for_schema_agreement(),
        "refresh": lambda turns: session.cluster.refresh_schema_metadata(),
    }


@pytest.mark.parametrize(
    "name", ["execute", "prepare", "first", "keyspace", "agreement", "refresh"]
)
async def test_operations(fake: FakeCluster, name: str) -> None:
    async with cluster_of(fake) as cluster:
        session = await cluster.connect("a", wait_for_all_pools=True)
        operation = operations(session)[name]
        for turns in range(MOST_TURNS):
            was_over = await cancelled_after(turns, partial(operation, turns))
            assert (await asyncio.wait_for(session.execute(READ), WAIT)).one().k == 1
            if was_over:
                break
        else:
            raise AssertionError(f"{name} was not over after {MOST_TURNS} turns")
        for pool in session._engine.pools.values():
            assert pool.waiting == 0
        await until_on_loop(
            lambda: all(
                connection.in_flight == 0
                for pool in session._engine.pools.values()
                for connection in pool.connections
            )
        )
    await nothing_is_left(fake)


async def test_shutdown(fake: FakeCluster) -> None:
    for turns in range(MOST_TURNS):
        cluster = cluster_of(fake)
        await cluster.connect("ks", wait_for_all_pools=True)
        was_over = await cancelled_after(turns, cluster.shutdown)
        await asyncio.wait_for(cluster.shutdown(), WAIT)
        await nothing_is_left(fake)
        if was_over:
            return
    raise AssertionError(f"shutdown() was not over after {MOST_TURNS} turns")
