"""The cost of a request for the client, beside the drivers on PyPI.

    python -m benchmarks.requests

All of them talk to `_lib.null_server`, which answers at once, in processes of their own and
in turns. Figures are microseconds of CPU of the client's process for a request (of a page for a
row), the best pass of all rounds. strace counts system calls for a request, if it is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # by its path, from anywhere

from benchmarks._lib import null_server, peers
from benchmarks._lib.requirements import need

WORKER = Path(__file__).with_name("_lib") / "worker_requests.py"

# Microseconds of client CPU.
TARGETS: dict[str, dict[str, float]] = {
    "aio": {
        "insert, 100 in flight": 5.0,
        "insert, one at a time": 20.0,
        "select of one row, 100 in flight": 6.5,
        "select of one row, one at a time": 21.0,
        "batch of 50 by add_many, 100 in flight": 40.0,
        "vector<float,768> insert, 100 in flight": 8.0,
        "page of 5,000 rows x 5, a row": 0.6,
    },
    "blocking": {
        "insert, 100 in flight": 7.0,
        "insert, one at a time": 25.0,
        "select of one row, 100 in flight": 8.0,
        "select of one row, one at a time": 25.0,
    },
}
MOST_SYSTEM_CALLS = 0.25
MOST_WITHOUT_UVLOOP = 1.5  # times what it takes with uvloop
# Of a blocking call, in the same run as one that is awaited.
MOST_FOR_BLOCKING = 1.4  # times its CPU
MOST_LATER = 25.0  # microseconds

Figures = dict[str, dict[str, float]]


class Lane(NamedTuple):
    """One column of the table."""

    name: str
    python: str
    settings: dict[str, str]
    face: str


def our_lanes() -> list[Lane]:
    compiled = {"PYTHONPATH": str(peers.TREE), "CASS_DRIVER_IMPL": "c"}
    pure = {**compiled, "CASS_DRIVER_IMPL": "python"}
    return [
        Lane("aio", sys.executable, compiled, "aio"),
        Lane("aio, asyncio", sys.executable, compiled, "aio-asyncio"),
        Lane("blocking", sys.executable, compiled, "blocking"),
        Lane("aio, pure", sys.executable, pure, "aio"),
    ]


def peer_lanes() -> list[Lane]:
    lanes = []
    for peer, face in (
        ("cassandra-driver", "blocking"),
        ("scylla-driver", "blocking"),
        ("acsylla", "acsylla"),
        ("scyllapy", "scyllapy"),
    ):
        try:
            lanes.append(Lane(peer, str(peers.environment(peer, ("numpy", "uvloop"))), {}, face))
        except subprocess.CalledProcessError as error:
            print(f"{peer} cannot be installed: {error}", file=sys.stderr)
    return lanes


def environment_of(lane: Lane) -> dict[str, str]:
    inherited = {
        key: value
        for key, value in os.environ.items()
        if key not in ("PYTHONPATH", "CASS_DRIVER_IMPL")
    }
    return {**inherited, **lane.settings}


def measure(lane: Lane, address: str, port: int, cases: list[str]) -> Figures:
    command = [lane.python, str(WORKER), lane.face, address, str(port), *cases]
    done = subprocess.run(
        command, env=environment_of(lane), cwd=peers.cache(), stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        print(f"{lane.name} failed with {done.returncode}", file=sys.stderr)
        return {}
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def system_calls(lane: Lane, address: str, port: int) -> float | None:
    """Return the system calls of a request with 100 in flight. None without strace."""
    if shutil.which("strace") is None:
        return None
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        for times in ("1", "11"):
            report = Path(folder, times)
            command = [
                "strace",
                "-f",
                "-c",
                "-o",
                str(report),
                lane.python,
                str(WORKER),
                lane.face,
                address,
                str(port),
                "calls",
                times,
            ]
            subprocess.run(
                command,
                env=environment_of(lane),
                cwd=peers.cache(),
                stdout=subprocess.PIPE,
                check=True,
            )
            total = re.search(
                r"^\s*100\.00\s+\S+\s+(?:\d+\s+)?(\d+)\s.*total$", report.read_text(), re.MULTILINE
            )
            if total is None:
                return None
            counts.append(int(total[1]))
    return (counts[1] - counts[0]) / 100_000


def show(lanes: list[Lane], best: dict[str, dict[str, dict[str, Any]]]) -> None:
    cases = list(dict.fromkeys(case for lane in lanes for case in best[lane.name]))
    print("us of client CPU".ljust(48) + "".join(lane.name.rjust(18) for lane in lanes))
    for case in cases:
        figures = [best[lane.name].get(case) for lane in lanes]
        print(
            case.ljust(48)
            + "".join((f"{found['us']:.2f}" if found else "-").rjust(18) for found in figures)
        )
    print("\nrequests a second".ljust(49) + "".join(lane.name.rjust(18) for lane in lanes))
    for case in cases:
        figures = [best[lane.name].get(case) for lane in lanes]
        print(
            case.ljust(48)
            + "".join((f"{found['rate']:,.0f}" if found else "-").rjust(18) for found in figures)
        )


def judge(best: dict[str, dict[str, dict[str, Any]]]) -> None:
    print()
    for lane, targets in TARGETS.items():
        for case, target in targets.items():
            found = best.get(lane, {}).get(case)
            if found is not None:
                verdict = "met" if found["us"] <= target else "MISSED"
                print(f"{lane}: {case}: {found['us']:.2f} us, target {target}: {verdict}")
    for case, found in best.get("aio", {}).items():
        plain = best.get("aio, asyncio", {}).get(case)
        if plain is not None:
            ratio = plain["us"] / found["us"]
            verdict = "met" if ratio <= MOST_WITHOUT_UVLOOP else "MISSED"
            print(
                f"without uvloop: {case}: {ratio:.2f} times, "
                f"target {MOST_WITHOUT_UVLOOP}: {verdict}"
            )


def judge_blocking(best: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Compare one blocking call at a time with one that is awaited."""
    for case, found in best.get("blocking", {}).items():
        awaited = best.get("aio", {}).get(case)
        if awaited is None or "one at a time" not in case:
            continue
        ratio = found["us"] / awaited["us"]
        later = 1e6 / found["rate"] - 1e6 / awaited["rate"]
        is_met = ratio <= MOST_FOR_BLOCKING and later <= MOST_LATER
        print(
            f"blocking beside aio: {case}: {ratio:.2f} times the CPU, {later:.1f} us later, "
            f"targets {MOST_FOR_BLOCKING} and {MOST_LATER}: {'met' if is_met else 'MISSED'}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true", help="this tree alone")
    parser.add_argument("cases", nargs="*", help="words that the names of the wanted cases hold")
    options = parser.parse_args()
    need("geomet", "numpy", "uvloop")
    peers.cache().mkdir(parents=True, exist_ok=True)
    lanes = our_lanes() + ([] if options.no_peers else peer_lanes())
    best: dict[str, dict[str, dict[str, Any]]] = {lane.name: {} for lane in lanes}
    with null_server.running() as (address, port):
        for _ in range(options.rounds):
            for lane in lanes:
                for case, found in measure(lane, address, port, options.cases).items():
                    known = best[lane.name].setdefault(case, dict(found))
                    known["us"] = min(known["us"], found["us"])
                    known["rate"] = max(known["rate"], found["rate"])
        show(lanes, best)
        judge(best)
        judge_blocking(best)
        calls = system_calls(lanes[0], address, port)
        if calls is not None:
            verdict = "met" if calls <= MOST_SYSTEM_CALLS else "MISSED"
            print(
                f"aio: system calls a request, 100 in flight: {calls:.2f}, "
                f"target {MOST_SYSTEM_CALLS}: {verdict}"
            )


if __name__ == "__main__":
    main()
