"""`aio.Cluster`: connect, shutdown, and calls that need a connection."""

from __future__ import annotations

import asyncio
import gc
import re
import sys
import types
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import ExecutionProfile
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    InvalidRequest,
    NoHostAvailable,
    UserTypeDoesNotExist,
)
from cassandra.policies import RoundRobinPolicy
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, error, hold, rows, set_keyspace
from tests.unit.aio.conftest import READ
from tests.unit.loops import start_at_once
from tests.unit.metadata.schema.rows import schema


def startup_count(node: FakeNode) -> int:
    """Return how many connections to the node have been opened."""
    return node.count(Opcode.STARTUP)


async def test_concurrent_connects_share_the_control_connection(
    node: FakeNode, cluster: aio.Cluster
) -> None:
    """Two concurrent calls of `connect` open two sessions, but only one control connection."""
    first, second = await asyncio.gather(cluster.connect(), cluster.connect())
    assert first is not second
    # There is one control connection, and each session has one connection.
    assert startup_count(node) == 3
    for session in (first, second):
        assert (await session.execute(READ)).one().k == 1


async def test_a_cancelled_connect_does_not_affect_the_others(cluster: aio.Cluster) -> None:
    """If one of two concurrent calls of `connect` is cancelled, the other call succeeds."""
    cancelled_task = asyncio.ensure_future(cluster.connect())
    other_task = asyncio.ensure_future(cluster.connect())
    # Let both tasks begin to connect.
    await asyncio.sleep(0)
    cancelled_task.cancel()
    session = await other_task
    assert (await session.execute(READ)).one().k == 1
    assert cancelled_task.cancelled()


@pytest.mark.parametrize("ending", ["success", "cancelled", "given up", "failure"])
async def test_a_connect_waits_for_the_attempt_that_is_under_way(
    node: FakeNode, ending: str
) -> None:
    """The engine is set before the policies know the hosts: a second `connect` must not use it.

    The first call reads a registered type. In the meantime, a second call joins the attempt.
    """
    type_names = hold(rows([("field_names", "list<text>")], [(["a"],)]))
    node.prime(re.compile(r"FROM system_schema\.types"), type_names)
    cluster = aio.Cluster([node.address], port=node.port, schema_metadata_enabled=False)
    async with cluster:
        await cluster.register_user_type("ks", "address", dict)
        first = asyncio.ensure_future(cluster.connect())
        await asyncio.to_thread(type_names.wait)
        second = asyncio.ensure_future(cluster.connect())
        for _ in range(5):
            await asyncio.sleep(0)
        assert not second.done()
        if ending == "failure":
            type_names.release(rows([("field_names", "list<text>")], []))
            for task in (first, second):
                with pytest.raises(UserTypeDoesNotExist):
                    await task
            return
        if ending != "success":
            first.cancel()
        if ending == "given up":
            second.cancel()
            await asyncio.wait({first, second})
            # The attempt is being closed. The next call begins another one.
            second = asyncio.ensure_future(cluster.connect())
        type_names.open()
        type_names.release_all()
        assert (await (await second).execute(READ)).one().k == 1
        if ending == "success":
            assert (await (await first).execute(READ)).one().k == 1


async def test_after_a_failed_connect_the_next_one_may_succeed(
    node: FakeNode, cluster: aio.Cluster
) -> None:
    """After a failed `connect`, the same cluster can connect when the node runs."""
    node.stop()
    with pytest.raises(NoHostAvailable):
        await cluster.connect()
    node.start()
    session = await cluster.connect()
    assert (await session.execute(READ)).one().k == 1


