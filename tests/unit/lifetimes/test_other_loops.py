"""A cluster of asyncio, and all that belongs to it, refuses event loops other than its own.

Its sockets, timers and futures belong to one loop. A call on another loop would send requests from
the wrong thread, and would wait for a response that wakes nobody.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import pytest

from cassandra import aio
from cassandra.cluster import ExecutionProfile
from cassandra.errors import ConnectionShutdown
from cassandra.policies import RoundRobinPolicy
from cassandra.query import SimpleStatement
from cassandra.testing.fake import FakeNode, Opcode, paged, rows, void
from tests.unit.engine.partners import run_loop_turns
from tests.unit.metadata.schema.rows import schema
from tests.waiting import WAIT, until_on_loop

T = TypeVar("T")

PAGES = "SELECT pages"
TRACED = "SELECT traced"
INSERT = "INSERT INTO ks.t0 (k) VALUES (?)"
COLUMNS = [("k", "int")]


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node with a table, whose result for PAGES has several pages."""
    with FakeNode() as running:
        running.schema = schema("ks", tables=1)
        running.prime(PAGES, paged(COLUMNS, [(number,) for number in range(8)]))
        running.prime(TRACED, rows(COLUMNS, [(1,)]))
        running.prime_prepare(INSERT, COLUMNS)
        running.prime(INSERT, void())
        yield running


Run = Callable[[Coroutine[Any, Any, Any]], "asyncio.Future[Any]"]


@contextmanager
def loop_in_thread() -> Iterator[Run]:
    """Run an event loop in another thread; yield a function that runs a coroutine on that loop.

    The function returns a future of the running loop.
    """
    loops: Future[asyncio.AbstractEventLoop] = Future()
    may_end = asyncio.Event()

    async def run_until_the_end() -> None:
        loops.set_result(asyncio.get_running_loop())
        await may_end.wait()

    thread = threading.Thread(target=asyncio.run, args=[run_until_the_end()])
    thread.start()
    loop = loops.result(WAIT)
    try:
        yield lambda coroutine: asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(coroutine, loop)
        )
    finally:
        loop.call_soon_threadsafe(may_end.set)
        thread.join(WAIT)


@contextmanager
def ended_loop() -> Iterator[tuple[Any, Callable[[], AbstractContextManager[None]]]]:
    """Yield a loop, and a function that returns a context in which the loop says that it is closed.

    The loop is not really closed before the end, because a closed loop cannot close sockets.
    """
    loop: Any = asyncio.new_event_loop()

    @contextmanager
    def is_closed() -> Iterator[None]:
        loop.is_closed = lambda: True
        try:
            yield
        finally:
            del loop.is_closed

    try:
        yield loop, is_closed
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


class Objects:
    """A connected cluster, and what it has returned on its own loop."""

    cluster: aio.Cluster
    session: aio.Session
    result: Any
    """A result with further pages, of which nothing was read."""
    rows: AsyncIterator[Any]
    """An iteration over a result with further pages, which has begun."""
    traced: Any
    outcomes: Any
    """The outcomes of concurrent executions, the first of which was read."""
    insert: Any

    async def connect(self, node: FakeNode) -> Objects:
        """Connect, and execute a few statements."""
        self.cluster = aio.Cluster([node.address], port=node.port)
        self.session = session = await self.cluster.connect()
        self.insert = await session.prepare(INSERT)
        self.result = await session.execute(SimpleStatement(PAGES, fetch_size=2))
        self.rows = aiter(await session.execute(SimpleStatement(PAGES, fetch_size=2)))
        await anext(self.rows)
        self.traced = await session.execute(TRACED, trace=True)
        self.outcomes = session.execute_concurrent([(self.insert, (1,))] * 20, concurrency=2)
        await anext(self.outcomes)
        return self


async def all_of(items: Any) -> list[Any]:
    """Return all items of an asynchronous iterable."""
    return [item async for item in items]


async def add_profile(objects: Objects) -> None:
    """Add an execution profile with another policy, and wait for its pools."""
    await objects.cluster.add_execution_profile("late", ExecutionProfile(RoundRobinPolicy()))


