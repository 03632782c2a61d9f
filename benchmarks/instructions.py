"""The instructions that a request takes in the client, counted by callgrind.

    python -m benchmarks.instructions [--pure] [--without PAIR] [--annotate 40] [CASE ...]

A busy machine does not move this figure. A process that makes some requests is compared with one
that makes three times as many, so that imports, connecting and preparing cancel out. The server is
`_lib.null_server`, a process of its own that is not counted. Needs valgrind and uvloop.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # by its path, from anywhere

from benchmarks._lib import null_server, peers
from benchmarks._lib.requirements import need

WORKER = Path(__file__).with_name("_lib") / "worker_instructions.py"
REQUESTS = 2_000  # of one pass of the worker
FEW, MANY = 1, 3  # passes


class Case(NamedTuple):
    """One row of the table. `target` is for the compiled modules."""

    name: str
    what: str
    target: int | None


CASES = (
    Case("aio-insert", "aio: insert of five columns, 100 tasks awaiting", 25_000),
    Case("aio-select", "aio: select of one row as a named tuple, 100 tasks awaiting", 32_000),
    Case("aio-together", "aio: insert, 100 begun together", None),
    Case("aio-concurrent", "aio: insert, execute_concurrent", None),
    Case("blocking-concurrent", "blocking: insert, execute_concurrent_with_args", 25_000),
    Case("blocking-insert", "blocking: insert, one at a time", None),
)


def environment(implementation: str) -> dict[str, str]:
    """Return what the counted processes see: the order of sets and dicts is part of their cost."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    }
    return {
        **inherited,
        "PYTHONPATH": str(peers.TREE),
        "PYTHONHASHSEED": "0",
        "CASS_DRIVER_IMPL": implementation,
    }


def collected(report: str) -> int:
    """Return the number of instructions that callgrind says it has counted.

    :raises ValueError: if it does not say so.
    """
    found = re.search(r"Collected\s*:\s*(\d+)", report)
    if found is None:
        raise ValueError(f"callgrind has not told what it counted:\n{report[-2000:]}")
    return int(found[1])


def per_request(few: int, many: int) -> float:
    """Return the instructions of one request, by the counts of a short run and a long one."""
    return (many - few) / ((MANY - FEW) * REQUESTS)


def work(
    case: str,
    passes: int,
    implementation: str,
    server: tuple[str, int],
    folder: Path,
    under: Sequence[str] = (),
) -> str:
    """Run the worker, by the command `under` if there is one; return what stderr got."""
    address, port = server
    command = [*under, sys.executable, str(WORKER), case, address, str(port), str(passes)]
    done = subprocess.run(
        command, env=environment(implementation), cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{case} failed with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stderr


def count(case: str, passes: int, implementation: str, server: tuple[str, int], out: Path) -> int:
    """Return the instructions of one process; `out` gets callgrind's own file."""
    under = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}")
    return collected(work(case, passes, implementation, server, out.parent, under))


def costs(annotated: str) -> dict[str, int]:
    """Return the instructions of each function, of what ``callgrind_annotate`` prints."""
    found: dict[str, int] = {}
    for line in annotated.splitlines():
        row = re.match(r"\s*([\d,]+)(?:\s+\([^)]*\))?\s+\S*?:(\S.*?)(?:\s+\[(.*)\])?$", line)
        if row is not None:
            name = row[2].partition("'")[0]  # without the depth of recursion
            found[name] = found.get(name, 0) + int(row[1].replace(",", ""))
    return found


def annotate(few: Path, many: Path, most: int) -> None:
    """Print the functions that take most of a request."""
    both = []
    for path in (few, many):
        command = ["callgrind_annotate", "--threshold=100", "--show=Ir", str(path)]
        both.append(costs(subprocess.run(command, capture_output=True, text=True).stdout))
    rows = {name: per_request(both[0].get(name, 0), total) for name, total in both[1].items()}
    for name in sorted(rows, key=rows.__getitem__, reverse=True)[:most]:
        print(f"    {rows[name]:9,.0f}  {name}")


def line(case: Case, found: float, implementation: str) -> str:
    """Return a row of the table."""
    verdict = ""
    if case.target is not None and implementation == "c":
        verdict = f"   at most {case.target:,}: {'met' if found <= case.target else 'MISSED'}"
    return f"{case.what:62}{found:10,.0f}{verdict}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pure", action="store_true", help="without the compiled modules")
    parser.add_argument(
        "--without",
        default="",
        metavar="PAIR[,PAIR]",
        help="with the Python module of a pair of twins in place of the compiled one",
    )
    parser.add_argument(
        "--annotate", type=int, default=0, metavar="N", help="the N functions that take most, too"
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help="words that the names hold")
    options = parser.parse_args()
    need("uvloop")
    if shutil.which("valgrind") is None:
        sys.exit("this benchmark needs valgrind, which is not installed")
    implementation = "python" if options.pure else "c"
    if options.without:
        from cassandra._impl import TWINS  # here: other messages need no built tree

        if strangers := set(options.without.split(",")) - TWINS.keys():
            parser.error(f"no pairs of twins: {', '.join(sorted(strangers))}")
        os.environ["TURBOCQL_BENCH_WITHOUT"] = options.without
    without = f" but for {options.without}" if options.without else ""
    with null_server.running() as server, tempfile.TemporaryDirectory() as folder:
        which = "pure" if options.pure else "compiled"
        print(f"instructions of a request, {which}{without}")
        for case in CASES:
            if options.cases and not any(
                word in f"{case.name} {case.what}" for word in options.cases
            ):
                continue
            few, many = Path(folder, "few"), Path(folder, "many")
            # The first process of all may have to write bytecode.
            work(case.name, FEW, implementation, server, Path(folder))
            found = per_request(
                count(case.name, FEW, implementation, server, few),
                count(case.name, MANY, implementation, server, many),
            )
            print(line(case, found, implementation), flush=True)
            if options.annotate:
                annotate(few, many, options.annotate)


if __name__ == "__main__":
    main()
