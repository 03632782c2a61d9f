"""Test the classes of the scalar types: their names in CQL and on the server, and their bases."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes.parse import lookup_cqltype
from cassandra.cqltypes.scalars import OPTIONS, SCALARS
from cassandra.util.temporal import Date, Duration, Time

# For each class: its name in CQL, the function that creates its codec, and whether zero bytes are a
# value of the type.
NAMES: dict[Any, tuple[str, str, bool]] = {
    t.BytesType: ("blob", "blob", True),
    t.DecimalType: ("decimal", "decimal_number", False),
    t.UUIDType: ("uuid", "uuid", False),
    t.BooleanType: ("boolean", "boolean", False),
    t.ByteType: ("tinyint", "int8", False),
    t.AsciiType: ("ascii", "ascii_text", True),
    t.FloatType: ("float", "float32", False),
    t.DoubleType: ("double", "float64", False),
    t.LongType: ("bigint", "int64", False),
    t.Int32Type: ("int", "int32", False),
    t.IntegerType: ("varint", "varint", False),
    t.InetAddressType: ("inet", "inet", False),
    t.CounterColumnType: ("counter", "int64", False),
    t.DateType: ("timestamp", "timestamp", False),
    t.TimestampType: ("timestamp", "timestamp", False),
    t.TimeUUIDType: ("timeuuid", "uuid", False),
    t.SimpleDateType: ("date", "date", False),
    t.ShortType: ("smallint", "int16", False),
    t.TimeType: ("time", "time", False),
    t.DurationType: ("duration", "duration", False),
    t.UTF8Type: ("text", "text", True),
    t.VarcharType: ("varchar", "text", True),
    t.EmptyType: ("empty", "nothing", True),
}


@pytest.mark.parametrize("cqltype", SCALARS, ids=lambda cqltype: str(cqltype.__name__))
def test_a_type_has_a_name_in_cql_and_on_the_server(cqltype: Any) -> None:
    """A class's name is the type's name on the server, by which the class can be found."""
    name, codec_factory, takes_empty = NAMES[cqltype]
    assert cqltype.typename == name
    assert cqltype._factory == codec_factory
    assert cqltype.empty_binary_ok is takes_empty
    assert cqltype.cassname == cqltype.__name__
    assert t.lookup_casstype(cqltype.cassname) is cqltype
    assert cqltype.cql_parameterized_type() == name


def test_classes_are_found_by_their_cql_names() -> None:
    """Each scalar type is found by its CQL name."""
    for name, _, _ in NAMES.values():
        assert lookup_cqltype(name).typename == name
    assert set(NAMES) == set(SCALARS)


def test_literals_of_timestamps_are_read_as_milliseconds() -> None:
    """`interpret_datestring` converts a timestamp literal to milliseconds since 1970."""
    assert t.DateType.interpret_datestring("1970-01-01 00:00:01.5+0000") == 1500
    with pytest.raises(ValueError, match="soon"):
        t.DateType.interpret_datestring("soon")


def test_a_timeuuid_contains_a_time() -> None:
    """`my_timestamp` of a TimeUUIDType returns the UUID's time in seconds since 1970."""
    identity = uuid.UUID("13814000-1dd2-11b2-8000-000000000000")  # the first moment of 1970
    assert t.TimeUUIDType(identity).my_timestamp() == 0.0
    assert t.TimeUUIDType.to_binary(identity, 4) == identity.bytes
    assert t.TimeUUIDType.from_binary(identity.bytes, 4) == identity


def test_dates_are_encoded_with_an_offset() -> None:
    """A date is encoded as its number of days since 1970, plus 2**31."""
    assert t.SimpleDateType.EPOCH_OFFSET_DAYS == 2**31
    assert t.SimpleDateType.to_binary("1970-01-02", 4) == (2**31 + 1).to_bytes(4, "big")


