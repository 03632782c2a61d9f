"""Date ranges of DataStax Enterprise. A bound of a range is a time with a precision, or open."""

from __future__ import annotations

import datetime
from typing import Any, Final, Union

from cassandra.util.pickles import restore
from cassandra.util.temporal import (
    datetime_from_ms_timestamp,
    ms_timestamp_from_datetime,
    utc_datetime_from_ms_timestamp,
)

# The types of a bound's value: a date, a datetime (a subclass of date), milliseconds; None for the
# open bound.
Moment = datetime.date | int | None
BoundLike = Union["DateRangeBound", tuple[Moment, str | None], list[Any]]


class DateRangePrecision:
    """The units in which the precision of a bound is expressed."""

    YEAR: Final = "YEAR"
    MONTH: Final = "MONTH"
    DAY: Final = "DAY"
    HOUR: Final = "HOUR"
    MINUTE: Final = "MINUTE"
    SECOND: Final = "SECOND"
    MILLISECOND: Final = "MILLISECOND"

    PRECISIONS = (YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, MILLISECOND)

    @classmethod
    def to_int(cls, precision: str) -> int:
        """Return the number that encodes `precision`.

        :param precision: the name, such as ``"MONTH"``, in any case.
        :raises ValueError: if there is no such precision.
        """
        if precision.upper() not in cls.PRECISIONS:
            raise ValueError(
                f"{precision!r} is not a precision; there are {', '.join(cls.PRECISIONS)}"
            )
        return cls.PRECISIONS.index(precision.upper())

    @classmethod
    def from_int(cls, number: int) -> str:
        """Return the precision that a number encodes.

        :param number: a number from 0 to 6.
        :raises ValueError: if `number` is out of this range.
        """
        if not 0 <= number < len(cls.PRECISIONS):
            raise ValueError(f"{number} does not stand for a precision")
        return cls.PRECISIONS[number]


# The format of a date, by its precision, as the server's tools write it. Parts below the precision
# are omitted.
_FORMATS = {
    "YEAR": "%Y",
    "MONTH": "%Y-%m",
    "DAY": "%Y-%m-%d",
    "HOUR": "%Y-%m-%dT%HZ",
    "MINUTE": "%Y-%m-%dT%H:%MZ",
    "SECOND": "%Y-%m-%dT%H:%M:%SZ",
    "MILLISECOND": "%Y-%m-%dT%H:%M:%S",
}


