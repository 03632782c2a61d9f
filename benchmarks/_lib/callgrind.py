"""Counts the instructions of a process by callgrind, a tool of valgrind."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks._lib import peers

__all__ = ["collected", "count", "counted_environment", "work"]


def counted_environment(implementation: str) -> dict[str, str]:
    """Return the environment of counted processes: the order of sets and dicts affects the cost."""
    return {
        **peers.inherited(),
        **peers.own_settings(),
        "PYTHONHASHSEED": "0",
        "CASS_DRIVER_IMPL": implementation,
    }


def collected(report: str) -> int:
    """Return the number of instructions that callgrind reports.

    :raises ValueError: if the report has no number.
    """
    match = re.search(r"Collected\s*:\s*(\d+)", report)
    if match is None:
        raise ValueError(f"callgrind has not told what it counted:\n{report[-2000:]}")
    return int(match[1])


def work(
    worker: Path,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    under: Sequence[str] = (),
) -> str:
    """Run the program `worker`, and return what it wrote to standard error.

    :param folder: the process's folder.
    :param under: the command that runs it, if there is one.
    :raises RuntimeError: if it fails.
    """
    command = [*under, sys.executable, str(worker), *arguments]
    done = subprocess.run(
        command, env=dict(environment), cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(arguments)} failed with {done.returncode}:\n{done.stderr[-2000:]}"
        )
    return done.stderr


def count(worker: Path, arguments: Sequence[str], environment: Mapping[str, str], out: Path) -> int:
    """Return the instructions of one process of `worker`; `out` gets callgrind's own file."""
    under = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}")
    return collected(work(worker, arguments, environment, out.parent, under))
