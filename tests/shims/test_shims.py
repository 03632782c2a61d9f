"""The shims satisfy packages that require another driver, and do not install that driver.

A fresh environment gets this driver, the shims and then a package that requires cassandra-driver. A
second one moves from cassandra-driver to this driver and back with the documented commands.
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
TIMEOUT = 600  # seconds; pip may have to fetch some packages

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
    done = subprocess.run(
        [str(part) for part in command],
        check=False,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env={**os.environ, "CASS_DRIVER_NO_EXTENSIONS": "1", **environment},
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


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
    lines = run(python, "-m", "pip", "list", "--format=freeze").splitlines()
    return dict(line.split("==", 1) for line in lines)


@pytest.mark.parametrize(
    "requirement",
    ["cassandra-driver>=3.29", "cassandra-driver==3.30.*", "cassandra-driver~=3.28,<4",
     "scylla-driver>=3.26", "cassandra-driver[graph]>=3.25", "scylla-driver"],
)  # fmt: skip
def test_requirements_are_satisfied(python: Path, requirement: str) -> None:
    before = installed(python)
    run(python, "-m", "pip", "install", "-q", "--no-index", requirement)
    assert installed(python) == before


def test_a_package_that_requires_another_driver_brings_none(python: Path) -> None:
    before = installed(python)
    run(python, "-m", "pip", "install", "-q", "cassio")
    after = installed(python)
    assert {name: after[name] for name in before} == before
    assert set(after) > set(before)
    run(python, "-c", CHECK, *SHIMS)
    run(python, "-m", "pip", "check")


def test_a_shim_of_another_version(python: Path, tmp_path: Path) -> None:
    shim = ROOT / "shims" / "cassandra-driver"
    run(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, shim,
        TURBOCQL_SHIM_VERSION="3.29.2")  # fmt: skip
    (wheel,) = tmp_path.iterdir()
    assert wheel.name == "cassandra_driver-3.29.2+turbocql-py3-none-any.whl"


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a POSIX shell")
def test_the_way_over_and_back(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "upgrading.rst").read_text()
    section = page[page.index("\npip\n~~~\n") : page.index("\nuv\n~~\n")]
    over, back = re.findall(r"code-block:: shell\n\n((?:   .*\n)+)", section)
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    wheels = ("-m", "pip", "wheel", "-q", "-w", tmp_path / "dist")
    run(python, *wheels, ROOT)
    run(python, *wheels, "--no-deps", *(ROOT / "shims" / name for name in SHIMS))
    run(python, "-m", "pip", "install", "-q", "cassandra-driver==3.29.3")
    before = installed(python)
    path = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": ""}
    shell = ("env", "-C", tmp_path, "bash", "-e", "-c")
    assert run(*shell, over, **path).split()[-1] in ("c", "python")
    after = installed(python)
    assert after["cassandra-driver"] == "3.30.1+turbocql"
    assert "turbocql" in after
    run(*shell, back, **path)
    assert installed(python) == before
    run(python, "-I", "-c", "import cassandra; assert cassandra.__version__ == '3.29.3'")
