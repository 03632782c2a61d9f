"""Test which classes of values are encoded for each CQL type, and how.

Enum members are encoded by their values, named tuples and objects as user-defined types. Numbers,
strings, dates and times may be of several classes.
"""

from __future__ import annotations

import collections
import collections.abc
import datetime
import decimal
import enum
import ipaddress
import types
import uuid
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pandas
import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes import EncodeTypeError, EncodeValueError, coerce
from cassandra.cqltypes.codecs.big_numbers import digits_limit
from cassandra.errors import DecodeError
from cassandra.sentinels import EMPTY
from cassandra.util.orderedmap import OrderedMap
from cassandra.util.sortedset import SortedSet
from cassandra.util.temporal import Date, Duration, MillisTimestamp, Time
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import ADDRESS, list_of, map_of, set_of, tuple_of, vector_of

# Each tuple has a type and a value that fits it.
VALUES: list[tuple[Any, Any]] = [
    (t.AsciiType, "x"), (t.UTF8Type, "\u00e9"), (t.BytesType, b"x"), (t.BytesType, bytearray(b"x")),
    (t.BooleanType, True),
    (t.ByteType, -3), (t.ShortType, 3), (t.Int32Type, 7), (t.LongType, 2**60),
    (t.IntegerType, 2**70), (t.FloatType, 1.5), (t.DoubleType, 2),
    (t.DecimalType, decimal.Decimal("1.50")), (t.UUIDType, uuid.UUID(int=5)),
    (t.TimeUUIDType, str(uuid.UUID(int=5))),
    (t.InetAddressType, "127.0.0.1"), (t.InetAddressType, ipaddress.ip_address("::1")),
    (t.TimestampType, datetime.datetime(2026, 1, 2)),
    (t.TimestampType, 5), (t.SimpleDateType, Date(5)),
    (t.SimpleDateType, datetime.date(2026, 1, 2)), (t.TimeType, Time(5)),
    (t.DurationType, Duration(1, 2, 3)), (list_of(t.Int32Type), (1, 2)),
    (tuple_of(t.Int32Type, t.UTF8Type), (1, "x")), (ADDRESS, ("x", 1)),
    (map_of(t.UTF8Type, t.Int32Type), {"a": 1}), (vector_of(t.FloatType, 2), (1.0, 2.0)),
]  # fmt: skip


@pytest.mark.parametrize(("cqltype", "value"), VALUES, ids=str)
def test_enum_members_are_encoded_by_their_values(
    implementation: Implementation, cqltype: Any, value: Any
) -> None:
    """An enum member is encoded as its value, also as an element of a container."""
    member = enum.Enum("EnumOfOne", {"ONE": value}).ONE  # type: ignore[attr-defined]
    codec = cqltype.build_codec(implementation.codecs)
    assert codec.encode(member) == codec.encode(value)
    for container_type in (
        list_of(cqltype),
        set_of(cqltype),
        vector_of(cqltype, 2),
        tuple_of(cqltype, cqltype),
    ):
        codec = container_type.build_codec(implementation.codecs)
        assert codec.encode([member, value]) == codec.encode([value, value])
    codec = map_of(t.Int32Type, cqltype).build_codec(implementation.codecs)
    assert codec.encode({1: member, 2: value}) == codec.encode({1: value, 2: value})


@pytest.mark.parametrize(
    ("value", "expected"), [(5, b"\1"), (-1, b"\1"), (0, b"\0"), (2**70, b"\1")]
)
def test_integers_are_encoded_as_booleans_by_their_truth(
    implementation: Implementation, value: int, expected: bytes
) -> None:
    """As a boolean, the integer 0 is encoded as false, and any other integer as true."""
    codec = t.BooleanType.build_codec(implementation.codecs)
    assert codec.encode(value) == expected
    if value < 2**31:
        assert codec.encode(numpy.int32(value)) == expected


@pytest.mark.parametrize(
    "value",
    [numpy.array([1]), numpy.ma.masked_array(1, mask=True), 1.0, "1", [], b"\1"],
    ids=repr,
)
def test_other_values_are_refused_as_booleans(implementation: Implementation, value: Any) -> None:
    """Arrays, masked values, floats, strings, lists and bytes are refused as booleans."""
    with pytest.raises(t.EncodeTypeError, match="is not a boolean"):
        t.BooleanType.build_codec(implementation.codecs).encode(value)


class Level(enum.IntEnum):
    LOW = 1


class Zone(str, enum.Enum):
    NORTH = "n"


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Mixed(enum.Enum):
    """An enum whose members have values of several types."""

    WORD = "word"
    BIG = 300
    NOTHING = None
    BLANK = EMPTY


def test_members_of_enums_of_several_classes_are_encoded(implementation: Implementation) -> None:
    """Members of IntEnum, of str enums and of Flag are encoded as their integer or string.

    A member with the value EMPTY is encoded as zero bytes.
    """

    def encode(cqltype: Any, value: Any) -> Any:
        return cqltype.build_codec(implementation.codecs).encode(value)

    assert encode(t.Int32Type, Level.LOW) == b"\x00\x00\x00\x01"
    assert encode(t.DoubleType, Level.LOW) == encode(t.DoubleType, 1.0)
    assert encode(t.UTF8Type, Zone.NORTH) == b"n"
    assert encode(t.ByteType, Rights.READ | Rights.WRITE) == b"\x03"
    map_type = map_of(t.UTF8Type, t.ByteType)
    assert encode(map_type, {Zone.NORTH: Level.LOW}) == encode(map_type, {"n": 1})
    assert encode(t.Int32Type, Mixed.BLANK) == b""


