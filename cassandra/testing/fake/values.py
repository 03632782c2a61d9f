"""Parses CQL types, and encodes the values of a fake node's rows.

See native_protocol_v5.spec, sections 4.2.5.2, 5 and 6.
"""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import struct
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from cassandra.testing.fake.primitives import long_bytes, string, unsigned_vint, vint

_MARSHAL = "org.apache.cassandra.db.marshal."  # the package of Cassandra's type classes
# The [option] ids of types that contain other types (section 4.2.5.2).
_LIST_OPTION, _SET_OPTION = 0x20, 0x22
_MAP_OPTION, _UDT_OPTION, _TUPLE_OPTION = b"\0\x21", b"\0\x30", b"\0\x31"
_EPOCH_DATE = datetime.date(1970, 1, 1)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class Encoded(NamedTuple):
    """Bytes that are sent unchanged as a value, regardless of the column's type."""

    data: bytes


class Udt(NamedTuple):
    """A user-defined type. `fields` are (name, type) pairs.

    Values are dicts, or sequences in the fields' order.
    """

    keyspace: str
    name: str
    fields: tuple[tuple[str, Any], ...]


Column = tuple[str, "str | Udt"]  # the name and the type of a column
Columns = Sequence[Column]


class Type(NamedTuple):
    """A parsed CQL type.

    `option` is called with a protocol version, and returns the [option] that describes the type in
    column metadata. `encode` encodes a value. `class_name` is the name of the server's Java class.
    `width` is the size in bytes of an element in a vector; None if the size varies.
    """

    option: Callable[[int], bytes]
    encode: Callable[[Any], bytes]
    class_name: str
    width: int | None


class _WrongType(TypeError):
    """A value has another type than its column, or a part of it than its part of the column."""


def _refuse(value: object, what: str) -> NoReturn:
    """Raise the error for a value of a wrong type.

    :param what: what a value should be.
    """
    raise _WrongType(f"{value!r} ({type(value).__name__}) is not {what}")


def _elements(value: Any, what: str) -> Collection[Any]:
    """Return a collection of elements, but refuse strings, bytes and mappings, as the driver does.

    Otherwise each character of a string would be an element.

    :param what: what the value should be.
    """
    if isinstance(value, (str, bytes, bytearray, Mapping)) or not hasattr(value, "__len__"):
        _refuse(value, what)
    elements: Collection[Any] = value
    return elements


def _check_count(values: Collection[Any], fields: Collection[Any], what: str) -> None:
    """Raise ValueError if there are more values than fields. Fields at the end may be missing."""
    if len(values) > len(fields):
        raise ValueError(f"{len(values)} values for the {len(fields)} fields of {what}")


def _check_keys(values: Mapping[str, Any], names: Sequence[str], found: str, what: str) -> None:
    """Raise ValueError if a mapping has a value for another name.

    :param found: the beginning of the message, for example "there is a value".
    :param what: what has these names.
    """
    unknown = [key for key in values if key not in names]
    if unknown:
        raise ValueError(f"{found} for {unknown[0]!r}, but {what} are {', '.join(names)}")


def _packed(layout: str) -> Callable[[Any], bytes]:
    return struct.Struct(layout).pack


def _boolean(value: object) -> bytes:
    """Encode a bool or, as the driver does, an integer or a bool of NumPy."""
    # Every other object is true or false, too: "false" is true.
    if not hasattr(value, "__index__") and type(value).__name__ not in ("bool_", "bool"):
        _refuse(value, "a bool")
    return b"\1" if value else b"\0"


def _blob(value: Any) -> bytes:
    """Encode bytes or another buffer."""
    # The constructor of bytes would make an int that many zeros, and read a list as bytes.
    try:
        return memoryview(value).tobytes()
    except TypeError:
        _refuse(value, "bytes")


def _varint(number: int) -> bytes:
    # Use the shortest two's complement: -128 fits into one byte, but 128 needs two bytes.
    length = (number + (number < 0)).bit_length() // 8 + 1
    return number.to_bytes(length, "big", signed=True)


def _decimal(number: decimal.Decimal | int | float | str) -> bytes:
    """Encode a decimal: the scale in four bytes, and the digits as a varint."""
    sign, digits, exponent = decimal.Decimal(number).as_tuple()
    assert isinstance(exponent, int)
    # The scale of a CQL decimal is the negative exponent. Join the digits as a string: arithmetic
    # with Decimals would round to the precision of the decimal context.
    unscaled = int("".join(map(str, digits)))
    return struct.pack(">i", -exponent) + _varint(-unscaled if sign else unscaled)


