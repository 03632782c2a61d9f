"""Environments in which programs of others run: one with this driver, one with cassandra-driver.

They are made once, under the folder that ``TURBOCQL_PROGRAMS`` names, and used again until their
requirements change. Only this driver is installed anew when its wheel is another one.
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
    """pip could not install a program here; the message has the end of what it said."""


@dataclass(frozen=True)
class Program:
    """What is installed for a program.

    :param requirements: what pip installs with all that these require.
    :param alone: what pip installs without what these require, since the path that is tried needs
        little of it.
    :param driver: the driver that the program is made for, which runs it as the control.
    :param least_lines: how much its script prints at least; less has compared nothing.
    :param differs: texts that this driver prints in place of the control's, each as (the control's,
        ours): a promise of ours that the program shows.
    """

    requirements: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    driver: str = "cassandra-driver==3.30.1"
    least_lines: int = 5
    differs: tuple[tuple[str, str], ...] = ()


def run(*command: object, timeout: float = INSTALL_TIMEOUT) -> str:
    """The output of `command`; `InstallFailed` if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout,
        env=clean_environment(),
    )
    if done.returncode:
        raise InstallFailed(f"{' '.join(map(str, command))}\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def clean_environment() -> dict[str, str]:
    """This process's environment variables without those that would change another Python."""
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
        """The folder of the interpreter and of the programs' commands."""
        return self.folder / ("Scripts" if sys.platform == "win32" else "bin")

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.scripts / ("python.exe" if sys.platform == "win32" else "python")

    def pip_install(self, *what: object) -> None:
        """Install packages; `InstallFailed` if pip cannot."""
        run(self.python, "-I", "-m", "pip", "install", "-q", "--disable-pip-version-check", *what)

    def owners(self) -> str:
        """The distributions that the package `cassandra` belongs to."""
        return run(self.python, "-I", "-c", OWNERS, timeout=60).strip()

    def stamp(self) -> dict[str, object]:
        """What was installed, as written at the end of an installation; nothing if it failed."""
        try:
            written: dict[str, object] = json.loads((self.folder / STAMP).read_text())
        except (OSError, ValueError):
            return {}
        return written

    def write_stamp(self, stamp: dict[str, object]) -> None:
        """Say that the environment is complete."""
        (self.folder / STAMP).write_text(json.dumps(stamp))

    def make(self) -> None:
        """Begin anew with an empty environment."""
        shutil.rmtree(self.folder, ignore_errors=True)
        venv.create(self.folder, with_pip=True)


def _wanted(program: Program, driver: str) -> dict[str, object]:
    return {
        "python": sys.version,
        "requirements": list(program.requirements),
        "alone": list(program.alone),
        "driver": driver,
    }


def _install_program(environment: Environment, program: Program, *with_them: str) -> None:
    if program.alone:
        environment.pip_install("--no-deps", *program.alone)
    environment.pip_install(*program.requirements, *with_them)


def with_control(folder: Path, program: Program) -> Environment:
    """The environment of `program` with the driver that it is made for."""
    environment = Environment(folder)
    wanted = _wanted(program, program.driver)
    if environment.stamp() != wanted:
        environment.make()
        _install_program(environment, program, program.driver)
        environment.write_stamp(wanted)
    driver = program.driver.partition("==")[0]
    assert environment.owners() == f"['{driver}']", environment.owners()
    return environment


def with_ours(folder: Path, program: Program, wheel: Path) -> Environment:
    """The environment of `program` with this driver and the shims, which keep the other one out."""
    environment = Environment(folder)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    wanted = _wanted(program, "turbocql and shims")
    stamp = environment.stamp()
    if {name: value for name, value in stamp.items() if name != "wheel"} != wanted:
        environment.make()
        environment.pip_install(wheel, *(ROOT / "shims" / name for name in SHIMS))
        _install_program(environment, program)
    elif stamp.get("wheel") != digest:
        environment.pip_install("--no-deps", "--force-reinstall", wheel)
    environment.write_stamp({**wanted, "wheel": digest})
    # Another driver that pip brought in would make the import refuse, and be the program's own.
    assert environment.owners() == "['turbocql']", environment.owners()
    return environment


def find_wheel(folder: Path) -> Path:
    """This driver's wheel: the one that tox made, or one made now."""
    made = os.environ.get("TOX_PACKAGE")
    if made:
        return Path(made.split(os.pathsep)[0])
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel
