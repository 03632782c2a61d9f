"""Shuts down clusters while sixteen threads or tasks use them without timeouts.

Each thread and each task must get an error.
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

# The number of threads or tasks that use one cluster.
CALLERS = 16


def _calls(session: Any, cluster: Any) -> Sequence[Callable[[], Any]]:
    """Return one function for each caller, which the caller repeats until it fails.

    The statements contain the name of their keyspace. Without this name, the driver would refuse a
    prepared statement after `use` has changed the session's keyspace.
    """
    execute = lambda: session.execute("SELECT 1 FROM ks.t", timeout=None)  # noqa: E731
    prepare = lambda: session.prepare("SELECT ? FROM ks.t")  # noqa: E731
    refresh = lambda: cluster.refresh_nodes()  # noqa: E731
    use = lambda: session.set_keyspace("ks")  # noqa: E731
    return [*[execute] * (CALLERS - 4), prepare, prepare, refresh, use]


def shut_down_blocking(server: tuple[str, int]) -> int:
    """Shut down a cluster of the blocking API while threads use it.

    :param server: the address and port of the node.
    :returns: how many callers hung, or got another error than ConnectionException.
    """
    address, port = server
    cluster = Cluster([address], port=port)
    session = cluster.connect()
    started = threading.Semaphore(0)

    def repeat(call: Callable[[], Any]) -> BaseException:
        """Repeat the call until it fails, and return the error."""
        started.release()
        while True:
            try:
                call()
            except Exception as error:
                return error

    threads = ThreadPoolExecutor(CALLERS)
    callers = [threads.submit(repeat, call) for call in _calls(session, cluster)]
    for _ in callers:
        started.acquire()
    cluster.shutdown()
    # Each caller repeats its call, so it ends only if the shutdown makes a call fail.
    ended, hung = wait_for(callers, PATIENCE)
    threads.shutdown(wait=not hung)
    errors = [caller.result() for caller in ended]
    return len(hung) + sum(not isinstance(error, ConnectionException) for error in errors)


async def shut_down_asyncio(server: tuple[str, int]) -> int:
    """Shut down a cluster of the asyncio API while tasks use it.

    The arguments and the result are those of `shut_down_blocking`.
    """
    address, port = server
    cluster = aio.Cluster([address], port=port)
    session = await cluster.connect()
    ended_calls = 0
    callers_busy = asyncio.Event()

    async def repeat(call: Callable[[], Any]) -> BaseException:
        """Repeat the call until it fails, and return the error."""
        nonlocal ended_calls
        while True:
            try:
                await call()
                ended_calls += 1
                if ended_calls == CALLERS:
                    callers_busy.set()
            except BaseException as error:
                return error

    callers = [asyncio.ensure_future(repeat(call)) for call in _calls(session, cluster)]
    await asyncio.wait_for(callers_busy.wait(), PATIENCE)
    await cluster.shutdown()
    ended, hung = await asyncio.wait(callers, timeout=PATIENCE)
    errors = [caller.result() for caller in ended]
    return len(hung) + sum(not isinstance(error, ConnectionException) for error in errors)


def run(count: int) -> int:
    """Shut down `count` clusters, alternately of the two APIs.

    :returns: how many callers hung or got a wrong error.
    """
    fault_count = 0
    with node() as server:
        loop = new_event_loop()
        for number in range(count):
            fault_count += (
                loop.run_until_complete(shut_down_asyncio(server))
                if number % 2
                else shut_down_blocking(server)
            )
        loop.close()
    return fault_count


if __name__ == "__main__":
    main("shutdowns under load", run)
