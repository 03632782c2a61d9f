"""USE statements of a session run one at a time, and set its keyspace."""

from __future__ import annotations

import asyncio
import re

import pytest

from cassandra.errors import DriverException, InvalidRequest, OperationTimedOut
from cassandra.query import SimpleStatement
from tests.unit.engine.test_keyspace_gate import (
    WAIT,
    Never,
    Servers,
    connected,
    nodes,
    ran_in,
    versions,
)
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated


@versions
async def test_one_of_two_concurrent_uses_wins_on_all_connections(version: int) -> None:
    for seed in range(5):
        servers = Servers(seed)
        with nodes(servers) as fake:
            async with connected(fake, version) as cluster:
                session = await cluster.connect("a")
                await asyncio.gather(
                    *(session.set_keyspace(each) for each in "bcabc"),
                    session.execute("USE b"),
                    session.execute("USE c", timeout=0.001),
                    return_exceptions=True,
                )
                ran = {ran_in(await session.execute("SELECT ks()")) for _ in range(8)}
                assert ran == {session.keyspace}


@versions
async def test_a_use_that_is_refused_changes_nothing(version: int) -> None:
    servers = Servers(3)
    with nodes(servers) as fake:
        async with connected(fake, version) as cluster:
            session = await cluster.connect("a")
            with pytest.raises(InvalidRequest):
                await session.execute("USE missing")
            with pytest.raises(InvalidRequest):
                await session.set_keyspace("missing")
            assert session.keyspace == "a"
            await session.set_keyspace("b")
            assert {ran_in(await session.execute("SELECT ks()")) for _ in range(8)} == {"b"}


async def test_a_use_whose_time_is_over_behind_another_one() -> None:
    servers = Servers(6)
    with nodes(servers, 1) as fake:
        slow = fake[0].prime("USE b", lambda request: Never())
        async with connected(fake, 5) as cluster:
            session = await cluster.connect("a")
            first = session.execute("USE b", timeout=None)
            await until_on_loop(lambda: slow.used)
            with pytest.raises(OperationTimedOut, match="another USE"):
                await session.execute("USE c", timeout=0.02)
            third = session.execute("USE c")
            first.cancel()
            await asyncio.wait_for(third, WAIT)
            assert session.keyspace == "c"
            assert {ran_in(await session.execute("SELECT ks()")) for _ in range(6)} == {"c"}


async def test_waiting_uses_end_with_the_session() -> None:
    servers = Servers(7)
    with nodes(servers, 1) as fake:
        slow = fake[0].prime(re.compile("USE [bc]"), lambda request: Never())
        async with connected(fake, 4) as cluster:
            session = await cluster.connect("a")
            waiting = [session.execute(f"USE {each}", timeout=None) for each in "bcb"]
            await until_on_loop(lambda: slow.used)
            waiting.append(session.execute(SimpleStatement("SELECT ks()", keyspace="x")))
            await session.shutdown()
            ended = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), WAIT)
            assert all(isinstance(each, DriverException) for each in ended)
