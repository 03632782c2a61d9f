"""Log lines are limited in frequency."""

from __future__ import annotations

import pytest

from cassandra.util.intervals import OncePerInterval


def test_is_due_is_true_once_per_interval(monkeypatch: pytest.MonkeyPatch) -> None:
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
