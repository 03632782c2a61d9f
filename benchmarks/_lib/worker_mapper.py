"""Times the object mapper against the null server, with the driver of its environment.

    worker_mapper.py ADDRESS PORT [aio]

The driver is turbocql, cassandra-driver or scylla-driver. "aio" also times the awaitable methods,
which only turbocql has. The script prints one JSON object. It has the CPU microseconds of this
process for one call, or for one row of an iteration, in the best of several passes, and the bytes
of memory that each model instance holds.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

QUICK = bool(os.environ.get("TURBOCQL_BENCH_QUICK"))
PASSES = 2 if QUICK else 7  # the passes of each case, of which the fastest counts
CALLS = 1_000  # the number of calls in a pass
PAGES = 3  # the number of pages of `ROWS` rows that a pass reads
ROWS = 5_000  # the number of rows in a page

Figures = dict[str, float]


def passes(figures: Figures, case: str, units: int) -> Iterator[None]:
    """Time the body of a `for` loop over this generator; each iteration is one pass.

    The first iteration is not measured. The least time of the others is divided by `units` and
    stored in ``figures[case]``.

    :param units: the number of calls or rows in one pass.
    """
    best = float("inf")
    yield None  # to warm up
    for _ in range(PASSES):
        began = time.process_time()
        yield None
        best = min(best, time.process_time() - began)
    figures[case] = best / units * 1e6


def models() -> tuple[Any, Any]:
    """Define and return the models of the null server's tables."""
    from cassandra.cqlengine import columns
    from cassandra.cqlengine.models import Model

    class Five(Model):
        __keyspace__ = "bench"
        __table_name__ = "five"
        a = columns.BigInt(primary_key=True)
        b = columns.Text()
        c = columns.Integer()
        d = columns.Double()
        e = columns.Boolean()

    class Page(Model):
        __keyspace__ = "bench"
        __table_name__ = "page"
        id = columns.UUID(primary_key=True)
        b = columns.Text()
        c = columns.Integer()
        d = columns.Double()
        t = columns.DateTime()

    return Five, Page


def measure_blocking(address: str, port: int) -> Figures:
    """Measure the blocking calls of the object mapper."""
    from cassandra.cluster import Cluster
    from cassandra.cqlengine import connection
    from cassandra.query import dict_factory

    figures: Figures = {}
    cluster = Cluster(
        [address],
        port=port,
        protocol_version=4,
        compression=False,
        schema_metadata_enabled=False,
        token_metadata_enabled=False,
    )
    session = cluster.connect()
    session.row_factory = dict_factory
    connection.set_session(session)
    five, page = models()
    # `passes` repeats each loop, and stores the time of the best pass under the case's name.
    for _ in passes(figures, "Model.create", CALLS):
        for _ in range(CALLS):
            five.create(a=7, b="hello world", c=7, d=1.5, e=True)
    for _ in passes(figures, "Model.objects.get", CALLS):
        for _ in range(CALLS):
            assert five.objects.get(a=7).c == 7
    row = five.objects.get(a=7)
    for _ in passes(figures, "Model.save of one changed column", CALLS):
        for number in range(CALLS):
            row.c = number + 8
            row.save()
    for _ in passes(figures, "iteration over 5,000 rows, a row", PAGES * ROWS):
        for _ in range(PAGES):
            assert sum(1 for _ in page.objects.all()) == ROWS
    # Read the rows once before, to fill caches. Then only the instances' memory is counted below.
    instances = list(page.objects.all())
    del instances
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    instances = list(page.objects.all())
    figures["bytes an instance"] = (tracemalloc.get_traced_memory()[0] - before) / len(instances)
    tracemalloc.stop()
    cluster.shutdown()
    return figures


async def measure_asyncio(address: str, port: int) -> Figures:
    """Measure the work of `measure_blocking` with the awaitable methods of the object mapper."""
    from cassandra.aio import Cluster  # only turbocql has this module
    from cassandra.cqlengine import connection

    figures: Figures = {}
    async with Cluster(
        [address],
        port=port,
        protocol_version=4,
        compression=False,
        schema_metadata_enabled=False,
        token_metadata_enabled=False,
    ) as cluster:
        connection.set_session(await cluster.connect())
        five, page = models()
        for _ in passes(figures, "acreate", CALLS):
            for _ in range(CALLS):
                await five.acreate(a=7, b="hello world", c=7, d=1.5, e=True)
        for _ in passes(figures, "aget", CALLS):
            for _ in range(CALLS):
                assert (await five.aget(a=7)).c == 7
        for _ in passes(figures, "async for over 5,000 rows, a row", PAGES * ROWS):
            for _ in range(PAGES):
                assert len([row async for row in page.objects.all()]) == ROWS
    return figures


def main() -> None:
    """Measure the blocking calls, and with the argument "aio" also the coroutines; print JSON."""
    address, port = sys.argv[1], int(sys.argv[2])
    figures = measure_blocking(address, port)
    if sys.argv[3:] == ["aio"]:
        figures |= asyncio.run(measure_asyncio(address, port))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