@pytest.mark.parametrize(
    ("cqltype", "member", "error", "message"),
    [
        (
            t.Int32Type,
            Mixed.WORD,
            TypeError,
            r"^<Mixed.WORD: 'word'>: 'word' \(str\) is not an integer$",
        ),
        (
            t.ByteType,
            Mixed.BIG,
            ValueError,
            r"^<Mixed.BIG: 300>: 300 \(int\) is out of the range of tinyint",
        ),
        (t.UTF8Type, Mixed.BIG, TypeError, r"^<Mixed.BIG: 300>: 300 \(int\) is not text"),
        (t.UTF8Type, Level.LOW, TypeError, r"^<Level.LOW: 1>: 1 \(int\) is not text"),
        (
            t.UTF8Type,
            Mixed.NOTHING,
            TypeError,
            r"^<Mixed.NOTHING: None>: None \(NoneType\) is not text",
        ),
        (
            t.UUIDType,
            Mixed.WORD,
            ValueError,
            r"^<Mixed.WORD: 'word'>: 'word' \(str\) is not a UUID",
        ),
        (
            list_of(t.Int32Type),
            Mixed.BIG,
            TypeError,
            r"^<Mixed.BIG: 300>: 300 \(int\) is not a collection of elements",
        ),
        (
            list_of(t.Int32Type),
            [1, Mixed.WORD],
            TypeError,
            r"^element 1 of list<int>: <Mixed.WORD: 'word'>: 'word'",
        ),
        (
            map_of(t.Int32Type, t.Int32Type),
            Mixed.BIG,
            TypeError,
            r"^<Mixed.BIG: 300>: 300 \(int\) is not a mapping",
        ),
        (
            ADDRESS,
            Mixed.BIG,
            TypeError,
            r"^<Mixed.BIG: 300>: 300 \(int\) is not a value of ks.address",
        ),
    ],
)
def test_errors_of_enum_members_name_member_and_value(
    implementation: Implementation, cqltype: Any, member: Any, error: type[Exception], message: str
) -> None:
    """The error for an enum member whose value does not fit names the member and the value."""
    with pytest.raises(error, match=message):
        cqltype.build_codec(implementation.codecs).encode(member)


def named_tuple(names: str, *values: Any) -> Any:
    """Return a named tuple of a new class.

    :param names: the names of the fields, separated by spaces.
    :param values: the values of the fields.
    """
    address_class: Any = collections.namedtuple("Address", names)  # type: ignore[misc]
    return address_class(*values)


def test_named_tuples_are_encoded_by_field_name(implementation: Implementation) -> None:
    """A named tuple is encoded as a user-defined type by the names of its fields.

    The order of the fields does not matter, and missing fields are null. If the type has no field
    with any of the names, the values are encoded by position.
    """
    codec = ADDRESS.build_codec(implementation.codecs)
    expected = codec.encode(("x", 7))
    assert codec.encode(named_tuple("street zip", "x", 7)) == expected
    assert codec.encode(named_tuple("zip street", 7, "x")) == expected
    assert codec.encode(named_tuple("zip", 7)) == codec.encode((None, 7))
    assert codec.encode(named_tuple("road code", "x", 7)) == expected
    assert codec.encode(codec.decode(expected)) == expected
    with pytest.raises(TypeError, match=r'^field "street" of ks.address: 7 \(int\) is not text'):
        codec.encode(named_tuple("zip street", "x", 7))
    nested = list_of(ADDRESS).build_codec(implementation.codecs)
    assert nested.encode([named_tuple("zip street", 7, "x")]) == nested.encode([("x", 7)])


def test_objects_are_encoded_by_alias(implementation: Implementation) -> None:
    """If an attribute of an attrs or pydantic object has an alias, this is the field's name."""
    attrs, pydantic = pytest.importorskip("attrs"), pytest.importorskip("pydantic")
    codec = ADDRESS.build_codec(implementation.codecs)
    expected = codec.encode(("x", 7))
    model_class = pydantic.create_model(
        "Model", street=(str, ...), code=(int, pydantic.Field(alias="zip"))
    )
    assert codec.encode(model_class(street="x", zip=7)) == expected
    # The attrs alias of the attribute `_zip` has no underscore.
    attrs_class = attrs.make_class("AttrsClass", ["street", "_zip"])
    assert codec.encode(attrs_class("x", 7)) == expected


def test_an_address_with_a_zone_is_refused(implementation: Implementation) -> None:
    """An IPv6 address with a zone ("%eth0") is refused, because inet cannot store zones."""
    codec = t.InetAddressType.build_codec(implementation.codecs)
    for parse in (ipaddress.ip_address, ipaddress.ip_interface):
        with pytest.raises(EncodeValueError, match=r"%eth0.* has a zone .*inet has no place for"):
            codec.encode(parse("fe80::1%eth0"))
    with pytest.raises(EncodeValueError, match="is not an IPv4 or IPv6 address"):
        codec.encode("fe80::1%eth0")


