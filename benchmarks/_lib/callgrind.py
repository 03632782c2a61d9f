"""Counts the instructions that a process executes, with callgrind (a tool of valgrind)."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks._lib import peers


def counted_environment(implementation: str) -> dict[str, str]:
    """Return the environment variables of the processes whose instructions are counted.

    :param implementation: "c" or "python".
    """
    # The hash seed determines the order of sets, and this order affects the counts. So use a fixed
    # seed.
    return {
        **peers.inherited(),
        **peers.own_settings(),
        "PYTHONHASHSEED": "0",
        "CASS_DRIVER_IMPL": implementation,
    }


def parse_instruction_count(report: str) -> int:
    """Return the number of instructions in callgrind's output on standard error.

    :raises ValueError: if the report has no number.
    """
    match = re.search(r"Collected\s*:\s*(\d+)", report)
    if match is None:
        raise ValueError(f"callgrind has not told what it counted:\n{report[-2000:]}")
    return int(match[1])


def run_worker(
    worker: Path,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    command_prefix: Sequence[str] = (),
) -> str:
    """Run the program `worker`, and return what it wrote to standard error.

    :param folder: the working directory of the process.
    :param command_prefix: a command, such as valgrind's, that runs the interpreter.
    :raises RuntimeError: if the process exits with an error.
    """
    command = [*command_prefix, sys.executable, str(worker), *arguments]
    result = subprocess.run(
        command, env=dict(environment), cwd=folder, capture_output=True, text=True
    )
    if result.returncode:
        raise RuntimeError(
            f"{' '.join(arguments)} failed with {result.returncode}:\n{result.stderr[-2000:]}"
        )
    return result.stderr


def count(worker: Path, arguments: Sequence[str], environment: Mapping[str, str], out: Path) -> int:
    """Run `worker` in callgrind, and return the number of instructions.

    :param out: the file into which callgrind writes its profile.
    """
    under = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}")
    return parse_instruction_count(run_worker(worker, arguments, environment, out.parent, under))
