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


def run_python(
    code: str, env: Mapping[str, str] | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run `code`; neither the working directory nor the tree beside the tests decides what it imports."""
    environment = {**os.environ, "PYTHONPATH": HOME, **(env or {})}
    with tempfile.TemporaryDirectory() as directory:
        return subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=environment,
            cwd=directory,
            timeout=timeout,
            check=False,
        )
