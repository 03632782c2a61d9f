"""`shutdown` may be called in any state and several times, and leaves nothing open.

Other tests use several event loops in one process, or garbage-collect clusters and sessions without
a shutdown.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster, Session
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    DriverException,
    NoHostAvailable,
    OperationTimedOut,
    SessionShutdown,
)
from cassandra.query import SimpleStatement
from cassandra.testing.fake import FakeNode, Opcode, hold, paged, silence, void
from tests.waiting import until, until_on_loop

QUERY = "SELECT never"


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node that never responds to QUERY."""
    with FakeNode() as running:
        running.prime(QUERY, silence())
        yield running


def descriptor_count() -> int:
    """Return how many files and sockets this process has open."""
    return len(os.listdir("/proc/self/fd"))


def connect(node: FakeNode) -> tuple[Cluster, Session]:
    """Return a cluster object for the node, and a session."""
    cluster = Cluster([node.address], port=node.port)
    return cluster, cluster.connect()


def test_shutdown_may_be_called_twice_and_by_many_threads(node: FakeNode) -> None:
    """Many threads may call a cluster's `shutdown` at once, and later calls do nothing."""
    cluster, session = connect(node)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: cluster.shutdown(), range(8)))
    cluster.shutdown()
    session.shutdown()
    session.shutdown()
    assert cluster.is_shutdown
    assert session.is_shutdown


