"""Modules with names of other modules, which are imported at their first use (PEP 562)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from cassandra._imports import import_module

__all__ = ["lazy_names"]

_NO_HOMES: Mapping[str, str] = {}


def lazy_names(
    module: str, homes: Mapping[str, str] = _NO_HOMES, renamed: Mapping[str, str] = _NO_HOMES
) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for `module`.

    A name that is asked for once is an ordinary attribute of the module from then on.

    :param module: the module's ``__name__``.
    :param homes: the module that has each name. Besides these, the module has the names that
        `cassandra._compat.reexports` lists for it.
    :param renamed: the name at home, if it is not the same.
    """

    def find(name: str) -> Any:
        home = homes.get(name)
        # Python itself asks for __path__, and for submodules that are not imported yet: the table
        # need not be read for these.
        if home is None and not name.startswith("__") and not _is_submodule(module, name):
            home = _reexported(module).get(name)
        if home is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(home), renamed.get(name, name))
        # Python does not call `__getattr__` again for a name that the module has.
        setattr(sys.modules[module], name, value)
        return value

    return find


def _is_submodule(module: str, name: str) -> bool:
    # ``from package import module`` asks for an attribute first, and then imports the file.
    spec = sys.modules[module].__spec__
    places = (spec.submodule_search_locations if spec is not None else None) or ()
    return any(
        os.path.exists(os.path.join(place, end)) for place in places for end in (f"{name}.py", name)
    )


def _reexported(module: str) -> Mapping[str, str]:
    """Return the homes of names that `module` has only because programs import them from there."""
    table: dict[str, dict[str, str]] = import_module("cassandra._compat.reexports").REEXPORTS
    return {name: home for home, names in table.get(module, {}).items() for name in names.split()}
