"""Runs programs with this driver, and with other drivers from PyPI in environments outside the
clone.

All drivers have the same import package, so they never share an environment. Environments are
created once, under ``$TURBOCQL_BENCH_CACHE`` or ``~/.cache/turbocql/bench``. Only the public API of
the other drivers is called.

This driver is the one that the benchmark's process imports: the installed one, unless
``PYTHONPATH``, an editable installation or ``python -m`` select another.
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
    """A program has ended with an error; the message has the end of its output."""


def cache() -> Path:
    """Return the directory of the environments, which exists."""
    base = os.environ.get("TURBOCQL_BENCH_CACHE")
    folder = Path(base) if base else Path.home() / ".cache" / "turbocql" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# -- this driver -----------------------------------------------------------------------------------


def lanes() -> tuple[str, ...]:
    """Return the implementations of this driver that can be measured: "c" and "python"."""
    is_compiled = has("cassandra") and has("cassandra._accel.happy_path")
    return ("c", "python") if is_compiled else ("python",)


def own_lanes(bench: Benchmark) -> list[str]:
    """Return the columns of this driver, the compiled one first; report if there is none."""
    if len(lanes()) == 1:
        bench.note(
            f"pure Python is measured: {package_root() / 'cassandra'} has no compiled modules "
            "(pip install . builds them if there is a C compiler)"
        )
    return [f"turbocql {lane}" for lane in lanes()]


def package_root() -> Path:
    """Return the folder of the driver's package that this process imports."""
    spec = importlib.util.find_spec("cassandra")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).resolve().parent.parent


def own_settings() -> dict[str, str]:
    """Return the environment variables with which a process imports the same driver as this
    process.
    """
    root = str(package_root())
    site_folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    installed = any(os.path.realpath(folder) == root for folder in site_folders)
    path = [] if installed else [root]
    path += [entry for entry in [os.environ.get("PYTHONPATH")] if entry]
    return {"PYTHONPATH": os.pathsep.join(path)} if path else {}


def inherited() -> dict[str, str]:
    """Return the environment variables that every measured process gets."""
    return {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}


def run_ours(lane: str, script: Path, arguments: Sequence[str] = ()) -> Any:
    """Run `script` with this driver, in the lane "python" or "c"."""
    settings = {**own_settings(), "CASS_DRIVER_IMPL": lane}
    return run(sys.executable, script, arguments, settings)


# -- other drivers ---------------------------------------------------------------------------------


def home_of(peer: str) -> Path:
    """Return the folder of a peer's environment."""
    return cache() / f"{peer}-py{sys.version_info.major}.{sys.version_info.minor}"


def missing(peer: str, extra: Sequence[str] = ("numpy",)) -> list[str]:
    """Return the distributions that the environment of `peer` lacks."""
    done = home_of(peer) / "installed"
    there = done.read_text().split() if done.exists() else []
    return [name for name in (peer, *extra) if name not in there]


def environment(peer: str, extra: Sequence[str] = ("numpy",)) -> Path:
    """Return the Python executable of the environment of `peer`, a distribution's name.

    The environment is made if it is absent, or lacks one of `extra`; pip shows its progress.
    """
    home = home_of(peer)
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    packages = missing(peer, extra)
    if packages:
        done = home / "installed"
        there = done.read_text().split() if done.exists() else []
        if not there:
            venv.create(home, with_pip=True, clear=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--disable-pip-version-check", *packages],
            check=True,
            stdout=sys.stderr,
        )
        done.write_text("\n".join([*there, *packages]))
    return python


def prepare(
    bench: Benchmark, names: Sequence[str] = PEERS, extra: Sequence[str] = ("numpy",)
) -> list[str]:
    """Return the drivers of `names` that can be measured, after creating their environments.

    Environments to create, and drivers that are left out, are reported first.
    """
    if bench.options.no_peers:
        return []
    there: list[str] = []
    for name in names:
        if not missing(name, extra):
            there.append(name)
        elif bench.options.quick:
            bench.note(f"{name} is left out: it is not installed yet, and --quick installs nothing")
        else:
            bench.say(f"installing {name} from PyPI into {cache()}: about half a minute, once")
            try:
                environment(name, extra)
                there.append(name)
            except subprocess.CalledProcessError:
                bench.note(f"{name} is left out: it cannot be installed")
    bench.versions.update((name, version_of(name)) for name in there)
    return there


def version_of(peer: str) -> str:
    """Return the version of `peer` in its environment."""
    folders = [str(folder) for folder in home_of(peer).glob("[Ll]ib*/**/site-packages")]
    distribution = next(iter(metadata.distributions(name=peer, path=folders)), None)
    return "unknown" if distribution is None else distribution.version


def run(
    python: Path | str, script: Path, arguments: Sequence[str], settings: Mapping[str, str]
) -> Any:
    """Run `script` by `python`, and return the JSON on the last line of its output.

    All drivers have their bytecode before: an installed driver has it already, a source tree gets
    it in the first round.

    :param settings: further environment variables. :raises WorkerFailed: if it ends with an error.
    """
    done = subprocess.run(
        [str(python), str(script), *arguments],
        env={**inherited(), **settings},
        cwd=cache(),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        ends = done.stderr.strip()[-2000:]
        raise WorkerFailed(f"{script.name} failed with {done.returncode}:\n{ends}")
    return json.loads(done.stdout.splitlines()[-1])


def run_peer(
    peer: str, script: Path, arguments: Sequence[str] = (), extra: Sequence[str] = ("numpy",)
) -> Any:
    """Run `script` with the driver `peer`, in its environment."""
    return run(environment(peer, extra), script, arguments, {})


def run_any(column: str, script: Path, arguments: Sequence[str] = ()) -> Any:
    """Run `script` with a driver: "turbocql c", "turbocql python" or the name of a peer."""
    name, _, lane = column.partition(" ")
    if name == "turbocql":
        return run_ours(lane, script, arguments)
    return run_peer(name, script, arguments)
