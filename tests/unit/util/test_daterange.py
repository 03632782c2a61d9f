"""Test date ranges and their bounds."""

from __future__ import annotations

import datetime
import struct

import pytest

from cassandra import util
from cassandra.cqltypes import DateRangeType


def test_date_ranges_are_shown_with_their_precision() -> None:
    """A date range is shown with its precision, and is compared by its bounds."""
    month = util.DateRangeBound(datetime.datetime(2017, 1, 2, 3, 4, 5, 678000), "month")
    assert str(month) == "2017-01"
    assert month.datetime() == datetime.datetime(2017, 1, 2, 3, 4, 5, 678000)
    date_range = util.DateRange(month, util.OPEN_BOUND)
    assert str(date_range) == "[2017-01 TO *]"
    assert date_range == util.DateRange((month.milliseconds, "MONTH"), util.OPEN_BOUND)
    texts = {
        precision: str(util.DateRangeBound(month.milliseconds, precision))
        for precision in util.DateRangePrecision.PRECISIONS
    }
    assert texts["MILLISECOND"] == "2017-01-02T03:04:05.678Z"
    assert texts["MINUTE"] == "2017-01-02T03:04Z"
    assert util.OPEN_BOUND.datetime() is None
    # A range has either a value or bounds, not both.
    for arguments in ({}, {"value": month, "lower_bound": month}):
        with pytest.raises(ValueError, match="date range"):
            util.DateRange(**arguments)
    with pytest.raises(ValueError, match="precision"):
        util.DateRangeBound(1, "CENTURY")
    with pytest.raises(ValueError, match="both a value and a precision"):
        util.DateRangeBound(1, None)


def moment(text: str) -> int:
    """Return the milliseconds since 1970 of a time in UTC, which is written in ISO format."""
    parsed = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)
    return round(parsed.timestamp() * 1000)


@pytest.mark.parametrize(
    ("text_of_moment", "precision", "first", "last"),
    [
        ("2017-02-03T04:05:06.789", "YEAR", "2017-01-01", "2017-12-31T23:59:59.999"),
        ("2017-02-03T04:05:06.789", "MONTH", "2017-02-01", "2017-02-28T23:59:59.999"),
        ("2016-02-03", "MONTH", "2016-02-01", "2016-02-29T23:59:59.999"),
        ("2016-12-03", "MONTH", "2016-12-01", "2016-12-31T23:59:59.999"),
        ("2016-12-03", "YEAR", "2016-01-01", "2016-12-31T23:59:59.999"),
        ("9999-12-31", "YEAR", "9999-01-01", "9999-12-31T23:59:59.999"),
        ("1969-12-31T23:59:59.999", "DAY", "1969-12-31", "1969-12-31T23:59:59.999"),
        ("2017-02-03T04:05:06.789", "DAY", "2017-02-03", "2017-02-03T23:59:59.999"),
        ("2017-02-03T04:05:06.789", "HOUR", "2017-02-03T04:00:00", "2017-02-03T04:59:59.999"),
        ("2017-02-03T04:05:06.789", "MINUTE", "2017-02-03T04:05:00", "2017-02-03T04:05:59.999"),
        ("2017-02-03T04:05:06.789", "SECOND", "2017-02-03T04:05:06", "2017-02-03T04:05:06.999"),
        (
            "2017-02-03T04:05:06.789",
            "MILLISECOND",
            "2017-02-03T04:05:06.789",
            "2017-02-03T04:05:06.789",
        ),
    ],
)
def test_bounds_of_date_ranges_are_rounded(
    text_of_moment: str, precision: str, first: str, last: str
) -> None:
    """A lower bound is rounded down, and an upper bound up, to the bound's precision."""
    bound = util.DateRangeBound(moment(text_of_moment), precision)
    low, high = (util.DateRangeBound(moment(text), precision) for text in (first, last))
    date_range = util.DateRange(bound, bound)
    assert (date_range.lower_bound, date_range.upper_bound, date_range.value) == (low, high, None)
    assert util.DateRange(value=bound).value == low
    # The bound that the application passed has not changed.
    assert bound.milliseconds == moment(text_of_moment)
    # Bounds from the server are rounded, too, because another client may have written them
    # unrounded. The first byte is the form of the range: 1 for two bounds, 0 for a single value.
    packed_bound = struct.pack(
        ">qB", moment(text_of_moment), util.DateRangePrecision.to_int(precision)
    )
    assert DateRangeType.deserialize(b"\1" + packed_bound + packed_bound, 4) == date_range
    assert DateRangeType.deserialize(b"\0" + packed_bound, 4) == util.DateRange(value=low)
    assert DateRangeType.deserialize(DateRangeType.serialize(date_range, 4), 4) == date_range


def test_a_missing_bound_of_a_date_range_is_open() -> None:
    day = util.DateRangeBound(0, "DAY")
    assert util.DateRange(lower_bound=day) == util.DateRange(day, util.OPEN_BOUND)
    assert util.DateRange(upper_bound=day) == util.DateRange(util.OPEN_BOUND, day)
    assert util.DateRange(value=util.OPEN_BOUND).value == util.OPEN_BOUND


def test_bounds_beyond_the_calendar_are_not_rounded() -> None:
    for precision in ("YEAR", "DAY"):
        far = util.DateRangeBound(1 << 60, precision)
        assert util.DateRange(far, far).upper_bound == far
