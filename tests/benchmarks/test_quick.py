"""Tests that every benchmark succeeds with ``--quick`` where only the driver is installed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from cassandra._build_stamp import STAMP
from tests.conftest import LANE

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
ALL = BENCHMARKS / "all.py"
SCRIPTS = sorted(
    path for path in BENCHMARKS.glob("[a-z]*.py") if "__main__" in path.read_text() and path != ALL
)
# These are the driver and its dependencies.
PACKAGES = ("cassandra", "geomet", "click")
# This is the line under the headings.
TABLE = re.compile(r"^-+(  -+)+$", re.MULTILINE)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(LANE != "c", reason="they run for a minute, in the compiled lane"),
]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment that contains only the driver under test."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=False)
    names = {"base": str(home), "platbase": str(home)}
    packages = Path(sysconfig.get_path("purelib", "venv" if os.name != "nt" else "nt", names))
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            source = Path(spec.origin).parent
            # As in a wheel, leave out the sources of compiled modules, and the stamp of their
            # build, which would say that the sources are missing.
            ignored = shutil.ignore_patterns(
                "__pycache__", "*.c", "*.h", "*.pyx", "*.pxd", "*.pxi", STAMP
            )
            shutil.copytree(source, packages / name, ignore=ignored)
    return home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def run(
    python: Path, folder: Path, script: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run a script like a user does: by its path, in the root of the clone.

    :param folder: the folder in which benchmarks keep environments of other drivers.
    """
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CASS_DRIVER_", "PYTHON", "TURBOCQL_"))
    }
    return subprocess.run(
        [str(python), str(script.relative_to(BENCHMARKS.parent)), *arguments],
        cwd=BENCHMARKS.parent,
        env={**inherited, "TURBOCQL_BENCH_CACHE": str(folder)},
        capture_output=True,
        text=True,
        timeout=600,
    )


def check_report(report: Any, script: Path) -> None:
    """Raise AssertionError if something is wrong with the JSON report of a script."""
    assert report["benchmark"] == script.stem
    assert report["quick"] is True
    assert report["machine"]["cores"]
    for table in report["tables"]:
        assert table["title"]
        for row in table["rows"]:
            assert set(row["values"]) <= set(table["columns"])
            assert any(value is not None for value in row["values"].values())


def mistakes_of(python: Path, script: Path, folder: Path) -> list[str]:
    """Run a script with --quick, and return descriptions of what is wrong with its output."""
    folder.mkdir()
    figures = folder / "figures.json"
    result = run(python, folder, script, "--quick", "--json", str(figures))
    # Standard error is no terminal here, so it must be empty: progress bars are shown only on one.
    if result.returncode or result.stderr:
        return [f"{script.name} ended with {result.returncode}: {result.stderr}"]
    report = json.loads(figures.read_text())
    check_report(report, script)
    mistakes = []
    if not result.stdout.splitlines()[0].endswith("(--quick)"):
        mistakes.append(f"{script.name} does not say that its figures are rough")
    lacks_packages = any("this benchmark needs" in note for note in report["notes"])
    if not lacks_packages and not (report["tables"] and TABLE.search(result.stdout)):
        mistakes.append(f"{script.name} prints no table")
    return mistakes


@pytest.mark.timeout(3000)
def test_each_benchmark_runs_with_only_the_driver_installed(python: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(os.cpu_count()) as scripts_at_once:
        mistakes = scripts_at_once.map(
            lambda script: mistakes_of(python, script, tmp_path / script.stem), SCRIPTS
        )
        assert [*chain.from_iterable(mistakes)] == []


def test_json_without_a_file_goes_to_standard_output_and_the_rest_to_stderr(
    python: Path, tmp_path: Path
) -> None:
    script = BENCHMARKS / "rows.py"
    result = run(python, tmp_path, script, "--quick", "--json")
    assert result.returncode == 0, result.stderr
    check_report(json.loads(result.stdout), script)
    assert result.stderr.splitlines()[0].endswith("(--quick)")


def test_plot_without_matplotlib_is_an_error_that_says_so(python: Path, tmp_path: Path) -> None:
    result = run(python, tmp_path, BENCHMARKS / "rows.py", "--quick", "--plot", "x.png")
    assert result.returncode == 2
    assert "--plot needs matplotlib: pip install matplotlib" in result.stderr


def test_all_writes_a_page_with_the_tables_of_the_named_benchmarks(
    python: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.inc"
    result = run(python, tmp_path, ALL, "--quick", "--page", str(page), "rows", "messages")
    assert result.returncode == 0, result.stderr
    text = page.read_text()
    assert "``python benchmarks/rows.py --quick``" in text
    assert "Quick runs, rough figures" in text
    assert text.count(".. csv-table::") == 2
