"""Fails each test of tests/tools that leaves a socket, thread or file open, as in tests/unit."""

from __future__ import annotations

from tests.leftovers import nothing_is_left_open, watch

__all__ = ["nothing_is_left_open"]

watch()
