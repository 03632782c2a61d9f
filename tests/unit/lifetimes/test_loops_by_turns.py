"""A loop may be run by ``run_until_complete`` for each call, and stand still in between.

Notebooks, scripts and handlers of serverless functions use a loop in this way. The time limits of
requests and heartbeats may pass while the loop stands still, but the responses have come.
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
from cassandra.testing.fake import FakeNode, Opcode, rows
from tests.unit.loops import Loops

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
