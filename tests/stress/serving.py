"""Shared parts of the stress programs: a node in another process, the choice of the loop, the count
of hung calls.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 30.0  # seconds; a call that has not ended by then hangs

SELECT = "SELECT k, v FROM stress.t WHERE k = ?"
INSERT = "INSERT INTO stress.t (k, v) VALUES (?, ?)"
ARRIVED = "SELECT count, total FROM stress.arrived"
ALTER = "ALTER KEYSPACE ks0"


def rows_of(key: int) -> list[tuple[int, str]]:
    """Return the node's answer to `SELECT` for a key: 0 to 9 rows."""
    return [(key, f"{key}.{number}") for number in range(key % 10)]


def _serve() -> None:
    """Run the node until standard input ends."""
    from cassandra.testing import FakeNode
    from cassandra.testing.fake import BatchStatement, Request, paged, rows, schema_change, void

    columns = [("k", "int"), ("v", "text")]
    arrived = [0, 0]
    factors = itertools.count(2)

    def select(request: Request) -> Any:
        (key,) = request.values
        assert isinstance(key, bytes)
        return paged(columns, rows_of(int.from_bytes(key, "big")))

    def insert(request: Request) -> Any:
        parts: Sequence[BatchStatement | Request] = request.statements or [request]
        for part in parts:
            key = part.values[0]
            assert isinstance(key, bytes)
            arrived[0] += 1
            arrived[1] += int.from_bytes(key, "big")
        return void()

    def keyspace(number: int, factor: int) -> dict[str, Any]:
        replication = {"class": "org.apache.cassandra.locator.SimpleStrategy"}
        return {
            "keyspace_name": f"ks{number}",
            "durable_writes": True,
            "replication": {**replication, "replication_factor": str(factor)},
        }

    def alter(request: Request) -> Any:
        served.schema["system_schema.keyspaces"][0] = keyspace(0, next(factors))
        served.send_event("SCHEMA_CHANGE", "UPDATED", "KEYSPACE", "ks0")
        return schema_change("UPDATED", "KEYSPACE", "ks0")

    with FakeNode() as served:
        served.schema = {"system_schema.keyspaces": [keyspace(number, 1) for number in range(20)]}
        served.prime_prepare(SELECT, columns[:1], columns, pk_indexes=[0])
        served.prime(SELECT, select)
        served.prime_prepare(INSERT, columns, pk_indexes=[0])
        served.prime(INSERT, insert)
        served.prime(ALTER, alter)
        served.prime(
            ARRIVED, lambda request: rows([("count", "bigint"), ("total", "bigint")], [arrived])
        )
        print(served.address, served.port, flush=True)
        sys.stdin.read()


@contextmanager
def node() -> Iterator[tuple[str, int]]:
    """Yield (address, port) of a fake node, which ends with this process at the latest."""
    owner = os.getpid()
    server = subprocess.Popen(  # no context manager: a forked child would wait in it too
        [sys.executable, "-m", "tests.stress.serving"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert server.stdout is not None
    try:
        address, port = server.stdout.readline().split()
        yield address, int(port)
    finally:
        if os.getpid() == owner:
            server.communicate()


def main(what: str, run: Callable[[int], int]) -> None:
    """Parse the command line, call ``run(count)`` for the number of hung calls, and exit with 1 if
    there are any.
    """
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--count", type=int, default=1000, help="how many of them")
    parser.add_argument(
        "--loop",
        choices=["asyncio", "uvloop"],
        help="that engines run on; default: what is installed",
    )
    options = parser.parse_args()
    if options.loop == "asyncio":
        sys.modules["uvloop"] = None  # type: ignore[assignment]  # importing it is an ImportError then
    elif options.loop == "uvloop":
        import uvloop  # noqa: F401 - it must be there
    hung = run(options.count)
    print(f"{options.count} {what}, {options.loop or 'default loop'}: {hung} hung", flush=True)
    sys.exit(1 if hung else 0)


if __name__ == "__main__":
    _serve()
