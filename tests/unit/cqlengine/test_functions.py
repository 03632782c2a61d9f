"""Test CQL functions as values, such as `MinTimeUUID` and `Token`: their CQL and bound values."""

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

# 1500.999 milliseconds after the beginning of 1970. Servers store whole milliseconds: 1500.
MOMENT = datetime.datetime(1970, 1, 1, 0, 0, 1, 500_999)


def context(value: QueryValue) -> dict[str, Any]:
    """Return the bound values by the number of their placeholder."""
    values: dict[str, Any] = {}
    value.update_context(values)
    return values


def test_a_query_value_is_a_placeholder_with_one_value() -> None:
    """A QueryValue is one numbered placeholder with one value."""
    value = QueryValue(5)
    assert str(value) == "%(None)s"
    value.set_context_id(3)
    assert str(value) == "%(3)s"
    assert context(value) == {"3": 5}
    assert value.get_context_size() == 1


@pytest.mark.parametrize("function", [MinTimeUUID, MaxTimeUUID])
def test_time_uuid_functions_bind_milliseconds(function: Any) -> None:
    """The time UUID functions bind milliseconds since 1970.

    This also holds for times with a time zone, and before 1970.
    """
    bound_function = function(MOMENT)
    bound_function.set_context_id(0)
    assert str(bound_function) == f"{function.__name__}(%(0)s)"
    assert context(bound_function) == {"0": 1500}
    utc_plus_1 = datetime.timezone(datetime.timedelta(hours=1))
    same_moment = MOMENT.replace(tzinfo=utc_plus_1) + datetime.timedelta(hours=1)
    assert function(same_moment).bound() == [1500]
    assert function(datetime.datetime(1969, 12, 31, 23, 59, 59)).bound() == [-1000]
    first = datetime.datetime.min.replace(tzinfo=utc_plus_1)  # in UTC, it is in the year 0
    assert function(first).bound() == [-62_135_596_800_000 - 3_600_000]
    with pytest.raises(ValidationError, match="datetime instance is required, but got 5"):
        function(5)


def test_a_token_binds_each_of_its_values() -> None:
    """A token has a placeholder for each of its values, which are converted like column values."""
    token = Token(1, "a")
    token.set_context_id(2)
    assert str(token) == "token(%(2)s, %(3)s)"
    assert context(token) == {"2": 1, "3": "a"}
    assert Token((1, "a")).value == (1, "a")
    assert Token([1, "a"]).value == (1, "a")
    date_time_column = columns.DateTime()
    token = Token(MOMENT)
    token.set_columns([date_time_column])
    assert token.bound() == [date_time_column.to_database(MOMENT)] != [MOMENT]


def test_total_seconds_of_a_timedelta() -> None:
    """The seconds of a timedelta include its days and fractions of a second."""
    assert get_total_seconds(datetime.timedelta(days=1, seconds=0.5)) == 86400.5
