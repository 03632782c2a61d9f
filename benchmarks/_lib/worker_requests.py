"""Times requests to the null server with one driver and one of its APIs.

    worker_requests.py API ADDRESS PORT [CASE ...]

API is one of:

- "blocking": the blocking API of cassandra-driver, scylla-driver or turbocql, whichever is
  installed.
- "aio" and "aio-asyncio": turbocql's asyncio API on uvloop and on asyncio's own loop.
- "acsylla" and "scyllapy": these drivers, on uvloop.

CASE is a word in the names of the cases to run. Without a CASE, all cases run. The script prints
one JSON object. For each case it has the CPU microseconds (user + system) of this process for one
request, or for one row of a page, and the requests per second. Both are the best of several passes.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import ssl
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

# The driver's setting `compression`: "lz4", or False for none.
COMPRESSION: Any = os.environ.get("TURBOCQL_BENCH_COMPRESSION", False)
QUICK = bool(os.environ.get("TURBOCQL_BENCH_QUICK"))
PASSES = 2 if QUICK else 7  # the passes of each case, of which the fastest counts
IN_FLIGHT = 100  # the number of requests in flight, unless a case sends one at a time
# The number of requests in a pass of the cases with one request at a time, with many in flight, for
# pages, for batches, and for inserts of vectors.
ONE_AT_A_TIME = 2_000
MANY = 10_000
PAGES = 5
BATCHES = 200
VECTORS = 1_000
INSERT = "INSERT INTO five (a, b, c, d, e) VALUES (?, ?, ?, ?, ?)"
SELECT = "SELECT one FROM five WHERE a = ?"
PAGE = "SELECT page FROM five WHERE a = ?"
VECTOR_INSERT = "INSERT INTO vectors (id, v) VALUES (?, ?)"
VECTOR_PAGE = "SELECT vectors FROM vectors WHERE id = ?"
ROW = (7, "hello world", 7, 1.5, True)
BATCH_SIZE = 50
PAGE_ROWS = 5_000
VECTOR_ROWS = 1_000

Figures = dict[str, Any]


def chosen() -> Callable[[str], bool]:
    """Return a function that says if a case was chosen on the command line."""
    words = sys.argv[4:]
    return lambda case: not words or any(word in case for word in words)


class Clock:
    """Measures cases, and holds their figures by name."""

    def __init__(self) -> None:
        self.figures: Figures = {}
        self.wanted = chosen()

    def passes(self, case: str, requests: int, units: int = 1) -> Iterator[None]:
        """Time the body of a `for` loop over this generator; each iteration is one pass.

        The first iteration only warms up and is not measured. If the case was not chosen, the loop
        has no iterations.

        :param requests: the number of requests that the body sends.
        :param units: the number of rows of each request's page, by which the CPU time is also
            divided.
        """
        if not self.wanted(case):
            return
        least_cpu, best_rate = float("inf"), 0.0
        yield None  # to warm up
        for _ in range(PASSES):
            wall_start, cpu_start = time.perf_counter(), time.process_time()
            yield None
            cpu_seconds, wall_seconds = (
                time.process_time() - cpu_start,
                time.perf_counter() - wall_start,
            )
            least_cpu = min(least_cpu, cpu_seconds)
            best_rate = max(best_rate, requests / wall_seconds)
        self.figures[case] = {"us": least_cpu / requests / units * 1e6, "rate": best_rate}


def security() -> dict[str, Any]:
    """Return the keyword arguments of a cluster that uses TLS.

    The environment variable ``TURBOCQL_BENCH_CA`` has the path of the server's CA certificate. If
    the variable is not set, the result is empty, and requests are sent without TLS.
    """
    certificate = os.environ.get("TURBOCQL_BENCH_CA")
    return {"ssl_context": ssl.create_default_context(cafile=certificate)} if certificate else {}


def vector() -> Any:
    """Return 768 floats: a NumPy array if NumPy is installed, else a list."""
    try:
        import numpy
    except ImportError:
        return [float(i) for i in range(768)]
    return numpy.arange(768, dtype=numpy.float32)


def has_numpy() -> bool:
    """Return True if NumPy is installed."""
    return importlib.util.find_spec("numpy") is not None


def blocking(address: str, port: int) -> Figures:
    """Measure all cases with the blocking API."""
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
    from cassandra.concurrent import execute_concurrent_with_args
    from cassandra.policies import RoundRobinPolicy
    from cassandra.query import BatchStatement, BatchType, tuple_factory

    clock = Clock()
    round_robin = ExecutionProfile(load_balancing_policy=RoundRobinPolicy())
    cluster = Cluster(
        [address], port=port, protocol_version=4, compression=COMPRESSION,
        schema_metadata_enabled=False, token_metadata_enabled=False,
        execution_profiles={EXEC_PROFILE_DEFAULT: round_robin}, **security(),
    )  # fmt: skip
    session = cluster.connect()
    insert, select, page = (session.prepare(text) for text in (INSERT, SELECT, PAGE))
    execute = session.execute
    for _ in clock.passes("insert, one at a time", ONE_AT_A_TIME):
        for _ in range(ONE_AT_A_TIME):
            execute(insert, ROW)
    rows = [ROW] * MANY
    for _ in clock.passes("insert, 100 in flight", MANY):
        for outcome in execute_concurrent_with_args(
            session, insert, rows, IN_FLIGHT, results_generator=True
        ):
            assert outcome.success
    for _ in clock.passes("select of one row, one at a time", ONE_AT_A_TIME):
        for _ in range(ONE_AT_A_TIME):
            assert execute(select, (7,)).one().a == 7
    keys = [(7,)] * MANY
    for _ in clock.passes("select of one row, 100 in flight", MANY):
        for outcome in execute_concurrent_with_args(
            session, select, keys, IN_FLIGHT, results_generator=True
        ):
            assert outcome.result_or_exc.one().a == 7
    tuples = session.execution_profile_clone_update(EXEC_PROFILE_DEFAULT, row_factory=tuple_factory)
    for _ in clock.passes("page of 5,000 rows x 5, a row", PAGES, PAGE_ROWS):
        for _ in range(PAGES):
            assert len(list(execute(page, (7,), execution_profile=tuples))) == PAGE_ROWS

    def batches() -> Iterator[tuple[Any, None]]:
        """Yield (batch, no parameters), as `execute_concurrent` expects."""
        for _ in range(BATCHES):
            batch = BatchStatement(BatchType.UNLOGGED)
            for _ in range(BATCH_SIZE):
                batch.add(insert, ROW)
            yield batch, None

    from cassandra.concurrent import execute_concurrent

    for _ in clock.passes("batch of 50 bound inserts, 100 in flight", BATCHES):
        for outcome in execute_concurrent(session, batches(), IN_FLIGHT, results_generator=True):
            assert outcome.success

    def filled_batches() -> Iterator[tuple[Any, None]]:
        for _ in range(BATCHES):
            yield BatchStatement(BatchType.UNLOGGED).add_many(insert, [ROW] * BATCH_SIZE), None

    # Only turbocql has `add_many`.
    if hasattr(BatchStatement, "add_many"):
        for _ in clock.passes("batch of 50 by add_many, 100 in flight", BATCHES):
            for outcome in execute_concurrent(
                session, filled_batches(), IN_FLIGHT, results_generator=True
            ):
                assert outcome.success
    try:
        insert_vector, vector_page = session.prepare(VECTOR_INSERT), session.prepare(VECTOR_PAGE)
        values = [(7, vector())] * VECTORS
        for _ in clock.passes("vector<float,768> insert, 100 in flight", VECTORS):
            for outcome in execute_concurrent_with_args(
                session, insert_vector, values, IN_FLIGHT, results_generator=True
            ):
                assert outcome.success
        for _ in clock.passes("page of 1,000 vectors<float,768>, a row", 1, VECTOR_ROWS):
            assert len(list(execute(vector_page, (7,), execution_profile=tuples))) == VECTOR_ROWS
        # Only turbocql's results have `to_numpy`, which makes a matrix of the vectors.
        if has_numpy() and hasattr(execute(select, (7,)), "to_numpy"):
            for _ in clock.passes(
                "page of 1,000 vectors<float,768> to NumPy, a row", 1, VECTOR_ROWS
            ):
                assert len(execute(vector_page, (7,)).to_numpy()["v"]) == VECTOR_ROWS
    except Exception as error:
        print(f"no vectors: {error!r}", file=sys.stderr)
    cluster.shutdown()
    return clock.figures


async def by_workers(
    start: Callable[[], Awaitable[Any]], count: int, use_result: Callable[[Any], Any] | None = None
) -> None:
    """Run `count` requests in `IN_FLIGHT` tasks; each task awaits its requests one by one.

    :param start: a function that sends a request and returns an awaitable of its result.
    :param use_result: called with each result, to read its rows.
    """

    async def work() -> None:
        for _ in range(count // IN_FLIGHT):
            result = await start()
            if use_result is not None:
                use_result(result)

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))


async def in_windows(start: Callable[[], Awaitable[Any]], count: int) -> None:
    """Run `count` requests in groups. The requests of a group start at once, and are then awaited.

    Use this only for drivers that send a request when the method is called. Some drivers send it
    only when the result is awaited.
    """
    for _ in range(count // IN_FLIGHT):
        for future in [start() for _ in range(IN_FLIGHT)]:
            await future


async def aio(address: str, port: int) -> Figures:
    """Measure all cases with turbocql's asyncio API."""
    from cassandra.aio import Cluster
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile
    from cassandra.policies import RoundRobinPolicy
    from cassandra.query import BatchStatement, BatchType, tuple_factory

    clock = Clock()
    profiles = {
        EXEC_PROFILE_DEFAULT: ExecutionProfile(RoundRobinPolicy()),
        "tuples": ExecutionProfile(RoundRobinPolicy(), row_factory=tuple_factory),
    }
    async with Cluster(
        [address], port=port, protocol_version=4, compression=COMPRESSION,
        schema_metadata_enabled=False, token_metadata_enabled=False,
        execution_profiles=profiles, **security(),
    ) as cluster:  # fmt: skip
        session = await cluster.connect()
        insert, select, page, insert_vector, vector_page = await session.prepare_all(
            [INSERT, SELECT, PAGE, VECTOR_INSERT, VECTOR_PAGE]
        )
        execute = session.execute
        # benchmarks/requests.py counts system calls with strace. It passes the arguments "calls N",
        # for which the script only makes N times 10,000 inserts.
        if sys.argv[4:5] == ["calls"]:
            for _ in range(int(sys.argv[5])):
                await by_workers(lambda: execute(insert, ROW), MANY)
            return {}
        for _ in clock.passes("insert, one at a time", ONE_AT_A_TIME):
            for _ in range(ONE_AT_A_TIME):
                await execute(insert, ROW)
        for _ in clock.passes("insert, 100 in flight", MANY):
            await by_workers(lambda: execute(insert, ROW), MANY)
        for _ in clock.passes("insert, 100 in flight, begun together", MANY):
            await in_windows(lambda: execute(insert, ROW), MANY)
        pairs = [(insert, ROW)] * MANY
        for _ in clock.passes("insert, 100 in flight, execute_concurrent", MANY):
            async for outcome in session.execute_concurrent(pairs, IN_FLIGHT):
                assert outcome.success
        for _ in clock.passes("select of one row, one at a time", ONE_AT_A_TIME):
            for _ in range(ONE_AT_A_TIME):
                assert (await execute(select, (7,))).one().a == 7
        for _ in clock.passes("select of one row, 100 in flight", MANY):
            await by_workers(lambda: execute(select, (7,)), MANY, lambda result: result.one().a)
        for _ in clock.passes("page of 5,000 rows x 5, a row", PAGES, PAGE_ROWS):
            for _ in range(PAGES):
                assert (
                    len((await execute(page, (7,), execution_profile="tuples")).all()) == PAGE_ROWS
                )

        def batch() -> Awaitable[Any]:
            statement = BatchStatement(BatchType.UNLOGGED)
            for _ in range(BATCH_SIZE):
                statement.add(insert, ROW)
            return execute(statement)

        for _ in clock.passes("batch of 50 bound inserts, 100 in flight", BATCHES):
            await by_workers(batch, BATCHES)

        def filled_batch() -> Awaitable[Any]:
            statement = BatchStatement(BatchType.UNLOGGED)
            statement.add_many(insert, [ROW] * BATCH_SIZE)
            return execute(statement)

        for _ in clock.passes("batch of 50 by add_many, 100 in flight", BATCHES):
            await by_workers(filled_batch, BATCHES)
        values = (7, vector())
        for _ in clock.passes("vector<float,768> insert, 100 in flight", VECTORS):
            await by_workers(lambda: execute(insert_vector, values), VECTORS)
        for _ in clock.passes("page of 1,000 vectors<float,768>, a row", 1, VECTOR_ROWS):
            vector_rows = (await execute(vector_page, (7,), execution_profile="tuples")).all()
            assert len(vector_rows) == VECTOR_ROWS
        if has_numpy():
            for _ in clock.passes(
                "page of 1,000 vectors<float,768> to NumPy, a row", 1, VECTOR_ROWS
            ):
                columns = await (await execute(vector_page, (7,))).to_numpy()
                assert len(columns["v"]) == VECTOR_ROWS
    return clock.figures


