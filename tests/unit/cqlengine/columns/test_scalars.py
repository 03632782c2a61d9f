"""Test the mapper's columns of scalar types: values that they accept, convert and refuse."""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
import warnings
from typing import Any

import pytest

from cassandra.cqlengine import ValidationError, columns
from cassandra.cqlengine.models import Model
from cassandra.cqltypes import EncodeValueError, lookup_casstype
from cassandra.util import Date, Duration

IDENTITY = uuid.UUID("00000000-0000-0000-0000-000000000007")
TIME_IDENTITY = uuid.uuid1()


def column(cls: Any, *arguments: Any, **settings: Any) -> Any:
    """Return a column of this class with the name "c"."""
    instance = cls(*arguments, **settings)
    instance.set_column_name("c")
    return instance


# The CQL type of each class of columns.
DB_TYPES = {
    columns.Ascii: "ascii",
    columns.Text: "text",
    columns.Blob: "blob",
    columns.Boolean: "boolean",
    columns.Integer: "int",
    columns.TinyInt: "tinyint",
    columns.SmallInt: "smallint",
    columns.BigInt: "bigint",
    columns.VarInt: "varint",
    columns.Float: "float",
    columns.Double: "double",
    columns.Decimal: "decimal",
    columns.UUID: "uuid",
    columns.TimeUUID: "timeuuid",
    columns.Inet: "inet",
    columns.Counter: "counter",
}


@pytest.mark.parametrize(
    "column_class", DB_TYPES, ids=lambda column_class: str(column_class.__name__)
)
def test_types_and_null(column_class: Any) -> None:
    """Each scalar column has the expected CQL type; null is refused if the column is required."""
    instance = column(column_class)
    assert instance.db_type == DB_TYPES[column_class]
    assert instance.validate(None) is None
    if column_class is not columns.Counter:
        with pytest.raises(ValidationError, match="c - None"):
            column(column_class, required=True).validate(None)


# column class, its settings, argument of `validate`, expected result
GOOD: list[tuple[Any, dict[str, Any], Any, Any]] = [
    (columns.Text, {}, "é", "é"),
    (columns.Text, {}, bytearray(b"x"), "x"),
    (columns.Text, {"min_length": 2, "max_length": 3}, "ab", "ab"),
    (columns.Text, {"min_length": 2, "max_length": 3}, "abc", "abc"),
    (columns.Text, {"max_length": 0}, "", ""),
    (columns.Ascii, {}, "x", "x"),
    (columns.Blob, {}, b"x", b"x"),
    (columns.Blob, {}, memoryview(b"x"), memoryview(b"x")),
    (columns.Boolean, {}, 1, True),
    (columns.Integer, {}, "5", 5),
    (columns.BigInt, {}, "5", 5),
    (columns.VarInt, {}, "5", 5),
    (columns.Float, {}, "0.5", 0.5),
    (columns.Double, {}, 1, 1.0),
    (columns.Decimal, {}, "1.50", decimal.Decimal("1.50")),
    (columns.UUID, {}, str(IDENTITY), IDENTITY),
    (columns.UUID, {}, IDENTITY, IDENTITY),
    (columns.TimeUUID, {}, TIME_IDENTITY, TIME_IDENTITY),
    (columns.Inet, {}, "10.0.0.1", "10.0.0.1"),
]


@pytest.mark.parametrize(("cls", "settings", "argument", "expected"), GOOD)
def test_accepted_values(cls: Any, settings: Any, argument: Any, expected: Any) -> None:
    """`validate` converts the argument to the expected value and type."""
    result = column(cls, **settings).validate(argument)
    assert result == expected
    assert type(result) is type(expected)


