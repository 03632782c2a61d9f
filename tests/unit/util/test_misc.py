"""Test small helpers of `cassandra.util`."""

from __future__ import annotations

import datetime

from cassandra import util


def test_small_helpers() -> None:
    """The helpers convert nested lists to tuples, and add a timeout to a query string."""
    assert util.list_contents_to_tuple([[1, 2], 3]) == ((1, 2), 3)
    assert util.maybe_add_timeout_to_query("SELECT", None) == "SELECT"
    timeout = datetime.timedelta(seconds=1.5)
    assert util.maybe_add_timeout_to_query("SELECT", timeout) == "SELECT USING TIMEOUT 1500ms"
    assert util.is_little_endian in (True, False)