@pytest.mark.parametrize("value", [1_764_000_000, 1_764_000_000.5])
def test_seconds_instead_of_milliseconds_warn(implementation: Implementation, value: float) -> None:
    """A timestamp in seconds gives a warning at the caller's line, but the number is encoded."""
    timestamp = t.TimestampType.build_codec(implementation.codecs)
    with pytest.warns(RuntimeWarning, match="multiply them by 1000") as warned:
        assert timestamp.encode(value) == int(value).to_bytes(8, "big")
    assert warned[0].filename == __file__


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (
            1_764_000_000_123_456,
            "if these are microseconds, divide them by 1000, or pass a datetime",
        ),
        (1_764_000_000_123_456_789, "if these are nanoseconds, divide them by 1000000, or pass"),
    ],
)
def test_microseconds_and_nanoseconds_warn(
    implementation: Implementation, value: int, advice: str
) -> None:
    """A timestamp that looks like micro- or nanoseconds gives a warning that says what to do.

    CQL timestamps are milliseconds.
    """
    timestamp = t.TimestampType.build_codec(implementation.codecs)
    with pytest.warns(RuntimeWarning, match=f"^about 176\\d* milliseconds .*{advice}") as warned:
        assert timestamp.encode(value) == value.to_bytes(8, "big")
    assert warned[0].filename == __file__


def test_a_column_of_seconds_warns_as_often_as_one_value(implementation: Implementation) -> None:
    """A thousand timestamps in seconds give equal warnings, which Python shows only once."""
    timestamp = t.TimestampType.build_codec(implementation.codecs)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for second in range(1_764_000_000, 1_764_001_000):
            timestamp.encode(second)
    assert len({str(warning.message) for warning in warned}) == 1


@pytest.mark.filterwarnings("error")
def test_a_millis_timestamp_does_not_warn(implementation: Implementation) -> None:
    """A MillisTimestamp gives no warning, because the class says that the unit is milliseconds."""
    timestamp = t.TimestampType.build_codec(implementation.codecs)
    assert timestamp.encode(MillisTimestamp(1_764_000_000)) == (1_764_000_000).to_bytes(8, "big")


@pytest.mark.parametrize(
    "value", [0, -1_764_000_000, 86_400_000, 1_764_000_000_000, 253_402_300_799_999, 2**62]
)
@pytest.mark.filterwarnings("error")
def test_plausible_milliseconds_do_not_warn(implementation: Implementation, value: int) -> None:
    """Numbers that are plausible milliseconds give no warning."""
    codec = t.TimestampType.build_codec(implementation.codecs)
    assert codec.encode(value) == value.to_bytes(8, "big", signed=True)


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (20_260_115, r"write datetime\.date\(2026, 1, 15\)"),
        (20_468, r"write cassandra\.util\.Date\(20468\) for days since 1970"),
    ],
)
def test_numbers_that_look_like_dates_are_warned_of(number: int, advice: str) -> None:
    """An int for a date gives a warning if it is probably meant in another way.

    It may have the digits of a date (20260115), or count the days since 1970. An int for a date
    counts the days from 2**31 days before 1970.
    """
    with pytest.warns(RuntimeWarning, match=advice):
        assert coerce.date_number(number) == number


@pytest.mark.parametrize("number", [0, 20_261_315, 20_260_132, 2**31, 2**31 + 20_468])
@pytest.mark.filterwarnings("error")
def test_other_numbers_do_not_warn(number: int) -> None:
    """Other numbers for a date give no warning: days plus 2**31, and digits that are no date."""
    assert coerce.date_number(number) == number


def names_of(cases: list[tuple[Any, Any, Any]]) -> list[str]:
    """Return the names of parametrized cases whose first items are functions.

    By default, some names would contain a memory address. But the names must be the same in each
    process.
    """
    return [f"{convert.__name__}-{number}" for number, (convert, *_) in enumerate(cases)]


# -- each function by itself -----------------------------------------------------------------------

