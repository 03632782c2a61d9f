"""Version 1 UUIDs (time UUIDs) are created from times, and converted back."""

from __future__ import annotations

import datetime
import uuid
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pytest

from cassandra import util


def test_a_time_uuid_contains_time_node_and_clock_sequence() -> None:
    """A time UUID contains the time, the node and the clock sequence of its creation."""
    time = datetime.datetime(2020, 2, 29, 1, 2, 3, 456789)
    time_uuid = util.uuid_from_time(time, node=5, clock_seq=6)
    assert time_uuid.version == 1
    assert (time_uuid.node, time_uuid.clock_seq) == (5, 6)
    assert util.datetime_from_uuid1(time_uuid) == time
    assert util.unix_time_from_uuid1(time_uuid) == pytest.approx(1582938123.456789)
    assert util.uuid_from_time(0, 0, 0) == uuid.UUID("13814000-1dd2-11b2-8000-000000000000")
    time_with_zone = time.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    assert util.datetime_from_uuid1(
        util.uuid_from_time(time_with_zone)
    ) == time - datetime.timedelta(hours=1)
    # The server compares these bytes as signed, so these are the lowest and the highest bytes.
    assert str(util.min_uuid_from_time(0)).endswith("-8080-808080808080")
    assert str(util.max_uuid_from_time(0)).endswith("-bf7f-7f7f7f7f7f7f")
    # If no node and no clock sequence are passed, they are random.
    assert util.uuid_from_time(1) != util.uuid_from_time(1)
    for arguments in ({"clock_seq": 1 << 14}, {"node": 1 << 48}):
        with pytest.raises(ValueError, match="bits"):
            util.uuid_from_time(0, **arguments)
    with pytest.raises(ValueError, match="outside the times"):
        util.uuid_from_time(-(10**12))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("type_name", "seconds"),
    [
        *(
            (name, 1_700_000_000)
            for name in ("int32", "uint32", "int64", "uint64", "float32", "float64", "longdouble")
        ),
        ("int8", -100),
        ("uint8", 200),
        ("int16", -30_000),
        ("float16", 1000.5),
        ("float64", 1_700_000_000.25),
    ],
)
def test_seconds_may_be_numbers_of_numpy(type_name: str, seconds: float) -> None:
    """The result is that of the same number in Python: NumPy's numbers could overflow."""
    number: Any = getattr(numpy, type_name)(seconds)
    values: tuple[Any, ...] = (number, numpy.array(number))
    for value in values:
        assert util.min_uuid_from_time(value) == util.min_uuid_from_time(seconds)
        assert util.max_uuid_from_time(value) == util.max_uuid_from_time(seconds)
        assert util.uuid_from_time(value, 1, 2) == util.uuid_from_time(seconds, 1, 2)
        assert util.datetime_from_timestamp(value) == util.datetime_from_timestamp(seconds)


@pytest.mark.parametrize("seconds", [Decimal("1700000000.25"), Fraction(6_800_000_001, 4)])
def test_exact_seconds(seconds: Any) -> None:
    assert util.min_uuid_from_time(seconds) == util.min_uuid_from_time(1_700_000_000.25)


@pytest.mark.parametrize(
    ("value", "version"),
    [
        (uuid.UUID("12345678-1234-4678-9234-567812345678"), "version 4"),
        (uuid.UUID(int=5), "no version"),
    ],
)
def test_a_uuid_of_another_version_warns(value: uuid.UUID, version: str) -> None:
    """The functions for time UUIDs warn if the UUID is not of version 1."""
    functions: list[Any] = [util.unix_time_from_uuid1, util.datetime_from_uuid1]
    for function in functions:
        message = f"^{function.__name__} takes a UUID of version 1, but {value} has {version}: "
        with pytest.warns(RuntimeWarning, match=message) as warned:
            function(value)
        assert warned[0].filename == __file__
    # UUIDs of version 1 cause no warning.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        util.datetime_from_uuid1(util.LOWEST_TIME_UUID)
        util.unix_time_from_uuid1(uuid.uuid1())


@pytest.mark.parametrize(
    "value", ["2026-11-27", datetime.date(2026, 11, 27), datetime.timedelta(1)], ids=repr
)
def test_values_that_are_no_times(value: Any) -> None:
    """A value that is no time raises a TypeError.

    Without the check, Python would repeat a string a million times, because it multiplies it.
    """
    with pytest.raises(TypeError, match="a time is a datetime, or a number of seconds since 1970"):
        util.uuid_from_time(value)
    with pytest.raises(TypeError, match=f"of type {type(value).__name__}"):
        util.min_uuid_from_time(value)
