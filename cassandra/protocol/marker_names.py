"""The names that servers give to bind markers.

Cassandra up to version 5 and ScyllaDB name the marker of ``(a, b) > ?`` "(a,b)", that of ``(a, b)
IN ?`` "in(a,b)", that of each value in ``(a, b) > (?, ?)`` after its column, that of the value in
``m[?] = ?`` "value(m)", that of ``token(a, b) > ?`` "partition key token", and that of ``u.f = ?``
"u.f". Cassandra 6 names them as they are written in CQL: "(a, b)", "in((a, b))", "(a, b)[0]" and
"(a, b)[1]", "m[?]", "token(a, b)", "u.'f'", with double quotes where CQL needs them.
"""

from __future__ import annotations

import re

from cassandra._patterns import pattern

# A name in CQL, with or without double quotes.
_NAME = r'(?:"(?:[^"]|"")+"|\w+)'
_NAMES = rf"\(({_NAME}(?:, {_NAME})*)\)"
_LIST = pattern(rf"in\({_NAMES}\)", re.IGNORECASE)
_TUPLE = pattern(_NAMES)
_ITEM = pattern(rf"{_NAMES}\[(\d+)\]")
_ELEMENT = pattern(rf"({_NAME})\[(?:\?|'(?:[^']|'')*'|-?\d[-+.\w]*)\]")
_FIELD = pattern(rf"({_NAME})\.'((?:[^']|'')*)'")
_TOKEN = pattern(rf"token{_NAMES}")
_LIST_OF_PARTS = pattern(r"in\((.+)\)", re.IGNORECASE | re.DOTALL)


def usual_name(name: str) -> str:
    """Return the name that Cassandra 5 would give to a bind marker; other names unchanged.

    :param name: the name of the marker, from a server of any version.
    """
    if not name.endswith((")", "]", "'")):
        return name
    if _TOKEN.fullmatch(name) is not None:
        return "partition key token"
    match = _LIST.fullmatch(name)
    if match is not None:
        return f"in({','.join(_names_in(match[1]))})"
    match = _TUPLE.fullmatch(name)
    if match is not None:
        return f"({','.join(_names_in(match[1]))})"
    match = _ITEM.fullmatch(name)
    if match is not None:
        names = _names_in(match[1])
        index = int(match[2])
        return names[index] if index < len(names) else name
    match = _LIST_OF_PARTS.fullmatch(name)
    if match is not None:
        return f"in({_usual_part(match[1])})"
    return _usual_part(name)


def usual_names(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the usual names of bind markers; None if all names are usual."""
    usual = tuple(map(usual_name, names))
    return None if usual == names else usual


def _usual_part(name: str) -> str:
    """Return the usual name of an element of a collection or a field; other names unchanged."""
    match = _ELEMENT.fullmatch(name)
    if match is not None:
        return f"value({_names_in(match[1])[0]})"
    match = _FIELD.fullmatch(name)
    if match is not None:
        field = match[2].replace("''", "'")
        return f"{_names_in(match[1])[0]}.{field}"
    return name


def _names_in(text: str) -> list[str]:
    """Return the names in a text such as ``a, "B, c"``, without quotes."""
    return [
        name[1:-1].replace('""', '"') if name.startswith('"') else name
        for name in re.findall(_NAME, text)
    ]