# Each tuple has a function, a value, and what the function returns for the value.
CONVERSIONS: list[tuple[Any, Any, Any]] = [
    (coerce.uuid_bytes, "00000000-0000-0000-0000-00000000000a", bytes(15) + b"\n"),
    (coerce.uuid_bytes, uuid.UUID(int=10), bytes(15) + b"\n"),
    (coerce.inet_bytes, "10.1.2.3", b"\n\1\2\3"),
    (coerce.inet_bytes, "::1", bytes(15) + b"\1"),
    (coerce.inet_bytes, ipaddress.ip_address("10.1.2.3"), b"\n\1\2\3"),
    (coerce.inet_text, b"\n\1\2\3", "10.1.2.3"),
    (coerce.inet_text, bytes(15) + b"\1", "::1"),
    (coerce.timestamp_millis, datetime.datetime(1970, 1, 2), 86_400_000),
    (coerce.timestamp_millis, datetime.date(1970, 1, 2), 86_400_000),
    (coerce.timestamp_millis, Date(-1), -86_400_000),
    (coerce.timestamp_millis, 1.9, 1),
    (coerce.timestamp_millis, -(2**63), -(2**63)),
    (coerce.timestamp_millis, 2**63 - 1, 2**63 - 1),
    (coerce.timestamp_millis, "1970-01-02", 86_400_000),
    (coerce.timestamp_millis, " 1970-1-1 00:01 ", 60_000),
    (coerce.timestamp_millis, "1970-01-01T01:02:03", 3_723_000),
    (coerce.timestamp_millis, "1970-01-01 00:00:00.1239", 123),
    (coerce.timestamp_millis, "1970-01-01 00:00:00.5Z", 500),
    (coerce.timestamp_millis, "1970-01-01 02:00+02", 0),
    (coerce.timestamp_millis, "1970-01-01 02:30 +0230", 0),
    (coerce.timestamp_millis, "1969-12-31 22:30-01:30", 0),
    (coerce.date_number, Date(0), 2**31),
    (coerce.date_number, datetime.date(1970, 1, 2), 2**31 + 1),
    (coerce.date_number, datetime.datetime(1969, 12, 31, 5), 2**31 - 1),
    (coerce.date_number, "1970-01-02", 2**31 + 1),
    (coerce.date_number, 2**32 - 1, 2**32 - 1),
    (coerce.time_nanos, Time(5), 5),
    (coerce.time_nanos, datetime.time(0, 0, 1), 1_000_000_000),
    (coerce.time_nanos, "00:00:00.000000007", 7),
    (coerce.time_nanos, 0, 0),
    (coerce.time_nanos, Time.DAY - 1, Time.DAY - 1),
    (coerce.duration_parts, Duration(1, 2, 3), (1, 2, 3)),
    (coerce.duration_parts, Duration(-1, 0, -3), (-1, 0, -3)),
    (coerce.duration_parts, Duration(2**31 - 1, 2**31 - 1, 2**63 - 1), (2**31 - 1,) * 2 + (2**63 - 1,)),  # noqa: E501
    (coerce.duration_parts, Duration(-(2**31), -(2**31), -(2**63)), (-(2**31),) * 2 + (-(2**63),)),
    (coerce.varint_bytes, 0, b"\0"),
    (coerce.varint_bytes, 127, b"\x7f"),
    (coerce.varint_bytes, 128, b"\0\x80"),
    (coerce.varint_bytes, -128, b"\x80"),
    (coerce.varint_bytes, -129, b"\xff\x7f"),
    (coerce.decimal_parts, decimal.Decimal("-1.50"), (-150, 2)),
    (coerce.decimal_parts, decimal.Decimal("12e3"), (12, -3)),
    (coerce.decimal_parts, 7, (7, 0)),
    (coerce.decimal_parts, 0.5, (5, 1)),
    (coerce.decimal_parts, "1.25", (125, 2)),
    (coerce.decimal_parts, (1, (1, 5), -1), (-15, 1)),
    (coerce.blob_bytes, b"a", b"a"),
    (coerce.blob_bytes, bytearray(b"a"), b"a"),
    (coerce.blob_bytes, numpy.array([1, 2], "u1"), b"\1\2"),
    (coerce.boolean, numpy.bool_(True), True),
    (coerce.boolean, False, False),
]  # fmt: skip


@pytest.mark.parametrize(("convert", "value", "expected"), CONVERSIONS, ids=names_of(CONVERSIONS))
def test_values_are_converted(convert: Any, value: Any, expected: Any) -> None:
    """Each function converts the value to the expected result."""
    assert convert(value) == expected


# Each tuple has a function, a value of a class that the function accepts, and the error for the
# value.
OUT_OF_RANGE: list[tuple[Any, Any, str]] = [
    (coerce.uuid_bytes, "0000", "is not a UUID"),
    (coerce.inet_bytes, "10.0.0", "is not an IPv4 or IPv6 address"),
    (coerce.inet_bytes, ipaddress.ip_interface("10.0.0.1/8"), r"has a prefix \(/8\), .*: write v"),
    (coerce.timestamp_millis, 2**63, "is out of the range of timestamp"),
    (coerce.timestamp_millis, -(2**63) - 1, "is out of the range of timestamp"),
    (coerce.timestamp_millis, float("nan"), "is not a number of milliseconds"),
    (coerce.timestamp_millis, "1970", "is not a timestamp of the form"),
    (coerce.timestamp_millis, "1970-13-01", "is not a timestamp: month"),
    (coerce.date_number, -1, "is out of the range of date"),
    (coerce.date_number, 2**32, "is out of the range of date"),
    (coerce.date_number, "1970-13-01", "is not a date"),
    (coerce.time_nanos, -1, "is out of the range of time"),
    (coerce.time_nanos, Time.DAY, "is out of the range of time"),
    (coerce.time_nanos, "25:00:00", "is not a time"),
    (coerce.duration_parts, Duration(2**31, 0, 0), "months or days out of the range"),
    (coerce.duration_parts, Duration(-(2**31) - 1, 0, 0), "months or days out of the range"),
    (coerce.duration_parts, Duration(0, 2**31, 0), "months or days out of the range"),
    (coerce.duration_parts, Duration(0, 0, 2**63), "nanoseconds out of the range"),
    (coerce.duration_parts, Duration(0, 0, -(2**63) - 1), "nanoseconds out of the range"),
    (coerce.duration_parts, Duration(1, -1, 0), "mixes positive and negative parts"),
    (coerce.duration_parts, Duration(0, 1, -1), "mixes positive and negative parts"),
    (coerce.decimal_parts, "ten", "is not a decimal number"),
    (coerce.decimal_parts, decimal.Decimal("inf"), "it is not finite"),
    (coerce.decimal_parts, decimal.Decimal((0, (1,), 2**31 + 1)), "out of the range of 32 bits"),
]


