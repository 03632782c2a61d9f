"""Inserts from several threads through one or several clusters, for `benchmarks.loops`.

    worker_loops.py ADDRESS PORT CLUSTERS LOOPS THREADS IN_FLIGHT SECONDS

CLUSTERS is the number of clusters, LOOPS the number of event loops of each cluster, and THREADS the
number of threads. Each cluster is used by the same number of threads. Each thread has IN_FLIGHT
requests in flight. If IN_FLIGHT is 1, the thread calls `Session.execute` for one insert after the
other. The script warms up for a quarter of SECONDS and then measures for SECONDS. It prints a JSON
list: the number of inserts, the wall time and the CPU time in seconds, and when the measurement
began, by the monotonic clock.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import time
from typing import TYPE_CHECKING

# The script's folder is on sys.path, so import these as top-level modules. The package `benchmarks`
# cannot be imported if only the driver is installed.
from worker_instructions import INSERT, ROW, settings  # type: ignore[import-not-found]
from worker_threads import count_in_threads  # type: ignore[import-not-found]

from cassandra.cluster import Cluster, Session

if TYPE_CHECKING:
    from cassandra.query import PreparedStatement

ROWS = [ROW] * 2_000


def cpu_time() -> float:
    """Return the CPU time of this process in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def inserts_until(end: float, session: Session, insert: PreparedStatement, in_flight: int) -> int:
    """Insert until the monotonic clock reaches `end`; return the number of inserts.

    :param in_flight: the number of requests in flight. 1 inserts one row after the other.
    """
    count = 0
    while time.perf_counter() < end:
        if in_flight > 1:
            session.execute_concurrent_with_args(insert, ROWS, in_flight)
        else:
            for row in ROWS:
                session.execute(insert, row)
        count += len(ROWS)
    return count


def measure(
    sessions: list[tuple[Session, PreparedStatement]],
    thread_count: int,
    in_flight: int,
    seconds: float,
) -> tuple[int, float, float, float]:
    """Insert with some threads; return (number of inserts, wall time, CPU time, start time).

    The times are in seconds. The start time is by the monotonic clock.

    :param sessions: for each cluster, a session and its prepared insert.
    :param in_flight: see `inserts_until`.
    """
    began, cpu_began = time.perf_counter(), cpu_time()

    def insert_in_thread(number: int) -> int:
        session, insert = sessions[number % len(sessions)]
        return inserts_until(began + seconds, session, insert, in_flight)

    count: int = count_in_threads(thread_count, insert_in_thread)
    return count, time.perf_counter() - began, cpu_time() - cpu_began, began


def main(arguments: list[str]) -> None:
    """Connect the clusters, warm up, and print what `measure` returns as JSON."""
    address, port, *counts, seconds = arguments
    cluster_count, loop_count, thread_count, in_flight = map(int, counts)
    sessions = []
    with contextlib.ExitStack() as stack:
        for _ in range(cluster_count):
            cluster = Cluster(loops=loop_count, **settings(address, int(port)))
            session = stack.enter_context(cluster).connect(wait_for_all_pools=True)
            sessions.append((session, session.prepare(INSERT)))
        measure(sessions, thread_count, in_flight, float(seconds) / 4)
        print(json.dumps(measure(sessions, thread_count, in_flight, float(seconds))))


if __name__ == "__main__":
    main(sys.argv[1:])
