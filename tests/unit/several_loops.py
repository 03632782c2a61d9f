"""Sessions of clusters with several event loops, and the threads that execute their requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from cassandra.cluster import Cluster, Session
from cassandra.engine.workers import WorkerSession
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing import FakeNode
from cassandra.testing.fake import Opcode, rows
from tests.unit.metadata.schema.rows import schema
from tests.waiting import WAIT

T = TypeVar("T")

INSERT = "INSERT INTO ks.t0 (k) VALUES (?)"
SELECT = "SELECT k FROM ks.t0 WHERE k > ?"
NUMBERS = [("k", "int")]
RECONNECT_SOON = ConstantReconnectionPolicy(0.01)


@contextmanager
def running_shop() -> Iterator[FakeNode]:
    """Yield a fake node with the table ks.t0, whose SELECT returns two rows."""
    with FakeNode() as node:
        node.schema = schema("ks", tables=1)
        node.prime_prepare(INSERT, NUMBERS)
        node.prime_prepare(SELECT, NUMBERS, NUMBERS)
        node.prime(SELECT, rows(NUMBERS, [(1,), (2,)]))
        yield node


@contextmanager
def connected(node: Any, loops: int = 2, **settings: Any) -> Iterator[Session]:
    """Yield a session that is connected to the node.

    The cluster has `loops` event loops: the first one and its workers.
    """
    settings.setdefault("reconnection_policy", RECONNECT_SOON)
    with Cluster([node.address], port=node.port, loops=loops, **settings) as cluster:
        yield cluster.connect(wait_for_all_pools=True)


def workers_of(session: Session) -> tuple[WorkerSession, ...]:
    """Return the engine's sessions of the workers: all event loops except the first."""
    return session._engine.followers


def in_thread(function: Callable[[], T]) -> T:
    """Call `function` in a new thread, and return its result or raise its error."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(function).result(WAIT)


def on_worker(session: Session, function: Callable[[], T]) -> T:
    """Call `function` in a thread whose requests the only worker of `session` executes."""

    def pin_and_call() -> T:
        # This is the loop that the thread uses: 0 is the first loop, and 1 is the worker.
        session._loops._own.position = 1
        return function()

    return in_thread(pin_and_call)


def connections_of(node: FakeNode, text: str) -> list[Any]:
    """Return the connections on which the node has received the executions of `text`."""
    return [
        request.connection
        for request in node.requests
        if request.query == text and request.opcode != Opcode.PREPARE
    ]


def loop_of(node: FakeNode, send: Callable[[], Any]) -> int:
    """Call `send`, and return the identifier of the thread that completes its future."""
    idents: list[int] = []
    is_called = threading.Event()

    def note(_: Any) -> None:
        idents.append(threading.get_ident())
        is_called.set()

    # Let the node respond only when the callback is registered, or else this thread may call it.
    node.pause()
    send().add_callbacks(note, note)
    node.resume()
    assert is_called.wait(WAIT)
    return idents[0]


def loop_of_worker_thread(session: Session, node: FakeNode, send: Callable[[], Any]) -> int:
    """Return the same as `loop_of` for a thread whose requests the only worker executes."""
    return on_worker(session, lambda: loop_of(node, send))
