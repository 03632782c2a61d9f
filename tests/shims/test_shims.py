"""Tests of the shims, with which pip regards cassandra-driver and scylla-driver as installed.

A shim is an empty distribution with the name of one of those drivers. Most tests share an
environment with this driver and both shims. The last test creates its own environment, and switches
it from cassandra-driver to this driver and back with the documented commands.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIMS = ("cassandra-driver", "scylla-driver")
# This limit is in seconds. pip may have to download some packages.
TIMEOUT = 600

# This program fails unless turbocql alone owns the package `cassandra`, the versions of the shims
# in sys.argv end with "+turbocql", and cassio, which requires cassandra-driver, can be imported.
CHECK = """
import cassandra, cassandra.cluster, importlib.metadata as metadata, sys
owners = {
    distribution.name
    for distribution in metadata.distributions()
    if any(path.as_posix() == "cassandra/__init__.py" for path in distribution.files or ())
}
assert owners == {"turbocql"}, owners
for name in sys.argv[1:]:
    assert metadata.version(name).endswith("+turbocql"), name
import cassio
"""


def run(*command: object, **environment: str) -> str:
    """Run a command that must succeed, and return its standard output.

    :param environment: environment variables that are set for the command.
    """
    result = subprocess.run(
        [str(part) for part in command],
        check=False,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env={**os.environ, "CASS_DRIVER_NO_EXTENSIONS": "1", **environment},
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with this driver and both shims."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    scripts = folder / ("Scripts" if sys.platform == "win32" else "bin")
    interpreter = scripts / ("python.exe" if sys.platform == "win32" else "python")
    run(interpreter, "-m", "pip", "install", "-q", ROOT, *(ROOT / "shims" / name for name in SHIMS))
    return interpreter


def installed(python: Path) -> dict[str, str]:
    """Return the versions of the installed packages, by name."""
    lines = run(python, "-m", "pip", "list", "--format=freeze").splitlines()
    return dict(line.split("==", 1) for line in lines)


@pytest.mark.parametrize(
    "requirement",
    ["cassandra-driver>=3.29", "cassandra-driver==3.30.*", "cassandra-driver~=3.28,<4",
     "scylla-driver>=3.26", "cassandra-driver[graph]>=3.25", "scylla-driver"],
)  # fmt: skip
def test_pip_finds_the_requirement_satisfied_and_installs_nothing(
    python: Path, requirement: str
) -> None:
    before = installed(python)
    run(python, "-m", "pip", "install", "-q", "--no-index", requirement)
    assert installed(python) == before


def test_a_package_that_requires_cassandra_driver_does_not_install_it(python: Path) -> None:
    """A package that requires cassandra-driver must be installed without it.

    pip must install cassio and its other requirements, and change no installed package.
    """
    packages_before = installed(python)
    run(python, "-m", "pip", "install", "-q", "cassio")
    packages_after = installed(python)
    assert {name: packages_after[name] for name in packages_before} == packages_before
    assert set(packages_after) > set(packages_before)
    run(python, "-c", CHECK, *SHIMS)
    run(python, "-m", "pip", "check")


def test_the_version_of_a_shim_can_be_chosen_when_it_is_built(python: Path, tmp_path: Path) -> None:
    shim = ROOT / "shims" / "cassandra-driver"
    run(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, shim,
        TURBOCQL_SHIM_VERSION="3.29.2")  # fmt: skip
    (wheel,) = tmp_path.iterdir()
    assert wheel.name == "cassandra_driver-3.29.2+turbocql-py3-none-any.whl"


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a POSIX shell")
def test_the_documented_commands_switch_to_this_driver_and_back(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "upgrading.rst").read_text()
    section = page[page.index("\npip\n~~~\n") : page.index("\nuv\n~~\n")]
    switch, switch_back = re.findall(r"code-block:: shell\n\n((?:   .*\n)+)", section)
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    # The documented commands install from ./dist.
    pip_wheel = ("-m", "pip", "wheel", "-q", "-w", tmp_path / "dist")
    run(python, *pip_wheel, ROOT)
    run(python, *pip_wheel, "--no-deps", *(ROOT / "shims" / name for name in SHIMS))
    run(python, "-m", "pip", "install", "-q", "cassandra-driver==3.29.3")
    packages_before = installed(python)
    path = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": ""}
    shell = ("env", "-C", tmp_path, "bash", "-e", "-c")
    # The last command prints the implementation that the installed driver uses.
    implementation = run(*shell, switch, **path).split()[-1]
    assert implementation in ("c", "python")
    packages_after = installed(python)
    assert packages_after["cassandra-driver"] == "3.30.1+turbocql"
    assert "turbocql" in packages_after
    run(*shell, switch_back, **path)
    assert installed(python) == packages_before
    run(python, "-I", "-c", "import cassandra; assert cassandra.__version__ == '3.29.3'")
