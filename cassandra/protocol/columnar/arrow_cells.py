"""Nested Arrow arrays as the Python objects in the cells of pandas, where pyarrow has none or the
wrong ones.

pyarrow makes no list of UUIDs, bytes of UUIDs in a struct, and `datetime.time`, which has no
nanoseconds, of times. Here they are `uuid.UUID` and `cassandra.util.Time`. Of days and moments in
structs and maps it makes `datetime.datetime`, which has the years 1 to 9999 alone; here they are
`pandas.Timestamp`. The containers are those that pyarrow makes: an array for a list, a list of
pairs for a map, a dict for a struct. Whatever of a column has none of these is left to pyarrow.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from typing import Any

from cassandra.protocol.columnar.layouts import Layout
from cassandra.util.temporal import Time

__all__ = ["bounds", "cells", "is_ours", "with_nulls"]

_OURS = frozenset({"time", "bytes"})
_MOMENTS = frozenset({"tdD", "tsm:UTC"})


def is_ours(layout: Layout) -> bool:
    """Whether a column of `layout` has inside of its values what pyarrow has no right object for."""
    is_struct = layout.format == "+s"
    return any(
        child.kind in _OURS or (is_struct and child.format in _MOMENTS) or is_ours(child)
        for child in layout.children
    )


def bounds(array: Any) -> tuple[int, list[int]]:
    """(where the elements of `array`, of lists or maps, begin among its child's; the ends of each
    value, counted from there).
    """
    if type(array).__name__ == "FixedSizeListArray":
        size = array.type.list_size
        return array.offset * size, [at * size for at in range(len(array) + 1)]
    offsets = array.offsets.to_pylist() if len(array) else [0]
    first = offsets[0]
    return first, [offset - first for offset in offsets]


def with_nulls(array: Any, values: Sequence[Any]) -> list[Any]:
    """`values`, with None where `array` has a null."""
    if not array.null_count:
        return list(values)
    return [
        value if there else None
        for value, there in zip(values, array.is_valid().to_pylist(), strict=True)
    ]


def cells(array: Any, layout: Layout) -> list[Any]:
    """The objects of `array`, an array of pyarrow of `layout`; None for nulls."""
    if layout.kind == "bytes":
        return [
            None if value is None else uuid.UUID(bytes=value) for value in array.storage.to_pylist()
        ]
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
        parts = (cells(part.slice(first, ends[-1]), one) for part, one in zip((array.keys, array.items), child.children, strict=True))  # fmt: skip
        items: Any = list(zip(*parts, strict=True))
    else:
        items = object_array(cells(array.values.slice(first, ends[-1]), child))
    return with_nulls(array, [items[start:end] for start, end in itertools.pairwise(ends)])


def object_array(values: Sequence[Any]) -> Any:
    """A NumPy array of one dimension, whatever the values are."""
    import numpy

    array = numpy.empty(len(values), dtype=object)
    array[:] = values
    return array
