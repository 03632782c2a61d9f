"""A loop may be run by ``run_until_complete`` for each call, and stand still in between.

Notebooks, scripts and handlers of serverless functions use a loop in this way. The time limits of
requests and heartbeats may pass while the loop stands still, but the responses have come. The
application may also cancel executions and change settings meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import ExecutionProfile
from cassandra.policies import HostDistance, RoundRobinPolicy
from cassandra.testing.fake import FakeNode, Opcode, rows, silence
from cassandra.throttling import ConcurrencyLimitingThrottler
from tests.unit.loops import Loops
from tests.waiting import until_on_loop

READ = "SELECT k FROM t"
TIMEOUT = 0.1  # seconds; the loop stands still for a longer time
STANDSTILL = 0.3  # seconds


@contextmanager
def connected(
    node: FakeNode, loops: Loops, **settings: Any
) -> Iterator[tuple[asyncio.AbstractEventLoop, aio.Session]]:
    """Yield a loop, which does not run, and a session on this loop."""
    node.prime(READ, rows([("k", "int")], [(1,)]))
    loop = loops.make()
    cluster = aio.Cluster([node.address], port=node.port, **settings)
    try:
        session = loop.run_until_complete(cluster.connect(wait_for_all_pools=True))
        yield loop, session
        loop.run_until_complete(cluster.shutdown())
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def test_a_response_that_came_during_a_standstill_is_in_time(loops: Loops) -> None:
    """A request does not time out if its response came while the loop stood still."""
    with FakeNode() as node, connected(node, loops) as (loop, session):

        async def begin() -> Any:
            future = session.execute(READ, timeout=TIMEOUT)
            # Let the request be sent.
            await asyncio.sleep(0)
            return future

        for _ in range(3):
            future = loop.run_until_complete(begin())
            time.sleep(STANDSTILL)
            assert loop.run_until_complete(future).one().k == 1


def test_a_standstill_does_not_fail_heartbeats(
    loops: Loops, caplog: pytest.LogCaptureFixture
) -> None:
    """A connection stays open if the response to its heartbeat came while the loop stood still."""
    caplog.set_level(logging.WARNING, logger="cassandra")
    settings = {"idle_heartbeat_interval": STANDSTILL / 2, "idle_heartbeat_timeout": TIMEOUT}
    with FakeNode() as node, connected(node, loops, **settings) as (loop, session):

        async def execute() -> Any:
            return await session.execute(READ)

        for _ in range(4):
            assert loop.run_until_complete(execute()).one().k == 1
            time.sleep(STANDSTILL)
        assert node.count(Opcode.OPTIONS) > 2  # the connections have got heartbeats
        assert node.count(Opcode.STARTUP) == 2
    assert caplog.records == []


def test_executions_may_be_cancelled_during_a_standstill(loops: Loops) -> None:
    """Tasks that await executions may be cancelled while the loop stands still.

    `asyncio.run` cancels the remaining tasks in this way. The requests end when the loop runs
    again, and then they count no longer as running.
    """
    throttler = ConcurrencyLimitingThrottler(2)
    with FakeNode() as node, connected(node, loops, request_throttler=throttler) as (loop, session):
        node.prime("SELECT never", silence())

        async def execute(query: str) -> Any:
            return await session.execute(query)

        tasks = [loop.create_task(execute("SELECT never")) for _ in range(5)]
        loop.run_until_complete(until_on_loop(lambda: throttler.waiting == 3))
        for task in tasks:
            task.cancel()
        outcomes = loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError] * 5
        assert loop.run_until_complete(execute(READ)).one().k == 1
        assert (throttler.under_way, throttler.waiting) == (0, 0)


def test_asyncio_run_may_end_while_executions_are_awaited() -> None:
    """`asyncio.run` returns the result of `main`, although another task awaits an execution.

    The other task is cancelled, and its `finally` block runs.
    """
    works: list[asyncio.Task[None]] = []
    ended: list[str] = []

    async def main(node: FakeNode) -> str:
        cluster = aio.Cluster([node.address], port=node.port)
        session = await cluster.connect()

        async def work() -> None:
            try:
                await session.execute("SELECT never")
            finally:
                await cluster.shutdown()
                ended.append("work")

        works.append(asyncio.ensure_future(work()))
        await until_on_loop(lambda: any(sent.query == "SELECT never" for sent in node.requests))
        return "done"

    with FakeNode() as node:
        node.prime("SELECT never", silence())
        assert asyncio.run(main(node)) == "done"
    assert ended == ["work"]


def test_settings_may_be_changed_during_a_standstill(loops: Loops) -> None:
    """If settings change while the loop stands still, it opens the new pools when it runs again.

    Settings can be changed without `await`. The tasks that open the pools belong to the cluster's
    loop.
    """
    with FakeNode() as node, connected(node, loops) as (loop, session):
        cluster = session.cluster

        def size() -> int:
            return sum(len(pool.connections) for pool in session.get_pools())

        cluster.set_core_connections_per_host(HostDistance.LOCAL, 3)
        cluster.add_execution_profile("late", ExecutionProfile(RoundRobinPolicy()))
        loop.run_until_complete(until_on_loop(lambda: size() == 3))

        async def execute() -> Any:
            return await session.execute(READ, execution_profile="late")

        assert loop.run_until_complete(execute()).one().k == 1
