"""Tests that each parameter of a documented function or class has a ``:param:`` field."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest

DOCS = Path(__file__).parents[2] / "docs"
# The kinds of the parameters `*args` and `**kwargs`.
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def directives(kind: str) -> set[str]:
    """Return the names in directives of the documentation, such as ``.. automodule:: NAME``."""
    pattern = re.compile(rf"^\.\. {kind}:: (\S+)", re.M)
    return {name for page in DOCS.rglob("*.rst") for name in pattern.findall(page.read_text())}


def public_names(module: Any) -> list[str]:
    """Return the names in a module's ``__all__``, which each documented module must have."""
    assert hasattr(module, "__all__"), f"{module.__name__} does not say which names are public"
    return list(module.__all__)


class Excluded(NamedTuple):
    """A name that a page leaves out of the documentation of a module or class (`path`)."""

    page: str
    path: str
    name: str

    def __str__(self) -> str:
        return f"{self.page}: {self.path} without {self.name}"


def excluded_members(page: str, text: str) -> list[Excluded]:
    """Return the names that a page leaves out with ``:exclude-members:``."""
    directive = re.compile(r"^\.\. auto(?:module|class):: (\S+)\n((?: {3}.*\n)*)", re.M)
    option = re.compile(r"^ {3}:exclude-members:((?:.*\n)(?: {6}.*\n)*)", re.M)
    return [
        Excluded(page, path, name.strip())
        for path, options in directive.findall(text)
        for names in option.findall(options)
        for name in names.split(",")
    ]


def has_member(path: str, name: str) -> bool:
    """Return True if `path` has the member `name`.

    :param path: a class; or a module, whose public classes may also have the member.
    """
    try:
        module = importlib.import_module(path)
    except ImportError:
        module_name, _, class_name = path.rpartition(".")
        return hasattr(getattr(importlib.import_module(module_name), class_name), name)
    public = [getattr(module, member) for member in public_names(module)]
    return hasattr(module, name) or any(
        hasattr(member, name) for member in public if inspect.isclass(member)
    )


# Applications can import the names of this module, but each call raises an error. So their
# parameters need no description.
REFUSED = "cassandra.datastax.graph"


def documented() -> dict[str, Any]:
    """Return the documented functions and classes, by name."""
    objects = {}
    for module_name in directives("automodule"):
        if module_name.startswith(REFUSED):
            continue
        module = importlib.import_module(module_name)
        for name in public_names(module):
            objects[f"{module_name}.{name}"] = getattr(module, name)
    for path in directives("autoclass"):
        module_name, _, name = path.rpartition(".")
        objects[path] = getattr(importlib.import_module(module_name), name)
    return objects


def function_of(attribute: object) -> Callable[..., Any] | None:
    """Return the function of a method or function, or None for other attributes."""
    if isinstance(attribute, (staticmethod, classmethod)):
        return attribute.__func__
    is_function = isinstance(attribute, FunctionType) or inspect.isroutine(attribute)
    return attribute if callable(attribute) and is_function else None


def parameters(function: Callable[..., Any], is_bound: bool) -> list[inspect.Parameter]:
    """Return the public parameters of a function, without `self` or `cls`.

    :param is_bound: True if the first parameter is `self` or `cls`.
    """
    try:
        signature = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        # This is a built-in function.
        return []
    if is_bound:
        signature = signature[1:]
    return [parameter for parameter in signature if not parameter.name.startswith("_")]


def is_listed(name: str, texts: list[str]) -> bool:
    """Return True if one of the docstrings has a ``:param:`` field for a parameter.

    :param name: the name of the parameter.
    :param texts: the docstrings.
    """
    field = re.compile(rf":param (?:[^:]*[ ,*])?{re.escape(name)}(?:,[^:]*)?:")
    return any(field.search(text) for text in texts)


def parameters_without_field(
    function: Callable[..., Any], is_bound: bool, overridden: list[Any]
) -> list[str]:
    """Return the parameters that have no field in the docstring of the function.

    A field in the docstring of an overridden method counts, too.

    :param is_bound: see `parameters`.
    :param overridden: the methods of base classes that the function overrides.
    """
    texts = [documented_object.__doc__ or "" for documented_object in (function, *overridden)]
    # If a base class describes `*args`, an override may have named parameters instead, which need
    # no fields.
    if any(is_listed("args", [text]) for text in texts[1:]):
        return []
    return [
        parameter.name
        for parameter in parameters(function, is_bound)
        # An override may pass `*args` and `**kwargs` to its base class, which describes them.
        if not (overridden and parameter.kind in VARIADIC) and not is_listed(parameter.name, texts)
    ]


def methods(cls: type) -> Iterator[tuple[str, Callable[..., Any], bool, list[Any]]]:
    """Yield (name, function, True if it has `self`, overridden methods) of each public method."""
    names = {name for base in cls.__mro__ for name in vars(base) if not name.startswith("_")}
    for name in sorted(names):
        bases = [base for base in cls.__mro__ if name in vars(base)]
        function = function_of(vars(bases[0])[name])
        # Leave out methods of asyncio's protocols, which Python's documentation describes.
        if function is None or not all(base.__module__.startswith("cassandra") for base in bases):
            continue
        is_bound = not isinstance(vars(bases[0])[name], staticmethod)
        yield name, function, is_bound, [vars(base)[name] for base in bases[1:]]


