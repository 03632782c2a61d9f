"""The cost of building and executing batches, compared with other drivers on PyPI.

    python benchmarks/batches.py [--no-peers]

Building: 100 statements of five columns are bound and put into a batch. The figures are CPU
microseconds, and the memory blocks that stay allocated for each row. Executing: client CPU for a
batch of 50 such statements, built and sent to `_lib.null_server`, with 100 batches in flight. Each
driver runs in a separate process, with its public API only. All drivers are measured in each pass,
and the least figure of all passes counts. On a busy machine, the CPU time of all drivers grows in
the same way.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks._lib import null_server, peers
from benchmarks._lib.apis import worker_of
from benchmarks._lib.report import Benchmark
from benchmarks._lib.requirements import has
from benchmarks._lib.tables import least_over

LIB = Path(__file__).resolve().parent / "_lib"
BUILDING = LIB / "worker_batches.py"
CASES = "batch of 50"  # a part of the names of the cases that the workers run
BUILD_TARGET = 10.0  # `add_many` must be this many times as fast as the fastest peer's `add`
BLOCKS_TARGET = 3.0  # a row may use at most this many memory blocks
EXECUTE_TARGET = 40.0  # a batch may take at most this many microseconds
# The peers whose API differs from cassandra-driver's, and the further packages that their
# environments need.
EXTRA = {"acsylla": ("uvloop",), "scylladb-rs-driver": ("numpy", "uvloop")}
# The APIs of each of these peers. The key is the API's name in the worker. The value, "aio" or
# "blocking", names the row to which the API's figure belongs.
APIS = {
    "acsylla": {"acsylla": "aio"},
    "scylladb-rs-driver": {"scylladb-rs": "aio", "scylladb-rs-blocking": "blocking"},
}
# Peers whose building of batches cannot be compared, and the reason, which is shown as a note.
LIMITS = {
    "acsylla": "building: acsylla is left out, since its statements are bound in several calls",
    "scylladb-rs-driver": "building: scylladb-rs-driver is left out, since it converts the values "
    "of a batch only when the batch is sent; executing includes it, with batches from add_all",
}
# Only this driver has `add_many`. The key is a case that uses it. The value is the case of the
# other drivers that does the same work, with which the key's case is compared.
BESIDE = {
    "add_many": "add",
    "batch of 50 by add_many, blocking": "batch of 50 bound inserts, blocking",
    "batch of 50 by add_many, aio": "batch of 50 bound inserts, aio",
}

Rows = dict[str, dict[str, float]]


def run(driver: str, script: Path, arguments: list[str]) -> Any:
    """Run `script` with a driver, and return the JSON that it prints."""
    if driver in EXTRA:
        return peers.run_peer(driver, script, arguments, EXTRA[driver])
    return peers.run_any(driver, script, arguments)


def keep(rows: Rows, case: str, driver: str, figure: float) -> None:
    """Put a figure into the table if it is less than the figures of earlier passes."""
    row = rows.setdefault(case, {})
    row[driver] = min(figure, row.get(driver, figure))


def measure(bench: Benchmark, drivers: list[str]) -> tuple[Rows, Rows, Rows]:
    """Measure all drivers, and return three tables, each by case and driver.

    The tables have the microseconds to build a batch, the memory blocks of a row, and the
    microseconds to execute a batch.
    """
    build: Rows = {}
    memory: Rows = {}
    execute: Rows = {}
    passes = bench.options.passes
    with null_server.running() as (address, port), bench.progress(passes * len(drivers)) as bar:
        server = [address, str(port)]
        for _ in range(passes):
            for driver in drivers:
                bar.step(driver)
                # For the drivers in `LIMITS`, the building of batches cannot be measured alone.
                if driver not in LIMITS:
                    for case, (time, blocks) in run(driver, BUILDING, server).items():
                        keep(build, case, driver, time)
                        keep(memory, case, driver, blocks)
                for api, label in apis(driver).items():
                    measured = run(driver, worker_of(api), [api, *server, CASES])
                    for case, figures in measured.items():
                        name = f"{case.partition(',')[0]}, {label}"
                        keep(execute, name, driver, figures["us"])
    return build, memory, execute


def apis(driver: str) -> dict[str, str]:
    """Return the APIs of a driver to measure, by their names in the worker.

    The value is the word for the API in the names of rows: "blocking" or "aio".
    """
    if driver in APIS:
        return APIS[driver]
    if driver in peers.PEERS:
        return {"blocking": "blocking"}
    return {"blocking": "blocking", "aio" if has("uvloop") else "aio-asyncio": "aio"}


def judge(bench: Benchmark, ours: str, build: Rows, memory: Rows, execute: Rows) -> None:
    """Check the best figures against this benchmark's targets, and record each result.

    With ``--check``, the benchmark fails if a target is missed.

    :param ours: the name of this driver's column.
    :param build: the microseconds to build a batch, by case and driver.
    :param memory: the memory blocks of a row, by case and driver.
    :param execute: the microseconds to execute a batch, by case and driver.
    """
    many = build["add_many"][ours]
    others = [build["add"][peer] for peer in peers.PEERS if peer in build["add"]]
    if others:
        ratio = min(others) / many
        text = f"add_many beside the fastest peer's add: {ratio:.0f} times as fast"
        bench.add_target(f"{text}, at least {BUILD_TARGET:.0f}", ratio >= BUILD_TARGET)
    blocks = memory["add_many"][ours]
    text = f"blocks a row by add_many: {blocks:.2f}, at most {BLOCKS_TARGET:.0f}"
    bench.add_target(text, blocks <= BLOCKS_TARGET)
    for case, row in execute.items():
        text = f"{case}: {row[ours]:.1f} us, at most {EXECUTE_TARGET:.0f}"
        bench.add_target(text, row[ours] <= EXECUTE_TARGET)


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Batches built and executed, us of client CPU",
        duration_text="1 minute",
        quick_duration_text="5 s",
        with_peers=True,
    )
    bench.add_option("--passes", type=int, default=2, help="the least of so many counts")
    bench.start(quick={"passes": 1})
    bench.need_program("cc")  # to compile the null server
    drivers = [*peers.own_lanes(bench), *peers.prepare(bench)]
    for peer, extra in EXTRA.items():
        drivers += peers.prepare(bench, (peer,), extra)
    for driver in drivers:
        if driver in LIMITS:
            bench.note(LIMITS[driver])
    if not has("uvloop"):
        bench.note("aio runs on asyncio's own loop: uvloop is not installed (pip install uvloop)")
    build, memory, execute = measure(bench, drivers)
    ours = drivers[0]
    ratios = {"peer / ours": least_over(build, ours, peers.PEERS, BESIDE)}
    bench.show_table("building 100 statements, us", build, ratios)
    bench.show_table("memory blocks a row", memory)
    ratios = {"peer / ours": least_over(execute, ours, (*peers.PEERS, *EXTRA), BESIDE)}
    bench.show_table("building and executing, us a batch", execute, ratios)
    judge(bench, ours, build, memory, execute)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