def _timestamp(moment: datetime.datetime | int) -> bytes:
    """Encode a timestamp as milliseconds since 1970.

    A datetime without time zone is taken as UTC.
    """
    if isinstance(moment, datetime.datetime):
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=datetime.timezone.utc)
        moment = (moment - _EPOCH) // datetime.timedelta(milliseconds=1)
    return struct.pack(">q", moment)


def _date(day: datetime.date | int) -> bytes:
    days = (day - _EPOCH_DATE).days if isinstance(day, datetime.date) else day
    return struct.pack(">I", days + (1 << 31))


def _time(moment: datetime.time | int) -> bytes:
    if isinstance(moment, datetime.time):
        seconds = (moment.hour * 60 + moment.minute) * 60 + moment.second
        moment = (seconds * 1_000_000 + moment.microsecond) * 1000
    return struct.pack(">q", moment)


def _inet(address: Any) -> bytes:
    if isinstance(address, int):  # `ip_address` would take it as a whole address
        _refuse(address, "an address")
    return ipaddress.ip_address(address).packed


def _uuid(value: uuid.UUID | str) -> bytes:
    return (value if isinstance(value, uuid.UUID) else uuid.UUID(value)).bytes


def _duration(value: Sequence[int]) -> bytes:
    months, days, nanoseconds = value
    return vint(months) + vint(days) + vint(nanoseconds)


class _Scalar(NamedTuple):
    """A type without parameters. `option` is the id of the type in column metadata."""

    option: int
    encode: Callable[[Any], bytes]
    class_name: str
    # The size in bytes of an element in a vector; None if each element is preceded by its length.
    width: int | None = None
    # The first protocol version whose clients know `option`. In earlier versions, the type is sent
    # as a custom type with the name of its Java class.
    since: int = 3


_SCALARS = {
    "ascii": _Scalar(0x01, lambda value: value.encode("ascii"), "AsciiType"),
    "bigint": _Scalar(0x02, _packed(">q"), "LongType", 8),
    "blob": _Scalar(0x03, _blob, "BytesType"),
    "boolean": _Scalar(0x04, _boolean, "BooleanType", 1),
    "counter": _Scalar(0x05, _packed(">q"), "CounterColumnType"),
    "decimal": _Scalar(0x06, _decimal, "DecimalType"),
    "double": _Scalar(0x07, _packed(">d"), "DoubleType", 8),
    "float": _Scalar(0x08, _packed(">f"), "FloatType", 4),
    "int": _Scalar(0x09, _packed(">i"), "Int32Type", 4),
    "timestamp": _Scalar(0x0B, _timestamp, "TimestampType", 8),
    "uuid": _Scalar(0x0C, _uuid, "UUIDType", 16),
    "text": _Scalar(0x0D, str.encode, "UTF8Type"),
    "varchar": _Scalar(0x0D, str.encode, "UTF8Type"),
    "varint": _Scalar(0x0E, _varint, "IntegerType"),
    "timeuuid": _Scalar(0x0F, _uuid, "TimeUUIDType", 16),
    "inet": _Scalar(0x10, _inet, "InetAddressType"),
    "date": _Scalar(0x11, _date, "SimpleDateType", None, 4),
    "time": _Scalar(0x12, _time, "TimeType", None, 4),
    "smallint": _Scalar(0x13, _packed(">h"), "ShortType", None, 4),
    "tinyint": _Scalar(0x14, _packed(">b"), "ByteType", None, 4),
    "duration": _Scalar(0x15, _duration, "DurationType", None, 5),
}


def _custom(class_name: str) -> bytes:
    """Return the [option] of a custom type: the id 0 and the name of the type's Java class."""
    return b"\0\0" + string(class_name)


# Types of Python and SQL that users may write instead of a CQL type. The error message proposes the
# CQL type.
_TYPES_OF_OTHERS = {
    **dict.fromkeys(("integer", "int32"), "int"),
    **dict.fromkeys(("long", "int64"), "bigint"),
    **dict.fromkeys(("string", "str"), "text"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("real", "float64", "numeric"), "double"),
    **dict.fromkeys(("datetime", "timestamptz"), "timestamp"),
    **dict.fromkeys(("bytes", "bytea", "binary"), "blob"),
    **dict.fromkeys(("dict", "object"), "map<text, text>"),
    **dict.fromkeys(("array",), "list<text>"),
    **dict.fromkeys(("json", "jsonb"), "text"),
}


def _instead_of_type(name: str) -> str:
    """Return the end of an error message: the CQL type to write for a type of Python or SQL."""
    cql_type = _TYPES_OF_OTHERS.get(name.lower())
    return f": write {cql_type!r}" if cql_type else ""


