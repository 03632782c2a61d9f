"""Finds out whether a query's text has bind markers or placeholders.

``?`` and ``:name`` are bind markers: such a text is prepared, and the server takes the values.
``%s`` and ``%(name)s`` are placeholders, which the client replaces with literals. The scanner skips
strings, quoted names, comments and ``$$`` bodies. Inside braces, a colon after a word or literal
belongs to the literal of a map or a user-defined type (CQL, section "Constants").
"""

from __future__ import annotations

import enum
import re
from functools import lru_cache
from typing import Any

from cassandra._patterns import pattern

__all__ = ["Parameters", "apart", "parameters_of"]

_TOKEN = r"""
      (?P<skip> \s+ | --[^\n]* | //[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<string> '(?:[^']|'')*(?:'|\Z) | "(?:[^"]|"")*(?:"|\Z) | \$\$.*?(?:\$\$|\Z) )
    | (?P<question> \? )
    | (?P<placeholder> %(?:\([^)]*\))?s )
    | (?P<word> \w+ (?: [.+-] \w+ )* )
    | (?P<colon> : )
    | (?P<open> \{ )
    | (?P<close> [\])}] )
    | (?P<other> . )
    """


@lru_cache(maxsize=1)
def _scanner() -> re.Pattern[str]:
    """Compile the pattern at its first use, which many programs never reach."""
    return re.compile(_TOKEN, re.VERBOSE | re.DOTALL)


# After one of these inside braces, a colon separates a key from its value.
_ENDS_A_KEY = frozenset({"string", "word", "close", "question", "marker", "placeholder"})


class Parameters(enum.Enum):
    """The kind of parameters that a text has."""

    NONE = "none"
    MARKERS = "bind markers"
    PLACEHOLDERS = "placeholders"


# Characters of texts whose answer is kept: for many texts that people write, and for a few long
# ones that programs generate. Beyond that, the cache would hold too much memory.
_SHORT = 1 << 13
_LONG = 1 << 20


def parameters_of(query: str) -> Parameters:
    """Return the kind of `query`'s parameters.

    :raises ValueError: if it has both kinds.
    """
    size = len(query)
    return (
        _of_short(query)
        if size <= _SHORT
        else _of_long(query)
        if size <= _LONG
        else _scanned(query)
    )


def _scanned(query: str) -> Parameters:
    markers = placeholders = False
    braces = 0
    before = ""
    for match in _scanner().finditer(query):
        kind = match.lastgroup or "other"
        if kind == "skip":
            continue
        if kind == "open":
            braces += 1
        elif kind == "close":
            braces -= match[0] == "}"
        elif kind == "question":
            markers = True
        elif kind == "placeholder":
            placeholders = True
        elif (kind == "word" and before == "colon") or (
            kind == "string" and before == "colon" and match[0].startswith('"')
        ):
            markers = True
            kind = "marker"
        elif kind == "colon" and braces > 0 and before in _ENDS_A_KEY:
            kind = "separator"
        before = kind
    if markers and placeholders:
        shown = " ".join(query.split())
        raise ValueError(
            "the query has bind markers (? or :name) and placeholders (%s) at once; "
            f"use one kind: {shown[:80]!r}"
        )
    if markers:
        return Parameters.MARKERS
    return Parameters.PLACEHOLDERS if placeholders else Parameters.NONE


_of_short = lru_cache(maxsize=1024)(_scanned)
_of_long = lru_cache(maxsize=8)(_scanned)


# What the operator % of str takes for a conversion; "%%" is none.
_CONVERSION = pattern(r"%(?:%|(?:\(([^)]*)\))?s)")


def apart(template: str, literals: Any) -> str:
    """Return `template` with a blank between a minus and a placeholder of a negative literal.

    Side by side they would begin a comment.

    :param template: a text with placeholders.
    :param literals: a tuple for ``%s``, or a mapping for ``%(name)s``.
    """
    places = []
    count = 0
    for match in _CONVERSION.finditer(template):
        if match[0] == "%%":
            continue
        if isinstance(literals, tuple):
            literal = literals[count] if count < len(literals) else ""
            count += 1
        else:
            literal = literals.get(match[1], "")
        place = match.start()
        if place and template[place - 1] == "-" and str(literal).startswith("-"):
            places.append(place)
    if not places:
        return template
    # In a string or a comment there is nothing to begin.
    for match in _scanner().finditer(template):
        if match.lastgroup in ("string", "skip"):
            places = [place for place in places if not match.start() <= place < match.end()]
    edges = [0, *places, len(template)]
    return " ".join([template[edges[at] : edges[at + 1]] for at in range(len(edges) - 1)])
