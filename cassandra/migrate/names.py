"""Looks up names in this driver: whether a name exists, and which attributes and parameters it has.

To look up a name, its module of the driver is imported. Modules of the application are never
imported.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import os
import warnings
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from cassandra._habits import Habit
from cassandra._impl import TWINS

PACKAGE = "cassandra"  # the package of all drivers
COMPILED = "cassandra._accel."  # the prefix of the names of compiled modules

MISSING = object()  # `find` returns this for a name that does not exist
UNKNOWN = object()  # `find` returns this if a module cannot be imported on this machine


def is_ours(name: str) -> bool:
    """Return True if a dotted name is in the driver's package."""
    return name == PACKAGE or name.startswith(PACKAGE + ".")


@functools.cache
def find(name: str) -> object:
    """Return the object with a dotted name; `MISSING` or `UNKNOWN` if it cannot be found.

    :param name: a name in the driver's package.
    """
    parent, _, attribute_name = name.rpartition(".")
    if not parent:
        return _module(name)
    parent_object = find(parent)
    if not _is_found(parent_object):
        return parent_object
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(parent_object, attribute_name)
    except AttributeError:
        if isinstance(parent_object, ModuleType):
            return _module(name)
        # A package may have a class or function with the same name as a submodule, which hides the
        # submodule, for example ``cassandra.util.sortedset``. So also look in the submodule.
        return getattr(_module(parent), attribute_name, MISSING)
    # The driver imports this name when it is first used, and its module needs a package that is not
    # installed.
    except Exception:
        return UNKNOWN


def _is_found(value: object) -> bool:
    # Compare by identity: some objects redefine ``==``. For example, ``==`` of a cqlengine column
    # returns a filter.
    return value is not MISSING and value is not UNKNOWN


