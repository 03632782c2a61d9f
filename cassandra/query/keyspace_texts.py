"""Finds out whether a query string depends on, or changes, the keyspace of its connection.

Each function reads a query string only once, from its beginning to its end. So the time is linear
in its length, even if an attacker has chosen the query string.
"""

from __future__ import annotations

from collections.abc import Iterator

from cassandra._patterns import pattern

# The characters that a USE statement can begin with.
FIRST_OF_USE = frozenset("uU-/ \t\r\n\f\v")

# No two alternatives can match at the same position, so the pattern never backtracks.
_TOKEN = pattern(r"\s+|--[^\n]*|//[^\n]*|/\*|'[^']*'|\"[^\"]*\"|[A-Za-z_0-9]+|[^\sA-Za-z_0-9'\"]")
_WORD = pattern(r"[A-Za-z_0-9]+|\"")

# Types of objects that CREATE, ALTER and DROP find without a current keyspace.
_GLOBAL = frozenset({"keyspace", "role", "user"})
# Types of objects in a keyspace. If the keyspace is not named, the connection's keyspace applies.
_IN_KEYSPACES = frozenset({"table", "columnfamily", "type"})


class _Unreadable(Exception):
    """The query string cannot be split into tokens.

    The query string has a literal or comment without an end, or a ``$``, which may begin a literal.
    """


def _read_tokens(text: str) -> Iterator[str]:
    """Yield the tokens of `text` in lower case, without white space and comments.

    A quoted name that contains quotes is split there: ``"a""b"`` gives ``"a"`` and ``"b"``.

    :raises _Unreadable: if the rest of `text` cannot be split into tokens.
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
            if position < 2:  # find() returned -1: the comment has no end
                raise _Unreadable
        elif token == "$":  # a string in $$, which may contain anything
            raise _Unreadable
        elif not token.isspace() and not token.startswith(("--", "//")):
            yield token.lower()


def is_use(text: str) -> bool:
    """Return True if `text` is a USE statement, in upper or lower case, even after comments.

    A server that executes a USE statement switches the keyspace of the connection.

    :param text: the query string.
    """
    if text[:1] not in FIRST_OF_USE:
        return False
    try:
        return next(_read_tokens(text), "") == "use"
    except _Unreadable:
        return False


def names_its_keyspace(text: str) -> bool:
    """Return True if `text` has the same meaning, whatever the keyspace of the connection is.

    This is true for a statement that names its tables with their keyspaces, or that concerns
    objects outside keyspaces. Return False if we are not certain.

    :param text: the query string.
    """
    tokens = _read_tokens(text)
    try:
        verb = next(tokens, "")
        if verb in ("select", "delete"):
            return _skip_through(tokens, "from") and _is_qualified(tokens)
        if verb == "insert":
            return next(tokens, "") == "into" and _is_qualified(tokens)
        if verb == "update":
            return _is_qualified(tokens)
        if verb == "truncate":
            return _is_qualified(tokens, skipped=frozenset({"table", "columnfamily"}))
        if verb in ("create", "alter", "drop"):
            object_type = next(tokens, "")
            # Roles, users and keyspaces are not in a keyspace.
            if object_type in _GLOBAL:
                return True
            return (
                object_type in _IN_KEYSPACES
                and _is_qualified(tokens, skipped=frozenset({"if", "not", "exists"}))
                and _source_is_qualified(tokens)
            )
        return verb in ("list", "grant", "revoke") and next(tokens, "") in ("roles", "users")
    except _Unreadable:
        return False


def _skip_through(tokens: Iterator[str], word: str) -> bool:
    """Skip the tokens up to and including `word`; return False if `word` does not occur."""
    return any(token == word for token in tokens)


def _is_qualified(tokens: Iterator[str], skipped: frozenset[str] = frozenset()) -> bool:
    """Return True if the next tokens are ``keyspace.name``.

    :param skipped: words that may come before the name.
    """
    name = next(tokens, "")
    while name in skipped:
        name = next(tokens, "")
    if not name or _WORD.match(name) is None:
        return False
    # If the keyspace's name contains quotes, `_read_tokens` has split it. Skip its other tokens.
    dot = next(tokens, "")
    while name.startswith('"') and dot.startswith('"'):
        dot = next(tokens, "")
    table = next(tokens, "")
    return dot == "." and bool(table) and _WORD.match(table) is not None


def _source_is_qualified(tokens: Iterator[str]) -> bool:
    """Return False if the rest of a statement is ``LIKE name``, without the name's keyspace.

    Cassandra creates a table like another table by ``CREATE TABLE keyspace.name LIKE
    keyspace.name``.
    """
    # If the name of the new table contains quotes, `_read_tokens` has split it. Skip its other
    # tokens.
    token = next(tokens, "")
    while token.startswith('"'):
        token = next(tokens, "")
    return token != "like" or _is_qualified(tokens)
