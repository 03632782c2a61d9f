"""The time that ``import cassandra.cluster`` and ``import cassandra.aio`` take.

    python benchmarks/import_time.py [--repeats 20] [--instructions]

Each import is measured in several new processes, which take turns. The figures are the median wall
time minus the wall time of an interpreter that imports nothing, the least CPU time, and memory. The
last row imports only the modules of the standard library that any asyncio driver needs: it shows
how fast the machine is. ``--instructions`` also counts instructions with callgrind; counts do not
depend on how busy the machine is. ``import cassandra.cluster`` may need at most as many
instructions as the last row.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

from benchmarks._lib import peers
from benchmarks._lib.callgrind import parse_instruction_count
from benchmarks._lib.report import Benchmark

WALL = 55.0  # milliseconds that an import may take on an idle core

CODE = """
import resource, time
before = time.process_time()
{statement}
spent = time.process_time() - before
print(spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
# The statements that are measured: no import, the usual imports of applications, and the modules
# that any asyncio driver needs.
BARE = "pass"
CLUSTER = "import cassandra.cluster"
USUAL = (
    "from cassandra.cluster import Cluster, ExecutionProfile, ResultSet, Session; "
    "from cassandra.policies import DCAwareRoundRobinPolicy, TokenAwarePolicy; "
    "from cassandra.query import SimpleStatement; "
    "from cassandra.auth import PlainTextAuthProvider"
)
STANDARD = "import asyncio, ssl, logging, datetime, decimal, uuid"
STATEMENTS = {
    BARE: BARE,
    "import cassandra": "import cassandra",
    CLUSTER: CLUSTER,
    "from cassandra.cluster import Cluster, ...": USUAL,
    "import cassandra.aio": "import cassandra.aio",
    STANDARD: STANDARD,
}
WALLS = (CLUSTER, "import cassandra.aio")


def environment() -> dict[str, str]:
    """Return environment variables that make the processes import this process's driver."""
    return {**peers.inherited(), **peers.own_settings(), "PYTHONHASHSEED": "0"}


def run(statement: str) -> tuple[float, float, int]:
    """Run a statement in a new process; return its (wall ms, CPU ms, resident KiB)."""
    command = [sys.executable, "-c", CODE.format(statement=statement)]
    began = time.perf_counter()
    result = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment(), cwd=peers.cache()
    )
    wall = time.perf_counter() - began
    cpu, resident = result.stdout.split()
    return wall * 1000, float(cpu) * 1000, int(resident)


def instructions(statement: str) -> int:
    """Return the millions of instructions that a process needs to run `statement`."""
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}"]
    command += [sys.executable, "-c", statement]
    result = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment(), cwd=peers.cache()
    )
    return parse_instruction_count(result.stderr) // 1_000_000


def measure(bench: Benchmark) -> dict[str, dict[str, float]]:
    """Measure the import statements in turns; return the figures by the statement's name."""
    repeats, counts = bench.options.repeats, bench.options.instructions
    runs: dict[str, list[tuple[float, float, int]]] = {name: [] for name in STATEMENTS}
    with bench.progress((repeats + 1 + counts) * len(STATEMENTS)) as bar:
        for repeat in range(repeats + 1):  # run 0 may write bytecode files, so it is not counted
            for name in STATEMENTS:
                bar.step(name)
                measured = run(STATEMENTS[name])
                if repeat:
                    runs[name].append(measured)
        bare_wall = statistics.median(wall for wall, _, _ in runs[BARE])
        results: dict[str, dict[str, float]] = {}
        for name, figures in runs.items():
            results[name] = {
                "wall ms": statistics.median(wall for wall, _, _ in figures) - bare_wall,
                "CPU ms": min(cpu for _, cpu, _ in figures),
                "resident MiB": min(resident for _, _, resident in figures) / 1024,
            }
            if counts:
                bar.step(f"{name}, counted")
                results[name]["million instructions"] = instructions(STATEMENTS[name])
    results[BARE]["wall ms"] = bare_wall
    return results


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Import of the driver, milliseconds and MiB",
        duration_text="15 s",
        quick_duration_text="4 s",
    )
    bench.add_option("--repeats", type=int, default=20)
    bench.add_option("--instructions", action="store_true", help="by valgrind, too")
    options = bench.start(quick={"repeats": 3})
    if options.instructions:
        bench.need_program("valgrind")
    results = measure(bench)
    bench.show_table("each in a process of its own", results)
    # Compare the figures with the targets.
    for name in WALLS:
        took = results[name]["wall ms"]
        bench.add_target(f"{name}: {took:.0f} ms, at most {WALL:g}", took <= WALL)
    if options.instructions:
        counts = {name: results[name]["million instructions"] for name in (CLUSTER, STANDARD)}
        bench.add_target(
            f"{CLUSTER}: {counts[CLUSTER]:.0f} million instructions, at most those of the standard "
            f"library's modules, {counts[STANDARD]:.0f}",
            counts[CLUSTER] <= counts[STANDARD],
        )
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
