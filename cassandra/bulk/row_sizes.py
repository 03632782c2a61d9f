"""Estimates the size of the application's rows, so that a load keeps few large rows in memory."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Collection, Mapping, Set
from itertools import islice
from typing import Any

from cassandra._signals import is_from_signal_handler
from cassandra.bulk.fields import values_by_name
from cassandra.bulk.objects import stored_values
from cassandra.query.snapshots import CONSTANTS
from cassandra.util.sortedset import SortedSet

MEASURED = 7  # of small rows, callers measure one row of this number of rows
_SIZE = 8  # the size in bytes of a value of constant size, or of the reference to another value
_STRINGS = frozenset({str, bytes, bytearray})
_FIXED = CONSTANTS - _STRINGS
_ITEMS = 64  # how many items of a collection are measured to estimate the size of all of them
# The maximum number of collections and objects of a row to measure. Without a limit, a row that
# refers to many other objects would take long.
_COLLECTIONS = 500


def size_of_row(row: object) -> int:
    """Return about how many bytes the values of a row need in a request.

    Of long collections, only some items are measured.

    :param row: a row that the application has passed.
    """
    try:
        return _size_of_values(_values_of(row))
    except Exception as error:  # raised by the application's class
        if is_from_signal_handler(error):
            raise
        return _SIZE  # binding the row tells what is wrong


def _values_of(row: Any) -> Collection[Any]:
    """Return the values of a row."""
    cls = type(row)
    if cls is tuple or cls is list:
        values: Collection[Any] = row
    elif cls is dict:
        values = row.values()
    else:
        named = values_by_name(row)
        if named is not None:
            values = named.values()
        else:
            values = row if isinstance(row, (list, tuple)) else [row]
    return values


def _size_of_values(values: Collection[Any]) -> int:
    """Return the size of all values of a row in bytes.

    We cannot measure only some values: a single column may have most of the bytes.
    """
    size = len(values) * _SIZE
    meter: _Meter | None = None
    for value in values:
        # Most values are scalars and strings, which need no meter.
        cls = type(value)
        if cls in _STRINGS:
            size += len(value)
        elif cls not in _FIXED:
            meter = meter or _Meter()
            size += meter.size_of(value)
    return size


class _Meter:
    """Measures the values of one row."""

    __slots__ = ("_collections_left",)

    def __init__(self) -> None:
        self._collections_left = _COLLECTIONS

    def size_of(self, value: Any) -> int:
        """Return the size of a value in bytes."""
        cls = type(value)
        if cls in _FIXED:
            return _SIZE
        if cls in _STRINGS or isinstance(value, (str, bytes, bytearray)):
            return _SIZE + len(value)
        if not self._collections_left:
            return _SIZE
        self._collections_left -= 1
        if isinstance(value, Mapping):
            return self.size_of_items(value) + self.size_of_items(value.values())
        if isinstance(value, (list, tuple, Set, SortedSet, deque)):
            return self.size_of_items(value)
        if isinstance(value, array):
            return _SIZE + len(value) * value.itemsize
        size = getattr(value, "nbytes", None)
        if isinstance(size, int):  # an array or a view of memory
            # An array of Python objects only holds references, so `nbytes` does not include the
            # objects.
            if getattr(getattr(value, "dtype", None), "hasobject", False):
                return self.size_of_items(value.ravel().tolist())
            return _SIZE + size
        return _SIZE + self.size_of_items(stored_values(value))

    def size_of_items(self, items: Collection[Any]) -> int:
        """Return the size of the items of a collection in bytes."""
        count = len(items)
        if _FIXED.issuperset(map(type, items)):
            return count * _SIZE
        # Measure each item of a short collection. It may be a value of a user-defined type, whose
        # fields have different types.
        if count <= _ITEMS:
            return sum(map(self.size_of, items))
        if _STRINGS.issuperset(map(type, items)):
            return count * _SIZE + sum(map(len, items))
        sample = list(islice(items, 0, None, -(-count // _ITEMS)))
        return sum(map(self.size_of, sample)) * count // len(sample)
