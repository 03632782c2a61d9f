"""Runs code in another interpreter, with the `cassandra` that these tests use."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import cassandra

HOME = str(Path(cassandra.__file__).parents[1])
# For code that also imports from the tests: the `cassandra` of HOME comes first.
WITH_TESTS = {"PYTHONPATH": os.pathsep.join((HOME, str(Path(__file__).resolve().parents[1])))}


def run_python(
    code: str,
    env: Mapping[str, str] | None = None,
    timeout: float = 120,
    as_file: bool = False,
    is_bare: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run `code`, on request from a file; neither the working directory nor the tree decides which
    modules it imports.

    If `is_bare`, installed packages are hidden, and so are the imports that some of them, such as
    editable installs, make at each start.
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
