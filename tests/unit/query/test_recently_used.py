"""Test `RecentlyUsed`, the bounded mapping of prepared statements by their query strings."""

from __future__ import annotations

import pytest

from cassandra.query.recently_used import RecentlyUsed


def test_the_least_recently_used_entry_is_dropped() -> None:
    """When the mapping is full, a new entry replaces the entry that was used least recently."""
    cache: RecentlyUsed[str, int] = RecentlyUsed(3)
    for value, key in enumerate("abc"):
        cache.put(key, value)
    assert cache.get("a") == 0
    # The entry "b" was used least recently, so "d" replaces it.
    cache.put("d", 3)
    assert cache.get("b") is None
    assert cache.get("a") == 0
    assert cache.get("c") == 2
    assert cache.get("d") == 3
    assert len(cache) == 3


def test_a_value_is_replaced() -> None:
    """A second `put` of a key replaces its value."""
    cache: RecentlyUsed[str, int] = RecentlyUsed(1)
    cache.put("a", 1)
    cache.put("a", 2)
    assert cache.get("a") == 2
    assert len(cache) == 1


def test_a_size_of_zero_is_refused() -> None:
    """A mapping of size 0 raises ValueError."""
    with pytest.raises(ValueError, match="0"):
        RecentlyUsed(0)
