"""Modules and classes with names of other modules, which are imported at their first use."""

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


class LazyAttribute:
    """An attribute of a class that is defined in a class of another module.

    That module is imported at the first look. From then on the class has the attribute itself.

    :param home: the module.
    :param holder: the name of the class there, or of another module that `home` knows. None for
        the module itself.
    :param name: the name there; None if it is the attribute's.
    :param for_engine: True if connecting or executing need it: it comes with the first cluster.
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
        # A program may have patched it.
        if vars(self._owner).get(self._name) is self:
            setattr(self._owner, self._name, attribute)
        return attribute

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        attribute = self._load()
        # Bound here: looked up by its name, it might be that of a subclass which calls this one.
        bind = getattr(type(attribute), "__get__", None)
        return attribute if bind is None else bind(attribute, instance, owner)

    # With these two, what is set before the first look is kept as it is after it.
    def __set__(self, instance: object, value: object) -> None:
        self._load()
        object.__setattr__(instance, self._name, value)

    def __delete__(self, instance: object) -> None:
        self._load()
        object.__delattr__(instance, self._name)


def lazy_base(name: str, home: str, attributes: str) -> Any:
    """Return a base class whose attributes are those of the class `name` in another module.

    :param name: of the class here and there.
    :param home: the module.
    :param attributes: their names, with spaces between.
    """
    found = {one: LazyAttribute(home, name) for one in attributes.split()}
    return type(name, (), {"__slots__": (), **found})


def _is_submodule(module: str, name: str) -> bool:
    # ``from package import module`` asks for an attribute first, and then imports the file.
    spec = sys.modules[module].__spec__
    places = (spec.submodule_search_locations if spec is not None else None) or ()
    return any(
        os.path.exists(os.path.join(place, end)) for place in places for end in (f"{name}.py", name)
    )


def _reexported(module: str) -> Mapping[str, str]:
    """Return the homes of names that `module` has only because programs import them from there."""
    homes = reexports.REEXPORTS.get(module, {})
    return {name: home for home, names in homes.items() for name in names.split()}
