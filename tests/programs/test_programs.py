"""Programs that others wrote for another driver do the same with this one.

Each runs one script twice against one real node: in an environment with the driver that the program
is made for, and in one with this driver and the shims. What both print is compared.
"""

from __future__ import annotations

import difflib
import subprocess
from pathlib import Path

import pytest

from cassandra.testing import LocalCluster
from tests.programs.environments import (
    SCRIPTS,
    Environment,
    InstallFailed,
    Program,
    clean_environment,
    with_control,
    with_ours,
)
from tests.programs.programs import PROGRAMS

TIMEOUT = 300  # seconds for one script


def said(environment: Environment, name: str, node: LocalCluster, folder: Path) -> str:
    """What the script of a program prints; it must end well."""
    command = [environment.python, SCRIPTS / f"run_{name}.py"]
    done = subprocess.run(
        [*map(str, command), node.contact_points[0], str(node.port), f"programs_{name}"],
        check=False,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        cwd=folder,  # some programs leave files behind
        env=clean_environment(),
    )
    assert done.returncode == 0, f"in {environment.folder}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def installed(environments: Path, name: str, program: Program) -> Environment:
    """The control's environment; the test is skipped if pip cannot make it on this machine.

    Only the control's: what can be installed with the other driver must be with this one.
    """
    try:
        return with_control(environments / f"{name}-control", program)
    except InstallFailed as error:
        pytest.skip(f"{name} cannot be installed here: {error}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_the_same(
    environments: Path, wheel: Path, node: LocalCluster, tmp_path: Path, name: str
) -> None:
    program = PROGRAMS[name]
    control = installed(environments, name, program)
    ours = with_ours(environments / f"{name}-ours", program, wheel)
    text = said(control, name, node, tmp_path)
    for theirs, better in program.differs:
        assert text.count(theirs) == 1, theirs
        text = text.replace(theirs, better)
    expected = text.splitlines()
    assert len(expected) >= program.least_lines, expected
    found = said(ours, name, node, tmp_path).splitlines()
    differences = "\n".join(
        difflib.unified_diff(expected, found, program.driver, "turbocql", lineterm="", n=1)
    )
    assert not differences, differences


def test_each_script_is_run() -> None:
    scripts = {path.stem.removeprefix("run_") for path in SCRIPTS.glob("run_*.py")}
    assert scripts == set(PROGRAMS)
