"""Third-party programs that were made for another driver do the same with turbocql.

A test runs the script of a program twice against a real node: in an environment with the driver
that the program was made for (the control), and in an environment with turbocql and the shims. Both
runs must print the same output.
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

TIMEOUT = 900  # the most seconds for one script; the script of swh-storage runs 280 tests


def output_of(environment: Environment, name: str, node: LocalCluster, folder: Path) -> str:
    """Run a program's script, which must succeed, and return its standard output.

    :param name: the name of the program.
    :param folder: the working directory of the script.
    """
    command = [environment.python, SCRIPTS / f"run_{name}.py"]
    result = subprocess.run(
        [*map(str, command), node.contact_points[0], str(node.port), f"programs_{name}"],
        check=False,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        cwd=folder,  # some programs write files into the working directory
        env=clean_environment(),
    )
    assert result.returncode == 0, f"in {environment.folder}:\n{result.stdout}\n{result.stderr}"
    return result.stdout


def control_or_skip(environments: Path, name: str, program: Program) -> Environment:
    """Return the environment with the driver that the program was made for (the control).

    Skip the test if pip cannot install the program with the control. If this installation succeeds,
    the installation with turbocql must succeed, too; otherwise the test fails.
    """
    try:
        return with_control(environments / f"{name}-control", program)
    except InstallFailed as error:
        pytest.skip(f"{name} cannot be installed here: {error}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_prints_the_same_with_both_drivers(
    environments: Path,
    request: pytest.FixtureRequest,
    node: LocalCluster,
    tmp_path: Path,
    name: str,
) -> None:
    """The program's script prints the same lines with turbocql, except for known differences."""
    program = PROGRAMS[name]
    control = control_or_skip(environments, name, program)
    wheel: Path = request.getfixturevalue("pure_wheel" if program.python else "wheel")
    ours = with_ours(environments / f"{name}-ours", program, wheel)
    output = output_of(control, name, node, tmp_path)
    # The expected output is the control's output, except for the parts that are meant to differ.
    for text_of_control, text_of_ours in program.differs:
        assert output.count(text_of_control) == 1, text_of_control
        output = output.replace(text_of_control, text_of_ours)
    expected = output.splitlines()
    assert len(expected) >= program.least_lines, expected
    actual = output_of(ours, name, node, tmp_path).splitlines()
    differences = "\n".join(
        difflib.unified_diff(expected, actual, program.driver, "turbocql", lineterm="", n=1)
    )
    assert not differences, differences
    note_success(environments / TRIED, name, program)


def test_each_script_belongs_to_a_program_and_each_program_has_one() -> None:
    """The scripts run_NAME.py have the names of PROGRAMS, so that no script is left out."""
    scripts = {path.stem.removeprefix("run_") for path in SCRIPTS.glob("run_*.py")}
    assert scripts == set(PROGRAMS)
