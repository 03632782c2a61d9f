"""Running code in an interpreter of its own, with the `cassandra` that these tests run with."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cassandra

HOME = str(Path(cassandra.__file__).parents[1])
# For code that imports from the tests as well: the `cassandra` of HOME comes first.
WITH_TESTS = {"PYTHONPATH": os.pathsep.join((HOME, str(Path(__file__).resolve().parents[1])))}


def run_python(
    code: str,
    env: Mapping[str, str] | None = None,
    timeout: float = 120,
    as_file: bool = False,
    is_bare: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run `code`, as a program's file if asked to; neither the working directory nor the tree
    decides what it imports.

    If it `is_bare` there are no installed packages: what these import at the start of each
    interpreter, as that of an editable install does, is not loaded then.
    """
    environment = {**os.environ, "PYTHONPATH": HOME, **(env or {})}
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "program.py").write_text(code)
        return subprocess.run(
            [
                sys.executable,
                *(["-S"] if is_bare else []),
                *(["program.py"] if as_file else ["-c", code]),
            ],
            capture_output=True,
            text=True,
            env=environment,
            cwd=directory,
            timeout=timeout,
            check=False,
        )


def wait_for_end(process: subprocess.Popen[Any], seconds: float) -> int:
    """Wait until a process ends, and return its status.

    :param seconds: after these the process is killed.
    :raises AssertionError: with what its threads were doing, if the process had to be killed.
    """
    begun = time.monotonic()
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        states = _states(process.pid)
        process.kill()
        process.wait()
        raise AssertionError(
            f"the process had not ended after {time.monotonic() - begun:.0f} s: {states}"
        ) from None


def _states(pid: int) -> str:
    """Describe the threads of a process: whether they run, what they wait for, their CPU time."""
    threads = []
    for task in sorted(Path(f"/proc/{pid}/task").glob("*")):
        try:
            state, *fields = (task / "stat").read_text().rpartition(")")[2].split()
            call = (task / "syscall").read_text().split()[0]
            place = (task / "wchan").read_text()
        except OSError as error:
            threads.append(str(error))
            continue
        # Of the fields behind the state, the 11th and 12th are ticks of CPU time (proc(5)).
        ticks = int(fields[10]) + int(fields[11])
        threads.append(f"state {state}, system call {call}, in {place}, {ticks} ticks")
    return "; ".join(threads) or "its threads cannot be read here"
