"""The cost of results: rows, DataFrames and matrices of a page, beside the drivers on PyPI.

    python -m benchmarks.results

A peer's DataFrame is the faster of pandas over its rows and pandas over the arrays of its NumPy
handler. All drivers run in one go, in turns.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # by its path, from anywhere

from benchmarks._lib import peers
from benchmarks._lib.peers_messages import WORKER, Times, own_lanes, peer_lanes, table
from benchmarks._lib.requirements import need

FRAMES = ("5000 x 5, DataFrame of rows", "5000 x 5, DataFrame of arrays")

# (what, our case, the peers' cases, how many times faster it has to be), for the compiled and for
# the pure lane.
COMPILED = [
    ("tuples", "5000 x 5, tuples", ("5000 x 5, tuples",), 2.5),
    ("named tuples", "5000 x 5, named tuples", ("5000 x 5, named tuples",), 3.0),
    ("Arrow beside any DataFrame", "5000 x 5, Arrow", FRAMES, 15.0),
    ("vectors to lists", "1000 vectors, lists", ("1000 vectors, lists",), 12.0),
    ("vectors to a matrix", "1000 vectors, matrix", ("1000 vectors, matrix",), 300.0),
]
PURE = [
    ("tuples", "5000 x 5, tuples", ("5000 x 5, tuples",), 1.5),
    ("named tuples", "5000 x 5, named tuples", ("5000 x 5, named tuples",), 1.5),
    ("Arrow beside any DataFrame", "5000 x 5, Arrow", FRAMES, 1.5),
    ("vectors to lists", "1000 vectors, lists", ("1000 vectors, lists",), 1.5),
    ("vectors to a matrix", "1000 vectors, matrix", ("1000 vectors, matrix",), 1.5),
]


def judged(times: dict[str, Times]) -> list[str]:
    """Return a line for each target, beside the fastest peer of the same kind."""
    lines = []
    kinds: list[
        tuple[str, list[tuple[str, str, tuple[str, ...], float]], Callable[[str], bool]]
    ] = [
        ("c", COMPILED, lambda name: not name.endswith("pure")),
        ("python", PURE, lambda name: name.endswith("pure")),
    ]
    for impl, targets, is_peer in kinds:
        ours = times[f"turbocql {impl} engine"]
        theirs = [
            lane
            for name, lane in times.items()
            if not name.startswith("turbocql") and is_peer(name)
        ]
        for what, case, cases, factor in targets:
            best = min(
                (lane[name] for lane in theirs for name in cases if name in lane), default=None
            )
            if best is not None:
                ratio = best / ours[case]
                verdict = "met" if ratio >= factor else "MISSED"
                lines.append(
                    f"{impl:<7}{what:<28}{ours[case] / 1e6:>10.3f} ms {best / 1e6:>10.3f} ms "
                    f"{ratio:>8.1f} x  (target {factor:g} x: {verdict})"
                )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="each lane's best of so many processes"
    )
    parser.add_argument("--json", type=Path, help="write the times there, in nanoseconds")
    parser.add_argument("--no-peers", action="store_true", help="measure this driver alone")
    options = parser.parse_args()
    need("geomet", "numpy", "pyarrow")
    peers.cache().mkdir(parents=True, exist_ok=True)
    lanes = [lane for lane in own_lanes() if lane.api == "engine"]
    if not options.no_peers:
        lanes += [lane for peer in peers.PEERS for lane in peer_lanes(peer, ("numpy", "pandas"))]
    times: dict[str, Times] = {lane.name: {} for lane in lanes}
    for _ in range(options.rounds):
        for lane in lanes:
            for case, spent in peers.run(
                lane.python, WORKER, ("results", lane.api), lane.settings
            ).items():
                times[lane.name][case] = min(spent, times[lane.name].get(case, spent))
    for name in ("turbocql c engine", *[name for name in times if name != "turbocql c engine"]):
        print(table({name: times[name]}, {}))
    print("", *judged(times), sep="\n")
    if options.json:
        options.json.write_text(json.dumps({"unit": "ns", "times": times}, indent=2) + "\n")


if __name__ == "__main__":
    main()
