"""Finds out whether a query string has bind markers or placeholders.

``?`` and ``:name`` are bind markers: such a query is prepared, and the values are sent to the
server. ``%s`` and ``%(name)s`` are placeholders, which the client replaces with literals. The
scanner skips strings, quoted names, comments and ``$$`` bodies. Inside braces, a colon after a word
or literal belongs to the literal of a map or a user-defined type (CQL, section "Constants").
"""

from __future__ import annotations

import enum
import re
from functools import lru_cache
from typing import Any

from cassandra._patterns import pattern

# A regular expression (with re.VERBOSE) that matches one token. The name of the group that matches
# is the kind of the token.
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
    """Compile the pattern at the first use, because many applications never need it."""
    return re.compile(_TOKEN, re.VERBOSE | re.DOTALL)


# After one of these tokens inside braces, a colon separates a key from its value.
_KEY_ENDS = frozenset({"string", "word", "close", "question", "marker", "placeholder"})


class Parameters(enum.Enum):
    """The kind of parameters in a query string."""

    NONE = "none"
    MARKERS = "bind markers"
    PLACEHOLDERS = "placeholders"


# These limits are numbers of characters. We cache the results for many query strings of up to
# _MAX_SHORT characters, and for few query strings of up to _MAX_LONG, which are usually generated.
# A longer query string is scanned each time, because caching it would need too much memory.
_MAX_SHORT = 1 << 13
_MAX_LONG = 1 << 20


def parameters_of(query: str) -> Parameters:
    """Return the kind of parameters in `query`.

    :raises ValueError: if `query` has bind markers and placeholders.
    """
    size = len(query)
    if size <= _MAX_SHORT:
        return _cached_for_short(query)
    if size <= _MAX_LONG:
        return _cached_for_long(query)
    return _scan(query)


def _scan(query: str) -> Parameters:
    """Return the kind of parameters in `query`, without using a cache."""
    has_markers = has_placeholders = False
    open_braces = 0
    previous_kind = ""
    for match in _scanner().finditer(query):
        token_kind = match.lastgroup or "other"
        if token_kind == "skip":  # white space or a comment
            continue
        if token_kind == "open":
            open_braces += 1
        elif token_kind == "close":
            open_braces -= match[0] == "}"  # this kind of token includes other closing brackets
        elif token_kind == "question":
            has_markers = True
        elif token_kind == "placeholder":
            has_placeholders = True
        elif (token_kind == "word" and previous_kind == "colon") or (
            token_kind == "string" and previous_kind == "colon" and match[0].startswith('"')
        ):
            # A name or a quoted name after a colon is the bind marker ``:name``.
            has_markers = True
            token_kind = "marker"
        elif token_kind == "colon" and open_braces > 0 and previous_kind in _KEY_ENDS:
            # Inside braces, this colon follows a key of a map literal. So the word after it is a
            # value, and not the name of a bind marker.
            token_kind = "separator"
        previous_kind = token_kind
    if has_markers and has_placeholders:
        text = " ".join(query.split())
        raise ValueError(
            "the query has bind markers (? or :name) and placeholders (%s) at once; "
            f"use one kind: {text[:80]!r}"
        )
    if has_markers:
        return Parameters.MARKERS
    return Parameters.PLACEHOLDERS if has_placeholders else Parameters.NONE


def tokens_of(query: str) -> list[tuple[str, str]]:
    """Return the tokens of a query string as (kind, string), without white space and comments."""
    return [
        (match.lastgroup or "other", match[0])
        for match in _scanner().finditer(query)
        if match.lastgroup != "skip"
    ]


# `_scan` with a cache for short queries, and `_scan` with a smaller cache for long queries, which
# need more memory.
_cached_for_short = lru_cache(maxsize=1024)(_scan)
_cached_for_long = lru_cache(maxsize=8)(_scan)


# Matches "%%", the beginning of a placeholder with a name, or another percent sign. In Python, the
# name may have parentheses.
_PERCENT = pattern(r"%(?:(%)|\(([^()]*(?:\([^()]*\)[^()]*)*)\))?")


def placeholder_names(template: str) -> frozenset[str] | None:
    """Return the names of the placeholders of a query string, such as ``%(name)s``.

    :param template: a query string with placeholders.
    :returns: the names; None if they are not certain, because a placeholder has no name, or its
        name has percent signs.
    """
    if len(template) <= _MAX_SHORT:
        return _cached_names(template)
    return _names(template)


def _names(template: str) -> frozenset[str] | None:
    """Return the names of the placeholders of a query string, without using a cache."""
    names = set()
    for match in _PERCENT.finditer(template):
        is_doubled, name = match.groups()
        if is_doubled:
            continue
        if name is None or "%" in name:
            return None
        names.add(name)
    return frozenset(names)


_cached_names = lru_cache(maxsize=1024)(_names)


# Matches a placeholder of str's operator %, or "%%", which means one percent sign.
_CONVERSION = pattern(r"%(?:%|(?:\(([^)]*)\))?s)")


def separate_minus_signs(template: str, literals: Any) -> str:
    """Insert a space between a minus sign and the placeholder of a negative literal.

    ``1 -%s`` with -2 becomes ``1 - %s``: otherwise the two minus signs would begin a comment.

    :param template: a query string with placeholders.
    :param literals: a tuple for ``%s``, or a mapping for ``%(name)s``.
    """
    # Find placeholders after a minus sign that are replaced by a literal with a minus sign.
    positions = []
    literal_index = 0
    for match in _CONVERSION.finditer(template):
        if match[0] == "%%":  # a percent sign, not a placeholder
            continue
        if isinstance(literals, tuple):
            literal = literals[literal_index] if literal_index < len(literals) else ""
            literal_index += 1
        else:
            literal = literals.get(match[1], "")
        position = match.start()
        if position and template[position - 1] == "-" and str(literal).startswith("-"):
            positions.append(position)
    if not positions:
        return template
    # Leave out placeholders inside strings and comments, where minus signs do not begin a comment.
    for match in _scanner().finditer(template):
        if match.lastgroup in ("string", "skip"):
            positions = [
                position for position in positions if not match.start() <= position < match.end()
            ]
    # Split the template at these positions, and join the parts by spaces.
    edges = [0, *positions, len(template)]
    return " ".join([template[edges[index] : edges[index + 1]] for index in range(len(edges) - 1)])