def _scalar(name: str) -> Type:
    """Return the type for a scalar type.

    In protocol versions that do not know the type, the type is sent as a custom type.
    """
    scalar = _SCALARS.get(name)
    if scalar is None:
        raise ValueError(f"no CQL type is called {name!r}{_instead_of_type(name)}")
    class_name = _MARSHAL + scalar.class_name
    native_option = scalar.option.to_bytes(2, "big")
    custom_option = _custom(class_name)
    return Type(
        lambda version: native_option if version >= scalar.since else custom_option,
        scalar.encode,
        class_name,
        scalar.width,
    )


def _cell(kind: Type, value: object) -> bytes:
    """Return the encoded value with its length in front. Null has the length -1."""
    if value is None:
        return b"\xff\xff\xff\xff"
    return long_bytes(value.data if isinstance(value, Encoded) else kind.encode(value))


def _sequence(element: Type, option: int, class_name: str) -> Type:
    """Return the type of a list or set.

    :param option: the [option] id of a list or a set.
    """

    def encode(values: Collection[Any]) -> bytes:
        values = _elements(values, "a collection of elements")
        return len(values).to_bytes(4, "big") + b"".join(_cell(element, value) for value in values)

    def encode_option(version: int) -> bytes:
        return option.to_bytes(2, "big") + element.option(version)

    return Type(encode_option, encode, f"{_MARSHAL}{class_name}({element.class_name})", None)


def _map(key: Type, value: Type) -> Type:
    """Return the type of a map."""

    def encode(values: Mapping[Any, Any] | Collection[tuple[Any, Any]]) -> bytes:
        pairs = (
            values.items()
            if isinstance(values, Mapping)
            else [
                _elements(pair, "a pair of a key and a value")
                for pair in _elements(values, "a mapping")
            ]
        )
        cells = [_cell(key, map_key) + _cell(value, map_value) for map_key, map_value in pairs]
        return len(values).to_bytes(4, "big") + b"".join(cells)

    def encode_option(version: int) -> bytes:
        return _MAP_OPTION + key.option(version) + value.option(version)

    return Type(
        encode_option, encode, f"{_MARSHAL}MapType({key.class_name},{value.class_name})", None
    )


def _tuple(fields: Sequence[Type]) -> Type:
    """Return the type of a tuple. Values may lack fields at the end."""

    def encode(values: Sequence[Any]) -> bytes:
        _check_count(_elements(values, "a tuple"), fields, "the tuple")
        return b"".join(_cell(field, value) for field, value in zip(fields, values, strict=False))

    def encode_option(version: int) -> bytes:
        return (
            _TUPLE_OPTION
            + len(fields).to_bytes(2, "big")
            + b"".join(field.option(version) for field in fields)
        )

    return Type(
        encode_option,
        encode,
        f"{_MARSHAL}TupleType({','.join(field.class_name for field in fields)})",
        None,
    )


def _udt(udt: Udt) -> Type:
    """Return the type for a user-defined type, whose values are encoded like tuples."""
    names = [name for name, _ in udt.fields]
    types = [parse_type(cql_type) for _, cql_type in udt.fields]

    def encode(value: Mapping[str, Any] | Sequence[Any]) -> bytes:
        if isinstance(value, Mapping):
            _check_keys(value, names, "there is a value", f"the fields of {udt.name}")
            values: Collection[Any] = [value.get(name) for name in names]
        else:
            values = _elements(value, f"a mapping or a sequence for {udt.name}")
            _check_count(values, names, udt.name)
        return b"".join(_cell(field, item) for field, item in zip(types, values, strict=False))

    def encode_option(version: int) -> bytes:
        fields = b"".join(
            string(name) + field.option(version) for name, field in zip(names, types, strict=True)
        )
        return (
            _UDT_OPTION
            + string(udt.keyspace)
            + string(udt.name)
            + len(names).to_bytes(2, "big")
            + fields
        )

    # In the name of the Java class, the names of the type and of its fields are in hexadecimal
    # digits.
    fields_in_class = ",".join(
        f"{name.encode().hex()}:{field.class_name}"
        for name, field in zip(names, types, strict=True)
    )
    return Type(
        encode_option,
        encode,
        f"{_MARSHAL}UserType({udt.keyspace},{udt.name.encode().hex()},{fields_in_class})",
        None,
    )


def _vector(element: Type, dimensions: int) -> Type:
    """Return a vector type.

    In column metadata, a vector is a custom type. Elements of a fixed size follow each other
    directly. If the size varies, each element is preceded by its length, an unsigned vint.
    """

    def encode(values: Collection[Any]) -> bytes:
        values = _elements(values, "a sequence of elements")
        if len(values) != dimensions:
            raise ValueError(f"{len(values)} elements for a vector of {dimensions}")
        parts = [element.encode(value) for value in values]
        return b"".join(
            parts if element.width else [unsigned_vint(len(part)) + part for part in parts]
        )

    # Servers write a space before the comma.
    class_name = f"{_MARSHAL}VectorType({element.class_name} , {dimensions})"
    width = element.width * dimensions if element.width else None
    return Type(lambda version: _custom(class_name), encode, class_name, width)