def test_a_thread_may_have_the_identifier_of_an_ended_loop(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `shutdown`, the system may give the identifier of the loop's thread to a new thread.

    That thread is not taken for the loop.
    """
    cluster, session = connect(node)
    thread = cluster._loop_thread
    assert thread is not None
    loops = session._loops
    monkeypatch.setattr("cassandra.engine.loop.get_ident", lambda: thread.ident)
    monkeypatch.setattr("cassandra.cluster.loops.get_ident", lambda: thread.ident)
    assert thread.is_current()
    assert loops.is_current()
    monkeypatch.undo()
    cluster.shutdown()
    # While one thread is in `Thread.join`, others may see the ended thread alive for a moment.
    monkeypatch.setattr(thread._thread, "is_alive", lambda: True)
    monkeypatch.setattr("cassandra.engine.loop.get_ident", lambda: thread.ident)
    monkeypatch.setattr("cassandra.cluster.loops.get_ident", lambda: thread.ident)
    assert not thread.is_current()
    assert not loops.is_current()


def test_an_engine_that_is_dropped_after_its_end_warns_of_nothing(
    node: FakeNode, recwarn: pytest.WarningsRecorder
) -> None:
    """A cluster may be freed while another thread shuts it down. The loop may end first."""
    cluster, _ = connect(node)
    engine = cluster._engine
    assert engine is not None
    cluster.shutdown()
    recwarn.clear()
    engine.close_soon()
    assert [str(warning.message) for warning in recwarn] == []


def test_shutdown_before_connect(node: FakeNode) -> None:
    """A cluster that was shut down cannot connect, even if it was never connected."""
    cluster = Cluster([node.address], port=node.port)
    cluster.shutdown()
    cluster.shutdown()
    with pytest.raises(ConnectionException, match="shut down"):
        cluster.connect()


def test_shutdown_fails_requests_in_flight(node: FakeNode) -> None:
    """`shutdown` fails all requests in flight, and later calls, with ConnectionShutdown."""
    cluster, session = connect(node)
    futures = [session.execute_async(QUERY, timeout=None) for _ in range(50)]
    node.wait_for(lambda node: len(node.queries(QUERY)) == 50)
    cluster.shutdown()
    for future in futures:
        with pytest.raises(ConnectionShutdown, match="the server may have executed the request"):
            future.result()
    with pytest.raises(ConnectionShutdown, match="shut down") as caught:
        session.execute(QUERY)
    assert "may have executed" not in str(caught.value)


def test_shutdown_in_another_thread_fails_a_blocking_call(node: FakeNode) -> None:
    cluster, session = connect(node)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(session.execute, QUERY, None, None)
        node.wait_for(lambda node: node.queries(QUERY))
        cluster.shutdown()
        assert isinstance(waiting.exception(timeout=10), ConnectionShutdown)


@pytest.mark.slow
def test_successful_and_failed_connects_leave_no_threads_or_descriptors(node: FakeNode) -> None:
    """After ten failed and ten successful connects, no thread and no open socket is left."""
    # The first connect in a process creates objects that stay, so connect once before counting.
    connect(node)[0].shutdown()
    with FakeNode() as silent_node:
        silent_node.prime(Opcode.STARTUP, silence())
        with pytest.raises(NoHostAvailable):
            Cluster([silent_node.address], port=silent_node.port, connect_timeout=0.1).connect()
        node.wait_for(lambda node: not node.connections)
        silent_node.wait_for(lambda node: not node.connections)
        # Free the objects of other tests before counting.
        gc.collect()
        threads_before, descriptors_before = set(threading.enumerate()), descriptor_count()
        for _ in range(10):
            with pytest.raises(NoHostAvailable):
                Cluster(
                    [silent_node.address], port=silent_node.port, connect_timeout=0.05
                ).connect()
            connect(node)[0].shutdown()
        gc.collect()
        node.wait_for(lambda node: not node.connections)
        silent_node.wait_for(lambda node: not node.connections)
        assert set(threading.enumerate()) == threads_before
        # The nodes close their sockets shortly after they have removed the connections.
        until(lambda: descriptor_count() <= descriptors_before)


async def test_successful_and_failed_connects_leave_no_tasks(node: FakeNode) -> None:
    """After a shutdown with a request in flight, and after a failed connect, no task is left."""
    tasks_before = asyncio.all_tasks()
    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        under_way = asyncio.ensure_future(session.execute(QUERY, timeout=None))
        await node.wait_until(lambda node: node.queries(QUERY))
    with pytest.raises(DriverException):
        await under_way
    await cluster.shutdown()
    node.prime(Opcode.STARTUP, silence())
    with pytest.raises(NoHostAvailable):
        await aio.Cluster([node.address], port=node.port, connect_timeout=0.05).connect()
    assert asyncio.all_tasks() == tasks_before
    await node.wait_until(lambda node: not node.connections)


def test_several_loops_in_one_process(node: FakeNode) -> None:
    """Each thread may run its own event loop with its own cluster."""

    async def execute_on_own_loop(number: int) -> int:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            for _ in range(20):
                assert (await session.execute("SELECT 1")).all() == []
        return number

    with ThreadPoolExecutor(4) as threads:
        assert list(
            threads.map(lambda number: asyncio.run(execute_on_own_loop(number)), range(8))
        ) == list(range(8))
    node.wait_for(lambda node: not node.connections)


def test_a_cluster_of_another_loop_is_refused(node: FakeNode) -> None:
    """Connecting a cluster on another event loop than its first loop raises RuntimeError."""
    cluster = aio.Cluster([node.address], port=node.port)
    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        first.run_until_complete(cluster.connect())
        with pytest.raises(RuntimeError, match="another event loop"):
            second.run_until_complete(cluster.connect())
        first.run_until_complete(cluster.shutdown())
    finally:
        first.close()
        second.close()


class ClusterOwner:
    """Calls `shutdown` of its cluster in `__del__`.

    The object is part of a reference cycle, so only the garbage collector can delete it.
    """

    def __init__(self, node: FakeNode, outcomes: list[Any]) -> None:
        # Two objects in the cycle refer to the cluster, so the collector may finalize either the
        # owner or the cluster first.
        self.cluster = Cluster([node.address], port=node.port)
        self.session = self.cluster.connect()
        self.outcomes = outcomes
        self.itself = self
        self.session.owner = self  # The session refers back to its owner.

    def __del__(self) -> None:
        """Shut the cluster down while this object is deleted, and record the outcome."""
        try:
            self.cluster.shutdown()
        except BaseException as error:
            self.outcomes.append(error)
        else:
            self.outcomes.append("shut down")


@pytest.mark.parametrize("is_late", [False, True])
def test_the_owner_of_a_collected_cluster_may_shut_it_down(
    is_late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object may shut its cluster down in `__del__`, even if both are garbage-collected.

    :param is_late: True if the driver may already be closing the cluster when `shutdown` is called.
    """
    # After a cluster was garbage-collected, the driver waits DROPPED_WAIT seconds for such a
    # `shutdown`, and then closes the cluster with a warning. Without the wait, the driver closes
    # the cluster at once.
    if is_late:
        monkeypatch.setattr("cassandra.cluster.cluster.DROPPED_WAIT", 0)
    outcomes: list[Any] = []
    with FakeNode() as node, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        owner = ClusterOwner(node, outcomes)
        thread = owner.cluster._loop_thread
        del owner
        gc.collect()
        assert outcomes == ["shut down"]
        assert thread is not None
        assert not thread._thread.is_alive()
        until(lambda: not node.connections)
    # The owner has closed the cluster, so the driver does not warn. If the driver does not wait, it
    # may have closed the cluster itself, and warned.
    if not is_late:
        assert [warning for warning in warned if warning.category is ResourceWarning] == []


# -- sessions without shutdown ---------------------------------------------------------------------


@contextmanager
def warnings_of_dropped() -> Iterator[list[str]]:
    """Yield a list that has the messages of all resource warnings after the block."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield messages
    messages += [str(warning.message) for warning in warned if warning.category is ResourceWarning]


def connections_after_collection(node: FakeNode) -> int:
    """Run the garbage collector; return the number of connections that the node then has."""
    gc.collect()
    return len(node.connections)


@pytest.fixture
def no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Close garbage-collected sessions in the next loop iterations, without a delay."""
    monkeypatch.setattr("cassandra.engine.session.DROPPED_WAIT", 0.0)


@pytest.mark.usefixtures("no_delay")
def test_a_session_that_is_dropped_is_closed_with_a_warning(node: FakeNode) -> None:
    """A session without references is closed with a warning.

    A result that needs further pages, and a copy of the session, count as references.
    """
    node.prime("SELECT p", paged([("k", "int")], [(number,) for number in range(6)]))
    with Cluster([node.address], port=node.port) as cluster:
        kept, session = cluster.connect(), cluster.connect()
        # Each session has a connection, and the cluster has the control connection.
        assert len(node.connections) == 3
        result = session.execute(SimpleStatement("SELECT p", fetch_size=2))
        duplicate = copy.copy(session)
        del session
        gc.collect()
        # The result still needs the session for further pages, and the copy shares the session.
        assert [row.k for row in result] == list(range(6))
        del result
        gc.collect()
        duplicate.execute("SELECT 1")
        with warnings_of_dropped() as messages:
            del duplicate
            gc.collect()
            node.wait_for(lambda node: len(node.connections) == 2)
        (message,) = messages
        assert message.startswith("a Session was dropped without shutdown(): its connections (1) ")
        kept.execute("SELECT 1")


@pytest.mark.usefixtures("no_delay")
def test_a_dropped_session_ends_its_requests_first(node: FakeNode) -> None:
    """A dropped session is closed only after its request in flight has got its response."""
    held = hold(void())
    node.prime("SELECT held", held)
    outcomes: list[Any] = []
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        session.execute_async("SELECT held", timeout=None).add_callbacks(
            outcomes.append, outcomes.append
        )
        held.wait()
        with warnings_of_dropped() as messages:
            del session
            gc.collect()
            held.release()
            # The callbacks refer to the future, which the collector frees.
            until(lambda: connections_after_collection(node) == 1)
        assert len(messages) == 1
    assert outcomes == [None]


def test_a_part_that_cannot_be_closed_leaves_no_request_behind(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If a part of the shutdown fails, requests in flight still fail and connections are closed."""
    node.prime("SELECT never", silence())
    cluster, session = connect(node)
    future = session.execute_async("SELECT never", timeout=None)

    def fail(sessions: object) -> None:
        raise ValueError("not today")

    monkeypatch.setattr("cassandra.engine.sessions.Sessions.stop_following", fail)
    cluster.shutdown()
    with pytest.raises(SessionShutdown):
        future.result()
    node.wait_for(lambda node: not node.connections)
    assert "a part of the cluster cannot be closed" in caplog.messages


@pytest.mark.usefixtures("no_delay")
def test_an_engine_that_is_dropped_waits_for_the_work_of_the_driver(node: FakeNode) -> None:
    """A garbage-collected session is not closed while the driver still works for it.

    A request of the application would keep the session alive, so the test calls the engine
    directly.
    """
    held = hold(void())
    node.prime("SELECT held", held)
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        future = session.execute_async("SELECT held", timeout=None)
        held.wait()
        engine = session._engine
        engine.loop.call_soon_threadsafe(engine.on_dropped)
        # Each of these requests gives the event loop further iterations.
        for _ in range(20):
            session.execute("SELECT 1")
        assert not engine.closed
        held.release()
        future.result()
        with warnings_of_dropped():
            until(lambda: engine.closed)


@pytest.mark.usefixtures("no_delay")
def test_a_dropped_session_does_not_wait_for_abandoned_requests(node: FakeNode) -> None:
    """A dropped session does not wait for the response to a request that has timed out."""
    node.prime("SELECT never", silence())
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        with pytest.raises(OperationTimedOut):
            session.execute("SELECT never", timeout=0.01)
        with warnings_of_dropped():
            del session
            until(lambda: connections_after_collection(node) == 1)


@pytest.mark.usefixtures("no_delay")
async def test_a_session_of_asyncio_that_is_dropped_is_closed_with_a_warning(
    node: FakeNode,
) -> None:
    """A dropped asyncio session is closed with a warning, once no result needs further pages."""
    node.prime("SELECT p", paged([("k", "int")], [(number,) for number in range(6)]))
    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        result = await session.execute(SimpleStatement("SELECT p", fetch_size=2))
        del session
        gc.collect()
        assert [row.k async for row in result] == list(range(6))
        assert len(node.connections) == 2
        with warnings_of_dropped() as messages:
            del result
            gc.collect()
            await until_on_loop(lambda: len(node.connections) == 1)
        assert len(messages) == 1


@pytest.mark.usefixtures("no_delay")
def test_the_shutdown_of_a_cluster_closes_dropped_sessions_without_a_warning(
    node: FakeNode,
) -> None:
    """If the cluster was shut down, dropping its session causes no warning."""
    with warnings_of_dropped() as messages:
        for shuts_session_down in (True, False):
            cluster, session = connect(node)
            if shuts_session_down:
                session.shutdown()
            cluster.shutdown()
            del session
            gc.collect()
    assert messages == []
