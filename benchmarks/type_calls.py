"""The public calls of type classes (``Int32Type.serialize(5, 4)``) beside other drivers.

    python benchmarks/type_calls.py [--json FILE] [--no-peers] [--check]

Each driver runs the same cases in a process of its own (worker_type_calls.py), one after the
other, several times in turn, so that a busy machine slows all of them; the least time of each
counts. ``--check`` ends with 1 if a call of the compiled lane costs more than the fastest peer's.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # by its path, from anywhere

from benchmarks._lib import peers
from benchmarks._lib.tables import show_table
from benchmarks._lib.worker_type_calls import CALLS

SCRIPT = Path(__file__).resolve().parent / "_lib" / "worker_type_calls.py"
PASSES = 3
OURS = "turbocql c"

Times = dict[str, list[float | None]]


def least(results: list[dict[str, Any]]) -> Times:
    """Return the least times of several passes of one driver."""
    merged: Times = dict(results[0]["cases"])
    for other in results[1:]:
        for name, times in other["cases"].items():
            merged[name] = [
                min((time for time in pair if time is not None), default=None)
                for pair in zip(merged[name], times, strict=True)
            ]
    return merged


def measure(with_peers: bool) -> dict[str, Times]:
    """Return every driver's times by its name."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for _ in range(PASSES):
        for lane in ("python", "c"):
            runs.setdefault(f"turbocql {lane}", []).append(peers.run_ours(lane, SCRIPT))
        for peer in peers.PEERS if with_peers else ():
            runs.setdefault(peer, []).append(peers.run_peer(peer, SCRIPT))
    return {name: least(results) for name, results in runs.items()}


def rows(result: dict[str, Times]) -> list[list[str]]:
    """Return the table: case, call, each driver's ns, and the fastest peer's ns over ours."""
    drivers = list(result)
    table = [["case", "call", *drivers, "peer / ours"]]
    for name, ours in result[OURS].items():
        for at, call in enumerate(CALLS):
            times = [result[driver].get(name, [None] * len(CALLS))[at] for driver in drivers]
            ratio = ratio_of(result, name, at)
            cells = ["-" if time is None else f"{time:,.0f}" for time in times]
            table.append([name, call, *cells, "-" if ratio is None else f"{ratio:.1f}"])
        assert len(ours) == len(CALLS)
    return table


def ratio_of(result: dict[str, Times], name: str, at: int) -> float | None:
    """Return the fastest peer's time over ours; None if there is none to compare."""
    ours = result[OURS][name][at]
    others = [result[peer][name][at] for peer in peers.PEERS if peer in result]
    known = [time for time in others if time is not None]
    return min(known) / ours if known and ours else None


def main() -> None:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--json", type=Path, default=peers.cache() / "type_calls.json", help="where the JSON goes"
    )
    parser.add_argument("--no-peers", action="store_true", help="leave the other drivers out")
    parser.add_argument("--check", action="store_true", help="fail if a peer's call costs less")
    arguments = parser.parse_args()
    result = measure(not arguments.no_peers)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(result, indent=1))
    show_table(rows(result), names=2)
    slower = [
        f"{name}.{call}"
        for name in result[OURS]
        for at, call in enumerate(CALLS)
        if (ratio_of(result, name, at) or 1) < 1
    ]
    print(
        f"\nns per call, least of {PASSES} runs. Slower than a peer: {', '.join(slower) or 'none'}"
    )
    print(f"written to {arguments.json}", file=sys.stderr)
    if arguments.check and slower:
        sys.exit(1)


if __name__ == "__main__":
    main()
