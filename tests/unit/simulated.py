"""Virtual time for tests that wait.

The fixture and the marker `simulated` use the class `Simulated`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.testing import FakeCluster, FakeNode
from cassandra.testing.simulation import Network, SimulatedLoop, SimulatedThread, SimulatedThreads

T = TypeVar("T")

APIS = ("blocking", "aio")
# This is a number of virtual seconds. A call that takes longer is considered to hang.
LONGEST = 100_000.0


class Simulated:
    """A simulated loop with a simulated network, on which the nodes and the driver run.

    :param seed: decides all latencies and the order of events.
    """

    def __init__(self, seed: int = 1) -> None:
        self.loop = SimulatedLoop(seed)
        self.network = Network(self.loop)
        self.thread = SimulatedThread(self.loop)
        self.threads: SimulatedThreads | None = None

    @property
    def now(self) -> float:
        """Return the virtual time, in seconds."""
        return self.loop.time()

    def nodes(self, count: Any, **settings: Any) -> FakeCluster:
        """Return fake nodes that are not started yet."""
        return FakeCluster(count, thread=self.thread, **settings)

    def node(self, **settings: Any) -> FakeNode:
        """Return a fake node that is not started yet."""
        return FakeNode(address="10.0.0.1", thread=self.thread, **settings)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine, which may use the asyncio API."""
        return self.loop.run(coroutine, LONGEST)

    def run_threads(self, *programs: Callable[[], Any]) -> list[Any]:
        """Run each program in a separate simulated thread, where it may use the blocking API."""
        self.threads = SimulatedThreads(self.loop)
        return self.threads.run(*programs, timeout=LONGEST)

    def connect(self, api: str, **settings: Any) -> None:
        """Connect a cluster with one of the APIs, and shut it down.

        :param api: one of `APIS`.
        """

        def connect_blocking() -> None:
            with Cluster(**settings) as cluster:
                cluster.connect()

        async def connect_on_the_loop() -> None:
            async with aio.Cluster(**settings) as cluster:
                await cluster.connect()

        if api == "blocking":
            self.run_threads(connect_blocking)
        else:
            self.run(connect_on_the_loop())

    def check(self) -> None:
        """Close the loop, and check that no callback has failed and no simulated thread is left."""
        self.loop.close()
        assert self.loop.faults == []
        assert self.threads is None or self.threads.alive == []


current: Simulated | None = None
"""The simulation of the running test; None if it has none."""


def current_loop() -> SimulatedLoop:
    """Return the loop on which the current test runs."""
    assert current is not None
    return current.loop
