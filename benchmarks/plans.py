"""Times of query plans, replica look-ups and ring building, compared with other drivers on PyPI.

    python benchmarks/plans.py [--no-peers] [--hosts 1000] [--vnodes 256]

Each driver runs in a separate process, with its public API only. Plans: the time to compute the
routing key, the token and the first host of the plan for a new bound statement. Ring: the time to
build the token ring from the tokens as strings, and to look up the replicas of one key. The
keyspace has three replicas in each of three data centres.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks._lib import peers
from benchmarks._lib.report import Benchmark
from benchmarks._lib.tables import least_over

SCRIPT = Path(__file__).resolve().parent / "_lib" / "worker_plans.py"
FIRST = "first host and token, TokenAware(DCAware)"
TARGETS = {FIRST: 1000.0, "get_replicas(keyspace, key)": 1000.0}  # at most, in nanoseconds
TIMES = {FIRST: 10.0}  # this driver must be this many times as fast as the fastest peer
RING_TARGET = 1.0  # the most seconds to build the ring


Rows = dict[str, dict[str, float | None]]


def measure(bench: Benchmark, drivers: list[str]) -> tuple[Rows, Rows]:
    """Return two tables: the nanoseconds of query plans, and the seconds to build the token ring.

    Each figure is the best of all passes, in which the drivers take turns. If a driver fails to
    build the ring, its figure is None.
    """
    options = bench.options
    sizes = [str(options.hosts), str(options.vnodes)]
    ring = f"ring of {options.hosts} x {options.vnodes}"
    rows: Rows = {}
    rings: Rows = {ring: {}}
    with bench.progress((options.passes + 1) * len(drivers)) as bar:
        for _ in range(options.passes):
            for driver in drivers:
                bar.step(driver)
                for name, time in peers.run_any(driver, SCRIPT, sizes)["plans"].items():
                    row = rows.setdefault(name, {})
                    row[driver] = min(row.get(driver) or time, time)
        # Building the ring takes seconds, so do it only once with each driver.
        for driver in drivers:
            bar.step(f"{driver}, ring")
            try:
                rings[ring][driver] = peers.run_any(driver, SCRIPT, [*sizes, "ring"])["ring"]
            except peers.WorkerFailed as error:
                bar.clear()
                bench.note(f"{driver} did not build the ring: {str(error).splitlines()[-1]}")
                rings[ring][driver] = None
    return rows, rings


def judge(bench: Benchmark, ours: str, rows: Rows, rings: Rows) -> None:
    """Check the best figures against this benchmark's targets, and record each result.

    With ``--check``, the benchmark fails if a target is missed.

    :param ours: the name of this driver's column.
    """
    ratios = least_over(rows, ours, peers.PEERS)
    for name, limit in TARGETS.items():
        time = rows[name][ours]
        if time is not None:
            bench.add_target(f"{name}: {time:,.0f} ns, at most {limit:,.0f}", time <= limit)
    for name, least_ratio in TIMES.items():
        ratio = ratios.get(name)
        if ratio is not None:
            text = f"{name}: {ratio:.1f} times as fast as the peers, at least {least_ratio:g}"
            bench.add_target(text, ratio >= least_ratio)
    for name, row in rings.items():
        time = row[ours]
        if time is not None:
            bench.add_target(f"{name}: {time:.2f} s, at most {RING_TARGET:g}", time <= RING_TARGET)


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Query plans and replicas, ns a statement, and the ring's building",
        duration_text="1 minute",
        quick_duration_text="6 s",
        with_peers=True,
    )
    bench.add_option("--hosts", type=int, default=1000, help="of the ring that is built")
    bench.add_option("--vnodes", type=int, default=256, help="tokens of each of them")
    bench.add_option("--passes", type=int, default=2, help="the least of so many counts")
    bench.start(quick={"hosts": 100, "vnodes": 64, "passes": 1})
    drivers = [*peers.own_lanes(bench), *peers.prepare(bench)]
    rows, rings = measure(bench, drivers)
    ours = drivers[0]
    bench.show_table("ns a statement", rows, {"peer / ours": least_over(rows, ours, peers.PEERS)})
    bench.show_table("seconds", rings, {"peer / ours": least_over(rings, ours, peers.PEERS)})
    judge(bench, ours, rows, rings)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
