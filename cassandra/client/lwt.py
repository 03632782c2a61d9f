"""Answers to conditional statements: the column that says if one was applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["APPLIED", "applied"]

APPLIED = "[applied]"


def applied(rows: Sequence[Any], place: int) -> bool:
    """Return True if all of `rows`, those of a conditional statement or batch, say at `place` that
    it was applied.
    """
    # A conditional batch may answer with several rows; `all` of none would be true.
    return bool(rows) and all(row[place] for row in rows)
