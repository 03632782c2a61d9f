"""Calls without a time limit end if something blocks the driver's event loop for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import OperationTimedOut
from cassandra.cluster import Cluster, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.engine import loop as loops
from cassandra.testing.fake import FakeNode, delay, hold, void
from tests.waiting import WAIT

CALLS: dict[str, Callable[[Cluster, Session], Any]] = {
    "prepare": lambda cluster, session: session.prepare("SELECT v FROM ks.t WHERE k = ?"),
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
