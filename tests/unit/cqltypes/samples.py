"""Sample values of each type with their encoded bytes, and functions that make container types."""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import math
import uuid
import warnings
from typing import Any

from cassandra import cqltypes as t
from cassandra.sentinels import EMPTY
from cassandra.util.daterange import OPEN_BOUND, DateRange, DateRangeBound
from cassandra.util.geometry import LineString, Point, Polygon
from cassandra.util.temporal import Date, Duration, MillisTimestamp, Time

D = decimal.Decimal
UUID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
UTC = datetime.timezone.utc
INDIA = datetime.timezone(datetime.timedelta(hours=5, minutes=30))


def without_unit(value: object) -> Any:
    """Return a `numpy.timedelta64` without a unit, without the warning that NumPy 2.5 gives."""
    import numpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return numpy.timedelta64(value)  # type: ignore[call-overload]


# Each tuple is (type, value, hexadecimal encoding). Decoding returns an equal value.
SCALARS: list[tuple[Any, Any, str]] = [
    (t.AsciiType, "", ""),
    (t.AsciiType, "az~\x7f", "617a7e7f"),
    (t.UTF8Type, "", ""),
    (t.UTF8Type, "a\u00e9\u20ac\U0001f600", "61c3a9e282acf09f9880"),
    (t.VarcharType, "x", "78"),
    (t.BytesType, b"", ""),
    (t.BytesType, b"\x00\xff", "00ff"),
    (t.BooleanType, True, "01"),
    (t.BooleanType, False, "00"),
    (t.ByteType, 127, "7f"),
    (t.ByteType, -128, "80"),
    (t.ShortType, 0x1234, "1234"),
    (t.ShortType, -32768, "8000"),
    (t.Int32Type, 1, "00000001"),
    (t.Int32Type, -1, "ffffffff"),
    (t.Int32Type, 2147483647, "7fffffff"),
    (t.Int32Type, -2147483648, "80000000"),
    (t.LongType, 9223372036854775807, "7fffffffffffffff"),
    (t.LongType, -9223372036854775808, "8000000000000000"),
    (t.CounterColumnType, 5, "0000000000000005"),
    (t.FloatType, 1.5, "3fc00000"),
    (t.FloatType, math.inf, "7f800000"),
    (t.FloatType, -math.inf, "ff800000"),
    (t.DoubleType, -2.0, "c000000000000000"),
    (t.DoubleType, 5e-324, "0000000000000001"),
    (t.IntegerType, 0, "00"),
    (t.IntegerType, 127, "7f"),
    (t.IntegerType, 128, "0080"),
    (t.IntegerType, -128, "80"),
    (t.IntegerType, -129, "ff7f"),
    (t.IntegerType, 1 << 63, "008000000000000000"),
    (t.IntegerType, -(1 << 63), "8000000000000000"),
    (t.IntegerType, -(1 << 63) - 1, "ff7fffffffffffffff"),
    (t.DecimalType, D("1.50"), "000000020096"),
    (t.DecimalType, D("-1"), "00000000ff"),
    (t.DecimalType, D("1E+3"), "fffffffd01"),
    (t.DecimalType, D("0.00"), "0000000200"),
    (t.DecimalType, D("1E-2147483647"), "7fffffff01"),
    (t.UUIDType, UUID, "00112233445566778899aabbccddeeff"),
    (t.TimeUUIDType, UUID, "00112233445566778899aabbccddeeff"),
    (t.InetAddressType, "127.0.0.1", "7f000001"),
    (t.InetAddressType, "255.255.255.255", "ffffffff"),
    (t.InetAddressType, "0.10.99.100", "000a6364"),
    (t.InetAddressType, "::1", "00" * 15 + "01"),
    (t.InetAddressType, "2001:db8::ff00:42:8329", "20010db8000000000000ff0000428329"),
    (t.TimestampType, datetime.datetime(1970, 1, 1), "0000000000000000"),
    (t.TimestampType, datetime.datetime(1969, 12, 31, 23, 59, 59, 999000), "ffffffffffffffff"),
    (t.TimestampType, datetime.datetime(2000, 2, 29), "000000dd9aa6e000"),
    (t.TimestampType, datetime.datetime(1, 1, 1), "ffffc77cedd32800"),
    (t.TimestampType, datetime.datetime(9999, 12, 31, 23, 59, 59, 999000), "0000e677d21fdbff"),
    (t.DateType, MillisTimestamp(2**63 - 1), "7fffffffffffffff"),
    (t.DateType, MillisTimestamp(-(2**63)), "8000000000000000"),
    (t.DateType, MillisTimestamp(253402300800000), "0000e677d21fdc00"),
    (t.SimpleDateType, Date(0), "80000000"),
    (t.SimpleDateType, Date(-1), "7fffffff"),
    (t.SimpleDateType, Date(-(2**31)), "00000000"),
    (t.SimpleDateType, Date(2**31 - 1), "ffffffff"),
    (t.TimeType, Time(0), "0000000000000000"),
    (t.TimeType, Time(86_399_999_999_999), "00004e94914effff"),
    (t.DurationType, Duration(0, 0, 0), "000000"),
    (t.DurationType, Duration(1, 2, 3), "020406"),
    (t.DurationType, Duration(-1, -2, -3), "010305"),
    (t.DurationType, Duration(64, 0, 8192), "808000c04000"),
    (
        t.DurationType,
        Duration(2**31 - 1, 2**31 - 1, 2**63 - 1),
        "f0fffffffe" + "f0fffffffe" + "ff" + "fffffffffffffffe",
    ),
    (
        t.DurationType,
        Duration(-(2**31), -(2**31), -(2**63)),
        "f0ffffffff" + "f0ffffffff" + "ff" + "ffffffffffffffff",
    ),
    (t.PointType, Point(1.0, -2.0), "0101000000" + "000000000000f03f" + "00000000000000c0"),
    (
        t.LineStringType,
        LineString([(0.0, 1.0), (2.0, 0.5)]),
        "010200000002000000"
        + "0000000000000000"
        + "000000000000f03f"
        + "0000000000000040"
        + "000000000000e03f",
    ),
    (t.LineStringType, LineString(), "010200000000000000"),
    (t.PolygonType, Polygon(), "010300000000000000"),
    (
        t.PolygonType,
        Polygon([(0.0, 0.0), (1.0, 0.0), (0.0, 0.0)]),
        "010300000001000000" + "03000000" + "00" * 16 + "000000000000f03f" + "00" * 8 + "00" * 16,
    ),
    (
        t.DateRangeType,
        DateRange(value=DateRangeBound(1, "MILLISECOND")),
        "00" + "0000000000000001" + "06",
    ),
    (
        t.DateRangeType,
        DateRange(DateRangeBound(0, "YEAR"), DateRangeBound(255, "MILLISECOND")),
        "01" + "0000000000000000" + "00" + "00000000000000ff" + "06",
    ),
    (
        t.DateRangeType,
        DateRange(DateRangeBound(0, "HOUR"), OPEN_BOUND),
        "02" + "0000000000000000" + "03",
    ),
    (
        t.DateRangeType,
        DateRange(OPEN_BOUND, DateRangeBound(0, "MINUTE")),
        "03" + "000000000000ea5f" + "04",
    ),
    (t.DateRangeType, DateRange(OPEN_BOUND, OPEN_BOUND), "04"),
    (t.DateRangeType, DateRange(value=OPEN_BOUND), "05"),
]


