"""Every benchmark starts by its path, from anywhere, and says what it lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = sorted(path for path in BENCHMARKS.glob("[a-z]*.py") if "__main__" in path.read_text())


def started(script: Path, directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    # The tree's own package may have no extensions where the tests run on an installed one.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("CASS_DRIVER_")
    }
    command = [sys.executable, *options, str(script), "--help"]
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_starts_by_its_path(script: Path, tmp_path: Path) -> None:
    done = started(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout


def test_a_benchmark_says_what_to_install(tmp_path: Path) -> None:
    done = started(BENCHMARKS / "codecs.py", tmp_path, "-I", "-S")  # without site-packages
    assert done.returncode == 1
    assert "needs geomet, numpy, pytest" in done.stderr
    assert "pip install '.[test]'" in done.stderr
