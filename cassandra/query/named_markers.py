"""Finds the columns whose values are bound to named markers: ``ssn`` in ``SET ssn = :other``.

Servers describe such a marker by the marker's name (``other``), not by the column's name (``ssn``).
To encrypt the value, the driver must know the column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from cassandra.query.markers import tokens_of
from cassandra.util.cql_text import unquoted

# A column, or the columns of a tuple.
_Columns: TypeAlias = "str | list[str]"

_OPERATORS = frozenset("=<>!")
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")


class _List(NamedTuple):
    """An opening bracket whose closing bracket has not come yet.

    :param columns: the column or columns with which the values in the brackets are compared, or to
        which the values are assigned. None if there are no such columns, for example for the
        arguments of a function.
    :param has_rows: True for ``IN (...)``: each value in the brackets is for all of the columns.
    :param start: the index of the bracket among the tokens.
    """

    columns: _Columns | None
    has_rows: bool
    start: int


def columns_of_named_markers(query: str) -> dict[str, set[str]]:
    """Return, for each named marker of a statement, the columns of its values.

    A column is written as servers name a ``?`` in the same position: the name of the column,
    ``(a,b)`` for a tuple, and ``in(a)`` or ``in(a,b)`` for a list. Other markers are left out.

    :param query: the query string.
    """
    columns: dict[str, set[str]] = {}
    # Servers convert names without quotes to lower case.
    tokens = [text if text.startswith('"') else text.lower() for _, text in tokens_of(query)]
    lists: list[_List] = []  # the open brackets
    # The number of values before the current token in the innermost open bracket.
    value_number = 0
    numbers: list[int] = []  # `value_number` of each outer bracket, outermost first
    starts: dict[int, int] = {}  # closing index -> opening index
    for index, token in enumerate(tokens):
        if token in _OPENING:
            lists.append(_list_at(tokens, index, lists, starts))
            numbers.append(value_number)
            value_number = 0
        elif token in _CLOSING and lists:
            starts[index] = lists.pop().start
            value_number = numbers.pop()
        elif token == ",":
            value_number += 1
        elif token == ":" and 0 < index < len(tokens) - 1:
            before = tokens[index - 1]
            if before not in ("(", ","):  # the operand of an operator: ``a = :x``, ``a IN :x``
                name = _compared(tokens, index - 1, starts)
                if name is not None and before == "in":
                    name = f"in({name if isinstance(name, str) else ','.join(name)})"
            # A marker in an expression, as in ``(:x + 1)``, is not the column's value.
            elif not lists or tokens[index + 2 : index + 3] not in ([","], [")"]):
                continue
            else:  # a value in brackets: ``VALUES (:x, :y)``, ``a IN (:x, :y)``
                name, has_rows, _ = lists[-1]
                # In a bracket of ``IN``, each value is for all columns. In other brackets, each
                # column has a separate value.
                if isinstance(name, list) and not has_rows:
                    name = name[value_number] if value_number < len(name) else None
            if name is not None:
                text = name if isinstance(name, str) else f"({','.join(name)})"
                columns.setdefault(unquoted(tokens[index + 1]), set()).add(text)
    return columns


def _list_at(
    tokens: Sequence[str], index: int, lists: Sequence[_List], starts: Mapping[int, int]
) -> _List:
    """Return the `_List` of the bracket that opens at `index`.

    :param lists: the open brackets around this bracket.
    :param starts: maps the index of a closing bracket to the index of its opening bracket.
    """
    columns: _Columns | None = None
    has_rows = False
    if tokens[index] == "(" and index > 0:
        before = tokens[index - 1]
        if before in ("(", ","):
            # This is one of the tuples of ``(a, b) IN ((:x, :y), ...)``.
            if lists and lists[-1].has_rows:
                columns = lists[-1].columns
        else:
            columns = _compared(tokens, index - 1, starts)
            has_rows = before == "in"
    return _List(columns, has_rows, index)


def _compared(tokens: Sequence[str], last: int, starts: Mapping[int, int]) -> _Columns | None:
    """Return the columns that the operator ending at `last` compares with or assigns to.

    :param tokens: the tokens of the statement.
    :param last: the index of the operator's last token.
    :param starts: maps the index of a closing bracket to the index of its opening bracket.
    :returns: None if no operator ends at `last`, or if its left side is not a column.
    """
    # ``(a, b) VALUES (:x, :y)`` has the same form as ``(a, b) = (:x, :y)``, so treat VALUES as an
    # operator.
    if tokens[last] in ("in", "values"):
        last -= 1
    else:
        end = last
        while last > 0 and tokens[last] in _OPERATORS:
            last -= 1
        if last == end:
            return None
    if last < 0:
        return None
    if tokens[last] == ")" and last in starts:
        return [unquoted(token) for token in tokens[starts[last] + 1 : last] if token != ","]
    # In ``m[?] = :x`` and ``n += :x``, the value is not the value of a whole column.
    is_name = tokens[last].startswith('"') or tokens[last].replace("_", "a")[0].isalnum()
    return unquoted(tokens[last]) if is_name else None
