"""The client CPU of a request, compared with asyncpg (PostgreSQL) and redis-py (Redis).

    python benchmarks/databases.py [--no-peers]

Each driver sends the same upsert of five columns and the same select of one row by its key, with
asyncio on uvloop; redis-py uses hiredis. The script starts PostgreSQL and Redis from Debian's
packages ``postgresql`` and ``redis-server``; this driver sends to `_lib.null_server`. Only the
client's CPU is counted, so the speed of the servers matters little. PostgreSQL and Redis process
one request of a connection at a time: their drivers use pools of 20 connections, whereas our driver
uses one connection. asyncpg's pool resets a connection after each use; its figures include this.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

from benchmarks._lib import null_server, other_servers, peers
from benchmarks._lib.apis import Lane, measure, our_lanes, rows_of
from benchmarks._lib.report import Benchmark

WORKER = Path(__file__).parent / "_lib" / "worker_databases.py"
CASES = [
    "insert, one at a time",
    "insert, 100 in flight",
    "select of one row, one at a time",
    "select of one row, 100 in flight",
]
PEERS = {"asyncpg": ("uvloop",), "redis": ("uvloop", "hiredis")}
RUNNING = {"asyncpg": other_servers.running_postgres, "redis": other_servers.running_redis}


def missing_server(peer: str) -> str | None:
    """Return what to install for the server of `peer`, or None if it is installed."""
    if peer == "asyncpg" and other_servers.postgres_programs() is None:
        return "PostgreSQL (Debian: apt install postgresql)"
    if peer == "redis" and other_servers.redis_program() is None:
        return "Redis (Debian: apt install redis-server)"
    return None


def installed_peers(bench: Benchmark) -> list[str]:
    """Return the peers whose server and driver are installed; a note names each other peer."""
    ready = []
    for peer, extra in PEERS.items():
        if bench.options.no_peers:
            continue
        missing = missing_server(peer)
        if missing is not None:
            bench.note(f"{peer} is left out: it needs {missing}")
        else:
            ready += peers.prepare(bench, (peer,), extra)
    return ready


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Requests beside drivers of other databases, us of client CPU",
        duration_text="2 minutes",
        quick_duration_text="15 s",
        with_peers=True,
    )
    bench.add_option("--rounds", type=int, default=3)
    bench.start(quick={"rounds": 1})
    bench.need_program("cc")  # to compile the null server
    lanes = our_lanes()[:1]
    ready = installed_peers(bench)
    with contextlib.ExitStack() as servers:
        address, port = servers.enter_context(null_server.running())
        for peer in ready:
            folder = Path(servers.enter_context(tempfile.TemporaryDirectory()))
            peer_port = servers.enter_context(RUNNING[peer](folder))
            python = str(peers.environment(peer, PEERS[peer]))
            lanes.append(Lane(peer, python, {}, peer, peer_port, WORKER))
        best = measure(bench, lanes, address, port, CASES)
    # worker_requests.py measures every case whose name contains an item of CASES. Keep only the
    # cases that are in CASES.
    best = {
        lane: {case: figures[case] for case in CASES if case in figures}
        for lane, figures in best.items()
    }
    ours = best[lanes[0].name]
    ratios = {
        f"{peer} / {lanes[0].name}": {
            case: figures["us"] / ours[case]["us"] for case, figures in best[peer].items()
        }
        for peer in ready
    }
    bench.show_table("us of client CPU", rows_of(best, "us"), ratios)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
