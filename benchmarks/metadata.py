"""The cost of schema metadata of 2,000 tables, compared with other drivers.

    python benchmarks/metadata.py [--no-peers] [--tables N]

The null server (`_lib.null_server`) has keyspaces of 100 tables each; a table has ten columns and
an index. In each round, every driver connects to the server in separate processes. The figures,
each the least of all rounds, are:

- the client's CPU time of `connect`, and of reading every column, option and index ("touch")
- the memory of Python objects after each of these steps
- the CPU time of `connect` without schema metadata
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks._lib import peers
from benchmarks._lib.null_server import running
from benchmarks._lib.report import Benchmark
from benchmarks._lib.tables import least_over

WORKER = Path(__file__).with_name("_lib") / "worker_metadata.py"
# Other drivers must need at least this many times our CPU time to connect and read everything
# ("both"), and at least this many times our memory after that ("touched").
TARGETS = {"both": 4.0, "touched": 3.0}
MODES = ("time", "memory", "off")  # what the worker measures; "off" is without schema metadata

# The rows of the table: the key in the worker's output, the title, and the unit of the figures.
LINES = (
    ("both", "connect and touch everything, s of CPU", 1.0),
    ("connect", "  connect", 1.0),
    ("touch", "  touch", 1.0),
    ("export", "export everything as CQL, s of CPU", 1.0),
    ("connected", "held after connect, MB", 1e6),
    ("touched", "held after touching everything, MB", 1e6),
    ("peak", "most held meanwhile, MB", 1e6),
    ("off_connect", "connect without schema metadata, s of CPU", 1.0),
)


def measure(bench: Benchmark, drivers: list[str]) -> dict[str, dict[str, float]]:
    """Return the figures by driver: the least of all rounds."""
    from benchmarks._lib import schema_tables  # not at the top, because it imports the driver

    best: dict[str, dict[str, float]] = {driver: {} for driver in drivers}
    tables, rounds = bench.options.tables, bench.options.rounds
    steps = bench.progress(rounds * len(MODES) * len(drivers))
    with running(extra_rules=schema_tables.rules(tables)) as (address, port), steps as bar:
        for _ in range(rounds):
            for mode in MODES:
                for driver in drivers:
                    bar.step(f"{driver}, {mode}")
                    result = peers.run_any(driver, WORKER, (address, str(port), mode))
                    for key, value in result.items():
                        name = f"off_{key}" if mode == "off" else key
                        least = best[driver]
                        least[name] = min(value, least.get(name, value))
    for driver, figures in best.items():
        if figures["tables"] != tables:
            raise RuntimeError(f"{driver} saw {figures['tables']} tables of {tables}")
    return best


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Schema metadata of many tables, seconds of client CPU and MB",
        duration_text="1 minute",
        quick_duration_text="6 s",
        with_peers=True,
    )
    bench.add_option("--tables", type=int, default=2000)
    bench.add_option("--rounds", type=int, default=5)
    options = bench.start(quick={"tables": 300, "rounds": 1})
    bench.need_program("cc")  # to compile the null server
    drivers = [*peers.own_lanes(bench), *peers.prepare(bench)]
    best = measure(bench, drivers)
    rows = {
        title: {driver: figures[key] / unit for driver, figures in best.items()}
        for key, title, unit in LINES
    }
    ratios = least_over(rows, drivers[0], peers.PEERS)
    bench.show_table(f"{options.tables} tables", rows, {"peer / ours": ratios})
    # Compare the ratios with the targets.
    for key, title, _ in LINES:
        ratio = ratios.get(title)
        if key in TARGETS and ratio is not None:
            text = f"{title}: {ratio:.1f} times less than the peers, at least {TARGETS[key]:g}"
            bench.add_target(text, ratio >= TARGETS[key])
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
