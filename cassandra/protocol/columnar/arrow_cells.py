"""Converts nested Arrow arrays to the Python objects in the cells of a pandas DataFrame.

pyarrow converts most columns. This module converts the columns for whose values pyarrow fails or
returns unsuitable objects:

- UUIDs: pyarrow fails for a list of UUIDs, and returns bytes for UUIDs in a struct. We return
  `uuid.UUID`.
- times: pyarrow returns `datetime.time`, which has no nanoseconds. We return `cassandra.util.Time`.
- decimals and varints: no Arrow type holds all their values, so they are strings in Arrow. We
  return `decimal.Decimal` and `int`.
- dates and timestamps in structs and maps: pyarrow returns `datetime.datetime`, which is limited to
  the years 1 to 9999. We return `pandas.Timestamp`.

The containers are the same as in pyarrow: an array for a list, a list of pairs for a map, and a
dict for a struct.
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
    from numpy.typing import NDArray

    from cassandra.cqltypes import codecs
else:
    from cassandra._impl import codecs

# The kinds of layouts that this module converts if they are inside another value.
_CONVERTED_INSIDE = frozenset({"time", "bytes", "decimal", "varint"})


def _varint(text: str) -> int:
    # int() would raise an error for strings of more than about 4300 digits.
    return -int_of_digits(text[1:]) if text.startswith("-") else int_of_digits(text)


UUID_SIZE = 16  # bytes
_NO_UUID = uuid.UUID(int=0)

# For kinds that are strings in Arrow: the functions that convert a string to a number.
_NUMBERS: dict[str, Callable[[str], Any]] = {"decimal": Decimal, "varint": _varint}
_MOMENTS = frozenset({"tdD", "tsm:UTC"})  # the Arrow formats of date and timestamp


def is_ours(layout: Layout) -> bool:
    """Return True if this module must convert values of `layout`, because pyarrow cannot."""
    if layout.kind in _NUMBERS:
        return True
    # pyarrow's objects for dates and timestamps are unsuitable only inside structs and map entries,
    # at any depth.
    is_struct = layout.format == "+s"
    return any(
        child.kind in _CONVERTED_INSIDE or (is_struct and _has_moments(child)) or is_ours(child)
        for child in layout.children
    )


def _has_moments(layout: Layout) -> bool:
    """Return True if values of `layout` are or contain dates or timestamps."""
    return layout.format in _MOMENTS or any(map(_has_moments, layout.children))


def bounds(array: pyarrow.Array) -> tuple[int, list[int]]:
    """Return where the elements of the lists or maps in `array` are in its child array.

    :returns: (first, ends). `first` is the index of the first element in the child array. The other
        indexes are relative to `first`: the list with number i has the elements from ends[i] up to,
        but not including, ends[i + 1].
    """
    if type(array).__name__ == "FixedSizeListArray":
        # Such an array has no offsets: all lists have the same size.
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
        value if is_valid else None
        for value, is_valid in zip(values, array.is_valid().to_pylist(), strict=True)
    ]


def _uuids(array: pyarrow.Array) -> list[uuid.UUID]:
    """Return the UUIDs of an array of the extension type arrow.uuid. A null becomes any UUID.

    Before version 18, pyarrow does not have this type: the array then has 16 bytes for each UUID.
    """
    count = len(array)
    storage = getattr(array, "storage", array)
    _, packed = storage.buffers()
    if not count or packed is None:
        return [_NO_UUID] * count
    start = storage.offset * UUID_SIZE
    # The array has the same bytes as a vector<uuid, count>. So decode it as a vector, because the
    # codec of vectors makes all UUIDs in one call.
    vector = codecs.vector_of(codecs.uuid(), count)
    uuids: list[uuid.UUID] = vector.decode(packed[start : start + count * UUID_SIZE].to_pybytes())
    return uuids


def cells(array: pyarrow.Array, layout: Layout) -> list[Any]:
    """Return a Python object for each value of the pyarrow array `array`, or None if it is null.

    :param layout: the layout of the array.
    """
    if layout.kind == "bytes":
        return with_nulls(array, _uuids(array))
    to_number = _NUMBERS.get(layout.kind)
    if to_number is not None:
        return [None if value is None else to_number(value) for value in array.to_pylist()]
    if layout.kind == "time":
        return [None if value is None else Time(value) for value in array.cast("int64").to_pylist()]
    # pyarrow converts all other values, unless they contain values that we must convert.
    if not is_ours(layout):
        series = array.to_pandas(date_as_object=False, integer_object_nulls=True)
        return with_nulls(array, series.astype(object).tolist())
    if layout.kind == "struct":
        fields = [cells(array.field(index), child) for index, child in enumerate(layout.children)]
        dicts = [dict(zip(layout.names, row, strict=True)) for row in zip(*fields, strict=True)]
        return with_nulls(array, dicts)
    # For a list, set, vector or map, convert all elements at once, then cut them into values.
    first, ends = bounds(array)
    element_count = ends[-1]
    (child,) = layout.children
    if layout.kind == "map":
        key_layout, value_layout = child.children
        keys = cells(array.keys.slice(first, element_count), key_layout)
        values = cells(array.items.slice(first, element_count), value_layout)
        elements: Any = list(zip(keys, values, strict=True))
    else:
        elements = object_array(cells(array.values.slice(first, element_count), child))
    return with_nulls(array, [elements[start:end] for start, end in itertools.pairwise(ends)])


def object_array(values: Sequence[Any]) -> NDArray[Any]:
    """Return a one-dimensional NumPy array of objects, even if the values are sequences."""
    import numpy

    array = numpy.empty(len(values), dtype=object)
    array[:] = values
    return array
