"""How the text of a statement depends on the keyspace of the connection that executes it."""

from __future__ import annotations

import re

from cassandra._patterns import pattern

__all__ = ["FIRST_OF_USE", "is_use", "names_its_keyspace"]

# White space and comments, as CQL has them.
_BLANK = r"(?:\s|--[^\n]*(?:\n|$)|//[^\n]*(?:\n|$)|/\*.*?\*/)"
_NAME = r'(?:"(?:[^"]|"")+"|[A-Za-z]\w*)'
# Everything up to a keyword that is not in a literal or a quoted name.
_UP_TO = r"(?:'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[^'\"$])*?"

_USE = pattern(rf"{_BLANK}*use(?!\w)", re.IGNORECASE | re.DOTALL)
_COMMENT = pattern(r"--|//|/\*")
_QUALIFIED = pattern(
    rf"\s*(?:select\s{_UP_TO}\bfrom|insert\s+into|update|delete\b{_UP_TO}\bfrom)\s+"
    rf"{_NAME}\s*\.\s*{_NAME}",
    re.IGNORECASE | re.DOTALL,
)
# The first characters that the text of a USE can have.
FIRST_OF_USE = frozenset("uU-/ \t\r\n\f\v")


def is_use(text: str) -> bool:
    """Return True if `text` is a USE statement, in any spelling: the server switches the keyspace
    of the connection that it comes on.

    :param text: the text of a statement.
    """
    return text[:1] in FIRST_OF_USE and _USE.match(text) is not None


def names_its_keyspace(text: str) -> bool:
    """Return True if `text` reads or writes one table that it names with its keyspace, so that it
    means the same on every connection. False if that is not certain.

    :param text: the text of a statement.
    """
    return _COMMENT.search(text) is None and _QUALIFIED.match(text) is not None
