"""Reads from the result of a conditional statement whether the statement was applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

APPLIED = "[applied]"  # the name of the column that says if a lightweight transaction was applied


def applied(rows: Sequence[Any], column_index: int) -> bool:
    """Return True if a conditional statement or batch was applied.

    :param rows: the rows of the result of the statement or batch.
    :param column_index: the index of the column "[applied]".
    """
    # A conditional batch may return several rows. Check that there is at least one row, because
    # `all` returns True for an empty sequence.
    return bool(rows) and all(row[column_index] for row in rows)
