"""Test conversions between CQL values and the strings or JSON values of files."""

from __future__ import annotations

import datetime
import json
import random
import time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from cassandra.bulk.texts import (
    Formats,
    hiding,
    json_of,
    json_reader,
    parsed_json,
    short_repr,
    text_of,
    text_reader,
)
from cassandra.cqltypes.parse import lookup_casstype
from cassandra.util import Date, Duration, Time
from cassandra.util.temporal import MillisTimestamp

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
# The default formats of values in files.
PLAIN = Formats()
ID = UUID("8d60be65-7e0d-49ae-bd09-4bd6f8ca14fb")
# The server's names of the types vector<float, 3> and person (name text, ages list<int>).
VECTOR = "org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType, 3)"
PERSON = (
    "org.apache.cassandra.db.marshal.UserType(ks,706572736f6e,"
    "6e616d65:org.apache.cassandra.db.marshal.UTF8Type,"
    "61676573:org.apache.cassandra.db.marshal.ListType(org.apache.cassandra.db.marshal.Int32Type))"
)


@pytest.mark.parametrize(
    ("type_name", "string", "value"),
    [
        ("UTF8Type", "some text", "some text"),
        ("InetAddressType", "10.0.0.1", "10.0.0.1"),
        ("Int32Type", "-17", -17),
        ("IntegerType", "123456789012345678901234567890", 123456789012345678901234567890),
        ("DoubleType", "1e3", 1000.0),
        ("DecimalType", "1.50", Decimal("1.50")),
        ("BooleanType", "Yes", True),
        ("BooleanType", "f", False),
        ("UUIDType", str(ID), ID),
        ("BytesType", "0x00ff", b"\x00\xff"),
        ("BytesType", "00FF", b"\x00\xff"),
        ("SimpleDateType", "2026-11-23", Date("2026-11-23")),
        ("TimeType", "12:30:00.5", Time("12:30:00.5")),
        ("TimestampType", "2026-11-23 12:30", datetime.datetime(2026, 11, 23, 12, 30)),
        ("TimestampType", "2026-11-23T12:30:00Z", datetime.datetime(2026, 11, 23, 12, 30, tzinfo=UTC)),  # noqa: E501
        (
            "TimestampType",
            "2026-11-23 12:30:00.250+0100",
            datetime.datetime(2026, 11, 23, 11, 30, 0, 250000, tzinfo=UTC),
        ),
        (
            "TimestampType",
            " 2026-11-23 12:30:00.5Z",
            datetime.datetime(2026, 11, 23, 12, 30, 0, 500000, tzinfo=UTC),
        ),
        ("TimestampType", "-1000", datetime.datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("DurationType", "1y2mo3w4d5h6m7s8ms9us10ns", Duration(14, 25, 18367008009010)),
        ("DurationType", "-2d", Duration(0, -2, 0)),
        ("ListType(Int32Type)", "[1, 2]", [1, 2]),
        ("ListType(Int32Type)", "[1, null]", [1, None]),
        ("SetType(UUIDType)", f'["{ID}"]', [ID]),
        ("SetType(UUIDType)", "[null]", [None]),
        ("MapType(Int32Type,UTF8Type)", '{"1": "one"}', {1: "one"}),
        ("MapType(Int32Type,UTF8Type)", '{"1": null}', {1: None}),
        ("MapType(Int32Type,UTF8Type)", '[[1, "one"]]', {1: "one"}),
        ("MapType(Int32Type,UTF8Type)", '[[null, "one"]]', {None: "one"}),
        ("TupleType(Int32Type,UTF8Type)", '[1, null]', (1, None)),
        (VECTOR, "[0.5, 1, 2]", [0.5, 1, 2]),
        (PERSON, '{"ages": [1, 2]}', (None, [1, 2])),
    ],
)  # fmt: skip
def test_strings_are_read_as_values(type_name: str, string: str, value: Any) -> None:
    """`text_reader` returns a function that reads strings as values of a CQL type."""
    read = text_reader(lookup_casstype(type_name), PLAIN)
    assert read(string) == value


@pytest.mark.parametrize(
    ("type_name", "string", "message"),
    [
        ("Int32Type", "many", "'many' is not an integer"),
        ("Int32Type", "1_000", "'1_000' is not an integer"),
        ("DoubleType", "x", "'x' is not a number"),
        ("DecimalType", "x", "'x' is not a number"),
        ("BooleanType", "perhaps", "'perhaps' is neither true nor false"),
        ("UUIDType", "1-2", "'1-2' is not a UUID"),
        ("BytesType", "0xg", "'0xg' is not a blob in hexadecimal digits"),
        ("SimpleDateType", "x", "'x' is not a date"),
        ("TimeType", "x", "'x' is not a time"),
        ("TimestampType", "yesterday", "'yesterday' is not a timestamp in ISO 8601"),
        ("DurationType", "3 days", "'3 days' is not a duration"),
        ("DurationType", "-", "'-' is not a duration"),
        ("DurationType", "--1d", "'--1d' is not a duration"),
        ("DurationType", "1d1d", "'1d1d' is not a duration"),
        ("DurationType", "1d1mo", "'1d1mo' is not a duration"),
        ("Int32Type", "\N{ARABIC-INDIC DIGIT ONE}", "is not an integer"),
        ("DoubleType", "1e400", "'1e400' is too large for a floating-point number"),
        ("DoubleType", "1_0", "'1_0' is not a number"),
        ("DecimalType", "inf", "'inf' is not a number"),
        ("DecimalType", "NaN", "'NaN' is not a number"),
        ("DecimalType", "1_0", "'1_0' is not a number"),
        ("UUIDType", "{00000000-0000-0000-0000-000000000007}", "is not a UUID"),
        ("UUIDType", "urn:uuid:00000000-0000-0000-0000-000000000007", "is not a UUID"),
        ("BytesType", "0x0", "'0x0' is not a blob"),
        ("BytesType", "00 ff", "'00 ff' is not a blob"),
        ("SimpleDateType", "20261123", "'20261123' is not a date"),
        ("SimpleDateType", "2026-02-29", "'2026-02-29' is not a date"),
        ("TimestampType", "2026-W47-1", "is not a timestamp"),
        ("TimestampType", "2026-11-23x12:30", "is not a timestamp"),
        ("TimestampType", "2026-11-23 12:30 UTC", "for UTC, write timestamp_format with %Z"),
        ("TimestampType", "2026-11-23 12:30 CET", "the name of a time zone, 'CET', is not read"),
        ("TimestampType", "2026-11-23T12:30+01:00[Europe/Oslo]", "'Europe/Oslo', is not read"),
        ("TimestampType", "23.11.2026 12:30", "for another form, write timestamp_format"),
        ("TimestampType", "2026-11-23 12", "is not a timestamp"),
        ("TimestampType", "2026-11-23 24:00:00", "is not a timestamp"),
        ("TimestampType", "2026-11-23 12:30+01:60", "is not a timestamp"),
        ("TimestampType", "9" * 20, "milliseconds since 1970 are out of range"),
        ("ListType(Int32Type)", "[" * 100_000, "it is nested too deep"),
        ("MapType(Int32Type,UTF8Type)", '{"1": "a", "1": "b"}', "the name '1' stands twice"),
        ("MapType(Int32Type,UTF8Type)", '{"1": "a", "01": "b"}', "has a key of the map twice"),
        ("ListType(Int32Type)", "[1", "is not JSON, as collections"),
        ("ListType(Int32Type)", "[1 2 -3.]", "as NumPy prints them: write json.dumps(array"),
        ("ListType(Int32Type)", "[01]", "(char 2)"),
        ("ListType(Int32Type)", "[1. 2. ... 8. 9.]", "left out where NumPy printed ...: write"),
        ("ListType(Int32Type)", "tensor([1, 2])", "write json.dumps(array.tolist())"),
        ("ListType(Int32Type)", "0.1, -2e3", "in brackets and with commas, [1, 2]"),
        ("ListType(Int32Type)", "1 2 3", "in brackets and with commas, [1, 2]"),
        ("ListType(Int32Type)", "{1, 2}", "how Python prints a set: write json.dumps(list(val"),
        ("ListType(Int32Type)", "set()", "how Python prints a set"),
        ("MapType(UTF8Type,Int32Type)", "{bad json}", 'have double quotes, {"name": 1}'),
        ("MapType(UTF8Type,Int32Type)", "{a: 1}", 'have double quotes, {"name": 1}'),
        ("ListType(FloatType)", "[nan, inf]", "how Python prints a value: write json.dumps(v"),
        ("ListType(BooleanType)", "[True]", "how Python prints a value: write json.dumps(v"),
        ("ListType(UTF8Type)", "['a']", "how Python prints a value: write json.dumps(value)"),
        ("ListType(Int32Type)", "{}", "{} is not a list of JSON"),
        ("ListType(Int32Type)", '["x"]', "'x' is not an integer"),
        ("MapType(Int32Type,UTF8Type)", "[1]", "is not an object of JSON, nor a list of pairs"),
        ("TupleType(Int32Type,UTF8Type)", "[1, 2, 3]", "with 2 values at most"),
        ("CompositeType(Int32Type,UTF8Type)", "5:abc", "'5:abc' is not JSON"),
        ("LexicalUUIDType", str(ID), "is not a blob in hexadecimal digits"),
        ("ListType(UTF8Type)", "[1]", "1 (int) is not a text"),
        (PERSON, "[]", "is not an object of JSON"),
        (PERSON, '{"age": 1}', "the type has no field 'age': name, ages"),
    ],
)
def test_invalid_strings_are_refused(type_name: str, string: str, message: str) -> None:
    """A string that is not a value of the CQL type is refused with an error that shows it."""
    read = text_reader(lookup_casstype(type_name), PLAIN)
    with pytest.raises((ValueError, TypeError)) as caught:
        read(string)
    assert message in str(caught.value)


def test_formats_of_dates_and_timestamps() -> None:
    """Dates and timestamps are read in the formats of the options `date` and `timestamp`."""
    formats = Formats(date="%d.%m.%Y", timestamp="%d.%m.%Y %H:%M")
    read_date = text_reader(lookup_casstype("SimpleDateType"), formats)
    assert read_date("23.11.2026") == datetime.date(2026, 11, 23)
    read_time = text_reader(lookup_casstype("TimestampType"), formats)
    assert read_time("23.11.2026 12:30") == datetime.datetime(2026, 11, 23, 12, 30, tzinfo=UTC)
    # Blanks around a field are ignored, as without a format.
    assert read_date(" 23.11.2026\t") == datetime.date(2026, 11, 23)


def test_named_formats_may_be_mixed_with_others() -> None:
    """A list of formats may mix "iso" (ISO 8601) and "ms" (milliseconds) with other formats."""
    read = text_reader(
        lookup_casstype("TimestampType"), Formats(timestamp=["%d/%m/%Y %H:%M", "iso", "ms"])
    )
    moment = datetime.datetime(2026, 11, 23, 12, 30, tzinfo=UTC)
    assert read("23/11/2026 12:30") == moment
    assert read("2026-11-23T13:30:00+01:00") == moment
    assert read(" 2026-11-23 12:30") == moment
    assert read(str(int(moment.timestamp()) * 1000)) == moment
    read_date = text_reader(lookup_casstype("SimpleDateType"), Formats(date=("%d/%m/%Y", "iso")))
    assert read_date("23/11/2026") == datetime.date(2026, 11, 23)
    assert read_date("2026-11-23") == Date("2026-11-23")
    assert read_date("+12026-11-23") == Date(3_652_425 + Date("2026-11-23").days_from_epoch)


@pytest.mark.parametrize(
    ("formats", "string", "message"),
    [
        (
            "%d/%m/%Y",
            "2026-11-23",
            "'2026-11-23' is not read by timestamp_format='%d/%m/%Y': time data '2026-11-23' does "
            "not match format '%d/%m/%Y' (timestamp_format=['%d/%m/%Y', 'iso'] would read it as "
            "ISO 8601)",
        ),
        (
            ["%d/%m/%Y", "iso"],
            "1700000000000",
            "'1700000000000' has none of the formats of timestamp_format, '%d/%m/%Y', 'iso' "
            "(timestamp_format=['%d/%m/%Y', 'iso', 'ms'] would read it as milliseconds since 1970)",
        ),
        (
            ["%d/%m/%Y", "%Y"],
            "x",
            "'x' has none of the formats of timestamp_format, '%d/%m/%Y', '%Y'",
        ),
        (
            "iso",
            "x",
            "'x' is not read by timestamp_format='iso': 'x' is not a timestamp in ISO 8601",
        ),
    ],
)
def test_the_error_of_formats_names_all_and_the_one_that_fits(
    formats: Any, string: str, message: str
) -> None:
    """If no format fits, the error names all formats, and a standard format that would fit."""
    read = text_reader(lookup_casstype("TimestampType"), Formats(timestamp=formats))
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read(string)
    assert str(caught.value) == message


def test_names_of_time_zones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With %Z, only UTC and GMT are read; names of other time zones are refused.

    Python accepts the names of the machine's own zone, here CET, but ignores them: it would read
    the time as UTC.
    """
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        read = text_reader(lookup_casstype("TimestampType"), Formats(timestamp="%Y-%m-%d %H:%M %Z"))
        assert read("2026-11-23 12:30 UTC") == datetime.datetime(2026, 11, 23, 12, 30, tzinfo=UTC)
        with pytest.raises(ValueError, match="%Z reads UTC and GMT only; %z reads offsets"):
            read("2026-11-23 12:30 CET")
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("number", ["1,5", "-1.234,56", "1 234,56", "1,234.56", ",5"])
@pytest.mark.parametrize("type_name", ["DoubleType", "FloatType", "DecimalType"])
def test_the_error_for_a_comma_in_a_number_says_what_to_do(number: str, type_name: str) -> None:
    """The error has advice on commas if the string is a number apart from its commas."""
    read = text_reader(lookup_casstype(type_name), Formats())
    with pytest.raises(ValueError, match="is not a number: a comma may separate decimals or"):
        read(number)
    with pytest.raises(ValueError, match=r"'a,b' is not a number$"):
        read("a,b")
    read_integer = text_reader(lookup_casstype("Int32Type"), Formats())
    with pytest.raises(ValueError, match="is not an integer: a comma may separate decimals or"):
        read_integer(number)


@pytest.mark.parametrize(
    ("type_name", "json_value", "cql_value"),
    [
        ("Int32Type", 5, 5),
        ("Int32Type", "5", 5),
        ("Int32Type", None, None),
        ("DecimalType", 1.5, Decimal("1.5")),
        ("TimestampType", 1000, datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
        ("ListType(Int32Type)", "[1]", [1]),
        ("ListType(Int32Type)", None, None),
        ("DecimalType", Decimal("12345678901234567890.5"), Decimal("12345678901234567890.5")),
        ("DoubleType", Decimal("1.5"), 1.5),
        ("DoubleType", float("inf"), float("inf")),
        ("BooleanType", False, False),
    ],
)
def test_json_values_are_read_as_cql_values(
    type_name: str, json_value: Any, cql_value: Any
) -> None:
    """`json_reader` returns a function that converts values of JSON to values of a CQL type.

    Numbers of JSON are passed as int or Decimal, which keep all digits.
    """
    read = json_reader(lookup_casstype(type_name), PLAIN)
    assert read(json_value) == cql_value


@pytest.mark.parametrize(
    ("type_name", "value", "message"),
    [
        ("Int32Type", True, "True (bool) is not an integer"),
        ("Int32Type", Decimal("1.5"), "is not an integer"),
        ("Int32Type", Decimal("1.0"), "is not an integer: write it without a fraction"),
        ("LongType", Decimal("1E+999"), "is not an integer: write it without a fraction"),
        ("DecimalType", False, "False (bool) is not a number"),
        ("DecimalType", float("nan"), "nan (float) is not a number"),
        ("DoubleType", Decimal("1e400"), "1E+400 is too large"),
        ("DoubleType", True, "True (bool) is not a number"),
        ("BooleanType", 2, "2 (int) is not true or false"),
        ("TimestampType", False, "False (bool) is not a timestamp"),
        ("TimestampType", Decimal("1700000000.5"), "have no fraction. Are these seconds?"),
        ("TimestampType", Decimal("1.7E+12"), "without a fraction and an exponent"),
        ("SimpleDateType", 0, "0 (int) is not a date"),
        ("TimeType", 0, "0 (int) is not a time of day"),
        ("UUIDType", 5, "5 (int) is not a UUID"),
        ("BytesType", [1], "[1] (list) is not a blob"),
        ("UTF8Type", {}, "{} (dict) is not a text: to store it as a text of JSON"),
        ("DurationType", 5, "5 (int) is not a duration"),
    ],
)
def test_json_values_of_the_wrong_type_are_refused(
    type_name: str, value: Any, message: str
) -> None:
    """A JSON value that does not fit the CQL type is refused with an error that shows the value."""
    read = json_reader(lookup_casstype(type_name), PLAIN)
    with pytest.raises((ValueError, TypeError)) as caught:
        read(value)
    assert message in str(caught.value)


def test_json_keeps_all_digits_and_has_each_name_once() -> None:
    """`parsed_json` reads numbers without rounding, and refuses objects with a duplicate name.

    It also reads integers that are too long for Python's `int`.
    """
    nines = "9" * 6000
    document = parsed_json('{"a": 12345678901234567890.50, "b": [1e400], "c": ' + nines + "}")
    assert str(document["a"]) == "12345678901234567890.50"
    assert document["b"] == [Decimal("1e400")]
    assert Decimal(document["c"]) == Decimal(nines)
    for document_text, message in (
        ('{"a": {"b": 1, "b": 2}}', "the name 'b' stands twice in an object"),
        ("[" * 100_000, "it is nested too deep"),
        ("{", "Expecting property name"),
    ):
        with pytest.raises(ValueError, match=message):
            parsed_json(document_text)


@pytest.mark.parametrize("other_value", ["0", "9" * 6000])
def test_a_negative_zero_of_json_keeps_its_sign(other_value: str) -> None:
    """The JSON number -0 is read as -0.0 for float columns, and as 0 for columns of integers.

    It makes no difference whether the document also has an integer of 6000 digits, for which the
    parser reads numbers in another way.
    """
    zero, name, _ = parsed_json(f'[-0, "x-0", {other_value}]')
    assert name == "x-0"
    for type_name in ("FloatType", "DoubleType"):
        assert repr(json_reader(lookup_casstype(type_name), PLAIN)(zero)) == "-0.0"
    for type_name in ("Int32Type", "IntegerType", "DecimalType"):
        value = json_reader(lookup_casstype(type_name), PLAIN)(zero)
        assert (type(value), value) == (int, 0)
    timestamp = json_reader(lookup_casstype("TimestampType"), PLAIN)(zero)
    assert timestamp == datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    with pytest.raises(TypeError, match=r"0 \(int\) is not a text"):
        json_reader(lookup_casstype("UTF8Type"), PLAIN)(zero)
    numbers = parsed_json("[-0.0, -0e1, -5]")
    assert [str(number) for number in numbers] == ["-0.0", "-0E+1", "-5"]


def test_timestamps_of_digits_are_milliseconds() -> None:
    """A timestamp of digits only is a number of milliseconds.

    Since Python 3.11, `fromisoformat` would read some of these numbers as dates.
    """
    read_timestamp = text_reader(lookup_casstype("TimestampType"), PLAIN)
    for millis in (1711113022222, 20261123, 17111130222, 171111302222201, -5, 0):
        expected = EPOCH + datetime.timedelta(milliseconds=millis)
        assert read_timestamp(str(millis)) == expected
        assert read_timestamp(f" {millis} ") == expected
    # Check many numbers of milliseconds from the years 2001 to 2033.
    generator = random.Random(5)
    for _ in range(20_000):
        millis = generator.randrange(10**12, 2 * 10**12)
        assert read_timestamp(str(millis)) == EPOCH + datetime.timedelta(milliseconds=millis)
    # Times after the year 9999, or far before the year 1, do not fit a datetime. They are returned
    # as MillisTimestamp, a number of milliseconds.
    for millis in (253_402_300_800_000, -(2**63), 2**63 - 1):
        timestamp = read_timestamp(str(millis))
        assert timestamp == millis
        assert type(timestamp) is MillisTimestamp


@pytest.mark.parametrize("days", [-(2**31), 2**31 - 1, 2_932_896, 2_932_897, -719_162, -719_163, 0])
def test_dates_of_all_years_survive_a_round_trip(days: int) -> None:
    """Each CQL date, in years far beyond Python's, survives a round trip through its string.

    A CQL date is a 32-bit number of days since 1970-01-01.
    """
    read = text_reader(lookup_casstype("SimpleDateType"), PLAIN)
    assert read(text_of(Date(days))) == Date(days)


def test_dates_beyond_the_years_of_datetime() -> None:
    """Years beyond 9999 are written with a plus sign, and years before 0 with a minus sign."""
    assert text_of(Date(2_932_897)) == "+10000-01-01"
    assert text_of(Date(-719_163)) == "0000-12-31"
    assert text_of(Date(-719_163 - 366)) == "-0001-12-31"


def test_hidden_values_are_not_in_errors() -> None:
    """Errors of a reader from `hiding` show the type of the value instead of the value."""
    read = hiding(text_reader(lookup_casstype("Int32Type"), PLAIN), "int")
    assert read("5") == 5
    with pytest.raises(ValueError, match="this str is not an integer") as caught:
        read("hunter2")
    assert "hunter2" not in str(caught.value)


def test_values_in_errors_are_short() -> None:
    """`short_repr` cuts long values, and returns only the type of a value whose repr fails."""
    assert short_repr("a") == "'a'"
    assert len(short_repr("x" * 10_000)) < 300
    nested_list: list[Any] = []
    for _ in range(100_000):
        nested_list = [nested_list]
    assert short_repr(nested_list) == "this list"
    # Python refuses the repr of such a large number, just as of a list that is nested too deeply.
    assert short_repr(10**5000) == "this int"
    # Unnest the list step by step: freeing the whole list at once would recurse too deeply.
    while nested_list:
        nested_list = nested_list.pop()


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("UTF8Type", 'a "quoted", text'),
        ("Int32Type", -5),
        ("DoubleType", 0.1),
        ("BooleanType", True),
        ("BytesType", b"\x00\xff"),
        ("UUIDType", ID),
        ("SimpleDateType", Date("2026-11-23")),
        ("TimeType", Time("12:30:00.500000001")),
        ("TimestampType", datetime.datetime(2026, 11, 23, 12, 30, 0, 5000, tzinfo=UTC)),
        ("DurationType", Duration(1, 2, 3)),
        ("DecimalType", Decimal("1.50")),
        ("ListType(UUIDType)", [ID]),
        ("ListType(Int32Type)", [1, None]),
        ("MapType(Int32Type,BooleanType)", {1: True}),
        ("MapType(Int32Type,BooleanType)", {1: None}),
        ("TupleType(Int32Type,UTF8Type)", (1, None)),
        (VECTOR, [0.5, 1.0, 2.0]),
        ("CompositeType(Int32Type,UTF8Type)", (5, "a:b")),
        ("CompositeType(Int32Type,UTF8Type)", (5,)),
        ("FrozenType(CompositeType(UTF8Type,ListType(Int32Type)))", ("", [1, 2])),
        ("LexicalUUIDType", ID.bytes),
        ("ListType(LexicalUUIDType)", [ID.bytes]),
        ("Unknown(Int32Type)", b"\0\1"),
        ("ColumnToCollectionType(61:ListType(Int32Type))", b"\0"),
        ("ReversedType(Int32Type)", 5),
    ],
)  # fmt: skip
def test_values_survive_a_round_trip_through_text_and_json(type_name: str, value: Any) -> None:
    """A value survives a round trip through its string and through JSON."""
    cql_type = lookup_casstype(type_name)
    assert text_reader(cql_type, PLAIN)(text_of(value)) == value
    json_value = json.loads(json.dumps(json_of(value)))
    assert json_reader(cql_type, PLAIN)(json_value) == value


def test_dynamic_composites_are_written_with_their_aliases() -> None:
    """A decoded dynamic composite is written as its bytes, because its parts have no aliases.

    A file may also have pairs of an alias and a value.
    """
    cql_type = lookup_casstype("DynamicCompositeType(s=>UTF8Type,u=>UUIDType)")
    codec = cql_type.codec()
    data = codec.encode([("s", "x"), ("u", ID)])
    value = codec.decode(data)
    assert value == ("x", ID)
    assert text_of(value) == json_of(value) == f"0x{data.hex()}"
    pairs = [["s", "x"], ["u", str(ID)]]
    for read in (text_reader(cql_type, PLAIN), json_reader(cql_type, PLAIN)):
        for source in (text_of(value), json.dumps(pairs), pairs):
            assert codec.encode(read(source)) == data
        for wrong in ("x", '["x"]', [["z", 1]], [[[], 1]], 5):
            with pytest.raises((TypeError, ValueError)):
                read(wrong)
    assert json_reader(cql_type, PLAIN)(None) is None


@pytest.mark.parametrize("digits", [4215, 4216, 4299, 4300, 4301, 20_000])
def test_integers_of_any_length_survive_a_round_trip(digits: int) -> None:
    """Integers of any length survive a round trip, although Python limits them to 4300 digits."""
    number = -(10**digits) + 7
    for type_name, value in (
        ("IntegerType", number),
        ("ListType(IntegerType)", [number]),
        ("MapType(IntegerType,IntegerType)", {number: number}),
    ):
        test_values_survive_a_round_trip_through_text_and_json(type_name, value)


def test_the_text_for_null_can_be_chosen() -> None:
    """`text_of` writes null as an empty string, or as the string that is passed."""
    assert text_of(None) == ""
    assert text_of(None, "NULL") == "NULL"


def test_nan_is_a_string_in_json() -> None:
    """JSON has no NaN, so NaN is written as the string "nan"."""
    assert json_of(float("nan")) == "nan"
