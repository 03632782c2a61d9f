"""Test `Date`, `Time` and `Duration` of `cassandra.util`."""

from __future__ import annotations

import datetime
import operator
import pickle
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from cassandra import util

UTC = datetime.timezone.utc


def test_a_time_is_parsed_compared_and_shown() -> None:
    """A `Time` is parsed, compared with numbers and `datetime.time`, and shown with nanoseconds."""
    time = util.Time("01:02:03.000000004")
    assert (time.hour, time.minute, time.second, time.nanosecond) == (1, 2, 3, 4)
    assert time.nanosecond_time == 3723000000004
    assert str(time) == "01:02:03.000000004"
    assert repr(time) == "Time(3723000000004)"
    assert util.Time(datetime.time(1, 2, 3, 4)).time() == datetime.time(1, 2, 3, 4)
    assert util.Time(5) == 5
    assert util.Time(5000) == datetime.time(0, 0, 0, 5)
    # `datetime.time` cannot represent nanoseconds.
    assert util.Time(5001) != datetime.time(0, 0, 0, 5)
    assert util.Time(1) < util.Time(2) <= util.Time(2) > util.Time(1) >= util.Time(0)
    assert len({util.Time(1), util.Time(1)}) == 1
    assert util.Time(util.Time(3)) == util.Time(3)


class _Count(int):
    """A subclass of int, as an application may define it."""


@pytest.mark.parametrize(
    ("value", "nanoseconds"),
    [
        (0, 0),
        (True, 1),
        (_Count(7), 7),
        (86_400 * 10**9 - 1, 86_400 * 10**9 - 1),
        (datetime.time(23, 59, 59, 999_999), 86_399_999_999_000),
        (datetime.time(0, 0, 1, tzinfo=UTC), 10**9),
        ("00:00:00", 0),
        (" 23:59:59.999999999\n", 86_400 * 10**9 - 1),
        ("0:0:1.000000001", 10**9 + 1),
        ("00:00:00.1", 10**8),
        (util.Time(12), 12),
    ],
)
def test_each_form_of_a_time(value: int | str | datetime.time, nanoseconds: int) -> None:
    """`Time` has the expected number of nanoseconds for each form of argument."""
    moment = util.Time(value)
    assert moment.nanosecond_time == nanoseconds
    assert type(moment.nanosecond_time) is int
    assert str(moment) == str(util.Time(str(moment)))


@pytest.mark.parametrize(
    ("value", "days"),
    [
        (-(2**31), -(2**31)),
        (True, 1),
        (_Count(7), 7),
        (datetime.date(1, 1, 1), -719_162),
        (datetime.datetime(9999, 12, 31, 23, tzinfo=UTC), 2_932_896),
        (" 1970-1-2\n", 1),
        (util.Date(-5), -5),
    ],
)
def test_each_form_of_a_date(value: int | str | datetime.date, days: int) -> None:
    """`Date` has the expected number of days for each form of argument."""
    day = util.Date(value)
    assert day.days_from_epoch == days
    assert type(day.days_from_epoch) is int


@given(st.integers(0, util.Time.DAY - 1))
def test_the_parts_of_a_time_match_its_text(nanoseconds: int) -> None:
    moment = util.Time(nanoseconds)
    text = f"{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}.{moment.nanosecond:09d}"
    assert str(moment) == text
    assert util.Time(text) == moment
    assert util.Time(moment.time()).nanosecond_time == nanoseconds // 1000 * 1000


def test_the_units_of_a_time() -> None:
    """The constants of `Time` for units of time are numbers of nanoseconds."""
    units = (util.Time.MICRO, util.Time.MILLI, util.Time.SECOND)
    assert units == (1_000, 1_000_000, 1_000_000_000)
    longer = (util.Time.MINUTE, util.Time.HOUR, util.Time.DAY)
    assert longer == (60 * 10**9, 3_600 * 10**9, 86_400 * 10**9)


def test_times_and_dates_are_equal_to_plain_ones() -> None:
    """`Time` and `Date` are equal to standard objects and to numbers.

    A `Time` or `Date` is not equal to a string, and no `Time` is equal to a `Date`.
    """

    class Later(util.Time):
        """An application's subclass of Time."""

    assert util.Time(5) == Later(5) == util.Time(5)
    assert util.Time(5000) != datetime.time(0, 0, 0, 5, tzinfo=UTC)
    assert util.Time(5) != "00:00:00.000000005"
    assert util.Time(5) != util.Date(5)
    assert util.Date(1) != datetime.datetime(1970, 1, 2)
    assert util.Date(1) != "1970-01-02"
    assert hash(util.Time(5)) == hash(5)
    assert hash(util.Date(-5)) == hash(-5)


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
@pytest.mark.parametrize("value", [util.Time(5), util.Date(5)])
@pytest.mark.parametrize("other", [5, "5", datetime.time(1), datetime.date(1970, 1, 6), None])
def test_comparing_times_and_dates_with_other_classes_is_refused(
    compare: Callable[[object, object], bool], value: object, other: object
) -> None:
    with pytest.raises(TypeError, match="not supported between"):
        compare(value, other)


