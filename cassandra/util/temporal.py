"""Dates, times of day, durations and timestamps that cover the whole range of CQL.

The classes of the module datetime cover less: years 1 to 9999, and microseconds.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable
from functools import total_ordering
from typing import TYPE_CHECKING, Any

from cassandra._habits import DATE, TIME, add_habits
from cassandra._patterns import pattern
from cassandra.util.pickles import restore

if TYPE_CHECKING:
    from cassandra import bases
else:
    from cassandra._impl import bases

DATETIME_EPOC = datetime.datetime(1970, 1, 1)
UTC_DATETIME_EPOC = DATETIME_EPOC  # naive, like all datetimes in this module

_EPOCH_ORDINAL = DATETIME_EPOC.toordinal()
_DAY_SECONDS = 86400  # the seconds of a day
_MILLIS_MIN = -62_135_596_800_000  # 0001-01-01T00:00:00.000
_MILLIS_MAX = 253_402_300_799_999  # 9999-12-31T23:59:59.999
_SECOND_NANOS = 10**9
_DAY_NANOS = _DAY_SECONDS * _SECOND_NANOS

_timedelta = datetime.timedelta

# Each entry has a class, and a function that converts a value of this class to a number (of
# nanoseconds for `Time`, of days for `Date`).
_Conversions = tuple[tuple[type, Callable[[Any], int]], ...]


def _convert_by_class(value: object, conversions: _Conversions, message_start: str) -> int:
    """Convert `value` to a number, by the first entry of `conversions` whose class fits.

    :param message_start: the beginning of the error's message.
    :raises TypeError: if no entry fits.
    """
    for accepted_class, convert in conversions:
        if isinstance(value, accepted_class):
            return convert(value)
    raise TypeError(f"{message_start}, not of {value!r}")


class MillisTimestamp(int):
    """Milliseconds since 1970-01-01T00:00:00Z, for a timestamp outside datetime's years 1 to 9999.

    CQL timestamps have 64 bits. A timestamp that `datetime.datetime` cannot represent is decoded as
    this integer, which you may write back unchanged.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"MillisTimestamp({int(self)})"


def datetime_from_ms_timestamp(timestamp_ms: int) -> datetime.datetime:
    """Return the naive UTC datetime of `timestamp_ms` milliseconds since 1970, exactly.

    :param timestamp_ms: milliseconds; negative before 1970.
    :raises OverflowError: outside the years 1 to 9999.
    """
    return DATETIME_EPOC + _timedelta(0, 0, 0, timestamp_ms)


def datetime_or_millis(timestamp_ms: int) -> datetime.datetime | MillisTimestamp:
    """Return the naive UTC datetime of `timestamp_ms` milliseconds since 1970.

    Outside the years 1 to 9999, return a `MillisTimestamp` instead.
    """
    if _MILLIS_MIN <= timestamp_ms <= _MILLIS_MAX:
        # All arguments are integers, so the result is exact.
        return DATETIME_EPOC + _timedelta(0, 0, 0, timestamp_ms)
    return MillisTimestamp(timestamp_ms)


# Seconds from 1970 to the end of the year 9999. No datetime is further from 1970 than this, in the
# past either, because the year 1 is nearer.
_MOST_SECONDS = 253_402_300_800


def python_number(number: Any) -> Any:
    """Return a number of NumPy as an int or a float, and any other object unchanged.

    NumPy's numbers keep their size in calculations: an int32 of seconds overflows as microseconds,
    and a float32 is rounded.

    :param number: the number.
    """
    if type(number) is float or type(number) is int:
        return number
    try:
        return operator.index(number)
    except TypeError:  # not an integer
        is_float = getattr(getattr(number, "dtype", None), "kind", None) == "f"
        return float(number) if is_float and number.ndim == 0 else number


