"""Runs scripts with this driver and with peers: other drivers from PyPI.

All drivers have the import name `cassandra`, so each peer needs an environment of its own. This
environment is created once, under ``$TURBOCQL_BENCH_CACHE`` or ``~/.cache/turbocql/bench``. Scripts
use only the public API of peers.

"This driver" is the driver that the benchmark's process imports. This is the installed driver,
unless ``PYTHONPATH``, an editable installation or ``python -m`` selects another.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks._lib.report import Benchmark
from benchmarks._lib.requirements import has

PEERS = ("cassandra-driver", "scylla-driver")
_NOT_INHERITED = ("PYTHONPATH", "CASS_DRIVER_IMPL", "PYTHONDONTWRITEBYTECODE")


class WorkerFailed(Exception):
    """A script has exited with an error; the message has the end of its output."""


def cache() -> Path:
    """Return the folder of the environments; create it if it does not exist."""
    base = os.environ.get("TURBOCQL_BENCH_CACHE")
    folder = Path(base) if base else Path.home() / ".cache" / "turbocql" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# -- this driver -----------------------------------------------------------------------------------


def lanes() -> tuple[str, ...]:
    """Return the implementations of this driver that can be measured.

    They are "c" and "python", or only "python" if the driver has no compiled modules.
    """
    is_compiled = has("cassandra") and has("cassandra._accel.happy_path")
    return ("c", "python") if is_compiled else ("python",)


def own_lanes(bench: Benchmark) -> list[str]:
    """Return the names of this driver's columns, the compiled implementation first.

    If there are no compiled modules, only pure Python is measured, and the report says so.
    """
    if len(lanes()) == 1:
        bench.note(
            f"pure Python is measured: {package_root() / 'cassandra'} has no compiled modules "
            "(pip install . builds them if there is a C compiler)"
        )
    return [f"turbocql {lane}" for lane in lanes()]


def package_root() -> Path:
    """Return the folder that contains the package `cassandra` which this process imports."""
    spec = importlib.util.find_spec("cassandra")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).resolve().parent.parent


def own_settings() -> dict[str, str]:
    """Return environment variables that make a new process import this process's driver."""
    root = str(package_root())
    site_folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    is_installed = any(os.path.realpath(folder) == root for folder in site_folders)
    python_path = [] if is_installed else [root]
    python_path += [entry for entry in [os.environ.get("PYTHONPATH")] if entry]
    return {"PYTHONPATH": os.pathsep.join(python_path)} if python_path else {}


def inherited() -> dict[str, str]:
    """Return the environment variables that every measured process gets."""
    return {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}


def run_ours(lane: str, script: Path, arguments: Sequence[str] = ()) -> Any:
    """Run `script` with this driver; return the JSON on the last line of its output.

    :param lane: "c" for the compiled implementation, or "python".
    """
    settings = {**own_settings(), "CASS_DRIVER_IMPL": lane}
    return run(sys.executable, script, arguments, settings)


# -- other drivers ---------------------------------------------------------------------------------


def home_of(peer: str) -> Path:
    """Return the folder of a peer's environment."""
    return cache() / f"{peer}-py{sys.version_info.major}.{sys.version_info.minor}"


def missing(peer: str, extra: Sequence[str] = ("numpy",)) -> list[str]:
    """Return the distributions that the environment of `peer` lacks.

    :param extra: further distributions that the environment must have.
    """
    record = home_of(peer) / "installed"
    installed = record.read_text().split() if record.exists() else []
    return [name for name in (peer, *extra) if name not in installed]


def environment(peer: str, extra: Sequence[str] = ("numpy",)) -> Path:
    """Return the Python executable of a peer's environment.

    If the environment does not exist, create it. If packages are missing, pip installs them and
    shows its progress.

    :param peer: the name of a distribution on PyPI.
    :param extra: further distributions that the environment must have.
    """
    home = home_of(peer)
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    packages = missing(peer, extra)
    if packages:
        # The file lists the distributions that were installed. It is written last. If it is
        # missing, the environment may be incomplete, so create the environment again.
        record = home / "installed"
        installed = record.read_text().split() if record.exists() else []
        if not installed:
            venv.create(home, with_pip=True, clear=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--disable-pip-version-check", *packages],
            check=True,
            stdout=sys.stderr,
        )
        record.write_text("\n".join([*installed, *packages]))
    return python


def prepare(
    bench: Benchmark, names: Sequence[str] = PEERS, extra: Sequence[str] = ("numpy",)
) -> list[str]:
    """Create the environments of the drivers `names`; return those drivers that can be measured.

    The function prints which environments it creates and which drivers it leaves out. With
    ``--quick``, nothing is installed, so only drivers with an existing environment can be measured.
    With ``--no-peers``, the result is empty.
    """
    if bench.options.no_peers:
        return []
    measurable: list[str] = []
    for name in names:
        if not missing(name, extra):
            measurable.append(name)
        elif bench.options.quick:
            bench.note(f"{name} is left out: it is not installed yet, and --quick installs nothing")
        else:
            # If a driver cannot be installed, leave it out, and go on with the other drivers.
            bench.say(f"installing {name} from PyPI into {cache()}: about half a minute, once")
            try:
                environment(name, extra)
                measurable.append(name)
            except subprocess.CalledProcessError:
                bench.note(f"{name} is left out: it cannot be installed")
    bench.versions.update((name, version_of(name)) for name in measurable)
    return measurable


def version_of(peer: str) -> str:
    """Return the version of `peer` in its environment."""
    folders = [str(folder) for folder in home_of(peer).glob("[Ll]ib*/**/site-packages")]
    distribution = next(iter(metadata.distributions(name=peer, path=folders)), None)
    return "unknown" if distribution is None else distribution.version


def run(
    python: Path | str,
    script: Path,
    arguments: Sequence[str],
    settings: Mapping[str, str],
    command_prefix: Sequence[str] = (),
) -> Any:
    """Run `script` with the interpreter `python`; return the JSON on the last line of its output.

    If a script runs in several rounds, its best figure does not include the time to compile modules
    to bytecode: an installed driver has bytecode files, and a source tree gets them in the first
    round.

    :param settings: further environment variables.
    :param command_prefix: a command, such as perf's, that runs the interpreter.
    :raises WorkerFailed: if the script exits with an error.
    """
    result = subprocess.run(
        [*command_prefix, str(python), str(script), *arguments],
        env={**inherited(), **settings},
        cwd=cache(),
        capture_output=True,
        text=True,
    )
    if result.returncode:
        stderr_tail = result.stderr.strip()[-2000:]
        raise WorkerFailed(f"{script.name} failed with {result.returncode}:\n{stderr_tail}")
    return json.loads(result.stdout.splitlines()[-1])


def run_peer(
    peer: str, script: Path, arguments: Sequence[str] = (), extra: Sequence[str] = ("numpy",)
) -> Any:
    """Run `script` with the driver `peer`, in its environment; return the JSON that it prints."""
    return run(environment(peer, extra), script, arguments, {})


def run_any(column: str, script: Path, arguments: Sequence[str] = ()) -> Any:
    """Run `script` with a driver: "turbocql c", "turbocql python" or the name of a peer."""
    name, _, lane = column.partition(" ")
    if name == "turbocql":
        return run_ours(lane, script, arguments)
    return run_peer(name, script, arguments)
