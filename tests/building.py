"""Copies of the tree in which tests build extensions, so that the tree itself stays clean."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["HOME", "copied", "translated"]

HOME = Path(__file__).resolve().parent.parent
PARTS = (
    "cassandra", "tests", "benchmarks", "setup.py", "pyproject.toml", "README.rst", "LICENSE",
    "turbocql_pytest.py",
)  # fmt: skip


def copied(folder: Path) -> None:
    """Copy the tree without build products."""
    for part in PARTS:
        source = HOME / part
        if source.is_dir():
            unwanted = shutil.ignore_patterns(
                "*.so", "*.pyd", "*.c", "built-from.txt", "__pycache__", "*.pyc"
            )
            shutil.copytree(source, folder / part, ignore=unwanted, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy2(source, folder / part)


def translated(folder: Path) -> list[Path]:
    """Copy the tree, and return the C files of its extensions, the largest first.

    The C files are the same for all interpreters and compilers.
    """
    copied(folder)
    subprocess.run(
        [sys.executable, "-c", "import setup; setup.extensions()"],
        cwd=folder,
        env={**os.environ, "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST": "1"},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    sources = (folder / "cassandra" / "_accel").glob("*.c")
    return sorted(sources, key=lambda source: -source.stat().st_size)
