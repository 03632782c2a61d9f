"""Environments in which third-party programs run: one with this driver, one with cassandra-driver.

They are created once, in the folder that ``TURBOCQL_PROGRAMS`` names, and used until their
requirements change. Only this driver is reinstalled if its wheel changes.
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
SHIMS = ("cassandra-driver", "scylla-driver")
INSTALL_TIMEOUT = 900  # seconds; the largest program has some 150 packages
STAMP = "programs.json"

OWNERS = """
import importlib.metadata as metadata
print(sorted({
    distribution.name
    for distribution in metadata.distributions()
    if any(path.as_posix() == "cassandra/__init__.py" for path in distribution.files or ())
}))
"""


class InstallFailed(Exception):
    """pip could not install a program here; the message has the end of pip's output."""


@dataclass(frozen=True)
class Program:
    """The packages to install for a program.

    :param requirements: packages that pip installs with all their dependencies. :param alone:
    packages that pip installs without dependencies, if the script needs few of them. :param driver:
    the driver that the program is made for, which runs it as the control. :param least_lines: the
    least number of lines that its script prints; fewer lines mean that nothing was compared. :param
    python: the version of the interpreter that the program needs, such as ``"3.12"``; empty for the
    interpreter that runs the lane. :param differs: strings that this driver prints instead of the
    control's, each as (the control's, ours): a promise of ours that the program shows.
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
    """Return the output of `command`; raise `InstallFailed` if it fails.

    :param variables: environment variables that are set for it.
    """
    done = subprocess.run(
        [str(part) for part in command],
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**clean_environment(), **(variables or {})},
    )
    if done.returncode:
        raise InstallFailed(f"{' '.join(map(str, command))}\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def clean_environment() -> dict[str, str]:
    """Return this process's environment variables without those that would change
    another Python.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYTEST", "TURBOCQL_", "CASS_DRIVER_", "COV_"))
        and name not in ("VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    }


@dataclass(frozen=True)
class Environment:
    """A folder with an interpreter and packages."""

    folder: Path

    @property
    def scripts(self) -> Path:
        """Return the folder of the interpreter and of the programs' commands."""
        return self.folder / ("Scripts" if sys.platform == "win32" else "bin")

    @property
    def python(self) -> Path:
        """Return the path of the interpreter."""
        return self.scripts / ("python.exe" if sys.platform == "win32" else "python")

    def pip_install(self, *what: object) -> None:
        """Install packages; raise `InstallFailed` if pip cannot."""
        run(self.python, "-I", "-m", "pip", "install", "-q", "--disable-pip-version-check", *what)

    def owners(self) -> str:
        """Return the distributions that the package `cassandra` belongs to."""
        return run(self.python, "-I", "-c", OWNERS, timeout=60).strip()

    def stamp(self) -> dict[str, object]:
        """Return the record of a complete installation; an empty dict if there is none."""
        try:
            written: dict[str, object] = json.loads((self.folder / STAMP).read_text())
        except (OSError, ValueError):
            return {}
        return written

    def write_stamp(self, stamp: dict[str, object]) -> None:
        """Record that the environment is complete."""
        (self.folder / STAMP).write_text(json.dumps(stamp))

    def make(self, python: str) -> None:
        """Create an empty environment in place of the old one.

        :param python: the version of its interpreter; empty for the interpreter that runs this.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        if python:
            run(find_python(python), "-m", "venv", self.folder)
        else:
            venv.create(self.folder, with_pip=True)


def find_python(version: str) -> Path:
    """Return the interpreter of a version of Python; raise `InstallFailed` if there is none."""
    name = f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser() / "versions"
    on_path = shutil.which(name)
    # A version manager may have a shim for a version that is not installed, so we run it.
    for python in [*([Path(on_path)] if on_path else []), *sorted(pyenv.glob(f"*/bin/{name}"))]:
        done = subprocess.run([str(python), "-V"], check=False, capture_output=True, timeout=60)
        if done.returncode == 0:
            return python
    raise InstallFailed(f"the program needs Python {version}, which is not on this machine")


def _wanted(program: Program, driver: str) -> dict[str, object]:
    return {
        "python": program.python or sys.version,
        "requirements": list(program.requirements),
        "alone": list(program.alone),
        "driver": driver,
    }


def _install_program(environment: Environment, program: Program, *with_them: str) -> None:
    if program.alone:
        environment.pip_install("--no-deps", *program.alone)
    environment.pip_install(*program.requirements, *with_them)


def with_control(folder: Path, program: Program) -> Environment:
    """Return the environment of `program` with the driver that it is made for."""
    environment = Environment(folder)
    expected = _wanted(program, program.driver)
    if environment.stamp() != expected:
        environment.make(program.python)
        _install_program(environment, program, program.driver)
        environment.write_stamp(expected)
    driver = program.driver.partition("==")[0]
    assert environment.owners() == f"['{driver}']", environment.owners()
    return environment


def with_ours(folder: Path, program: Program, wheel: Path) -> Environment:
    """Return the environment of `program` with this driver and the shims, which keep the other
    driver out.
    """
    environment = Environment(folder)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    expected = _wanted(program, "turbocql and shims")
    stamp = environment.stamp()
    if {name: value for name, value in stamp.items() if name != "wheel"} != expected:
        environment.make(program.python)
        environment.pip_install(wheel, *(ROOT / "shims" / name for name in SHIMS))
        _install_program(environment, program)
    elif stamp.get("wheel") != digest:
        environment.pip_install("--no-deps", "--force-reinstall", wheel)
    environment.write_stamp({**expected, "wheel": digest})
    # If pip had brought in another driver, the program would import that driver.
    assert environment.owners() == "['turbocql']", environment.owners()
    return environment


def find_wheel(folder: Path) -> Path:
    """Return this driver's wheel: the wheel that tox made, or a new wheel."""
    package = os.environ.get("TOX_PACKAGE")
    return Path(package.split(os.pathsep)[0]) if package else _make_wheel(folder)


def make_pure_wheel(folder: Path) -> Path:
    """Build this driver's wheel without compiled modules, for every interpreter."""
    return _make_wheel(folder, {"CASS_DRIVER_NO_EXTENSIONS": "1"})


def _make_wheel(folder: Path, variables: dict[str, str] | None = None) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT]
    run(*command, variables=variables)
    (wheel,) = folder.glob("*.whl")
    return wheel
