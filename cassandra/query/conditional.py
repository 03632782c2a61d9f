"""Recognizes lightweight transactions by their CQL, for servers that do not mark them.

ScyllaDB marks lightweight transactions when it prepares them, but Cassandra does not.
"""

from __future__ import annotations

import re

from cassandra._patterns import pattern

_IF = pattern(r"\bif\b", re.IGNORECASE)
# Matches text in which the word IF is not a condition: comments, literals and quoted names.
_OTHER = pattern(
    r"--[^\n]*|//[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$\$.*?\$\$", re.DOTALL
)
# Matches the beginning of statements that can have a condition. CREATE and DROP also have IF (NOT)
# EXISTS, but they are not lightweight transactions.
_CHANGES = pattern(r"\s*(?:insert|update|delete|begin)\b", re.IGNORECASE)


def is_conditional(text: str) -> bool:
    """Return True if `text` is an INSERT, UPDATE, DELETE or BATCH with ``IF``."""
    # Most statements end here. IF is a reserved word, so it cannot be an unquoted name.
    if _IF.search(text) is None:
        return False
    bare = _OTHER.sub(" ", text)
    return _CHANGES.match(bare) is not None and _IF.search(bare) is not None
