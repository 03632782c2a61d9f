"""Virtual environments for third-party programs.

Each program has two environments: one with turbocql, and one with the driver that the program was
made for (the control). The environments are kept in the folder that ``TURBOCQL_PROGRAMS`` names,
and are created again only if the program's requirements change. If only the wheel of turbocql
changes, pip reinstalls only turbocql.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "scripts"
SHIMS = ("cassandra-driver", "scylla-driver")  # the packages that shims stand in for
INSTALL_TIMEOUT = 900  # seconds; the largest program has about 150 packages
STAMP = "programs.json"  # a file in each complete environment that describes what is installed

# Prints the names of the distributions that contain the package `cassandra`.
OWNERS = """
import importlib.metadata as metadata
print(sorted({
    distribution.name
    for distribution in metadata.distributions()
    if any(path.as_posix() == "cassandra/__init__.py" for path in distribution.files or ())
}))
"""


class InstallFailed(Exception):
    """A program cannot be installed on this machine, because a command of the installation failed.

    The message contains the end of the command's output.
    """


@dataclass(frozen=True)
class Program:
    """The packages to install for a program, and what its output must look like.

    :param requirements: packages that pip installs with all their dependencies.
    :param alone: packages that pip installs without their dependencies, because the script needs
        only few of these dependencies.
    :param driver: the driver that the program is made for. The test compares turbocql with it.
    :param least_lines: the least number of lines that the program's script prints. Fewer lines mean
        that the script did not use the program.
    :param python: the version of the interpreter that the program needs, such as ``"3.12"``; empty
        for the interpreter that runs the tests.
    :param differs: (text of the control, text of this driver) for each part of the output that is
        meant to differ.
    """

    requirements: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    driver: str = "cassandra-driver==3.30.1"
    least_lines: int = 5
    python: str = ""
    differs: tuple[tuple[str, str], ...] = ()


def run(
    *command: object, timeout: float = INSTALL_TIMEOUT, variables: dict[str, str] | None = None
) -> str:
    """Run a command, and return its standard output.

    :param timeout: seconds.
    :param variables: additional environment variables.
    :raises InstallFailed: if the command fails.
    """
    result = subprocess.run(
        [str(part) for part in command],
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**clean_environment(), **(variables or {})},
    )
    if result.returncode:
        output = result.stdout + result.stderr
        raise InstallFailed(f"{' '.join(map(str, command))}\n{output[-3000:]}")
    return result.stdout


def clean_environment() -> dict[str, str]:
    """Return this process's environment variables without those that affect Python interpreters.

    Such variables would influence the interpreter of another environment.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYTEST", "TURBOCQL_", "CASS_DRIVER_", "COV_"))
        and name not in ("VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    }


@dataclass(frozen=True)
class Environment:
    """A virtual environment: a folder with a Python interpreter and packages."""

    folder: Path

    @property
    def scripts(self) -> Path:
        """Return the folder of the interpreter and of the commands."""
        return self.folder / ("Scripts" if sys.platform == "win32" else "bin")

    @property
    def python(self) -> Path:
        """Return the path of the interpreter."""
        return self.scripts / ("python.exe" if sys.platform == "win32" else "python")

    def pip_install(self, *what: object) -> None:
        """Install packages with pip.

        :raises InstallFailed: if pip fails.
        """
        run(self.python, "-I", "-m", "pip", "install", "-q", "--disable-pip-version-check", *what)

    def owners(self) -> str:
        """Return the names of the distributions that contain the package `cassandra`.

        :returns: a printed list, for example "['turbocql']".
        """
        return run(self.python, "-I", "-c", OWNERS, timeout=60).strip()

    def stamp(self) -> dict[str, object]:
        """Return what `write_stamp` wrote; an empty dict if the environment is incomplete."""
        try:
            stamp: dict[str, object] = json.loads((self.folder / STAMP).read_text())
        except (OSError, ValueError):
            return {}
        return stamp

    def write_stamp(self, stamp: dict[str, object]) -> None:
        """Record that the environment is complete, and what is installed in it."""
        (self.folder / STAMP).write_text(json.dumps(stamp))

    def make(self, python: str) -> None:
        """Delete the folder, and create a new environment without packages in it.

        :param python: the version of the interpreter; empty for the version of this process.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        if python:
            run(find_python(python), "-m", "venv", self.folder)
        else:
            venv.create(self.folder, with_pip=True)


def find_python(version: str) -> Path:
    """Return an interpreter of this version of Python.

    :raises InstallFailed: if this machine has no such interpreter.
    """
    name = f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser() / "versions"
    on_path = shutil.which(name)
    # Run each candidate to see whether it works. A version manager may have a shim (a start script)
    # for a version that is not installed; running the shim fails.
    for python in [*([Path(on_path)] if on_path else []), *sorted(pyenv.glob(f"*/bin/{name}"))]:
        result = subprocess.run([str(python), "-V"], check=False, capture_output=True, timeout=60)
        if result.returncode == 0:
            return python
    raise InstallFailed(f"the program needs Python {version}, which is not on this machine")


def _expected_stamp(program: Program, driver: str) -> dict[str, object]:
    """Return the stamp of an environment that is complete and up to date."""
    return {
        "python": program.python or sys.version,
        "requirements": list(program.requirements),
        "alone": list(program.alone),
        "driver": driver,
    }


def _install_program(environment: Environment, program: Program, *with_them: str) -> None:
    """Install the packages of a program, and further packages, into an environment."""
    if program.alone:
        environment.pip_install("--no-deps", *program.alone)
    environment.pip_install(*program.requirements, *with_them)


def with_control(folder: Path, program: Program) -> Environment:
    """Return the environment of `program` with the driver that the program was made for.

    Create the environment in `folder` if it is not complete, or if the packages of `program` have
    changed.
    """
    environment = Environment(folder)
    expected = _expected_stamp(program, program.driver)
    if environment.stamp() != expected:
        environment.make(program.python)
        _install_program(environment, program, program.driver)
        environment.write_stamp(expected)
    driver = program.driver.partition("==")[0]
    assert environment.owners() == f"['{driver}']", environment.owners()
    return environment


def with_ours(folder: Path, program: Program, wheel: Path) -> Environment:
    """Return the environment of `program` with turbocql and the shims.

    The shims satisfy the program's requirement of another driver. Create the environment in
    `folder` if it is not complete, or if the packages of `program` have changed.
    """
    environment = Environment(folder)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    expected = _expected_stamp(program, "turbocql and shims")
    stamp = environment.stamp()
    if {name: value for name, value in stamp.items() if name != "wheel"} != expected:
        environment.make(program.python)
        environment.pip_install(wheel, *(ROOT / "shims" / name for name in SHIMS))
        _install_program(environment, program)
    elif stamp.get("wheel") != digest:
        environment.pip_install("--no-deps", "--force-reinstall", wheel)
    environment.write_stamp({**expected, "wheel": digest})
    # Check that pip has not installed another driver, which the program might import.
    assert environment.owners() == "['turbocql']", environment.owners()
    return environment


def find_wheel(folder: Path) -> Path:
    """Return the path of the wheel of turbocql that tox has built.

    If tox does not run this process, build a wheel in `folder`.
    """
    package = os.environ.get("TOX_PACKAGE")
    return Path(package.split(os.pathsep)[0]) if package else _make_wheel(folder)


def make_pure_wheel(folder: Path) -> Path:
    """Build a wheel of turbocql without compiled modules, which works with every interpreter."""
    return _make_wheel(folder, {"CASS_DRIVER_NO_EXTENSIONS": "1"})


def _make_wheel(folder: Path, variables: dict[str, str] | None = None) -> Path:
    """Empty a folder, build a wheel of turbocql in it, and return the wheel's path.

    :param variables: further environment variables of the build.
    """
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT]
    run(*command, variables=variables)
    (wheel,) = folder.glob("*.whl")
    return wheel
