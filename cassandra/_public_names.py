"""Sets the module that tracebacks and pickles name for a package's classes."""

from __future__ import annotations

import sys
from collections.abc import Iterable


def set_public_module(package: str, names: Iterable[str], home: str) -> None:
    """Set the ``__module__`` of the classes and functions that `package` gets from `home`.

    Call this in the package's ``__init__.py``, below its imports.

    :param package: the package's ``__name__``, from which applications import the names.
    :param names: names in the package. Objects that are not defined in `home` are left unchanged.
    :param home: a module, or a package (the start of the names of its modules).
    """
    module = sys.modules[package]
    for name in names:
        # Read the attribute of the module, and do not look the name up in globals(). With lazy
        # imports (PEP 810), globals() contains placeholders for names that nobody has used yet.
        value = getattr(module, name)
        defined_in = getattr(value, "__module__", None) or ""
        if defined_in == home or defined_in.startswith(f"{home}."):
            value.__module__ = package
