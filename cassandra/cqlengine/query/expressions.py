"""Filters as expressions: ``Model.age > 5``, ``Model.id.in_([1, 2])``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from cassandra._habits import FILTER_COLUMN, add_habits
from cassandra.cqlengine.clauses import AnnClause, WhereClause
from cassandra.cqlengine.errors import CQLEngineException, UnicodeMixin, ValidationError
from cassandra.cqlengine.functions import QueryValue
from cassandra.cqlengine.operators import (
    BaseWhereOperator,
    ContainsOperator,
    EqualsOperator,
    GreaterThanOperator,
    GreaterThanOrEqualOperator,
    InOperator,
    LessThanOperator,
    LessThanOrEqualOperator,
    LikeOperator,
    NotEqualsOperator,
)

if TYPE_CHECKING:
    from cassandra.cqlengine.columns.base import Column


def filter_value(column: Column[Any], operator: BaseWhereOperator, value: object) -> object:
    """Return the value of a filter in the form that is bound.

    :raises CQLEngineException: if `value` is None, or not a list for ``IN``.
    :raises ValidationError: if `column` cannot hold `value`.
    """
    # Servers do not accept null in WHERE. They do accept it in IF, but conditions of IF do not use
    # this function.
    if value is None:
        raise CQLEngineException(
            f"None values on filter are not allowed ({column.label} {operator})"
        )
    if isinstance(value, QueryValue):
        return value
    if isinstance(operator, InOperator):
        values: Any = value
        try:
            # A NumPy array without dimensions has the method `__iter__`, which raises TypeError.
            iterator = None if isinstance(value, (str, bytes)) else iter(values)
        except TypeError:
            iterator = None
        if iterator is None:
            raise CQLEngineException(f"{column.label} IN takes a list of values, not {value!r}")
        items = list(iterator)
        if column.sub_types and any(isinstance(item, (str, bytes)) for item in items):
            raise ValidationError(
                f"{column.label} is a {column.db_type}, and IN compares whole collections: write "
                f"{column.column_name}__contains=value for the rows that have an element, in one "
                "query for each value"
            )
        return [column.to_filter(item) for item in items]
    if isinstance(operator, ContainsOperator):
        elements = column.sub_types
        # CONTAINS on a map compares the map's values. Their column is the last one in `sub_types`.
        return elements[-1].to_filter(value) if elements else value
    return column.to_filter(value)


class AbstractQueryableColumn(UnicodeMixin):
    """Base class of column expressions: comparing such an expression returns a filter."""

    # Have NumPy leave `array == Model.column` to this class. Otherwise it compares each element.
    __array_ufunc__ = None

    def _column(self) -> Any:
        raise NotImplementedError

    def _clause(self, operator: BaseWhereOperator, value: object) -> WhereClause:
        column = self._column()
        return WhereClause(column.db_field_name, operator, filter_value(column, operator, value))

    def __str__(self) -> str:
        return str(self._column().cql)

    def in_(self, item: Iterable[Any]) -> WhereClause:
        """Return the filter ``column IN item``.

        :param item: an iterable of values.
        """
        return self._clause(InOperator(), item)

    def contains_(self, item: object) -> WhereClause:
        """Return the filter ``column CONTAINS item``.

        The filter matches collections with `item` as an element, and maps with `item` as a value.

        :param item: the element or value.
        """
        return self._clause(ContainsOperator(), item)

    def like(self, item: str) -> WhereClause:
        """Return the filter ``column LIKE item``; ``%`` in the pattern matches any characters.

        :param item: the pattern, a string.
        """
        return self._clause(LikeOperator(), item)

    def ann_of(self, vector: object) -> AnnClause:
        """Return an ordering for `order_by`: rows whose vector is nearest to `vector` come first.

        The column needs an index that supports vectors, and the queryset needs a `limit`.

        :param vector: a vector of the column's dimension: a list, or an array.
        :raises CQLEngineException: if the column is not a vector.
        """
        column = self._column()
        if not hasattr(column, "dimension"):
            raise CQLEngineException(f"{column.label} is not a vector: it has no neighbours")
        return AnnClause(column.db_field_name, filter_value(column, EqualsOperator(), vector))

    def __eq__(self, other: object) -> WhereClause:  # type: ignore[override]
        return self._clause(EqualsOperator(), other)

    def __ne__(self, other: object) -> WhereClause:  # type: ignore[override]
        return self._clause(NotEqualsOperator(), other)

    def __gt__(self, other: object) -> WhereClause:
        return self._clause(GreaterThanOperator(), other)

    def __ge__(self, other: object) -> WhereClause:
        return self._clause(GreaterThanOrEqualOperator(), other)

    def __lt__(self, other: object) -> WhereClause:
        return self._clause(LessThanOperator(), other)

    def __le__(self, other: object) -> WhereClause:
        return self._clause(LessThanOrEqualOperator(), other)

    if not TYPE_CHECKING:  # type checkers would otherwise allow these operations

        def _refuse(self, other: object) -> NoReturn:
            raise TypeError(
                f"servers do not calculate with {self._column().label}: read the value, and write "
                "instance.update(column=value). For a counter, write instance.column += 1, and save"
            )

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
        __floordiv__ = __mod__ = __pow__ = __and__ = __xor__ = _refuse

        def __neg__(self) -> NoReturn:
            name = getattr(self._column(), "column_name", "column")
            raise TypeError(f"for a descending order, write order_by({'-' + name!r})")

        def __contains__(self, item: object) -> NoReturn:
            label = self._column().label
            raise TypeError(
                f"Python's `in` is no filter: write {label}.contains_(value) for a collection, or "
                f"{label}.in_([1, 2]) for several values of the column"
            )

        def __getitem__(self, key: object) -> NoReturn:
            raise TypeError(
                f"{self._column().label} is a column of the class: its elements are those of "
                "instances, and servers filter by contains_(value)"
            )

        # Without this line, Python would iterate by calling `__getitem__`.
        __iter__ = None

    # Not hashable: a set or dict compares its elements by `==`, which returns a filter here.
    __hash__ = None  # type: ignore[assignment]


AbstractQueryableColumn.__module__ = "cassandra.cqlengine.query"


class ColumnQueryEvaluator(AbstractQueryableColumn):
    """A column as an attribute of a model's class, for filters: ``Model.age > 5``.

    :param column: the column to compare.
    """

    __slots__ = ("column",)

    def __init__(self, column: Column[Any]) -> None:
        self.column = column

    def _column(self) -> Column[Any]:
        return self.column


ColumnQueryEvaluator.__module__ = "cassandra.cqlengine.models"

add_habits(ColumnQueryEvaluator, FILTER_COLUMN)
