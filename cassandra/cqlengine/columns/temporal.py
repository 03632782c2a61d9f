"""Columns for timestamps, dates, times of day and durations."""

from __future__ import annotations

import datetime
from typing import Any, ClassVar

from cassandra.cqlengine.columns.base import Column, plain, reads_rows_as_they_are
from cassandra.cqlengine.errors import ValidationError
from cassandra.util import (
    Date as DateValue,
    Duration as DurationValue,
    Time as TimeValue,
    ms_timestamp_from_datetime,
)

__all__ = ["Date", "DateTime", "Duration", "Time"]

_EPOCH = datetime.datetime(1970, 1, 1)


class DateTime(Column[datetime.datetime]):
    """A column for timestamps in milliseconds.

    It also accepts `datetime.date`, and seconds since 1970. A naive datetime is in UTC; values of
    rows are naive datetimes in UTC.
    """

    db_type = "timestamp"

    truncate_microseconds: ClassVar[bool] = False
    """Set this to True on the class to drop the microseconds, which the database does not store,
    from the values of instances.
    """

    def _moment(self, value: Any) -> datetime.datetime:
        """Convert a datetime, a date or seconds since 1970 to a datetime."""
        # Check for datetime first, because it is a subclass of date, and the branch for dates drops
        # the time of day.
        if isinstance(value, datetime.datetime):
            if value != value:  # pandas' NaT, which is a datetime
                raise ValidationError(f"{self.label} {value!r} is not a datetime object")
            moment = value
        elif isinstance(value, datetime.date):
            moment = datetime.datetime(value.year, value.month, value.day)
        else:
            try:
                # Add to the epoch, because fromtimestamp fails for times before 1970 on some
                # systems.
                moment = _EPOCH + datetime.timedelta(seconds=value)
            except (TypeError, ValueError, OverflowError):  # nan raises ValueError
                raise ValidationError(f"{self.label} {value!r} is not a datetime object") from None
        if self.truncate_microseconds:
            # Round down to milliseconds, also before 1970, as cassandra-driver does if this setting
            # is on. The value of the instance then equals the value of the row.
            moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        return moment

    def validate(self, value: object) -> Any:
        value = super().validate(value)
        return None if value is None else self._rounded(value)

    def _rounded(self, value: Any) -> datetime.datetime:
        """Convert a datetime, date or number of seconds since 1970 to the stored datetime."""
        moment = self._moment(value)
        microseconds = moment.microsecond % 1000
        # Ask for the milliseconds in UTC: near 1970, the year depends on the time zone.
        if microseconds and ms_timestamp_from_datetime(moment) < 0:
            # Round towards 1970, as cassandra-driver does. With another rounding, a filter by a key
            # would not find rows that cassandra-driver has written.
            return _later(moment, datetime.timedelta(microseconds=1000 - microseconds))
        return moment

    @reads_rows_as_they_are
    def to_python(self, value: object) -> datetime.datetime | None:
        return None if value is None else self._moment(value)

    @plain
    def to_database(self, value: object) -> object:
        """Return milliseconds since 1970."""
        if value is None:
            return None
        # `datetime.datetime` is a subclass of `datetime.date`, so this accepts both.
        if not isinstance(value, datetime.date):
            raise ValidationError(f"{self.label} {value!r} is not a datetime object")
        return ms_timestamp_from_datetime(self._rounded(value))


def _later(moment: datetime.datetime, difference: datetime.timedelta) -> datetime.datetime:
    """Return the datetime after a difference of less than a millisecond."""
    # `+` loses `fold`, which says which one is meant of two equal local times.
    later = (moment + difference).replace(fold=moment.fold)
    offset = moment.utcoffset()
    if offset is None or later.utcoffset() == offset:
        return later
    # The clocks are changed in between. So `+`, which computes with local times, is wrong.
    return moment.replace(tzinfo=datetime.timezone.utc) - offset + difference


class Date(Column[DateValue]):
    """A column for dates.

    It also accepts `datetime.date`, `datetime.datetime`, strings (``2024-01-31``) and days since
    1970-01-01.
    """

    db_type = "date"

    def validate(self, value: object) -> Any:
        value = super().validate(value)
        date = self.to_python(value)
        if date is not None and not -(1 << 31) <= date.days_from_epoch < 1 << 31:
            raise ValidationError(
                f"{self.label} {value!r} is out of the range of date (2**31 days before and after "
                "1970-01-01)"
            )
        return date

    @reads_rows_as_they_are
    def to_python(self, value: Any) -> Any:
        if value is None or isinstance(value, DateValue):
            return value
        if isinstance(value, datetime.datetime):
            value = value.date()
        try:
            return DateValue(value)
        except (TypeError, ValueError, IndexError):
            raise ValidationError(f"{self.label} {value!r} is not a date") from None

    @plain
    def to_database(self, value: object) -> object:
        """Return the days since 1970-01-01, plus 2**31."""
        if value is None:
            return None
        days: int = self.to_python(value).days_from_epoch
        # The wire format is unsigned, with 1970-01-01 in the middle of its range.
        return days + (1 << 31)


class Time(Column[TimeValue]):
    """A column for times of day, in nanoseconds.

    It also accepts `datetime.time`, strings and numbers of nanoseconds.
    """

    db_type = "time"

    def validate(self, value: object) -> Any:
        value = super().validate(value)
        return self.to_python(value)

    @reads_rows_as_they_are
    def to_python(self, value: Any) -> Any:
        if value is None or isinstance(value, TimeValue):
            return value
        try:
            return TimeValue(value)
        except (TypeError, ValueError):
            raise ValidationError(f"{self.label} {value!r} is not a time") from None

    @plain
    def to_database(self, value: object) -> object:
        return self.to_python(value)


class Duration(Column[DurationValue]):
    """A column for durations of months, days and nanoseconds."""

    db_type = "duration"

    def validate(self, value: object) -> Any:
        value = super().validate(value)
        if value is not None and not isinstance(value, DurationValue):
            raise ValidationError(f"{self.label} {value!r} is not a valid Duration")
        if value is not None and not _fits(value):
            raise ValidationError(
                f"{self.label} {value!r} is out of the range of duration, which has months and "
                "days of 32 bits and nanoseconds of 64 bits, all positive or all negative"
            )
        return value


def _fits(value: DurationValue) -> bool:
    """Return True if a duration can be stored."""
    parts = (value.months, value.days, value.nanoseconds)
    return (min(parts) >= 0 or max(parts) <= 0) and all(
        -(1 << (bits - 1)) <= part < 1 << (bits - 1)
        for part, bits in zip(parts, (32, 32, 64), strict=True)
    )
