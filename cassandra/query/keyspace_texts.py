"""How the text of a statement depends on the keyspace of the connection that executes it.

Each function reads a text once, from its beginning to its end: texts may be long, and hostile.
"""

from __future__ import annotations

from collections.abc import Iterator

from cassandra._patterns import pattern

__all__ = ["FIRST_OF_USE", "is_use", "names_its_keyspace"]

# The first characters that the text of a USE can have.
FIRST_OF_USE = frozenset("uU-/ \t\r\n\f\v")

# No alternative can match what another one matches, so nothing is tried twice.
_TOKEN = pattern(r"\s+|--[^\n]*|//[^\n]*|/\*|'[^']*'|\"[^\"]*\"|[A-Za-z_0-9]+|[^\sA-Za-z_0-9'\"]")
_WORD = pattern(r"[A-Za-z_0-9]+|\"")

# What is said about is not in a keyspace, or names one.
_GLOBAL = frozenset({"keyspace", "role", "user"})
_OF_KEYSPACES = frozenset({"table", "columnfamily", "type"})


class _Unreadable(Exception):
    """A literal or a comment without an end, or a literal between dollar signs."""


def _tokens(text: str) -> Iterator[str]:
    """Yield the tokens of `text`, without white space and comments; words in small letters.

    A quoted name with a quote in it comes as several tokens.
    """
    position, end = 0, len(text)
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise _Unreadable
        token = match[0]
        position = match.end()
        if token == "/*":
            position = text.find("*/", position) + 2
            if position < 2:
                raise _Unreadable
        elif token == "$":
            raise _Unreadable
        elif not token.isspace() and not token.startswith(("--", "//")):
            yield token.lower()


def is_use(text: str) -> bool:
    """Return True if `text` is a USE statement, in any spelling: the server switches the keyspace
    of the connection that it comes on.

    :param text: the text of a statement.
    """
    if text[:1] not in FIRST_OF_USE:
        return False
    try:
        return next(_tokens(text), "") == "use"
    except _Unreadable:
        return False


def names_its_keyspace(text: str) -> bool:
    """Return True if `text` means the same on every connection: it is about one table that it names
    with its keyspace, or about what is in no keyspace. False if that is not certain.

    :param text: the text of a statement.
    """
    tokens = _tokens(text)
    try:
        verb = next(tokens, "")
        if verb in ("select", "delete"):
            return _is_followed(tokens, "from") and _is_qualified(tokens)
        if verb == "insert":
            return next(tokens, "") == "into" and _is_qualified(tokens)
        if verb == "update":
            return _is_qualified(tokens)
        if verb == "truncate":
            return _is_qualified(tokens, skipped=frozenset({"table", "columnfamily"}))
        if verb in ("create", "alter", "drop"):
            kind = next(tokens, "")
            return kind in _GLOBAL or (
                kind in _OF_KEYSPACES
                and _is_qualified(tokens, skipped=frozenset({"if", "not", "exists"}))
            )
        return verb in ("list", "grant", "revoke") and _is_of_roles(tokens)
    except _Unreadable:
        return False


def _is_followed(tokens: Iterator[str], word: str) -> bool:
    return any(token == word for token in tokens)


def _is_of_roles(tokens: Iterator[str]) -> bool:
    return next(tokens, "") in ("roles", "users")


def _is_qualified(tokens: Iterator[str], skipped: frozenset[str] = frozenset()) -> bool:
    """Return True if the next name has a keyspace before it."""
    name = next(tokens, "")
    while name in skipped:
        name = next(tokens, "")
    if not name or _WORD.match(name) is None:
        return False
    # Pieces of a quoted name that has quotes in it.
    token = next(tokens, "")
    while name.startswith('"') and token.startswith('"'):
        token = next(tokens, "")
    following = next(tokens, "")
    return token == "." and bool(following) and _WORD.match(following) is not None
