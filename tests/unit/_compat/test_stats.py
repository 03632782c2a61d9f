"""Test `metrics.collection`, which makes collections of statistics like the package scales."""

from __future__ import annotations

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
