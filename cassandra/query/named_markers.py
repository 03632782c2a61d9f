"""Finds the columns whose values are bound to named markers: ``ssn`` in ``SET ssn = :other``.

Servers describe such a marker by its own name, not by that of the column. Column encryption has to
know the column.
"""

from __future__ import annotations

from cassandra.query.markers import tokens_of

_OPERATORS = frozenset("=<>!")


def columns_of_named_markers(query: str) -> dict[str, set[str]]:
    """Return what the named markers of a statement stand for, by their names.

    The names are those that servers give to ``?`` in the same place: the name of a column,
    ``(a,b)`` for a tuple, and ``in(a)`` or ``in(a,b)`` for a list. Other markers are left out.

    :param query: the query string.
    """
    columns: dict[str, set[str]] = {}
    inserted: list[str] = []  # the columns of an INSERT
    tokens = [
        # Servers fold names without quotes to lower case.
        text[1:-1].replace('""', '"') if text.startswith('"') else text.lower()
        for _, text in tokens_of(query)
    ]
    for index, token in enumerate(tokens):
        if token == "into" and "(" in tokens[index:]:
            start = tokens.index("(", index)
            inserted = [name for name in tokens[start + 1 : _end(tokens, start)] if name != ","]
        elif token == "values" and tokens[index + 1 : index + 2] == ["("]:
            end = _end(tokens, index + 1)
            for name, value in zip(inserted, _items(tokens[index + 2 : end]), strict=False):
                if len(value) == 2 and value[0] == ":":
                    columns.setdefault(value[1], set()).add(name)
        elif token == ":" and index >= 2 and index + 1 < len(tokens):
            before = index - 1
            if tokens[before] == "in":
                name = _compared(tokens, before - 1)
                name = f"in{name}" if name.startswith("(") else f"in({name})"
                columns.setdefault(tokens[index + 1], set()).add(name)
            elif tokens[before] in _OPERATORS:
                while before > 0 and tokens[before] in _OPERATORS:
                    before -= 1
                columns.setdefault(tokens[index + 1], set()).add(_compared(tokens, before))
            elif tokens[before] in ("(", ","):
                element = _element(tokens, index)
                if element is not None:
                    columns.setdefault(tokens[index + 1], set()).add(element)
    return columns


def _element(tokens: list[str], index: int) -> str | None:
    """Return what a marker inside brackets stands for: ``a`` in ``a IN (:x)``, ``(a, b) > (:x, ?)``
    and ``(a, b) IN ((:x, ?))``, ``(a,b)`` in ``(a, b) IN (:x)``; None for other brackets.

    :param index: the index of the marker's colon.
    """
    start = _start(tokens, index)
    number = len(_items(tokens[start + 1 : index])) - 1
    is_tuple = True
    # One of the tuples of a list is in brackets of its own.
    while start > 0 and tokens[start - 1] in ("(", ","):
        start = _start(tokens, start)
    before = start - 1
    if before > 0 and tokens[before] == "in":
        is_tuple = _start(tokens, index) != start
        before -= 1
    elif before > 0 and tokens[before] in _OPERATORS:
        while before > 0 and tokens[before] in _OPERATORS:
            before -= 1
    else:
        return None
    name = _compared(tokens, before)
    if not is_tuple or not name.startswith("("):
        return name
    names = name[1:-1].split(",")
    return names[number] if number < len(names) else None


def _start(tokens: list[str], index: int) -> int:
    """Return the index of the bracket that is open before `index`; -1 if there is none."""
    depth = 0
    while index > 0 and depth >= 0:
        index -= 1
        depth += (tokens[index] in (")", "]", "}")) - (tokens[index] in ("(", "[", "{"))
    return index if depth < 0 else -1


def _compared(tokens: list[str], last: int) -> str:
    """Return the column or the tuple of columns that ends at `last`."""
    if tokens[last] != ")" or "(" not in tokens[:last]:
        return tokens[last]
    start = last - 1 - tokens[:last][::-1].index("(")
    return "".join(tokens[start : last + 1])


def _end(tokens: list[str], start: int) -> int:
    """Return the index of the bracket that closes the one at `start`; the number of tokens if there
    is none.
    """
    depth = 0
    for index in range(start, len(tokens)):
        depth += (tokens[index] in ("(", "[", "{")) - (tokens[index] in (")", "]", "}"))
        if depth == 0:
            return index
    return len(tokens)


def _items(tokens: list[str]) -> list[list[str]]:
    """Split a list at its commas, but not at those inside brackets."""
    items: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token in ("(", "[", "{")) - (token in (")", "]", "}"))
        if token == "," and depth == 0:
            items.append([])
        else:
            items[-1].append(token)
    return items
