"""Tests that every benchmark starts by its path from any directory.

It must name the packages that are missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = sorted(path for path in BENCHMARKS.glob("[a-z]*.py") if "__main__" in path.read_text())


def run_script(
    script: Path, directory: Path, *arguments: str, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a benchmark by its path, and return the ended process.

    :param directory: the working directory of the process.
    :param arguments: the command-line arguments of the script.
    :param options: options of the interpreter.
    """
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("CASS_DRIVER_")
    }
    command = [sys.executable, *options, str(script), *arguments]
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


def test_a_benchmark_starts_by_its_path(tmp_path: Path) -> None:
    for script in SCRIPTS:
        result = run_script(script, tmp_path, "--help")
        assert result.returncode == 0, result.stderr
        assert "usage" in result.stdout
        # The help must have the docstring of the script, with the command that starts it.
        assert f"\n    python benchmarks/{script.name}" in result.stdout


def test_a_benchmark_without_the_driver_says_what_to_install(tmp_path: Path) -> None:
    for script in SCRIPTS:
        result = run_script(
            script, tmp_path, "--quick", options=("-E", "-S")
        )  # without site-packages
        assert result.returncode == 1
        assert "this benchmark needs cassandra" in result.stderr
        assert "pip install ." in result.stderr
        assert "Traceback" not in result.stderr


def test_the_readme_lists_every_script() -> None:
    for script in SCRIPTS:
        assert f"``{script.name}``" in (BENCHMARKS / "README.rst").read_text()


def test_a_benchmark_starts_as_a_module() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks.instructions", "--help"],
        cwd=BENCHMARKS.parent,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr


def test_no_script_puts_the_clone_on_the_path() -> None:
    """Benchmarks must import the installed driver: the package of the clone may not be compiled."""
    for path in BENCHMARKS.rglob("*.py"):
        assert "sys.path.insert" not in path.read_text(), path
    # Compare the path before and after the import: if the clone is installed in editable mode, it
    # is on the path from the start.
    program = "import sys; before = [*sys.path]; from benchmarks._lib import peers\n"
    program += "assert sys.path == before, sys.path"
    result = subprocess.run(
        [sys.executable, "-E", "-c", program], cwd=BENCHMARKS, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
