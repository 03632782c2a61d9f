"""Tests of the house must leave nothing open, just as unit tests."""

from __future__ import annotations

from tests.leftovers import nothing_is_left_open, watch

__all__ = ["nothing_is_left_open"]

watch()