# Each tuple is (type, value, hexadecimal encoding). The value is encoded to these bytes, but
# decoding the bytes returns a value of the usual class.
ALSO_WRITTEN: list[tuple[Any, Any, str]] = [
    (t.BytesType, bytearray(b"ab"), "6162"),
    (t.BytesType, memoryview(b"abcdef")[::2], "616365"),
    (t.BooleanType, 1, "01"),
    (t.BooleanType, -6, "01"),
    (t.BooleanType, 0, "00"),
    (t.Int32Type, True, "00000001"),
    (t.FloatType, 3, "40400000"),
    (t.DoubleType, D("0.5"), "3fe0000000000000"),
    (t.DecimalType, 15, "000000000f"),
    (t.DecimalType, "1.5", "000000010f"),
    (t.DecimalType, 0.5, "0000000105"),
    (t.UUIDType, str(UUID), "00112233445566778899aabbccddeeff"),
    (t.InetAddressType, ipaddress.ip_address("10.0.0.1"), "0a000001"),
    (t.InetAddressType, ipaddress.ip_address("::2"), "00" * 15 + "02"),
    (t.TimestampType, 1, "0000000000000001"),
    (t.TimestampType, datetime.date(1970, 1, 2), "0000000005265c00"),
    (t.TimestampType, Date(1), "0000000005265c00"),
    (t.TimestampType, datetime.datetime(1970, 1, 1, 5, 30, 0, 1999, INDIA), "0000000000000001"),
    (t.TimestampType, datetime.datetime(1970, 1, 1, 0, 0, 0, 1000, UTC), "0000000000000001"),
    (t.TimestampType, datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), "ffffffffffffffff"),
    (t.TimestampType, "1970-01-01 00:00:00.001+0000", "0000000000000001"),
    (t.TimestampType, "1970-01-01T05:30+05:30", "0000000000000000"),
    (t.SimpleDateType, datetime.date(1970, 1, 2), "80000001"),
    (t.SimpleDateType, datetime.datetime(1970, 1, 2, 3), "80000001"),
    (t.SimpleDateType, "1969-12-31", "7fffffff"),
    # An int is the encoded number: the number of days since 1970-01-01, plus 2**31.
    (t.SimpleDateType, 2**31, "80000000"),
    (t.TimeType, datetime.time(0, 0, 1, 2), "000000003b9ad1d0"),
    (t.TimeType, datetime.time(23, 59, 59, 999999, INDIA), "00004e94914efc18"),
    (t.TimeType, "00:00:00.000000001", "0000000000000001"),
    (t.TimeType, 7, "0000000000000007"),
    (t.PointType, "POINT (1 -2)", "0101000000" + "000000000000f03f" + "00000000000000c0"),
    *[
        (scalar, EMPTY, "")
        for scalar in (
            t.Int32Type,
            t.UUIDType,
            t.TimestampType,
            t.UTF8Type,
            t.BytesType,
            t.DecimalType,
        )
    ],
]