@pytest.mark.parametrize(("convert", "value", "message"), OUT_OF_RANGE, ids=names_of(OUT_OF_RANGE))
def test_values_out_of_range_are_refused(convert: Any, value: Any, message: str) -> None:
    """A value of the right class that is out of range raises EncodeValueError."""
    with pytest.raises(EncodeValueError, match=message):
        convert(value)


# Each tuple has a function, a value of a class that the function refuses, and the error.
OTHER_CLASSES: list[tuple[Any, Any, str]] = [
    (coerce.uuid_bytes, 5, "is not a UUID"),
    (coerce.inet_bytes, 5, "is not an IP address"),
    (coerce.timestamp_millis, b"x", "is not a datetime, a date or a number of milliseconds"),
    (coerce.timestamp_millis, True, "True .bool. is not a datetime, a date or a number of milli"),
    (coerce.date_number, 1.5, "is not a date"),
    (coerce.time_nanos, 1.5, "is not a time of day"),
    (coerce.duration_parts, (1, 2, 3), r"is not a cassandra\.util\.Duration"),
    (coerce.varint_bytes, 1.5, "is not an integer"),
    (coerce.decimal_parts, b"1", "is not a decimal"),
    (coerce.blob_bytes, "a", "is not bytes or another buffer"),
    (coerce.blob_bytes, numpy.zeros((2, 2), "u1"), "it has 2 dimensions"),
    (coerce.blob_bytes, numpy.array([object()]), "references to objects"),
]


@pytest.mark.parametrize(
    ("convert", "value", "message"), OTHER_CLASSES, ids=names_of(OTHER_CLASSES)
)
def test_values_of_other_classes_are_refused(convert: Any, value: Any, message: str) -> None:
    """A value of another class raises EncodeTypeError."""
    with pytest.raises(EncodeTypeError, match=message):
        convert(value)


def test_an_interface_whose_network_is_its_address_is_an_address() -> None:
    """An IP interface whose network consists of its own address only is encoded as the address."""
    for text in ("10.0.0.1", "::1"):
        address = ipaddress.ip_address(text)
        assert coerce.inet_bytes(ipaddress.ip_interface(text)) == address.packed


COMPLEX_NUMBERS = [
    numpy.complex64(1 + 2j),
    numpy.complex128(1),
    numpy.array(2j),
    numpy.array([1, 2j]),
    1j,
]


@pytest.mark.parametrize("value", COMPLEX_NUMBERS, ids=repr)
def test_complex_numbers_are_refused(implementation: Implementation, value: Any) -> None:
    """Complex numbers are refused as floats.

    The driver checks this itself, because NumPy only warns that the imaginary part is lost.
    """
    # An array is bound only to containers; a single number is also bound to scalar types.
    is_array = getattr(value, "ndim", 0) == 1
    types = [t.FloatType, t.DoubleType] if not is_array else []
    items = value if is_array else [value, value]
    for cqltype, bound in (
        *((cqltype, value) for cqltype in types),
        *((container(t.DoubleType), items) for container in (list_of, set_of)),
        (vector_of(t.FloatType, 2), items),
    ):
        with pytest.raises(EncodeTypeError, match=r"is not a (real )?number"):
            cqltype.build_codec(implementation.codecs).encode(bound)


@pytest.mark.parametrize("value", [decimal.Decimal("-1e400"), numpy.longdouble("1e400")])
@pytest.mark.parametrize("cql_type", [t.DoubleType, t.FloatType])
def test_numbers_that_are_too_large_for_a_float_do_not_become_infinite(
    implementation: Implementation, cql_type: type[t.CassandraType], value: Any
) -> None:
    """A finite number beyond the range of a float is refused, but infinity is accepted.

    Python's float() converts such a number to infinity, and so does `struct` for whole lists.
    """
    infinity = type(value)("inf")
    for container_type, items, infinite_items in (
        (cql_type, value, infinity),
        (list_of(cql_type), [value, 1.0], [infinity, 1.0]),
        (set_of(cql_type), [1.0, value], [1.0, infinity]),
        (vector_of(cql_type, 2), (1.0, value), (1.0, infinity)),
        (list_of(vector_of(cql_type, 1)), [[value]], [[infinity]]),
        (map_of(t.Int32Type, cql_type), {1: value}, {1: infinity}),
        (map_of(cql_type, t.Int32Type), {value: 1}, {infinity: 1}),
        (tuple_of(cql_type), (value,), (infinity,)),
    ):
        codec = container_type.build_codec(implementation.codecs)
        with pytest.raises(EncodeValueError, match="is out of the range of"):
            codec.encode(items)
        assert codec.decode(codec.encode(infinite_items)) is not None


