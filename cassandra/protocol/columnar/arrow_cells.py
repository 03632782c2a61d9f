"""Nested Arrow arrays as the Python objects in the cells of pandas.

This is for types that pyarrow converts to the wrong objects, or not at all. It makes no list of
UUIDs, it makes bytes of UUIDs in a struct, and it makes `datetime.time`, which has no nanoseconds,
of times. Here they become `uuid.UUID` and `cassandra.util.Time`. Decimals and varints are strings
in Arrow, as no type of Arrow holds all of them; here they become `decimal.Decimal` and `int`.
pyarrow also makes `datetime.datetime` of days and moments in structs and maps, which has only the
years 1 to 9999; here they become `pandas.Timestamp`. The containers are those of pyarrow: an array
for a list, a list of pairs for a map, a dict for a struct. Columns without such values are left to
pyarrow.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from cassandra.cqltypes.codecs.big_numbers import int_of_digits
from cassandra.protocol.columnar.layouts import Layout
from cassandra.util.temporal import Time

if TYPE_CHECKING:
    import pyarrow

__all__ = ["bounds", "cells", "is_ours", "with_nulls"]

_OURS = frozenset({"time", "bytes", "decimal", "varint"})


def _varint(text: str) -> int:
    # `int` refuses texts of some thousand digits.
    return -int_of_digits(text[1:]) if text.startswith("-") else int_of_digits(text)


_NUMBERS: dict[str, Callable[[str], Any]] = {"decimal": Decimal, "varint": _varint}
_MOMENTS = frozenset({"tdD", "tsm:UTC"})


def is_ours(layout: Layout) -> bool:
    """Return True if values of `layout` contain a type that pyarrow converts wrongly."""
    if layout.kind in _NUMBERS:
        return True
    is_struct = layout.format == "+s"
    return any(
        child.kind in _OURS or (is_struct and child.format in _MOMENTS) or is_ours(child)
        for child in layout.children
    )


def bounds(array: pyarrow.Array) -> tuple[int, list[int]]:
    """Return the place of the elements of `array`, of lists or maps, in its child array.

    :returns: the first element, and the end of each value, counted from there.
    """
    if type(array).__name__ == "FixedSizeListArray":
        size = array.type.list_size
        return array.offset * size, [index * size for index in range(len(array) + 1)]
    offsets = array.offsets.to_pylist() if len(array) else [0]
    first = offsets[0]
    return first, [offset - first for offset in offsets]


def with_nulls(array: pyarrow.Array, values: Sequence[Any]) -> list[Any]:
    """Return `values`, with None for each null of `array`."""
    if not array.null_count:
        return list(values)
    return [
        value if there else None
        for value, there in zip(values, array.is_valid().to_pylist(), strict=True)
    ]


def cells(array: pyarrow.Array, layout: Layout) -> list[Any]:
    """Return the objects of `array`, an array of pyarrow of `layout`; None for nulls."""
    if layout.kind == "bytes":
        return [
            None if value is None else uuid.UUID(bytes=value) for value in array.storage.to_pylist()
        ]
    number = _NUMBERS.get(layout.kind)
    if number is not None:
        return [None if value is None else number(value) for value in array.to_pylist()]
    if layout.kind == "time":
        return [None if value is None else Time(value) for value in array.cast("int64").to_pylist()]
    if not is_ours(layout):
        series = array.to_pandas(date_as_object=False, integer_object_nulls=True)
        return with_nulls(array, series.astype(object).tolist())
    if layout.kind == "struct":
        fields = [cells(array.field(index), child) for index, child in enumerate(layout.children)]
        return with_nulls(
            array,
            [dict(zip(layout.names, items, strict=True)) for items in zip(*fields, strict=True)],
        )
    first, ends = bounds(array)
    (child,) = layout.children
    if layout.kind == "map":
        key, value = child.children
        keys = cells(array.keys.slice(first, ends[-1]), key)
        values = cells(array.items.slice(first, ends[-1]), value)
        items: Any = list(zip(keys, values, strict=True))
    else:
        items = object_array(cells(array.values.slice(first, ends[-1]), child))
    return with_nulls(array, [items[start:end] for start, end in itertools.pairwise(ends)])


def object_array(values: Sequence[Any]) -> Any:
    """Return a NumPy array of one dimension, whatever the values are."""
    import numpy

    array = numpy.empty(len(values), dtype=object)
    array[:] = values
    return array
