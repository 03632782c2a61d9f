"""Converts the values of NumPy arrays, pandas columns and their cells to values for codecs.

Missing values become None: NaT, NA and None of pandas, and NaN unless the CQL type is float or
double.
Nested values in cells may have the forms that pyarrow, or a result's ``to_pandas``, returns. These
are arrays for lists, lists of pairs for maps, and dicts for tuples and user-defined types. A value
that does not fit the CQL type is returned unchanged: binding then refuses it and names its
position.
"""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

from cassandra.cqltypes.coerce import DATE_OFFSET
from cassandra.cqltypes.containers import ListType, MapType, SetType, TupleType, VectorType
from cassandra.cqltypes.udt import UserType
from cassandra.query.tables import arrow_values as arrow
from cassandra.query.tables.shapes import Array, Series
from cassandra.query.tables.types import (
    DURATION_PARTS,
    NANOS,
    Convert,
    CqlType,
    bare,
    container_of,
    dtype_kind,
    element_of,
    kind_of,
    map_maker,
    positions_in_tuple,
    reader_of,
    uuid_of,
    whole_number,
)
from cassandra.query.tables.unfit import marker_of_unfit, may_be_unfit, type_may_be_unfit, unfit
from cassandra.util.temporal import Duration

if TYPE_CHECKING:
    import pyarrow

_FLOATS = frozenset({"float", "double"})
_INTEGER_TYPES = frozenset({"tinyint", "smallint", "int", "bigint", "varint", "counter"})
_EXACT_BITS = 53  # a float of 64 bits can represent each integer below 2**53 exactly
_NAT = -(1 << 63)  # the integer with which NumPy stores NaT, a missing date or duration
# The length of NumPy's units in nanoseconds. Units that are shorter than a nanosecond are left out:
# conversion from such a unit makes numbers smaller, so the numbers cannot overflow.
_LENGTHS = {
    **NANOS,
    "m": 60 * NANOS["s"],
    "h": 3600 * NANOS["s"],
    "D": 86_400 * NANOS["s"],
    "W": 7 * 86_400 * NANOS["s"],
    "M": 31 * 86_400 * NANOS["s"],
    "Y": 366 * 86_400 * NANOS["s"],
}
# For each unit that is shorter than a nanosecond: the number of units in one nanosecond.
_PER_NANOSECOND = {"ps": 10**3, "fs": 10**6, "as": 10**9}


class Float32(float):
    """A number from a table's column of 32-bit floats.

    An integer in such a column may have lost digits. Binding refuses a `Float32` for an integer
    type, and the error message contains the number of bits.
    """

    __slots__ = ()
    exact_bits = 24


class Float16(float):
    """Like `Float32`, for a column of 16-bit floats."""

    __slots__ = ()
    exact_bits = 11


# The classes for floats that are narrower than Python's, by the number of bits of the integers that
# they represent exactly.
_NARROW_FLOATS: dict[int, Callable[[float], float]] = {24: Float32, 11: Float16}
_EXACT_BITS_OF_SIZES = {2: 11, 4: 24}  # the number of bits, by the size of the floats in bytes
_EXACT_BITS_OF_ARROW = {"halffloat": 11, "float": 24, "double": 53}


def without_nan(values: Iterable[Any], name: str, exact_bits: int = _EXACT_BITS) -> list[Any]:
    """Convert floats for a column whose CQL type is neither float nor double.

    NaN becomes None. For an integer type, a float such as 3.0 becomes an int. But 64-bit floats
    cannot represent all integers from 2**53 on (32-bit floats: from 2**24 on), so such a float may
    come from another integer. For example, pandas converts a column of integers to floats if the
    column contains NaN. So these floats are not converted, and binding refuses them.

    :param name: the name of the CQL type.
    :param exact_bits: the floats of the table can represent all integers of up to this many bits:
        53, or 24 for floats of 32 bits, or 11 for floats of 16 bits.
    """
    is_integer_type = name in _INTEGER_TYPES
    limit = 1 << exact_bits
    converted = [
        value
        if type(value) is not float
        else (
            None
            if math.isnan(value)
            else int(value)
            if is_integer_type and -limit < value < limit and value.is_integer()
            else value
        )
        for value in values
    ]
    # Binding will refuse the floats that remain. Replace them by `Float32` or `Float16`, so that
    # the error message names the width of the floats in the table.
    narrow = _NARROW_FLOATS.get(exact_bits)
    if is_integer_type and narrow is not None:
        return [narrow(value) if type(value) is float else value for value in converted]
    return converted


