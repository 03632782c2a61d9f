"""USE statements of a session run one at a time, and set the keyspace of the session."""

from __future__ import annotations

import asyncio
import re

import pytest

from cassandra.errors import DriverException, InvalidRequest, OperationTimedOut
from cassandra.query import SimpleStatement
from tests.unit.engine.test_keyspace_gate import (
    WAIT,
    NeverAnswer,
    Servers,
    connected,
    nodes,
    ran_in,
    versions,
)
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated


@versions
async def test_after_concurrent_uses_all_connections_have_the_sessions_keyspace(
    version: int,
) -> None:
    for seed in range(5):
        servers = Servers(seed)
        with nodes(servers) as fake:
            async with connected(fake, version) as cluster:
                session = await cluster.connect("a")
                await asyncio.gather(
                    *(session.set_keyspace(keyspace) for keyspace in "bcabc"),
                    session.execute("USE b"),
                    session.execute("USE c", timeout=0.001),
                    return_exceptions=True,
                )
                keyspaces = {ran_in(await session.execute("SELECT ks()")) for _ in range(8)}
                assert keyspaces == {session.keyspace}


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


async def test_a_use_may_time_out_while_it_waits_for_another() -> None:
    servers = Servers(6)
    with nodes(servers, 1) as fake:
        slow = fake[0].prime("USE b", lambda request: NeverAnswer())
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


async def test_session_shutdown_fails_waiting_uses() -> None:
    servers = Servers(7)
    with nodes(servers, 1) as fake:
        slow = fake[0].prime(re.compile("USE [bc]"), lambda request: NeverAnswer())
        async with connected(fake, 4) as cluster:
            session = await cluster.connect("a")
            waiting = [session.execute(f"USE {item}", timeout=None) for item in "bcb"]
            await until_on_loop(lambda: slow.used)
            waiting.append(session.execute(SimpleStatement("SELECT ks()", keyspace="x")))
            await session.shutdown()
            ended = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), WAIT)
            assert all(isinstance(item, DriverException) for item in ended)