@pytest.mark.parametrize(
    "value",
    [numpy.timedelta64(5, "s"), numpy.timedelta64(1, "M"), numpy.complex64(2), 1j],
    ids=repr,
)
def test_numbers_that_would_lose_a_part_are_refused_in_containers(
    implementation: Implementation, value: Any
) -> None:
    """A unit or an imaginary part is not dropped, also if the element follows usual numbers."""
    for container_type, items in (
        (list_of(t.DoubleType), [1.0, 2, value]),
        (vector_of(t.FloatType, 2), (1, value)),
        (map_of(t.Int32Type, t.FloatType), {1: 1.0, 2: value}),
        (map_of(t.DoubleType, t.Int32Type), {value: 1}),
    ):
        with pytest.raises(EncodeTypeError, match=r"is not a (real )?number"):
            container_type.build_codec(implementation.codecs).encode(items)


def test_numbers_of_numpy_are_elements_of_floats(implementation: Implementation) -> None:
    """NumPy's numbers are encoded like Python's, and so are Python's own integers and booleans."""
    numbers = [numpy.float32(0.5), numpy.float64(1.5), numpy.int8(-3), numpy.uint64(7), True, 9]
    plain = [0.5, 1.5, -3.0, 7.0, 1.0, 9.0]
    for container_type in (list_of(t.DoubleType), vector_of(t.FloatType, 6)):
        codec = container_type.build_codec(implementation.codecs)
        assert codec.encode(numbers) == codec.encode(plain)
    codec = map_of(t.Int32Type, t.FloatType).build_codec(implementation.codecs)
    assert codec.encode(dict(enumerate(numbers))) == codec.encode(dict(enumerate(plain)))


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (numpy.str_("abc"), r"write value\.encode\(\)"),
        (numpy.float64(1.5), r"write value\.tobytes\(\)"),
        (numpy.uint8(7), r"write value\.tobytes\(\)"),
        (numpy.array(5.0), r"write value\.tobytes\(\)"),
    ],
)
def test_single_values_of_numpy_are_no_blobs(
    implementation: Implementation, value: Any, advice: str
) -> None:
    """Single NumPy values are refused as blobs, except for the types bytes and void.

    The buffer of any other value is the value's memory. For a string, the memory has four bytes for
    each character.
    """
    codec = t.BytesType.build_codec(implementation.codecs)
    with pytest.raises(EncodeTypeError, match=advice):
        codec.encode(value)
    assert codec.encode(numpy.bytes_(b"ab")) == b"ab"
    assert codec.encode(numpy.void(b"ab")) == b"ab"


def test_a_set_in_the_place_of_a_vector_is_refused(implementation: Implementation) -> None:
    """A set is refused as a vector of several elements.

    The numbers would be stored in the order of their hashes.
    """
    codec = vector_of(t.FloatType, 2).build_codec(implementation.codecs)
    for value in ({0.5, 0.25}, frozenset({1.0, 2.0})):
        with pytest.raises(EncodeTypeError, match=r"not a sequence of elements .* has no order"):
            codec.encode(value)
    # A vector of one element accepts a set, because a single element has only one order. A list
    # accepts any set.
    single = vector_of(t.FloatType, 1).build_codec(implementation.codecs)
    assert single.encode({0.5}) == b"\x3f\0\0\0"
    assert list_of(t.Int32Type).build_codec(implementation.codecs).encode({1, 2})


class Labels(collections.abc.Set[str]):
    """A set of a library, in no order."""

    def __init__(self, *labels: str) -> None:
        self.labels = frozenset(labels)

    def __contains__(self, label: object) -> bool:
        return label in self.labels

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.labels)


class Ordered(Labels):
    """A set of a library that has an order."""

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.labels))

    def __reversed__(self) -> Iterator[str]:
        return iter(sorted(self.labels, reverse=True))


def test_a_set_in_the_place_of_a_tuple_is_refused(implementation: Implementation) -> None:
    """A set is refused as a tuple of several items: braces may be a typing error for parentheses.

    The items would be stored in the order of their hashes, which differs between processes.
    """
    pair = tuple_of(t.UTF8Type, t.UTF8Type)
    codec = pair.build_codec(implementation.codecs)
    composite = t.CompositeType.apply_parameters([t.UTF8Type, t.UTF8Type])
    for value in ({"a", "b"}, frozenset({"a", "b"}), Labels("a", "b")):
        for encode in (codec.encode, composite.build_codec(implementation.codecs).encode):
            with pytest.raises(EncodeTypeError, match=r"it has no order: write a tuple, as in \("):
                encode(value)
        with pytest.raises(EncodeTypeError, match=r"element 0 of .*it has no order"):
            list_of(pair).build_codec(implementation.codecs).encode([value])
    # These collections are accepted, because they have an order or a single item.
    expected = codec.encode(("a", "b"))
    for ordered in (Ordered("b", "a"), SortedSet(["b", "a"]), {"a": 1, "b": 2}.keys()):
        assert codec.encode(ordered) == expected
    assert codec.encode({"a"}) == codec.encode(("a",))