def _exact_bits_of(dtype: Any) -> int:
    """Return the argument `exact_bits` of `without_nan` for a NumPy or pandas type."""
    # In a categorical or sparse type, `dtype` is wrapped: get the type of the values.
    dtype = getattr(getattr(dtype, "categories", None), "dtype", dtype)
    dtype = getattr(dtype, "subtype", dtype)
    if getattr(dtype, "kind", "") != "f":
        return _EXACT_BITS
    return _EXACT_BITS_OF_SIZES.get(dtype.itemsize, _EXACT_BITS)


# -- arrays of NumPy and columns of pandas ---------------------------------------------------------


def array_values(array: Array, cqltype: CqlType) -> list[Any]:
    """Return the values of a NumPy array for bind markers of `cqltype`.

    If the array has more than one dimension, each returned value is an array or, for dates and
    durations, a list.
    """
    if array.ndim > 1:
        # Each row of the array becomes one value. The codecs of collections and vectors accept
        # arrays, so only rows of dates or durations are converted. The rows of a masked array are
        # also masked arrays, so nulls are not lost.
        item_type = type_of_items(array, cqltype)
        if array.dtype.kind in "mM" and item_type is not None:
            return [_values_of_moments(row, item_type) for row in array]
        return list(array)
    cqltype = bare(cqltype)
    cql_name = cqltype.codec().cql_name
    kind = array.dtype.kind
    # The kind of a NumPy type is "M" for datetime64, "m" for timedelta64, "O" for Python objects
    # and "f" for floats. Convert dates and times to numbers, because some dates and times of CQL
    # are outside the range of Python's datetime.
    if kind == "M" and cql_name == "date":
        return _convert_moments(array, "datetime64[D]", lambda day: day + DATE_OFFSET)
    if kind == "M" and cql_name == "timestamp":
        return _convert_moments(array, "datetime64[ms]", None)
    if kind == "m" and cql_name == "time":
        return _convert_moments(array, "timedelta64[ns]", None)
    if kind == "m" and cql_name == "duration" and _unit_name(array.dtype) in ("M", "Y"):
        # A CQL duration counts months separately, because months have no fixed length in
        # nanoseconds.
        return _convert_moments(array, "timedelta64[M]", lambda value: Duration(value, 0, 0))
    if kind == "m" and cql_name == "duration":
        return _convert_moments(array, "timedelta64[ns]", lambda value: Duration(0, 0, value))
    if kind in "mM":
        return _unfit_moments(array)
    if kind == "O":
        return object_values(array.tolist(), cqltype)
    if array.dtype.names is not None and container_of(cqltype) in (TupleType, UserType):
        return _values_of_records(array, cqltype)
    values: list[Any] = array.tolist()
    if kind != "f" or cql_name in _FLOATS:
        return values
    return without_nan(values, cql_name, _exact_bits_of(array.dtype))


def _unfit_moments(array: Array) -> list[Any]:
    """Return NumPy dates or durations as values that binding refuses; None for missing values.

    NumPy converts such values to Python ints if their unit is nanoseconds or months. An integer
    column would store this number, and a date column would store a wrong day.
    """
    return [
        None if plain is None or value != value else unfit(value)
        for plain, value in zip(array.tolist(), array, strict=True)
    ]


def _values_of_records(array: Array, cqltype: CqlType) -> list[Any]:
    """Convert a structured array to tuples, or to dicts for a user-defined type.

    A record that is masked with all its fields becomes null.

    :param cqltype: a tuple or a user-defined type.
    """
    values = _values_of_fields(array, cqltype)
    masks = getattr(array, "mask", None)  # for each record, whether each field is masked
    if masks is None:
        return values
    return [
        None if _is_masked(mask) else value
        for value, mask in zip(values, masks.tolist(), strict=True)
    ]


def _is_masked(mask: Any) -> bool:
    """Return True if all parts of a record are masked."""
    return all(map(_is_masked, mask)) if isinstance(mask, (tuple, list)) else bool(mask)