# The calls of each public method that returns an awaitable or an asynchronous iterable, by the
# class and name. `test_each_method_is_tested` fails if a method is missing.
CALLS: dict[str, Callable[[Objects], Any]] = {
    "Cluster.connect": lambda objects: objects.cluster.connect(),
    "Cluster.add_execution_profile": add_profile,
    "Cluster.refresh_nodes": lambda objects: objects.cluster.refresh_nodes(),
    "Cluster.refresh_schema_metadata": lambda objects: objects.cluster.refresh_schema_metadata(),
    "Cluster.register_user_type": lambda objects: objects.cluster.register_user_type(
        "ks", "none", dict
    ),
    "Session.execute": lambda objects: objects.session.execute(TRACED),
    "Session.execute with options": lambda objects: objects.session.execute(TRACED, timeout=5),
    "Session.execute of a prepared statement": lambda objects: objects.session.execute(
        objects.insert, (1,)
    ),
    "Session.prepare": lambda objects: objects.session.prepare(INSERT),
    "Session.prepare_all": lambda objects: objects.session.prepare_all([INSERT]),
    "Session.set_keyspace": lambda objects: objects.session.set_keyspace("ks"),
    "Session.execute_concurrent": lambda objects: all_of(
        objects.session.execute_concurrent([(objects.insert, (1,))] * 5)
    ),
    "Session.execute_concurrent of texts": lambda objects: all_of(
        objects.session.execute_concurrent([(TRACED, None)] * 5)
    ),
    "Session.execute_concurrent that has begun": lambda objects: all_of(objects.outcomes),
    "Session.scan": lambda objects: all_of(objects.session.scan("ks.t0")),
    "Session.count": lambda objects: objects.session.count("ks.t0"),
    "Session.unload": lambda objects: objects.session.unload("ks.t0", "nowhere"),
    "Session.load": lambda objects: objects.session.load(objects.insert, [(1,), (2,)]),
    "Session.wait_for_schema_agreement": lambda objects: objects.session.wait_for_schema_agreement(
        1
    ),
    "ResultSet.fetch_next_page": lambda objects: objects.result.fetch_next_page(),
    "ResultSet.fetch_all": lambda objects: objects.result.fetch_all(),
    "ResultSet.__aiter__ that has begun": lambda objects: all_of(objects.rows),
    "ResultSet.get_query_trace": lambda objects: objects.traced.get_query_trace(1),
    "ResultSet.arrow_batches": lambda objects: all_of(objects.result.arrow_batches()),
    "ResultSet.to_arrow": lambda objects: objects.result.to_arrow(),
    "ResultSet.to_numpy": lambda objects: objects.result.to_numpy(),
    "ResultSet.to_pandas": lambda objects: objects.result.to_pandas(),
    "ResultSet.to_polars": lambda objects: objects.result.to_polars(),
    "Session.shutdown": lambda objects: objects.session.shutdown(),
    # This call changes something although it is refused: the cluster counts as shut down.
    "Cluster.shutdown": lambda objects: objects.cluster.shutdown(),
}
# The packages that some methods need, which are optional.
PACKAGES = {"arrow_batches": "pyarrow", "to_arrow": "pyarrow", "to_numpy": "numpy",
            "to_pandas": "pandas", "to_polars": "polars", "unload": "pyarrow"}  # fmt: skip


def awaitable_methods(cls: type) -> set[str]:
    """Return the public methods of a class that return an awaitable or an asynchronous iterable."""
    return {
        name
        for name, method in inspect.getmembers(cls, inspect.isroutine)
        if not name.startswith("_")
        and (
            inspect.iscoroutinefunction(method)
            or "Async" in str(getattr(method, "__annotations__", {}).get("return"))
            or "Awaitable" in str(getattr(method, "__annotations__", {}).get("return"))
        )
    }


