"""Checks the packages that a benchmark needs beyond the driver itself, before it starts."""

from __future__ import annotations

import importlib.util
import sys


def need(
    *packages: str, install: str = "the test extra, in a clone by: pip install '.[test]'"
) -> None:
    """End the program with a line that says what to install, if one of `packages` is missing."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(
            f"this benchmark needs {', '.join(missing)}, "
            f"which cannot be imported by {sys.executable}: "
            f"install {install}"
        )
