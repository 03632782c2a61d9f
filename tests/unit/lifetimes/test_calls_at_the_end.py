"""If one caller shuts the cluster down, every other waiting call raises ConnectionShutdown.

The tests use both APIs, on event loops of asyncio and uvloop. A cancelled caller still gets
CancelledError.
"""

from __future__ import annotations

import asyncio
import gc
import re
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.errors import ConnectionShutdown
from cassandra.policies import RetryPolicy
from cassandra.query import SimpleStatement
from cassandra.testing.fake import (
    ErrorCode,
    FakeNode,
    Hold,
    Opcode,
    error,
    hold,
    paged,
    rows,
    schema_change,
)
from tests.unit.loops import Loops

# A statement whose result has three pages of one row.
PAGED = SimpleStatement("SELECT pages", fetch_size=1)
LONG_TIMEOUT = 60.0  # seconds; so long that no timeout ends any of these calls

# A function that makes a call. Its arguments are the cluster and its session.
Call = Callable[[Any, Any], Any]


def later_pages(request: Any) -> bool:
    """Return True if a request is for a page of PAGED after the first page."""
    return request.query == PAGED.query_string and bool(request.paging_state)


async def next_page(cluster: Any, session: Any) -> Any:
    """Wait for the second page of PAGED, with the asyncio API."""
    result = await session.execute(PAGED)
    await result.fetch_next_page()


def next_page_blocking(cluster: Any, session: Any) -> Any:
    """Wait for the second page of PAGED, with the blocking API."""
    session.execute(PAGED).fetch_next_page()


def trace(cluster: Any, session: Any) -> Any:
    """Wait for the trace of a request."""
    session.execute_async("SELECT traced", trace=True).result().response_future.get_query_trace(
        LONG_TIMEOUT
    )


