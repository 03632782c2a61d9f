"""Copies of column values, with which the mapper compares later values to find changes.

Applications change lists, dicts and objects in place, so the mapper needs copies of them. Most
values are of classes whose instances never change, and are not copied.
"""

from __future__ import annotations

import copy
import ipaddress
from enum import Enum
from typing import Any

from cassandra.query.snapshots import CONSTANTS
from cassandra.util import Date, Duration, Time

# The classes whose instances never change, so that no copies of them are needed.
IMMUTABLE_CLASSES = CONSTANTS | {
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    Date,
    Duration,
    Time,
}

# The errors of comparisons: the truth value of an array (NumPy, pandas, polars, PyTorch) or of
# pandas.NA is ambiguous, a decimal is a signalling NaN, or the `__eq__` of an application's class
# reads attributes that only instances of this class have.
_NO_COMPARISON = (
    ValueError, TypeError, AttributeError, LookupError, RuntimeError, ArithmeticError,
)  # fmt: skip


def is_immutable(value: object) -> bool:
    """Return True if `value` is of a class whose instances never change."""
    # Check the exact class, because instances of a subclass may have attributes that can change.
    cls = type(value)
    if cls in IMMUTABLE_CLASSES or isinstance(value, Enum):
        return True
    return (cls is tuple or cls is frozenset) and all(
        # A tuple is immutable only if its elements are: it may contain a list.
        map(is_immutable, value)  # type: ignore[call-overload]
    )


def snapshot(value: object) -> object:
    """Return `value` if it cannot change, otherwise a deep copy."""
    if is_immutable(value):
        return value
    if isinstance(value, memoryview):
        return bytes(value)
    try:
        return copy.deepcopy(value)
    except (TypeError, copy.Error):
        # Files, locks and similar objects cannot be copied. The mapper cannot detect changes of
        # such a value in place.
        return value


def are_different(value: object, before: object) -> bool:
    """Return True if two values differ, even if they are or contain arrays, such as NumPy's.

    Values that cannot be compared are different.
    """
    try:
        result: Any = value != before
        # Comparing arrays returns an array. If it has at most one element, `bool` may accept it,
        # even if one of the two arrays is empty.
        if result is True or result is False or not hasattr(result, "__len__"):
            return bool(result)
    except _NO_COMPARISON:
        pass
    try:
        return bool(_with_lists(value) != _with_lists(before))
    except _NO_COMPARISON:
        return True


def _with_lists(value: object) -> object:
    """Return a copy of `value` in which each array is replaced by a list.

    The operator ``!=`` returns a bool for such copies; for arrays, it may return an array.
    """
    if isinstance(value, (list, tuple)):
        return list(map(_with_lists, value))
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    # NumPy and pandas have `tolist`, polars has `to_list`.
    for name in ("tolist", "to_list"):
        to_list = getattr(value, name, None)
        if callable(to_list):
            return to_list()
    return value
