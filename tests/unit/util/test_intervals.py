"""Test the classes that limit the rate of log lines."""

from __future__ import annotations

import pytest

from cassandra.util.intervals import OncePerInterval, OncePerKey


def test_is_due_is_true_once_per_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """`is_due` is True once in 10 seconds, and `missed` counts the calls in between."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    limiter = OncePerInterval(10)
    assert [limiter.is_due() for _ in range(3)] == [True, False, False]
    assert limiter.missed == 2
    now[0] = 109.9
    assert not limiter.is_due()
    now[0] = 110.0
    assert limiter.missed == 3
    assert limiter.is_due()
    assert limiter.missed == 0


def test_another_clock_can_be_used() -> None:
    now = [5.0]
    limiter = OncePerInterval(10, lambda: now[0])
    assert [limiter.is_due(), limiter.is_due()] == [True, False]
    now[0] = 15.0
    assert limiter.is_due()


def test_each_key_has_an_interval_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the interval of a key, `missed` returns None; after it, the number of those calls."""
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    limiter = OncePerKey(10, size=2, most_bytes=1000)
    assert [limiter.missed(key) for key in ("a", "b", "a", "a")] == [0, 0, None, None]
    now = 110.0
    assert [limiter.missed(key) for key in ("a", "a", "b")] == [2, None, 0]


def test_the_number_of_remembered_keys_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """If there are too many keys, `OncePerKey` forgets all keys, and allows their lines again."""
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    limiter = OncePerKey(10, size=2, most_bytes=1000)
    assert [limiter.missed(key) for key in ("a", "b", "c", "a", "c")] == [0, 0, 0, 0, None]
    assert len(limiter) == 2
