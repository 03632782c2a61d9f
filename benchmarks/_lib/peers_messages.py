"""The comparison of messages and rows with the peer drivers, in one run.

The peers' environments are those of `_lib.peers`. Every driver's times come from processes of
their own that run `_lib.worker_messages`. The drivers take turns, round by round, so that
other work of the machine falls on all of them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks._lib import peers
from benchmarks._lib.requirements import need

WORKER = Path(__file__).with_name("worker_messages.py")

Times = dict[str, float]


class Lane(NamedTuple):
    """One column of the table: an interpreter, its environment variables, the worker's argument."""

    name: str
    python: str
    settings: dict[str, str]
    api: str


def peer_lanes(peer: str, extra: Sequence[str] = ("numpy",)) -> list[Lane]:
    """Return a peer's lanes: as it is installed, and without its compiled modules.

    If it cannot be installed, there are none, and a line says why.
    """
    try:
        python = peers.environment(peer, extra)
    except subprocess.CalledProcessError as error:
        print(f"{peer} cannot be installed: {error}", file=sys.stderr)
        return []
    return [
        Lane(peer, str(python), {}, "api"),
        Lane(
            f"{peer}, pure",
            str(python),
            {"PYTHONPATH": str(without_compiled_modules(peer, python))},
            "api",
        ),
    ]


def without_compiled_modules(peer: str, python: Path) -> Path:
    """Return a directory with a copy of the peer's package that has no compiled modules in it."""
    home = peers.cache() / f"{peer}-without-compiled-modules"
    if not home.exists():
        found = subprocess.run(
            [str(python), "-c", "import cassandra; print(cassandra.__path__[0])"],
            cwd=peers.cache(), check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        unfinished = home.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
        shutil.copytree(found.stdout.strip(), unfinished / "cassandra", ignore=ignored)
        unfinished.rename(home)
    return home


def own_lanes() -> list[Lane]:
    """Return our lanes: the engine's functions and the drop-in messages, compiled and pure."""
    here = {"PYTHONPATH": str(peers.TREE)}
    return [
        Lane(f"turbocql {impl} {api}", sys.executable, {**here, "CASS_DRIVER_IMPL": impl}, api)
        for api in ("engine", "api")
        for impl in ("c", "python")
    ]


def compare(group: str, targets: dict[str, float], description: str) -> None:
    """Measure `group` ("messages" or "rows") in every lane, print the table and write the JSON."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--rounds", type=int, default=3, help="each lane's best of so many processes"
    )
    parser.add_argument("--json", type=Path, help="write the times there, in nanoseconds")
    parser.add_argument("--no-peers", action="store_true", help="measure this driver alone")
    options = parser.parse_args()
    need("geomet", "numpy")
    peers.cache().mkdir(parents=True, exist_ok=True)
    lanes = own_lanes()
    if not options.no_peers:
        lanes += [lane for peer in peers.PEERS for lane in peer_lanes(peer)]
    times: dict[str, Times] = {lane.name: {} for lane in lanes}
    for _ in range(options.rounds):
        for lane in lanes:
            for case, spent in peers.run(
                lane.python, WORKER, (group, lane.api), lane.settings
            ).items():
                times[lane.name][case] = min(spent, times[lane.name].get(case, spent))
    print(table(times, targets))
    if options.json:
        options.json.write_text(
            json.dumps({"unit": "ns", "targets": targets, "times": times}, indent=2) + "\n"
        )


def table(times: dict[str, Times], targets: dict[str, float]) -> str:
    """Return a line for each case: nanoseconds in every lane, and the compiled lane's target."""
    cases = list(next(iter(times.values())))
    lanes = list(times)
    width = max(map(len, cases))
    lines = [
        " " * width
        + "".join(f"{index:>12}" for index in range(1, len(lanes) + 1))
        + f"{'target 1':>12}"
    ]
    for case in cases:
        cells = "".join(f"{times[lane].get(case, float('nan')):>12,.0f}" for lane in lanes)
        target = f"{targets[case]:>12,.0f}" if case in targets else " " * 12
        lines.append(f"{case:<{width}}{cells}{target}")
    legend = [f"{index}: {lane}" for index, lane in enumerate(lanes, 1)]
    return "\n".join(["nanoseconds, best of all rounds", *lines, *legend])
