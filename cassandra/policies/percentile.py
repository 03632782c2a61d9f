"""A policy that starts speculative executions after a percentile of the recorded latencies."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from cassandra._histogram import BUCKETS, bucket_of, percentile_of
from cassandra.policies.balancing import Engine
from cassandra.policies.speculation import (
    ConstantSpeculativeExecutionPolicy,
    NoSpeculativeExecutionPlan,
    SpeculativeExecutionPlan,
    SpeculativeExecutionPolicy,
)

if TYPE_CHECKING:
    from cassandra.metadata.host import Host
    from cassandra.query.statement import Statement

_CHECK_EVERY = 64  # how many responses `LatencyTracker` counts between two looks at the clock


class Observed(Protocol):
    """The method of the engine with which a policy stops the reports of latencies."""

    def forget_latencies(self, observer: Callable[[Host, float], None]) -> None:
        """Stop the reports to an observer: undo one call of `Engine.observe_latencies`."""


class LatencyTracker:
    """A histogram of the latencies in the current and the previous time window.

    Recording a latency costs one increment of a list item. Use a tracker on one event loop only.

    :param window: the length of a window, in seconds.
    :param clock: returns the time in seconds.
    :raises ValueError: if `window` is not greater than 0.
    """

    __slots__ = (
        "_clock", "_computed", "_counts", "_previous", "_responses_until_check", "_rotate_at",
        "window",
    )  # fmt: skip

    def __init__(self, window: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        if not window > 0:
            raise ValueError(f"window must be greater than 0 seconds, but is {window!r}")
        self.window = window
        self._clock = clock
        # The number of responses in each bucket of latencies, in the current window and in the
        # previous window. `_previous` is None if there is no previous window.
        self._counts = [0] * BUCKETS
        self._previous: list[int] | None = None
        # How many responses to record before the clock is read again. Reading the clock for each
        # response would cost more than counting the response.
        self._responses_until_check = _CHECK_EVERY
        self._rotate_at = clock() + window
        # The results of `percentile` that were computed since the clock was last read.
        self._computed: dict[tuple[float, int], float | None] = {}

    def use_clock(self, clock: Callable[[], float]) -> None:
        """Start a window with another clock. Recorded latencies are kept.

        :param clock: returns the time in seconds.
        """
        self._clock = clock
        self._rotate_at = clock() + self.window

    def record(self, host: object, seconds: float) -> None:
        """Record the latency of a response.

        :param host: the `Host`.
        :param seconds: the time from sending the request to receiving the response.
        """
        self._counts[bucket_of(seconds)] += 1
        self._responses_until_check -= 1
        if self._responses_until_check <= 0:
            self._check_window()

    def _check_window(self) -> None:
        """Begin a new window if the current window is over, and forget the computed percentiles."""
        self._responses_until_check = _CHECK_EVERY
        self._computed = {}
        now = self._clock()
        if now < self._rotate_at:
            return
        # The current window becomes the previous window. But if it ended more than a whole window
        # ago, drop its counts, because they no longer describe the present.
        self._previous = self._counts if now < self._rotate_at + self.window else None
        self._counts = [0] * BUCKETS
        self._rotate_at = now + self.window

    def percentile(self, percent: float, at_least: int = 100) -> float | None:
        """Return the time in seconds within which `percent` per cent of the responses arrived.

        :param percent: from 0 to 100.
        :param at_least: return None if fewer latencies than this number are recorded.
        """
        key = percent, at_least
        if key not in self._computed:
            self._computed[key] = self._compute(percent, at_least)
        return self._computed[key]

    def _compute(self, percent: float, at_least: int) -> float | None:
        """Compute a percentile over both windows.

        Return None if fewer than `at_least` latencies are recorded.
        """
        counts = self._counts
        if self._previous is not None:
            counts = [current + old for current, old in zip(counts, self._previous, strict=True)]
        return None if sum(counts) < max(at_least, 1) else percentile_of(counts, percent)


class PercentileSpeculativeExecutionPolicy(SpeculativeExecutionPolicy):
    """Starts another attempt if a request takes longer than a percentile of the recorded latencies.

    Until 100 latencies are recorded, the policy starts no further attempt.

    :param percentile: more than 0, less than 100.
    :param max_attempts: the maximum number of further attempts.
    :param tracker: the `LatencyTracker` to use. By default, the policy creates a tracker, in which
        the driver records the latency of every response.
    :param min_delay: the minimum number of seconds to wait before a further attempt.
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
        # True if the tracker's clock must not be replaced, because the application has passed the
        # tracker, or because `attach` has already set the clock.
        self._keeps_tracker_clock = tracker is not None

    def attach(self, engine: Engine) -> None:
        """Record the latency of every response in the tracker. Called when the cluster connects.

        :param engine: the cluster's engine.
        """
        if not self._keeps_tracker_clock:
            # The policy has created the tracker itself. Let it use the clock of the cluster, which
            # may be a simulated clock.
            self._keeps_tracker_clock = True
            self.tracker.use_clock(engine.time)
        engine.observe_latencies(self.tracker.record)

    def detach(self, engine: Observed) -> None:
        """Undo `attach`. Called when no execution profile has the policy any more.

        :param engine: the cluster's engine.
        """
        engine.forget_latencies(self.tracker.record)

    def new_plan(self, keyspace: str | None, statement: Statement) -> SpeculativeExecutionPlan:
        # Read the percentile once for each request: the delay does not change while the request
        # runs.
        delay = self.tracker.percentile(self.percentile)
        if delay is None:  # too few latencies are recorded
            return NoSpeculativeExecutionPlan()
        delay = max(delay, self.min_delay)
        return ConstantSpeculativeExecutionPolicy(delay, self.max_attempts).new_plan(
            keyspace, statement
        )


for _class in (LatencyTracker, PercentileSpeculativeExecutionPolicy):
    _class.__module__ = "cassandra.policies"
del _class
