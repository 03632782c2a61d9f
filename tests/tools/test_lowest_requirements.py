"""Tests of `tools/lowest_requirements`, which pins dependencies to their lowest versions."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

SCRIPT = Path(__file__).parents[2] / "tools" / "lowest_requirements"


@pytest.fixture(scope="module")
def functions() -> dict[str, Any]:
    """Return the script's functions by name."""
    return runpy.run_path(str(SCRIPT))


def test_extras_of_extras_are_included(functions: dict[str, Any]) -> None:
    """An extra that names extras of the project has their requirements, and the project's."""
    project = {
        "name": "driver",
        "dependencies": ["geomet>=1.1"],
        "optional-dependencies": {
            "pandas": ["pandas>=2.0", "pyarrow>=15"],
            "all": ["driver[pandas]", "attrs>=23.1"],
        },
    }
    requirements = functions["requirements_of"](project, ["all"])
    names = [requirement.name for requirement in requirements]
    assert names == ["geomet", "pandas", "pyarrow", "attrs"]
    with pytest.raises(KeyError, match="polars"):
        list(functions["requirements_of"](project, ["polars"]))


@pytest.mark.parametrize(
    ("requirement", "allowed", "refused"),
    [
        ("numpy>=1.23", ["1.23", "1.23.5"], ["1.24", "1.22.9"]),
        ("pyarrow>=15", ["15.0", "15.0.2"], ["15.1", "16.0"]),
        ("polars>=1.17.1", ["1.17.1", "1.17.9"], ["1.17.0", "1.18"]),
        ("tool==1.2.3", ["1.2.3"], ["1.2.4"]),
        ("tool>=1.2,<3", ["1.2.3"], ["1.3", "2.0"]),
        ("pytest-timeout>=2.4", ["2.4", "3.0"], ["2.3"]),
    ],
)
def test_patch_releases_of_the_minimum_are_allowed(
    functions: dict[str, Any], requirement: str, allowed: list[str], refused: list[str]
) -> None:
    """Only patch releases of the lowest version are allowed; programs that test may be newer."""
    specifier = Requirement(functions["lowest"](Requirement(requirement))).specifier
    assert all(specifier.contains(version) for version in allowed)
    assert not any(specifier.contains(version) for version in refused)


def test_markers_are_kept_and_a_minimum_is_needed(functions: dict[str, Any]) -> None:
    """The condition of a requirement is kept; a requirement without a minimum is an error."""
    text = functions["lowest"](Requirement("uvloop>=0.19; sys_platform != 'win32'"))
    assert str(Requirement(text).marker) == 'sys_platform != "win32"'
    with pytest.raises(ValueError, match="no minimum for attrs"):
        functions["lowest"](Requirement("attrs<24"))


def test_the_extras_of_this_project(tmp_path: Path) -> None:
    """The extras of pyproject.toml have minima; the requirements are printed or written."""
    command = [sys.executable, str(SCRIPT), "test", "dask", "otel", "prometheus", "encryption"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = [Requirement(line).name for line in printed.splitlines()]
    assert {"geomet", "numpy", "pyarrow", "pandas", "polars", "dask", "cryptography"} <= set(names)
    assert len(names) == len(set(names))
    path = tmp_path / "lowest.txt"
    subprocess.run([*command, "--output", str(path)], check=True)
    assert path.read_text() == printed
