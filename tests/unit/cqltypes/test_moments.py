"""Test NumPy's datetime64 and timedelta64 as values of timestamp, date, time and duration."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import numpy
import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes import EncodeTypeError, EncodeValueError
from cassandra.cqltypes.moments import is_whole_days, months_and_nanos, nanos_since_1970
from cassandra.encoder import Encoder
from cassandra.util.temporal import Date, Duration, Time
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import without_unit

MOMENT = numpy.datetime64("2024-05-06T07:08:09.123456789", "ns")
# The same time as a datetime, which has no nanoseconds, and its day.
OF_PYTHON = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)
DAY = datetime.date(2024, 5, 6)
_TYPES = {
    "timestamp": t.TimestampType,
    "date": t.SimpleDateType,
    "time": t.TimeType,
    "duration": t.DurationType,
    "int": t.Int32Type,
}


@pytest.fixture
def encode(implementation: Implementation) -> Callable[[str, object], bytes]:
    """Return a function that encodes a value for a CQL type, given by its name."""

    def encode_value(name: str, value: object) -> bytes:
        data: bytes = _TYPES[name].build_codec(implementation.codecs).encode(value)
        return data

    return encode_value


@pytest.mark.parametrize(
    ("value", "nanos"),
    [
        (numpy.datetime64(1, "W"), 7 * 86_400 * 10**9),
        (numpy.datetime64(-1, "D"), -86_400 * 10**9),
        (numpy.datetime64(1, "h"), 3600 * 10**9),
        (numpy.datetime64(1, "m"), 60 * 10**9),
        (numpy.datetime64(5, ("s", 25)), 125 * 10**9),
        (numpy.datetime64(-1, "ms"), -(10**6)),
        (numpy.datetime64(1, "us"), 1000),
        (numpy.datetime64(-1, "ps"), -1),
        (numpy.datetime64(10**18, "as"), 10**9),
        (numpy.datetime64("1971"), 365 * 86_400 * 10**9),
        (numpy.datetime64("1969-12"), -31 * 86_400 * 10**9),
        (numpy.datetime64(2**62, "D"), 2**62 * 86_400 * 10**9),
        (numpy.datetime64("NaT", "s"), None),
        (numpy.datetime64("NaT", "ns"), None),
        (numpy.timedelta64(1, "s"), None),
        (5, None),
    ],
)
def test_nanos_since_1970(value: object, nanos: int | None) -> None:
    """`nanos_since_1970` returns the nanoseconds of a datetime64, and None for other values."""
    assert nanos_since_1970(value) == nanos


def test_years_beyond_every_type() -> None:
    """`nanos_since_1970` does not overflow for years far beyond the range of any type."""
    nanos = nanos_since_1970(numpy.datetime64(2**60, "Y"))
    assert nanos is not None
    assert nanos // 10**6 > 2**63


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (numpy.timedelta64(2, "Y"), (24, 0)),
        (numpy.timedelta64(-3, "M"), (-3, 0)),
        (numpy.timedelta64(1, "D"), (0, 86_400 * 10**9)),
        (numpy.timedelta64(1999, "ps"), (0, 1)),
        (without_unit(5), None),  # without a unit
        (numpy.timedelta64("NaT", "s"), None),
        (numpy.datetime64(1, "s"), None),
    ],
)
def test_months_and_nanos(value: object, parts: tuple[int, int] | None) -> None:
    """`months_and_nanos` splits a timedelta64 into months and nanoseconds; None if it cannot."""
    assert months_and_nanos(value) == parts


def test_whole_days() -> None:
    """`is_whole_days` is True for units of a day and longer."""
    units = {unit: is_whole_days(numpy.datetime64(1, unit)) for unit in ("Y", "M", "W", "D", "h")}
    assert units == {"Y": True, "M": True, "W": True, "D": True, "h": False}


# -- values of statements --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cql_type", "value", "same"),
    [
        ("timestamp", MOMENT, OF_PYTHON),
        ("timestamp", MOMENT.astype("datetime64[us]"), OF_PYTHON),
        ("timestamp", MOMENT.astype("datetime64[D]"), DAY),
        ("timestamp", numpy.datetime64("2024"), datetime.date(2024, 1, 1)),
        # A moment before 1970 is rounded down to a millisecond, as for a datetime.
        (
            "timestamp",
            numpy.datetime64("1969-12-31T23:59:59.999999"),
            datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
        ),
        ("date", MOMENT, DAY),
        ("date", MOMENT.astype("datetime64[D]"), DAY),
        ("date", numpy.datetime64(10**9, "D"), Date(10**9)),
        ("time", numpy.timedelta64(3_723_000_000_001, "ns"), Time(3_723_000_000_001)),
        ("time", numpy.timedelta64(5, "s"), datetime.time(0, 0, 5)),
        ("duration", numpy.timedelta64(-2, "Y"), Duration(-24, 0, 0)),
        ("duration", numpy.timedelta64(5, "us"), Duration(0, 0, 5000)),
    ],
)
def test_scalars_of_numpy_are_bound(
    encode: Callable[[str, object], bytes], cql_type: str, value: object, same: object
) -> None:
    """A datetime64 or timedelta64 is encoded like the equal value of Python or the driver."""
    assert encode(cql_type, value) == encode(cql_type, same)


@pytest.mark.parametrize(
    ("cql_type", "value", "error"),
    [
        ("timestamp", numpy.datetime64("NaT", "s"), EncodeTypeError),
        ("timestamp", numpy.timedelta64(5, "s"), EncodeTypeError),
        ("timestamp", numpy.datetime64(10**15, "D"), EncodeValueError),
        ("date", numpy.datetime64("NaT", "D"), EncodeTypeError),
        ("date", numpy.datetime64(10**10, "D"), EncodeValueError),
        ("time", numpy.timedelta64(1, "D"), EncodeValueError),
        ("time", numpy.timedelta64(-1, "s"), EncodeValueError),
        ("time", numpy.timedelta64(1, "M"), EncodeTypeError),
        ("time", without_unit(5), EncodeTypeError),
        ("duration", without_unit(5), EncodeTypeError),
        ("duration", without_unit("NaT"), EncodeTypeError),
        ("duration", numpy.timedelta64(2**40, "M"), EncodeValueError),
        ("int", MOMENT, EncodeTypeError),
    ],
)
def test_other_scalars_of_numpy_are_refused(
    encode: Callable[[str, object], bytes], cql_type: str, value: object, error: type[Exception]
) -> None:
    """A NumPy moment that does not fit the CQL type is refused."""
    with pytest.raises(error):
        encode(cql_type, value)


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (MOMENT, "1714979289123"),
        (numpy.datetime64(-1, "us"), "-1"),
        (MOMENT.astype("datetime64[D]"), "'2024-05-06'"),
        (numpy.datetime64("2024"), "'2024-01-01'"),
        ([MOMENT], "[1714979289123]"),
        # NumPy's `tolist` turns nanoseconds into plain integers, which must not be taken for
        # milliseconds.
        (numpy.array([MOMENT]), "[1714979289123]"),
        (numpy.array([[MOMENT]]), "[[1714979289123]]"),
        (numpy.array(["2024-05-06"], "datetime64[D]"), "['2024-05-06']"),
        (numpy.ma.array([MOMENT, MOMENT], mask=[True, False]), "[NULL, 1714979289123]"),
    ],
)
def test_literals_of_moments(value: object, literal: str) -> None:
    """The CQL literal of a datetime64 is a number of milliseconds, or a date."""
    assert Encoder().cql_encode_all_types(value) == literal


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (numpy.datetime64("NaT", "s"), "None for a missing value"),
        (without_unit("NaT"), "None for a missing value"),
        (numpy.timedelta64(5, "s"), r"cassandra\.util\.Duration\("),
        (datetime.timedelta(1), r"cassandra\.util\.Duration\("),
        (numpy.array([5], "timedelta64[s]"), r"cassandra\.util\.Duration\("),
    ],
)
def test_values_without_a_literal(value: object, advice: str) -> None:
    """A value that has no CQL literal raises a TypeError that says what to write instead."""
    with pytest.raises(TypeError, match=f"has no literal in CQL: write {advice}"):
        Encoder().cql_encode_all_types(value)


@pytest.mark.parametrize(
    ("cql_type", "value", "message"),
    [
        (t.DoubleType, numpy.timedelta64(5, "ns"), "is not a number"),
        (t.FloatType, numpy.datetime64(5, "ns"), "is not a number"),
        (t.BooleanType, numpy.timedelta64(5, "s"), "is not a boolean"),
        (t.BytesType, numpy.datetime64(5, "s"), r"is not bytes: write value\.tobytes\(\)"),
    ],
)
def test_moments_are_not_stored_as_numbers_or_bytes(
    cql_type: type[t.CassandraType], value: object, message: str, implementation: Implementation
) -> None:
    """A datetime64 or timedelta64 is refused for columns of numbers, booleans and blobs.

    A number without its unit, or the bytes in memory, would be another value.
    """
    with pytest.raises(EncodeTypeError, match=message):
        cql_type.build_codec(implementation.codecs).encode(value)