def _module(name: str) -> object:
    """Import a module; return `MISSING` or `UNKNOWN` if that fails."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # If the error names this module, the module does not exist. If the error names another
        # module, this module exists, but needs a package that is not installed.
        return MISSING if error.name == name else UNKNOWN
    except Exception:  # for example, an optional package is too old
        return UNKNOWN


@functools.cache
def home(name: str) -> str:
    """Return the full name of a class or function in the module that defines it.

    The name of any other object is returned unchanged.

    :param name: a name in the driver's package.
    """
    target = find(name)
    if not _is_found(target) or (not isinstance(target, type) and not inspect.isroutine(target)):
        return name
    module = getattr(target, "__module__", None)
    qualified_name = getattr(target, "__qualname__", None)
    # Names with "<locals>" or "<lambda>" cannot be looked up in a module.
    if not module or not qualified_name or not is_ours(module) or "<" in qualified_name:
        return name
    return f"{module}.{qualified_name}"


def is_there(name: str) -> bool | None:
    """Return True if this driver has a name, False if it does not, and None if we cannot know.

    :param name: a name in the driver's package.
    """
    target = find(name)
    return None if target is UNKNOWN else target is not MISSING


def public(module: str) -> list[str]:
    """Return the names that ``from module import *`` binds; [] for modules outside the driver.

    :param module: the name of the module.
    """
    target = find(module) if is_ours(module) else None
    if not isinstance(target, ModuleType):
        return []
    exported_names = getattr(target, "__all__", None)
    if exported_names:
        return [*exported_names]
    return [name for name in dir(target) if not name.startswith("_")]


@functools.cache
def has_attribute(owner: str, name: str) -> bool | None:
    """Return True if objects of a class have an attribute.

    Return False if they do not have it, and None if we cannot know.

    :param owner: the class.
    :param name: the attribute.
    """
    cls = find(owner)
    if not isinstance(cls, type):
        return None
    # Search the dicts of the class and its bases. hasattr() would call descriptors, and some
    # descriptors raise an error for a class.
    classes = [_python_twin(base) for base in cls.__mro__]
    for base in classes:
        if name in vars(base):
            # A `Habit` stands for a name that the class does not have: reading it raises an error
            # with advice.
            return not isinstance(vars(base)[name], Habit)
    driver_classes = [base for base in classes if is_ours(base.__module__)]
    # With `__getattr__`, objects may have any attribute, so we cannot know.
    if any("__getattr__" in vars(base) for base in driver_classes):
        return None
    assigned = [_attributes_set_by(base) for base in driver_classes]
    if any(names is not None and name in names for names in assigned):
        return True
    # If a class assigns attributes that we cannot know, the list has None for it.
    return None if None in assigned else False


def _python_twin(cls: type) -> type:
    """Return the pure Python version of a compiled class; any other class unchanged.

    With the pure Python version, the result of a check does not depend on whether the driver's
    compiled modules are used. Besides, only Python classes have source code that we can read.
    """
    twin = TWINS.get(cls.__module__.removeprefix(COMPILED))
    python_twin = find(f"{twin}.{cls.__qualname__}") if twin is not None else cls
    return python_twin if isinstance(python_twin, type) else cls


def _attributes_set_by(cls: type) -> frozenset[str] | None:
    """Return the attributes that the methods of a class assign; None if we cannot know."""
    # Leave out nested classes, which are callable, too.
    methods = [
        attribute
        for attribute in vars(cls).values()
        if callable(attribute) and not isinstance(attribute, type)
    ]
    attributes: set[str] = set()
    for method in methods:
        assigned = _attributes_set_in_method(method)
        if assigned is None:
            return None
        attributes |= assigned
    return frozenset(attributes)


def _attributes_set_in_method(method: object) -> frozenset[str] | None:
    """Return the attributes that a method assigns; None if we cannot know."""
    function = inspect.unwrap(method)  # type: ignore[arg-type]
    twin_module = TWINS.get(str(getattr(function, "__module__", "")).removeprefix(COMPILED))
    if twin_module is not None:
        function = find(f"{twin_module}.{getattr(function, '__qualname__', '')}")
    # A compiled function has a code object too, but its file is a Cython file, which we cannot
    # parse.
    if not isinstance(function, FunctionType):
        return None
    file = function.__code__.co_filename
    if os.path.isfile(file):
        return _attributes_set_in_file(file)
    # The driver has generated this method at run time, so it has no source file. Return all names
    # in its code, which include the attributes that it assigns.
    return frozenset(function.__code__.co_names)


@functools.cache
def _attributes_set_in_file(file: str) -> frozenset[str]:
    """Return the names of all attributes that are assigned in a file."""
    with open(file, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    return frozenset(
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    )


# Functions of this driver may have a parameter ``**_unknown``, only to raise an error for unknown
# arguments.
_REFUSED = "_unknown"


@functools.cache
def parameters(name: str) -> frozenset[str] | None:
    """Return the parameter names of a function or class; None if it accepts any argument.

    :param name: the function or class, or ``Class.method``.
    """
    target = _callable(name)
    if target is None:
        return None
    if name in ("cassandra.cluster.Cluster", "cassandra.cqlengine.connection.setup"):
        return _settings() | frozenset(inspect.signature(target).parameters)
    try:
        signature = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(
        # The parameter ``**_unknown`` accepts no argument: it only exists to raise an error for
        # unknown arguments.
        parameter.kind is parameter.VAR_KEYWORD and parameter.name != _REFUSED
        for parameter in signature
    ):
        return None
    return frozenset(parameter.name for parameter in signature if parameter.name != _REFUSED)


@functools.cache
def position(name: str, argument: str) -> int | None:
    """Return the position of a parameter, from 0; None if it can only be passed by keyword.

    :param name: the function or class, or ``Class.method``.
    :param argument: the name of the parameter.
    """
    target = _callable(name)
    if target is None:
        return None
    try:
        signature = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return None
    if isinstance(find(name.rpartition(".")[0]), type) and not isinstance(target, type):
        del signature[:1]  # the parameter `self`
    for index, parameter in enumerate(signature):
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            return None
        if parameter.name == argument:
            return index
    return None


@functools.cache
def refuses(owner: str, name: str) -> bool:
    """Return True if assigning an attribute raises an error about a misspelt setting.

    :param owner: the class.
    :param name: the attribute.
    """
    cls: Any = find(owner)
    if not isinstance(cls, type) or name.startswith("_") or has_attribute(owner, name):
        return False
    # Only a class with its own `__setattr__` can reject an assignment.
    if not any("__setattr__" in vars(base) for base in cls.__mro__ if base is not object):
        return False
    create_object: Any = cls.__new__
    try:
        # Try the assignment on a new object. The constructor is not called, because it may need
        # arguments.
        setattr(create_object(cls), name, None)
    except AttributeError as error:
        # The object is not initialized, so the assignment may also fail for another reason. Check
        # that the error is about a setting with this name.
        return repr(name) in str(error) and "setting" in str(error)
    except Exception:
        return False
    return False


def _callable(name: str) -> Callable[..., Any] | None:
    """Return the function or class with a dotted name; None if it cannot be found."""
    target = find(name)
    return target if _is_found(target) and callable(target) else None


def _settings() -> frozenset[str]:
    """Return the names of the settings of `Cluster`, and of its other attributes."""
    # Use the attributes of the class: some settings are not in the signature of `Cluster`, but all
    # of them are attributes.
    cluster = find("cassandra.cluster.Cluster")
    signature = inspect.signature(cluster)  # type: ignore[arg-type]
    return frozenset(signature.parameters) | frozenset(dir(cluster))
