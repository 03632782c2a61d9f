"""The classes of the scalar types: their names in CQL and on the server, and their base classes."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes.scalars import SCALARS

# For each class: its name in CQL, the function that creates its codec, and whether zero bytes are a
# value of it.
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
def test_names(cqltype: Any) -> None:
    """Each type has the expected CQL name, and can be found by its name on the server."""
    name, factory, takes_empty = NAMES[cqltype]
    assert (cqltype.typename, cqltype._factory, cqltype.empty_binary_ok) == (
        name,
        factory,
        takes_empty,
    )
    assert cqltype.cassname == cqltype.__name__
    assert t.lookup_casstype(cqltype.cassname) is cqltype
    assert cqltype.cql_parameterized_type() == name


def test_classes_are_found_by_their_cql_names() -> None:
    from cassandra.cqltypes.parse import lookup_cqltype

    for name, _, _ in NAMES.values():
        assert lookup_cqltype(name).typename == name
    assert set(NAMES) == set(SCALARS)


def test_literals_of_timestamps() -> None:
    """Literals of timestamps are read as milliseconds; other texts are refused."""
    assert t.DateType.interpret_datestring("1970-01-01 00:00:01.5+0000") == 1500
    with pytest.raises(ValueError, match="soon"):
        t.DateType.interpret_datestring("soon")


def test_a_timeuuid_has_its_time() -> None:
    identity = uuid.UUID("13814000-1dd2-11b2-8000-000000000000")  # the first moment of 1970
    assert t.TimeUUIDType(identity).my_timestamp() == 0.0
    assert t.TimeUUIDType.to_binary(identity, 4) == identity.bytes
    assert t.TimeUUIDType.from_binary(identity.bytes, 4) == identity


def test_dates_are_encoded_with_an_offset() -> None:
    assert t.SimpleDateType.EPOCH_OFFSET_DAYS == 2**31
    assert t.SimpleDateType.to_binary("1970-01-02", 4) == (2**31 + 1).to_bytes(4, "big")
