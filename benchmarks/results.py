"""Times of decoding a page to rows, DataFrames and matrices, compared with other drivers on PyPI.

    python benchmarks/results.py

For a peer's DataFrame, the faster of two ways counts: pandas over its rows, or pandas over the
arrays of its NumPy protocol handler. The drivers take turns. If Arrow, pandas, polars or NumPy is
not installed in this driver's environment, the cases that need it are left out.
"""

from __future__ import annotations

import sys

from benchmarks._lib.peers_messages import Times, by_case, own_lanes, peer_lanes, times_of
from benchmarks._lib.report import Benchmark
from benchmarks._lib.requirements import has
from benchmarks._lib.tables import least_over

FRAMES = ("5000 x 5, DataFrame of rows", "5000 x 5, DataFrame of arrays")
PACKAGES = ("numpy", "pandas", "polars", "pyarrow")

# A target: a description, our case, the peers' cases for the same work, and a factor: our case must
# be at least so many times as fast as the fastest of the peers' cases. COMPILED has the targets of
# the compiled modules, PURE those of pure Python.
Target = tuple[str, str, tuple[str, ...], float]
COMPILED: list[Target] = [
    ("tuples", "5000 x 5, tuples", ("5000 x 5, tuples",), 2.5),
    ("named tuples", "5000 x 5, named tuples", ("5000 x 5, named tuples",), 3.0),
    ("Arrow beside any DataFrame", "5000 x 5, Arrow", FRAMES, 15.0),
    ("vectors to lists", "1000 vectors, lists", ("1000 vectors, lists",), 12.0),
    ("vectors to a matrix", "1000 vectors, matrix", ("1000 vectors, matrix",), 300.0),
]
PURE: list[Target] = [(what, case, cases, 1.5) for what, case, cases, _ in COMPILED]


def judge(bench: Benchmark, times: dict[str, Times]) -> None:
    """Check that each case is faster than the fastest peer by the factor of its target.

    Compiled modules are compared with compiled modules, pure Python with pure Python. With
    ``--check``, the benchmark fails if a target is missed.
    """
    for impl, targets in (("c", COMPILED), ("python", PURE)):
        ours = times.get(f"turbocql {impl} engine", {})
        theirs = [
            case_times
            for name, case_times in times.items()
            if not name.startswith("turbocql") and name.endswith("pure") is (impl == "python")
        ]
        for label, our_case, their_cases, factor in targets:
            # The times of all peers for cases that do the same work.
            figures = [
                case_times[name]
                for case_times in theirs
                for name in their_cases
                if name in case_times
            ]
            if figures and our_case in ours:
                ratio = min(figures) / ours[our_case]
                text = f"{impl}: {label}: {ratio:.1f} times as fast, at least {factor:g}"
                bench.add_target(text, ratio >= factor)


def main() -> int:
    bench = Benchmark(
        __doc__,
        "A page of 5,000 rows or 1,000 vectors as rows, frames and matrices, ms a page",
        duration_text="1 minute",
        quick_duration_text="3 s",
        with_peers=True,
    )
    bench.add_option("--rounds", type=int, default=3, help="each lane's best of so many processes")
    bench.start(quick={"rounds": 1})
    lanes = own_lanes(bench, ("engine",)) + peer_lanes(bench, ("numpy", "pandas"))
    absent = [name for name in PACKAGES if not has(name)]
    if absent:
        bench.note(f"cases that need {', '.join(absent)} are left out: pip install them for those")
    times = times_of(bench, "results", lanes)
    rows = by_case(times, 1e6)
    others = [lane.name for lane in lanes if not lane.name.startswith("turbocql")]
    ratios = least_over(rows, lanes[0].name, others)
    bench.show_table("milliseconds a page", rows, {"peer / ours": ratios})
    judge(bench, times)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
