"""Tests of histograms, which count durations in buckets and compute percentiles from them."""

from __future__ import annotations

import random

import pytest

from cassandra._histogram import BUCKETS, any_bucket_of, any_percentile_of, bucket_of, percentile_of


def counted(durations: list[float]) -> list[int]:
    """Return how many of the durations (in seconds) are in each bucket."""
    counts = [0] * BUCKETS
    for duration in durations:
        counts[bucket_of(duration)] += 1
    return counts


@pytest.mark.parametrize("percent", [1, 50, 95, 99, 99.9, 100])
def test_percentiles_are_at_most_seven_percent_too_high(percent: float) -> None:
    durations = [10 ** random.Random(seed).uniform(-5, 3) for seed in range(1000)]
    exact_percentile = sorted(durations)[max(round(percent * 10), 1) - 1]
    assert exact_percentile <= percentile_of(counted(durations), percent) <= exact_percentile * 1.07


def test_the_first_and_last_buckets() -> None:
    """Times below the range must be counted in the first bucket, and times above it in the last."""
    assert bucket_of(0.0) == 0
    assert bucket_of(1e-9) == 0
    assert bucket_of(1e12) == BUCKETS - 1
    assert percentile_of([0] * BUCKETS, 99) == 0.0
    assert percentile_of(counted([1.0]), 0) == 0.0


def test_a_percentile_just_below_100_is_the_maximum() -> None:
    """A percentile just below 100 must be the maximum.

    The number of the duration is rounded up, so it must not exceed the number of durations or miss
    the last one.
    """
    for total in range(1, 200):
        counts = counted([0.5] * total)
        assert percentile_of(counts, 99.99999999999999) == percentile_of(counts, 100)


def test_buckets_of_any_numbers_have_the_order_of_the_numbers() -> None:
    """A greater number has no smaller bucket, and no bucket's bound is below its numbers."""
    numbers = [-1.7e308, -1e9, -3.0, -1.0, -1e-300, -5e-324, 0.0, 5e-324, 1e-300, 1.0, 3.0, 1.7e308]
    buckets = [any_bucket_of(number) for number in numbers]
    assert buckets == sorted({*buckets})
    for number, bucket in zip(numbers, buckets, strict=True):
        bound = any_percentile_of({bucket: 1}, 50)
        assert number <= bound
        assert abs(bound - number) <= abs(number) * 0.07 or bound in (5e-324, float("inf"))
    assert any_percentile_of({}, 50) == 0.0
