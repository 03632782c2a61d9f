"""Runs code in a new interpreter that imports the same package `cassandra` as these tests."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import cassandra

HOME = str(Path(cassandra.__file__).parents[1])
# This is the import path for code that also imports from `tests`. HOME comes first, because the
# checkout that contains `tests` may have another `cassandra`.
WITH_TESTS = {"PYTHONPATH": os.pathsep.join((HOME, str(Path(__file__).resolve().parents[1])))}


def run_python(
    code: str,
    env: Mapping[str, str] | None = None,
    timeout: float = 120,
    as_file: bool = False,
    is_bare: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run `code` in a new interpreter, in an empty working directory.

    Python imports modules from the working directory first. In an empty directory, no file can hide
    an installed module of the same name.

    :param env: additional environment variables.
    :param timeout: the time limit in seconds.
    :param as_file: run the code from a file, not with ``-c``.
    :param is_bare: hide the installed packages (``-S``). Editable installs then run no code when
        the interpreter starts.
    :returns: the completed process, with its output as strings.
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
