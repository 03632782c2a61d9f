"""Detects attributes that are probably misspelt settings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from cassandra._imports import Deferred, import_module
from cassandra._logs import Log

if TYPE_CHECKING:
    from cassandra import _habits
else:
    _habits = Deferred("cassandra._habits")  # deferred, because `_habits` imports this module

log = Log(__name__)

# A name is considered misspelt if its similarity to a setting (from 0 to 1) is at least this. For
# example, `conect_timeout` and `connect_timeout` have 0.97; `timeout` and `connect_timeout` have
# 0.64, so an application may have its own attribute `timeout`.
ALIKE = 0.85

# The same limit for columns of models. It may be lower, because the driver only warns: `nmae` and
# `name` have a similarity of 0.75.
ALIKE_COLUMNS = 0.74

# The same limit for suggestions in error messages, for example about an unknown option. It may be
# even lower, because the name is certainly wrong.
ALIKE_SUGGESTIONS = 0.6

# For each class, the names that were reported or compared already, so that each name is reported
# only once. If two threads report the same name, that does no harm.
_warned: WeakKeyDictionary[type, set[str]] = WeakKeyDictionary()


def check_spelling(
    holder: object,
    name: str,
    settings: Iterable[str],
    attributes: Callable[[Any], Container[str]] = vars,
) -> None:
    """Raise AttributeError if an attribute that is being set is probably a misspelt setting.

    If the object's class is a user's subclass, log a warning instead, because the subclass may have
    attributes whose names are similar to settings. Each class and name is logged once.

    :param holder: the object. Existing attributes of the object or its class are not misspelt.
    :param name: the attribute that is set.
    :param settings: the names of all settings.
    :param attributes: returns the object's own attributes.
    :raises AttributeError: if the name is misspelt, and the object's class belongs to the driver.
    """
    cls = type(holder)
    similar_name = similar_setting(holder, name, settings, attributes)
    if similar_name is None:
        return
    if is_of_driver(cls):
        raise AttributeError(
            f"{cls.__name__} has no setting {name!r}; did you mean {similar_name!r}?"
        )
    warned_names = _warned.setdefault(cls, set())
    if name not in warned_names:
        warned_names.add(name)
        log.warning(
            "%s.%s is an attribute of the program's own, not a setting; the nearest setting is %r",
            cls.__name__,
            name,
            similar_name,
        )


def similar_setting(
    holder: object,
    name: str,
    settings: Iterable[str],
    attributes: Callable[[Any], Container[str]] = vars,
) -> str | None:
    """Return the setting that is probably meant by an attribute that is being set.

    Return None if the attribute exists, or if no setting is similar enough.

    :param holder: the object. Existing attributes of the object or its class are not misspelt.
    :param name: the attribute that is set.
    :param settings: the names of all settings.
    :param attributes: returns the object's own attributes.
    """
    # Private names are always the user's own, and names that the class has are correct.
    if name.startswith("_") or class_attribute(type(holder), name) is not None:
        return None
    similar_name = _nearest_setting(name, frozenset(settings))
    # Look into the object's dict last, because this creates the dict, which makes attribute access
    # slower.
    if similar_name is not None and name in attributes(holder):
        return None
    return similar_name


@lru_cache(maxsize=1024)
def _nearest_setting(name: str, settings: frozenset[str]) -> str | None:
    """Return the setting that is similar enough to `name` to be meant by it; None if none is.

    The result is cached, because each new cluster and session sets the same attributes: comparing
    their names with all settings would take a third of the time to connect.
    """
    # Leave out settings that cannot be similar enough, by an upper bound that is cheap to compute.
    # In most cases no setting is left, and difflib need not be imported.
    candidates = [setting for setting in settings if _similarity_bound(name, setting) >= ALIKE]
    return nearest(name, candidates, ALIKE)


def warn_of_misspelt(
    cls: type, attributes: Iterable[str], columns: Iterable[str], are_keywords: bool = False
) -> None:
    """Warn of an attribute of a model instance that is probably a misspelt column.

    The mapper does not write such an attribute. It raises no error, because applications may store
    their own attributes on instances. There is a RuntimeWarning if the attribute differs from the
    column only by case, underscores or transposed letters, or if it was passed to the constructor.
    Otherwise the message is only logged. Each class and name is reported once.

    :param cls: the model.
    :param attributes: the names in the instance's dict.
    :param columns: the names of the model's columns.
    :param are_keywords: True if the attributes are keywords of the constructor.
    """
    reported_names = _warned.setdefault(cls, set())
    for attribute in attributes:
        if attribute in reported_names or attribute.startswith("_"):
            continue
        # Remember each name, similar or not, so that it is compared only once.
        reported_names.add(attribute)
        column = nearest(attribute, columns, ALIKE_COLUMNS)
        if column is None:
            continue
        message = (
            f"{cls.__name__}.{attribute} is not a column and is not written; did you mean "
            f"{column!r}?"
        )
        if are_keywords or letters_of(attribute) == letters_of(column):
            warnings.warn(message, RuntimeWarning, stacklevel=_habits.stack_level())
        else:
            log.warning(message)


def is_of_driver(cls: type) -> bool:
    """Return True if a class belongs to the driver, False if it is a user's subclass.

    :param cls: the class.
    """
    return cls.__module__.partition(".")[0] == "cassandra"


def class_attribute(cls: type, name: str) -> object:
    """Return a class attribute without binding a descriptor; None if the class does not have it.

    :param cls: the class.
    :param name: the attribute.
    """
    for base in cls.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def nearest(name: str, candidates: Iterable[str], alike: float = ALIKE_SUGGESTIONS) -> str | None:
    """Return the most similar name, or None if none is similar enough.

    :param name: the name to look for.
    :param candidates: the names to choose from.
    :param alike: the minimum similarity, from 0 to 1.
    """
    candidates = list(candidates)
    if not candidates:
        return None
    matches = import_module("difflib").get_close_matches(name, candidates, 1, alike)
    return matches[0] if matches else None


def letters_of(name: str) -> str:
    """Return a key that is equal for names that differ only by case, underscores or letter order.

    :param name: a name.
    """
    return "".join(sorted(name.replace("_", "").lower()))


def _similarity_bound(name: str, other: str) -> float:
    """Return an upper bound of the similarity of two names, from their lengths and letters."""
    total_length = len(name) + len(other)
    # difflib computes twice the number of common letters, divided by the number of all letters.
    upper_bound = 2 * min(len(name), len(other)) / total_length
    if upper_bound < ALIKE:
        return upper_bound
    return (
        2 * sum(min(name.count(letter), other.count(letter)) for letter in {*name}) / total_length
    )