def _values_of_fields(array: Array, cqltype: CqlType) -> list[Any]:
    """Convert a structured array to tuples or dicts; masked fields become null.

    If the records have more fields than a CQL tuple, they are returned unchanged.

    :param cqltype: a tuple or a user-defined type.
    """
    names = array.dtype.names
    # Fields of which none has the name of a field of the user-defined type go by position.
    if container_of(cqltype) is UserType and not {*names}.isdisjoint(cqltype.fieldnames):
        types = dict(zip(cqltype.fieldnames, cqltype.subtypes, strict=True))
        # A field that the type lacks is not converted. Binding refuses it.
        fields = [
            array_values(array[name], types[name]) if name in types else array[name].tolist()
            for name in names
        ]
        return [dict(zip(names, items, strict=True)) for items in zip(*fields, strict=True)]
    if len(names) > len(cqltype.subtypes):
        return array.tolist()
    positions = positions_in_tuple(tuple(names), len(cqltype.subtypes)) or range(len(names))
    fields = [
        [None] * len(array) if index is None else array_values(array[names[index]], subtype)
        for index, subtype in zip(positions, cqltype.subtypes, strict=False)
    ]
    return list(zip(*fields, strict=True))


def type_of_items(array: Array, cqltype: CqlType) -> CqlType | None:
    """Return the CQL type of the numbers in an array that is bound to a column of type `cqltype`.

    The numbers of an array with one dimension are values of the column. In an array with two
    dimensions, each row is a value, so the column's type must be a list, set or vector.

    :returns: None if the array cannot be bound to the column.
    """
    cqltype = bare(cqltype)
    if array.ndim == 1:
        return cqltype
    if array.ndim == 2 and container_of(cqltype) in (ListType, SetType, VectorType):
        return bare(element_of(cqltype))
    return None


def _values_of_moments(array: Array, element: CqlType) -> list[Any] | None:
    """Return the dates or durations of one list, set or vector as a list.

    They must be converted, because codecs do not accept NumPy arrays of dates or durations.

    :param array: the values of the collection.
    :param element: the CQL type of the elements.
    :returns: None for a masked array in which all elements are masked.
    """
    values = array_values(array, element)
    # A row of a masked array is bound as null if all its elements are masked.
    is_null = getattr(array, "mask", None) is not None and all(value is None for value in values)
    return None if is_null and values else values


def _convert_moments(array: Array, unit: str, convert: Convert | None) -> list[Any]:
    """Convert an array of dates or durations to a list of numbers of `unit`; NaT becomes None.

    :param unit: the NumPy type with the unit, such as "datetime64[ms]".
    :param convert: a function that is applied to each number that is not missing; None to return
        the numbers unchanged.
    """
    numbers = _convert_unit(array, unit)
    if convert is None:
        return [None if number == _NAT else number for number in numbers]
    return [None if number is None or number == _NAT else convert(number) for number in numbers]


def _convert_unit(array: Array, unit: str) -> list[int | None]:
    """Convert an array of dates or durations to a list of numbers of `unit`.

    The numbers may exceed 64 bits. A missing value is None, or the number `_NAT`. In a masked array
    it is always None.

    :param unit: the NumPy type with the unit, such as "datetime64[ms]".
    """
    try:
        converted = array.astype(unit)
    except OverflowError:  # raised by NumPy 2.5 and later
        return [
            None if source is None else _convert_scalar(value, unit)
            for source, value in zip(array.astype("int64").tolist(), array, strict=True)
        ]
    # `tolist` creates all Python ints in C. A loop over NumPy scalars would be many times slower.
    numbers: list[int | None] = converted.astype("int64").tolist()
    ratio = _unit_ratio(array.dtype, unit)
    if ratio <= 1:
        # To round down, NumPy subtracts before it divides, and the subtraction overflows near the
        # smallest number: the day of `pandas.Timestamp.min` would be in the year 2262.
        sources = array.astype("int64")
        has_overflowed = (sources < 0) & (converted.astype("int64") >= 0)
        if not has_overflowed.any():
            return numbers
        return [
            _floored(source, array.dtype, unit) if is_overflow else number
            for number, is_overflow, source in zip(
                numbers, has_overflowed.tolist(), sources.tolist(), strict=True
            )
        ]
    # NumPy before 2.5 multiplies without a check for overflow. A product that has overflowed does
    # not convert back to the same value, so multiply such values as Python ints.
    has_overflowed = converted.astype(array.dtype) != array
    if not has_overflowed.any():
        return numbers
    return [
        number if not is_overflow or source == _NAT else source * ratio
        for number, is_overflow, source in zip(
            numbers, has_overflowed.tolist(), array.astype("int64").tolist(), strict=True
        )
    ]


