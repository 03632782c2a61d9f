"""What ``import cassandra.cluster`` and ``import cassandra.aio`` take.

    python benchmarks/import_time.py [--repeats 20] [--instructions] [--json FILE]

Each import has processes of its own, which take turns. Prints the median of their wall time, less
that of an interpreter that imports nothing; the best CPU time; and memory. The target is 55 ms of
wall time on a core that does nothing else. The last row is what modules of the standard library
take alone that any driver on asyncio needs: it tells how fast the machine is. ``--instructions``
counts them by callgrind, which a busy machine does not move.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # by its path, from anywhere

from benchmarks._lib.tables import show_table
from benchmarks.instructions import collected

ROOT = Path(__file__).resolve().parent.parent
_NOT_INHERITED = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")

CODE = """
import resource, time
before = time.process_time()
{statement}
spent = time.process_time() - before
print(spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
BARE = "pass"
STANDARD = "import asyncio, ssl, logging, datetime, decimal, uuid"
STATEMENTS = (
    BARE,
    "import cassandra",
    "import cassandra.cluster",
    "import cassandra.aio",
    STANDARD,
)


def environment() -> dict[str, str]:
    """Return what the processes see: this tree's package, with its bytecode kept."""
    inherited = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
    places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**inherited, "PYTHONPATH": os.pathsep.join(places), "PYTHONHASHSEED": "0"}


def run(statement: str) -> tuple[float, float, int]:
    """Return (wall milliseconds, CPU milliseconds, resident KiB) of one process."""
    command = [sys.executable, "-c", CODE.format(statement=statement)]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    wall = time.perf_counter() - began
    cpu, resident = done.stdout.split()
    return wall * 1000, float(cpu) * 1000, int(resident)


def instructions(statement: str) -> int:
    """Return the instructions of one process, in millions."""
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}"]
    command += [sys.executable, "-c", statement]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    return collected(done.stderr) // 1_000_000


def measure(repeats: int, with_instructions: bool) -> dict[str, dict[str, float]]:
    """Return the figures of each statement."""
    runs: dict[str, list[tuple[float, float, int]]] = {name: [] for name in STATEMENTS}
    for turn in range(repeats + 1):  # the first one may have to write the bytecode
        for name in STATEMENTS:
            found = run(name)
            if turn:
                runs[name].append(found)
    bare = statistics.median(wall for wall, _, _ in runs[BARE])
    results: dict[str, dict[str, float]] = {}
    for name, figures in runs.items():
        results[name] = {
            "wall_ms": statistics.median(wall for wall, _, _ in figures) - bare,
            "cpu_ms": min(cpu for _, cpu, _ in figures),
            "resident_mib": min(resident for _, _, resident in figures) / 1024,
        }
        if with_instructions:
            results[name]["million_instructions"] = instructions(name)
    results[BARE]["wall_ms"] = bare
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--instructions", action="store_true", help="by valgrind, too")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if options.instructions and shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed")
    results = measure(options.repeats, options.instructions)
    columns = list(results[BARE])
    rows = [["", *columns]]
    rows += [
        [name, *(f"{found[column]:.1f}" for column in columns)] for name, found in results.items()
    ]
    show_table(rows, 1)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=2)


if __name__ == "__main__":
    main()
