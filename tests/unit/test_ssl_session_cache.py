"""Tests of the cache of TLS sessions, which keeps them as long as they can be resumed."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.ssl_session_cache import SSLSessionCache

CONTEXT: Any = object()
OTHER: Any = object()


def session(age: float = 0.0, timeout: float = 100.0) -> Any:
    """Return a TLS session of this age that can be resumed for `timeout`, both in seconds."""
    return SimpleNamespace(time=time.time() - age, timeout=timeout)


def test_a_session_is_returned_for_its_context_until_it_expires() -> None:
    cache = SSLSessionCache()
    fresh_session = session()
    cache.put("a", CONTEXT, fresh_session)
    assert cache.get("a", CONTEXT) is fresh_session
    assert cache.get("b", CONTEXT) is None
    assert cache.get("a", OTHER) is None
    # The session belongs to another context, so the cache must have dropped it.
    assert len(cache) == 0
    # The session is older than its timeout.
    cache.put("a", CONTEXT, session(age=101))
    assert cache.get("a", CONTEXT) is None
    assert len(cache) == 0


def test_a_session_is_fresh_during_the_first_half_of_its_lifetime() -> None:
    """Sessions have a lifetime of 100 s here, so one is fresh at 40 s, but not at 60 s."""
    cache = SSLSessionCache()
    assert not cache.is_fresh("a")
    cache.put("a", CONTEXT, session(age=40))
    assert cache.is_fresh("a")
    cache.put("a", CONTEXT, session(age=60))
    assert not cache.is_fresh("a")


def test_a_full_cache_drops_the_least_recently_used_session() -> None:
    cache = SSLSessionCache(2)
    for key in "ab":
        cache.put(key, CONTEXT, session())
    # "a" was now used later than "b".
    cache.get("a", CONTEXT)
    cache.put("c", CONTEXT, session())
    assert [cache.get(key, CONTEXT) is not None for key in "abc"] == [True, False, True]
    cache.put("a", CONTEXT, session())
    cache.put("d", CONTEXT, session())
    assert [cache.get(key, CONTEXT) is not None for key in "acd"] == [True, False, True]


def test_an_empty_cache_is_true() -> None:
    cache = SSLSessionCache(5)
    assert bool(cache)
    cache.put("a", CONTEXT, session())
    assert repr(cache) == "<SSLSessionCache: 1 of at most 5 sessions>"
    cache.clear()
    assert len(cache) == 0


@pytest.mark.parametrize(("size", "error"), [(0, ValueError), (True, TypeError), ("5", TypeError)])
def test_sizes(size: Any, error: type[Exception]) -> None:
    """The size of the cache must be a positive integer."""
    with pytest.raises(error, match="max_size"):
        SSLSessionCache(size)
