"""CPU time and memory of ``import cassandra.cluster``, and of ``import cassandra.aio``.

    python benchmarks/import_time.py [--repeats 15] [--json FILE]

Each import has processes of its own. Prints the best of the repeats; the target is 60 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

CODE = """
import resource, time
before = time.process_time()
import {module}
spent = time.process_time() - before
print(spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
MODULES = ("cassandra", "cassandra.cluster", "cassandra.aio")


def measure(module: str, repeats: int) -> tuple[float, int]:
    """Return (CPU milliseconds, resident KiB) of the best of `repeats` processes."""
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
    }
    # This tree's package, wherever the script is started from.
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT), *filter(None, [environment.get("PYTHONPATH")])]
    )
    runs = []
    for _ in range(repeats + 1):  # the first one may have to write the bytecode
        done = subprocess.run(
            [sys.executable, "-c", CODE.format(module=module)],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        seconds, resident = done.stdout.split()
        runs.append((float(seconds) * 1000, int(resident)))
    return min(runs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    results = {}
    for module in MODULES:
        milliseconds, resident = measure(module, args.repeats)
        results[module] = {"cpu_ms": round(milliseconds, 2), "resident_kib": resident}
        print(
            f"import {module:<20} {milliseconds:7.1f} ms CPU   {resident / 1024:6.1f} MiB resident"
        )
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file, indent=2)


if __name__ == "__main__":
    main()
