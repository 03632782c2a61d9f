"""Which kind of parameters a query's text has: bind markers for the server, or placeholders for the
client.

``?`` and ``:name`` are bind markers: such a text is prepared. ``%s`` and ``%(name)s`` are
placeholders that the client writes literals at. The scanner looks at neither strings, quoted names,
comments nor ``$$`` bodies. A colon between a word or literal and a value inside braces belongs to
the literal of a map or a user-defined type (CQL, section "Constants").
"""

from __future__ import annotations

import enum
import re
from functools import lru_cache

__all__ = ["Parameters", "parameters_of"]

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
    """Compiled at its first use, which many programs never come to."""
    return re.compile(_TOKEN, re.VERBOSE | re.DOTALL)


# After one of these inside braces, a colon separates a key from its value.
_ENDS_A_KEY = frozenset({"string", "word", "close", "question", "marker", "placeholder"})


class Parameters(enum.Enum):
    """What a text has where its parameters belong."""

    NONE = "none"
    MARKERS = "bind markers"
    PLACEHOLDERS = "placeholders"


# Texts that are remembered: many that people write, few that programs do.
_SHORT = 1 << 13
_LONG = 1 << 20


def parameters_of(query: str) -> Parameters:
    """The kind of `query`'s parameters.

    :raises ValueError: it has both kinds.
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
            f"the query has bind markers (? or :name) and placeholders (%s) at once; use one kind: {shown[:80]!r}"
        )
    if markers:
        return Parameters.MARKERS
    return Parameters.PLACEHOLDERS if placeholders else Parameters.NONE


_of_short = lru_cache(maxsize=1024)(_scanned)
_of_long = lru_cache(maxsize=8)(_scanned)
