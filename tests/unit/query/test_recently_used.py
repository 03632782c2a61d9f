"""The mapping of prepared texts has a maximum size, and drops the entry that was used least
recently.
"""

from __future__ import annotations

import pytest

from cassandra.query.recently_used import RecentlyUsed


def test_the_least_recently_used_entry_is_dropped() -> None:
    cache: RecentlyUsed[str, int] = RecentlyUsed(3)
    for i, key in enumerate("abc"):
        cache.put(key, i)
    # Now "b" is the entry that was used least recently.
    assert cache.get("a") == 0
    cache.put("d", 3)
    assert cache.get("b") is None
    assert (cache.get("a"), cache.get("c"), cache.get("d")) == (0, 2, 3)
    assert len(cache) == 3


def test_a_value_is_replaced() -> None:
    recent: RecentlyUsed[str, int] = RecentlyUsed(1)
    recent.put("a", 1)
    recent.put("a", 2)
    assert recent.get("a") == 2
    assert len(recent) == 1


def test_size_is_checked() -> None:
    with pytest.raises(ValueError, match="0"):
        RecentlyUsed(0)