def _split(text: str) -> list[str]:
    """Split a string at the commas that are not inside angle brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character == "<") - (character == ">")  # how many brackets are open
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


@lru_cache(maxsize=1024)
def parse_type(kind: str | Udt) -> Type:
    """Return the `Type` for a CQL type such as ``map<text, frozen<list<int>>>``, or a `Udt`."""
    if isinstance(kind, Udt):
        return _udt(kind)
    # Split ``name<parameters>``, and parse the parameters as types.
    text = kind.strip()
    head, bracket, rest = text.partition("<")
    if not bracket:
        return _scalar(text.lower())
    if not rest.endswith(">"):
        raise ValueError(f"{kind!r} is not a CQL type: a bracket is open")
    parts, head = _split(rest[:-1]), head.strip().lower()
    if head == "vector":
        return _vector(parse_type(parts[0]), int(parts[1]))
    parameters = [parse_type(part) for part in parts]
    if head == "frozen":
        return parameters[0]
    if head == "list":
        return _sequence(parameters[0], _LIST_OPTION, "ListType")
    if head == "set":
        return _sequence(parameters[0], _SET_OPTION, "SetType")
    if head == "map":
        return _map(parameters[0], parameters[1])
    if head == "tuple":
        return _tuple(parameters)
    raise ValueError(f"no CQL type is called {head!r}{_instead_of_type(head)}")


def check_columns(columns: Any) -> None:
    """Raise TypeError if `columns` are not (name, type) pairs."""
    for column in (columns,) if isinstance(columns, str) else columns:
        # Reject a string explicitly: a string of two characters is also a sequence of two items.
        if isinstance(column, str) or not isinstance(column, Sequence) or len(column) != 2:
            raise TypeError(f"columns are (name, type) pairs: [('k', 'int')], not {column!r}")


def encode_row(
    types: Sequence[Type],
    columns: Columns,
    row: Mapping[str, Any] | Sequence[Any],
    index: int = 0,
) -> bytes:
    """Encode one row (native_protocol_v5.spec, section 4.2.5.2).

    :param types: the parsed types of `columns`.
    :param row: the values, as a sequence in column order or a mapping by column name.
    :param index: the position of the row in the result, for errors.
    :raises TypeError: if `row` is not a row, or a value has another type than its column.
    :raises ValueError: if a mapping has a key that is not a column, or a column cannot hold a
        value of this type.
    """
    names = [name for name, _ in columns]
    # Reject a string: otherwise each character would become the value of a column.
    if isinstance(row, (str, bytes)) or not hasattr(row, "__len__"):
        raise TypeError(
            f"row {index} is {row!r} ({type(row).__name__}): a row is a sequence of the values of "
            f"{', '.join(names)}, such as (value,), or a mapping"
        )
    if isinstance(row, Mapping):
        _check_keys(row, names, f"row {index} has a value", "the columns")
    # Bring the values into the order of the columns. A column that is not in a mapping becomes
    # null.
    values = [row.get(name) for name in names] if isinstance(row, Mapping) else row
    if len(values) != len(types):
        raise ValueError(
            f"a row of {len(values)} values for the {len(types)} columns {', '.join(names)}: "
            f"{row!r}"
        )
    # Encode the values. An error names the column.
    cells = []
    for column_type, column, value in zip(types, columns, values, strict=True):
        try:
            cells.append(_cell(column_type, value))
        except Exception as fault:
            raise _unencodable(index, column, value, fault) from fault
    return b"".join(cells)


def _unencodable(index: int, column: Column, value: object, fault: Exception) -> Exception:
    """Return the error for a value that cannot be encoded: a TypeError if its type is wrong."""
    name, cql_type = column
    type_name = cql_type.name if isinstance(cql_type, Udt) else cql_type
    text = (
        f"row {index}, column {name} ({type_name}): {value!r} ({type(value).__name__}) cannot be "
        "encoded"
    )
    if isinstance(fault, _WrongType):
        return TypeError(f"{text}: {fault}")
    # `struct.error` is raised for a value of another type, and for an int that is out of range.
    if isinstance(fault, (TypeError, AttributeError)) or (
        isinstance(fault, struct.error) and not isinstance(value, int)
    ):
        return TypeError(text)
    return ValueError(f"{text}: {fault}")
