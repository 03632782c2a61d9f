"""The client's cost of a request, compared with other drivers on PyPI.

    python benchmarks/requests.py [--no-peers] [CASE ...]

Each driver runs in a separate process, one after the other, and sends requests to
`_lib.null_server`, which answers at once. A figure is the CPU time of the client's process for one
request, or for one row of a page, in microseconds: the lowest of all measurements. If strace is
installed, the system calls of a request are counted, too. This driver's asyncio API
(`cassandra.aio`) is measured on uvloop, if that is installed, and on asyncio's own loop.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._lib import null_server, peers
from benchmarks._lib.apis import (
    WORKER,
    Best,
    Lane,
    environment_of,
    measure,
    our_lanes,
    peer_lane,
    rows_of,
)
from benchmarks._lib.report import Benchmark
from benchmarks._lib.requirements import has, lacking
from benchmarks._lib.tables import least_over

# For each API and case, the most microseconds of client CPU for a request.
TARGETS: dict[str, dict[str, float]] = {
    "aio": {
        "insert, 100 in flight": 5.0,
        "insert, one at a time": 20.0,
        "select of one row, 100 in flight": 6.5,
        "select of one row, one at a time": 21.0,
        "batch of 50 by add_many, 100 in flight": 40.0,
        "vector<float,768> insert, 100 in flight": 8.0,
        "page of 5,000 rows x 5, a row": 0.6,
        "page of 1,000 vectors<float,768>, a row": 12.0,
    },
    "blocking": {
        "insert, 100 in flight": 7.0,
        "insert, one at a time": 25.0,
        "select of one row, 100 in flight": 8.0,
        "select of one row, one at a time": 25.0,
    },
}
MOST_SYSTEM_CALLS = 0.25  # the most system calls for a request, with 100 in flight
MOST_WITHOUT_UVLOOP = 1.5  # without uvloop, a request may need this many times the CPU with it
# The limits of a blocking call, compared with the same request on the asyncio API in the same run.
MOST_FOR_BLOCKING = 1.4  # times the CPU of the awaited request
MOST_LATER = 25.0  # the microseconds by which the blocking call may take longer
# In each case, the best peer of the same kind (blocking or asyncio) must need at least this many
# times the CPU of this driver.
LEAST_LEAD = 1.3

# The columns of the other drivers: the heading, the distribution, and the name of the API that is
# measured (see `_lib.apis.peer_lane`).
PEERS = {
    "cassandra-driver": ("cassandra-driver", "blocking"),
    "scylla-driver": ("scylla-driver", "blocking"),
    "acsylla": ("acsylla", "acsylla"),
    "scyllapy": ("scyllapy", "scyllapy"),
    "scylladb-rs-driver": ("scylladb-rs-driver", "scylladb-rs"),
    "scylladb-rs-driver, blocking": ("scylladb-rs-driver", "scylladb-rs-blocking"),
}
EXTRA = ("numpy", "uvloop")  # further packages in a peer's environment
# The limits of peers, which are shown as notes: what a peer cannot do, and what is measured
# instead. If a peer has no API for a case, it has no figure in this case.
LIMITS = {
    "acsylla": "takes and returns vectors only as bytes",
    "scyllapy": "accepts no NumPy array as a vector (it is given a list), and reads no vectors",
    "scylladb-rs-driver": "accepts no NumPy array as a vector (it is given a list), "
    "has neither execute_concurrent nor add_many (add_all fills its batches), "
    "and makes no matrix of vectors",
}

# Cases that only this driver can run (the keys). Each is compared with the case of the other
# drivers that does the same work (the value).
BESIDE = {
    "batch of 50 by add_many, 100 in flight": "batch of 50 bound inserts, 100 in flight",
    "page of 1,000 vectors<float,768> to NumPy, a row": "page of 1,000 vectors<float,768>, a row",
}


def peer_lanes(bench: Benchmark) -> list[Lane]:
    """Return a `Lane` for each API of the other drivers; notes say what a driver cannot do."""
    distributions = tuple(dict.fromkeys(distribution for distribution, _ in PEERS.values()))
    measurable = peers.prepare(bench, distributions, EXTRA)
    for distribution in measurable:
        if distribution in LIMITS:
            bench.note(f"{distribution} {LIMITS[distribution]}")
    return [
        peer_lane(name, distribution, api, EXTRA)
        for name, (distribution, api) in PEERS.items()
        if distribution in measurable
    ]


def system_calls(lane: Lane, address: str, port: int) -> float | None:
    """Return the number of system calls of a request with 100 in flight.

    The worker runs with 10,000 and with 110,000 requests. Only the difference counts, so that
    connecting and preparing are left out. Return None if strace is not installed.
    """
    if lacking("strace") is not None:
        return None
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        # The argument "calls N" makes the worker send N times 10,000 requests.
        for repetitions in ("1", "11"):
            report = Path(folder, repetitions)
            command = [
                "strace",
                "-f",
                "-c",
                "-o",
                str(report),
                lane.python,
                str(WORKER),
                lane.api,
                address,
                str(port),
                "calls",
                repetitions,
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
    return (counts[1] - counts[0]) / 100_000  # the second run makes 100,000 requests more


def ratios_of(
    us: dict[str, dict[str, float | None]], lanes: list[str]
) -> dict[str, dict[str, float | None]]:
    """Return, for each case, the CPU of the best peer divided by the CPU of this driver.

    A blocking peer is compared with our blocking API, an asyncio peer with our asyncio API.

    :param us: the CPU microseconds, by case and column.
    :param lanes: the names of this driver's columns; the first is its asyncio API.
    """
    blocking = [name for name, (_, api) in PEERS.items() if api.endswith("blocking")]
    others = PEERS.keys() - set(blocking)
    return {
        "peer / blocking": least_over(us, "blocking", blocking, BESIDE),
        f"peer / {lanes[0]}": least_over(us, lanes[0], others, BESIDE),
    }


def judge(bench: Benchmark, best: Best) -> None:
    """Check the best figures against this benchmark's targets, and record each result.

    With ``--check``, the benchmark fails if a target is missed.
    """
    for lane, targets in TARGETS.items():
        for case, target in targets.items():
            measured = best.get(lane, {}).get(case)
            if measured is not None:
                text = f"{lane}: {case}: {measured['us']:.2f} us, at most {target:g}"
                bench.add_target(text, measured["us"] <= target)
    for case, measured in best.get("aio", {}).items():
        plain = best.get("aio, asyncio", {}).get(case)
        if plain is not None:
            ratio = plain["us"] / measured["us"]
            text = f"without uvloop: {case}: {ratio:.2f} times, at most {MOST_WITHOUT_UVLOOP:g}"
            bench.add_target(text, ratio <= MOST_WITHOUT_UVLOOP)


def judge_lead(bench: Benchmark, ratios: dict[str, dict[str, float | None]]) -> None:
    """Check that the best peer needs clearly more CPU than this driver in each case.

    Record each result as a target.

    :param ratios: the columns that `ratios_of` returns.
    """
    for heading, by_case in ratios.items():
        for case, ratio in by_case.items():
            if ratio is not None:
                text = f"{heading}: {case}: {ratio:.2f}, at least {LEAST_LEAD:g}"
                bench.add_target(text, ratio >= LEAST_LEAD)


def judge_blocking(bench: Benchmark, best: Best) -> None:
    """Check that a blocking call costs little more than the same request on the asyncio API.

    Only cases with one request at a time are compared. Each result is recorded as a target.
    """
    for case, measured in best.get("blocking", {}).items():
        awaited = best.get("aio", {}).get(case)
        if awaited is None or "one at a time" not in case:
            continue
        ratio = measured["us"] / awaited["us"]
        added_us = 1e6 / measured["rate"] - 1e6 / awaited["rate"]
        bench.add_target(
            f"blocking beside aio: {case}: {ratio:.2f} times the CPU, {added_us:.1f} us later, "
            f"at most {MOST_FOR_BLOCKING:g} and {MOST_LATER:g}",
            ratio <= MOST_FOR_BLOCKING and added_us <= MOST_LATER,
        )


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Requests to a server that answers at once, us of client CPU each",
        duration_text="6 minutes",
        quick_duration_text="10 s",
        with_peers=True,
    )
    bench.add_option("--rounds", type=int, default=3)
    bench.add_option("cases", nargs="*", help="words that the names of the wanted cases hold")
    options = bench.start(quick={"rounds": 1})
    bench.need_program("cc")  # to compile the null server
    if not has("uvloop"):
        bench.note("aio on uvloop is left out: it is not installed (pip install uvloop)")
    lanes = our_lanes() + peer_lanes(bench)
    with null_server.running() as (address, port):
        best = measure(bench, lanes, address, port, options.cases)
        names = [lane.name for lane in lanes]
        us, rates = rows_of(best, "us"), rows_of(best, "rate")
        ratios = ratios_of(us, names)
        bench.show_table("us of client CPU", us, ratios)
        bench.show_table("requests a second", rates)
        judge(bench, best)
        judge_lead(bench, ratios)
        judge_blocking(bench, best)
        # Count the system calls while the server is still running.
        calls = None if options.quick else system_calls(lanes[0], address, port)
    if calls is not None:
        bench.note(f"{names[0]}: system calls a request, 100 in flight: {calls:.2f}")
        text = f"system calls a request: {calls:.2f}, at most {MOST_SYSTEM_CALLS:g}"
        bench.add_target(text, calls <= MOST_SYSTEM_CALLS)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
