"""Observers of answers: policies that measure latencies, and metrics that count failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra.metadata.host import Host

__all__ = ["Observers"]

Observer = Callable[["Host", float], None]
FailureObserver = Callable[[BaseException, "int | None"], None]


class Observers:
    """What requests call if somebody wants to know; None costs nothing.

    `on_latency` is called with the host and the seconds of each answer that shows how fast it
    works, `on_refusal` with those of each other error. `on_failure` is called with each error of a
    failed attempt and the retry policy's decision (None if it was not asked).
    """

    __slots__ = ("_latency_observers", "on_failure", "on_latency", "on_refusal")

    def __init__(self) -> None:
        self.on_latency: Observer | None = None
        self.on_refusal: Observer | None = None
        self.on_failure: FailureObserver | None = None
        self._latency_observers: list[Observer] = []

    def observe_latencies(self, observer: Observer) -> None:
        """Call `observer` for each result, and each error that the host had to work for."""
        self._latency_observers.append(observer)
        alone = len(self._latency_observers) == 1
        # A single observer is called directly: this is part of every answer's cost.
        self.on_latency = observer if alone else self._tell_all

    def _tell_all(self, host: Host, seconds: float) -> None:
        for observer in self._latency_observers:
            observer(host, seconds)

    def observe_refusals(self, observer: Observer) -> None:
        """Call `observer` for the other errors.

        They are answered at once, perhaps by a host that has no time for more.
        """
        self.on_refusal = observer

    def observe_failures(self, observer: FailureObserver) -> None:
        """Call `observer` for each failed attempt."""
        self.on_failure = observer
