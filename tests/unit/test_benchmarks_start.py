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


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_says_what_to_install(script: Path, tmp_path: Path) -> None:
    done = started(script, tmp_path, "-I", "-S")  # without site-packages
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert "this benchmark needs" in done.stderr
        assert "pip install '.[test]'" in done.stderr
    else:
        assert "usage" in done.stdout


def test_the_import_that_is_measured_is_this_trees(tmp_path: Path) -> None:
    script = BENCHMARKS / "import_time.py"
    command = [sys.executable, str(script), "--repeats", "1"]
    # The tree itself need not be built.
    environment = {**os.environ, "CASS_DRIVER_IMPL": "python"}
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "import cassandra.aio" in done.stdout