async def test_connect_to_a_missing_keyspace_is_an_error(
    node: FakeNode, cluster: aio.Cluster
) -> None:
    """If the keyspace does not exist, `connect` raises the server's error."""
    node.prime('USE "shop"', set_keyspace("shop"))
    node.prime('USE "none"', error(ErrorCode.INVALID, "no such keyspace"))
    with pytest.raises(InvalidRequest, match="no such keyspace"):
        await cluster.connect("none")
    assert (await cluster.connect("shop")).keyspace == "shop"
    with pytest.raises(TypeError, match="a keyspace is a str"):
        await cluster.connect(5)  # type: ignore[arg-type]


async def test_refreshes_need_a_connection(node: FakeNode, cluster: aio.Cluster) -> None:
    """Refreshes raise ConnectionException before `connect`, and read the new data afterwards."""
    assert cluster.get_control_connection_host() is None
    for call in (cluster.refresh_nodes, cluster.refresh_schema_metadata):
        with pytest.raises(ConnectionException, match="not connected"):
            await call()
    await cluster.connect()
    host = cluster.get_control_connection_host()
    assert (host.address, host.datacenter) == (node.address, "datacenter1")
    node.schema = schema("ks", tables=1)
    await cluster.refresh_schema_metadata(max_schema_agreement_wait=0)
    assert list(cluster.metadata.keyspaces["ks"].tables) == ["t0"]
    node.datacenter = "elsewhere"
    await cluster.refresh_nodes()
    assert [known_host.datacenter for known_host in cluster.metadata.all_hosts()] == ["elsewhere"]


async def test_profiles_may_be_added_before_and_after_connect(cluster: aio.Cluster) -> None:
    """Profiles can be added before and after `connect`, but not twice with the same name."""
    await cluster.add_execution_profile("early", ExecutionProfile(RoundRobinPolicy()))
    session = await cluster.connect()
    await cluster.add_execution_profile("late", ExecutionProfile(RoundRobinPolicy()))
    for name in ("early", "late"):
        assert (await session.execute(READ, execution_profile=name)).one().k == 1
    with pytest.raises(ValueError, match="late"):
        cluster.add_execution_profile("late", ExecutionProfile())


async def test_a_registered_user_type_must_exist(cluster: aio.Cluster, node: FakeNode) -> None:
    """A user type that is registered, but does not exist, raises UserTypeDoesNotExist.

    Before the cluster is connected, `connect` raises the error. Afterwards, `register_user_type`
    raises the error.
    """
    async with aio.Cluster([node.address], port=node.port) as other_cluster:
        await other_cluster.register_user_type("ks", "missing", dict)
        with pytest.raises(UserTypeDoesNotExist, match=r"ks\.missing"):
            await other_cluster.connect()
    await cluster.connect()
    with pytest.raises(UserTypeDoesNotExist, match=r"ks\.none"):
        await cluster.register_user_type("ks", "none", dict)


async def test_after_shutdown_calls_raise(node: FakeNode, cluster: aio.Cluster) -> None:
    """After `shutdown`, calls of the cluster and of its session raise ConnectionShutdown."""
    session = await cluster.connect()
    # The second call has no effect.
    await cluster.shutdown()
    await cluster.shutdown()
    assert (cluster.is_shutdown, session.is_shutdown) == (True, True)
    calls: list[Any] = [cluster.connect, cluster.refresh_nodes]
    for call in calls:
        with pytest.raises(ConnectionShutdown):
            await call()
    with pytest.raises(ConnectionShutdown):
        await session.execute(READ)


async def test_shutdown_fails_a_connect(cluster: aio.Cluster) -> None:
    """If the cluster is shut down during a `connect`, the `connect` raises ConnectionShutdown."""
    connecting = asyncio.ensure_future(cluster.connect())
    # Let the task begin to connect.
    await asyncio.sleep(0)
    await cluster.shutdown()
    with pytest.raises(ConnectionShutdown):
        await connecting


