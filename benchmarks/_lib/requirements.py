"""Checks that the driver, and the packages and programs that a benchmark needs, are installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys

# Programs that some benchmarks need, and their Debian packages.
PROGRAMS = {"cc": "gcc", "strace": "strace", "valgrind": "valgrind"}


def has(*packages: str) -> bool:
    """Return True if all `packages` can be imported."""
    try:
        return all(importlib.util.find_spec(name) is not None for name in packages)
    except ModuleNotFoundError:  # raised if a parent package is missing
        return False


def lacking(program: str) -> str | None:
    """Return what to install, as the end of a sentence, if `program` is not on PATH; else None."""
    if shutil.which(program) is not None:
        return None
    return f"{program}, which is not installed (Debian: apt install {PROGRAMS[program]})"


def need(*packages: str, install: str) -> None:
    """Exit with a message that says what to install, if one of `packages` cannot be imported."""
    missing = [name for name in packages if not has(name)]
    if missing:
        sys.exit(
            f"this benchmark needs {', '.join(missing)}, "
            f"which cannot be imported by {sys.executable}: "
            f"install {install}"
        )


def need_driver() -> None:
    """Exit with instructions if turbocql is not installed, or another driver is in its place."""
    need("cassandra", "geomet", install="turbocql, in a clone by: pip install .")
    spec = importlib.util.find_spec("cassandra")
    if not has("cassandra._impl"):
        sys.exit(
            f"this benchmark needs turbocql, but {spec and spec.origin} is another driver's: "
            "make an environment of its own, and there, in a clone: pip install ."
        )


def is_quick() -> bool:
    """Return True if this benchmark, or the benchmark that started this process, has --quick."""
    return bool(os.environ.get("TURBOCQL_BENCH_QUICK"))
