"""Calls without a time limit end if something blocks the driver's event loop for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest

from cassandra import OperationTimedOut
from cassandra.cluster import Cluster, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.engine import loop as loops
from cassandra.testing.fake import FakeNode, delay, hold, void
from tests.waiting import WAIT, until

READ = "SELECT v FROM ks.t WHERE k = ?"
CALLS: dict[str, Callable[[Cluster, Session], Any]] = {
    "prepare": lambda cluster, session: session.prepare(READ),
    "connect": lambda cluster, session: cluster.connect(),
    "refresh_nodes": lambda cluster, session: cluster.refresh_nodes(),
    "refresh_schema": lambda cluster, session: cluster.refresh_schema_metadata(),
    "execute_concurrent": lambda cluster, session: execute_concurrent_with_args(
        session, "SELECT 2", [()] * 3
    ),
    "execute": lambda cluster, session: session.execute("SELECT 2", timeout=None),
}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let waits ask the loop for a sign of life after a short time."""
    monkeypatch.setattr(loops, "PATIENCE", 0.02)
    monkeypatch.setattr(loops, "LAST_WAIT", 0.05)


@pytest.fixture
def session(node: FakeNode) -> Iterator[Session]:
    with Cluster([node.address], port=node.port) as cluster:
        yield cluster.connect()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("call", CALLS)
def test_a_call_ends_if_a_callback_blocks_the_loop(
    node: FakeNode, session: Session, call: str
) -> None:
    blocked, go_on = threading.Event(), threading.Event()

    def block(rows: Any) -> None:
        blocked.set()
        go_on.wait(WAIT)

    held = hold()  # otherwise the callback might be called at once, in this thread
    node.prime("SELECT 1", held)
    future = session.execute_async("SELECT 1")
    future.add_callback(block)
    held.release()
    assert blocked.wait(WAIT)
    try:
        with pytest.raises(OperationTimedOut, match="event loop thread is blocked"):
            CALLS[call](session.cluster, session)
    finally:
        go_on.set()
    # The session can be used as before.
    assert session.execute("SELECT 3").all() == []
    CALLS[call](session.cluster, session)


@pytest.mark.usefixtures("impatient")
def test_calls_wait_long_for_a_slow_server(node: FakeNode, session: Session) -> None:
    """A loop that answers is not blocked, so calls wait as long as they would otherwise."""
    node.prime("SELECT 2", delay(0.3, void()))
    assert session.execute("SELECT 2", timeout=None).all() == []
    results = execute_concurrent_with_args(session, "SELECT 2", [()] * 3)
    assert [success for success, _ in results] == [True] * 3


@pytest.mark.usefixtures("impatient")
def test_a_blocked_loop_does_not_concern_the_requests_of_another_loop(node: FakeNode) -> None:
    """A request without a time limit waits for its own loop only."""
    blocked, go_on = threading.Event(), threading.Event()
    with Cluster([node.address], port=node.port, loops=2) as cluster, ThreadPoolExecutor(4) as pool:
        session = cluster.connect()
        until(lambda: all(part.is_ready for part in session._engine.followers))
        slow, held = hold(), hold()
        node.prime("SELECT 1", held)
        node.prime_prepare(READ, [("k", "int")], pk_indexes=[0])
        node.prime(READ, slow)
        read = session.prepare(READ)
        blocking = session.execute_async("SELECT 1")

        def block(rows: Any) -> None:
            blocked.set()
            go_on.wait(WAIT)

        blocking.add_callback(block)
        assert blocking._request is not None
        part = blocking._request.session
        barrier = threading.Barrier(4)  # so that four threads execute

        def execute(_: object) -> Any:
            barrier.wait(WAIT)
            return session.execute_async(read, (1,), timeout=None)

        futures = list(pool.map(execute, range(4)))
        others = [future for future in futures if future._request.session is not part]
        assert others
        held.release()
        assert blocked.wait(WAIT)
        results = [pool.submit(future.result) for future in others]
        # The waits ask their own loop for a sign of life, which it gives.
        assert wait(results, timeout=0.5).done == set()
        slow.open()
        assert [result.result(WAIT).all() for result in results] == [[]] * len(others)
        go_on.set()