def datetime_from_timestamp(timestamp: float) -> datetime.datetime:
    """Return the naive UTC datetime of `timestamp` seconds since 1970.

    This works for times before 1970, and on every platform. Whole seconds and the fraction are
    converted separately, so that large values are exact.

    :param timestamp: seconds; negative before 1970.
    :raises OverflowError: if the time is outside the years 1 to 9999.
    """
    timestamp = python_number(timestamp)
    if abs(timestamp) > _MOST_SECONDS:
        raise OverflowError(
            f"{timestamp!r} seconds since 1970 are a moment outside the years 1 to 9999"
            + (
                ": for milliseconds, write utc_datetime_from_ms_timestamp(...)"
                if abs(timestamp) <= _MOST_SECONDS * 1000
                else ""
            )
        )
    # For an int, the result is exact for any size, because no float is involved.
    if isinstance(timestamp, int):
        return DATETIME_EPOC + _timedelta(seconds=timestamp)
    # Round down, so that the fraction is not negative before 1970.
    whole_seconds = int(timestamp // 1)
    return (
        DATETIME_EPOC
        + _timedelta(seconds=whole_seconds)
        + _timedelta(microseconds=round((timestamp - whole_seconds) * 1_000_000))
    )


def utc_datetime_from_ms_timestamp(timestamp: int) -> datetime.datetime:
    """Return the naive UTC datetime of `timestamp` milliseconds since 1970.

    :param timestamp: milliseconds; negative before 1970.
    :raises OverflowError: outside the years 1 to 9999.
    """
    return datetime_from_ms_timestamp(timestamp)


def ms_timestamp_from_datetime(dt: datetime.datetime) -> int:
    """Return the milliseconds since 1970 of a datetime, rounded down.

    A naive datetime is taken as UTC.

    :param dt: the datetime.
    """
    offset = dt.utcoffset()
    days = dt.toordinal() - _EPOCH_ORDINAL
    millis = ((days * 24 + dt.hour) * 60 + dt.minute) * 60_000 + dt.second * 1000
    if not offset:
        return millis + dt.microsecond // 1000
    # Local time is UTC plus the offset, so subtract the offset. Use integers: an offset may have
    # microseconds, and a float would lose precision.
    micros = (
        dt.microsecond
        - (offset.days * _DAY_SECONDS + offset.seconds) * 1_000_000
        - offset.microseconds
    )
    return millis + micros // 1000


def _nanos_of_number(nanoseconds: int) -> int:
    """Check nanoseconds since midnight; raise ValueError if they are not within one day."""
    if not 0 <= nanoseconds < _DAY_NANOS:
        raise ValueError(
            f"a time of day is 0 to {_DAY_NANOS - 1} nanoseconds since midnight, not {nanoseconds}"
        )
    # Return a plain int, even for a subclass of int.
    return int(nanoseconds)


def _nanos_of_clock(moment: datetime.time) -> int:
    seconds = (moment.hour * 60 + moment.minute) * 60 + moment.second
    return seconds * _SECOND_NANOS + moment.microsecond * 1000


_TIME_PATTERN = pattern(r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{0,9}))?")


def _nanos_of_text(text: str) -> int:
    """Return the nanoseconds since midnight of a CQL time such as ``08:12:54.123456789``."""
    # The pattern accepts ASCII digits only: int() accepts digits of all scripts, but CQL does not.
    match = _TIME_PATTERN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a time of day of the form HH:MM:SS[.nnnnnnnnn]")
    hour, minute, second, fraction = match.groups("0")
    try:
        whole_seconds = datetime.time(int(hour), int(minute), int(second))
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time of day: {error}") from None
    # Append zeros until the fraction has nine digits: these are nanoseconds.
    return _nanos_of_clock(whole_seconds) + int(fraction.ljust(9, "0"))


