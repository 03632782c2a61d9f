"""Copies of rows whose values are serialized only later, when their statement is prepared.

The application may change its own row as soon as the call returns, and usually reuses it for the
next call.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import enum
import uuid
from collections.abc import Iterable, Mapping, MutableSequence, Set
from typing import Any

__all__ = ["CONSTANTS", "snapshot"]

CONSTANTS = frozenset(
    {
        type(None),
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        decimal.Decimal,
        uuid.UUID,
        datetime.datetime,
        datetime.date,
        datetime.time,
        datetime.timedelta,
    }
)
"""Classes whose instances never change."""


def snapshot(row: Any) -> Any:
    """Return a copy of `row`, so that the application may change its own object afterwards.

    Values that are collections or objects with attributes are copied too. Constants and objects
    that cannot be copied are used as they are.

    :param row: a sequence, a mapping or an object with attributes.
    """
    if isinstance(row, Mapping) and not isinstance(row, dict):
        # A dict will do, because binding only reads a mapping by its names.
        return {name: _copy_of(value) for name, value in row.items()}
    return _copy_of(row)


def _copy_of(value: Any) -> Any:
    """Return a copy of a value or of a row, or the object itself if no copy is needed."""
    cls = type(value)
    if cls in CONSTANTS:
        return value
    if cls is list:
        return value.copy() if _are_constants(value) else list(map(_copy_of, value))
    if cls is tuple:
        return value if _are_constants(value) else tuple(map(_copy_of, value))
    if cls is dict:
        if _are_constants(value.values()):
            return value.copy()
        return {key: _copy_of(item) for key, item in value.items()}
    if cls is set:
        return value.copy()
    try:
        return _copy_of_other(value)
    except Exception:  # raised by the application's class: use the object itself
        return value


def _are_constants(values: Iterable[Any]) -> bool:
    return CONSTANTS.issuperset(map(type, values))


def _copy_of_other(value: Any) -> Any:
    """Copy a value that is not exactly a list, tuple, dict or set."""
    if isinstance(value, (str, bytes, int, float, frozenset, type, enum.Enum)):
        return value
    if isinstance(value, memoryview):
        return memoryview(bytes(value)) if value.format == "B" else value
    if isinstance(value, (Mapping, Set, MutableSequence)):
        return copy.deepcopy(value)
    if isinstance(value, tuple):
        return value._make(map(_copy_of, value)) if hasattr(value, "_make") else value
    if hasattr(value, "dtype") and hasattr(value, "tolist"):  # an array of NumPy or pandas
        return value.copy()
    names = _attributes_of(value)
    # An object without attributes may be a constant that a codec compares by identity, so it is not
    # copied.
    duplicate = copy.copy(value) if names else value
    if duplicate is value:
        return value
    for name in names:
        attribute = getattr(value, name)
        copied = _copy_of(attribute)
        if copied is not attribute:
            # `object.__setattr__`, because a frozen dataclass refuses plain assignments.
            object.__setattr__(duplicate, name, copied)
    return duplicate


def _attributes_of(value: Any) -> list[str]:
    """Return the names of the attributes in an object's dictionary and slots."""
    names = list(getattr(value, "__dict__", ()))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    return [name for name in names if not name.startswith("__") and hasattr(value, name)]
