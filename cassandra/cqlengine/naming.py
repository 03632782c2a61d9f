"""Names of tables and types from names of classes."""

from __future__ import annotations

import re

__all__ = ["MOST_CHARACTERS", "snake_case"]

# Servers refuse longer names of tables.
MOST_CHARACTERS = 48  # of a table's name

# Tables exist under the names that this rule of today's drivers has made: with another rule, models
# would look for other tables. Digits are neither small nor capital letters.
_HUMP = re.compile(r"([a-z])([A-Z])")


def snake_case(name: str) -> str:
    """Return a class's name as a table's.

    ``ExampleModel`` is ``example_model``; the last 48 characters of a longer one, without leading
    underscores.
    """
    return _HUMP.sub(r"\1_\2", name)[-MOST_CHARACTERS:].lower().lstrip("_")
