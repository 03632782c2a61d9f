"""If a caller is cancelled in any iteration of the loop, nothing of its work is left.

Each operation is cancelled after 0, 1, 2, ... iterations of the loop, until it ends before the
cancellation, or after MOST_TURNS. Afterwards, the cluster must still work, and its shutdown must
leave no tasks and no connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from cassandra import aio
from cassandra.testing.fake import FakeCluster
from tests.unit.engine.faults import READ, WAIT, int_row
from tests.waiting import cancelled_after, until_on_loop

# No operation needs more iterations of the loop than this. This also holds on a busy machine, where
# the loop may run more often until the nodes respond.
MOST_TURNS = 400


@pytest.fixture
def nodes() -> Any:
    """Yield two nodes that respond to READ."""
    with FakeCluster(2) as cluster:
        cluster.prime(READ, int_row(1))
        yield cluster


def cluster_of(nodes: FakeCluster, **settings: Any) -> aio.Cluster:
    """Return a cluster whose only contact point is the first node."""
    return aio.Cluster([nodes[0].address], port=nodes.port, **settings)


async def check_leftovers(nodes: FakeCluster) -> None:
    """Check that no task is left, and that no connection to the nodes is open."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert not others, others
    await until_on_loop(lambda: not any(node.connections for node in nodes.nodes))


async def test_connect_leaves_nothing(nodes: FakeCluster) -> None:
    """If `connect` is cancelled, in whatever iteration of the loop, nothing of it is left.

    No task runs, and no connection is open.
    """
    for turns in range(MOST_TURNS):
        cluster = cluster_of(nodes)
        has_ended = await cancelled_after(turns, partial(cluster.connect, "ks"))
        await asyncio.wait_for(cluster.shutdown(), WAIT)
        await check_leftovers(nodes)
        if has_ended:
            return


async def test_after_a_cancelled_connect_the_cluster_can_be_used(nodes: FakeCluster) -> None:
    """After a cancelled `connect`, another `connect` returns a working session."""
    # To save time, cancel only in every third iteration.
    for turns in range(0, MOST_TURNS, 3):
        async with cluster_of(nodes) as cluster:
            has_ended = await cancelled_after(turns, cluster.connect)
            session = await asyncio.wait_for(cluster.connect(), WAIT)
            assert (await session.execute(READ)).one().k == 1
        await check_leftovers(nodes)
        if has_ended:
            return


def operations(session: aio.Session) -> dict[str, Callable[[int], Awaitable[Any]]]:
    """Return the operations by name, as functions of the number of iterations.

    Some use this number in their query, so that each call differs from earlier calls.
    """
    return {
        "execute": lambda turns: session.execute(READ),
        "prepare": lambda turns: session.prepare(f"SELECT {turns} WHERE k = ?"),
        "prepare and execute": lambda turns: session.execute(f"SELECT {turns} WHERE k = ?", (1,)),
        "set keyspace": lambda turns: session.set_keyspace("a" if turns % 2 == 0 else "b"),
        "agreement": lambda turns: session.wait_for_schema_agreement(),
        "refresh": lambda turns: session.cluster.refresh_schema_metadata(),
    }


@pytest.mark.parametrize(
    "name",
    ["execute", "prepare", "prepare and execute", "set keyspace", "agreement", "refresh"],
)
async def test_operations_leave_nothing(nodes: FakeCluster, name: str) -> None:
    """After a cancelled operation, no request waits for a stream, and no stream stays in use."""
    async with cluster_of(nodes) as cluster:
        session = await cluster.connect("a", wait_for_all_pools=True)
        operation = operations(session)[name]
        # In each round, cancel the operation one iteration of the loop later, until it ends before
        # its cancellation.
        for turns in range(MOST_TURNS):
            has_ended = await cancelled_after(turns, partial(operation, turns))
            assert (await asyncio.wait_for(session.execute(READ), WAIT)).one().k == 1
            if has_ended:
                break
        # No request waits, and no stream stays in use.
        for pool in session._engine.pools.values():
            assert pool.waiting == 0
        await until_on_loop(
            lambda: all(
                connection.in_flight == 0
                for pool in session._engine.pools.values()
                for connection in pool.connections
            )
        )
    await check_leftovers(nodes)


async def test_shutdown_can_be_cancelled_and_called_again(nodes: FakeCluster) -> None:
    """If `shutdown` is cancelled at any moment, a second call completes it.

    Then no task and no connection is left.
    """
    for turns in range(MOST_TURNS):
        cluster = cluster_of(nodes)
        await cluster.connect("ks", wait_for_all_pools=True)
        has_ended = await cancelled_after(turns, cluster.shutdown)
        await asyncio.wait_for(cluster.shutdown(), WAIT)
        await check_leftovers(nodes)
        if has_ended:
            return
