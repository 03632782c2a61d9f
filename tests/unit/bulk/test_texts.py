"""Texts and JSON as CQL values, and back."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from cassandra.bulk.texts import Formats, json_of, json_reader, text_of, text_reader
from cassandra.cqltypes.parse import lookup_casstype
from cassandra.util import Date, Duration, Time

UTC = datetime.timezone.utc
PLAIN = Formats()
ID = UUID("8d60be65-7e0d-49ae-bd09-4bd6f8ca14fb")
VECTOR = "org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType, 3)"
PERSON = (
    "org.apache.cassandra.db.marshal.UserType(ks,706572736f6e,"
    "6e616d65:org.apache.cassandra.db.marshal.UTF8Type,"
    "61676573:org.apache.cassandra.db.marshal.ListType(org.apache.cassandra.db.marshal.Int32Type))"
)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
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
def test_what_texts_are(kind: str, text: str, value: Any) -> None:
    assert text_reader(lookup_casstype(kind), PLAIN)(text) == value


@pytest.mark.parametrize(
    ("kind", "text", "words"),
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
        ("ListType(Int32Type)", "[1", "is not JSON, as collections"),
        ("ListType(Int32Type)", "{}", "{} is not a list of JSON"),
        ("ListType(Int32Type)", '["x"]', "'x' is not an integer"),
        ("MapType(Int32Type,UTF8Type)", "[1]", "is not an object of JSON, nor a list of pairs"),
        ("TupleType(Int32Type,UTF8Type)", "[1, 2, 3]", "with 2 values at most"),
        ("ListType(UTF8Type)", "[1]", "1 (int) is not a text"),
        (PERSON, "[]", "is not an object of JSON"),
        (PERSON, '{"age": 1}', "the type has no field 'age': name, ages"),
    ],
)
def test_what_they_are_not(kind: str, text: str, words: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        text_reader(lookup_casstype(kind), PLAIN)(text)
    assert words in str(caught.value)


def test_formats_of_dates_and_timestamps() -> None:
    formats = Formats(date="%d.%m.%Y", timestamp="%d.%m.%Y %H:%M")
    read_date = text_reader(lookup_casstype("SimpleDateType"), formats)
    assert read_date("23.11.2026") == datetime.date(2026, 11, 23)
    read_time = text_reader(lookup_casstype("TimestampType"), formats)
    assert read_time("23.11.2026 12:30") == datetime.datetime(2026, 11, 23, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        ("Int32Type", 5, 5),
        ("Int32Type", "5", 5),
        ("Int32Type", None, None),
        ("DecimalType", 1.5, Decimal("1.5")),
        ("TimestampType", 1000, datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
        ("ListType(Int32Type)", "[1]", [1]),
        ("ListType(Int32Type)", None, None),
    ],
)
def test_values_of_json(kind: str, value: Any, read: Any) -> None:
    assert json_reader(lookup_casstype(kind), PLAIN)(value) == read


@pytest.mark.parametrize(
    "kind_and_value",
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
    ],
    ids=lambda one: one[0],
)  # fmt: skip
def test_values_come_back_from_their_texts(kind_and_value: tuple[str, Any]) -> None:
    kind, value = lookup_casstype(kind_and_value[0]), kind_and_value[1]
    assert text_reader(kind, PLAIN)(text_of(value)) == value
    assert json_reader(kind, PLAIN)(json.loads(json.dumps(json_of(value)))) == value


def test_null_has_a_text_of_its_own() -> None:
    assert text_of(None) == ""
    assert text_of(None, "NULL") == "NULL"
    assert json_of(float("nan")) == "nan"
