"""Compares the encoding of messages and the decoding of rows with other drivers.

Each driver is timed in processes that run `_lib.worker_messages`, in the environments of
`_lib.peers`. The drivers take turns in each round, so that other load on the machine affects all of
them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks._lib import peers
from benchmarks._lib.report import Benchmark
from benchmarks._lib.tables import least_over

WORKER = Path(__file__).with_name("worker_messages.py")

Times = dict[str, float]


class Lane(NamedTuple):
    """One column of the table: a driver, either with its compiled modules or in pure Python.

    - `name`: the heading of the column.
    - `python`: the interpreter of the driver's environment.
    - `settings`: further environment variables.
    - `api`: the worker's argument, "api" or "engine".
    """

    name: str
    python: str
    settings: dict[str, str]
    api: str


def peer_lanes(bench: Benchmark, extra: Sequence[str] = ("numpy",)) -> list[Lane]:
    """Return two lanes of each peer: as it was installed, and without its compiled modules."""
    lanes = []
    for peer in peers.prepare(bench, extra=extra):
        python = peers.environment(peer, extra)
        pure = {"PYTHONPATH": str(without_compiled_modules(peer, python))}
        lanes.append(Lane(peer, str(python), settings={}, api="api"))
        lanes.append(Lane(f"{peer}, pure", str(python), settings=pure, api="api"))
    return lanes


def without_compiled_modules(peer: str, python: Path) -> Path:
    """Return a directory that has a copy of the peer's package without its compiled modules."""
    home = peers.cache() / f"{peer}-without-compiled-modules"
    if not home.exists():
        result = subprocess.run(
            [str(python), "-c", "import cassandra; print(cassandra.__path__[0])"],
            cwd=peers.cache(), check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        # Rename the copy only when it is complete, so that an incomplete copy is never used.
        unfinished = home.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
        shutil.copytree(result.stdout.strip(), unfinished / "cassandra", ignore=ignored)
        unfinished.rename(home)
    return home


def own_lanes(bench: Benchmark, apis: Sequence[str] = ("engine", "api")) -> list[Lane]:
    """Return this driver's lanes: each implementation with each of `apis`.

    :param apis: "engine" for the engine's internal functions, "api" for the public API.
    """
    names = peers.own_lanes(bench)
    settings = peers.own_settings()
    return [
        Lane(f"{name} {api}", sys.executable, {**settings, "CASS_DRIVER_IMPL": lane}, api)
        for api in apis
        for name, lane in zip(names, peers.lanes(), strict=True)
    ]


def times_of(bench: Benchmark, group: str, lanes: Sequence[Lane]) -> dict[str, Times]:
    """Run the cases of a group in each lane; return the least nanoseconds, by lane and case.

    :param group: "messages", "rows" or "results".
    """
    times: dict[str, Times] = {lane.name: {} for lane in lanes}
    with bench.progress(bench.options.rounds * len(lanes)) as bar:
        for _ in range(bench.options.rounds):
            for lane in lanes:
                bar.step(lane.name)
                worker_times = peers.run(lane.python, WORKER, (group, lane.api), lane.settings)
                for case, time in worker_times.items():
                    times[lane.name][case] = min(time, times[lane.name].get(case, time))
    return times


def by_case(times: dict[str, Times], unit: float = 1.0) -> dict[str, dict[str, float | None]]:
    """Return the rows of a table: the figures by case and lane.

    :param times: the nanoseconds by lane and case.
    :param unit: the unit of the table's figures, in nanoseconds: the times are divided by it.
    """
    cases = dict.fromkeys(case for timings in times.values() for case in timings)
    rows: dict[str, dict[str, float | None]] = {case: dict.fromkeys(times) for case in cases}
    for lane, timings in times.items():
        for case, nanoseconds in timings.items():
            rows[case][lane] = nanoseconds / unit
    return rows


def compare(
    group: str, targets: dict[str, float], api_targets: dict[str, float], bench: Benchmark
) -> None:
    """Measure `group` ("messages" or "rows") in every lane, and show the table.

    :param targets: the most nanoseconds that a case may take with the engine's functions of this
        driver (the first lane), by case.
    :param api_targets: the most nanoseconds that a case may take with the public API of this
        driver, by case.
    """
    bench.add_option("--rounds", type=int, default=3, help="each lane's best of so many processes")
    bench.start(quick={"rounds": 1})
    lanes = own_lanes(bench) + peer_lanes(bench)
    times = times_of(bench, group, lanes)
    rows = by_case(times)
    ours = lanes[0].name
    others = [lane.name for lane in lanes if not lane.name.startswith("turbocql")]
    bench.show_table("nanoseconds", rows, {"peer / ours": least_over(rows, ours, others)})
    # Check the targets of the engine's functions and of the public API.
    public = next(lane.name for lane in lanes if lane.api == "api")
    for lane, most in ((ours, targets), (public, api_targets)):
        for case, target in most.items():
            nanoseconds = times[lane][case]
            bench.add_target(
                f"{case}, {lane}: {nanoseconds:,.0f} ns, at most {target:,.0f}",
                nanoseconds <= target,
            )