def parameters_missing_in_class(cls: type) -> list[str]:
    """Return the parameters of the constructor without a field in the docstring of the class.

    If a class inherits its constructor, the defining class may describe the parameters.
    """
    # Applications do not call metaclasses, and call an enumeration only with one of its values. So
    # neither needs fields.
    if issubclass(cls, (type, enum.Enum)):
        return []
    texts: list[str] = []
    for base in [
        ancestor for ancestor in cls.__mro__ if ancestor.__module__.startswith("cassandra")
    ]:
        texts.append(base.__doc__ or "")
        # `__new__` is the constructor of named tuples.
        function = function_of(vars(base).get("__init__") or vars(base).get("__new__"))
        if function is not None:
            names = [parameter.name for parameter in parameters(function, True)]
            return [name for name in names if not is_listed(name, texts)]
    return []


def missing_fields(path: str, documented: Any) -> list[str]:
    """Return the parameters of a documented function or class that have no field."""
    if inspect.isclass(documented):
        missing = {
            f"{path}.{name}": parameters_without_field(function, is_bound, overridden)
            for name, function, is_bound, overridden in methods(documented)
        }
        missing[path] = parameters_missing_in_class(documented)
    else:
        function = function_of(documented)
        # Python's documentation describes the methods of its types, such as `struct.Struct.unpack`.
        is_ours = function is not None and not inspect.isbuiltin(function)
        missing = {
            path: parameters_without_field(function, False, []) if is_ours and function else []
        }
    return [f"{name}: {parameter}" for name, names in missing.items() for parameter in names]


def test_each_parameter_has_a_field() -> None:
    pages = documented()
    assert "cassandra.cluster.Cluster" in pages
    assert [line for path, thing in pages.items() for line in missing_fields(path, thing)] == []


def test_each_excluded_member_exists() -> None:
    """A member that a page excludes must exist.

    If the member was renamed, the page excludes only its old name. So the page documents the member
    under its new name by mistake.
    """
    exclusions = [
        exclusion
        for page in DOCS.rglob("*.rst")
        for exclusion in excluded_members(page.name, page.read_text())
    ]
    assert exclusions
    missing = [
        str(exclusion) for exclusion in exclusions if not has_member(exclusion.path, exclusion.name)
    ]
    assert missing == []


def test_an_excluded_member_that_does_not_exist_is_found() -> None:
    text = """\
.. automodule:: cassandra.cluster
   :members:
   :exclude-members: shutdown, Session,
      set_keyspace, ask_ahead
   :show-inheritance:

.. autoclass:: cassandra.cluster.ResponseFuture
   :exclude-members: result, set_keyspace
"""
    exclusions = excluded_members("made_up.rst", text)
    # The text excludes four names of cassandra.cluster, and two names of ResponseFuture.
    assert len(exclusions) == 6
    missing = [
        exclusion for exclusion in exclusions if not has_member(exclusion.path, exclusion.name)
    ]
    assert missing == [
        ("made_up.rst", "cassandra.cluster", "ask_ahead"),
        ("made_up.rst", "cassandra.cluster.ResponseFuture", "set_keyspace"),
    ]


def test_a_module_without_all_is_found() -> None:
    with pytest.raises(AssertionError, match="made_up does not say"):
        public_names(ModuleType("made_up"))


def test_a_missing_field_is_found() -> None:
    def with_named_parameters(first: int, second: int) -> None:
        """Do it.

        :param first: the number.
        """

    def with_variadic_parameters(*first: int, third: int) -> None:
        """Do it."""

    def missing(function: Any, overridden: Any = (), is_bound: bool = False) -> list[str]:
        return parameters_without_field(function, is_bound, [*overridden])

    assert missing(with_named_parameters) == ["second"]
    # As a method, the function has `first` as its `self`, which needs no field.
    assert missing(with_named_parameters, is_bound=True) == ["second"]
    assert missing(with_variadic_parameters) == ["first", "third"]
    # A field of the overridden function must count for the variadic parameter `first`.
    assert missing(with_variadic_parameters, overridden=[with_named_parameters]) == ["third"]


def test_a_missing_field_of_a_constructor_is_found() -> None:
    """The class that defines a constructor must describe its parameters.

    A named tuple has no separate constructor; its fields are its parameters.
    """

    class Base:
        """Something.

        :param first: the number.
        """

        def __init__(self, first: int) -> None:
            pass

    class Extended(Base):
        """Something more."""

        def __init__(self, first: int, second: int, *further: int, **named: int) -> None:
            pass

    class Inherited(Extended):
        """Something more.

        :param second: the number.
        :param named: others.
        """

    class Pair(NamedTuple):
        """Two.

        :param left: the number.
        """

        left: int
        right: int

    for cls in (Base, Extended, Inherited, Pair):
        cls.__module__ = "cassandra.made_up"
    assert parameters_missing_in_class(Base) == []
    assert parameters_missing_in_class(Extended) == ["first", "second", "further", "named"]
    assert parameters_missing_in_class(Inherited) == ["first", "further"]
    assert parameters_missing_in_class(Pair) == ["right"]