# column class, its settings, refused argument of `validate`, pattern of the error's message
BAD: list[tuple[Any, dict[str, Any], Any, str]] = [
    (columns.Text, {}, 5, r"c 5 \(<class 'int'>\) is not a string"),
    (columns.Text, {}, b"x", "is not a string"),
    (columns.Text, {}, bytearray(b"\xff"), "is not UTF-8"),
    (columns.Text, {"min_length": 2}, "a", "'a' is shorter than 2 characters"),
    (columns.Text, {"min_length": 1}, None, "None is shorter than 1 characters"),
    (columns.Text, {"max_length": 2}, "abc", "'abc' is longer than 2 characters"),
    (columns.Ascii, {}, "é", "has characters that are not ASCII"),
    (columns.Blob, {}, "x", "is not bytes"),
    (columns.Integer, {}, "x", "c 'x'"),
    (columns.VarInt, {}, "x", "c 'x'"),
    (columns.Float, {}, "x", "c 'x'"),
    (columns.Decimal, {}, "x", "c 'x'"),
    (columns.UUID, {}, "x", "c 'x'"),
    (columns.Inet, {}, "10.0.0", "c '10.0.0' is not an IP address"),
    (columns.Inet, {}, 12, "c 12 is not an IP address"),
    (columns.Inet, {}, True, "c True is not an IP address"),
    (columns.Inet, {}, b"abcd", "c b'abcd' is not an IP address"),
    (columns.Text, {"required": True}, "", "'' is shorter than 1 characters"),
    (columns.Text, {"required": True, "min_length": 2}, "a", "'a' is shorter than 2 characters"),
]


@pytest.mark.parametrize(("cls", "settings", "value", "message"), BAD)
def test_refused_values(cls: Any, settings: Any, value: Any, message: str) -> None:
    """`validate` refuses a value that does not fit, with the expected message."""
    with pytest.raises(ValidationError, match=message):
        column(cls, **settings).validate(value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_length": -1}, "min_length is not allowed to be negative, but is -1"),
        ({"max_length": -1}, "max_length is not allowed to be negative, but is -1"),
        ({"min_length": 3, "max_length": 2}, "max_length must be greater or equal .* 2 < 3"),
    ],
)
def test_wrong_lengths_are_refused(settings: Any, message: str) -> None:
    """Negative lengths, and a maximum below the minimum, are refused."""
    with pytest.raises(ValueError, match=message):
        columns.Text(**settings)
    assert columns.Text(min_length=2, max_length=2).max_length == 2


def test_values_of_filters_may_have_any_length() -> None:
    """The value of a filter may have any length, because a LIKE pattern is not a stored value."""
    assert column(columns.Text, min_length=5).to_filter("%x%") == "%x%"
    with pytest.raises(ValidationError, match="is not a string"):
        column(columns.Text).to_filter(5)

    # If an application's column class overrides `to_database`, the method also converts the values
    # of filters.
    class Upper(columns.Text):
        def to_database(self, value: Any) -> Any:
            return value.upper()

    assert column(Upper, max_length=2).to_filter("%x%") == "%X%"


@pytest.mark.parametrize(
    ("cls", "value"),
    [
        (columns.Text, "x"),
        (columns.Blob, b"x"),
        (columns.Boolean, True),
        (columns.Inet, "10.0.0.1"),
        (columns.DateTime, datetime.datetime(2024, 1, 2, 3, 4, 5)),
        (columns.List, ["x"]),
    ],
)
def test_filters_are_not_validated_by_an_application_s_column_class(cls: Any, value: Any) -> None:
    """A filter does not call `validate` of an application's column class, as in cassandra-driver.

    An overriding `validate` may refuse bounds and patterns, or return a hash of the value.
    """

    class Checked(cls):  # type: ignore[misc]
        def validate(self, value: Any) -> Any:
            raise AssertionError("validate was called")

    arguments = (columns.Text,) if cls is columns.List else ()
    expected = column(cls, *arguments).to_database(value)
    assert column(Checked, *arguments).to_filter(value) == expected


def test_blobs_are_converted_for_the_database() -> None:
    """A blob is sent as a bytearray; other types are refused."""
    value = column(columns.Blob).to_database(b"x")
    assert value == b"x"
    assert type(value) is bytearray
    with pytest.raises(ValidationError, match="is not bytes"):
        column(columns.Blob).to_database("x")
    assert columns.Bytes is columns.Blob


