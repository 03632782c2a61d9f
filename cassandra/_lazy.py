"""Modules and classes with names from other modules, which are imported on first use."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._imports import Deferred, call_at_first_cluster, import_module

if TYPE_CHECKING:
    from cassandra._compat import reexports
else:
    reexports = Deferred("cassandra._compat.reexports")

__all__ = ["LazyAttribute", "lazy_base", "lazy_names"]

_NO_HOMES: Mapping[str, str] = {}


def lazy_names(
    module: str, homes: Mapping[str, str] = _NO_HOMES, renamed: Mapping[str, str] = _NO_HOMES
) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for `module` (PEP 562).

    After its first access, a name is an ordinary attribute of the module.

    :param module: the module's ``__name__``.
    :param homes: for each name, the module that defines it. The module also has the names that
        `cassandra._compat.reexports` lists for it.
    :param renamed: for each name, its name in the defining module if it differs.
    """

    def find(name: str) -> Any:
        home = homes.get(name)
        # Python itself asks for __path__, and for submodules that are not imported yet. The table
        # need not be read for these.
        if home is None and not name.startswith("__") and not _is_submodule(module, name):
            home = _reexported(module).get(name)
        if home is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(home), renamed.get(name, name))
        # Python does not call `__getattr__` again for an existing attribute.
        setattr(sys.modules[module], name, value)
        return value

    return find


class LazyAttribute:
    """A class attribute that is defined in a class of another module.

    The other module is imported on first access. Then the attribute itself replaces this object.

    :param home: the module.
    :param holder: the name of the class there, or of another module that `home` has. None for the
        module itself.
    :param name: its name there; None if it is the same.
    :param for_engine: True if connecting or executing needs it, so that it is imported with the
        first cluster.
    """

    __slots__ = ("_holder", "_home", "_name", "_owner", "_there")

    _owner: type
    _name: str

    def __init__(
        self,
        home: str,
        holder: str | None = None,
        name: str | None = None,
        for_engine: bool = False,
    ) -> None:
        self._home = home
        self._holder = holder
        self._there = name
        if for_engine:
            call_at_first_cluster(self._load)

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner
        self._name = name

    def _load(self) -> Any:
        holder: Any = import_module(self._home)
        if self._holder is not None:
            holder = getattr(holder, self._holder)
        attribute = vars(holder)[self._there or self._name]
        # User code may have patched it.
        if vars(self._owner).get(self._name) is self:
            setattr(self._owner, self._name, attribute)
        return attribute

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        attribute = self._load()
        # Bind it here: a look-up by name might find an override in a subclass that is calling this
        # attribute.
        bind = getattr(type(attribute), "__get__", None)
        return attribute if bind is None else bind(attribute, instance, owner)

    # With these two methods, values that are set before the first access are stored as they are
    # after it.
    def __set__(self, instance: object, value: object) -> None:
        self._load()
        object.__setattr__(instance, self._name, value)

    def __delete__(self, instance: object) -> None:
        self._load()
        object.__delattr__(instance, self._name)


def lazy_base(name: str, home: str, attributes: str) -> Any:
    """Return a base class that gets its attributes from the class `name` in another module.

    :param name: the name of the class, here and in the other module.
    :param home: the other module.
    :param attributes: the names of the attributes, separated by spaces.
    """
    attributes_by_name = {attribute: LazyAttribute(home, name) for attribute in attributes.split()}
    return type(name, (), {"__slots__": (), **attributes_by_name})


def _is_submodule(module: str, name: str) -> bool:
    # ``from package import module`` first asks for an attribute, and then imports the file.
    spec = sys.modules[module].__spec__
    locations = (spec.submodule_search_locations if spec is not None else None) or ()
    return any(
        os.path.exists(os.path.join(location, end))
        for location in locations
        for end in (f"{name}.py", name)
    )


def _reexported(module: str) -> Mapping[str, str]:
    """Return the defining modules of names that `module` only has for compatibility."""
    homes = reexports.REEXPORTS.get(module, {})
    return {name: home for home, names in homes.items() for name in names.split()}
