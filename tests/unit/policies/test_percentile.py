"""Speculative execution after a percentile of the latencies.

The tests check how latencies are counted, and the plans that result.
"""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cassandra.policies import LatencyTracker, PercentileSpeculativeExecutionPolicy
from cassandra.query.statement import SimpleStatement

# The tracker reads its clock after every 64 latencies. With this number of latencies, it notices
# that the time has changed.
MANY = 10 * 64


class Clock:
    """A clock that the test sets: calling it returns `now`, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@given(st.integers(0, 1 << 32), st.sampled_from([1.0, 50.0, 90.0, 99.0, 99.9]))
def test_percentiles_are_at_most_one_sixteenth_too_high(seed: int, percent: float) -> None:
    """An estimated percentile is never too low, and at most 1/16 too high."""
    random_source = random.Random(seed)
    latencies = [
        10 ** random_source.uniform(-5.6, 3) for _ in range(random_source.randrange(100, 300))
    ]
    tracker = LatencyTracker()
    for seconds in latencies:
        tracker.record(None, seconds)
    # This is the latency at the rank ceil(count * percent / 100), counted from 1.
    exact_percentile = sorted(latencies)[max(-int(-len(latencies) * percent // 100) - 1, 0)]
    estimate = tracker.percentile(percent)
    assert estimate is not None
    # The factor 1 + 1e-9 allows for rounding.
    assert exact_percentile <= estimate * (1 + 1e-9)
    assert estimate <= exact_percentile * 17 / 16 * (1 + 1e-9)


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 1e9, 1e300])
def test_latencies_out_of_range_are_counted_in_the_first_or_last_bucket(seconds: float) -> None:
    """Latencies of 0 seconds or of many years are counted like all others."""
    tracker = LatencyTracker()
    for _ in range(100):
        tracker.record(None, seconds)
    assert tracker.percentile(50) is not None


def test_there_is_no_percentile_of_fewer_than_100_latencies() -> None:
    """From 99 latencies, `percentile` returns None, unless the caller accepts fewer than 100."""
    tracker = LatencyTracker()
    for _ in range(99):
        tracker.record(None, 0.01)
    assert tracker.percentile(99) is None
    # The caller may accept a percentile of fewer latencies.
    assert tracker.percentile(50, at_least=99) is not None


def test_a_percentile_of_few_latencies_is_only_for_those_who_accept_few() -> None:
    """If one caller accepts a percentile of 10 latencies, other callers still get None."""
    tracker = LatencyTracker()
    for _ in range(10):
        tracker.record(None, 0.001)
    assert tracker.percentile(99) is None
    assert tracker.percentile(99, at_least=10) is not None
    assert tracker.percentile(99) is None


def test_old_latencies_are_forgotten_after_two_windows() -> None:
    """A latency counts in its own window (here 10 s) and in the next window."""
    clock = Clock()
    tracker = LatencyTracker(window=10.0, clock=clock)

    def record_many(seconds: float) -> None:
        for _ in range(MANY):
            tracker.record(None, seconds)

    record_many(1.0)
    # In the second window, the slow latencies of the first window still count.
    clock.now = 11.0
    record_many(0.001)
    estimate_of_both = tracker.percentile(99)
    assert estimate_of_both is not None
    assert estimate_of_both > 0.9
    # Two windows later, only the fast latencies count.
    clock.now = 22.0
    record_many(0.001)
    clock.now = 33.0
    record_many(0.001)
    estimate_of_new = tracker.percentile(99)
    assert estimate_of_new is not None
    assert estimate_of_new < 0.0011


def test_all_latencies_are_forgotten_after_a_long_silence() -> None:
    """If nothing is recorded for a long time, no earlier latency counts."""
    clock = Clock()
    tracker = LatencyTracker(window=10.0, clock=clock)
    for _ in range(MANY):
        tracker.record(None, 1.0)
    clock.now = 500.0
    for _ in range(MANY):
        tracker.record(None, 0.001)
    estimate = tracker.percentile(50)
    assert estimate is not None
    assert estimate < 0.0011


def test_the_policy_waits_for_the_percentile_and_limits_its_attempts() -> None:
    """The delay of each speculative execution is the percentile.

    After two executions, which are the limit here, -1 ends the plan.
    """
    policy = PercentileSpeculativeExecutionPolicy(90, max_attempts=2)
    # While there are too few latencies, there is no speculative execution.
    assert policy.new_plan(None, SimpleStatement("")).next_execution(None) == -1
    random_source = random.Random(3)
    for _ in range(MANY):
        policy.tracker.record(None, random_source.uniform(0.0, 1.0))
    plan = policy.new_plan("ks", SimpleStatement(""))
    delays = [plan.next_execution(None) for _ in range(3)]
    # This is the 90th percentile of latencies between 0 and 1 s. The estimate may be up to one
    # sixteenth too high.
    assert 0.85 < delays[0] < 1.0
    assert delays[0] == delays[1]
    assert delays[2] == -1


def test_min_delay_is_a_lower_bound() -> None:
    """If the percentile is below `min_delay`, the delay is `min_delay`."""
    policy = PercentileSpeculativeExecutionPolicy(99, min_delay=0.5)
    for _ in range(100):
        policy.tracker.record(None, 0.001)
    assert policy.new_plan(None, SimpleStatement("")).next_execution(None) == 0.5


def test_the_engine_feeds_the_tracker() -> None:
    """`attach` registers the tracker for the engine's latencies, and `detach` removes it."""
    observers: list[Any] = []
    shared = LatencyTracker()
    policy = PercentileSpeculativeExecutionPolicy(tracker=shared)
    engine: Any = SimpleNamespace(
        observe_latencies=observers.append, forget_latencies=observers.remove
    )
    policy.attach(engine)
    assert observers == [shared.record]
    policy.detach(engine)
    assert not observers


def test_the_policy_s_own_tracker_uses_the_cluster_s_clock() -> None:
    """After `attach`, the tracker reads the time from the engine's clock."""
    policy = PercentileSpeculativeExecutionPolicy(99, min_delay=0.0)
    for _ in range(100):
        policy.tracker.record(None, 0.001)
    clock = Clock()
    policy.attach(SimpleNamespace(observe_latencies=lambda observer: None, time=clock))
    assert policy.tracker.percentile(99) is not None
    # If no latency was recorded for more than a window (60 s), the old counts no longer apply.
    clock.now = 61.0
    for _ in range(1000):
        policy.tracker.record(None, 0.5)
    estimate = policy.tracker.percentile(1)
    assert estimate is not None
    assert estimate > 0.4


@pytest.mark.parametrize(
    "settings", [{"percentile": 0}, {"percentile": 100}, {"max_attempts": -1}, {"min_delay": -0.1}]
)
def test_settings_are_checked(settings: dict[str, Any]) -> None:
    """A setting that is out of its range raises ValueError."""
    with pytest.raises(ValueError, match="must"):
        PercentileSpeculativeExecutionPolicy(**settings)
    with pytest.raises(ValueError, match="window must be greater"):
        LatencyTracker(window=0)
