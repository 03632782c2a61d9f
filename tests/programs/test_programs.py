"""Third-party programs for another driver behave the same with this driver.

The same script runs twice against a real node: in an environment with the driver that the program
is made for, and in an environment with this driver and the shims. The outputs of both are compared.
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
from tests.programs.page import TRIED, note_success
from tests.programs.programs import PROGRAMS

TIMEOUT = 900  # seconds for one script; the tests of swh-storage are 280


def output_of(environment: Environment, name: str, node: LocalCluster, folder: Path) -> str:
    """Return the output of a program's script, which must exit with 0."""
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
    """Return the control's environment; skip the test if pip cannot make it on this machine.

    Only the control's failure skips the test: if a program installs with the other driver, it must
    install with this driver.
    """
    try:
        return with_control(environments / f"{name}-control", program)
    except InstallFailed as error:
        pytest.skip(f"{name} cannot be installed here: {error}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_the_same(
    environments: Path,
    request: pytest.FixtureRequest,
    node: LocalCluster,
    tmp_path: Path,
    name: str,
) -> None:
    program = PROGRAMS[name]
    control = installed(environments, name, program)
    wheel: Path = request.getfixturevalue("pure_wheel" if program.python else "wheel")
    ours = with_ours(environments / f"{name}-ours", program, wheel)
    text = output_of(control, name, node, tmp_path)
    for theirs, better in program.differs:
        assert text.count(theirs) == 1, theirs
        text = text.replace(theirs, better)
    expected = text.splitlines()
    assert len(expected) >= program.least_lines, expected
    actual = output_of(ours, name, node, tmp_path).splitlines()
    differences = "\n".join(
        difflib.unified_diff(expected, actual, program.driver, "turbocql", lineterm="", n=1)
    )
    assert not differences, differences
    note_success(environments / TRIED, name, program)


def test_each_script_is_run() -> None:
    scripts = {path.stem.removeprefix("run_") for path in SCRIPTS.glob("run_*.py")}
    assert scripts == set(PROGRAMS)
