"""Columns for timestamps, dates, times of day and durations."""

from __future__ import annotations

import datetime
from typing import Any, ClassVar

from cassandra.cqlengine.columns.base import Column, plain, reads_rows_as_they_are
from cassandra.cqlengine.errors import ValidationError
from cassandra.util import Date as DateValue, Duration as DurationValue, Time as TimeValue

__all__ = ["Date", "DateTime", "Duration", "Time"]

_EPOCH = datetime.datetime(1970, 1, 1)
_MILLISECOND = datetime.timedelta(milliseconds=1)


class DateTime(Column[datetime.datetime]):
    """A timestamp in milliseconds. Naive datetimes are UTC, both when they are written and when
    they are read.
    """

    db_type = "timestamp"

    truncate_microseconds: ClassVar[bool] = False
    """Set this to True on the class to have instances drop the microseconds that the database does
    not store.

    """

    def _moment(self, value: Any) -> datetime.datetime:
        # datetime first: it is a subclass of date, and would lose its time below.
        if isinstance(value, datetime.datetime):
            moment = value
        elif isinstance(value, datetime.date):
            moment = datetime.datetime(value.year, value.month, value.day)
        else:
            try:
                # Added to the epoch: fromtimestamp fails for times before 1970 on some systems.
                moment = _EPOCH + datetime.timedelta(seconds=value)
            except (TypeError, ValueError, OverflowError):  # nan raises ValueError
                raise ValidationError(f"{self.label} {value!r} is not a datetime object") from None
        if self.truncate_microseconds:
            # Rounded down as in `to_database`, so that the instance equals the row that is read
            # back.
            moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        return moment

    def validate(self, value: object) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        moment = self._moment(value)
        below = moment.microsecond % 1000
        if below and moment.year < 1970:
            # Rounded towards 1970, as cassandra-driver rounds: existing keys were stored so.
            moment += datetime.timedelta(microseconds=1000 - below)
        return moment

    @reads_rows_as_they_are
    def to_python(self, value: object) -> Any:
        return None if value is None else self._moment(value)

    @plain
    def to_database(self, value: object) -> Any:
        """Return milliseconds since 1970."""
        if value is None:
            return None
        if not isinstance(value, datetime.date):
            raise ValidationError(f"{self.label} {value!r} is not a datetime object")
        moment = self.validate(value)
        if moment.tzinfo is not None:
            moment = moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        # Computed with integers: seconds as a float would round some milliseconds.
        return (moment - _EPOCH) // _MILLISECOND


class Date(Column[DateValue]):
    """A date; the column also accepts `datetime.date`, strings (``2024-01-31``) and days since
    1970.
    """

    db_type = "date"

    def validate(self, value: object) -> Any:
        value = super().validate(value)
        return self.to_python(value)

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
    def to_database(self, value: object) -> Any:
        """Return the days since 1970-01-01, plus 2**31."""
        if value is None:
            return None
        days: int = self.to_python(value).days_from_epoch
        # The wire format is unsigned, with 1970-01-01 in the middle of its range.
        return days + (1 << 31)


class Time(Column[TimeValue]):
    """A time of day in nanoseconds; the column also accepts `datetime.time`, strings and
    nanoseconds.
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
    def to_database(self, value: object) -> Any:
        return self.to_python(value)


class Duration(Column[DurationValue]):
    """A duration of months, days and nanoseconds."""

    db_type = "duration"

    def validate(self, value: object) -> Any:
        value = super().validate(value)
        if value is not None and not isinstance(value, DurationValue):
            raise ValidationError(f"{self.label} {value!r} is not a valid Duration")
        return value