async def acsylla(address: str, port: int) -> Figures:
    """Measure the same cases with acsylla, except vectors, which acsylla only handles as bytes."""
    import acsylla as driver

    clock = Clock()
    cluster = driver.create_cluster([address], port=port, protocol_version=4)
    session = await cluster.create_session()
    insert, select, page = [await session.create_prepared(text) for text in (INSERT, SELECT, PAGE)]

    def bound(prepared: Any, values: tuple[Any, ...]) -> Any:
        statement = prepared.bind()
        statement.bind_list(list(values))
        return statement

    # `passes` repeats each loop, and stores the best figures of all passes under the case's name.
    for _ in clock.passes("insert, one at a time", ONE_AT_A_TIME):
        for _ in range(ONE_AT_A_TIME):
            await session.execute(bound(insert, ROW))
    for _ in clock.passes("insert, 100 in flight", MANY):
        await by_workers(lambda: session.execute(bound(insert, ROW)), MANY)
    for _ in clock.passes("select of one row, one at a time", ONE_AT_A_TIME):
        for _ in range(ONE_AT_A_TIME):
            assert (await session.execute(bound(select, (7,)))).first().as_dict()["a"] == 7
    for _ in clock.passes("select of one row, 100 in flight", MANY):
        await by_workers(
            lambda: session.execute(bound(select, (7,))),
            MANY,
            lambda result: result.first().as_dict()["a"],
        )
    for _ in clock.passes("page of 5,000 rows x 5, a row", PAGES, PAGE_ROWS):
        for _ in range(PAGES):
            result = await session.execute(bound(page, (7,)))
            assert len([row.as_tuple() for row in result]) == PAGE_ROWS

    def batch() -> Any:
        statement = driver.create_batch_unlogged()
        for _ in range(BATCH_SIZE):
            statement.add_statement(bound(insert, ROW))
        return session.execute_batch(statement)

    for _ in clock.passes("batch of 50 bound inserts, 100 in flight", BATCHES):
        await by_workers(batch, BATCHES)
    await session.close()
    return clock.figures


