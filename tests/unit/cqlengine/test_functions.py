"""Values that the server computes: their CQL and their bound values."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from cassandra.cqlengine import ValidationError, columns
from cassandra.cqlengine.functions import (
    MaxTimeUUID,
    MinTimeUUID,
    QueryValue,
    Token,
    get_total_seconds,
)

MOMENT = datetime.datetime(1970, 1, 1, 0, 0, 1, 500_999)


def context(value: QueryValue) -> dict[str, Any]:
    values: dict[str, Any] = {}
    value.update_context(values)
    return values


def test_a_query_value_is_a_placeholder_with_one_value() -> None:
    value = QueryValue(5)
    assert str(value) == "%(None)s"
    value.set_context_id(3)
    assert (str(value), context(value), value.get_context_size()) == ("%(3)s", {"3": 5}, 1)


@pytest.mark.parametrize("kind", [MinTimeUUID, MaxTimeUUID])
def test_bounds_of_time_uuids(kind: Any) -> None:
    """The bounds are bound as milliseconds since 1970, also for times with a zone."""
    value = kind(MOMENT)
    value.set_context_id(0)
    assert (str(value), context(value)) == (f"{kind.__name__}(%(0)s)", {"0": 1500})
    zone = datetime.timezone(datetime.timedelta(hours=1))
    aware = kind(MOMENT.replace(tzinfo=zone) + datetime.timedelta(hours=1))
    assert aware.bound() == [1500]
    assert kind(datetime.datetime(1969, 12, 31, 23, 59, 59)).bound() == [-1000]
    with pytest.raises(ValidationError, match="datetime instance is required, but got 5"):
        kind(5)


def test_tokens() -> None:
    """A token of several values has a placeholder for each, and its values are bound as those of
    the columns.
    """
    token = Token(1, "a")
    token.set_context_id(2)
    assert (str(token), context(token)) == ("token(%(2)s, %(3)s)", {"2": 1, "3": "a"})
    assert Token((1, "a")).value == Token([1, "a"]).value == (1, "a")
    moment = columns.DateTime()
    token = Token(MOMENT)
    token.set_columns([moment])
    assert token.bound() == [moment.to_database(MOMENT)] != [MOMENT]


def test_total_seconds_of_a_timedelta() -> None:
    """The number of seconds includes days and fractions."""
    assert get_total_seconds(datetime.timedelta(days=1, seconds=0.5)) == 86400.5
