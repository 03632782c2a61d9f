"""Test the operators of filters, which are found by their symbols."""

from __future__ import annotations

import pytest

from cassandra.cqlengine import operators
from cassandra.cqlengine.operators import (
    BaseQueryOperator,
    BaseWhereOperator,
    EqualsOperator,
    GreaterThanOperator,
    OpMapMeta,
    QueryOperatorException,
)

SYMBOLS = {
    "EQ": "=",
    "NE": "!=",
    "IN": "IN",
    "GT": ">",
    "GTE": ">=",
    "LT": "<",
    "LTE": "<=",
    "CONTAINS": "CONTAINS",
    "LIKE": "LIKE",
    "IS NOT NULL": "IS NOT NULL",
}


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_each_symbol_has_its_operator(symbol: str) -> None:
    """`get_operator` returns the operator class for a symbol in upper or lower case."""
    for name in (symbol, symbol.lower()):
        operator_class = BaseWhereOperator.get_operator(name)
        assert operator_class.symbol == symbol
        assert str(operator_class()) == SYMBOLS[symbol]


def test_unknown_symbols_are_refused() -> None:
    """The error for an unknown symbol lists the known symbols."""
    with pytest.raises(QueryOperatorException, match=r"foo doesn't map .*; there are contains"):
        BaseWhereOperator.get_operator("foo")


def test_operators_with_the_same_cql_are_equal() -> None:
    """Operators with the same CQL are equal and have the same hash."""
    assert EqualsOperator() == EqualsOperator()
    assert EqualsOperator() != GreaterThanOperator()
    assert EqualsOperator() != "="
    assert len({EqualsOperator(), EqualsOperator(), GreaterThanOperator()}) == 2


def test_operators_of_another_base_class_are_not_found() -> None:
    """`get_operator` of a base class finds only the operators of this base class."""

    class OtherOperators(BaseQueryOperator, metaclass=OpMapMeta):
        pass

    class OwnOperator(OtherOperators):
        symbol = "OWN"

    operator: object = OtherOperators.get_operator("own")
    assert operator is OwnOperator
    with pytest.raises(QueryOperatorException):
        BaseWhereOperator.get_operator("own")
    # "EQ" is an operator of `BaseWhereOperator`, and not of this class.
    with pytest.raises(QueryOperatorException):
        OtherOperators.get_operator("eq")


def test_the_table_of_symbols_is_complete() -> None:
    """`opmap` has all symbols, and the base class has no symbol."""
    assert set(BaseWhereOperator.opmap) == set(SYMBOLS)
    assert str(operators.BaseWhereOperator()) == ""
