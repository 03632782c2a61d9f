"""Finds the columns whose values are bound to named markers: ``ssn`` in ``SET ssn = :other``.

Servers describe such a marker by its own name, not by that of the column. Column encryption has to
know the column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from cassandra.query.markers import tokens_of

# A column, or the columns of a tuple.
_Columns: TypeAlias = "str | list[str]"

_OPERATORS = frozenset("=<>!")
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")


class _List(NamedTuple):
    """An open bracket.

    :param columns: what the values in the brackets are compared or assigned to; None if they are
        something else, such as the arguments of a function.
    :param has_rows: True for ``IN (...)``: each value is one for all of the columns.
    :param start: the index of the bracket.
    """

    columns: _Columns | None
    has_rows: bool
    start: int


def columns_of_named_markers(query: str) -> dict[str, set[str]]:
    """Return what the named markers of a statement stand for, by their names.

    The names are those that servers give to ``?`` in the same place: the name of a column,
    ``(a,b)`` for a tuple, and ``in(a)`` or ``in(a,b)`` for a list. Other markers are left out.

    :param query: the query string.
    """
    columns: dict[str, set[str]] = {}
    # Servers fold names without quotes to lower case.
    tokens = [text if text.startswith('"') else text.lower() for _, text in tokens_of(query)]
    lists: list[_List] = []  # the open brackets
    value_number = 0  # how many values precede this one in the innermost bracket
    numbers: list[int] = []  # `value_number` of each bracket around it, outermost first
    starts: dict[int, int] = {}  # the opening brackets by the closing ones
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
            # A marker in an expression, as in ``(:x + 1)``, is not the value.
            elif not lists or tokens[index + 2 : index + 3] not in ([","], [")"]):
                continue
            else:  # a value in brackets: ``VALUES (:x, :y)``, ``a IN (:x, :y)``
                name, has_rows, _ = lists[-1]
                # A bracket of ``IN`` has one value for all columns. In other brackets, each column
                # has a value of its own.
                if isinstance(name, list) and not has_rows:
                    name = name[value_number] if value_number < len(name) else None
            if name is not None:
                text = name if isinstance(name, str) else f"({','.join(name)})"
                columns.setdefault(_unquoted(tokens[index + 1]), set()).add(text)
    return columns


def _list_at(
    tokens: Sequence[str], index: int, lists: Sequence[_List], starts: Mapping[int, int]
) -> _List:
    """Return what a bracket that opens at `index` has.

    :param lists: the open brackets around it.
    :param starts: the opening brackets by the closing ones.
    """
    columns: _Columns | None = None
    has_rows = False
    if tokens[index] == "(" and index > 0:
        before = tokens[index - 1]
        if before in ("(", ","):
            # One of the tuples of ``(a, b) IN ((:x, :y), ...)``.
            if lists and lists[-1].has_rows:
                columns = lists[-1].columns
        else:
            columns = _compared(tokens, index - 1, starts)
            has_rows = before == "in"
    return _List(columns, has_rows, index)


def _compared(tokens: Sequence[str], last: int, starts: Mapping[int, int]) -> _Columns | None:
    """Return what the operator that ends at `last` compares or assigns to; None if there is none.

    :param starts: the opening brackets by the closing ones.
    """
    # ``(a, b) VALUES (:x, :y)`` has the form of a comparison, too.
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
        return [_unquoted(token) for token in tokens[starts[last] + 1 : last] if token != ","]
    # Nothing that we know is assigned in ``m[?] = :x`` and ``n += :x``.
    is_name = tokens[last].startswith('"') or tokens[last].replace("_", "a")[0].isalnum()
    return _unquoted(tokens[last]) if is_name else None


def _unquoted(token: str) -> str:
    """Return a name without its quotes."""
    return token[1:-1].replace('""', '"') if token.startswith('"') else token
