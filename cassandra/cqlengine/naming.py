"""Names of tables and types from names of classes."""

from __future__ import annotations

import re

__all__ = ["MOST_CHARACTERS", "snake_case"]

# Servers refuse longer names of tables.
MOST_CHARACTERS = 48  # of a table's name

# Tables exist under the names that this rule has made: with another rule, models would look for
# other tables.
_HUMP = re.compile(r"([a-z0-9])([A-Z])")


def snake_case(name: str) -> str:
    """Return a class's name as a table's.

    ``ExampleModel`` is ``example_model``; the last 48 characters of a longer one.
    """
    return _HUMP.sub(r"\1_\2", name).lower()[-MOST_CHARACTERS:]