def _unit_name(dtype: Any) -> str:
    """Return the unit of a NumPy type of dates or durations, such as "s"; "" for no unit."""
    # For example, "<M8[25s]" counts in units of 25 seconds.
    text: str = dtype.str.rstrip("]").partition("[")[2]
    return text.lstrip("0123456789")


def _unit_ratio(dtype: Any, unit: str) -> int:
    """Return how many times longer the unit of a NumPy type is than `unit`.

    The ratio is 0 or 1 if the unit of the type is not longer. Years and months have no fixed
    length: we use the greatest length, because the ratio is needed only for values that overflow.
    Such values are out of range with any length, and binding refuses them.

    :param unit: the NumPy type with the unit, such as "datetime64[ms]".
    """
    _, _, text = dtype.str.rstrip("]").partition("[")
    name = _unit_name(dtype)
    count = int(text.removesuffix(name) or 1)
    return count * _LENGTHS.get(name, 0) // _LENGTHS[unit.partition("[")[2].rstrip("]")]


def _floored(source: int, dtype: Any, unit: str) -> int:
    """Convert a number from the unit of a NumPy type to the longer `unit`, rounded down.

    :param source: the number.
    :param dtype: the NumPy type, whose unit has a fixed length.
    :param unit: the NumPy type with the longer unit, such as "datetime64[D]".
    """
    _, _, text = dtype.str.rstrip("]").partition("[")
    name = _unit_name(dtype)
    count = int(text.removesuffix(name) or 1)
    length = _LENGTHS[unit.partition("[")[2].rstrip("]")]
    return source * count * _LENGTHS.get(name, 1) // (length * _PER_NANOSECOND.get(name, 1))


def _convert_scalar(value: Any, unit: str) -> int | None:
    """Return a NumPy date or duration as a number of `unit`; None for NaT."""
    source = value.astype("int64").item()
    if source == _NAT:
        return None
    ratio = _unit_ratio(value.dtype, unit)
    try:
        converted = value.astype(unit)
    except OverflowError:  # raised by NumPy 2.5 and later; for picoseconds and days by all versions
        return int(source * ratio) if ratio > 1 else _floored(source, value.dtype, unit)
    if ratio > 1 and converted.astype(value.dtype) != value:
        return int(source * ratio)
    number = int(converted.astype("int64").item())
    return _floored(source, value.dtype, unit) if ratio <= 1 and source < 0 <= number else number


def arrow_values(array: pyarrow.Array, cqltype: CqlType) -> list[Any]:
    """Return the values of a pyarrow array or chunked array for bind markers of `cqltype`."""
    values = arrow.arrow_values(array, cqltype)
    name = bare(cqltype).codec().cql_name
    # A list type also has a `value_type`.
    is_encoded = hasattr(array.type, "index_type") or hasattr(array.type, "run_end_type")
    value_type = array.type.value_type if is_encoded else array.type
    exact_bits = _EXACT_BITS_OF_ARROW.get(str(value_type))
    return values if exact_bits is None else _without_nan_unless_float(values, name, exact_bits)


def series_values(series: Series, cqltype: CqlType) -> list[Any]:
    """Return the values of a pandas Series for bind markers of `cqltype`."""
    cqltype = bare(cqltype)
    if hasattr(series.dtype, "pyarrow_dtype"):
        return arrow_values(series.array.__arrow_array__(), cqltype)
    if hasattr(series.dtype, "fill_value"):
        # A sparse column has NumPy scalars among its values. A dense column has Python objects.
        series = cast("Any", series).sparse.to_dense()
    if series.dtype.kind in "mM":
        if getattr(series.dtype, "tz", None) is not None:
            # For a CQL date, use the local date in the series' time zone. A CQL timestamp is
            # counted in UTC.
            is_day = cqltype.codec().cql_name == "date"
            series = series.dt.tz_localize(None) if is_day else series.dt.tz_convert(None)
        return array_values(series.to_numpy(), cqltype)
    values: list[Any] = series.tolist()
    name = cqltype.codec().cql_name
    missing = series.isna()
    if missing.any():
        keeps_nan = name in _FLOATS
        values = [
            value if not is_missing or (keeps_nan and isinstance(value, Real)) else None
            for value, is_missing in zip(values, missing.tolist(), strict=True)
        ]
    exact_bits = _exact_bits_of(series.dtype)
    return (
        object_values(values, cqltype, exact_bits)
        if series.dtype.kind == "O"
        else _without_nan_unless_float(values, name, exact_bits)
    )


