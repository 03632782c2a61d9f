"""Inserts from several threads through one or several clusters, for `benchmarks.loops`.

    worker_loops.py ADDRESS PORT CLUSTERS LOOPS THREADS SECONDS

CLUSTERS is the number of clusters, LOOPS the number of event loops of each, and THREADS the number
of threads, which share the clusters evenly. The program runs a quarter of SECONDS to warm up and
then measures SECONDS. It prints a JSON list: the inserts, the wall time and the CPU time in
seconds.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import time
from typing import TYPE_CHECKING

# These are imported as top-level modules: the script's folder is on sys.path, and the package
# `benchmarks` cannot be imported if only the driver is installed.
from worker_instructions import INSERT, ROW, settings  # type: ignore[import-not-found]
from worker_threads import count_in_threads  # type: ignore[import-not-found]

from cassandra.cluster import Cluster, Session

if TYPE_CHECKING:
    from cassandra.query import PreparedStatement

ROWS = [ROW] * 2_000
IN_FLIGHT = 100


def cpu_time() -> float:
    """Return the CPU time of this process in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def inserts_until(end: float, session: Session, insert: PreparedStatement) -> int:
    """Insert until the monotonic clock reaches `end`; return the number of inserts."""
    count = 0
    while time.perf_counter() < end:
        session.execute_concurrent_with_args(insert, ROWS, IN_FLIGHT)
        count += len(ROWS)
    return count


def measure(
    sessions: list[tuple[Session, PreparedStatement]], thread_count: int, seconds: float
) -> tuple[int, float, float]:
    """Insert with some threads; return the inserts, the wall time and the CPU time in seconds."""
    began, cpu_began = time.perf_counter(), cpu_time()
    count = count_in_threads(
        thread_count,
        lambda number: inserts_until(began + seconds, *sessions[number % len(sessions)]),
    )
    return count, time.perf_counter() - began, cpu_time() - cpu_began


def main(arguments: list[str]) -> None:
    """Connect the clusters, warm up, and print what `measure` returns as JSON."""
    address, port, *counts, seconds = arguments
    cluster_count, loop_count, thread_count = map(int, counts)
    sessions = []
    with contextlib.ExitStack() as stack:
        for _ in range(cluster_count):
            cluster = Cluster(loops=loop_count, **settings(address, int(port)))
            session = stack.enter_context(cluster).connect(wait_for_all_pools=True)
            sessions.append((session, session.prepare(INSERT)))
        measure(sessions, thread_count, float(seconds) / 4)
        print(json.dumps(measure(sessions, thread_count, float(seconds))))


if __name__ == "__main__":
    main(sys.argv[1:])
