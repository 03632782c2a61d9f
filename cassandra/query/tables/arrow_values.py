"""Converts Arrow arrays of any nesting to values that codecs take.

`arrow_values` walks an Arrow array and its CQL type together, and converts each level in one step
from whole child arrays. Nanoseconds, and dates and times beyond the years 1 to 9999, do not fit
Python's datetime classes: they stay the numbers of the wire format. A value that does not fit the
CQL type stays as it is: binding refuses it and names its position. Arrays are recognized by the
names of their classes, so that pyarrow need not be imported.

Each function ``_lists``, ``_dates``, ... converts an array for one CQL type, and returns None if
the objects that pyarrow's `to_pylist` makes can be bound as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from cassandra.cqltypes.coerce import DATE_OFFSET
from cassandra.cqltypes.containers import ListType, MapType, SetType, TupleType, VectorType
from cassandra.cqltypes.udt import UserType
from cassandra.protocol.columnar.arrow_cells import bounds, with_nulls
from cassandra.protocol.columnar.layouts import layout_of
from cassandra.query.tables.types import (
    DURATION_PARTS,
    NANOS,
    Convert,
    CqlType,
    bare,
    container_of,
    element_of,
    kind_of,
    map_maker,
    reader_of,
    uuid_of,
    whole_number,
)
from cassandra.util.temporal import Duration

if TYPE_CHECKING:
    import pyarrow

__all__ = ["arrow_values"]

_Reader: TypeAlias = "Callable[[pyarrow.Array, CqlType], list[Any] | None]"

_DAY_MILLIS = 86_400_000
# The format letters of `struct` for plain numbers: by the letter of Arrow's C data interface
# (`Layout.format`), and by the class of the Arrow array.
_NUMBERS = {"c": "b", "s": "h", "i": "i", "l": "q", "f": "f", "g": "d"}
_NUMBER_ARRAYS = {
    "Int8Array": "b", "Int16Array": "h", "Int32Array": "i", "Int64Array": "q", "FloatArray": "f",
    "DoubleArray": "d",
}  # fmt: skip
# From this mean length on, lists of numbers become slices of Arrow's memory. For shorter lists
# `to_pylist` is faster.
_LONG = 8
_LISTS = frozenset({"ListArray", "LargeListArray", "FixedSizeListArray"})
_TEXTS = frozenset({"StringArray", "LargeStringArray", "StringViewArray"})
_BINARIES = frozenset(
    {"FixedSizeBinaryArray", "BinaryArray", "LargeBinaryArray", "BinaryViewArray"}
)


def arrow_values(array: pyarrow.Array, cqltype: CqlType) -> list[Any]:
    """Return the values of `array` for bind markers of `cqltype`; None for nulls.

    :param array: an array or a chunked array of pyarrow.
    """
    cqltype = bare(cqltype)
    chunks = getattr(array, "chunks", None)
    if chunks is None:
        return _values(array, cqltype)
    return [value for chunk in chunks for value in _values(chunk, cqltype)]


def _values(array: pyarrow.Array, cqltype: CqlType) -> list[Any]:
    array, converted = _converted(array, bare(cqltype))
    values: list[Any] = array.to_pylist() if converted is None else converted
    return values


def _converted(array: pyarrow.Array, cqltype: CqlType) -> tuple[pyarrow.Array, list[Any] | None]:
    """Return the plain array, without dictionary and extension type, and its values for `cqltype`.

    The values are None if the objects that pyarrow's `to_pylist` makes can be bound as they are.
    """
    if hasattr(array, "dictionary_decode"):
        array = array.dictionary_decode()
    if hasattr(array, "storage"):
        array = array.storage
    base = container_of(cqltype)
    read = _ARROW_SCALARS.get(kind_of(cqltype)) if base is None else _ARROW_CONTAINERS[base]
    return array, None if read is None else read(array, cqltype)


def _mapped(values: Iterable[Any], convert: Convert) -> list[Any]:
    """Convert all values but None."""
    return [None if value is None else convert(value) for value in values]


def _sliced(array: pyarrow.Array, items: Any, ends: Sequence[int]) -> list[Any]:
    """Split `items` at the positions `ends` into the lists of `array`, with None for its nulls."""
    return with_nulls(array, [items[start:end] for start, end in itertools.pairwise(ends)])


def _lists(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return lists, sets and vectors as lists."""
    if type(array).__name__ not in _LISTS:
        return None
    first, ends = bounds(array)
    child = array.values.slice(first, ends[-1])
    element = bare(element_of(cqltype))
    # Long lists of plain numbers: codecs read the numbers from Arrow's memory.
    if ends[-1] >= _LONG * len(array):
        numbers = _memory(child, element)
        if numbers is not None:
            return _sliced(array, numbers, ends)
    inner, items = _converted(child, element)
    # The elements need no conversion, so `to_pylist` of the whole array will do.
    if items is None and inner is child:
        return None
    return _sliced(array, inner.to_pylist() if items is None else items, ends)


def _memory(array: pyarrow.Array, cqltype: CqlType) -> memoryview | None:
    """Return the memory of an array of plain numbers without nulls, which codecs read directly.

    None if the array holds anything else, or numbers of another format than `cqltype`.
    """
    code = _NUMBER_ARRAYS.get(type(array).__name__)
    if code is None or array.null_count or not len(array):
        return None
    layout = layout_of(cqltype)
    if layout.kind != "number" or _NUMBERS.get(layout.format) != code:
        return None
    width = layout.width
    data = memoryview(array.buffers()[1])
    start = array.offset * width
    numbers = data[start : start + len(array) * width]
    return numbers.cast("B").cast(code)  # type: ignore[call-overload, no-any-return]