@pytest.mark.parametrize("cls", [aio.Cluster, aio.Session, aio.ResultSet])
def test_each_method_is_tested(cls: type) -> None:
    """The tests of this module know each public method that returns something to await."""
    tested = {call.split()[0] for call in CALLS}
    # Leave out the other methods `refresh_*_metadata`: they all call the same private method.
    missing = {
        name
        for name in awaitable_methods(cls)
        if f"{cls.__name__}.{name}" not in tested
        and not (name.startswith("refresh_") and name.endswith("_metadata"))
    }
    assert missing == set()


async def refused(call: Callable[[Objects], Any], objects: Objects) -> RuntimeError:
    """Make a call on the running loop, and return its error."""
    # Without the check, some of these calls would never end.
    with pytest.raises(RuntimeError, match=r"make a cassandra\.aio\.Cluster in each") as caught:
        await asyncio.wait_for(as_coroutine(call, objects), WAIT)
    return caught.value


async def as_coroutine(call: Callable[..., Any], *arguments: Any) -> Any:
    """Make a call, and await what it returns."""
    return await call(*arguments)


def import_package_of(name: str) -> None:
    """Skip the test if a package is missing that the call `name` needs."""
    package = PACKAGES.get(name.partition(".")[2])
    if package is not None:
        pytest.importorskip(package)


@pytest.mark.parametrize("name", CALLS)
async def test_calls_on_another_running_loop_are_refused(node: FakeNode, name: str) -> None:
    """A call on another loop raises RuntimeError, sends nothing, and disturbs nothing."""
    import_package_of(name)
    with loop_in_thread() as on_own_loop:
        objects = await on_own_loop(Objects().connect(node))
        before = node.count(Opcode.QUERY), node.count(Opcode.PREPARE)
        error = await refused(CALLS[name], objects)
        assert "belongs to another event loop than the one that is running" in str(error)
        assert (node.count(Opcode.QUERY), node.count(Opcode.PREPARE)) == before
        # On the own loop, everything continues. But an iteration that has begun may have returned
        # an item that had already come.
        missing = (0, 1) if "has begun" in name else (0,)
        if name != "Cluster.shutdown":
            assert 19 - len(await on_own_loop(all_of(objects.outcomes))) in missing
            assert 7 - len(await on_own_loop(all_of(objects.rows))) in missing
        await on_own_loop(objects.cluster.shutdown())
    node.wait_for(lambda node: not node.connections)


@pytest.mark.parametrize("name", CALLS)
def test_calls_after_the_end_of_the_own_loop_are_refused(node: FakeNode, name: str) -> None:
    """After the end of the own loop, a call raises RuntimeError with advice."""
    import_package_of(name)
    with ended_loop() as (loop, is_closed):
        objects = loop.run_until_complete(Objects().connect(node))
        # Close asynchronous generators, as `asyncio.run` does at its end.
        loop.run_until_complete(loop.shutdown_asyncgens())
        with is_closed():
            error = asyncio.run(refused(CALLS[name], objects))
        assert "was made on is closed" in str(error)
        loop.run_until_complete(objects.cluster.shutdown())


async def test_outcomes_may_be_closed_on_another_loop(node: FakeNode) -> None:
    """Closing the outcomes of `execute_concurrent` on another loop ends the executions.

    The own loop ends them, because only its thread may use the connections.
    """
    with loop_in_thread() as on_own_loop:
        objects = await on_own_loop(Objects().connect(node))
        threads: list[int] = []
        collector = objects.outcomes._batches.ag_frame.f_locals["collector"]
        node.pause()
        for request in collector.pending():
            request.on_done = lambda _: threads.append(threading.get_ident())
        await objects.outcomes.aclose()
        await on_own_loop(objects.cluster.shutdown())
        node.resume()
        assert threading.get_ident() not in threads


# -- while the cluster is connecting ---------------------------------------------------------------