def _without_nan_unless_float(
    values: list[Any], name: str, exact_bits: int = _EXACT_BITS
) -> list[Any]:
    return values if name in _FLOATS else without_nan(values, name, exact_bits)


def object_values(values: list[Any], cqltype: CqlType, exact_bits: int = _EXACT_BITS) -> list[Any]:
    """Convert the Python objects of a column to values for bind markers of `cqltype`.

    :param exact_bits: as for `without_nan`.
    """
    convert = cell_reader(cqltype)
    name = cqltype.codec().cql_name
    if convert is not None:
        values = [None if value is None else convert(value) for value in values]
    return _without_nan_unless_float(values, name, exact_bits)


def mark_unfit(values: Iterable[Any], cqltype: CqlType, source: Any = None) -> Iterable[Any]:
    """Replace the unfit parts of a table's values by objects that binding refuses.

    :param values: the values of a column, in the form in which they are bound.
    :param cqltype: the CQL type of the column.
    :param source: the column of the table; None if it has not one type for all values.
    """
    mark = marker_of_unfit(cqltype)
    if mark is None:
        return values
    # An array of pyarrow has a type that often tells that all values fit.
    if hasattr(source, "to_pylist") and not type_may_be_unfit(source.type, cqltype):
        return values
    if isinstance(values, list) and not may_be_unfit(values, cqltype):
        return values
    return map(mark, values)


# -- cells -----------------------------------------------------------------------------------------


def cell_reader(cqltype: CqlType) -> Convert | None:
    """Return a function that converts the objects in cells to values of `cqltype`.

    :returns: None if the objects need no conversion.
    """
    cqltype = bare(cqltype)
    base = container_of(cqltype)
    if base is not None:
        return _CELLS[base](cqltype)
    return (
        reader_of(cqltype) if kind_of(cqltype) == "opaque" else _SCALAR_CELLS.get(kind_of(cqltype))
    )


def _keep_none(convert: Convert | None) -> Convert:
    """Return a function that returns None for None and applies `convert` to other values.

    If `convert` is None, the function returns all values unchanged.
    """
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def _list_cells(cqltype: CqlType) -> Convert:
    """Return a function that converts a cell that contains a list, a set, a vector or an array."""
    element = element_of(cqltype)
    convert_element = cell_reader(element)
    # The kinds of NumPy arrays (durations, dates, objects, floats) whose items must be converted
    # one by one. Codecs read arrays of all other kinds directly, and arrays of floats, too, if the
    # CQL type of the elements is float or double.
    converted_kinds = "mMO" if bare(element).codec().cql_name in _FLOATS else "mMOf"

    def read(cell: Any) -> object:
        kind = dtype_kind(cell)
        if kind and kind in converted_kinds:
            return array_values(cell, element)
        if convert_element is None or not isinstance(cell, (list, tuple, set, frozenset)):
            return cell
        return [None if item is None else convert_element(item) for item in cell]

    return read


def _map_cells(cqltype: CqlType) -> Convert:
    """Return a function that converts a cell that contains a mapping or a list of pairs."""
    convert_key, convert_item = (_keep_none(cell_reader(subtype)) for subtype in cqltype.subtypes)
    make_map = map_maker(cqltype.subtypes[0])

    def read(cell: object) -> object:
        pairs: Any = cell
        if hasattr(cell, "items"):
            pairs = cell.items()
        elif not isinstance(cell, (list, tuple)) or not all(
            isinstance(pair, tuple) and len(pair) == 2 for pair in cell
        ):
            # The cell is not a map. Leave it to the codec, whose error shows the original value.
            return cell
        return make_map([(convert_key(first), convert_item(other)) for first, other in pairs])

    return read


