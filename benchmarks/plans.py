"""Query plans, replica look-ups and ring building, beside the drivers on PyPI, in one run.

    python -m benchmarks.plans [--no-peers] [--hosts 1000] [--vnodes 256] [--json FILE]

Each driver runs in a process of its own, by its public API alone. Plans: the first host of a plan
for a bound statement that was not looked at before, its routing key and token included. Ring: from
the tokens as texts to the replicas of one key, for one keyspace with three replicas in each of
three data centres.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # by its path, from anywhere

from benchmarks._lib import peers
from benchmarks._lib.requirements import need
from benchmarks._lib.tables import show_table

SCRIPT = Path(__file__).resolve().parent / "_lib" / "worker_plans.py"
PASSES = 2
FIRST = "first host and token, TokenAware(DCAware)"
TARGETS = {FIRST: 1000.0, "get_replicas(keyspace, key)": 1000.0}  # ns
TIMES = {FIRST: 10.0}  # faster than the faster peer
RING_TARGET = 1.0  # seconds


def run(driver: str, arguments: list[str]) -> Any:
    """Return the worker's output in the environment of `driver`."""
    if driver in peers.PEERS:
        return peers.run_peer(driver, SCRIPT, arguments)
    return peers.run_ours(driver.partition(" ")[2], SCRIPT, arguments)


def measure(drivers: list[str], hosts: int, vnodes: int) -> dict[str, Any]:
    """Measure everything, the best of the passes. The drivers take turns."""
    sizes = [str(hosts), str(vnodes)]
    found: dict[str, Any] = {driver: {"plans": {}, "ring": None} for driver in drivers}
    for _ in range(PASSES):
        for driver in drivers:
            result = run(driver, sizes)
            found[driver]["version"] = result["version"]
            for name, time in result["plans"].items():
                known = found[driver]["plans"].get(name, time)
                found[driver]["plans"][name] = min(known, time)
    for driver in drivers:
        try:
            found[driver]["ring"] = run(driver, [*sizes, "ring"])["ring"]
        except subprocess.CalledProcessError as error:
            print(f"{driver} did not build the ring: {error}", file=sys.stderr)
    return found


def table(found: dict[str, Any], hosts: int, vnodes: int) -> list[list[str]]:
    """Return case, each driver's time, the fastest peer's over ours compiled, and the target."""
    drivers = list(found)
    lines = [["case", *drivers, "peer / ours", "target"]]
    for name, ours in found["turbocql c"]["plans"].items():
        times = [found[driver]["plans"].get(name) for driver in drivers]
        others = [
            time
            for driver, time in zip(drivers, times, strict=True)
            if driver in peers.PEERS and time
        ]
        target, times_faster = TARGETS.get(name), TIMES.get(name)
        said = "" if target is None else f"{target:,.0f} {'met' if ours <= target else 'MISSED'}"
        if times_faster is not None and others:
            faster = min(others) / ours >= times_faster
            said += f", {times_faster:,.0f} times {'met' if faster else 'MISSED'}"
        lines.append(
            [
                f"{name}, ns",
                *["-" if time is None else f"{time:,.0f}" for time in times],
                f"{min(others) / ours:.1f}" if others else "-",
                said,
            ]
        )
    rings = [found[driver]["ring"] for driver in drivers]
    ours = found["turbocql c"]["ring"]
    # None: the worker has said why on standard error.
    met = "" if ours is None else "met" if ours <= RING_TARGET else "MISSED"
    others = [
        time for driver, time in zip(drivers, rings, strict=True) if driver in peers.PEERS and time
    ]
    lines.append(
        [
            f"ring of {hosts} x {vnodes}, s",
            *["-" if time is None else f"{time:,.2f}" for time in rings],
            f"{min(others) / ours:.1f}" if others and ours else "-",
            f"{RING_TARGET:,.0f} {met}",
        ]
    )
    return lines


def main() -> None:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-peers", action="store_true", help="leave the other drivers out")
    parser.add_argument("--hosts", type=int, default=1000, help="of the ring that is built")
    parser.add_argument("--vnodes", type=int, default=256, help="tokens of each of them")
    parser.add_argument(
        "--json", type=Path, default=peers.cache() / "plans.json", help="where the JSON goes"
    )
    arguments = parser.parse_args()
    need("geomet")
    drivers = ["turbocql c", "turbocql python", *(() if arguments.no_peers else peers.PEERS)]
    found = measure(drivers, arguments.hosts, arguments.vnodes)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(found, indent=1))
    show_table(table(found, arguments.hosts, arguments.vnodes), names=1)
    print({driver: result["version"] for driver, result in found.items()})


if __name__ == "__main__":
    main()
