"""Runs `_lib.worker_requests` with each API of this driver and with other drivers.

`_lib.worker_scylladb_rs` measures the same cases with scylladb-rs-driver.

A lane is a driver, one of its APIs and an environment. Each lane is one column of the table.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks._lib import peers
from benchmarks._lib.report import Benchmark
from benchmarks._lib.requirements import has

WORKER = Path(__file__).with_name("worker_requests.py")
RUST_WORKER = Path(__file__).with_name("worker_scylladb_rs.py")

# Figures by lane and case. The figures of a case are {"us": CPU microseconds, "rate": requests per
# second}.
Best = dict[str, dict[str, dict[str, float]]]


class Lane(NamedTuple):
    """A driver, one of its APIs and an environment: one column of the table.

    - `name`: the heading of the column.
    - `python`: the interpreter of the driver's environment.
    - `settings`: further environment variables.
    - `api`: the API, by its name in the worker.
    - `port`: the port of a server for this lane only; None for the server of the other lanes.
    - `worker`: the script that runs the cases and measures them.
    """

    name: str
    python: str
    settings: dict[str, str]
    api: str
    port: int | None = None
    worker: Path = WORKER


def our_lanes() -> list[Lane]:
    """Return the lanes of this driver, the asyncio API first.

    They are the asyncio API on uvloop (if that is installed) and on asyncio's loop, the blocking
    API, and the asyncio API in pure Python. Without compiled modules, all lanes are pure Python.
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


def worker_of(api: str) -> Path:
    """Return the script that measures an API. worker_requests.py measures most APIs."""
    return RUST_WORKER if api.startswith("scylladb-rs") else WORKER


def peer_lane(name: str, distribution: str, api: str, extra: Sequence[str]) -> Lane:
    """Return the lane of another driver. If the driver's environment does not exist, create it.

    :param name: the heading of the column.
    :param distribution: the driver's name on PyPI.
    :param api: the API, by its name in worker_requests.py or worker_scylladb_rs.py.
    :param extra: further distributions that its environment must have.
    """
    python = str(peers.environment(distribution, extra))
    return Lane(name, python, settings={}, api=api, worker=worker_of(api))


def environment_of(lane: Lane) -> dict[str, str]:
    """Return the environment variables of a lane's processes."""
    return {**peers.inherited(), **lane.settings}


def measure(
    bench: Benchmark, lanes: Sequence[Lane], address: str, port: int, cases: Sequence[str]
) -> Best:
    """Measure the lanes in turns; return the least CPU and the highest rate of all rounds.

    If a lane fails, it is not measured again, and the report says so.

    :param port: the port of the server for lanes without a separate server.
    :param cases: words in the names of the cases to measure; empty for all.
    """
    best: Best = {lane.name: {} for lane in lanes}
    failed_lanes = set()
    with bench.progress(bench.options.rounds * len(lanes)) as bar:
        for _ in range(bench.options.rounds):
            for lane in lanes:
                bar.step(lane.name)
                if lane.name in failed_lanes:
                    continue
                arguments = [lane.api, address, str(lane.port or port), *cases]
                try:
                    figures = peers.run(lane.python, lane.worker, arguments, lane.settings)
                except peers.WorkerFailed as error:
                    bar.clear()
                    bench.note(f"{lane.name} is left out: {str(error).splitlines()[-1]}")
                    failed_lanes.add(lane.name)
                    continue
                # Keep the least CPU and the highest rate of all rounds.
                for case, measured in figures.items():
                    best_figures = best[lane.name].setdefault(case, dict(measured))
                    best_figures["us"] = min(best_figures["us"], measured["us"])
                    best_figures["rate"] = max(best_figures["rate"], measured["rate"])
    return best


def rows_of(best: Best, figure: str) -> dict[str, dict[str, float | None]]:
    """Return the rows of a table that shows one figure for each case and lane.

    :param figure: "us" or "rate" (see `Best`).
    """
    cases = dict.fromkeys(case for measured in best.values() for case in measured)
    return {
        case: {
            lane: measured[case][figure] if case in measured else None
            for lane, measured in best.items()
        }
        for case in cases
    }
