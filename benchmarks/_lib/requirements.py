"""Checks the requirements of a benchmark, besides the driver, before it starts."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys

__all__ = ["PROGRAMS", "has", "is_quick", "lacking", "need", "need_driver"]

# Programs that some benchmarks need, and their Debian packages.
PROGRAMS = {"cc": "gcc", "strace": "strace", "valgrind": "valgrind"}


def has(*packages: str) -> bool:
    """Return True if all `packages` can be imported."""
    try:
        return all(importlib.util.find_spec(name) is not None for name in packages)
    except ModuleNotFoundError:  # raised if a parent package is missing
        return False


def lacking(program: str) -> str | None:
    """Return the package to install if `program` is not on the path, else None."""
    if shutil.which(program) is not None:
        return None
    return f"{program}, which is not installed (Debian: apt install {PROGRAMS[program]})"


def need(*packages: str, install: str) -> None:
    """End the program with a line that says what to install, if one of `packages` is missing."""
    missing = [name for name in packages if not has(name)]
    if missing:
        sys.exit(
            f"this benchmark needs {', '.join(missing)}, "
            f"which cannot be imported by {sys.executable}: "
            f"install {install}"
        )


def need_driver() -> None:
    """End the program with a line of instructions if turbocql is not installed."""
    need("cassandra", "geomet", install="turbocql, in a clone by: pip install .")
    spec = importlib.util.find_spec("cassandra")
    if not has("cassandra._impl"):
        sys.exit(
            f"this benchmark needs turbocql, but {spec and spec.origin} is another driver's: "
            "make an environment of its own, and there, in a clone: pip install ."
        )


def is_quick() -> bool:
    """Return True if this process, or its parent, has the option ``--quick``."""
    return bool(os.environ.get("TURBOCQL_BENCH_QUICK"))
