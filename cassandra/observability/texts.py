"""Query texts as others may see them: without values, and as an operation on a table."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from cassandra._patterns import pattern

__all__ = ["Shape", "shape_of", "without_values"]

_TOKENS = r"""
      (?P<space> (?: \s | --[^\n]* | //[^\n]* | /\*.*?(?:\*/|\Z) )+ )
    | (?P<value> '(?:[^']|'')*(?:'|\Z) | \$\$.*?(?:\$\$|\Z) )
    | (?P<name> "(?:[^"]|"")*(?:"|\Z) )
    | (?P<uuid> \b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b )
    | (?P<number> (?<![\w"])[-+]?\b\d[\w.]*(?:[eE][-+]?\d+)? )
    | (?P<duration> (?<![\w"])-?\bP(?=T?\d)(?:\d+[YMWD])*(?:T(?:\d+[HMS])*)?\b )
    """

_NAME = r'(?:"(?:[^"]|"")+"|\w+)'

# The table is the first name after the word that stands before tables in each kind of statement.
_TABLE = rf"""
    ^\W*(?:BEGIN\s.*?\bBATCH\b.*?\b)?
    (?:
        (?P<into> INSERT\s+INTO\s+ )
      | (?P<update> UPDATE\s+ )
      | (?P<from> (?:SELECT|DELETE)\b.*?\bFROM\s+ )
      | (?P<truncate> TRUNCATE\s+(?:TABLE\s+|COLUMNFAMILY\s+)? )
      | (?P<schema> (?:CREATE|ALTER|DROP)\s+(?:TABLE|COLUMNFAMILY|MATERIALIZED\s+VIEW)\s+
                    (?:IF\s+(?:NOT\s+)?EXISTS\s+)? )
    )
    (?P<keyspace>{_NAME}\s*\.\s*)?(?P<table>{_NAME})
    """

# Texts up to this length are looked at; the rest of a longer one is left out.
_LONGEST = 1 << 14

_tokens = pattern(_TOKENS, re.VERBOSE | re.DOTALL)
_table = pattern(_TABLE, re.VERBOSE | re.DOTALL | re.IGNORECASE)


class Shape(NamedTuple):
    """A statement as an operation on a table.

    :param operation: its first word, in capitals; BATCH for a batch.
    :param keyspace: the keyspace that the text names, or None.
    :param table: the table, or None.
    :param text: the text, with ? in place of literals.
    """

    operation: str
    keyspace: str | None
    table: str | None
    text: str

    @property
    def summary(self) -> str:
        """Operation and table: the same for all statements of a kind, and so a name for them."""
        if self.table is None:
            return self.operation
        return f"{self.operation} {self.keyspace + '.' if self.keyspace else ''}{self.table}"


def without_values(text: str) -> str:
    """Return a query's text with ? in place of each literal, and without comments.

    Strings, numbers, blobs, UUIDs and durations are literals; names, also those in double quotes,
    stay. White space becomes one space.

    :param text: the text; of one that is longer than 16,384 characters, the beginning.
    """
    cut = text[:_LONGEST]
    found = _tokens.sub(_replaced, cut).strip()
    return found if len(text) <= _LONGEST else found + "..."


def _replaced(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind == "name":
        return match.group()
    return " " if kind == "space" else "?"


@lru_cache(maxsize=1000)
def shape_of(text: str, has_markers: bool = False) -> Shape:
    """Return the shape of a query's text.

    :param text: the text.
    :param has_markers: True for a prepared statement: its text is shown as it is.
    """
    bare = without_values(text)
    words = bare.split(None, 1)
    operation = words[0].upper().rstrip(";") if words else ""
    if operation == "BEGIN":
        operation = "BATCH"
    match = _table.match(bare)
    keyspace = table = None
    if match is not None:
        table = _unquoted(match["table"])
        keyspace = _unquoted(match["keyspace"].rstrip().rstrip(".")) if match["keyspace"] else None
    return Shape(operation, keyspace, table, text if has_markers else bare)


def _unquoted(name: str) -> str:
    name = name.strip()
    # Names without quotes are folded by the server.
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()