def test_a_cluster_belongs_to_one_loop(node: FakeNode) -> None:
    """A cluster that has connected on one event loop raises RuntimeError on another event loop."""
    cluster = aio.Cluster([node.address], port=node.port)
    loop, other_loop = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        loop.run_until_complete(cluster.connect())
        with pytest.raises(RuntimeError, match="belongs to another event loop"):
            other_loop.run_until_complete(cluster.connect())
        loop.run_until_complete(cluster.shutdown())
    finally:
        for event_loop in (loop, other_loop):
            event_loop.run_until_complete(event_loop.shutdown_default_executor())
            event_loop.close()


async def test_tasks_may_start_at_once(node: FakeNode, cluster: aio.Cluster) -> None:
    """The driver works on a loop whose task factory runs each new task at once.

    `asyncio.eager_task_factory` of Python 3.12 is such a factory.
    """
    for name in ("shop", "other"):
        node.prime(f'USE "{name}"', set_keyspace(name))
    asyncio.get_running_loop().set_task_factory(start_at_once)
    session = await cluster.connect("shop")
    assert session.keyspace == "shop"
    await session.set_keyspace("other")
    assert session.keyspace == "other"
    results = await asyncio.gather(*(session.execute(READ) for _ in range(3)))
    assert [result.one().k for result in results] == [1, 1, 1]
    await cluster.refresh_nodes()
    await cluster.refresh_schema_metadata()
    # Only the control connection and one pool connection were opened, so none was lost and
    # replaced.
    assert startup_count(node) == 2


def test_without_asyncio_connect_says_what_is_missing(node: FakeNode) -> None:
    """Without a running event loop of asyncio, `connect` raises an error that says what is missing.

    In this test, no event loop runs the coroutine. In an application, the loop of another library,
    such as trio, may run it.
    """

    async def connect() -> None:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            await cluster.connect()

    with pytest.raises(RuntimeError, match=r"needs a running event loop of asyncio.*asyncio\.run"):
        connect().send(None)


def test_on_trio_the_advice_is_about_trio(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the application has imported trio, the error of `connect` says what to do with trio."""
    monkeypatch.setitem(sys.modules, "trio", types.ModuleType("trio"))
    with pytest.raises(RuntimeError, match=r'With anyio, choose its backend "asyncio"; with trio'):
        aio.Cluster([node.address], port=node.port).connect().send(None)


def test_a_session_that_was_used_notices_another_loop(node: FakeNode) -> None:
    """A session that was used on its loop raises RuntimeError without this loop or on another loop.

    The compiled session does not check the loop for each call. It caches that its loop is running,
    as long as asyncio's record of the running loop is the same object.
    """

    async def connect_and_use() -> tuple[Any, Any]:
        session = await cluster.connect()
        insert = await session.prepare("INSERT INTO t (k) VALUES (?)")
        for _ in range(2):
            await session.execute(insert, (1,))
        return session, insert

    async def execute() -> None:
        await session.execute(insert, (1,))

    cluster = aio.Cluster([node.address], port=node.port)
    loop = asyncio.new_event_loop()
    try:
        session, insert = loop.run_until_complete(connect_and_use())
        with pytest.raises(RuntimeError, match="outside of its event loop"):
            session.execute(insert, (1,))
        with pytest.raises(RuntimeError, match="belongs to another event loop"):
            asyncio.run(execute())
        # When the first loop runs for the second time, asyncio's record of the running loop is
        # another object.
        loop.run_until_complete(execute())
    finally:
        loop.run_until_complete(cluster.shutdown())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


async def test_a_session_is_not_kept_after_its_shutdown_or_last_use(cluster: aio.Cluster) -> None:
    """The cluster refers only weakly to its sessions, so sessions that are not used can be freed.

    A session that was shut down is removed at once.
    """
    async with cluster.connect():
        assert len(cluster._sessions) == 1
    assert list(cluster._sessions) == []
    # No variable refers to this session, so the garbage collector frees it.
    await cluster.connect()
    gc.collect()
    assert list(cluster._sessions) == []
    session = await cluster.connect()
    await cluster.shutdown()
    assert session.is_shutdown
