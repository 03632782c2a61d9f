"""Converts names of classes to names of tables and types."""

from __future__ import annotations

import re

# Servers refuse longer table names.
MOST_CHARACTERS = 48  # maximum length of a table name

# Where an underscore is inserted: between a lower-case and an upper-case letter. A digit is
# neither. This is cassandra-driver's rule: with another rule, models would not find the tables that
# were created with cassandra-driver.
_HUMP = re.compile(r"([a-z])([A-Z])")


def snake_case(name: str) -> str:
    """Return the table name for a class name.

    ``ExampleModel`` becomes ``example_model``; a longer name is cut to its last 48 characters,
    without leading underscores.
    """
    return _HUMP.sub(r"\1_\2", name)[-MOST_CHARACTERS:].lower().lstrip("_")
