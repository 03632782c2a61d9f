"""Attributes that are settings whose names are misspelt, most likely."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable
from typing import Any
from weakref import WeakKeyDictionary

from cassandra._imports import import_module

__all__ = ["check_spelling", "class_attribute", "is_of_driver", "nearest"]

log = logging.getLogger(__name__)

# Of two names: how alike they are if one is the other misspelt, from 0 to 1. `conect_timeout` and
# `connect_timeout` have 0.97, `timeout` has 0.64. Programs may keep attributes of their own.
ALIKE = 0.85

# What was warned of, by class. Threads may meet here: one warning too many does no harm.
_warned: WeakKeyDictionary[type, set[str]] = WeakKeyDictionary()


def check_spelling(
    holder: object,
    name: str,
    known: Iterable[str],
    attributes: Callable[[Any], Container[str]] = vars,
) -> None:
    """Look at a new attribute that is most likely a setting whose name is misspelt.

    A class of a program's own has attributes of its own, and their names may be like those of
    settings. There a warning is logged, once for each class and name.

    :param holder: the object. What it or its class has already is not misspelt.
    :param name: the attribute that is set.
    :param known: the names of all settings.
    :param attributes: gives the object's own attributes.
    :raises AttributeError: if it is misspelt, and the object's class is the driver's.
    """
    kind = type(holder)
    # A private name is the program's own affair, and a name of the class is spelt as it should be.
    if name.startswith("_") or class_attribute(kind, name) is not None:
        return
    # Most attributes are like no setting: difflib is not imported for them.
    near = nearest(name, [one for one in known if _share(name, one) >= ALIKE], ALIKE)
    # Last: the dictionary of an object that nobody has asked for is not made, and the attributes of
    # such an object are read faster.
    if near is None or name in attributes(holder):
        return
    if is_of_driver(kind):
        raise AttributeError(f"{kind.__name__} has no setting {name!r}; did you mean {near!r}?")
    warned = _warned.setdefault(kind, set())
    if name not in warned:
        warned.add(name)
        log.warning(
            "%s.%s is an attribute of the program's own, not a setting; the nearest setting is %r",
            kind.__name__,
            name,
            near,
        )


def is_of_driver(kind: type) -> bool:
    """Return True if a class is the driver's own, False if a program has derived it.

    :param kind: the class.
    """
    return kind.__module__.partition(".")[0] == "cassandra"


def class_attribute(kind: type, name: str) -> Any:
    """Return an attribute of a class as it is, a descriptor say; None if there is none.

    :param kind: the class.
    :param name: the attribute.
    """
    for one in kind.__mro__:
        if name in vars(one):
            return vars(one)[name]
    return None


def nearest(name: str, known: Iterable[str], alike: float) -> str | None:
    """Return the name that is most like another one; None if none is.

    :param name: the one to look for.
    :param known: the names to choose from.
    :param alike: how alike it must be, from 0 to 1.
    """
    known = list(known)
    if not known:
        return None
    near = import_module("difflib").get_close_matches(name, known, 1, alike)
    return near[0] if near else None


def _share(name: str, other: str) -> float:
    """Return how alike two names can be at most, from the letters that they have in common."""
    both = len(name) + len(other)
    most = 2 * min(len(name), len(other)) / both
    if most < ALIKE:
        return most
    return 2 * sum(min(name.count(one), other.count(one)) for one in {*name}) / both