async def scyllapy(address: str, port: int) -> Figures:
    """Measure the same cases with scyllapy, except a page of vectors, which it cannot read."""
    import scyllapy as driver

    clock = Clock()
    session = driver.Scylla([f"{address}:{port}"])
    await session.startup()
    insert, select, page = [await session.prepare(text) for text in (INSERT, SELECT, PAGE)]
    row = [driver.extra_types.BigInt(7), "hello world", 7, driver.extra_types.Double(1.5), True]
    key = [driver.extra_types.BigInt(7)]
    # `passes` repeats each loop, and stores the best figures of all passes under the case's name.
    for _ in clock.passes("insert, one at a time", ONE_AT_A_TIME):
        for _ in range(ONE_AT_A_TIME):
            await session.execute(insert, row)
    for _ in clock.passes("insert, 100 in flight", MANY):
        await by_workers(lambda: session.execute(insert, row), MANY)
    for _ in clock.passes("select of one row, one at a time", ONE_AT_A_TIME):
        for _ in range(ONE_AT_A_TIME):
            assert (await session.execute(select, key)).first()["a"] == 7
    for _ in clock.passes("select of one row, 100 in flight", MANY):
        await by_workers(
            lambda: session.execute(select, key), MANY, lambda result: result.first()["a"]
        )
    for _ in clock.passes("page of 5,000 rows x 5, a row", PAGES, PAGE_ROWS):
        for _ in range(PAGES):
            assert len((await session.execute(page, key)).all()) == PAGE_ROWS

    def batch() -> Any:
        statement = driver.Batch(driver.BatchType.UNLOGGED)
        for _ in range(BATCH_SIZE):
            statement.add_query(insert)
        return session.batch(statement, [row] * BATCH_SIZE)

    for _ in clock.passes("batch of 50 bound inserts, 100 in flight", BATCHES):
        await by_workers(batch, BATCHES)
    insert_vector = await session.prepare(VECTOR_INSERT)
    values = [7, list(map(float, vector()))]
    for _ in clock.passes("vector<float,768> insert, 100 in flight", VECTORS):
        await by_workers(lambda: session.execute(insert_vector, values), VECTORS)
    await session.shutdown()
    return clock.figures


def main() -> None:
    """Measure one API, and print its figures as JSON."""
    api, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if api == "blocking":
        figures = blocking(address, port)
    elif api == "aio-asyncio":
        figures = asyncio.run(aio(address, port))
    else:
        import uvloop

        measure = {"aio": aio, "acsylla": acsylla, "scyllapy": scyllapy}[api]
        figures = uvloop.run(measure(address, port))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
