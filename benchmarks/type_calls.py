"""Times of type classes' public methods, such as ``Int32Type.serialize(5, 4)``.

    python benchmarks/type_calls.py [--no-peers] [--check]

Each driver runs the same cases in a separate process (_lib/worker_type_calls.py). The drivers take
turns in several passes, so that a busy machine slows down all of them; the least time of each call
counts. ``--check`` exits with 1 if a call of the compiled modules takes longer than the same call
of the fastest peer.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks._lib import peers
from benchmarks._lib.report import Benchmark
from benchmarks._lib.tables import least_over

SCRIPT = Path(__file__).resolve().parent / "_lib" / "worker_type_calls.py"
CALLS = ("serialize", "deserialize", "to_binary", "from_binary")

Times = dict[str, list[float | None]]


def least(results: list[dict[str, Any]]) -> Times:
    """Return the least time of each call among several passes of one driver.

    :param results: for each pass, the times by case. A time is None if the driver lacks the call.
    """
    merged: Times = dict(results[0]["cases"])
    for other in results[1:]:
        for name, times in other["cases"].items():
            merged[name] = [
                min((time for time in times_of_call if time is not None), default=None)
                for times_of_call in zip(merged[name], times, strict=True)
            ]
    return merged


def measure(bench: Benchmark, drivers: list[str]) -> dict[str, Times]:
    """Return the least time of each call over all passes, by driver."""
    runs: dict[str, list[dict[str, Any]]] = {driver: [] for driver in drivers}
    with bench.progress(bench.options.passes * len(drivers)) as bar:
        for _ in range(bench.options.passes):
            for driver in drivers:
                bar.step(driver)
                runs[driver].append(peers.run_any(driver, SCRIPT))
    return {name: least(results) for name, results in runs.items()}


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Public calls of type classes, ns a call",
        duration_text="1 minute",
        quick_duration_text="5 s",
        with_peers=True,
    )
    bench.add_option("--passes", type=int, default=3, help="the least of so many counts")
    bench.start(quick={"passes": 1})
    drivers = [*peers.own_lanes(bench), *peers.prepare(bench)]
    measured = measure(bench, drivers)
    ours = drivers[0]
    rows = {
        f"{name}, {call}": {
            driver: times.get(name, [None] * len(CALLS))[index]
            for driver, times in measured.items()
        }
        for name in measured[ours]
        for index, call in enumerate(CALLS)
    }
    ratios = least_over(rows, ours, peers.PEERS)
    bench.show_table("ns a call", rows, {"peer / ours": ratios})
    slower = [case for case, ratio in ratios.items() if ratio is not None and ratio < 1]
    if ratios:
        bench.add_target(f"slower than a peer: {', '.join(slower) or 'none'}", not slower)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