def test_a_mapping_in_the_place_of_a_tuple_or_vector_is_refused(
    implementation: Implementation,
) -> None:
    """A mapping is refused as a tuple or a vector, because only its keys would be stored."""
    codecs = [
        tuple_of(t.UTF8Type, t.UTF8Type).build_codec(implementation.codecs),
        vector_of(t.UTF8Type, 2).build_codec(implementation.codecs),
    ]
    pairs = {"a": 1, "b": 2}
    for mapping in (pairs, types.MappingProxyType(pairs), OrderedMap(pairs)):
        for codec in codecs:
            with pytest.raises(EncodeTypeError, match=r"is not a (sequence|collection)"):
                codec.encode(mapping)


def test_moments_of_numpy_are_no_collections(implementation: Implementation) -> None:
    """A single moment or interval of NumPy is refused as a collection.

    Its buffer is the memory of its number. A `numpy.void` has a buffer, too, but no elements.
    """
    values = (
        numpy.datetime64("2020-01-02T03:04:05.678"),
        numpy.timedelta64(5, "s"),
        numpy.void(b"abcd"),
        numpy.array("2020-01-02", dtype="M8[D]"),
    )
    for cql_type in (
        *map(list_of, (t.TimestampType, t.LongType, t.FloatType, t.IntegerType, t.BytesType)),
        *map(set_of, (t.ByteType, t.SimpleDateType)),
        *(vector_of(element, 8) for element in (t.ByteType, t.FloatType, t.IntegerType)),
        tuple_of(*[t.Int32Type] * 8),
    ):
        codec = cql_type.build_codec(implementation.codecs)
        for value in values:
            with pytest.raises(EncodeTypeError, match=r"is not a collection of elements"):
                codec.encode(value)
    # Arrays of bytes are numbers, and a record has a value for each of its fields.
    numbers = list_of(t.Int32Type).build_codec(implementation.codecs)
    for array in (bytearray(b"\1\2"), memoryview(b"\1\2"), numpy.array([1, 2], "u1")):
        assert numbers.encode(array) == numbers.encode([1, 2])
    record = numpy.array([(1, 2)], dtype=[("a", "i4"), ("b", "i4")])[0]
    assert numbers.encode(record) == numbers.encode([1, 2])


def test_frames_are_no_collections(implementation: Implementation) -> None:
    """A data frame is refused as a collection: the names of its columns would be stored."""
    frame = pandas.DataFrame({"name": ["ann", "bob"], "other": ["x", "y"]})
    for cql_type in (
        list_of(t.UTF8Type),
        set_of(t.UTF8Type),
        tuple_of(t.UTF8Type, t.UTF8Type),
        vector_of(t.UTF8Type, 2),
    ):
        codec = cql_type.build_codec(implementation.codecs)
        with pytest.raises(EncodeTypeError, match=r"write a column of it, such as frame\["):
            codec.encode(frame)
        assert codec.encode(frame["name"]) == codec.encode(["ann", "bob"])
    with pytest.raises(EncodeTypeError, match="DataFrame"):
        list_of(t.Int32Type).build_codec(implementation.codecs).encode(
            pandas.Series([1]).to_frame()
        )


def test_a_map_of_pyarrow_is_refused(implementation: Implementation) -> None:
    """The error for a scalar of pyarrow names the value and says how to convert it."""
    pyarrow = pytest.importorskip("pyarrow")
    codec = map_of(t.UTF8Type, t.Int32Type).build_codec(implementation.codecs)
    map_type = pyarrow.map_(pyarrow.string(), pyarrow.int32())
    for scalar in (pyarrow.scalar([("a", 1)], map_type), pyarrow.scalar({"a": 1})):
        with pytest.raises(EncodeTypeError, match=r"write dict\(value\.as_py\(\)\)"):
            codec.encode(scalar)
        assert codec.encode(dict(scalar.as_py())) == codec.encode({"a": 1})


def test_addresses_of_other_sizes_are_invalid() -> None:
    """`inet_text` refuses an address of 5 bytes."""
    with pytest.raises(DecodeError, match="takes 4 or 16 bytes, got 5"):
        coerce.inet_text(bytes(5))


def test_a_decimal_may_have_as_many_digits_as_the_limit_allows() -> None:
    """A decimal may have as many digits as the limit allows, and not one more."""
    limit = digits_limit()
    largest = decimal.Decimal("9" * limit)
    unscaled, scale = coerce.decimal_parts(largest)
    assert unscaled == 10**limit - 1
    assert scale == 0
    with pytest.raises(EncodeValueError, match=f"a decimal of {limit + 1} digits"):
        coerce.decimal_parts(decimal.Decimal("9" * (limit + 1)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [((1,), (1,)), ([1, 2], (1, 2)), ((1, 2, 3), (1, 2, 3)), ((), (None,) * 3)],
)
def test_a_tuple_may_have_fewer_items(value: Any, expected: tuple[Any, ...]) -> None:
    """`tuple_items` accepts a tuple or list with fewer items than its type."""
    assert tuple(coerce.tuple_items(value, "a tuple", 3)) == expected


def test_a_tuple_with_too_many_items_is_refused() -> None:
    """`tuple_items` refuses a tuple with more items than its type."""
    with pytest.raises(EncodeValueError, match="has 4 items, a tuple takes 3"):
        coerce.tuple_items((1, 2, 3, 4), "a tuple", 3)


class ObjectWithStreet:
    street = "x"


class ZipMapping:
    """A mapping that is not a dict, and has only the key "zip"."""

    def keys(self) -> list[str]:
        return ["zip"]

    def __getitem__(self, key: str) -> int:
        return 7


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (("x", 7), ("x", 7)),
        (["x"], ("x", None)),
        ((), (None, None)),
        ({"zip": 7}, (None, 7)),
        ({}, (None, None)),
        (ZipMapping(), (None, 7)),
        (ObjectWithStreet(), ("x", None)),
        (named_tuple("zip", 7), (None, 7)),
        (named_tuple("zip street", 7, "x"), ("x", 7)),
        (named_tuple("a b", "x", 7), ("x", 7)),
    ],
)
def test_the_fields_of_a_udt_value_are_found_by_name_or_position(
    value: Any, expected: tuple[Any, ...]
) -> None:
    """Fields that are missing in a value of a user-defined type are None.

    :param expected: the expected values of the fields street and zip.
    """
    assert tuple(coerce.udt_items(value, "ks.address", ("street", "zip"))) == expected


