"""Code that the stress programs share: a node in another process, and the command line."""

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

# A call that takes more seconds than this counts as hanging.
PATIENCE = 30.0

# The schema of the node has this many keyspaces.
KEYSPACES = 20
SELECT = "SELECT k, v FROM stress.t WHERE k = ?"
INSERT = "INSERT INTO stress.t (k, v) VALUES (?, ?)"
ARRIVED = "SELECT count, total FROM stress.arrived"
ALTER = "ALTER KEYSPACE ks0"


def rows_of(key: int) -> list[tuple[int, str]]:
    """Return the 0 to 9 rows with which the node responds to `SELECT` for a key."""
    return [(key, f"{key}.{number}") for number in range(key % 10)]


def _serve() -> None:
    """Run a fake node until standard input ends.

    The node counts the inserted rows and adds up their keys. The query `ARRIVED` returns both
    numbers. The statement `ALTER` changes a keyspace, and makes the node send a schema change
    event.
    """
    from cassandra.testing import FakeNode
    from cassandra.testing.fake import BatchStatement, Request, paged, rows, schema_change, void

    columns = [("k", "int"), ("v", "text")]
    # These are the number of inserted rows, and the sum of their keys.
    inserted = [0, 0]
    replication_factors = itertools.count(2)

    def select(request: Request) -> Any:
        """Respond to `SELECT` with the rows of its key, in pages."""
        (key,) = request.values
        assert isinstance(key, bytes)
        return paged(columns, rows_of(int.from_bytes(key, "big")))

    def insert(request: Request) -> Any:
        """Count the rows of an INSERT statement, or of a batch of INSERT statements."""
        statements: Sequence[BatchStatement | Request] = request.statements or [request]
        for statement in statements:
            key = statement.values[0]
            assert isinstance(key, bytes)
            inserted[0] += 1
            inserted[1] += int.from_bytes(key, "big")
        return void()

    def keyspace_row(number: int, factor: int) -> dict[str, Any]:
        """Return the row of system_schema.keyspaces for the keyspace ``ks{number}``."""
        replication = {"class": "org.apache.cassandra.locator.SimpleStrategy"}
        return {
            "keyspace_name": f"ks{number}",
            "durable_writes": True,
            "replication": {**replication, "replication_factor": str(factor)},
        }

    def alter(request: Request) -> Any:
        """Give the keyspace ks0 another replication factor, and send an event about the change."""
        fake_node.schema["system_schema.keyspaces"][0] = keyspace_row(0, next(replication_factors))
        fake_node.send_event("SCHEMA_CHANGE", "UPDATED", "KEYSPACE", "ks0")
        return schema_change("UPDATED", "KEYSPACE", "ks0")

    with FakeNode() as fake_node:
        fake_node.schema = {
            "system_schema.keyspaces": [keyspace_row(number, 1) for number in range(KEYSPACES)]
        }
        fake_node.prime_prepare(SELECT, columns[:1], columns, pk_indexes=[0])
        fake_node.prime(SELECT, select)
        fake_node.prime_prepare(INSERT, columns, pk_indexes=[0])
        fake_node.prime(INSERT, insert)
        fake_node.prime(ALTER, alter)
        fake_node.prime(
            ARRIVED, lambda request: rows([("count", "bigint"), ("total", "bigint")], [inserted])
        )
        print(fake_node.address, fake_node.port, flush=True)
        sys.stdin.read()


@contextmanager
def node() -> Iterator[tuple[str, int]]:
    """Yield the address and port of a fake node in another process.

    The node stops at the end of the context, or if this process dies.
    """
    owner = os.getpid()
    # A child that a stress program forks leaves this context, too, when it exits. So do not use
    # Popen as a context manager, whose end waits for the process: only the parent ends the node.
    server = subprocess.Popen(
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
        # `communicate` closes the node's standard input, which stops the node, and waits for the
        # end of its output. In a forked child the wait would not end: the parent still has the
        # node's standard input open.
        if os.getpid() == owner:
            server.communicate()


def main(what: str, run: Callable[[int], int]) -> None:
    """Call ``run(count)`` with the count of the command line, and exit.

    The exit status is 1 if `run` does not return 0.

    :param what: what is repeated `count` times, such as "forks under load".
    :param run: returns the number of calls that hung or failed.
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
        # None makes `import uvloop` raise ImportError, so the driver uses the loop of asyncio.
        sys.modules["uvloop"] = None  # type: ignore[assignment]
    elif options.loop == "uvloop":
        import uvloop  # noqa: F401 - fail now if it is missing
    failures = run(options.count)
    loop = options.loop or "default loop"
    print(f"{options.count} {what}, {loop}: {failures} hung or failed", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    _serve()
