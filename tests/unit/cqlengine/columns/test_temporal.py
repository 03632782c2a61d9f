"""Test columns for dates and times, and the default of counter columns."""

from __future__ import annotations

import datetime

import pytest

from cassandra.cqlengine import ValidationError, columns as c


def test_truncated_microseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `truncate_microseconds`, `DateTime.to_python` drops the digits below milliseconds."""
    moment = datetime.datetime(2020, 1, 1, microsecond=123456)
    assert c.DateTime().to_python(moment) == moment
    monkeypatch.setattr(c.DateTime, "truncate_microseconds", True)
    assert c.DateTime().to_python(moment) == datetime.datetime(2020, 1, 1, microsecond=123000)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300, "x", []])
def test_numbers_that_are_not_a_datetime_are_refused(value: object) -> None:
    """A DateTime column refuses numbers that are not a datetime, and other types."""
    with pytest.raises(ValidationError, match="is not a datetime"):
        c.DateTime().validate(value)


def in_zone(moment: str, hours: float) -> datetime.datetime:
    """Return a datetime in UTC, converted to a zone that is some hours ahead of UTC."""
    zone = datetime.timezone(datetime.timedelta(hours=hours))
    return datetime.datetime.fromisoformat(moment).astimezone(zone)


@pytest.mark.parametrize(
    ("moment", "millis"),
    [
        ("1970-01-01T04:30:00.000500+00:00", 16_200_000),
        ("1970-01-01T00:00:00.000999+00:00", 0),
        ("1969-12-31T23:59:59.999500+00:00", 0),
        ("1969-12-31T23:30:00.000500+00:00", -1_799_999),
        ("1969-12-31T23:30:00.001000+00:00", -1_799_999),
    ],
)
@pytest.mark.parametrize("hours", [-12, -5, 0, 1, 14])
def test_time_zones_do_not_change_how_microseconds_are_rounded(
    moment: str, millis: int, hours: float
) -> None:
    """A moment has the same milliseconds in each time zone: it is rounded towards 1970."""
    column = c.DateTime()
    value = in_zone(moment, hours)
    stored = column.validate(value)
    assert stored.utcoffset() == value.utcoffset()
    for form in (value, stored, value.astimezone(datetime.timezone.utc).replace(tzinfo=None)):
        assert column.to_database(form) == millis


class BerlinOf1949(datetime.tzinfo):
    """A time zone whose summer time ends on 1949-10-02: the hour from 2 to 3 is repeated."""

    END = datetime.datetime(1949, 10, 2, 2)

    def utcoffset(self, moment: datetime.datetime | None) -> datetime.timedelta:
        return datetime.timedelta(hours=1) + self.dst(moment)

    def dst(self, moment: datetime.datetime | None) -> datetime.timedelta:
        assert moment is not None
        local = moment.replace(tzinfo=None, fold=0)
        repeated = self.END <= local < self.END + datetime.timedelta(hours=1)
        is_summer = local < self.END or (repeated and not moment.fold)
        return datetime.timedelta(hours=1 if is_summer else 0)

    def tzname(self, moment: datetime.datetime | None) -> str:
        return "Berlin"


def test_rounding_keeps_the_hour_that_is_repeated() -> None:
    """A moment in the hour that is repeated when summer time ends stays in this hour."""
    column, zone = c.DateTime(), BerlinOf1949()
    for local, fold, expected in (
        ("1949-10-02T02:30:00.000500", 0, "1949-10-02T00:30:00.001"),
        ("1949-10-02T02:30:00.000500", 1, "1949-10-02T01:30:00.001"),
        # Half a millisecond before the repeated hour begins again.
        ("1949-10-02T02:59:59.999500", 0, "1949-10-02T01:00:00"),
        ("1949-10-02T02:59:59.999500", 1, "1949-10-02T02:00:00"),
    ):
        value = datetime.datetime.fromisoformat(local).replace(tzinfo=zone, fold=fold)
        for form in (value, column.validate(value)):
            millis = column.to_database(form)
            assert isinstance(millis, int)
            moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=millis)
            assert moment == datetime.datetime.fromisoformat(expected)


def test_datetimes_whose_utc_is_outside_the_years_of_datetimes() -> None:
    """An aware datetime may be in the year 0 or 10000 in UTC."""
    hour = datetime.timedelta(hours=1)
    first = datetime.datetime.min.replace(tzinfo=datetime.timezone(hour))
    last = datetime.datetime.max.replace(tzinfo=datetime.timezone(-hour))
    column = c.DateTime()
    assert column.to_database(first) == -62_135_596_800_000 - 3_600_000
    assert column.to_database(last) == 253_402_300_799_999 + 3_600_000


def test_nat_is_refused() -> None:
    """The value NaT of pandas is a datetime, but not a moment."""
    pandas = pytest.importorskip("pandas")
    column = c.DateTime()
    for function in (column.validate, column.to_python, column.to_database):
        with pytest.raises(ValidationError, match="NaT is not a datetime"):
            function(pandas.NaT)


def test_a_counter_has_the_default_0() -> None:
    """A counter column has the default 0, which is not written."""
    counter = c.Counter()
    assert counter.default == 0
    assert counter.get_default() == 0
    # `has_default` is False, so the default is not written: a counter starts at 0 on the server.
    assert not counter.has_default
    assert c.Integer().value is None