class Repeating(list[Any]):
    """A list that yields its first element a number of times, whatever its length is."""

    def __init__(self, value: object, times: int) -> None:
        super().__init__([value])
        self.times = times

    def __iter__(self) -> Iterator[Any]:
        return iter([self[0]] * self.times)


@pytest.mark.parametrize("times", range(5))
def test_a_list_that_yields_more_than_its_length_is_counted_by_what_it_yields(
    implementation: Implementation, times: int
) -> None:
    """A user-defined type has as many fields as its type, also if the length of a list is wrong."""
    cql_type = t.UserType.make_udt_class("ks", "triple", ("a", "b", "c"), (t.Int32Type,) * 3)
    codec = cql_type.build_codec(implementation.codecs)
    value = Repeating(7, times)
    if times > 3:
        with pytest.raises(EncodeValueError, match=r"has 4 fields, ks.triple takes 3 \(a, b, c\)"):
            codec.encode(value)
    else:
        assert codec.encode(value) == codec.encode((7,) * times + (None,) * (3 - times))


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (("x", 7, 8), EncodeValueError, r"has 3 fields, ks.address takes 2 \(street, zip\)"),
        ({"town": "x"}, EncodeValueError, "the key 'town', which is not a field of ks.address"),
        ("x", EncodeTypeError, "is not a value of ks.address"),
        (object(), EncodeTypeError, "is not a value of ks.address"),
        (pandas.NaT, EncodeTypeError, "it stands for null"),
    ],
)
def test_values_that_are_no_udt_are_refused(
    value: Any, error: type[Exception], message: str
) -> None:
    """`udt_items` refuses values that are not values of the user-defined type."""
    with pytest.raises(error, match=message):
        coerce.udt_items(value, "ks.address", ("street", "zip"))


def test_elements_are_copied_unless_they_cannot_change() -> None:
    """`elements` copies a list, which could change while it is encoded, but not a tuple."""
    items, constant_items = [1, 2], (1, 2)
    assert coerce.elements(items, "a list") == items
    assert coerce.elements(items, "a list") is not items
    assert coerce.elements(constant_items, "a list") is constant_items
    assert coerce.elements(iter(constant_items), "a list") == items
    assert coerce.elements(memoryview(b"\1\2"), "a list") == items
    for set_items in (set(items), frozenset(items)):
        assert sorted(coerce.elements(set_items, "a list")) == items


@pytest.mark.parametrize(
    "value", ["ab", b"ab", {"a": 1}, 5, numpy.zeros((2, 2)).data], ids=lambda value: type(value)
)
def test_texts_bytes_mappings_and_numbers_are_no_collections(value: Any) -> None:
    """`elements` refuses strings, bytes, mappings, numbers and two-dimensional buffers."""
    with pytest.raises(EncodeTypeError, match="is not a collection of elements for a list"):
        coerce.elements(value, "a list")


def test_a_mapping_is_split_into_keys_and_values() -> None:
    """`pairs` splits a mapping into its keys and values, and refuses a list of pairs."""
    assert coerce.pairs({"a": 1, "b": 2}, "a map") == (["a", "b"], [1, 2])
    with pytest.raises(EncodeTypeError, match="is not a mapping for a map"):
        coerce.pairs([("a", 1)], "a map")


def test_numbers_are_converted_to_floats() -> None:
    """`real_number` converts numbers to floats, and refuses other classes and infinite results."""
    assert coerce.real_number(decimal.Decimal("1.5"), "double") == 1.5
    assert coerce.real_number(2, "double") == 2.0
    for value in ("1", b"1", numpy.zeros(2), None):
        with pytest.raises(EncodeTypeError, match="is not a number"):
            coerce.real_number(value, "double")
    with pytest.raises(EncodeValueError, match="is out of the range of double"):
        coerce.real_number(10**400, "double")


def test_text_is_encoded_in_the_encoding_of_its_type() -> None:
    """`text_bytes` encodes text as UTF-8, and refuses characters for ascii that are not ASCII."""
    assert coerce.text_bytes("\u00e9", "text") == b"\xc3\xa9"
    assert coerce.text_bytes("e", "ascii") == b"e"
    with pytest.raises(
        EncodeValueError, match=r"cannot be encoded as ascii: character 1 is '\u00e9'"
    ):
        coerce.text_bytes("a\u00e9", "ascii")
