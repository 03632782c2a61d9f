"""The cost of `Cluster.connect` to one node on loopback, compared with other drivers.

    python benchmarks/connect.py

Each driver connects to `_lib.null_server` in several new processes; the drivers take turns. The
figures are the wall and CPU milliseconds of a process's first and second connect, the best of all
processes. The time to import the driver and uvloop is not included.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks._lib import null_server, peers
from benchmarks._lib.report import Benchmark
from benchmarks._lib.tables import least_over

WORKER = Path(__file__).with_name("_lib") / "worker_connect.py"
TARGETS = {"first connect, wall": 7.0, "first connect, CPU": 6.0}  # at most, in milliseconds
PEERS = ("cassandra-driver", "scylladb-rs-driver")
# The headings of the rows. The value says where the figure of the row is in the worker's JSON.
CASES = {
    f"{which} connect, {name}": (which, figure)
    for which in ("first", "second")
    for name, figure in (("wall", "wall"), ("CPU", "cpu"))
}


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Cluster.connect to one node, ms",
        duration_text="20 s",
        quick_duration_text="5 s",
        with_peers=True,
    )
    bench.add_option("--repeats", type=int, default=10, help="the best of so many processes")
    options = bench.start(quick={"repeats": 3})
    bench.need_program("cc")  # to compile the null server
    drivers = [*peers.own_lanes(bench), *peers.prepare(bench, PEERS)]
    rows: dict[str, dict[str, float]] = {case: {} for case in CASES}
    steps = options.repeats * len(drivers)
    with null_server.running() as (address, port), bench.progress(steps) as bar:
        for _ in range(options.repeats):
            for driver in drivers:
                bar.step(driver)
                measured = peers.run_any(driver, WORKER, [address, str(port)])
                # Keep the best of all repeats.
                for case, (connect_name, figure) in CASES.items():
                    milliseconds = float(measured[connect_name][figure])
                    rows[case][driver] = min(milliseconds, rows[case].get(driver, milliseconds))
    bench.show_table("milliseconds", rows, {"peer / ours": least_over(rows, drivers[0], PEERS)})
    for case, limit in TARGETS.items():
        milliseconds = rows[case][drivers[0]]
        bench.add_target(f"{case}: {milliseconds:.2f} ms, at most {limit:g}", milliseconds <= limit)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