def _maps(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return maps as dicts, or as `Pairs` if a dict cannot hold the keys."""
    if type(array).__name__ == "MapArray":
        keys, items = array.keys, array.items
    elif type(array).__name__ in _LISTS and array.type.value_type.num_fields == 2:
        # Libraries without a map type, such as polars, write a map as a list of pairs.
        keys, items = (array.values.field(index) for index in range(2))
    else:
        return None
    first, ends = bounds(array)
    key, item = cqltype.subtypes
    pairs = zip(
        _values(keys.slice(first, ends[-1]), key),
        _values(items.slice(first, ends[-1]), item),
        strict=True,
    )
    return _mapped(_sliced(array, list(pairs), ends), map_maker(key))


def _tuples(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    types = cqltype.subtypes
    if type(array).__name__ != "StructArray" or array.type.num_fields > len(types):
        return None
    fields = [_values(array.field(index), types[index]) for index in range(array.type.num_fields)]
    return with_nulls(array, list(zip(*fields, strict=True)))


def _user_types(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return user-defined types as tuples of their fields, which are found by name."""
    if type(array).__name__ != "StructArray":
        return None
    names = [field.name for field in array.type]
    field_names = list(cqltype.fieldnames)
    if not set(names) <= set(field_names):
        return None
    # A field that the struct does not have is null.
    fields = [
        _values(array.field(name), subtype) if name in names else [None] * len(array)
        for name, subtype in zip(field_names, cqltype.subtypes, strict=True)
    ]
    return with_nulls(array, list(zip(*fields, strict=True)))


_ARROW_CONTAINERS: dict[CqlType, _Reader] = {
    ListType: _lists,
    SetType: _lists,
    VectorType: _lists,
    MapType: _maps,
    UserType: _user_types,
    TupleType: _tuples,
}


def _dates(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return dates as the unsigned numbers of the wire format, in which 1970-01-01 is 2**31."""
    name = type(array).__name__
    if name == "Date32Array":
        return _mapped(array.cast("int32").to_pylist(), lambda day: day + DATE_OFFSET)
    if name == "Date64Array" or (name == "TimestampArray" and array.type.tz is None):
        unit = "ms" if name == "Date64Array" else array.type.unit
        a_day = 86_400 * NANOS["s"] // NANOS[unit]
        return _mapped(array.cast("int64").to_pylist(), lambda value: value // a_day + DATE_OFFSET)
    return None


def _times(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    if type(array).__name__ not in ("Time64Array", "Time32Array", "DurationArray"):
        return None
    return _nanos(array)


def _nanos(array: pyarrow.Array) -> list[Any]:
    """Return times or durations in nanoseconds."""
    numbers = array.cast("int32" if type(array).__name__ == "Time32Array" else "int64").to_pylist()
    factor = NANOS[array.type.unit]
    return numbers if factor == 1 else _mapped(numbers, lambda value: value * factor)


def _timestamps(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return milliseconds, rounded down."""
    name = type(array).__name__
    if name == "Date32Array":
        return _mapped(array.cast("int32").to_pylist(), lambda day: day * _DAY_MILLIS)
    if name not in ("TimestampArray", "Date64Array"):
        return None
    numbers: list[Any] = array.cast("int64").to_pylist()
    unit = "ms" if name == "Date64Array" else array.type.unit
    if unit == "ms":
        return numbers
    if unit == "s":
        return _mapped(numbers, lambda value: value * 1000)
    a_millisecond = NANOS["ms"] // NANOS[unit]
    return _mapped(numbers, lambda value: value // a_millisecond)


def _durations(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return intervals, durations and structs of three numbers as `Duration`."""
    name = type(array).__name__
    if name == "MonthDayNanoIntervalArray":
        return _mapped(array.to_pylist(), lambda value: Duration(*value))
    if name == "DurationArray":
        return _mapped(_nanos(array), lambda value: Duration(0, 0, value))
    if name == "StructArray" and {field.name for field in array.type} == set(DURATION_PARTS):
        parts = [array.field(part).to_pylist() for part in DURATION_PARTS]
        return with_nulls(array, [Duration(*value) for value in zip(*parts, strict=True)])
    return None


def _varints(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    name = type(array).__name__
    return _mapped(array.to_pylist(), whole_number) if name in _TEXTS else _whole(array, cqltype)


def _whole(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return decimals as ints, for an integer type."""
    return (
        _mapped(array.to_pylist(), whole_number)
        if type(array).__name__.startswith("Decimal")
        else None
    )


def _uuids(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    return _mapped(array.to_pylist(), uuid_of) if type(array).__name__ in _BINARIES else None


def _opaque(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Decode values of a type that has no Arrow type and is stored as its serialized bytes."""
    return (
        _mapped(array.to_pylist(), reader_of(cqltype))
        if type(array).__name__ in _BINARIES
        else None
    )


_ARROW_SCALARS: dict[str, _Reader] = {
    "date": _dates,
    "time": _times,
    "timestamp": _timestamps,
    "duration": _durations,
    "varint": _varints,
    "number": _whole,
    "uuid": _uuids,
    "opaque": _opaque,
}
