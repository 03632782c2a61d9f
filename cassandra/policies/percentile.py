"""Speculative executions after a percentile of the latencies that have been seen."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from cassandra._histogram import BUCKETS, bucket_of, percentile_of
from cassandra.policies.balancing import Engine
from cassandra.policies.speculation import (
    ConstantSpeculativeExecutionPolicy,
    NoSpeculativeExecutionPlan,
    SpeculativeExecutionPlan,
    SpeculativeExecutionPolicy,
)

if TYPE_CHECKING:
    from cassandra.query.statement import Statement

__all__ = ["LatencyTracker", "PercentileSpeculativeExecutionPolicy"]

_LOOK_EVERY = 64  # answers between looks at the clock


class LatencyTracker:
    """A histogram of how long answers took during the last one to two windows of time.

    Recording an answer costs one increment of a list's item. A tracker belongs to one loop.

    :param window: its length in seconds.
    :param clock: returns the time in seconds.
    :raises ValueError: if `window` is not greater than 0.
    """

    __slots__ = ("_clock", "_counts", "_known", "_left", "_previous", "_rotate_at", "window")

    def __init__(self, window: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        if not window > 0:
            raise ValueError(f"window must be greater than 0 seconds, but is {window!r}")
        self.window = window
        self._clock = clock
        self._counts = [0] * BUCKETS
        self._previous: list[int] | None = None
        # Reading the clock for each answer would cost more than counting it.
        self._left = _LOOK_EVERY
        self._rotate_at = clock() + window
        self._known: dict[float, float | None] = {}

    def use_clock(self, clock: Callable[[], float]) -> None:
        """Begin a window by another clock. What was recorded counts on.

        :param clock: returns the time in seconds.
        """
        self._clock = clock
        self._rotate_at = clock() + self.window

    def record(self, host: object, seconds: float) -> None:
        """Take note that a host has answered after `seconds`.

        :param host: the `Host`.
        :param seconds: from the sending to the answer.
        """
        self._counts[bucket_of(seconds)] += 1
        self._left -= 1
        if self._left <= 0:
            self._look()

    def _look(self) -> None:
        self._left = _LOOK_EVERY
        self._known = {}
        now = self._clock()
        if now < self._rotate_at:
            return
        # After a silence of more than a window the old counts say nothing of the present.
        self._previous = self._counts if now < self._rotate_at + self.window else None
        self._counts = [0] * BUCKETS
        self._rotate_at = now + self.window

    def percentile(self, percent: float, at_least: int = 100) -> float | None:
        """Return the seconds within which `percent` of a hundred answers came.

        :param percent: from 0 to 100.
        :param at_least: None is returned if fewer answers than this are known.
        """
        if percent not in self._known:
            self._known[percent] = self._compute(percent, at_least)
        return self._known[percent]

    def _compute(self, percent: float, at_least: int) -> float | None:
        counts = self._counts
        if self._previous is not None:
            counts = [now + before for now, before in zip(counts, self._previous, strict=True)]
        return None if sum(counts) < max(at_least, 1) else percentile_of(counts, percent)


class PercentileSpeculativeExecutionPolicy(SpeculativeExecutionPolicy):
    """Starts a further try if a request takes longer than a percentile of the known latencies.

    There is no further try until 100 answers are known.

    :param percentile: more than 0, less than 100.
    :param max_attempts: the greatest number of further tries.
    :param tracker: the `LatencyTracker` to use. By default the policy makes its own, which the
        driver feeds with every answer.
    :param min_delay: seconds to wait in any case.
    :raises ValueError: if the percentile is out of its range, or another value is negative.
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
                "max_attempts and min_delay must not be negative, "
                f"but are {max_attempts!r} and {min_delay!r}"
            )
        self.percentile = percentile
        self.max_attempts = max_attempts
        self.min_delay = min_delay
        self.tracker = tracker if tracker is not None else LatencyTracker()
        self._has_clock = tracker is not None

    def attach(self, engine: Engine) -> None:
        """Have the engine feed the tracker.

        :param engine: the engine.
        """
        if not self._has_clock:
            # Its own tracker takes the time of the cluster, which may be a simulated one.
            self._has_clock = True
            self.tracker.use_clock(engine.time)
        engine.observe_latencies(self.tracker.record)

    def new_plan(self, keyspace: str | None, statement: Statement) -> SpeculativeExecutionPlan:
        # Read once for each request: a speculation's delay does not change while it runs.
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
