"""Log lines are limited in frequency."""

from __future__ import annotations

import pytest

from cassandra.util.intervals import OncePerInterval


def test_once_in_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    brake = OncePerInterval(10)
    assert [brake.is_due() for _ in range(3)] == [True, False, False]
    assert brake.missed == 2
    now[0] = 109.9
    assert not brake.is_due()
    now[0] = 110.0
    assert (brake.missed, brake.is_due(), brake.missed) == (3, True, 0)


def test_the_clock_of_a_cluster() -> None:
    now = [5.0]
    brake = OncePerInterval(10, lambda: now[0])
    assert [brake.is_due(), brake.is_due()] == [True, False]
    now[0] = 15.0
    assert brake.is_due()
