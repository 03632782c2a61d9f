"""Test `metrics.collection`, which makes collections of statistics like the package scales."""

from __future__ import annotations

import statistics

import pytest

from cassandra import metrics


def test_a_collection_of_a_program_s_own() -> None:
    """An application can make its own collection of statistics.

    The collection counts and measures, and is listed as long as it exists.
    """
    stats = metrics.collection(
        "/web", metrics.IntStat("errors"), metrics.PmfStat("latency"),
        metrics.Stat("double", lambda: 2 * 21),
    )  # fmt: skip
    stats.errors += 1
    stats.latency.addValue(0.5)
    with stats.latency.time():
        pass
    values = metrics.getStats()["web"]
    assert (values["errors"], values["double"], values["latency"]["count"]) == (1, 42, 2)
    assert values["latency"]["max"] == 0.5
    with pytest.raises(AttributeError, match="double"):
        stats.double = 3
    assert "errors" in repr(stats)
    del stats
    assert "web" not in metrics.getStats()


def test_statistics_declared_in_a_class_belong_to_its_instances() -> None:
    """Each instance of a class has its own values of the statistics that the class declares."""

    class Handler:
        hits = metrics.IntStat("hits")

        def __init__(self, path: str | None = None) -> None:
            metrics.init(self, path)

    first, second = Handler("/one"), Handler()
    first.hits += 2
    assert (first.hits, second.hits) == (2, 0)
    assert metrics.getStats()["one"] == {"hits": 2}
    assert metrics.getStats()["Handler"] == {"hits": 0}
    assert isinstance(Handler.hits, metrics.Stat)


def distribution_of(*numbers: float) -> dict[str, float]:
    """Return what a `PmfStat` makes of numbers."""
    stats = metrics.collection("/numbers", metrics.PmfStat("sizes"))
    for number in numbers:
        stats.sizes.addValue(number)
    sizes: dict[str, float] = metrics.getStats()["numbers"]["sizes"]
    return sizes


@pytest.mark.parametrize("number", [1_000_000, 5e-324, 1e-9, 0.25, 0, 35_000, 1.7e308, -3, -2.5e9])
def test_a_distribution_of_equal_numbers_of_any_size(number: float) -> None:
    """All values of the distribution are the number, however large or small it is."""
    sizes = distribution_of(*[number] * 100)
    assert sizes.pop("count") == 100
    assert sizes.pop("stddev") == 0
    assert {*sizes.values()} == {number}


@pytest.mark.parametrize(("scale", "offset"), [(1, 0), (1e12, 0), (1e-12, 0), (1, -5000)])
def test_percentiles_of_numbers_of_any_size(scale: float, offset: float) -> None:
    """Percentiles are accurate to about 3 % for large, small and negative numbers, too."""
    numbers = [scale * (step + offset) for step in range(1, 1001)]
    sizes = distribution_of(*numbers)
    assert sizes["median"] == pytest.approx(numbers[499], rel=0.07)
    assert sizes["99percentile"] == pytest.approx(numbers[989], rel=0.07)
    assert (sizes["min"], sizes["max"]) == (numbers[0], numbers[-1])
    assert sizes["mean"] == pytest.approx(statistics.mean(numbers))
    assert sizes["stddev"] == pytest.approx(statistics.pstdev(numbers))


def test_the_standard_deviation_of_large_numbers_that_differ_little() -> None:
    """Moments in milliseconds since 1970 have a standard deviation of a few milliseconds."""
    sizes = distribution_of(*[1_700_000_000_000 + step for step in range(5)])
    assert sizes["stddev"] == pytest.approx(2**0.5)
    assert sizes["mean"] == 1_700_000_000_002


def test_numbers_that_a_distribution_refuses() -> None:
    """NaN and infinite numbers are refused, and change nothing."""
    stats = metrics.collection("/refused", metrics.PmfStat("sizes"))
    assert {*dict(stats.sizes).values()} == {0}
    with pytest.raises(ValueError, match="NaN"):
        stats.sizes.addValue(float("nan"))
    for number in (float("inf"), float("-inf"), 10**400):
        with pytest.raises(OverflowError):
            stats.sizes.addValue(number)
    assert {*dict(stats.sizes).values()} == {0}
    stats.sizes.record(None, 7)
    assert repr(stats.sizes) == "<Distribution: 1 values, mean 7>"
