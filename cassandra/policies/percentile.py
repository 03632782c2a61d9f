"""Speculative executions after a percentile of the latencies that have been seen."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import frexp
from typing import Any

from cassandra.policies.balancing import Engine
from cassandra.policies.speculation import (
    ConstantSpeculativeExecutionPolicy,
    NoSpeculativeExecutionPlan,
    SpeculativeExecutionPlan,
    SpeculativeExecutionPolicy,
)

__all__ = ["LatencyTracker", "PercentileSpeculativeExecutionPolicy"]

_OCTAVES = 36  # from a microsecond to nineteen hours
_STEPS = 16  # buckets an octave: values are known to 1/32 of themselves
_LOOK_EVERY = 64  # answers between looks at the clock


class LatencyTracker:
    """How long answers take: a histogram of the last one to two windows of time.

    window: its length in seconds. clock: gives seconds. Writing to it costs one increment of a
    list's item; it belongs to one loop.
    """

    __slots__ = ("_clock", "_counts", "_known", "_left", "_previous", "_rotate_at", "window")

    def __init__(self, window: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        if not window > 0:
            raise ValueError(f"window must be greater than 0 seconds, but is {window!r}")
        self.window = window
        self._clock = clock
        self._counts = [0] * (_OCTAVES * _STEPS)
        self._previous: list[int] | None = None
        self._left = _LOOK_EVERY
        self._rotate_at = clock() + window
        self._known: dict[float, float | None] = {}

    def record(self, host: Any, seconds: float) -> None:
        """An answer of `host` has taken so long."""
        mantissa, octave = frexp(seconds * 1e6)
        place = octave * _STEPS + int((mantissa - 0.5) * 2 * _STEPS)
        self._counts[0 if place < 0 else min(place, len(self._counts) - 1)] += 1
        self._left -= 1
        if self._left <= 0:
            self._look()

    def _look(self) -> None:
        self._left = _LOOK_EVERY
        self._known = {}
        now = self._clock()
        if now < self._rotate_at:
            return
        # After a silence of more than a window the counts say nothing of now.
        self._previous = self._counts if now < self._rotate_at + self.window else None
        self._counts = [0] * len(self._counts)
        self._rotate_at = now + self.window

    def percentile(self, percent: float, at_least: int = 100) -> float | None:
        """The seconds within which `percent` of a hundred answers came; None where fewer than
        `at_least` are known.
        """
        if percent not in self._known:
            self._known[percent] = self._compute(percent, at_least)
        return self._known[percent]

    def _compute(self, percent: float, at_least: int) -> float | None:
        counts = self._counts
        if self._previous is not None:
            counts = [now + before for now, before in zip(counts, self._previous, strict=True)]
        total = sum(counts)
        if total < max(at_least, 1):
            return None
        left = total * percent / 100
        place = -1
        while left > 0:
            place += 1
            left -= counts[place]
        octave, step = divmod(place, _STEPS)
        return float(2.0**octave * (0.5 + (step + 1) / (2 * _STEPS)) / 1e6)


class PercentileSpeculativeExecutionPolicy(SpeculativeExecutionPolicy):
    """A further try when a request has taken longer than `percentile` of a hundred usually do, at
    most `max_attempts` of them.

    percentile: from 0 to 100, both excluded. tracker: the `LatencyTracker` to look at; one of its
    own by default, which the driver feeds with every answer. min_delay: seconds that are waited in
    any case. Until 100 answers are known there is no further try.
    """

    def __init__(
        self,
        percentile: float = 99.0,
        max_attempts: int = 1,
        tracker: LatencyTracker | None = None,
        min_delay: float = 0.0,
    ) -> None:
        if not 0 < percentile < 100:
            raise ValueError(f"percentile must be between 0 and 100, but is {percentile!r}")
        if max_attempts < 0 or min_delay < 0:
            raise ValueError(
                f"max_attempts and min_delay must not be negative, but are {max_attempts!r} and {min_delay!r}"
            )
        self.percentile = percentile
        self.max_attempts = max_attempts
        self.min_delay = min_delay
        self.tracker = tracker if tracker is not None else LatencyTracker()

    def attach(self, engine: Engine) -> None:
        """Have the engine feed the tracker."""
        engine.observe_latencies(self.tracker.record)

    def new_plan(self, keyspace: str | None, statement: Any) -> SpeculativeExecutionPlan:
        delay = self.tracker.percentile(self.percentile)
        if delay is None:
            return NoSpeculativeExecutionPlan()
        delay = max(delay, self.min_delay)
        return ConstantSpeculativeExecutionPolicy(delay, self.max_attempts).new_plan(
            keyspace, statement
        )


for _class in (LatencyTracker, PercentileSpeculativeExecutionPolicy):
    _class.__module__ = "cassandra.policies"
del _class