async def test_connect_is_refused_while_another_loop_connects(node: FakeNode) -> None:
    """`connect` raises RuntimeError if an attempt to connect is in progress on another loop."""
    cluster = aio.Cluster([node.address], port=node.port)
    node.pause()
    with loop_in_thread() as on_own_loop:
        connecting = on_own_loop(as_coroutine(cluster.connect))
        await until_on_loop(lambda: node.connections)
        with pytest.raises(RuntimeError, match="cluster belongs to another event loop"):
            await asyncio.wait_for(cluster.connect(), WAIT)
        node.resume()
        session = await connecting
        assert (await on_own_loop(as_coroutine(session.execute, TRACED))).one().k == 1
        await on_own_loop(cluster.shutdown())


def test_one_of_two_loops_that_connect_at_once_is_refused(node: FakeNode) -> None:
    """If two threads connect a cluster at the same time, one succeeds and the other is refused."""
    for _ in range(10):
        cluster = aio.Cluster([node.address], port=node.port)
        outcomes: list[Any] = []
        both_tried = threading.Barrier(2)

        async def connect(
            cluster: aio.Cluster, outcomes: list[Any], both_tried: threading.Barrier
        ) -> None:
            try:
                session = await asyncio.wait_for(cluster.connect(), WAIT)
            except RuntimeError as error:
                outcomes.append(str(error))
                await asyncio.to_thread(both_tried.wait, WAIT)
            else:
                outcomes.append((await session.execute(TRACED)).one().k)
                await asyncio.to_thread(both_tried.wait, WAIT)
                await cluster.shutdown()

        threads = [
            threading.Thread(target=asyncio.run, args=[connect(cluster, outcomes, both_tried)])
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
        (refusal,) = (outcome for outcome in outcomes if outcome != 1)
        assert "cluster belongs to another event loop" in refusal
        assert len(outcomes) == 2


async def test_shutdown_on_another_loop_ends_a_connect(node: FakeNode) -> None:
    """`shutdown` on another loop raises RuntimeError, and the attempt to connect fails soon."""
    cluster = aio.Cluster([node.address], port=node.port)
    node.pause()
    with loop_in_thread() as on_own_loop:
        connecting = on_own_loop(as_coroutine(cluster.connect))
        await until_on_loop(lambda: node.connections)
        with pytest.raises(RuntimeError, match="cluster belongs to another event loop"):
            await cluster.shutdown()
        node.resume()
        with pytest.raises(ConnectionShutdown):
            await connecting
    node.wait_for(lambda node: not node.connections)


@pytest.mark.parametrize("call", ["connect", "shutdown"])
def test_an_attempt_of_a_closed_loop_is_dropped(node: FakeNode, call: str) -> None:
    """If a loop is closed during `connect`, another loop may connect or shut the cluster down.

    The attempt to connect can never end. `asyncio.run` would cancel it, but `loop.close` does not.
    """
    cluster = aio.Cluster([node.address], port=node.port)

    async def connect_again() -> None:
        session = await asyncio.wait_for(cluster.connect(), WAIT)
        assert (await session.execute(TRACED)).one().k == 1
        await cluster.shutdown()

    with ended_loop() as (loop, is_closed):
        connecting = loop.create_task(as_coroutine(cluster.connect))
        loop.run_until_complete(run_loop_turns(3))
        with is_closed():
            asyncio.run(connect_again() if call == "connect" else cluster.shutdown())
        with pytest.raises(ConnectionShutdown):
            loop.run_until_complete(connecting)


def test_attempts_given_up_on_a_closed_loop_do_not_delay_shutdown(node: FakeNode) -> None:
    """`shutdown` does not wait for a cancelled `connect` whose loop was closed before it ended."""
    cluster = aio.Cluster([node.address], port=node.port)
    with ended_loop() as (loop, is_closed):
        connecting = loop.create_task(as_coroutine(cluster.connect))
        loop.run_until_complete(run_loop_turns(3))
        connecting.cancel()
        loop.run_until_complete(run_loop_turns(1))
        (given_up,) = cluster._given_up
        with is_closed():
            asyncio.run(asyncio.wait_for(cluster.shutdown(), WAIT))
        loop.run_until_complete(asyncio.wait([connecting, given_up]))
