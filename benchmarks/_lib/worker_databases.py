"""Times the same insert and select through drivers of other databases.

    worker_databases.py {asyncpg,redis} ADDRESS PORT

Both drivers run on uvloop. The output has the same format as the output of worker_requests.py,
whose cases and passes this script uses. Each driver is used as its manual recommends: asyncpg with
a pool, from which each call takes a connection, and redis-py with hiredis and a client that has a
pool.
"""

from __future__ import annotations

import json
import sys
from typing import Any

# The script's folder is on sys.path, so import `worker_requests` as a top-level module. The package
# `benchmarks` cannot be imported in the environments in which this script runs.
from worker_requests import MANY, ONE_AT_A_TIME, ROW, Clock, Figures, by_workers  # type: ignore[import-not-found]

# PostgreSQL and Redis process one request of a connection at a time, so use several connections.
CONNECTIONS = 20
FIELDS = ("a", "b", "c", "d", "e")


async def measure_cases(clock: Clock, insert: Any, select: Any) -> None:
    """Measure inserts and selects, each one at a time and with many in flight.

    :param insert: a function that returns an awaitable, which inserts the row.
    :param select: a function that returns an awaitable, which selects the row and returns its
        column `a`.
    """

    def check(value: Any) -> None:
        assert int(value) == ROW[0]

    for _ in clock.passes("insert, one at a time", ONE_AT_A_TIME):
        for _ in range(ONE_AT_A_TIME):
            await insert()
    for _ in clock.passes("insert, 100 in flight", MANY):
        await by_workers(insert, MANY)
    for _ in clock.passes("select of one row, one at a time", ONE_AT_A_TIME):
        for _ in range(ONE_AT_A_TIME):
            check(await select())
    for _ in clock.passes("select of one row, 100 in flight", MANY):
        await by_workers(select, MANY, check)


async def asyncpg(address: str, port: int) -> Figures:
    """Measure asyncpg with PostgreSQL."""
    import asyncpg as driver

    clock = Clock()
    async with driver.create_pool(
        host=address, port=port, user="bench", database="postgres",
        min_size=CONNECTIONS, max_size=CONNECTIONS,
    ) as pool:  # fmt: skip
        await pool.execute(
            "CREATE UNLOGGED TABLE IF NOT EXISTS five "
            "(a bigint PRIMARY KEY, b text, c int, d double precision, e boolean)"
        )
        upsert = (
            "INSERT INTO five VALUES ($1, $2, $3, $4, $5) ON CONFLICT (a) DO UPDATE "
            "SET b = excluded.b, c = excluded.c, d = excluded.d, e = excluded.e"
        )
        query = "SELECT a, b, c, d, e FROM five WHERE a = $1"

        async def select() -> Any:
            return (await pool.fetchrow(query, ROW[0]))["a"]

        await measure_cases(clock, lambda: pool.execute(upsert, *ROW), select)
    return clock.figures


async def redis(address: str, port: int) -> Figures:
    """Measure redis-py with Redis."""
    from redis.asyncio import BlockingConnectionPool, Redis

    clock = Clock()
    pool = BlockingConnectionPool(
        host=address, port=port, max_connections=CONNECTIONS, decode_responses=True
    )
    # A Redis hash has no booleans, so store 1 for True.
    fields = {
        name: int(value) if value is True else value
        for name, value in zip(FIELDS, ROW, strict=True)
    }
    async with Redis(connection_pool=pool) as client:

        async def select() -> Any:
            return (await client.hgetall("five:7"))["a"]

        await measure_cases(clock, lambda: client.hset("five:7", mapping=fields), select)
    await pool.disconnect()
    return clock.figures


def main() -> None:
    import uvloop

    run = {"asyncpg": asyncpg, "redis": redis}[sys.argv[1]]
    print(json.dumps(uvloop.run(run(sys.argv[2], int(sys.argv[3])))))


if __name__ == "__main__":
    main()
