"""Looks up names in this driver. Its modules are imported on demand; no other modules are
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

from cassandra._impl import TWINS

PACKAGE = "cassandra"
COMPILED = "cassandra._accel."

MISSING = object()  # what `find` returns for a name that does not exist
# what `find` returns if a module cannot be imported here, so that we cannot know
UNKNOWN = object()


def is_ours(name: str) -> bool:
    """Return True if a dotted name is in the driver's package.

    :param name: the name.
    """
    return name == PACKAGE or name.startswith(PACKAGE + ".")


@functools.cache
def find(name: str) -> object:
    """Return the object of a dotted name, `MISSING` or `UNKNOWN`.

    :param name: a name in the driver's package.
    """
    parent, _, last = name.rpartition(".")
    if not parent:
        return _module(name)
    holder = find(parent)
    if not _is_found(holder):
        return holder
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(holder, last)
    except AttributeError:
        if isinstance(holder, ModuleType):
            return _module(name)
        # A module may have the same name as an attribute of its package:
        # ``cassandra.util.sortedset``.
        return getattr(_module(parent), last, MISSING)
    except Exception:  # a lazy name whose module needs a package that is not installed
        return UNKNOWN


def _is_found(value: object) -> bool:
    # We compare by identity, because some objects override ``==``: columns of cqlengine create
    # filters.
    return value is not MISSING and value is not UNKNOWN


def _module(name: str) -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        return MISSING if error.name == name else UNKNOWN
    except Exception:  # for example, an optional package is too old
        return UNKNOWN


@functools.cache
def home(name: str) -> str:
    """Return the full name under which a class or function is defined; other names unchanged.

    :param name: a name in the driver's package.
    """
    target = find(name)
    if not _is_found(target) or (not isinstance(target, type) and not inspect.isroutine(target)):
        return name
    module, qualified_name = (
        getattr(target, "__module__", None),
        getattr(target, "__qualname__", None),
    )
    if not module or not qualified_name or not is_ours(module) or "<" in qualified_name:
        return name
    return f"{module}.{qualified_name}"


def is_there(name: str) -> bool | None:
    """Return True if this driver has a name, False if not, and None if we cannot know.

    :param name: a name in the driver's package.
    """
    target = find(name)
    return None if target is UNKNOWN else target is not MISSING


def public(module: str) -> list[str]:
    """Return the names that ``from module import *`` binds. The module must belong to the driver.

    :param module: the module.
    """
    target = find(module) if is_ours(module) else None
    if not isinstance(target, ModuleType):
        return []
    listed = getattr(target, "__all__", None)
    return [*listed] if listed else [name for name in dir(target) if not name.startswith("_")]


@functools.cache
def has_attribute(owner: str, name: str) -> bool | None:
    """Return True if objects of a class have an attribute, False if not, and None if we cannot
    know.

    :param owner: the class.
    :param name: the attribute.
    """
    cls = find(owner)
    if not isinstance(cls, type):
        return None
    # Search the classes' dicts instead of calling hasattr: some attributes raise an error on a
    # class.
    line = [_python_twin(base) for base in cls.__mro__]
    if any(name in vars(base) for base in line):
        return True
    driver_classes = [base for base in line if is_ours(base.__module__)]
    if any("__getattr__" in vars(base) for base in driver_classes):
        return None
    assigned = [_attributes_set_by(base) for base in driver_classes]
    if any(names is not None and name in names for names in assigned):
        return True
    return None if None in assigned else False


def _python_twin(cls: type) -> type:
    """Return the Python twin of a compiled class, or the class itself if it is not compiled.

    The result must not depend on the running implementation, and only Python classes have a source
    that we can read.
    """
    twin = TWINS.get(cls.__module__.removeprefix(COMPILED))
    python_twin = find(f"{twin}.{cls.__qualname__}") if twin is not None else cls
    return python_twin if isinstance(python_twin, type) else cls


def _attributes_set_by(cls: type) -> frozenset[str] | None:
    """Return the attributes that methods of a class assign, or None if we cannot know."""
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
    plain = inspect.unwrap(method)  # type: ignore[arg-type]
    twin = TWINS.get(str(getattr(plain, "__module__", "")).removeprefix(COMPILED))
    if twin is not None:
        plain = find(f"{twin}.{getattr(plain, '__qualname__', '')}")
    # Code objects of Cython have a .pyx file name relative to the repository, which may exist.
    if not isinstance(plain, FunctionType):
        return None
    file = plain.__code__.co_filename
    if os.path.isfile(file):
        return _attributes_set_in_file(file)
    # The driver generates some methods, such as the constructor of settings, which have no source.
    # We return all names that the code uses, which include those that it assigns.
    return frozenset(plain.__code__.co_names)


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


# The parameter that accepts unknown arguments, for an error that names the right setting; see
# `_unknown_options`.
_REFUSED = "_unknown"


@functools.cache
def parameters(name: str) -> frozenset[str] | None:
    """Return the parameter names of a function or class, or None if it accepts any argument.

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
        parameter.kind is parameter.VAR_KEYWORD and parameter.name != _REFUSED
        for parameter in signature
    ):
        return None
    return frozenset(parameter.name for parameter in signature if parameter.name != _REFUSED)


@functools.cache
def position(name: str, argument: str) -> int | None:
    """Return the position of a parameter, or None if it cannot be passed by position.

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
        del signature[:1]  # self
    for index, parameter in enumerate(signature):
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            return None
        if parameter.name == argument:
            return index
    return None


@functools.cache
def refuses(owner: str, name: str) -> bool:
    """Return True if objects of a class reject an attribute name as a misspelt setting.

    :param owner: the class.
    :param name: the attribute.
    """
    cls: Any = find(owner)
    if not isinstance(cls, type) or name.startswith("_") or has_attribute(owner, name):
        return False
    if not any("__setattr__" in vars(base) for base in cls.__mro__ if base is not object):
        return False
    make: Any = cls.__new__
    try:
        setattr(make(cls), name, None)  # the object is not initialized and only serves this check
    except AttributeError as error:
        # The error may have another cause, because attributes of the uninitialized object are
        # missing.
        return repr(name) in str(error) and "setting" in str(error)
    except Exception:
        return False
    return False


def _callable(name: str) -> Callable[..., Any] | None:
    target = find(name)
    return target if _is_found(target) and callable(target) else None


def _settings() -> frozenset[str]:
    # Settings added in later releases are not in a signature, but all settings are attributes of
    # the class.
    cluster = find("cassandra.cluster.Cluster")
    signature = inspect.signature(cluster)  # type: ignore[arg-type]
    return frozenset(signature.parameters) | frozenset(dir(cluster))
