"""The cost of `Cluster.connect` to one node on loopback, beside cassandra-driver.

    python -m benchmarks.connect

Every figure is the best of several processes, in turns, against `_lib.null_server`: wall and
CPU milliseconds of the first connect of a process, after the import (of uvloop too), and of the
second one. The targets are 7 ms of wall time and 6 ms of CPU for the first.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # by its path, from anywhere

from benchmarks._lib import null_server, peers
from benchmarks._lib.requirements import need

WORKER = Path(__file__).with_name("_lib") / "worker_connect.py"
TARGETS = {"wall": 7.0, "cpu": 6.0}


def best(runs: list[dict[str, Any]], which: str, figure: str) -> float:
    return min(float(run[which][figure]) for run in runs)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--no-peers", action="store_true")
    arguments = parser.parse_args()
    need("geomet")
    runs: dict[str, list[dict[str, Any]]] = {}
    with null_server.running() as (address, port):
        place = [address, str(port)]
        for _ in range(arguments.repeats):
            runs.setdefault("turbocql", []).append(peers.run_ours("c", WORKER, place))
            runs.setdefault("turbocql, pure", []).append(peers.run_ours("python", WORKER, place))
            if not arguments.no_peers:
                try:
                    runs.setdefault("cassandra-driver", []).append(
                        peers.run_peer("cassandra-driver", WORKER, place)
                    )
                except subprocess.CalledProcessError as error:
                    print(f"cassandra-driver cannot be measured: {error}", file=sys.stderr)
                    arguments.no_peers = True
    print(f"{'ms':20}{'first: wall':>14}{'CPU':>8}{'second: wall':>14}{'CPU':>8}")
    for name, found in runs.items():
        if found:
            figures = [
                best(found, which, figure)
                for which in ("first", "second")
                for figure in ("wall", "cpu")
            ]
            print(
                f"{name:20}{figures[0]:14.2f}{figures[1]:8.2f}{figures[2]:14.2f}{figures[3]:8.2f}"
            )
    missed = {
        name: limit
        for name, limit in TARGETS.items()
        if best(runs["turbocql"], "first", name) > limit
    }
    print("targets:", TARGETS, "missed:" if missed else "met", ", ".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
