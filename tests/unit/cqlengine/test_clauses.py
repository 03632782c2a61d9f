"""Test clauses of the mapper's statements, especially changes of collections and counters."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from cassandra.cqlengine import clauses, functions, operators, statements as s
from cassandra.encoder import ValueSequence
from tests.unit.cqlengine.test_statements import WHERE

OTHER = s.WhereClause("b", operators.InOperator(), [1, 2])


# a clause, its CQL with bind markers, and the values that it binds
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
    # If a collection equals its previous value, there is nothing to assign. An empty collection is
    # assigned as a whole.
    (s.SetUpdateClause("s", {1}, previous={1}), "", []),
    (s.SetUpdateClause("s", {1}, previous={1, 2}), '"s" = "s" - ?', [{2}]),
    (s.SetUpdateClause("s", set(), previous={1}), '"s" = ?', [set()]),
    (s.SetUpdateClause("s", {1}, previous=set()), '"s" = "s" + ?', [{1}]),
    (s.ListUpdateClause("l", [1], operation="remove"), '"l" = "l" - ?', [[1]]),
    (s.ListUpdateClause("l", [1, 2]), '"l" = ?', [[1, 2]]),
    (s.ListUpdateClause("l", [1, 2], previous=[]), '"l" = ?', [[1, 2]]),
    (s.ListUpdateClause("l", [], previous=[1]), '"l" = ?', [[]]),
    (s.ListUpdateClause("l", [2, 1], previous=[1]), '"l" = ? + "l"', [[2]]),
    (s.ListUpdateClause("l", [2, 1], previous=[1, 2]), '"l" = ?', [[2, 1]]),
    (s.ListUpdateClause("l", [1, 2, 3], previous=[1, 3]), '"l" = ?', [[1, 2, 3]]),
    (s.MapUpdateClause("m", {}), '"m" = ?', [{}]),
    (s.MapUpdateClause("m", {}, previous={"a": 1}), '"m" = ?', [{}]),
    (s.MapUpdateClause("m", {}, operation="update"), "", []),
    (s.MapUpdateClause("m", {"a": 1}, previous={"a": 1}), "", []),
    (s.MapUpdateClause("m", {"a": 2}, previous={"a": 1}), '"m"[?] = ?', ["a", 2]),
    (s.MapUpdateClause("m", ["a"], operation="remove"), '"m" = "m" - ?', [{"a"}]),
    (s.CounterUpdateClause("c", 5, previous=5), '"c" = "c" + ?', [0]),
    (s.AssignmentClause("a", 5), '"a" = ?', [5]),
    (s.AssignmentClause("a", None), '"a" = ?', [None]),
]


@pytest.mark.parametrize(("clause", "text", "bound"), CHANGES, ids=lambda value: str(value)[:40])
def test_changes_of_collections_and_counters(
    clause: s.AssignmentClause, text: str, bound: list[Any]
) -> None:
    """Each change of a collection or counter is a clause with a marker for each bound value."""
    assert clause.prepared() == text
    assert clause.bound() == bound


def test_texts_and_values_of_clauses() -> None:
    """Each clause has the expected CQL with placeholders, CQL to prepare, and bound values."""
    # The clause has no context id, so its placeholder has no number.
    assert str(OTHER) == '"b" IN %(None)s'
    assert str(s.IsNotNull("q")) == '"q" IS NOT NULL'
    moment = datetime.datetime(2020, 1, 1)
    time_clause = s.WhereClause("a", operators.GreaterThanOperator(), functions.MinTimeUUID(moment))
    time_clause.set_context_id(3)
    assert str(time_clause) == '"a" > MinTimeUUID(%(3)s)'
    assert time_clause.bound() == [1577836800000]
    token_clause = s.WhereClause(
        'token("a", "b")', operators.EqualsOperator(), functions.Token(1, 2), quote_field=False
    )
    assert token_clause.prepared() == 'token("a", "b") = token(?, ?)'
    assert WHERE == s.WhereClause("a", operators.EqualsOperator(), 5) != OTHER
    assert str(s.InQuoter([1, "a"])) == "(1, 'a')"


# -- the two forms of CQL --------------------------------------------------------------------------


def documented(clause: s.BaseClause, first: int) -> tuple[str, dict[str, Any]]:
    """Return the clause's CQL with numbered placeholders, and a dict of its values by number.

    :param first: the number of the clause's first placeholder.
    """
    context: dict[str, Any] = {}
    clause.set_context_id(first)
    clause.update_context(context)
    return str(clause), context


@pytest.mark.parametrize(
    ("clause", "text", "context"),
    [
        (s.AssignmentClause("a", 5), '"a" = %(4)s', {"4": 5}),
        (
            s.MapUpdateClause("m", {"a": 1}, previous={"b": 3}),
            '"m"[%(4)s] = %(5)s, "m"[%(6)s] = %(7)s',
            {"4": "a", "5": 1, "6": "b", "7": None},
        ),
        (s.IsNotNullClause("a"), '"a" IS NOT NULL', {}),
        (s.FieldDeleteClause("a"), '"a"', {}),
        (
            s.MapDeleteClause("m", {"a": 1}, previous={"a": 1, "b": 2, "c": 3}),
            '"m"[%(4)s], "m"[%(5)s]',
            {"4": "b", "5": "c"},
        ),
        (clauses.AnnClause("v", [0.5]), '"v" ANN OF %(4)s', {"4": [0.5]}),
        (s.ConditionalClause("a", 5), '"a" = %(4)s', {"4": 5}),
        (
            s.ConditionalClause("a", 5, operators.GreaterThanOperator()),
            '"a" > %(4)s',
            {"4": 5},
        ),
    ],
)
def test_markers_are_numbered_from_the_clauses_first_number(
    clause: s.BaseClause, text: str, context: dict[str, Any]
) -> None:
    """Placeholders are numbered from the clause's context id on."""
    assert documented(clause, 4) == (text, context)
    assert clause.get_context_size() == len(context)


