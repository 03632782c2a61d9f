"""What the stress programs share: a node in a process of its own, the choice of the loop, the count
of what hung.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 30.0  # seconds; what has not ended by then hangs

_NODE = """
import sys
from cassandra.testing import FakeNode
with FakeNode() as node:
    node.schema = {
        "system_schema.keyspaces": [
            {"keyspace_name": f"ks{n}", "durable_writes": True,
             "replication": {"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "1"}}
            for n in range(20)
        ]
    }
    print(node.address, node.port, flush=True)
    sys.stdin.read()
"""


@contextmanager
def node() -> Iterator[tuple[str, int]]:
    """(address, port) of a fake node, which ends with this process at the latest."""
    owner = os.getpid()
    server = subprocess.Popen(  # no context manager, which a forked child would wait in, too
        [sys.executable, "-c", _NODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        address, port = server.stdout.readline().split()
        yield address, int(port)
    finally:
        if os.getpid() == owner:
            server.communicate()


def main(what: str, run: Callable[[int], int]) -> None:
    """Parse the command line, have ``run(count)`` give the number of those that hung, and exit
    accordingly.
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
