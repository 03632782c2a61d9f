"""The instructions of small things that programs call, beside the least that they can take.

    python -m benchmarks.small_things [--pure] [CASE ...]

Each figure is counted by callgrind, as those of `benchmarks.instructions` are: a busy machine does
not move it. A process that makes some calls is compared with one that makes more. It ends with 1 if
a compiled case takes more than it may. Needs valgrind.

* ``send_body`` and ``decode_message`` of messages beside the engine's own functions.
* A page of short texts beside ``bytes.decode`` of each.
* A page as dicts beside ``dict(zip(names, row))`` of decoded rows, and beside tuples.
* The first named tuple of a shape beside ``collections.namedtuple``.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # by its path, from anywhere

from benchmarks.instructions import collected, environment

WORKER = Path(__file__).with_name("_lib") / "worker_small_things.py"
FEW = 100  # calls of the shorter run
SIDES = ("ours", "floor")


class Case(NamedTuple):
    """One row of the table. `calls` are those that the longer run has more."""

    name: str
    what: str
    beside: str
    most: float
    calls: int = 500


CASES = (
    Case("execute", "send_body, EXECUTE of 12 values", "execute_body", 2.0),
    Case("query", "send_body, QUERY", "query_body", 2.0),
    Case("batch", "send_body, BATCH of 10 x 12 values", "batch_body", 2.0),
    Case("prepare", "send_body, PREPARE", "prepare_body", 2.0),
    Case("void", "decode_message, VOID", "decode_response", 2.0),
    Case("known-rows", "decode_message, ROWS with known columns", "decode_response", 2.0),
    Case("unknown-rows", "decode_message, ROWS with new columns", "decode_response", 2.0),
    Case("set-keyspace", "decode_message, SET_KEYSPACE", "decode_response", 2.0),
    Case("error", "decode_message, ERROR", "decode_response", 2.0),
    Case("texts", "100 rows of 5 texts, tuples", "bytes.decode of each", 1.0, 50),
    Case("few-texts", "1 row of 3 texts, tuple", "bytes.decode of each", 1.0),
    Case("dicts", "100 rows of 5 texts, dicts", "decode, dict(zip())", 0.5, 50),
    Case("wide-dicts", "100 rows of 20 texts, dicts", "decode, dict(zip())", 0.6, 20),
    Case("dicts-tuples", "100 rows of 5 texts, dicts", "tuples", 2.0, 50),
    Case("dict-factory", "dict_factory of 100 rows of 5", "dict(zip()) of each", 0.5, 50),
    Case("first-named-tuple", "first named tuple of a shape", "namedtuple", 1.2, 300),
    Case("again-named-tuple", "named tuple of a known shape, new plan", "tuple, new plan", 2.0),
)


def count(case: Case, side: str, calls: int, implementation: str, folder: Path) -> int:
    """Return the instructions of one process.

    :raises RuntimeError: if it fails.
    """
    counting = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'out'}")
    return collected(work(case, side, calls, implementation, folder, counting))


def work(
    case: Case,
    side: str,
    calls: int,
    implementation: str,
    folder: Path,
    under: Sequence[str] = (),
) -> str:
    """Run the worker, by the command `under` if there is one; return what stderr got."""
    command = [*under, sys.executable, str(WORKER), case.name, side, str(calls)]
    done = subprocess.run(
        command, env=environment(implementation), cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{case.name} failed with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stderr


def per_call(case: Case, side: str, implementation: str, folder: Path) -> float:
    """Return the instructions of one call."""
    work(case, side, 1, implementation, folder)  # the first process may have to write bytecode
    few, many = (
        count(case, side, calls, implementation, folder) for calls in (FEW, FEW + case.calls)
    )
    return (many - few) / case.calls


def row(case: Case, ours: float, floor: float, is_checked: bool) -> tuple[str, bool]:
    """Return a row of the table, and whether the case takes more than it may."""
    is_over = is_checked and ours > case.most * floor
    verdict = f"at most {case.most:.1f}{': MISSED' if is_over else ''}" if is_checked else ""
    shown = f"{case.what:42}{ours:11,.0f}{floor:11,.0f}{ours / floor:7.2f}"
    return f"{shown}   {case.beside:24}{verdict}", is_over


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pure", action="store_true", help="without the compiled modules")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="words that the names hold")
    options = parser.parse_args(arguments)
    if shutil.which("valgrind") is None:
        sys.exit("this benchmark needs valgrind, which is not installed")
    implementation = "python" if options.pure else "c"
    missed = False
    print(f"{'instructions of a call':42}{'ours':>11}{'beside':>11}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if options.cases and not any(word in case.name for word in options.cases):
                continue
            ours, floor = (per_call(case, side, implementation, Path(folder)) for side in SIDES)
            line, is_over = row(case, ours, floor, not options.pure)
            missed |= is_over
            print(line, flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