# The driver sends this query when it reads the schema.
TABLES_QUERY = re.compile(r"system_schema\.tables")
# For each call that both APIs have: the request that the node does not respond to, and the call.
CALLS: dict[str, tuple[Any, Call]] = {
    "connect again": (Opcode.STARTUP, lambda cluster, session: cluster.connect()),
    "connect again to all": (Opcode.STARTUP, lambda cluster, session: cluster.connect(wait_for_all_pools=True)),  # noqa: E501
    "connect to a keyspace": ('USE "ks"', lambda cluster, session: cluster.connect("ks")),
    "prepare": (Opcode.PREPARE, lambda cluster, session: session.prepare("SELECT ?")),
    "prepare all": (Opcode.PREPARE, lambda cluster, session: session.prepare_all(["SELECT ?", "SELECT 2, ?"])),  # noqa: E501
    "execute markers": (Opcode.PREPARE, lambda cluster, session: session.execute("SELECT ?", (1,), timeout=None)),  # noqa: E501
    "execute": ("SELECT 3", lambda cluster, session: session.execute("SELECT 3", timeout=None)),
    "set keyspace": ('USE "ks"', lambda cluster, session: session.set_keyspace("ks")),
    "refresh nodes": (re.compile("FROM system.local"), lambda cluster, session: cluster.refresh_nodes()),  # noqa: E501
    "refresh schema": (TABLES_QUERY, lambda cluster, session: cluster.refresh_schema_metadata(0)),
    "refresh table": (re.compile("system_schema"), lambda cluster, session: cluster.refresh_table_metadata("ks", "t", 0)),  # noqa: E501
    "refresh after agreement": (
        re.compile("SELECT schema_version"), lambda cluster, session: cluster.refresh_schema_metadata(LONG_TIMEOUT)  # noqa: E501
    ),
    "agreement": (re.compile("SELECT schema_version"), lambda cluster, session: session.wait_for_schema_agreement(LONG_TIMEOUT)),  # noqa: E501
    "register type": (
        re.compile("system_schema.types"), lambda cluster, session: cluster.register_user_type("ks", "t", dict)  # noqa: E501
    ),
}  # fmt: skip
# As CALLS, with the calls that only one of the APIs has.
BLOCKING: dict[str, tuple[Any, Call]] = {
    **CALLS,
    "next page": (later_pages, next_page_blocking),
    "trace": (re.compile("system_traces"), trace),
    "result": (
        "SELECT 3",
        lambda cluster, session: session.execute_async("SELECT 3", timeout=None).result(),
    ),
}
AWAITED: dict[str, tuple[Any, Call]] = {**CALLS, "next page": (later_pages, next_page)}
# The requests of a first connect.
FIRST_CONNECT = [
    Opcode.OPTIONS,
    Opcode.STARTUP,
    Opcode.REGISTER,
    re.compile("FROM system.local"),
    TABLES_QUERY,
]


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node with the responses that the calls need before they wait."""
    with FakeNode() as running:
        running.prime(PAGED.query_string, paged([("k", "int")], [(1,), (2,), (3,)]))
        running.prime("CREATE TABLE t", schema_change("CREATED", "TABLE", "ks", "t"))
        running.prime("SELECT traced", rows([("k", "int")], [(1,)]))
        yield running
        assert running.malformed == []


def settings(node: FakeNode) -> dict[str, Any]:
    """Return the settings of a cluster whose timeouts end none of the calls."""
    return {
        "contact_points": [node.address], "port": node.port, "connect_timeout": LONG_TIMEOUT, "control_connection_timeout": LONG_TIMEOUT,  # noqa: E501
        "max_schema_agreement_wait": LONG_TIMEOUT,
    }  # fmt: skip


@pytest.mark.parametrize("name", list(BLOCKING))
def test_blocking(node: FakeNode, loops: Loops, name: str) -> None:
    """If another thread shuts the cluster down, a blocking call raises ConnectionShutdown."""
    match, call = BLOCKING[name]
    cluster = Cluster(**settings(node))
    with ThreadPoolExecutor(1) as threads:
        session = cluster.connect()
        held = hold()
        node.prime(match, held)
        waiting = threads.submit(call, cluster, session)
        held.wait()
        try:
            if name.startswith("connect again"):
                # The thread that connects holds the lock that `shutdown` needs, so close the core
                # directly.
                core, thread = cluster._core, cluster._loop_thread
                assert core is not None
                assert thread is not None
                thread.run(core.close(), 10)
            else:
                cluster.shutdown()
            failure = waiting.exception(timeout=10)
            assert isinstance(failure, ConnectionShutdown), repr(failure)
        finally:
            cluster.shutdown()
        with pytest.raises(ConnectionShutdown):
            call(cluster, session)
    # Run the garbage collector now: it warns of a coroutine that was never awaited, and the warning
    # fails the test.
    gc.collect()


def test_a_ddl_statement_that_was_executed_succeeds(node: FakeNode, loops: Loops) -> None:
    """A DDL statement that was executed succeeds in spite of the shutdown.

    Only its wait for schema agreement ends early.
    """
    cluster = Cluster(**settings(node))
    with ThreadPoolExecutor(1) as threads:
        session = cluster.connect()
        held = hold()
        node.prime(re.compile("SELECT schema_version"), held)
        waiting = threads.submit(session.execute, "CREATE TABLE t")
        held.wait()
        cluster.shutdown()
        assert not waiting.result(timeout=10).response_future.is_schema_agreed


async def error_of(call: Awaitable[Any]) -> BaseException:
    """Return the exception that an awaited call raises."""
    try:
        return AssertionError(f"no error, but {await call!r}")
    except BaseException as error:
        return error


async def wait_until_held(held: Hold) -> None:
    """Wait until the node holds the response back, without blocking the event loop."""
    await asyncio.to_thread(held.wait)


@pytest.mark.parametrize("name", list(AWAITED))
def test_awaiting(node: FakeNode, loops: Loops, name: str) -> None:
    """If the cluster is shut down while a call is awaited, the call raises ConnectionShutdown.

    A second task, which awaits the same call and is cancelled, gets CancelledError.
    """
    match, call = AWAITED[name]

    async def run() -> None:
        cluster = aio.Cluster(**settings(node))
        session = await cluster.connect()
        # The node does not respond to the request, so the call waits until the shutdown.
        held = hold()
        node.prime(match, held)
        waiting = asyncio.ensure_future(call(cluster, session))
        cancelled = asyncio.ensure_future(call(cluster, session))
        await wait_until_held(held)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        await cluster.shutdown()
        failure = await asyncio.wait_for(error_of(waiting), 10)
        assert isinstance(failure, ConnectionShutdown), repr(failure)
        with pytest.raises(ConnectionShutdown):
            await call(cluster, session)
        # No task of the driver is left.
        assert asyncio.all_tasks() == {asyncio.current_task()}

    loops.run(run())
    gc.collect()


@pytest.mark.parametrize("match", FIRST_CONNECT, ids=str)
def test_shutdown_fails_an_awaited_first_connect(node: FakeNode, loops: Loops, match: Any) -> None:
    """`shutdown` ends a first `connect` at each of its requests, with ConnectionShutdown.

    Two tasks connect, and one of them is cancelled. No task and no connection is left.
    """

    async def run() -> None:
        held = hold()
        node.prime(match, held)
        cluster = aio.Cluster(**settings(node))
        waiting = [asyncio.ensure_future(cluster.connect()) for _ in range(2)]
        await wait_until_held(held)
        waiting[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting[1]
        await cluster.shutdown()
        failure = await asyncio.wait_for(error_of(waiting[0]), 10)
        assert isinstance(failure, ConnectionShutdown), repr(failure)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        await node.wait_until(lambda node: not node.connections)

    loops.run(run())
    gc.collect()


def test_shutdown_fails_a_delayed_retry(node: FakeNode, loops: Loops) -> None:
    """If a request waits for a delayed retry, a shutdown or its own timeout ends it.

    While it waits, the request belongs to no pool, so closing the pools is not enough.
    """
    retries: list[int] = []
    both_wait: asyncio.Event

    class DelayedRetryPolicy(RetryPolicy):
        def on_request_error(self, query: Any, consistency: int, error: Any, retry_num: int) -> Any:
            retries.append(retry_num)
            if len(retries) == 2:
                # Set the event in the next iteration of the event loop, when the driver has
                # executed the decision.
                asyncio.get_running_loop().call_soon(both_wait.set)
            return self.RETRY, None, 60.0

    async def run() -> None:
        nonlocal both_wait
        both_wait = asyncio.Event()
        node.prime("SELECT 4", error(ErrorCode.OVERLOADED, "busy"))
        cluster = aio.Cluster(**settings(node))
        session = await cluster.connect()
        statement = SimpleStatement("SELECT 4", retry_policy=DelayedRetryPolicy())
        waiting = session.execute(statement, timeout=None)
        timed_out = session.execute(statement, timeout=0.05)
        await asyncio.wait_for(both_wait.wait(), 10)
        # Both requests are waiting for their retries.
        assert len(session._engine.delayed) == 2
        await error_of(timed_out)
        assert len(session._engine.delayed) == 1
        await cluster.shutdown()
        assert isinstance(await asyncio.wait_for(error_of(waiting), 10), ConnectionShutdown)
        assert not session._engine.delayed

    loops.run(run())


@pytest.mark.parametrize("statement", ["SELECT ?", "INSERT ?"])
def test_shutdown_in_the_same_turn_fails_the_call(
    node: FakeNode, loops: Loops, statement: str
) -> None:
    """If `shutdown` follows in the same loop iteration, the call still raises ConnectionShutdown.

    Its task is cancelled before its first step, so the task runs no code.
    """

    async def run() -> None:
        cluster = aio.Cluster(**settings(node))
        session = await cluster.connect()
        waiting = session.execute(statement, (1,), timeout=None)
        await cluster.shutdown()
        assert isinstance(await asyncio.wait_for(error_of(waiting), 10), ConnectionShutdown)

    loops.run(run())


@pytest.mark.parametrize(
    "match", [Opcode.OPTIONS, Opcode.REGISTER, re.compile("FROM system.local"), TABLES_QUERY]
)
def test_shutdown_fails_a_blocking_first_connect(node: FakeNode, loops: Loops, match: Any) -> None:
    """`shutdown` makes another thread's first connect fail, without waiting for its end."""
    cluster = Cluster(**settings(node))
    held = hold()
    node.prime(match, held)
    with ThreadPoolExecutor(1) as threads:
        connecting = threads.submit(cluster.connect)
        held.wait()
        cluster.shutdown()
        assert isinstance(connecting.exception(timeout=10), ConnectionShutdown)
    with pytest.raises(ConnectionShutdown):
        cluster.connect()
