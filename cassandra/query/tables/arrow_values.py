"""Converts Arrow arrays of any nesting to values that codecs accept.

`arrow_values` traverses an Arrow array and its CQL type together. It converts whole child arrays
instead of single values. Times with nanoseconds, and dates and times outside the years 1 to 9999,
do not fit Python's datetime classes, so they become the integers of the wire format. A value that
does not fit the CQL type is not converted: binding refuses it and names its position. Arrays are
recognized by the names of their classes, so that pyarrow need not be imported.

Each function ``_values_of_lists``, ``_values_of_dates``, ... converts an array for one CQL type. It
returns None if the objects that pyarrow's `to_pylist` returns can be bound unchanged.
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
from cassandra.query.tables.rows import storage_of, without_views
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
    positions_in_tuple,
    reader_of,
    uuid_of,
    whole_number,
)
from cassandra.util.temporal import Duration

if TYPE_CHECKING:
    import pyarrow

_Reader: TypeAlias = "Callable[[pyarrow.Array, CqlType], list[Any] | None]"

_DAY_MILLIS = 86_400_000
# Two mappings to the format letters of the module `struct` for plain numbers. The first has Arrow's
# format letters (`Layout.format`) as keys, and the second the names of Arrow's array classes.
_NUMBERS = {"c": "b", "s": "h", "i": "i", "l": "q", "f": "f", "g": "d"}
_NUMBER_ARRAYS = {
    "Int8Array": "b", "Int16Array": "h", "Int32Array": "i", "Int64Array": "q", "FloatArray": "f",
    "DoubleArray": "d",
}  # fmt: skip
# If the lists of an array have at least this many numbers on average, each list becomes a slice of
# Arrow's memory. For shorter lists, `to_pylist` is faster.
_MIN_LONG_LENGTH = 8
_LISTS = frozenset({"ListArray", "LargeListArray", "FixedSizeListArray"})
_TEXTS = frozenset({"StringArray", "LargeStringArray", "StringViewArray"})
_BINARIES = frozenset(
    {"FixedSizeBinaryArray", "BinaryArray", "LargeBinaryArray", "BinaryViewArray"}
)


def arrow_values(array: pyarrow.Array, cqltype: CqlType) -> list[Any]:
    """Return the values of `array` for bind markers of `cqltype`; None for each null.

    :param array: an array or a chunked array of pyarrow.
    :param cqltype: the CQL type of the bind marker.
    """
    cqltype = bare(cqltype)
    chunks = getattr(array, "chunks", None)
    if chunks is None:
        return _values_of_chunk(array, cqltype)
    return [value for chunk in chunks for value in _values_of_chunk(chunk, cqltype)]


def _values_of_chunk(array: pyarrow.Array, cqltype: CqlType) -> list[Any]:
    array, converted = _convert_array(array, bare(cqltype))
    return array.to_pylist() if converted is None else converted


def plain_array(array: pyarrow.Array) -> pyarrow.Array:
    """Return an array with the same values, and without dictionary and extension type."""
    while True:
        if hasattr(array, "dictionary_decode"):
            array = without_views(array).dictionary_decode()
        elif hasattr(array, "storage"):
            array = storage_of(array)
        else:
            return array


def values_of_runs(array: pyarrow.Array) -> pyarrow.Array:
    """Return the value of each run of an array of runs, once."""
    return array.values.slice(array.find_physical_offset(), array.find_physical_length())


def _repeated_values(array: pyarrow.Array, cqltype: CqlType) -> list[Any]:
    """Return the values of an array of runs, each as often as it is repeated."""
    # The ends count from the beginning of the whole array, of which this may be a slice.
    begin, end = array.offset, array.offset + len(array)
    ends = array.run_ends.slice(array.find_physical_offset(), array.find_physical_length())
    values: list[Any] = []
    values_once = arrow_values(values_of_runs(array), cqltype)
    for value, run_end in zip(values_once, ends.to_pylist(), strict=True):
        values += [value] * (min(run_end, end) - begin)
        begin = run_end
    return values


def _convert_array(
    array: pyarrow.Array, cqltype: CqlType
) -> tuple[pyarrow.Array, list[Any] | None]:
    """Return the array as `plain_array` does, and its values for `cqltype`.

    None is returned instead of the values if the objects that pyarrow's `to_pylist` returns can be
    bound unchanged.
    """
    array = plain_array(array)
    if hasattr(array, "run_ends"):
        return array, _repeated_values(array, cqltype)
    if type(array).__name__ == "HalfFloatArray":
        # Before version 21, pyarrow returns NumPy's floats, not Python's.
        return array, _convert_values(array.to_pylist(), float)
    base = container_of(cqltype)
    convert = _ARROW_SCALARS.get(kind_of(cqltype)) if base is None else _ARROW_CONTAINERS[base]
    return array, None if convert is None else convert(array, cqltype)


def _convert_values(values: Iterable[Any], convert: Convert) -> list[Any]:
    """Convert all values except None."""
    return [None if value is None else convert(value) for value in values]


def _slice_items(array: pyarrow.Array, items: Any, ends: Sequence[int]) -> list[Any]:
    """Split `items` at the positions `ends` into the lists of `array`; None for each null."""
    return with_nulls(array, [items[start:end] for start, end in itertools.pairwise(ends)])


def _values_of_lists(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return the lists, sets or vectors of an array as lists.

    Return None if the objects that pyarrow returns can be bound unchanged.
    """
    if type(array).__name__ not in _LISTS:
        return None
    first, ends = bounds(array)
    child = array.values.slice(first, ends[-1])
    element = bare(element_of(cqltype))
    # If the lists are long and hold plain numbers, let codecs read the numbers from Arrow's memory.
    if ends[-1] >= _MIN_LONG_LENGTH * len(array):
        numbers = _numbers_in_memory(child, element)
        if numbers is not None:
            return _slice_items(array, numbers, ends)
    plain_child, items = _convert_array(child, element)
    # If the elements need no conversion, return None: the caller then calls `to_pylist` of the
    # whole array.
    if items is None and plain_child is child:
        return None
    return _slice_items(array, plain_child.to_pylist() if items is None else items, ends)


