"""Results of conditional statements: the column that says whether they were applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["APPLIED", "applied"]

APPLIED = "[applied]"


def applied(rows: Sequence[Any], column_index: int) -> bool:
    """Return True if all rows of a conditional statement or batch say that it was applied.

    :param column_index: the index of the column "[applied]".
    """
    # A conditional batch may return several rows, but `all` would also be true for no rows.
    return bool(rows) and all(row[column_index] for row in rows)
