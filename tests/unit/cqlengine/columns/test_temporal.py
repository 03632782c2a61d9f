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


def test_a_counter_has_the_default_0() -> None:
    """A counter column has the default 0, which is not written."""
    counter = c.Counter()
    assert counter.default == 0
    assert counter.get_default() == 0
    # `has_default` is False, so the default is not written: a counter starts at 0 on the server.
    assert not counter.has_default
    assert c.Integer().value is None