# The type of each option id in result metadata. The source is native_protocol_v5.spec, section
# 4.2.5.2, and for 0x000A native_protocol_v1.spec.
OPTION_IDS = {
    0x0001: "ascii", 0x0002: "bigint", 0x0003: "blob", 0x0004: "boolean", 0x0005: "counter",
    0x0006: "decimal", 0x0007: "double", 0x0008: "float", 0x0009: "int", 0x000A: "text",
    0x000B: "timestamp", 0x000C: "uuid", 0x000D: "varchar", 0x000E: "varint", 0x000F: "timeuuid",
    0x0010: "inet", 0x0011: "date", 0x0012: "time", 0x0013: "smallint", 0x0014: "tinyint",
    0x0015: "duration",
}  # fmt: skip


def test_types_have_the_option_ids_of_the_specification() -> None:
    """Each type has the option id that the specification of the protocol names."""
    cql_names = {
        option_id: t.lookup_casstype(class_name).typename
        for option_id, class_name in OPTIONS.items()
    }
    assert cql_names == OPTION_IDS
    assert t.EmptyType._option is None


# For each type, the kind of its columns in columnar results, their Arrow format, and the size of a
# value in bytes (0 if the size varies).
LAYOUTS = {
    "ascii": ("ascii", "u", 0), "bigint": ("number", "l", 8), "blob": ("blob", "z", 0),
    "boolean": ("boolean", "b", 0), "counter": ("number", "l", 8), "date": ("date", "tdD", 4),
    "decimal": ("decimal", "u", 0), "double": ("number", "g", 8),
    "duration": ("duration", "tin", 16), "empty": ("nothing", "n", 0), "float": ("number", "f", 4),
    "inet": ("inet", "u", 0), "int": ("number", "i", 4), "smallint": ("number", "s", 2),
    "text": ("text", "u", 0), "time": ("time", "ttn", 8), "timestamp": ("number", "tsm:UTC", 8),
    "timeuuid": ("bytes", "w:16", 16), "tinyint": ("number", "c", 1), "uuid": ("bytes", "w:16", 16),
    "varchar": ("text", "u", 0), "varint": ("varint", "u", 0),
}  # fmt: skip


@pytest.mark.parametrize("cqltype", SCALARS, ids=lambda cqltype: str(cqltype.__name__))
def test_columns_of_a_type_have_the_expected_layout(cqltype: Any) -> None:
    """A column of each scalar type has the expected kind, Arrow format and size."""
    assert cqltype._column == LAYOUTS[cqltype.typename]


@pytest.mark.parametrize(
    ("cqltype", "value"),
    [
        (t.BytesType, b"a"), (t.DecimalType, decimal.Decimal("1.5")),
        (t.UUIDType, uuid.UUID(int=5)), (t.BooleanType, True), (t.ByteType, -1),
        (t.AsciiType, "a"), (t.FloatType, 1.5),
        (t.DoubleType, 1.5), (t.LongType, 2**40), (t.Int32Type, -7), (t.IntegerType, 2**70),
        (t.InetAddressType, "10.0.0.1"), (t.CounterColumnType, 3),
        (t.DateType, datetime.datetime(2026, 1, 2)),
        (t.TimestampType, datetime.datetime(1960, 1, 2)),
        (t.TimeUUIDType, uuid.UUID("00000000-0000-1000-8000-000000000000")),
        (t.SimpleDateType, Date(5)), (t.ShortType, 300), (t.TimeType, Time(7)),
        (t.DurationType, Duration(1, 2, 3)), (t.UTF8Type, "\u00e9"), (t.VarcharType, "a"),
    ],
)  # fmt: skip
def test_decoded_values_have_the_classes_of_row_types(cqltype: Any, value: Any) -> None:
    """A decoded value is an instance of the class that its type declares in `_values`."""
    decoded = cqltype.from_binary(cqltype.to_binary(value, 5), 5)
    assert decoded == value
    assert isinstance(decoded, cqltype._values)