@pytest.mark.parametrize("word", ["False", "no", " 0 ", "OFF"])
def test_a_text_that_says_false_is_true_with_a_warning(word: str) -> None:
    """A string such as "no" is stored as True in a boolean column, with a warning.

    Strings are converted with bool(), as in cassandra-driver.
    """

    class Flag(Model):
        id = columns.Integer(primary_key=True)
        flag = columns.Boolean()

    with pytest.warns(
        RuntimeWarning, match="is stored as True, as any text .*: write Fa"
    ) as warned:
        Flag(id=1, flag=word).validate()
    assert {warning.filename for warning in warned} == {__file__}


@pytest.mark.parametrize("value", ["True", "yes", "", "1", 0, [0], None])
def test_other_values_of_a_boolean_cause_no_warning(value: object) -> None:
    """Other values than such strings are converted to booleans without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert columns.Boolean().validate(value) is (None if value is None else bool(value))


def test_booleans_refuse_values_without_a_truth_value() -> None:
    """Arrays, and the missing value of pandas, are neither true nor false."""
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    for value in (numpy.array([True, False]), pandas.NA, pandas.Series([True])):
        with pytest.raises(ValidationError, match="is neither true nor false"):
            column(columns.Boolean).validate(value)


def test_numbers_out_of_the_range_of_floats_are_refused() -> None:
    """A finite number is refused if the column would store infinity; infinity itself is valid."""
    double, single = column(columns.Double), column(columns.Float)
    for infinite in ("inf", "-Infinity", b"inf", decimal.Decimal("Infinity"), float("-inf")):
        assert double.validate(infinite) == single.validate(infinite) == float(infinite)
    assert str(double.validate("nan")) == str(single.validate(float("nan"))) == "nan"
    assert double.validate("1e39") == 1e39
    for large in ("1e400", b"-1e400", bytearray(b"1e400"), decimal.Decimal("1e400"), 10**400):
        for each, type_name in ((double, "double"), (single, "float")):
            with pytest.raises(ValidationError, match=f"is out of the range of {type_name}"):
                each.validate(large)
    codec = lookup_casstype("FloatType")
    for sign in (1, -1):
        largest = sign * math.nextafter(columns.Float.limit, 0)
        assert codec.serialize(single.validate(largest), 5)
        for number in (sign * columns.Float.limit, sign * 1e39):
            for form in (number, str(number)):
                with pytest.raises(ValidationError, match="is out of the range of float"):
                    single.validate(form)
            with pytest.raises(EncodeValueError):
                codec.serialize(number, 5)


@pytest.mark.parametrize(
    ("cls", "value", "message"),
    [
        (columns.Decimal, "NaN", "has no decimal form in CQL"),
        (columns.Decimal, decimal.Decimal("sNaN"), "has no decimal form in CQL"),
        (columns.Decimal, float("inf"), "has no decimal form in CQL"),
        (columns.Text, "a\ud800", "is not UTF-8"),
        (columns.Inet, "fe80::1%eth0", "has a zone"),
        (columns.Date, 2**31, "is out of the range of date"),
        (columns.Date, Date(-(2**31) - 1), "is out of the range of date"),
        (columns.Duration, Duration(2**31, 0, 0), "is out of the range of duration"),
        (columns.Duration, Duration(0, -(2**31) - 1, 0), "is out of the range of duration"),
        (columns.Duration, Duration(0, 0, 2**63), "is out of the range of duration"),
        (columns.Duration, Duration(1, -1, 0), "all positive or all negative"),
    ],
)
def test_values_that_types_cannot_store_are_refused(cls: Any, value: Any, message: str) -> None:
    """A value that cannot be encoded raises ValidationError, which names the column."""
    with pytest.raises(ValidationError, match=rf"^c .*{message}"):
        column(cls).validate(value)


def test_the_greatest_dates_and_durations_are_valid() -> None:
    """Dates and durations at the ends of their ranges are valid."""
    for days in (-(2**31), 2**31 - 1):
        assert column(columns.Date).validate(days) == Date(days)
    for value in (
        Duration(2**31 - 1, 2**31 - 1, 2**63 - 1),
        Duration(-(2**31), 0, -(2**63)),
        Duration(0, 0, 0),
    ):
        assert column(columns.Duration).validate(value) is value
