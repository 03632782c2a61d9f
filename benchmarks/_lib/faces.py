"""Runs `_lib.worker_requests` through each API of this driver, and through other drivers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks._lib import peers
from benchmarks._lib.report import Benchmark
from benchmarks._lib.requirements import has

WORKER = Path(__file__).with_name("worker_requests.py")

# By lane and case: "us" of CPU, and "rate" per second.
Best = dict[str, dict[str, dict[str, float]]]


class Lane(NamedTuple):
    """One column of the table."""

    name: str
    python: str
    settings: dict[str, str]
    face: str
    port: int | None = None  # another port, if the lane has its own server
    worker: Path = WORKER


def our_lanes() -> list[Lane]:
    """Return this driver's lanes: its APIs on the compiled modules, if there are any, and in pure
    Python.
    """
    settings = peers.own_settings()
    compiled = {**settings, "CASS_DRIVER_IMPL": peers.lanes()[0]}
    pure = {**settings, "CASS_DRIVER_IMPL": "python"}
    loops = ["aio", "aio-asyncio"] if has("uvloop") else ["aio-asyncio"]
    names = {"aio": "aio", "aio-asyncio": "aio, asyncio"}
    lanes = [Lane(names[loop], sys.executable, compiled, loop) for loop in loops]
    lanes.append(Lane("blocking", sys.executable, compiled, "blocking"))
    lanes.append(Lane("aio, pure", sys.executable, pure, loops[0]))
    return lanes


def environment_of(lane: Lane) -> dict[str, str]:
    """Return the environment variables of a lane's processes."""
    return {**peers.inherited(), **lane.settings}


def measure(
    bench: Benchmark, lanes: Sequence[Lane], address: str, port: int, cases: Sequence[str]
) -> Best:
    """Return the least CPU and the highest rate of all rounds; the lanes take turns.

    If a lane fails, it has no figures, and a line reports it.
    """
    best: Best = {lane.name: {} for lane in lanes}
    failed = set()
    with bench.progress(bench.options.rounds * len(lanes)) as bar:
        for _ in range(bench.options.rounds):
            for lane in lanes:
                bar.step(lane.name)
                if lane.name in failed:
                    continue
                arguments = [lane.face, address, str(lane.port or port), *cases]
                try:
                    figures = peers.run(lane.python, lane.worker, arguments, lane.settings)
                except peers.WorkerFailed as error:
                    bar.clear()
                    bench.note(f"{lane.name} is left out: {str(error).splitlines()[-1]}")
                    failed.add(lane.name)
                    continue
                for case, measured in figures.items():
                    least = best[lane.name].setdefault(case, dict(measured))
                    least["us"] = min(least["us"], measured["us"])
                    least["rate"] = max(least["rate"], measured["rate"])
    return best


def rows_of(best: Best, figure: str) -> dict[str, dict[str, float | None]]:
    """Return the rows of a table, with one kind of figure: "us" or "rate"."""
    cases = dict.fromkeys(case for measured in best.values() for case in measured)
    return {
        case: {
            lane: measured[case][figure] if case in measured else None
            for lane, measured in best.items()
        }
        for case in cases
    }
