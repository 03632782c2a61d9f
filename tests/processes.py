"""Running code in an interpreter of its own, with the `cassandra` that these tests run with."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

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
