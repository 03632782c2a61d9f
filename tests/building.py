"""Copies the sources of the driver, so that tests can build extensions outside the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
# A build of the driver and its tests needs these files and folders of the checkout.
PARTS = (
    "cassandra", "tests", "benchmarks", "setup.py", "pyproject.toml", "README.rst", "LICENSE",
    "turbocql_pytest.py",
)  # fmt: skip


def copy_checkout(folder: Path) -> None:
    """Copy the files and folders in PARTS from the checkout into `folder`.

    Build products are not copied.
    """
    for part in PARTS:
        source = HOME / part
        if source.is_dir():
            build_products = shutil.ignore_patterns(
                "*.so", "*.pyd", "*.c", "built-from.txt", "__pycache__", "*.pyc"
            )
            shutil.copytree(source, folder / part, ignore=build_products, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy2(source, folder / part)


def translate_sources(folder: Path) -> list[Path]:
    """Copy the checkout into `folder`, and translate its Cython sources there.

    :returns: the C files of all extensions, the largest first. They are the same for all
        interpreters and compilers.
    """
    copy_checkout(folder)
    # `setup.extensions` makes Cython write the C files, and compiles nothing.
    subprocess.run(
        [sys.executable, "-c", "import setup; setup.extensions()"],
        cwd=folder,
        env={**os.environ, "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST": "1"},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    c_files = (folder / "cassandra" / "_accel").glob("*.c")
    return sorted(c_files, key=lambda c_file: -c_file.stat().st_size)
