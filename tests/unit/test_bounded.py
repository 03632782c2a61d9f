"""Tests of caches with a limited number of entries and bytes."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra._bounded import Bounded, text_size


@pytest.mark.parametrize(
    ("key", "size"), [("abc", 3), (b"ab", 2), (("a", (b"bc", "d"), 5), 4), (5, 0), ((), 0)]
)
def test_text_size_adds_up_strings_and_bytes_of_nested_keys(key: Any, size: int) -> None:
    assert text_size(key) == size


def test_keep_returns_the_first_value_of_a_key() -> None:
    """If a key has a value, `keep` must return and keep this value instead of the new one."""
    cache: Bounded[str, int] = Bounded(10, 1000)
    assert cache.get("a") is None
    assert cache.keep("a", 1, 10) == 1
    assert cache.keep("a", 2, 10) == 1
    assert cache.get("a") == 1
    assert list(cache.values()) == [1]
    assert len(cache) == 1
    assert cache.held == 10  # the bytes of the second value do not count


def test_a_cache_with_too_many_entries_is_emptied() -> None:
    cache: Bounded[int, int] = Bounded(2, 1000)
    for key in range(3):
        cache.keep(key, key, 1)
    # Two entries fill the cache, so the third must have emptied it first.
    assert [cache.get(key) for key in range(3)] == [None, None, 2]
    assert cache.held == 1


def test_a_cache_with_too_many_bytes_is_emptied() -> None:
    cache: Bounded[int, int] = Bounded(100, 80)
    for key in range(9):
        cache.keep(key, key, 10)
    # Eight entries of 10 bytes fill the cache, so the ninth (key 8) must have emptied it first.
    assert cache.get(8) == 8
    assert len(cache) == 1
    assert cache.held == 10


def test_a_value_that_is_too_large_is_not_kept() -> None:
    # An entry may have an eighth of the cache's 80 bytes.
    cache: Bounded[str, int] = Bounded(100, 80)
    assert cache.keep("large", 1, 11) == 1
    assert cache.get("large") is None
    assert cache.keep("fits", 2, 10) == 2
    assert cache.get("fits") == 2


def test_selected_entries_can_be_discarded() -> None:
    cache: Bounded[int, int] = Bounded(100, 1000)
    for key in range(4):
        cache.keep(key, key, 1)
    cache.discard(lambda key: key % 2 == 0)
    assert sorted(cache.values()) == [1, 3]
    cache.clear()
    assert (len(cache), cache.held) == (0, 0)
