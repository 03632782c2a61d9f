"""Converts names of classes to names of tables and types."""

from __future__ import annotations

import re

__all__ = ["MOST_CHARACTERS", "snake_case"]

# Servers refuse longer table names.
MOST_CHARACTERS = 48  # maximum length of a table name

# Where an underscore is inserted. This is the rule of cassandra-driver: with any other rule, models
# would not find the tables that it has created. A digit is neither a lower-case nor an upper-case
# letter.
_HUMP = re.compile(r"([a-z])([A-Z])")


def snake_case(name: str) -> str:
    """Return the table name for a class name.

    ``ExampleModel`` becomes ``example_model``; a longer name is cut to its last 48 characters,
    without leading underscores.
    """
    return _HUMP.sub(r"\1_\2", name)[-MOST_CHARACTERS:].lower().lstrip("_")
