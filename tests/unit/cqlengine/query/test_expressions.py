"""Comparisons of model columns are filters of querysets; operators convert their values."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from cassandra.cqlengine import CQLEngineException, ValidationError, columns, functions, statements
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.operators import (
    BaseWhereOperator,
    ContainsOperator,
    EqualsOperator,
    InOperator,
)
from cassandra.cqlengine.query.expressions import AbstractQueryableColumn, filter_value


# A model with a column of each kind that filters treat in their own way.
class Row(Model):
    id = columns.Integer(primary_key=True)
    name = columns.Text(db_field="nm")
    tags = columns.Set(columns.Integer)
    parts = columns.Map(columns.Text, columns.Integer)
    near = columns.Vector(columns.Float, 2)


# a function that compares a column, the CQL of the WHERE clause, and the converted value
CLAUSES: list[tuple[Any, str, Any]] = [
    (lambda: Row.id == "1", '"id" = %(0)s', 1),
    (lambda: Row.id != 1, '"id" != %(0)s', 1),
    (lambda: Row.id > 1, '"id" > %(0)s', 1),
    (lambda: Row.id >= 1, '"id" >= %(0)s', 1),
    (lambda: Row.id < 1, '"id" < %(0)s', 1),
    (lambda: Row.id <= 1, '"id" <= %(0)s', 1),
    (lambda: Row.id.in_(["1", 2]), '"id" IN %(0)s', [1, 2]),
    (lambda: Row.name.like("x%"), '"nm" LIKE %(0)s', "x%"),
    (lambda: Row.tags.contains_("1"), '"tags" CONTAINS %(0)s', 1),
    (lambda: Row.parts.contains_("1"), '"parts" CONTAINS %(0)s', 1),
]


@pytest.mark.parametrize(("build", "cql", "value"), CLAUSES, ids=[cql for _, cql, _ in CLAUSES])
def test_comparisons_are_filters(build: Any, cql: str, value: Any) -> None:
    """A comparison of a column is a WHERE clause with the converted value."""
    clause = build()
    clause.set_context_id(0)
    assert str(clause) == cql
    assert clause.value == value


def test_orders_by_distance() -> None:
    """`ann_of` orders rows by the distance to a vector; columns of other types refuse it."""
    clause = Row.near.ann_of([1, 2])
    assert clause.field == "near"
    assert list(clause.value) == [1.0, 2.0]
    with pytest.raises(CQLEngineException, match="name is not a vector: it has no neighbours"):
        Row.name.ann_of([1, 2])


def test_an_expression_has_the_name_of_its_column_and_no_hash() -> None:
    """An expression shows its column's name, and has no hash."""
    assert str(Row.name) == '"nm"'
    with pytest.raises(TypeError, match="unhashable"):
        hash(Row.name)
    with pytest.raises(NotImplementedError):
        AbstractQueryableColumn() == 1  # noqa: B015


def test_values_are_converted_for_their_operator() -> None:
    """`filter_value` converts a filter's value to the type that column and operator need."""

    def converted_value(column: str, operator: BaseWhereOperator, argument: Any) -> Any:
        """Return the value that a filter with this column and operator binds for the argument."""
        return filter_value(Row.__mapping__.columns[column], operator, argument)

    assert converted_value("id", EqualsOperator(), "5") == 5
    assert converted_value("id", InOperator(), ("5", 6)) == [5, 6]
    # The column is not a collection, so the value is sent as it is, and the server will refuse it.
    assert converted_value("id", ContainsOperator(), "x") == "x"
    # A function is passed on unchanged, because it converts its values itself.
    token = functions.Token(1)
    assert converted_value("id", EqualsOperator(), token) is token
    for argument in ("ab", b"ab", 5):
        with pytest.raises(CQLEngineException, match=r"id IN takes a list of values, not"):
            converted_value("id", InOperator(), argument)
    with pytest.raises(CQLEngineException, match=r"None values on filter are not allowed \(.*id ="):
        converted_value("id", EqualsOperator(), argument=None)
    with pytest.raises(ValidationError):
        converted_value("id", EqualsOperator(), "x")
    # IN compares a set column as a whole with each value.
    assert len(converted_value("tags", InOperator(), [{1}, {2}])) == 2
    with pytest.raises(ValidationError, match=r"Row.tags is a set<int>, .* tags__contains=value"):
        converted_value("tags", InOperator(), ["1", "2"])


def test_filters_that_python_drops_are_warned_of() -> None:
    """A filter that Python drops from `a and b` causes a warning when it is deleted.

    Filters are always true, so `a and b` is only the filter b.
    """

    def filter_and_collect(join: Callable[[], Any]) -> None:
        Row.objects(join())
        gc.collect()

    for join in (lambda: Row.id == 1 and Row.name == "a", lambda: 0 < Row.id < 2):
        with pytest.warns(RuntimeWarning, match="the filter on 'id' was dropped") as warned:
            filter_and_collect(join)
        assert warned[0].filename == __file__


def test_filters_that_are_used_after_a_test_for_truth_are_not_warned_of() -> None:
    """A filter that is tested for truth, but also used, causes no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for use in (Row.objects, Row.objects.iff, statements.SelectStatement("t").add_where):
            clause: Any = Row.name == "a"
            if clause:
                use(clause)
            del clause
        gc.collect()


def test_filters_that_or_drops_are_warned_of() -> None:
    """A filter that is joined to another filter with `or` causes a warning.

    Python does not evaluate the second filter, because the first filter is true.
    """
    joins: list[Callable[[], Any]] = [
        lambda: Row.objects(Row.id == 1 or Row.id == 2),
        lambda: Row.objects(*[Row.id > 5 or Row.id < 1]),
        lambda: Row.objects(Row.id == 1 or Row.name == "a"),
    ]
    for join in joins:
        with pytest.warns(RuntimeWarning, match=r"'id' is used alone: .* keeps the fi") as warned:
            join()
        assert warned[0].filename == __file__


def test_or_behind_a_name_and_in_conditions_is_not_warned_of() -> None:
    """There is no warning if `or` joins filters through a variable, or if `all` tests them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given: Any = Row.id == 1
        clause: Any = given or Row.id == 2
        assert clause is given
        # Use the filters. Otherwise there would be a warning that they were dropped.
        if clause or given:
            Row.objects(clause)
        conditions: Any = [Row.name == "a"]
        assert all(conditions)
        Row.objects(*conditions)
        del given, clause, conditions
        gc.collect()


def test_operators_for_bits_say_how_filters_are_joined() -> None:
    """`&` and `|` of filters raise TypeError, which says how to join filters."""
    first: Any = Row.name == "a"
    with pytest.raises(TypeError, match="pass each as an argument"):
        first & (Row.id == 1)
    with pytest.raises(TypeError, match=r"write A\.x\.in_\(\[1, 2\]\)"):
        first | (Row.name == "b")