def _numbers_in_memory(array: pyarrow.Array, cqltype: CqlType) -> memoryview | None:
    """Return the memory of an array of plain numbers without nulls, which codecs read directly.

    Return None for any other array, and if the format of the numbers is not the format of
    `cqltype`.
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


def _values_of_maps(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return the maps of an array as dicts, or as `Pairs` if a dict cannot hold the keys.

    Return None for other arrays.
    """
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
        _values_of_chunk(keys.slice(first, ends[-1]), key),
        _values_of_chunk(items.slice(first, ends[-1]), item),
        strict=True,
    )
    return _convert_values(_slice_items(array, list(pairs), ends), map_maker(key))


def _values_of_tuples(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return the structs of an array as tuples; None if they do not fit the CQL type.

    The fields called f0, f1, ... are found by name, and others by position. A struct may lack the
    last fields of the type.
    """
    types = cqltype.subtypes
    if type(array).__name__ != "StructArray" or array.type.num_fields > len(types):
        return None
    names = [field.name for field in array.type]
    positions: Sequence[int | None] | None = positions_in_tuple(tuple(names), len(types))
    if positions is None:
        positions = range(len(names))
    fields = [
        [None] * len(array) if position is None else _values_of_chunk(array.field(position), cql)
        for position, cql in zip(positions, types, strict=False)
    ]
    return with_nulls(array, list(zip(*fields, strict=True)))


def _values_of_udts(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return the structs of an array as tuples with the fields of a user-defined type.

    The fields are found by name. Return None if the structs do not fit the type.
    """
    if type(array).__name__ != "StructArray":
        return None
    names = [field.name for field in array.type]
    field_names = list(cqltype.fieldnames)
    if not set(names) <= set(field_names):
        return None
    # A field that the struct lacks is null.
    fields = [
        _values_of_chunk(array.field(name), subtype) if name in names else [None] * len(array)
        for name, subtype in zip(field_names, cqltype.subtypes, strict=True)
    ]
    return with_nulls(array, list(zip(*fields, strict=True)))


# The function that reads the values of an array, by the base class of the CQL type.
_ARROW_CONTAINERS: dict[CqlType, _Reader] = {
    ListType: _values_of_lists,
    SetType: _values_of_lists,
    VectorType: _values_of_lists,
    MapType: _values_of_maps,
    UserType: _values_of_udts,
    TupleType: _values_of_tuples,
}


def _values_of_dates(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return the dates of an array as unsigned numbers of the wire format; None for other arrays.

    In the wire format, 1970-01-01 is 2**31.
    """
    name = type(array).__name__
    if name == "Date32Array":
        return _convert_values(array.cast("int32").to_pylist(), lambda day: day + DATE_OFFSET)
    if name == "Date64Array" or (name == "TimestampArray" and array.type.tz is None):
        unit = "ms" if name == "Date64Array" else array.type.unit
        units_per_day = 86_400 * NANOS["s"] // NANOS[unit]
        return _convert_values(
            array.cast("int64").to_pylist(), lambda value: value // units_per_day + DATE_OFFSET
        )
    return None


def _values_of_times(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    if type(array).__name__ not in ("Time64Array", "Time32Array", "DurationArray"):
        return None
    return _nanoseconds_of(array)


def _nanoseconds_of(array: pyarrow.Array) -> list[Any]:
    """Return times or durations in nanoseconds."""
    numbers = array.cast("int32" if type(array).__name__ == "Time32Array" else "int64").to_pylist()
    factor = NANOS[array.type.unit]
    return numbers if factor == 1 else _convert_values(numbers, lambda value: value * factor)


def _values_of_timestamps(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return the timestamps of an array in milliseconds, rounded down; None for other arrays."""
    name = type(array).__name__
    if name == "Date32Array":
        return _convert_values(array.cast("int32").to_pylist(), lambda day: day * _DAY_MILLIS)
    if name not in ("TimestampArray", "Date64Array"):
        return None
    numbers: list[Any] = array.cast("int64").to_pylist()
    unit = "ms" if name == "Date64Array" else array.type.unit
    if unit == "ms":
        return numbers
    if unit == "s":
        return _convert_values(numbers, lambda value: value * 1000)
    units_per_millisecond = NANOS["ms"] // NANOS[unit]
    return _convert_values(numbers, lambda value: value // units_per_millisecond)


def _values_of_durations(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return intervals, durations and structs of three numbers as `Duration`.

    Return None for other arrays.
    """
    name = type(array).__name__
    if name == "MonthDayNanoIntervalArray":
        return _convert_values(array.to_pylist(), lambda value: Duration(*value))
    if name == "DurationArray":
        return _convert_values(_nanoseconds_of(array), lambda value: Duration(0, 0, value))
    if name == "StructArray" and {field.name for field in array.type} == set(DURATION_PARTS):
        parts = [array.field(part).to_pylist() for part in DURATION_PARTS]
        return with_nulls(array, [Duration(*value) for value in zip(*parts, strict=True)])
    return None


def _values_of_varints(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    name = type(array).__name__
    return (
        _convert_values(array.to_pylist(), whole_number)
        if name in _TEXTS
        else _values_of_integers(array, cqltype)
    )


def _values_of_integers(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Return the decimals of an array as ints, for an integer type; None for other arrays."""
    return (
        _convert_values(array.to_pylist(), whole_number)
        if type(array).__name__.startswith("Decimal")
        else None
    )


def _values_of_uuids(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    return (
        _convert_values(array.to_pylist(), uuid_of) if type(array).__name__ in _BINARIES else None
    )


def _values_of_opaque_types(array: pyarrow.Array, cqltype: CqlType) -> list[Any] | None:
    """Decode values of a CQL type for which Arrow has no type.

    Arrow arrays contain such values as serialized bytes. Return None if the array does not contain
    bytes.
    """
    return (
        _convert_values(array.to_pylist(), reader_of(cqltype))
        if type(array).__name__ in _BINARIES
        else None
    )


# The function that reads the values of an array for a type without parameters, by the type's kind
# (see `kind_of`).
_ARROW_SCALARS: dict[str, _Reader] = {
    "date": _values_of_dates,
    "time": _values_of_times,
    "timestamp": _values_of_timestamps,
    "duration": _values_of_durations,
    "varint": _values_of_varints,
    "number": _values_of_integers,
    "uuid": _values_of_uuids,
    "opaque": _values_of_opaque_types,
}
