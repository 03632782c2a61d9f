"""Adds names of other modules to modules and classes, and imports them when they are first used."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._imports import Deferred, call_at_first_cluster, import_module

if TYPE_CHECKING:
    from cassandra import _wrong_imports
    from cassandra._compat import reexports
else:
    _wrong_imports = Deferred("cassandra._wrong_imports")
    reexports = Deferred("cassandra._compat.reexports")

_NO_HOMES: Mapping[str, str] = {}


def homes_of(names: Mapping[str, str]) -> dict[str, str]:
    """Return the module that defines each name, for the parameter `homes` of `lazy_names`.

    :param names: for each module, the names that it defines, separated by white space.
    """
    return {name: module for module, text in names.items() for name in text.split()}


def lazy_names(
    module: str, homes: Mapping[str, str] = _NO_HOMES, renamed: Mapping[str, str] = _NO_HOMES
) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a module (PEP 562) that imports names on their first access.

    After its first access, a name is an ordinary attribute of the module.

    :param module: the module's ``__name__``.
    :param homes: for each name, the module that defines it. `cassandra._compat.reexports` may list
        more names for `module`.
    :param renamed: for each name that is different in the defining module, the name in that module.
    """

    def import_name(name: str) -> Any:
        """Import the object of a name, and store it in the module."""
        home = homes.get(name)
        # Python itself looks up names such as __path__, and submodules that are not imported yet.
        # For such a name, do not import the table of re-exported names, which does not have it.
        if home is None and not name.startswith("__") and not _is_submodule(module, name):
            home = _reexported(module).get(name)
        if home is None:
            if name.startswith("__") or _is_submodule(module, name):
                raise AttributeError(f"module {module!r} has no attribute {name!r}")
            raise _wrong_imports.missing_name(module, name)
        value = getattr(import_module(home), renamed.get(name, name))
        # Store the object in the module: Python then does not call `__getattr__` for this name
        # again.
        setattr(sys.modules[module], name, value)
        return value

    return import_name


class LazyAttribute:
    """A class attribute that is defined in another module.

    The other module is imported when the attribute is first accessed. The attribute then replaces
    this object.

    :param home: the other module.
    :param holder: the name of the class in `home` that has the attribute; None if the module itself
        has it.
    :param name: the attribute's name in `home`; None if the attribute has the same name in both
        modules.
    :param for_engine: True if the attribute is needed to connect or execute. It is then imported
        when the first cluster is created.
    """

    __slots__ = ("_holder_name", "_home", "_name", "_name_in_home", "_owner")

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
        # The class in `home` that has the attribute; None if it is a global name of that module.
        self._holder_name = holder
        # The attribute's name in `home`; None if the name is the same in both modules.
        self._name_in_home = name
        if for_engine:
            call_at_first_cluster(self._load)

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner
        self._name = name

    def _load(self) -> Any:
        """Import the attribute, and put it in the place of this placeholder."""
        source: Any = import_module(self._home)
        if self._holder_name is not None:
            source = getattr(source, self._holder_name)
        # Read the attribute from the dict, so that a function or property is not bound to `source`.
        attribute = vars(source)[self._name_in_home or self._name]
        # Do not overwrite the attribute if user code has patched it in the meantime.
        if vars(self._owner).get(self._name) is self:
            setattr(self._owner, self._name, attribute)
        return attribute

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        attribute = self._load()
        # Bind the attribute here, and do not look it up again by name. The caller may be an
        # overriding method in a subclass, and a look-up would find the overriding method again.
        bind = getattr(type(attribute), "__get__", None)
        return attribute if bind is None else bind(attribute, instance, owner)

    # Before user code sets or deletes the attribute on an object, replace this descriptor, so that
    # the effect is the same as after the first access.
    def __set__(self, instance: object, value: object) -> None:
        self._load()
        object.__setattr__(instance, self._name, value)

    def __delete__(self, instance: object) -> None:
        self._load()
        object.__delattr__(instance, self._name)


def lazy_base(name: str, home: str, attributes: str) -> type[Any]:
    """Return a base class that gets its attributes from the class `name` in another module.

    :param name: the name of the class, here and in the other module.
    :param home: the other module.
    :param attributes: the names of the attributes, separated by spaces.
    """
    attributes_by_name = {attribute: LazyAttribute(home, name) for attribute in attributes.split()}
    return type(name, (), {"__slots__": (), **attributes_by_name})


def _is_submodule(module: str, name: str) -> bool:
    """Return True if the package `module` has a module or package `name`."""
    # Submodules must be recognized, because for ``from package import module`` Python first looks
    # for an attribute of the package.
    spec = sys.modules[module].__spec__
    locations = (spec.submodule_search_locations if spec is not None else None) or ()
    return any(
        os.path.exists(os.path.join(location, end))
        for location in locations
        # A module is a file; a package is a folder.
        for end in (f"{name}.py", name)
    )


def _reexported(module: str) -> Mapping[str, str]:
    """Return the names that `module` only has for compatibility, and the module of each name."""
    homes = reexports.REEXPORTS.get(module, {})
    return {name: home for home, names in homes.items() for name in names.split()}