INT, TEXT, FLOAT, BIGINT = t.Int32Type, t.UTF8Type, t.FloatType, t.LongType


def list_of(element: Any) -> Any:
    return t.ListType.apply_parameters([element])


def set_of(element: Any) -> Any:
    return t.SetType.apply_parameters([element])


def map_of(key: Any, value: Any) -> Any:
    return t.MapType.apply_parameters([key, value])


def tuple_of(*fields: Any) -> Any:
    return t.TupleType.apply_parameters(fields)


def vector_of(element: Any, dimension: int) -> Any:
    return t.VectorType.apply_parameters((element, dimension))


ADDRESS = t.UserType.make_udt_class("ks", "address", ["street", "zip"], [TEXT, INT])


# Each tuple is (type, value, hexadecimal encoding), as in SCALARS.
CONTAINERS: list[tuple[Any, Any, str]] = [
    (list_of(INT), [], "00000000"),
    (
        list_of(INT),
        [1, None, 2],
        "00000003" + "00000004" + "00000001" + "ffffffff" + "00000004" + "00000002",
    ),
    (list_of(INT), [-1], "00000001" + "00000004" + "ffffffff"),
    (list_of(t.ByteType), [-1, 2], "00000002" + "00000001" + "ff" + "00000001" + "02"),
    (list_of(t.ShortType), [-2], "00000001" + "00000002" + "fffe"),
    (
        list_of(BIGINT),
        [1, -1],
        "00000002" + "00000008" + "0000000000000001" + "00000008" + "ffffffffffffffff",
    ),
    (list_of(FLOAT), [1.5], "00000001" + "00000004" + "3fc00000"),
    (list_of(t.DoubleType), [-2.0], "00000001" + "00000008" + "c000000000000000"),
    (list_of(TEXT), ["", None, "a"], "00000003" + "00000000" + "ffffffff" + "00000001" + "61"),
    (
        list_of(list_of(INT)),
        [[1], []],
        "00000002" + "0000000c" + "00000001" + "00000004" + "00000001" + "00000004" + "00000000",
    ),
    (set_of(INT), {2, 1}, "00000002" + "00000004" + "00000001" + "00000004" + "00000002"),
    (
        map_of(TEXT, INT),
        {"a": 1, "b": None},
        "00000002" + "00000001" + "61" + "00000004" + "00000001" + "00000001" + "62" + "ffffffff",
    ),
    (tuple_of(INT, TEXT), (1, None), "00000004" + "00000001" + "ffffffff"),
    (ADDRESS, ("x", 7), "00000001" + "78" + "00000004" + "00000007"),
    (vector_of(FLOAT, 2), [1.5, -0.0], "3fc00000" + "80000000"),
    (vector_of(t.BooleanType, 2), [True, True], "0101"),
    (vector_of(t.ByteType, 2), [1, 1], "0101" + "0101"),
    (vector_of(t.ShortType, 2), [1, 1], "020001" + "020001"),
    (vector_of(INT, 2), [1, -1], "00000001" + "ffffffff"),
    (vector_of(BIGINT, 1), [1], "0000000000000001"),
    (vector_of(t.DoubleType, 1), [-2.0], "c000000000000000"),
    (vector_of(t.TimestampType, 1), [datetime.datetime(1970, 1, 1)], "0000000000000000"),
    (vector_of(t.UUIDType, 1), [UUID], "00112233445566778899aabbccddeeff"),
    (vector_of(t.SimpleDateType, 1), [Date(0)], "04" + "80000000"),
    (vector_of(t.TimeType, 1), [Time(1)], "08" + "0000000000000001"),
    (vector_of(t.InetAddressType, 2), ["1.2.3.4", "::"], "04" + "01020304" + "10" + "00" * 16),
    (vector_of(TEXT, 2), ["a" * 200, ""], "80c8" + "61" * 200 + "00"),
    (vector_of(t.DurationType, 1), [Duration(1, 2, 3)], "03" + "020406"),
    (vector_of(vector_of(FLOAT, 2), 2), [[1.5, 1.5], [1.5, 1.5]], "3fc00000" * 4),
    (vector_of(list_of(INT), 1), [[1]], "0c" + "00000001" + "00000004" + "00000001"),
    (vector_of(vector_of(TEXT, 1), 2), [["a"], ["b"]], "02" + "0161" + "02" + "0162"),
    (t.FrozenType.apply_parameters([list_of(INT)]), [1], "00000001" + "00000004" + "00000001"),
    (t.ReversedType.apply_parameters([TEXT]), "a", "61"),
    (
        t.CompositeType.apply_parameters([TEXT, INT]),
        ("a", 1),
        "0001" + "61" + "00" + "0004" + "00000001" + "00",
    ),
    (t.CompositeType.apply_parameters([TEXT, INT]), ("a",), "0001" + "61" + "00"),
]