class DateRangeBound:
    """One end of a range: `milliseconds` since 1970, and a `precision`.

    `OPEN_BOUND` stands for the open end.

    :param value: a datetime (a naive datetime is taken as UTC), a date, or milliseconds since 1970.
        None for the open bound.
    :param precision: a constant of `DateRangePrecision`. None for the open bound.
    :raises ValueError: if `value` or `precision` is invalid, or if only one of them is None.
    """

    __slots__ = ("milliseconds", "precision")

    def __setstate__(self, state: Any) -> None:
        self.precision = None  # cassandra-driver does not pickle the precision of the open bound
        restore(self, state)

    milliseconds: int | None
    precision: str | None

    def __init__(self, value: Moment, precision: str | None) -> None:
        if precision is not None:
            precision = DateRangePrecision.PRECISIONS[DateRangePrecision.to_int(precision)]
        self.precision = precision
        if value is None:
            self.milliseconds = None
        elif isinstance(value, datetime.datetime):
            self.milliseconds = ms_timestamp_from_datetime(value)
        elif isinstance(value, datetime.date):
            self.milliseconds = ms_timestamp_from_datetime(
                datetime.datetime(value.year, value.month, value.day)
            )
        elif isinstance(value, int):
            self.milliseconds = value
        else:
            raise ValueError(f"a bound is a datetime, a date or milliseconds, not {value!r}")
        # Only the open bound has neither a value nor a precision. The wire format has no bound that
        # has only a value or only a precision.
        if (self.milliseconds is None) != (precision is None):
            raise ValueError("a bound has both a value and a precision, or neither")

    @classmethod
    def from_value(cls, value: BoundLike) -> DateRangeBound:
        """Return a bound from a bound, or from a pair (value, precision).

        :param value: the bound, or the pair.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, (tuple, list)):
            return cls(*value)
        raise ValueError(f"a bound is a DateRangeBound or (value, precision), not {value!r}")

    def datetime(self) -> datetime.datetime | None:
        """Return the bound as a naive datetime in UTC; None for the open bound."""
        return None if self.milliseconds is None else datetime_from_ms_timestamp(self.milliseconds)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DateRangeBound)
            and self.milliseconds == other.milliseconds
            and self.precision == other.precision
        )

    def __hash__(self) -> int:
        return hash((self.milliseconds, self.precision))

    def __str__(self) -> str:
        if self.milliseconds is None or self.precision is None:
            return "*"
        try:
            moment = utc_datetime_from_ms_timestamp(self.milliseconds)
        except OverflowError:  # 64 bits of milliseconds go far beyond the year 9999
            return f"{self.milliseconds}ms"
        text = moment.strftime(_FORMATS[self.precision])
        if self.precision == "MILLISECOND":  # strftime has no milliseconds
            text += f".{self.milliseconds % 1000:03d}Z"
        return text

    def __repr__(self) -> str:
        return f"DateRangeBound(milliseconds={self.milliseconds!r}, precision={self.precision!r})"


OPEN_BOUND = DateRangeBound(value=None, precision=None)


# The units that have a constant length, in milliseconds.
_UNITS = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000, "MILLISECOND": 1}


def _rounded(bound: DateRangeBound, *, up: bool) -> DateRangeBound:
    """Return a bound that is rounded to its precision (year, month, ...).

    :param up: True returns the last millisecond of the unit, False the first millisecond.
    """
    millis, precision = bound.milliseconds, bound.precision
    if millis is None or precision is None:
        return bound
    try:
        moment = utc_datetime_from_ms_timestamp(millis)
    except OverflowError:  # the year is outside the years 1 to 9999
        return bound
    if precision in _UNITS:
        unit_millis = _UNITS[precision]
        first_millis = millis - millis % unit_millis
    else:
        first_month, last_month = (1, 12) if precision == "YEAR" else (moment.month, moment.month)
        first_day = datetime.datetime(moment.year, first_month, 1)
        first_millis = ms_timestamp_from_datetime(first_day)
        if last_month == 12:
            # Do not compute with the first day of the next month here: for December 9999,
            # `datetime` cannot represent it.
            last_day = datetime.datetime(moment.year, 12, 31)
        else:
            first_of_next_month = datetime.datetime(moment.year, last_month + 1, 1)
            last_day = first_of_next_month - datetime.timedelta(days=1)
        unit_millis = ((last_day - first_day).days + 1) * _UNITS["DAY"]
    # Return a new object, because the application may still use the passed bound.
    return DateRangeBound(first_millis + unit_millis - 1 if up else first_millis, precision)


class DateRange:
    """A range from `lower_bound` to `upper_bound`, or the single date `value`.

    Bounds are rounded to their precision. The lower bound and a single value are rounded down, and
    the upper bound is rounded up to the last millisecond. A missing bound is open. Bounds outside
    the years 1 to 9999 are not rounded.

    :param lower_bound: the first moment: a `DateRangeBound` or a pair (value, precision); None for
        an open bound.
    :param upper_bound: the last moment, of the same types.
    :param value: a single date instead of the bounds, of the same types.
    :raises ValueError: if there is neither a bound nor a value, or if there are both.
    """

    __slots__ = ("lower_bound", "upper_bound", "value")
    __setstate__ = restore

    lower_bound: DateRangeBound | None
    upper_bound: DateRangeBound | None
    value: DateRangeBound | None

    def __init__(
        self,
        lower_bound: BoundLike | None = None,
        upper_bound: BoundLike | None = None,
        value: BoundLike | None = None,
    ) -> None:
        if value is not None:
            if lower_bound is not None or upper_bound is not None:
                raise ValueError("a date range has bounds or a value, not both")
            self.lower_bound = self.upper_bound = None
            self.value = _rounded(DateRangeBound.from_value(value), up=False)
            return
        if lower_bound is None and upper_bound is None:
            raise ValueError("a date range needs a bound (OPEN_BOUND is one) or a value")
        low = OPEN_BOUND if lower_bound is None else DateRangeBound.from_value(lower_bound)
        high = OPEN_BOUND if upper_bound is None else DateRangeBound.from_value(upper_bound)
        self.lower_bound = _rounded(low, up=False)
        self.upper_bound = _rounded(high, up=True)
        self.value = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DateRange) and (
            self.lower_bound,
            self.upper_bound,
            self.value,
        ) == (
            other.lower_bound,
            other.upper_bound,
            other.value,
        )

    def __hash__(self) -> int:
        return hash((self.lower_bound, self.upper_bound, self.value))

    def __str__(self) -> str:
        return (
            str(self.value)
            if self.value is not None
            else f"[{self.lower_bound} TO {self.upper_bound}]"
        )

    def __repr__(self) -> str:
        return (
            f"DateRange(lower_bound={self.lower_bound!r}, upper_bound={self.upper_bound!r}, "
            f"value={self.value!r})"
        )


for _public in (DateRange, DateRangeBound, DateRangePrecision):
    _public.__module__ = "cassandra.util"
del _public
