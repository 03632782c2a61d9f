"""Tests of the annotations, with which mypy and pyright must report each marked mistake.

Both type checkers must accept the correct programs of this folder.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
WRONG = ROOT / "tests" / "typing" / "wrong_calls.py"
RIGHT = sorted(path for path in WRONG.parent.glob("*.py") if path not in (WRONG, Path(__file__)))
# The first run of mypy reads the whole library, so this limit in seconds is long.
TIMEOUT = 300

pytestmark = pytest.mark.skipif(
    not (ROOT / "cassandra" / "py.typed").exists(), reason="the tests run beside no source tree"
)


def marked(path: Path) -> set[int]:
    """Return the lines of `path` that a type checker must refuse."""
    lines = path.read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("  # error")}


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run this interpreter with command-line arguments, such as "-m", "mypy"."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def mypy_errors(cache: Path, *paths: Path) -> dict[int, str]:
    """Return mypy's errors for `paths`, by line."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed: pip install turbocql[typing]")
    # A separate cache, because another mypy may be using the cache of the source checkout.
    result = run("-m", "mypy", "--no-error-summary", "--cache-dir", cache, *paths)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    errors = re.findall(r"^(\S+\.py):(\d+): error: (.*)$", result.stdout, re.MULTILINE)
    # mypy also checks the modules that these files import. Those modules must have no errors.
    errors_elsewhere = [
        error for error in errors if not error[0].startswith(("tests/typing", "tests\\"))
    ]
    assert errors_elsewhere == []
    return {int(line): message for _, line, message in errors}


def pyright_errors(tmp_path: Path, *paths: Path) -> dict[int, str]:
    """Return pyright's errors for `paths`, by line."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed: pip install pyright")
    settings = tmp_path / "pyrightconfig.json"
    configuration: Mapping[str, Any] = {
        "extraPaths": [str(ROOT)],
        "pythonVersion": "3.10",
        "typeCheckingMode": "basic",
        # mypy reports these errors too, but only in packages that are not installed everywhere.
        "reportMissingModuleSource": False,
        "reportMissingImports": False,
    }
    settings.write_text(json.dumps(configuration))
    try:
        result = run("-m", "pyright", "--project", settings, "--outputjson", *paths)
        report = json.loads(result.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        pytest.skip("pyright's package of Node.js could not be downloaded or started")
    assert report["summary"]["filesAnalyzed"] == len(paths)
    errors = [
        diagnostic
        for diagnostic in report["generalDiagnostics"]
        if diagnostic["severity"] == "error"
    ]
    # pyright counts lines from 0.
    return {error["range"]["start"]["line"] + 1: error["message"] for error in errors}


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.slow
def test_mypy_accepts_right_programs(mypy_cache: Path) -> None:
    assert mypy_errors(mypy_cache, *RIGHT) == {}


@pytest.mark.slow
def test_mypy_finds_each_mistake(mypy_cache: Path) -> None:
    assert set(mypy_errors(mypy_cache, WRONG)) == marked(WRONG)


@pytest.mark.slow
def test_pyright_accepts_right_programs(tmp_path: Path) -> None:
    assert pyright_errors(tmp_path, *RIGHT) == {}


@pytest.mark.slow
def test_pyright_finds_each_mistake(tmp_path: Path) -> None:
    assert set(pyright_errors(tmp_path, WRONG)) == marked(WRONG)
