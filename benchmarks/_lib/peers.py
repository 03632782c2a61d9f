"""Other drivers to measure beside: each from PyPI in a virtual environment outside the tree.

They own the same import package, so they can never share an environment with this driver or with
each other. Environments are made once, under ``$TURBOCQL_BENCH_CACHE`` or
``~/.cache/turbocql/bench``. Only their public API is called.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TREE = Path(__file__).resolve().parents[2]
PEERS = ("cassandra-driver", "scylla-driver")
_NOT_INHERITED = ("PYTHONPATH", "CASS_DRIVER_IMPL", "PYTHONDONTWRITEBYTECODE")


def cache() -> Path:
    """Return the directory of the environments."""
    base = os.environ.get("TURBOCQL_BENCH_CACHE")
    return Path(base) if base else Path.home() / ".cache" / "turbocql" / "bench"


def environment(peer: str, extra: Sequence[str] = ("numpy",)) -> Path:
    """Return the Python executable of the environment of `peer`, a distribution's name.

    The environment is made if it is absent, or lacks one of `extra`.
    """
    home = cache() / f"{peer}-py{sys.version_info.major}.{sys.version_info.minor}"
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    done = home / "installed"
    there = done.read_text().split() if done.exists() else []
    missing = [name for name in (peer, *extra) if name not in there]
    if missing:
        print(f"installing {', '.join(missing)} into {home}", file=sys.stderr)
        if not there:
            venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *missing], check=True)
        done.write_text("\n".join([*there, *missing]))
    return python


def run(
    python: Path | str, script: Path, arguments: Sequence[str], settings: Mapping[str, str]
) -> Any:
    """Run `script` by `python`, and return the JSON on the last line of its output.

    Every driver imports modules compiled to bytecode before, as installed ones are: this tree's are
    written in the first round.

    :param settings: further environment variables.
    """
    inherited = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
    done = subprocess.run(
        [str(python), str(script), *arguments],
        env={**inherited, **settings},
        cwd=cache(),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def run_peer(peer: str, script: Path, arguments: Sequence[str] = ()) -> Any:
    """Run `script` with the driver `peer`."""
    return run(environment(peer), script, arguments, {})


def run_ours(lane: str, script: Path, arguments: Sequence[str] = ()) -> Any:
    """Run `script` with this tree, in the lane "python" or "c"."""
    cache().mkdir(parents=True, exist_ok=True)
    return run(
        sys.executable, script, arguments, {"PYTHONPATH": str(TREE), "CASS_DRIVER_IMPL": lane}
    )
