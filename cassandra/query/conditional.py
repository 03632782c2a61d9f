"""Lightweight transactions by their text, for servers that do not mark them.

ScyllaDB marks a prepared one; Cassandra does not.
"""

from __future__ import annotations

import re

from cassandra._patterns import pattern

__all__ = ["is_conditional"]

_IF = pattern(r"\bif\b", re.IGNORECASE)
# What may hold the word without meaning it: comments, texts and quoted names.
_OTHER = pattern(
    r"--[^\n]*|//[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$\$.*?\$\$", re.DOTALL
)
_CHANGES = pattern(r"\s*(?:insert|update|delete|begin)\b", re.IGNORECASE)


def is_conditional(text: str) -> bool:
    """Return True if a statement changes data under a condition: it has ``IF``."""
    # Nearly all texts end here. IF is a reserved word, so a bare name cannot be it.
    if _IF.search(text) is None:
        return False
    bare = _OTHER.sub(" ", text)
    return _CHANGES.match(bare) is not None and _IF.search(bare) is not None
