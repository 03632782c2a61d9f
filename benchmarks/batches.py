"""Batches beside the drivers on PyPI, in one run, against a server that answers at once.

    python -m benchmarks.batches [--no-peers] [--json FILE]

Building: 100 statements of five columns are bound and put into a batch. The figures are us of CPU,
and the memory blocks that stay allocated for each row. Executing: the CPU of the client for a batch
of 50 such statements, built and executed, 100 in flight. Each driver runs in a process of its own,
by its public API alone. The drivers take turns, and the least of the passes counts. On a busy
machine figures of CPU grow for all alike.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # by its path, from anywhere

from benchmarks._lib import null_server, peers
from benchmarks._lib.requirements import need

HERE = Path(__file__).resolve().parent
BUILDING = HERE / "_lib" / "worker_batches.py"
EXECUTING = HERE / "_lib" / "worker_requests.py"
PASSES = 2
CASES = "batch of 50"
BUILD_TARGET = 10.0  # times as fast as `add` of the fastest peer
BLOCKS_TARGET = 3.0  # a row
EXECUTE_TARGET = 40.0  # us


def run(driver: str, script: Path, arguments: list[str]) -> Any:
    """Return the output of `script` in the environment of `driver`."""
    if driver in (*peers.PEERS, "acsylla"):
        extra = ("uvloop",) if driver == "acsylla" else ("numpy",)
        return peers.run(peers.environment(driver, extra), script, arguments, {})
    return peers.run_ours(driver.partition(" ")[2], script, arguments)


def measure(drivers: list[str]) -> dict[str, Any]:
    """Return each driver's costs: of building, (us, blocks a row) by case, and of executing.

    The latter are us by face and case.
    """
    found: dict[str, Any] = {driver: {"build": {}, "execute": {}} for driver in drivers}
    with null_server.running() as (address, port):
        place = [address, str(port)]
        for _ in range(PASSES):
            for driver in drivers:
                if driver != "acsylla":
                    for case, (time, blocks) in run(driver, BUILDING, place).items():
                        known = found[driver]["build"].get(case, [time, blocks])
                        found[driver]["build"][case] = [min(known[0], time), min(known[1], blocks)]
                for face in faces(driver):
                    for case, figures in run(driver, EXECUTING, [face, *place, CASES]).items():
                        name = f"{case.partition(',')[0]}, {face}"
                        known = found[driver]["execute"].get(name, figures["us"])
                        found[driver]["execute"][name] = min(known, figures["us"])
    return found


def faces(driver: str) -> list[str]:
    if driver == "acsylla":
        return ["acsylla"]
    return ["blocking"] if driver in peers.PEERS else ["blocking", "aio"]


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def report(found: dict[str, Any]) -> list[str]:
    """Return the figures and the targets as lines of text."""
    lines = []
    for driver, figures in found.items():
        for case, (time, blocks) in figures["build"].items():
            lines.append(
                f"{driver:20} building 100 by {case:32} {time:9.1f} us {blocks:6.2f} blocks a row"
            )
        for case, time in figures["execute"].items():
            lines.append(f"{driver:20} {case:48} {time:9.1f} us")
    ours = found["turbocql c"]
    many, blocks = ours["build"]["add_many"]
    others = [
        figures["build"]["add"][0] for driver, figures in found.items() if driver in peers.PEERS
    ]
    if others:
        ratio = min(others) / many
        lines.append(
            f"add_many beside the fastest peer's add: {ratio:.0f} times as fast; "
            f"target {BUILD_TARGET:.0f}: {verdict(ratio >= BUILD_TARGET)}"
        )
    lines.append(
        f"blocks a row by add_many: {blocks:.2f}; "
        f"target {BLOCKS_TARGET:.0f}: {verdict(blocks <= BLOCKS_TARGET)}"
    )
    for case, time in ours["execute"].items():
        lines.append(
            f"{case}: {time:.1f} us; target {EXECUTE_TARGET:.0f}: {verdict(time <= EXECUTE_TARGET)}"
        )
    return lines


def main() -> None:
    """Measure, print, write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-peers", action="store_true", help="leave the other drivers out")
    parser.add_argument(
        "--json", type=Path, default=peers.cache() / "batches.json", help="where the JSON goes"
    )
    arguments = parser.parse_args()
    need("geomet", "numpy")
    drivers = [
        "turbocql c",
        "turbocql python",
        *(() if arguments.no_peers else (*peers.PEERS, "acsylla")),
    ]
    found = measure(drivers)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(found, indent=1))
    print("\n".join(report(found)))


if __name__ == "__main__":
    main()
