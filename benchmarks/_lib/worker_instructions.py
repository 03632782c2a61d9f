"""Sends requests to the null server, while `benchmarks.instructions` counts the instructions.

    worker_instructions.py CASE ADDRESS PORT PASSES

Each pass sends the same `REQUESTS` requests, so two runs with different numbers of passes differ in
nothing else. Some modules of the driver exist twice, as a compiled version and as a pure Python
version with the same behaviour. If the environment variable TURBOCQL_BENCH_WITHOUT lists such a
module, its Python version is used.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from cassandra import _impl


def _use_python_twin(pair: str) -> None:
    """Use the pure Python version of the module `pair` of `cassandra._impl`.

    Call this function before modules are imported that use `pair`.
    """
    module = vars(_impl)[pair] = _impl.twin(pair, "python")
    if pair == "binding":
        # When PreparedStatement was imported, it got the compiled method. Replace this method.
        from cassandra.query.prepared import PreparedStatement

        PreparedStatement.bind = module.bind  # type: ignore[method-assign]


for pair in filter(None, os.environ.get("TURBOCQL_BENCH_WITHOUT", "").split(",")):
    _use_python_twin(pair)

# ruff: noqa: E402
from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import RoundRobinPolicy

QUICK = bool(os.environ.get("TURBOCQL_BENCH_QUICK"))
REQUESTS = 200 if QUICK else 2_000
IN_FLIGHT = 100  # the number of requests in flight in the cases that send several at once
INSERT = "INSERT INTO five (a, b, c, d, e) VALUES (?, ?, ?, ?, ?)"
SELECT = "SELECT one FROM five WHERE a = ?"
ROW = (7, "hello world", 7, 1.5, True)
KEY = (7,)

# Under callgrind, a process runs about fifty times slower. Multiply the time after which Python
# switches threads by this factor: threads then switch after as many instructions as without
# callgrind.
SLOWER = 50

# Under callgrind, connecting takes longer than the default time limits.
LONG = 120.0  # seconds


def settings(address: str, port: int) -> dict[str, Any]:
    """Return arguments of `Cluster` that switch metadata off, and make all timeouts very long."""
    profile = ExecutionProfile(RoundRobinPolicy(), request_timeout=LONG)
    return {
        "contact_points": [address],
        "port": port,
        "protocol_version": 4,
        "compression": False,
        "schema_metadata_enabled": False,
        "token_metadata_enabled": False,
        "connect_timeout": LONG,
        "control_connection_timeout": LONG,
        "execution_profiles": {EXEC_PROFILE_DEFAULT: profile},
    }


@contextlib.asynccontextmanager
async def prepared(address: str, port: int, query: str) -> AsyncIterator[tuple[aio.Session, Any]]:
    """Yield a session of the asyncio API, and `query` as a prepared statement."""
    async with aio.Cluster(**settings(address, port)) as cluster:
        session = await cluster.connect()
        yield session, await session.prepare(query)


@contextlib.contextmanager
def prepared_blocking(address: str, port: int, query: str) -> Iterator[tuple[Session, Any]]:
    """Yield a session of the blocking API, and `query` as a prepared statement."""
    with Cluster(**settings(address, port)) as cluster:
        session = cluster.connect()
        yield session, session.prepare(query)


async def by_tasks(
    start: Callable[[], Awaitable[Any]], use_result: Callable[[Any], Any] | None
) -> None:
    """Run one pass in `IN_FLIGHT` tasks; each task awaits its requests one after the other.

    :param start: a function that sends a request and returns an awaitable of its result.
    :param use_result: called with each result; None to ignore the results.
    """

    async def work() -> None:
        for _ in range(REQUESTS // IN_FLIGHT):
            result = await start()
            if use_result is not None:
                use_result(result)

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))


async def aio_insert(address: str, port: int, passes: int) -> None:
    """Insert rows with the asyncio `execute`, in 100 tasks."""
    async with prepared(address, port, INSERT) as (session, insert):
        for _ in range(passes):
            await by_tasks(lambda: session.execute(insert, ROW), None)


async def aio_select(address: str, port: int, passes: int) -> None:
    """Select rows with the asyncio `execute`, in 100 tasks."""
    async with prepared(address, port, SELECT) as (session, select):
        for _ in range(passes):
            await by_tasks(lambda: session.execute(select, KEY), lambda result: result.one().a)


async def aio_together(address: str, port: int, passes: int) -> None:
    """Start 100 inserts at once, await all of them, and start the next 100."""
    async with prepared(address, port, INSERT) as (session, insert):
        for _ in range(passes * REQUESTS // IN_FLIGHT):
            await asyncio.gather(*(session.execute(insert, ROW) for _ in range(IN_FLIGHT)))


async def aio_concurrent(address: str, port: int, passes: int) -> None:
    """Insert rows with the asyncio `execute_concurrent`."""
    async with prepared(address, port, INSERT) as (session, insert):
        for _ in range(passes):
            pairs = ((insert, ROW) for _ in range(REQUESTS))
            async for outcome in session.execute_concurrent(pairs, IN_FLIGHT):
                assert outcome.success


def blocking_concurrent(address: str, port: int, passes: int) -> None:
    """Insert rows with the blocking `execute_concurrent_with_args`."""
    with prepared_blocking(address, port, INSERT) as (session, insert):
        for _ in range(passes):
            for outcome in execute_concurrent_with_args(
                session, insert, [ROW] * REQUESTS, IN_FLIGHT, results_generator=True
            ):
                assert outcome.success


def blocking_select(address: str, port: int, passes: int) -> None:
    """Select rows with the blocking `execute_concurrent_with_args`."""
    with prepared_blocking(address, port, SELECT) as (session, select):
        for _ in range(passes):
            for outcome in execute_concurrent_with_args(
                session, select, [KEY] * REQUESTS, IN_FLIGHT, results_generator=True
            ):
                assert outcome.result_or_exc.one().a == 7


def blocking_insert(address: str, port: int, passes: int) -> None:
    """Insert rows with the blocking `execute`, one after the other."""
    with prepared_blocking(address, port, INSERT) as (session, insert):
        for _ in range(passes * REQUESTS):
            session.execute(insert, ROW)


CASES: dict[str, Callable[[str, int, int], Any]] = {
    "aio-insert": aio_insert,
    "aio-select": aio_select,
    "aio-together": aio_together,
    "aio-concurrent": aio_concurrent,
    "blocking-concurrent": blocking_concurrent,
    "blocking-select": blocking_select,
    "blocking-insert": blocking_insert,
}


def main() -> None:
    case, address, port, passes = sys.argv[1:]
    sys.setswitchinterval(sys.getswitchinterval() * SLOWER)
    # Switch off garbage collections of the oldest generation, which read every object of every
    # imported module. Such a collection could happen in the short run, in the long run or in
    # neither: that depends on the number of objects that were created before the first request.
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, 1_000_000)
    # A case of the blocking API runs in this call. A case of the asyncio API returns a coroutine.
    coroutine = CASES[case](address, int(port), int(passes))
    if coroutine is not None:
        try:
            import uvloop  # not at the top: tests import this module without uvloop

            uvloop.run(coroutine)
        except ImportError:
            asyncio.run(coroutine)


if __name__ == "__main__":
    main()
