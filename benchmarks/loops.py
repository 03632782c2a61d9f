"""Inserts of several threads with one event loop, several loops, and a cluster per thread.

    python benchmarks/loops.py [--seconds 2] [--rounds 3] [--check]

Each thread executes the same prepared insert of five columns: by `execute_concurrent`, 100 in
flight, or by one call of `execute` after the other ("alone"). The setting `loops` of a cluster is
its number of event loops. All threads of a cluster share one session and one prepared statement.
The server is `_lib.null_server`.

The table has the inserts per second, the client's CPU time for one insert, and how many cores the
client used. Only the CPU time is independent of the server, which runs on the same machine and
needs some of its cores. "possible" is the number of inserts that the cores could execute if nothing
else ran on them: cores divided by CPU time, with at most one core for each loop and each thread.

With the GIL, the loops take turns. On a free-threaded CPython (3.13t or later), the CPU time of an
insert grows with the number of loops, because threads that change the reference counts of the same
objects wait for each other's caches. On such a CPython, ``--check`` requires that two loops and
four threads need at most 1.11 times the CPU time of one loop and one thread. Four threads on two
cores then execute 1.8 times as many inserts as one thread, if the server runs elsewhere.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from benchmarks._lib import null_server, peers
from benchmarks._lib.report import Benchmark

WORKER = Path(__file__).with_name("_lib") / "worker_loops.py"
MOST_CPU = 1.11  # two loops may take at most this many times the CPU time of one loop
# The values are the numbers of clusters, of event loops of each cluster, of threads, and of
# requests that each thread has in flight.
CASES = {
    "1 loop, 1 thread": (1, 1, 1, 100),
    "1 loop, 4 threads": (1, 1, 4, 100),
    "2 loops, 1 thread": (1, 2, 1, 100),
    "2 loops, 4 threads": (1, 2, 4, 100),
    "4 loops, 8 threads": (1, 4, 8, 100),
    "2 clusters, 2 threads": (2, 1, 2, 100),
    "4 clusters, 4 threads": (4, 1, 4, 100),
    "alone: 1 loop, 1 thread": (1, 1, 1, 1),
    "alone: 1 loop, 4 threads": (1, 1, 4, 1),
    "alone: 2 loops, 4 threads": (1, 2, 4, 1),
}


def measure(
    address: str, port: int, counts: tuple[int, int, int, int], seconds: float
) -> list[float]:
    """Insert in a new process; return [number of inserts, wall time, CPU time, start time].

    The times are in seconds.

    :param counts: the numbers of clusters, of loops of each cluster, of threads, and of requests in
        flight.
    """
    arguments = [address, str(port), *map(str, counts), str(seconds)]
    figures: list[float] = peers.run(sys.executable, WORKER, arguments, peers.own_settings())
    return figures


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Inserts of several threads",
        duration_text="1 minute",
        quick_duration_text="5 s",
    )
    bench.add_option("--seconds", type=float, default=2.0)
    bench.add_option("--rounds", type=int, default=3)
    options = bench.start(quick={"seconds": 0.2, "rounds": 1})
    cores = os.cpu_count() or 1
    best: dict[str, dict[str, float]] = {}
    with (
        null_server.running() as (address, port),
        bench.progress(options.rounds * len(CASES)) as bar,
    ):
        for _ in range(options.rounds):
            for name, counts in CASES.items():
                bar.step(name)
                inserts, seconds, cpu, _ = measure(address, port, counts, options.seconds)
                clusters, loops, threads, _ = counts
                figures = {
                    "thousands a second": inserts / seconds / 1000,
                    "us of CPU": cpu / inserts * 1e6,
                    "cores": cpu / seconds,
                    "possible": min(cores, clusters * loops + threads) / (cpu / inserts) / 1000,
                }
                # Keep the round with the least CPU time, because other work on the machine can only
                # add CPU time.
                if name not in best or figures["us of CPU"] < best[name]["us of CPU"]:
                    best[name] = figures
    bench.show_table(f"the best of {options.rounds} rounds, {cores} processors", best)
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        ratio = best["2 loops, 4 threads"]["us of CPU"] / best["1 loop, 1 thread"]["us of CPU"]
        text = f"two loops: {ratio:.2f} times the CPU time of one, at most {MOST_CPU}"
        bench.add_target(text, ratio <= MOST_CPU)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
