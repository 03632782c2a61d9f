"""How a query string depends on the keyspace of the connection that executes it.

Each function reads a query string once, from its beginning to its end: query strings may be long,
and hostile.
"""

from __future__ import annotations

from collections.abc import Iterator

from cassandra._patterns import pattern

__all__ = ["FIRST_OF_USE", "is_use", "names_its_keyspace"]

# The characters that a USE statement can begin with.
FIRST_OF_USE = frozenset("uU-/ \t\r\n\f\v")

# No two alternatives can match at the same position, so nothing is tried twice.
_TOKEN = pattern(r"\s+|--[^\n]*|//[^\n]*|/\*|'[^']*'|\"[^\"]*\"|[A-Za-z_0-9]+|[^\sA-Za-z_0-9'\"]")
_WORD = pattern(r"[A-Za-z_0-9]+|\"")

# Statements about these have no keyspace, or name one.
_GLOBAL = frozenset({"keyspace", "role", "user"})
_OF_KEYSPACES = frozenset({"table", "columnfamily", "type"})


class _Unreadable(Exception):
    """A literal or a comment without an end, or a literal between dollar signs."""


def _tokens(text: str) -> Iterator[str]:
    """Yield the tokens of `text` in lower case, without white space and comments.

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
    """Return True if `text` is a USE statement, in any spelling: the server then switches the
    keyspace of the connection that carries it.

    :param text: the query string.
    """
    if text[:1] not in FIRST_OF_USE:
        return False
    try:
        return next(_tokens(text), "") == "use"
    except _Unreadable:
        return False


def names_its_keyspace(text: str) -> bool:
    """Return True if `text` means the same on every connection: it is about one table that it names
    with its keyspace, or about an object without a keyspace. False if that is not certain.

    :param text: the query string.
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
    # Parts of a quoted name that has quotes in it.
    token = next(tokens, "")
    while name.startswith('"') and token.startswith('"'):
        token = next(tokens, "")
    following = next(tokens, "")
    return token == "." and bool(following) and _WORD.match(following) is not None