@total_ordering
class Time(bases.TimeBase):
    """A time of day in nanoseconds.

    :param value: an int (nanoseconds since midnight), a `datetime.time`, a string
        ``HH:MM:SS[.nnnnnnnnn]``, or another `Time`.
    :raises ValueError: if the value is not within one day, or if a string has another form.
    :raises TypeError: if the value is of any other class.
    """

    # The number of nanoseconds in each unit.
    MICRO, MILLI, SECOND = 10**3, 10**6, _SECOND_NANOS
    MINUTE, HOUR, DAY = 60 * _SECOND_NANOS, 3600 * _SECOND_NANOS, _DAY_NANOS

    __slots__ = ()
    __setstate__ = restore

    nanosecond_time: int

    def __init__(self, value: int | datetime.time | Time | str) -> None:
        # This is a fast path for decoders, which create an object for each value of a column.
        if type(value) is int and 0 <= value < _DAY_NANOS:
            self.nanosecond_time = value
        else:
            self.nanosecond_time = _convert_by_class(
                value, _TIME_FORMS, "a Time is made of an int, a datetime.time or a str"
            )

    def _clock(self) -> tuple[int, int, int, int]:
        """Return (hour, minute, second, nanosecond within the second)."""
        seconds, nanosecond = divmod(self.nanosecond_time, _SECOND_NANOS)
        minutes, second = divmod(seconds, 60)
        return (*divmod(minutes, 60), second, nanosecond)

    @property
    def hour(self) -> int:
        """The hour, 0 to 23."""
        return self._clock()[0]

    @property
    def minute(self) -> int:
        """The minute, 0 to 59."""
        return self._clock()[1]

    @property
    def second(self) -> int:
        """The second, 0 to 59."""
        return self._clock()[2]

    @property
    def nanosecond(self) -> int:
        """The nanosecond within the second, 0 to 999,999,999."""
        return self._clock()[3]

    def time(self) -> datetime.time:
        """Return this time as a `datetime.time`, truncated to microseconds."""
        hour, minute, second, nanosecond = self._clock()
        return datetime.time(hour, minute, second, nanosecond // 1000)

    def __hash__(self) -> int:
        return hash(self.nanosecond_time)

    def __eq__(self, other: object) -> bool:
        value = other.nanosecond_time if isinstance(other, Time) else other
        if isinstance(value, int):
            return self.nanosecond_time == value
        if isinstance(value, datetime.time):
            # In Python, a time with a UTC offset does not equal a time without an offset, and
            # `Time` has no offset.
            return value.utcoffset() is None and self.nanosecond_time == _nanos_of_clock(value)
        return NotImplemented

    def __lt__(self, other: Time) -> bool:
        if isinstance(other, Time):
            return self.nanosecond_time < other.nanosecond_time
        return NotImplemented

    def __repr__(self) -> str:
        return f"Time({self.nanosecond_time})"

    def __str__(self) -> str:
        return "{:02d}:{:02d}:{:02d}.{:09d}".format(*self._clock())


_TIME_FORMS: _Conversions = (
    (int, _nanos_of_number),
    (datetime.time, _nanos_of_clock),
    (str, _nanos_of_text),
    (Time, lambda time: time.nanosecond_time),
)


def _days_of_date(day: datetime.date) -> int:
    return day.toordinal() - _EPOCH_ORDINAL


_DATE_PATTERN = pattern(r"\+?([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")


def _days_of_text(text: str) -> int:
    """Return the days since 1970 of a CQL date of the form YYYY-MM-DD."""
    match = _DATE_PATTERN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a date of the form YYYY-MM-DD")
    try:
        return _days_of_date(datetime.date(*map(int, match.groups())))
    except ValueError as error:
        raise ValueError(f"{text!r} is not a date: {error}") from None


@total_ordering
class Date(bases.DayBase):
    """A day. All 32-bit days of CQL are supported, including years before 1 and after 9999.

    :param value: an int (days since 1970-01-01), a `datetime.date` or datetime, a string
        ``YYYY-MM-DD``, or another `Date`.
    :raises ValueError: if a string is not a date.
    :raises TypeError: if the value is of any other class.
    """

    # The number of seconds in each unit, and the format of a date for strftime. cassandra-driver
    # has these attributes, which this module does not use.
    MINUTE, HOUR, DAY = 60, 3600, _DAY_SECONDS
    date_format = "%Y-%m-%d"

    __slots__ = ()
    __setstate__ = restore

    days_from_epoch: int

    def __init__(self, value: int | datetime.date | Date | str) -> None:
        # This is a fast path for decoders, which create an object for each value of a column.
        if type(value) is int:
            self.days_from_epoch = value
        else:
            self.days_from_epoch = _convert_by_class(
                value, _DATE_FORMS, "a Date is made of an int, a datetime.date or a str"
            )

    @property
    def seconds(self) -> int:
        """The seconds from 1970-01-01T00:00:00 to the start of the day; negative before 1970."""
        return self.days_from_epoch * _DAY_SECONDS

    def date(self) -> datetime.date:
        """Return this day as a `datetime.date`.

        :raises ValueError: if the day is outside the years 1 to 9999.
        """
        try:
            return datetime.date.fromordinal(self.days_from_epoch + _EPOCH_ORDINAL)
        except (ValueError, OverflowError):
            raise ValueError(
                f"{self.days_from_epoch} days from 1970-01-01 lie outside the years 1 to 9999 "
                "of datetime.date"
            ) from None

    def __hash__(self) -> int:
        return hash(self.days_from_epoch)

    def __eq__(self, other: object) -> bool:
        value = other.days_from_epoch if isinstance(other, Date) else other
        if isinstance(value, int):
            return self.days_from_epoch == value
        # A datetime is not a day, so it never equals a `Date`. Exclude it, because in Python
        # datetime is a subclass of date.
        if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
            return self.days_from_epoch == _days_of_date(value)
        return NotImplemented

    def __lt__(self, other: Date) -> bool:
        if isinstance(other, Date):
            return self.days_from_epoch < other.days_from_epoch
        return NotImplemented

    def __repr__(self) -> str:
        return f"Date({self.days_from_epoch})"

    def __str__(self) -> str:
        try:
            return self.date().isoformat()
        except ValueError:
            return str(self.days_from_epoch)


_DATE_FORMS: _Conversions = (
    (int, int),
    (datetime.date, _days_of_date),
    (str, _days_of_text),
    (Date, lambda date: date.days_from_epoch),
)


class Duration(bases.DurationBase):
    """A CQL duration, with three independent parts that have the same sign.

    :param months: the number of months, signed 32-bit.
    :param days: the number of days, signed 32-bit. A day need not have 24 hours.
    :param nanoseconds: the number of nanoseconds, signed 64-bit.
    """

    __slots__ = ()
    __setstate__ = restore

    months: int
    days: int
    nanoseconds: int

    def __init__(self, months: int = 0, days: int = 0, nanoseconds: int = 0) -> None:
        self.months = months
        self.days = days
        self.nanoseconds = nanoseconds

    def __repr__(self) -> str:
        return f"Duration({self.months}, {self.days}, {self.nanoseconds})"

    def __str__(self) -> str:
        sign = "-" if min(self.months, self.days, self.nanoseconds) < 0 else ""
        return f"{sign}{abs(self.months)}mo{abs(self.days)}d{abs(self.nanoseconds)}ns"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Duration):
            return NotImplemented
        return (self.months, self.days, self.nanoseconds) == (
            other.months,
            other.days,
            other.nanoseconds,
        )

    def __hash__(self) -> int:
        return hash((self.months, self.days, self.nanoseconds))


for _public in (
    MillisTimestamp,
    datetime_from_ms_timestamp,
    datetime_from_timestamp,
    utc_datetime_from_ms_timestamp,
    ms_timestamp_from_datetime,
    Time,
    Date,
    Duration,
):
    _named: Any = _public
    _named.__module__ = "cassandra.util"
del _public, _named

add_habits(Date, DATE)
add_habits(Time, TIME)