def _tuple_cells(cqltype: CqlType) -> Convert:
    """Return a function that converts a cell that contains a tuple, a list or a mapping."""
    converts = [_keep_none(cell_reader(subtype)) for subtype in cqltype.subtypes]

    def read(cell: object) -> object:
        items: Any = cell
        if isinstance(cell, Mapping):
            items = tuple(cell.values())
            positions = positions_in_tuple(tuple(cell), len(converts))
            if positions is not None:
                items = [None if index is None else items[index] for index in positions]
        if not isinstance(items, (tuple, list)) or len(items) > len(converts):
            return cell
        return tuple(convert(value) for convert, value in zip(converts, items, strict=False))

    return read


def _udt_cells(cqltype: CqlType) -> Convert:
    """Return a function that converts the fields of a user-defined type.

    A cell may contain the fields by name, in a mapping, or by position, in a tuple or list.
    """
    converts_by_name = {
        name: _keep_none(cell_reader(subtype))
        for name, subtype in zip(cqltype.fieldnames, cqltype.subtypes, strict=True)
    }
    by_position = _tuple_cells(cqltype)

    def read(cell: object) -> object:
        if not isinstance(cell, Mapping):
            return by_position(cell) if type(cell) in (tuple, list) else cell
        return {
            name: converts_by_name[name](value) if name in converts_by_name else value
            for name, value in cell.items()
        }

    return read


# Makes the function that `cell_reader` returns, by the base class of the CQL type.
_CELLS: dict[CqlType, Callable[[Any], Convert]] = {
    ListType: _list_cells,
    SetType: _list_cells,
    VectorType: _list_cells,
    MapType: _map_cells,
    UserType: _udt_cells,
    TupleType: _tuple_cells,
}


def nanoseconds_of(value: object) -> Any:
    """Return the nanoseconds of a timedelta or pandas Timedelta; other values unchanged."""
    if not isinstance(value, datetime.timedelta):
        return value
    # Compute with ints: the float of `total_seconds` loses nanoseconds for more than 104 days.
    nanos = (value.days * 86_400 + value.seconds) * NANOS["s"] + value.microseconds * NANOS["us"]
    return nanos + getattr(value, "nanoseconds", 0)


def moment_of(value: object) -> object:
    """Return a pandas Timestamp as milliseconds since 1970; other values unchanged.

    A Timestamp is not converted to a `datetime`, which covers fewer years.
    """
    if not hasattr(value, "asm8"):
        return value
    return _convert_scalar(value.asm8, "datetime64[ms]")


def day_of(value: Any) -> object:
    """Return the local date of a pandas Timestamp as a number; other values unchanged.

    The number counts days as in the protocol: 1970-01-01 is 2**31. The date is the date in the
    Timestamp's time zone.
    """
    if not hasattr(value, "asm8"):
        return value
    if value != value:  # NaT
        return None
    day = _convert_scalar(value.tz_localize(None).asm8, "datetime64[D]")
    return None if day is None else day + DATE_OFFSET


def duration_of(value: Any) -> object:
    """Return a Duration for a value that represents a duration; other values unchanged.

    A duration may be a timedelta, a pandas offset, a pyarrow interval, or a mapping with months,
    days and nanoseconds. Some versions of pyarrow return offsets that also have microseconds.
    """
    if isinstance(value, datetime.timedelta):
        return Duration(0, 0, nanoseconds_of(value))
    if type(value).__name__ == "MonthDayNano":
        return Duration(*value)
    # A pandas offset stores its parts in `kwds`.
    parts = getattr(value, "kwds", value)
    known_parts = {*DURATION_PARTS, "microseconds"}
    if not isinstance(parts, Mapping) or not parts or not set(parts) <= known_parts:
        return value
    months, days, nanoseconds = (parts.get(part, 0) for part in DURATION_PARTS)
    return Duration(months, days, nanoseconds + 1000 * parts.get("microseconds", 0))


def _decimal_to_whole(value: object) -> object:
    return whole_number(value) if isinstance(value, decimal.Decimal) else value


def _varint_of(value: object) -> object:
    return whole_number(value) if isinstance(value, (str, decimal.Decimal)) else value


# The function that `cell_reader` returns for a type without parameters, by the type's kind (see
# `kind_of`).
_SCALAR_CELLS: dict[str, Convert] = {
    "uuid": uuid_of,
    "time": nanoseconds_of,
    "timestamp": moment_of,
    "date": day_of,
    "duration": duration_of,
    "varint": _varint_of,
    "number": _decimal_to_whole,
}
