"""USE statements of a session, which run one at a time and set the session's keyspace."""

from __future__ import annotations

import asyncio
import itertools
import re
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.engine.use_request import MOST_HOSTS
from cassandra.errors import DriverException, InvalidRequest, OperationTimedOut
from cassandra.policies import RoundRobinPolicy
from cassandra.query import SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeCluster, close, error
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
    """After concurrent USE statements, all connections are in the keyspace of the session.

    This holds whichever of the statements is last.
    """
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
    """A USE of a missing keyspace must raise InvalidRequest and leave the keyspace unchanged."""
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
    """If a USE times out while another USE is in flight, the error says so.

    When the USE in flight is cancelled, the next USE runs.
    """
    servers = Servers(6)
    with nodes(servers, count=1) as fake:
        unanswered_use = fake[0].prime("USE b", lambda request: NeverAnswer())
        async with connected(fake, version=5) as cluster:
            session = await cluster.connect("a")
            use_in_flight = session.execute("USE b", timeout=None)
            await until_on_loop(lambda: unanswered_use.used)
            with pytest.raises(OperationTimedOut, match="another USE"):
                await session.execute("USE c", timeout=0.02)
            later_use = session.execute("USE c")
            use_in_flight.cancel()
            await asyncio.wait_for(later_use, WAIT)
            assert session.keyspace == "c"
            assert {ran_in(await session.execute("SELECT ks()")) for _ in range(6)} == {"c"}


async def test_session_shutdown_fails_waiting_uses() -> None:
    """The shutdown of a session ends its USE statements, both those in flight and those that wait.

    It also ends the requests that wait for a keyspace.
    """
    servers = Servers(7)
    with nodes(servers, count=1) as fake:
        unanswered_use = fake[0].prime(re.compile("USE [bc]"), lambda request: NeverAnswer())
        async with connected(fake, version=4) as cluster:
            session = await cluster.connect("a")
            requests = [session.execute(f"USE {keyspace}", timeout=None) for keyspace in "bcb"]
            await until_on_loop(lambda: unanswered_use.used)
            requests.append(session.execute(SimpleStatement("SELECT ks()", keyspace="x")))
            await session.shutdown()
            errors = await asyncio.wait_for(asyncio.gather(*requests, return_exceptions=True), WAIT)
            assert all(isinstance(error, DriverException) for error in errors)


@pytest.mark.parametrize(
    "answer",
    [
        error(ErrorCode.INVALID, "Keyspace 'ks' does not exist"),
        error(ErrorCode.UNAUTHORIZED),
        error(ErrorCode.SERVER_ERROR),
        error(ErrorCode.OVERLOADED),
        close(),
    ],
)
async def test_connect_does_not_depend_on_one_node(answer: Any) -> None:
    """A node that has just started may not know the keyspace yet, or may be overloaded."""
    with FakeCluster(3) as fake:
        fake.nodes[1].prime(re.compile("USE"), answer)
        for _ in range(6):
            async with aio.Cluster(fake.contact_points[:1], port=fake.port) as cluster:
                session = await cluster.connect("ks")
                assert session.keyspace == "ks"
                for _ in range(6):
                    await session.execute("SELECT k FROM t")


async def test_a_keyspace_that_no_node_knows_is_refused() -> None:
    """Only some hosts are asked, and the error is that of a server."""
    with FakeCluster(7) as fake:
        for node in fake.nodes:
            node.prime(re.compile("USE"), error(ErrorCode.INVALID, "Keyspace 'ks' does not exist"))
        async with aio.Cluster(fake.contact_points[:1], port=fake.port) as cluster:
            session = await cluster.connect()
            with pytest.raises(InvalidRequest, match="does not exist"):
                await session.execute("USE ks")
            count = sum(
                request.query == "USE ks" for node in fake.nodes for request in node.requests
            )
            assert count == MOST_HOSTS
            assert session.keyspace is None


async def test_the_error_of_an_earlier_host_says_where_it_comes_from() -> None:
    """The query plan may end before all hosts to which the session is connected were asked."""

    class FirstHostPolicy(RoundRobinPolicy):
        def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Any:
            return itertools.islice(super().make_query_plan(working_keyspace, query), 1)

    with FakeCluster(2) as fake:
        for node in fake.nodes:
            node.prime(re.compile("USE"), error(ErrorCode.INVALID, "Keyspace 'ks' does not exist"))
        profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(FirstHostPolicy())}
        async with aio.Cluster(
            fake.contact_points, port=fake.port, execution_profiles=profiles
        ) as cluster:
            session = await cluster.connect()
            with pytest.raises(InvalidRequest) as caught:
                await session.execute("USE ks")
            assert "executing 'USE ks'" in "".join(vars(caught.value)["__notes__"])
