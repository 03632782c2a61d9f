"""The names that this driver has. Its own modules are imported if they are asked for, no others."""

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

MISSING = object()  # what `find` returns for a name that is not there
UNKNOWN = object()  # and if a module cannot be imported here, so that nothing can be said


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
    if not _is_known(holder):
        return holder
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(holder, last)
    except AttributeError:
        if isinstance(holder, ModuleType):
            return _module(name)
        # A module may have the name of a class beside it: ``cassandra.util.sortedset``.
        return getattr(_module(parent), last, MISSING)
    except Exception:  # a lazy name whose home needs a package that is not installed
        return UNKNOWN


def _is_known(found: object) -> bool:
    # By identity: columns of the mapper, say, make filters of a comparison.
    return found is not MISSING and found is not UNKNOWN


def _module(name: str) -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        return MISSING if error.name == name else UNKNOWN
    except Exception:  # an optional package that is too old, say
        return UNKNOWN


@functools.cache
def home(name: str) -> str:
    """Return the name by which a class or function is defined, the name itself for all else.

    :param name: a name in the driver's package.
    """
    found = find(name)
    if not _is_known(found) or (not isinstance(found, type) and not inspect.isroutine(found)):
        return name
    module, own = getattr(found, "__module__", None), getattr(found, "__qualname__", None)
    if not module or not own or not is_ours(module) or "<" in own:
        return name
    return f"{module}.{own}"


def is_there(name: str) -> bool | None:
    """Return whether this driver has a name, None if that cannot be said.

    :param name: a name in the driver's package.
    """
    found = find(name)
    return None if found is UNKNOWN else found is not MISSING


def public(module: str) -> list[str]:
    """Return the names that ``from module import *`` binds, none of a module of others.

    :param module: the module.
    """
    found = find(module) if is_ours(module) else None
    if not isinstance(found, ModuleType):
        return []
    listed = getattr(found, "__all__", None)
    return [*listed] if listed else [name for name in dir(found) if not name.startswith("_")]


@functools.cache
def has_attribute(owner: str, name: str) -> bool | None:
    """Return whether objects of a class have an attribute, None if that cannot be said.

    :param owner: the class.
    :param name: the attribute.
    """
    kind = find(owner)
    if not isinstance(kind, type):
        return None
    # Looked up, not asked for: some attributes raise an error at a class.
    line = [_reference(one) for one in kind.__mro__]
    if any(name in vars(one) for one in line):
        return True
    kinds = [one for one in line if is_ours(one.__module__)]
    if any("__getattr__" in vars(one) for one in kinds):
        return None
    given = [_given_by(one) for one in kinds]
    if any(names is not None and name in names for names in given):
        return True
    return None if None in given else False


def _reference(kind: type) -> type:
    """Return the Python twin of a compiled class, itself of any other.

    What is found must not depend on which implementation runs, and only one has a source to read.
    """
    twin = TWINS.get(kind.__module__.removeprefix(COMPILED))
    found = find(f"{twin}.{kind.__qualname__}") if twin is not None else kind
    return found if isinstance(found, type) else kind


def _given_by(kind: type) -> frozenset[str] | None:
    """Return the attributes that a class's methods give, None if that cannot be said."""
    methods = [one for one in vars(kind).values() if callable(one) and not isinstance(one, type)]
    given: set[str] = set()
    for one in methods:
        found = _given_in_method(one)
        if found is None:
            return None
        given |= found
    return frozenset(given)


def _given_in_method(method: object) -> frozenset[str] | None:
    plain = inspect.unwrap(method)  # type: ignore[arg-type]
    twin = TWINS.get(str(getattr(plain, "__module__", "")).removeprefix(COMPILED))
    if twin is not None:
        plain = find(f"{twin}.{getattr(plain, '__qualname__', '')}")
    # Code objects of Cython name a .pyx, which may be there: relative to a clone.
    if not isinstance(plain, FunctionType):
        return None
    file = plain.__code__.co_filename
    if os.path.isfile(file):
        return _given_in(file)
    # A method that the driver has generated, as the constructor of settings, has no source. All
    # names in it are more than it sets.
    return frozenset(plain.__code__.co_names)


@functools.cache
def _given_in(file: str) -> frozenset[str]:
    """Return the names of all attributes that a file sets."""
    with open(file, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    return frozenset(
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    )


@functools.cache
def parameters(name: str) -> frozenset[str] | None:
    """Return the names of arguments that a function or class takes, None if it takes any.

    :param name: the function or class; ``Class.method`` of one of its methods.
    """
    found = _callable(name)
    if found is None:
        return None
    if name in ("cassandra.cluster.Cluster", "cassandra.cqlengine.connection.setup"):
        return _settings() | frozenset(inspect.signature(found).parameters)
    try:
        taken = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind is one.VAR_KEYWORD for one in taken):
        return None
    return frozenset(one.name for one in taken)


@functools.cache
def position(name: str, argument: str) -> int | None:
    """Return the position at which a call may give an argument, None if it has none.

    :param name: the function or class; ``Class.method`` of one of its methods.
    :param argument: the argument.
    """
    found = _callable(name)
    if found is None:
        return None
    try:
        taken = list(inspect.signature(found).parameters.values())
    except (TypeError, ValueError):
        return None
    if isinstance(find(name.rpartition(".")[0]), type) and not isinstance(found, type):
        del taken[:1]  # self
    for at, one in enumerate(taken):
        if one.kind not in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD):
            return None
        if one.name == argument:
            return at
    return None


@functools.cache
def refuses(owner: str, name: str) -> bool:
    """Return whether objects of a class refuse an attribute because it is a misspelt setting.

    :param owner: the class.
    :param name: the attribute.
    """
    kind: Any = find(owner)
    if not isinstance(kind, type) or name.startswith("_") or has_attribute(owner, name):
        return False
    if not any("__setattr__" in vars(one) for one in kind.__mro__ if one is not object):
        return False
    make: Any = kind.__new__
    try:
        setattr(make(kind), name, None)  # an object that is good for nothing else
    except AttributeError as error:
        # Of an object that is not made, other attributes are missing.
        return repr(name) in str(error) and "setting" in str(error)
    except Exception:
        return False
    return False


def _callable(name: str) -> Callable[..., Any] | None:
    found = find(name)
    return found if _is_known(found) and callable(found) else None


def _settings() -> frozenset[str]:
    # Those of later releases are in no signature, but all are attributes of the class.
    cluster = find("cassandra.cluster.Cluster")
    signature = inspect.signature(cluster)  # type: ignore[arg-type]
    return frozenset(signature.parameters) | frozenset(dir(cluster))
