"""Clauses of statements: changes of collections and counters."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from cassandra.cqlengine import functions, operators, statements as s
from tests.unit.cqlengine.test_statements import WHERE

OTHER = s.WhereClause("b", operators.InOperator(), [1, 2])


CHANGES: list[tuple[s.AssignmentClause, str, list[Any]]] = [
    (s.SetUpdateClause("s", {1, 2}, previous={1}), '"s" = "s" + ?', [{2}]),
    (s.SetUpdateClause("s", {2}, previous={1}), '"s" = "s" + ?, "s" = "s" - ?', [{2}, {1}]),
    (s.SetUpdateClause("s", {1}, operation="add"), '"s" = "s" + ?', [{1}]),
    (s.SetUpdateClause("s", {1}, operation="remove"), '"s" = "s" - ?', [{1}]),
    (s.SetUpdateClause("s", {1}), '"s" = ?', [{1}]),
    (s.ListUpdateClause("l", [1, 2, 3], previous=[2]), '"l" = ? + "l", "l" = "l" + ?', [[1], [3]]),
    (s.ListUpdateClause("l", [1, 2], previous=[1]), '"l" = "l" + ?', [[2]]),
    (s.ListUpdateClause("l", [3], previous=[1]), '"l" = ?', [[3]]),
    (s.ListUpdateClause("l", [1], operation="append"), '"l" = "l" + ?', [[1]]),
    (s.ListUpdateClause("l", [1], operation="prepend"), '"l" = ? + "l"', [[1]]),
    (
        s.MapUpdateClause("m", {"a": 1}, previous={"b": 3}),
        '"m"[?] = ?, "m"[?] = ?',
        ["a", 1, "b", None],
    ),
    (s.MapUpdateClause("m", {"a": 1}, operation="update"), '"m"[?] = ?', ["a", 1]),
    (s.MapUpdateClause("m", {"a": 1}), '"m"[?] = ?', ["a", 1]),
    (s.MapUpdateClause("m", {"a"}, operation="remove"), '"m" = "m" - ?', [{"a"}]),
    (s.CounterUpdateClause("c", 5, previous=3), '"c" = "c" + ?', [2]),
    (s.CounterUpdateClause("c", 5, previous=9), '"c" = "c" - ?', [4]),
    (s.CounterUpdateClause("c", 5), '"c" = "c" + ?', [5]),
    (s.SetUpdateClause("s{}", {1}), '"s{}" = ?', [{1}]),
]


@pytest.mark.parametrize(("clause", "text", "bound"), CHANGES, ids=lambda value: str(value)[:40])
def test_changes_of_collections_and_counters(
    clause: s.AssignmentClause, text: str, bound: list[Any]
) -> None:
    assert clause.prepared() == text
    assert clause.bound() == bound


def test_texts_and_values_of_clauses() -> None:
    """Each clause has its text, its prepared text and its bound values."""
    # The clause has no number for its placeholder yet.
    assert str(OTHER) == '"b" IN %(None)s'
    assert str(s.IsNotNull("q")) == '"q" IS NOT NULL'
    time = datetime.datetime(2020, 1, 1)
    time_clause = s.WhereClause("a", operators.GreaterThanOperator(), functions.MinTimeUUID(time))
    time_clause.set_context_id(3)
    assert str(time_clause) == '"a" > MinTimeUUID(%(3)s)'
    assert time_clause.bound() == [1577836800000]
    token_clause = s.WhereClause(
        'token("a", "b")', operators.EqualsOperator(), functions.Token(1, 2), quote_field=False
    )
    assert token_clause.prepared() == 'token("a", "b") = token(?, ?)'
    assert WHERE == s.WhereClause("a", operators.EqualsOperator(), 5) != OTHER
    assert str(s.InQuoter([1, "a"])) == "(1, 'a')"
