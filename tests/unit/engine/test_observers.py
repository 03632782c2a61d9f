"""Observers of answers."""

from __future__ import annotations

from typing import Any

from cassandra.engine.observers import Observers
from tests.unit.engine.partners import host

HOST = host("10.0.0.1")


def test_nobody_wants_to_know() -> None:
    observers = Observers()
    assert observers.on_latency is None
    assert observers.on_refusal is None
    assert observers.on_failure is None


def test_one_observer_is_called_directly_and_several_in_turn() -> None:
    observers = Observers()
    seen: list[Any] = []

    def first(host: Any, seconds: float) -> None:
        seen.append(("first", host, seconds))

    def second(host: Any, seconds: float) -> None:
        seen.append(("second", host, seconds))

    observers.observe_latencies(first)
    assert observers.on_latency is first
    observers.observe_latencies(second)
    assert observers.on_latency is not None
    observers.on_latency(HOST, 0.5)
    assert seen == [("first", HOST, 0.5), ("second", HOST, 0.5)]


def test_refusals_and_failures() -> None:
    observers = Observers()
    seen: list[Any] = []
    observers.observe_refusals(lambda host, seconds: seen.append(("refusal", seconds)))
    observers.observe_failures(lambda error, decision: seen.append(("failure", decision)))
    assert observers.on_refusal is not None
    assert observers.on_failure is not None
    observers.on_refusal(HOST, 1.0)
    observers.on_failure(OSError(), 2)
    assert seen == [("refusal", 1.0), ("failure", 2)]