@pytest.mark.parametrize(
    "clause",
    [
        s.WhereClause("a", operators.InOperator(), [1, 2]),
        s.ConditionalClause("a", [1, 2], operators.InOperator()),
    ],
    ids=["where", "if"],
)
def test_only_the_documented_form_of_in_has_parentheses(clause: Any) -> None:
    """Only the CQL with placeholders has parentheses for IN; the CQL to prepare has one marker.

    The marker is bound to the list. The placeholder is for a `ValueSequence`, which is rendered as
    "(1, 2)".
    """
    assert clause.prepared() == '"a" IN ?'
    assert clause.bound() == [[1, 2]]
    (values,) = clause.context()
    assert isinstance(values, ValueSequence)
    assert list(values) == [1, 2]


def test_without_a_number_the_values_count_from_zero() -> None:
    """Without a context id, the values are numbered from 0."""
    context: dict[str, Any] = {}
    s.AssignmentClause("a", 5).update_context(context)
    assert context == {"0": 5}


def test_names_are_quoted_unless_the_field_is_an_expression() -> None:
    """Column names are quoted, but an expression with `quote_field=False` is not."""
    equals = operators.EqualsOperator()
    assert s.WhereClause('a"b', equals, 1).prepared() == '"a""b" = ?'
    assert s.WhereClause("max(a)", equals, 1, quote_field=False).prepared() == "max(a) = ?"
    assert repr(s.AssignmentClause("a", 5)) == '<AssignmentClause "a" = %(None)s>'


def test_an_insert_has_the_column_and_the_marker() -> None:
    """`insert_tuple` returns the column's name and the number of its placeholder."""
    clause = s.AssignmentClause("a", 5)
    clause.set_context_id(2)
    assert clause.insert_tuple() == ("a", 2)


# -- comparison ------------------------------------------------------------------------------------


