"""Shuts down clusters while sixteen threads or tasks use them without timeouts.

Each caller must get an error.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait as wait_for
from typing import Any

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.engine.loop import new_event_loop
from cassandra.errors import ConnectionException
from tests.stress.serving import PATIENCE, main, node

CALLERS = 16


def _calls(session: Any, cluster: Any) -> Sequence[Callable[[], Any]]:
    """Return one function for each caller, which calls it until it fails.

    The statements name their keyspace. Without a name, the driver would refuse a prepared statement
    after `use` has changed the session's keyspace.
    """
    execute = lambda: session.execute("SELECT 1 FROM ks.t", timeout=None)  # noqa: E731
    prepare = lambda: session.prepare("SELECT ? FROM ks.t")  # noqa: E731
    refresh = lambda: cluster.refresh_nodes()  # noqa: E731
    use = lambda: session.set_keyspace("ks")  # noqa: E731
    return [*[execute] * (CALLERS - 4), prepare, prepare, refresh, use]


def blocking(server: tuple[str, int]) -> int:
    """Shut down a cluster of the blocking API; return how many callers hung or failed wrongly."""
    cluster = Cluster([server[0]], port=server[1])
    session = cluster.connect()
    begun = threading.Semaphore(0)

    def repeat(call: Callable[[], Any]) -> BaseException:
        begun.release()
        while True:
            try:
                call()
            except Exception as error:
                return error

    threads = ThreadPoolExecutor(CALLERS)
    callers = [threads.submit(repeat, call) for call in _calls(session, cluster)]
    for _ in callers:
        begun.acquire()
    cluster.shutdown()
    done, left = wait_for(callers, PATIENCE)
    threads.shutdown(wait=not left)
    return len(left) + sum(not isinstance(caller.result(), ConnectionException) for caller in done)


async def awaiting(server: tuple[str, int]) -> int:
    """Do the same as `blocking` for tasks of the asyncio API."""
    cluster = aio.Cluster([server[0]], port=server[1])
    session = await cluster.connect()
    turns = 0
    enough = asyncio.Event()

    async def repeat(call: Callable[[], Any]) -> BaseException:
        nonlocal turns
        while True:
            try:
                await call()
                turns += 1
                if turns == CALLERS:
                    enough.set()
            except BaseException as error:
                return error

    callers = [asyncio.ensure_future(repeat(call)) for call in _calls(session, cluster)]
    await asyncio.wait_for(enough.wait(), PATIENCE)
    await cluster.shutdown()
    done, left = await asyncio.wait(callers, timeout=PATIENCE)
    return len(left) + sum(not isinstance(caller.result(), ConnectionException) for caller in done)


def run(count: int) -> int:
    """Return how many callers hung or got a wrong error. The shutdowns use both APIs in turn."""
    hung = 0
    with node() as server:
        loop = new_event_loop()
        for number in range(count):
            hung += loop.run_until_complete(awaiting(server)) if number % 2 else blocking(server)
        loop.close()
    return hung


if __name__ == "__main__":
    main("shutdowns under load", run)