@pytest.mark.parametrize(
    "wrong", [-1, util.Time.DAY, "24:00:00", "1:2", "00:60:00", "00:00:60", "1:2:3.x", "abc"]
)
def test_invalid_times_are_refused(wrong: int | str) -> None:
    with pytest.raises(ValueError, match="time of day"):
        util.Time(wrong)


def test_a_date_is_parsed_compared_and_shown() -> None:
    """A `Date` is parsed, and compared with numbers and `datetime.date`.

    A `Date` may be beyond the year 9999.
    """
    date = util.Date("2020-02-29")
    assert date.days_from_epoch == 18321
    assert date.seconds == 18321 * 86400
    assert date.date() == datetime.date(2020, 2, 29)
    assert date == datetime.date(2020, 2, 29)
    assert date == 18321
    assert str(date) == "2020-02-29"
    assert util.Date(datetime.datetime(1970, 1, 2, 3)) == 1
    assert util.Date(1) < util.Date(2) <= util.Date(2) > util.Date(1) >= util.Date(1)
    far_date = util.Date(2**31 - 1)
    # A date beyond the year 9999 is shown as its number of days since 1970.
    assert str(far_date) == "2147483647"
    with pytest.raises(ValueError, match="outside the years"):
        far_date.date()
    for text in ("2023-02-29", "1.1.2020", ""):
        with pytest.raises(ValueError, match="is not a date"):
            util.Date(text)


def test_wrong_types() -> None:
    """`Date` and `Time` refuse floats."""
    with pytest.raises(TypeError, match="is made of"):
        util.Date(1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="is made of"):
        util.Time(1.5)  # type: ignore[arg-type]


def test_duration() -> None:
    """Durations are equal if all their parts are equal, and a negative duration has one sign."""
    assert util.Duration(1, 2, 3) == util.Duration(1, 2, 3)
    assert util.Duration(1, 2, 3) != util.Duration(1, 2, 4)
    assert str(util.Duration(-1, -2, -3)) == "-1mo2d3ns"
    assert hash(util.Duration(1)) == hash(util.Duration(1, 0, 0))


@pytest.mark.parametrize(
    "value", [util.Date(3), util.Time(3), util.Duration(1, 2, 3), util.MillisTimestamp(1 << 60)]
)
def test_pickles(value: object) -> None:
    """An unpickled value is equal to the original, and its class names the public module."""
    assert pickle.loads(pickle.dumps(value)) == value
    assert type(value).__module__ == "cassandra.util"


def test_timestamps_are_converted_both_ways() -> None:
    """Timestamps are converted both ways, even before 1970 and up to the year 9999."""
    assert util.datetime_from_ms_timestamp(-1) == datetime.datetime(
        1969, 12, 31, 23, 59, 59, 999000
    )
    assert util.datetime_from_timestamp(-0.5) == datetime.datetime(1969, 12, 31, 23, 59, 59, 500000)
    assert util.utc_datetime_from_ms_timestamp(1) == datetime.datetime(1970, 1, 1, 0, 0, 0, 1000)
    assert (
        util.ms_timestamp_from_datetime(datetime.datetime(9999, 12, 31, 23, 59, 59, 999999))
        == 253402300799999
    )
    # Because of the microsecond in the time zone, the offset is less than 3 hours, and is rounded
    # down.
    time_zone = datetime.timezone(datetime.timedelta(hours=-3, microseconds=1))
    assert (
        util.ms_timestamp_from_datetime(datetime.datetime(1970, 1, 1, tzinfo=time_zone))
        == 3 * 3600 * 1000 - 1
    )
    with pytest.raises(OverflowError):
        util.datetime_from_ms_timestamp(1 << 60)


def test_utc_datetimes_are_naive() -> None:
    assert util.utc_datetime_from_ms_timestamp(1500) == datetime.datetime(
        1970, 1, 1, 0, 0, 1, 500000
    )
    assert util.utc_datetime_from_ms_timestamp(0).tzinfo is None
    assert util.UTC_DATETIME_EPOC.tzinfo is None


def test_a_time_may_leave_out_leading_zeros() -> None:
    assert util.Time("1:2:3.5") == util.Time("01:02:03.500000000")


@pytest.mark.parametrize("timestamp", [1_714_979_289_123, 1_714_979_289_123.5, -(10**12)])
def test_milliseconds_in_place_of_seconds_get_advice(timestamp: float) -> None:
    with pytest.raises(OverflowError, match="write utc_datetime_from_ms_timestamp"):
        util.datetime_from_timestamp(timestamp)


def test_times_beyond_every_datetime() -> None:
    """Timestamps outside the years 1 to 9999 raise OverflowError."""
    with pytest.raises(OverflowError, match=r"outside the years 1 to 9999$"):
        util.datetime_from_timestamp(10**18)
    with pytest.raises(OverflowError):
        util.datetime_from_timestamp(-62_135_596_801)
    assert util.datetime_from_timestamp(253_402_300_799).year == 9999
