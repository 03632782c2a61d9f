"""Times the building of batches, with the public API of the driver of its environment.

    worker_batches.py ADDRESS PORT

The script prints one JSON object with two figures for each case: the least CPU microseconds to bind
100 statements and add them to a batch, and the memory blocks that the batch holds for each of these
statements.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

ROWS = 100  # the number of rows in a batch
LOOPS = 50  # the number of batches that a pass builds
QUICK = bool(os.environ.get("TURBOCQL_BENCH_QUICK"))
PASSES = 3 if QUICK else 15  # the passes of each case, of which the fastest counts
INSERT = "INSERT INTO five (a, b, c, d, e) VALUES (?, ?, ?, ?, ?)"
ROW = (7, "hello world", 7, 1.5, True)


def least(build: Callable[[], Any]) -> float:
    """Return the CPU microseconds of one call in the fastest of several passes."""
    best = None
    for _ in range(PASSES):
        began = time.process_time()
        for _ in range(LOOPS):
            build()
        microseconds = (time.process_time() - began) / LOOPS * 1e6
        best = microseconds if best is None else min(best, microseconds)
    assert best is not None
    return best


def blocks(build: Callable[[], Any]) -> float:
    """Return how many of Python's memory blocks a batch holds for one row.

    :param build: builds the batch.
    :returns: -1 if the interpreter does not count blocks (PyPy).
    """
    if not hasattr(sys, "getallocatedblocks"):
        return -1.0
    batches = [build(), build()]  # fill caches first, so that their blocks are not counted
    before = sys.getallocatedblocks()
    batches.append(build())
    return (sys.getallocatedblocks() - before) / ROWS


def main() -> None:
    """Build batches in each way that the driver has; print the figures of each as JSON.

    The figures are the microseconds to build a batch, and the memory blocks of a row.
    """
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
    from cassandra.policies import RoundRobinPolicy
    from cassandra.query import BatchStatement, BatchType

    cluster = Cluster(
        [sys.argv[1]], port=int(sys.argv[2]), protocol_version=4, compression=False,
        schema_metadata_enabled=False, token_metadata_enabled=False,
        execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(RoundRobinPolicy())},
    )  # fmt: skip
    insert = cluster.connect().prepare(INSERT)
    rows = [ROW] * ROWS

    def by_add() -> Any:
        """Build a batch by a call of `add` for each row."""
        batch = BatchStatement(BatchType.UNLOGGED)
        for row in rows:
            batch.add(insert, row)
        return batch

    def by_add_all() -> Any:
        """Build a batch by one call of `add_all`."""
        return BatchStatement(BatchType.UNLOGGED).add_all([insert] * ROWS, rows)

    cases = {"add": by_add, "add_all": by_add_all}
    if hasattr(BatchStatement, "add_many"):
        named = [dict(zip("abcde", ROW))] * ROWS  # noqa: B905
        cases["add_many"] = lambda: BatchStatement(BatchType.UNLOGGED).add_many(insert, rows)
        cases["add_many of dicts"] = lambda: BatchStatement(BatchType.UNLOGGED).add_many(
            insert, named
        )
    print(json.dumps({name: [least(build), blocks(build)] for name, build in cases.items()}))
    cluster.shutdown()


if __name__ == "__main__":
    main()
