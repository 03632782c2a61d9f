"""Tools for tests of request observers: a recorder of events, and sessions of either API."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.observers import ObservedRequest, RequestObserver
from cassandra.policies import RetryPolicy
from cassandra.testing.fake import FakeNode, rows

QUERY = "SELECT k FROM t"
INSERT = "INSERT INTO t (k) VALUES (?)"
K = [("k", "int")]
ONE_ROW = rows(K, [(1,)])
# This is the name of the code that executes a request. An observer must see this value, in
# whichever thread it runs.
caller: ContextVar[str] = ContextVar("caller", default="nobody")


class Recorder(RequestObserver):
    """Records the name and the arguments of each event, and the value of `caller` then."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.callers: list[str] = []
        self.requests: list[ObservedRequest] = []
        self.ended = threading.Event()

    def _note(self, *event: Any) -> None:
        self.events.append(event)
        self.callers.append(caller.get())

    def on_start(self, request: ObservedRequest) -> None:
        self.requests.append(request)
        self._note("start", request.query_string)

    def on_page(self, request: ObservedRequest) -> None:
        self.requests.append(request)
        self._note("page", request.page_number)

    def on_attempt(self, request: ObservedRequest, attempt: Any) -> None:
        assert attempt.started >= request.started
        self._note("attempt", attempt.host.address)

    def on_retry(
        self, request: ObservedRequest, attempt: Any, error: BaseException, decision: str
    ) -> None:
        assert attempt.error is error
        self._note("retry", type(error).__name__, decision)

    def on_speculation(self, request: ObservedRequest, attempt: Any) -> None:
        self._note("speculation", attempt.host.address)

    def on_end(self, request: ObservedRequest) -> None:
        assert request.latency is not None
        assert request.latency >= 0
        self._note("end", None if request.error is None else type(request.error).__name__)
        self.ended.set()

    @property
    def names(self) -> list[str]:
        """Return the name of each event."""
        return [event[0] for event in self.events]


@pytest.fixture
def recorder() -> Recorder:
    """Return a recorder without events."""
    return Recorder()


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node that responds to QUERY and prepares INSERT."""
    with FakeNode() as running:
        running.prime(QUERY, ONE_ROW)
        running.prime_prepare(INSERT, K)
        yield running


def observed_cluster(
    nodes: Any, *observers: Any, cluster_class: Any = Cluster, **settings: Any
) -> Any:
    """Return a cluster, not connected yet, whose requests the observers see.

    :param nodes: a FakeNode, or a FakeCluster, whose first node is the contact point.
    """
    contact_points = [nodes.address] if isinstance(nodes, FakeNode) else [nodes[0].address]
    return cluster_class(contact_points, port=nodes.port, request_observers=observers, **settings)


class RetryOnce(RetryPolicy):
    """Retries a read that timed out once, on the next host."""

    def on_read_timeout(self, *arguments: Any, retry_num: int = 0, **details: Any) -> Any:
        return (self.RETRY_NEXT_HOST, None) if retry_num == 0 else (self.RETHROW, None)


class Blocking:
    """A connected session of the blocking API. `nodes` is a FakeNode or a FakeCluster."""

    def __init__(self, nodes: Any, *observers: Any, **settings: Any) -> None:
        self.cluster = observed_cluster(nodes, *observers, **settings)
        self.session: Any = self.cluster.connect()

    def execute(self, *arguments: Any, **options: Any) -> Any:
        return self.session.execute(*arguments, **options)

    def rows(self, result: Any) -> list[Any]:
        return list(result)

    def prepare(self, text: str) -> Any:
        return self.session.prepare(text)

    def close(self) -> None:
        self.cluster.shutdown()


class Asyncio:
    """A connected session of cassandra.aio with the methods of `Blocking`.

    Synchronous tests can call them: each call runs a loop until it is done.
    """

    def __init__(self, nodes: Any, *observers: Any, **settings: Any) -> None:
        self.loop = asyncio.new_event_loop()
        self.cluster = observed_cluster(nodes, *observers, cluster_class=aio.Cluster, **settings)
        self.session = self.run(self.cluster.connect())

    def run(self, awaitable: Any) -> Any:
        async def outcome() -> Any:
            return await awaitable

        return self.loop.run_until_complete(outcome())

    def execute(self, *arguments: Any, **options: Any) -> Any:
        async def outcome() -> Any:
            return await self.session.execute(*arguments, **options)

        return self.loop.run_until_complete(outcome())

    def rows(self, result: Any) -> list[Any]:
        async def outcome() -> list[Any]:
            return [row async for row in result]

        return self.loop.run_until_complete(outcome())

    def prepare(self, text: str) -> Any:
        return self.run(self.session.prepare(text))

    def close(self) -> None:
        self.run(self.cluster.shutdown())
        self.loop.close()


Connect = Callable[..., Any]


@pytest.fixture(params=[Blocking, Asyncio], ids=["blocking", "asyncio"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Yield a function that connects a session of the blocking or the asyncio API.

    It has the parameters of `Blocking`.
    """
    sessions: list[Any] = []

    def open_session(*arguments: Any, **settings: Any) -> Any:
        sessions.append(request.param(*arguments, **settings))
        return sessions[-1]

    yield open_session
    for session in sessions:
        session.close()