def test_clauses_are_equal_if_they_mean_the_same() -> None:
    """Clauses are equal if their class, column, operator and value are equal."""
    equals, greater = operators.EqualsOperator(), operators.GreaterThanOperator()
    assert s.AssignmentClause("a", 1) == s.AssignmentClause("a", 1)
    assert s.AssignmentClause("a", 1) != s.AssignmentClause("b", 1)
    assert s.AssignmentClause("a", 1) != s.AssignmentClause("a", 2)
    assert s.AssignmentClause("a", 1) != s.ConditionalClause("a", 1)
    assert s.WhereClause("a", equals, 1) == s.WhereClause("a", equals, 1)
    assert s.WhereClause("a", equals, 1) != s.WhereClause("a", greater, 1)
    assert s.WhereClause("a", equals, 1) != s.WhereClause("a", equals, 2)
    assert s.WhereClause("a", equals, 1) != "a = 1"
    with pytest.raises(TypeError, match="unhashable"):
        hash(s.AssignmentClause("a", 1))


def test_quoted_values_are_equal_if_their_values_are() -> None:
    """Instances of ValueQuoter are equal if their values are equal."""
    assert s.ValueQuoter(1) == s.ValueQuoter(1)
    assert s.ValueQuoter(1) != s.ValueQuoter(2)
    assert s.ValueQuoter(1) != 1
    assert str(s.ValueQuoter("a")) == "'a'"


def test_statements_of_different_cql_have_different_shapes() -> None:
    """Clauses with different CQL have different shapes.

    The shape of a clause determines which prepared statement is used.
    """
    equals, greater = operators.EqualsOperator(), operators.GreaterThanOperator()
    moment = functions.MinTimeUUID(datetime.datetime(2020, 1, 1))
    different = [
        s.WhereClause("a", equals, 1),
        s.WhereClause("b", equals, 1),
        s.WhereClause("a", greater, 1),
        s.WhereClause("a", equals, 1, quote_field=False),
        s.WhereClause("a", greater, moment),
        s.WhereClause("a", equals, functions.Token(1, 2)),
        s.WhereClause("a", equals, functions.Token(1, 2, 3)),
    ]
    assert len({clause.shape() for clause in different}) == len(different)
    # These clauses differ only in their values, so their CQL and their shapes are equal.
    assert s.WhereClause("a", equals, 1).shape() == s.WhereClause("a", equals, 2).shape()
    in_operator = operators.InOperator()
    in_one, in_two = (s.WhereClause("a", in_operator, values) for values in ([1], [1, 1]))
    assert in_one.shape() == in_two.shape()


def test_a_relation_needs_an_operator_object() -> None:
    """A WhereClause refuses an operator that is not an operator object."""
    operator: Any = "="
    with pytest.raises(s.StatementException, match="operator must be of type"):
        s.WhereClause("a", operator, 1)


@pytest.mark.parametrize(
    ("clause", "is_assignment"),
    [
        (s.MapUpdateClause("m", {"a": 1}), True),
        (s.MapUpdateClause("m", {"a": 1}, previous={}), False),
        (s.MapUpdateClause("m", {"a": 1}, operation="update"), False),
    ],
)
def test_a_map_is_assigned_as_a_whole_if_its_old_value_is_not_known(
    clause: s.MapUpdateClause, is_assignment: bool
) -> None:
    """A map is assigned as a whole if its previous value is unknown."""
    assert clause.is_assignment() is is_assignment


def test_keys_of_an_unknown_map_are_not_deleted() -> None:
    """`MapDeleteClause` deletes only keys that the previous value has and the new value lacks.

    Without a previous value, there are no such keys.
    """
    assert s.MapDeleteClause("m", {"a": 1}).bound() == []
    assert s.MapDeleteClause("m", value=None, previous={"a": 1}).bound() == ["a"]


def test_the_clauses_of_collections_have_a_public_table() -> None:
    """`type_map`, a public name of cassandra-driver, has the clause for each collection type."""
    type_map = s.ContainerUpdateTypeMapMeta.type_map
    assert type_map["set"] == s.SetUpdateClause
    assert type_map["list"] == s.ListUpdateClause
    assert type_map["map"] == s.MapUpdateClause
