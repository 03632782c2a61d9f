"""The operators of filters and conditions.

In a filter such as ``age__gt=5``, the operator's name follows two underscores. `get_operator`
returns the operator class for this name.
"""

from __future__ import annotations

from typing import Any, ClassVar

from cassandra.cqlengine.errors import UnicodeMixin

__all__ = [
    "BaseQueryOperator", "BaseWhereOperator", "ContainsOperator", "EqualsOperator",
    "GreaterThanOperator", "GreaterThanOrEqualOperator", "InOperator", "IsNotNullOperator",
    "LessThanOperator", "LessThanOrEqualOperator", "LikeOperator", "NotEqualsOperator", "OpMapMeta",
    "QueryOperatorException",
]  # fmt: skip


class QueryOperatorException(Exception):
    """An operator is unknown."""


class OpMapMeta(type):
    """Registers each operator class in the dict `opmap`, with the operator's symbol as key.

    `BaseWhereOperator` and its subclasses share one `opmap`.
    """

    opmap: dict[str, Any]

    def __init__(cls, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> None:
        super().__init__(name, bases, dct)
        # Create the map for the first class that uses this metaclass; all of its subclasses share
        # the map.
        if "opmap" not in dct and not hasattr(cls, "opmap"):
            cls.opmap = {}
        symbol = dct.get("symbol")
        if symbol is not None:
            # Register only classes with a symbol: the others are base classes.
            cls.opmap[symbol] = cls


class BaseQueryOperator(UnicodeMixin):
    """An operator: `symbol` is its name in filters, `cql_symbol` its form in CQL."""

    symbol: ClassVar[str | None] = None
    cql_symbol: ClassVar[str | None] = None
    opmap: ClassVar[dict[str, Any]]

    def __str__(self) -> str:
        return self.cql_symbol or ""

    def __eq__(self, other: object) -> bool:
        # Compare the symbols, because each clause has a separate operator object.
        return isinstance(other, BaseQueryOperator) and self.cql_symbol == other.cql_symbol

    def __hash__(self) -> int:
        return hash(self.cql_symbol)

    @classmethod
    def get_operator(cls, symbol: str) -> type[BaseWhereOperator]:
        """Return the operator class named `symbol`, in upper or lower case.

        :param symbol: such as ``GT``.
        :raises QueryOperatorException: if the operator is unknown.
        """
        operator: type[BaseWhereOperator] | None = cls.opmap.get(symbol.upper())
        if operator is None:
            symbols = ", ".join(sorted(name.lower() for name in cls.opmap))
            raise QueryOperatorException(
                f"{symbol} doesn't map to a QueryOperator; "
                f"{_OTHER_OPERATORS.get(symbol.lower(), f'there are {symbols}')}"
            )
        return operator


# What to write instead of operators that Django has and CQL has not.
_OTHER_OPERATORS = {
    **dict.fromkeys(
        ("startswith", "istartswith"),
        "write column__like='text%', with an index of the column that supports LIKE",
    ),
    **dict.fromkeys(
        ("endswith", "iendswith", "icontains", "regex", "iregex", "search", "iexact"),
        "CQL has no such condition: leave rows out in your program",
    ),
    "exact": "write column=value",
    "isnull": "CQL finds no rows by null: leave rows out in your program",
    "range": "write column__gte=first, column__lte=last",
    "not": "write column__ne, or leave rows out in your program",
}


class BaseWhereOperator(BaseQueryOperator, metaclass=OpMapMeta):
    """Base class of the operators of WHERE and IF."""


class EqualsOperator(BaseWhereOperator):
    """The operator ``=``."""

    symbol = "EQ"
    cql_symbol = "="


# As in cassandra-driver, the following operators are subclasses of `=`, although they mean
# something else. To recognize `=`, compare the exact class.
class NotEqualsOperator(EqualsOperator):
    """The operator ``!=``, which servers accept in IF (lightweight transactions) only."""

    symbol = "NE"
    cql_symbol = "!="


class InOperator(EqualsOperator):
    """The operator ``IN``."""

    symbol = "IN"
    cql_symbol = "IN"


class GreaterThanOperator(BaseWhereOperator):
    """The operator ``>``."""

    symbol = "GT"
    cql_symbol = ">"


class GreaterThanOrEqualOperator(BaseWhereOperator):
    """The operator ``>=``."""

    symbol = "GTE"
    cql_symbol = ">="


class LessThanOperator(BaseWhereOperator):
    """The operator ``<``."""

    symbol = "LT"
    cql_symbol = "<"


class LessThanOrEqualOperator(BaseWhereOperator):
    """The operator ``<=``."""

    symbol = "LTE"
    cql_symbol = "<="


class ContainsOperator(EqualsOperator):
    """The operator ``CONTAINS``, for collections."""

    symbol = "CONTAINS"
    cql_symbol = "CONTAINS"


class LikeOperator(EqualsOperator):
    """The operator ``LIKE``, for text columns with an index that supports it."""

    symbol = "LIKE"
    cql_symbol = "LIKE"


class IsNotNullOperator(EqualsOperator):
    """The operator ``IS NOT NULL``, which has no value."""

    symbol = "IS NOT NULL"
    cql_symbol = "IS NOT NULL"
