"""Dates, times of day, durations and timestamps, over the whole range that CQL has and Python's
datetime has not.
"""

from __future__ import annotations

import datetime
import re
from typing import Any

DATETIME_EPOC = datetime.datetime(1970, 1, 1)
UTC_DATETIME_EPOC = DATETIME_EPOC  # naive too, as all datetimes here are

_EPOCH_ORDINAL = DATETIME_EPOC.toordinal()
_DAY_SECONDS = 86400
_MILLIS_MIN = -62_135_596_800_000  # 0001-01-01T00:00:00.000
_MILLIS_MAX = 253_402_300_799_999  # 9999-12-31T23:59:59.999

_timedelta = datetime.timedelta


class MillisTimestamp(int):
    """A timestamp outside datetime's years 1 to 9999: milliseconds since 1970-01-01T00:00:00Z.

    CQL timestamps span the whole signed 64 bits. One that `datetime.datetime` cannot hold is read
    as this integer, which may be written back as it is.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"MillisTimestamp({int(self)})"


def datetime_from_ms_timestamp(timestamp_ms: int) -> datetime.datetime:
    """The naive UTC datetime of `timestamp_ms` milliseconds since 1970, exactly; OverflowError
    outside years 1 to 9999.
    """
    return DATETIME_EPOC + _timedelta(0, 0, 0, timestamp_ms)


def datetime_or_millis(timestamp_ms: int) -> datetime.datetime | MillisTimestamp:
    """The naive UTC datetime of `timestamp_ms`, or a `MillisTimestamp` where no datetime can hold
    it.
    """
    if _MILLIS_MIN <= timestamp_ms <= _MILLIS_MAX:
        return DATETIME_EPOC + _timedelta(0, 0, 0, timestamp_ms)  # integers: exact
    return MillisTimestamp(timestamp_ms)


def datetime_from_timestamp(timestamp: float) -> datetime.datetime:
    """The naive UTC datetime of `timestamp` seconds since 1970, also before 1970 and on every
    platform.

    Rounded to microseconds from the whole seconds and the fraction apart, so that no bit is lost on
    large values.
    """
    if isinstance(timestamp, int):
        return DATETIME_EPOC + _timedelta(seconds=timestamp)
    whole = int(timestamp // 1)
    return (
        DATETIME_EPOC
        + _timedelta(seconds=whole)
        + _timedelta(microseconds=round((timestamp - whole) * 1_000_000))
    )


def utc_datetime_from_ms_timestamp(timestamp: int) -> datetime.datetime:
    """The naive UTC datetime of `timestamp` milliseconds since 1970; OverflowError outside years 1
    to 9999.
    """
    return datetime_from_ms_timestamp(timestamp)


def ms_timestamp_from_datetime(dt: datetime.datetime) -> int:
    """Whole milliseconds since 1970 of `dt`, rounded down; a naive datetime is taken as UTC."""
    offset = dt.utcoffset()
    days = dt.toordinal() - _EPOCH_ORDINAL
    millis = ((days * 24 + dt.hour) * 60 + dt.minute) * 60_000 + dt.second * 1000
    if not offset:
        return millis + dt.microsecond // 1000
    micros = (
        dt.microsecond
        - (offset.days * _DAY_SECONDS + offset.seconds) * 1_000_000
        - offset.microseconds
    )
    return millis + micros // 1000


class Time:
    """A time of day with nanoseconds.

    `value` is an int (nanoseconds since midnight), a `datetime.time`, another `Time`, or a string
    ``HH:MM:SS[.nnnnnnnnn]``. Raises ValueError outside one day, TypeError for anything else.
    """

    MICRO = 1000
    MILLI = 1000 * MICRO
    SECOND = 1000 * MILLI
    MINUTE = 60 * SECOND
    HOUR = 60 * MINUTE
    DAY = 24 * HOUR

    __slots__ = ("nanosecond_time",)

    nanosecond_time: int

    def __init__(self, value: int | datetime.time | Time | str) -> None:
        if isinstance(value, int):
            self._from_timestamp(value)
        elif isinstance(value, datetime.time):
            self._from_time(value)
        elif isinstance(value, str):
            self._from_timestring(value)
        elif isinstance(value, Time):
            self.nanosecond_time = value.nanosecond_time
        else:
            raise TypeError(f"a Time is made of an int, a datetime.time or a str, not of {value!r}")

    @property
    def hour(self) -> int:
        """The hour, 0 to 23."""
        return self.nanosecond_time // Time.HOUR

    @property
    def minute(self) -> int:
        """The minute, 0 to 59."""
        return self.nanosecond_time % Time.HOUR // Time.MINUTE

    @property
    def second(self) -> int:
        """The second, 0 to 59."""
        return self.nanosecond_time % Time.MINUTE // Time.SECOND

    @property
    def nanosecond(self) -> int:
        """The nanosecond within the second."""
        return self.nanosecond_time % Time.SECOND

    def time(self) -> datetime.time:
        """The `datetime.time`, its nanoseconds cut to microseconds."""
        return datetime.time(self.hour, self.minute, self.second, self.nanosecond // Time.MICRO)

    def _from_timestamp(self, nanoseconds: int) -> None:
        if not 0 <= nanoseconds < Time.DAY:
            raise ValueError(
                f"a time of day is 0 to {Time.DAY - 1} nanoseconds since midnight, not {nanoseconds}"
            )
        self.nanosecond_time = int(nanoseconds)

    def _from_time(self, value: datetime.time) -> None:
        self.nanosecond_time = (
            value.hour * Time.HOUR
            + value.minute * Time.MINUTE
            + value.second * Time.SECOND
            + value.microsecond * Time.MICRO
        )

    def _from_timestring(self, text: str) -> None:
        match = _TIME_PATTERN.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a time of day of the form HH:MM:SS[.nnnnnnnnn]")
        hour, minute, second = int(match[1]), int(match[2]), int(match[3])
        if hour > 23 or minute > 59 or second > 59:
            raise ValueError(
                f"{text!r} is not a time of day: hour, minute or second is out of range"
            )
        nanoseconds = int((match[4] or "").ljust(9, "0"))
        self.nanosecond_time = (
            hour * Time.HOUR + minute * Time.MINUTE + second * Time.SECOND + nanoseconds
        )

    def __hash__(self) -> int:
        return hash(self.nanosecond_time)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Time):
            return self.nanosecond_time == other.nanosecond_time
        if isinstance(other, int):
            return self.nanosecond_time == other
        if isinstance(other, datetime.time):
            return self.nanosecond_time % Time.MICRO == 0 and self.time() == other
        return NotImplemented

    def __lt__(self, other: Time) -> bool:
        if not isinstance(other, Time):
            return NotImplemented
        return self.nanosecond_time < other.nanosecond_time

    def __le__(self, other: Time) -> bool:
        if not isinstance(other, Time):
            return NotImplemented
        return self.nanosecond_time <= other.nanosecond_time

    def __gt__(self, other: Time) -> bool:
        if not isinstance(other, Time):
            return NotImplemented
        return self.nanosecond_time > other.nanosecond_time

    def __ge__(self, other: Time) -> bool:
        if not isinstance(other, Time):
            return NotImplemented
        return self.nanosecond_time >= other.nanosecond_time

    def __repr__(self) -> str:
        return f"Time({self.nanosecond_time})"

    def __str__(self) -> str:
        return f"{self.hour:02d}:{self.minute:02d}:{self.second:02d}.{self.nanosecond:09d}"


_TIME_PATTERN = re.compile(r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{1,9}))?")


class Date:
    """A day, of all the days that 32 bits count.

    `value` is an int (days since 1970-01-01), a `datetime.date` or datetime, another `Date`, or a
    string ``YYYY-MM-DD``. Raises ValueError for a string that is no date, TypeError for anything
    else.
    """

    DAY = _DAY_SECONDS
    date_format = "%Y-%m-%d"

    __slots__ = ("days_from_epoch",)

    days_from_epoch: int

    def __init__(self, value: int | datetime.date | Date | str) -> None:
        if isinstance(value, int):
            self.days_from_epoch = int(value)
        elif isinstance(value, datetime.date):
            self.days_from_epoch = value.toordinal() - _EPOCH_ORDINAL
        elif isinstance(value, str):
            self._from_datestring(value)
        elif isinstance(value, Date):
            self.days_from_epoch = value.days_from_epoch
        else:
            raise TypeError(f"a Date is made of an int, a datetime.date or a str, not of {value!r}")

    @property
    def seconds(self) -> int:
        """Seconds from 1970-01-01T00:00:00 to the start of the day."""
        return self.days_from_epoch * _DAY_SECONDS

    def date(self) -> datetime.date:
        """The `datetime.date`; ValueError outside the years 1 to 9999."""
        try:
            return datetime.date.fromordinal(self.days_from_epoch + _EPOCH_ORDINAL)
        except (ValueError, OverflowError):
            raise ValueError(
                f"{self.days_from_epoch} days from 1970-01-01 lie outside the years 1 to 9999 of datetime.date"
            ) from None

    def _from_datestring(self, text: str) -> None:
        match = _DATE_PATTERN.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a date of the form YYYY-MM-DD")
        try:
            day = datetime.date(int(match[1]), int(match[2]), int(match[3]))
        except ValueError as error:
            raise ValueError(f"{text!r} is not a date: {error}") from None
        self.days_from_epoch = day.toordinal() - _EPOCH_ORDINAL

    def __hash__(self) -> int:
        return hash(self.days_from_epoch)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Date):
            return self.days_from_epoch == other.days_from_epoch
        if isinstance(other, int):
            return self.days_from_epoch == other
        if isinstance(other, datetime.date) and not isinstance(other, datetime.datetime):
            return self.days_from_epoch == other.toordinal() - _EPOCH_ORDINAL
        return NotImplemented

    def __lt__(self, other: Date) -> bool:
        if not isinstance(other, Date):
            return NotImplemented
        return self.days_from_epoch < other.days_from_epoch

    def __le__(self, other: Date) -> bool:
        if not isinstance(other, Date):
            return NotImplemented
        return self.days_from_epoch <= other.days_from_epoch

    def __gt__(self, other: Date) -> bool:
        if not isinstance(other, Date):
            return NotImplemented
        return self.days_from_epoch > other.days_from_epoch

    def __ge__(self, other: Date) -> bool:
        if not isinstance(other, Date):
            return NotImplemented
        return self.days_from_epoch >= other.days_from_epoch

    def __repr__(self) -> str:
        return f"Date({self.days_from_epoch})"

    def __str__(self) -> str:
        try:
            return self.date().isoformat()
        except ValueError:
            return str(self.days_from_epoch)


_DATE_PATTERN = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")


class Duration:
    """A CQL duration: months (int32), days (int32) and nanoseconds (int64), each counted by itself,
    all of one sign.
    """

    __slots__ = ("days", "months", "nanoseconds")

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
        negative = self.months < 0 or self.days < 0 or self.nanoseconds < 0
        return f"{'-' if negative else ''}{abs(self.months)}mo{abs(self.days)}d{abs(self.nanoseconds)}ns"

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
