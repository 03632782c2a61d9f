"""Collections of statistics in the manner of scales."""

from __future__ import annotations

import pytest

from cassandra import metrics


def test_a_collection_of_a_program_s_own() -> None:
    stats = metrics.collection(
        "/web", metrics.IntStat("errors"), metrics.PmfStat("latency"),
        metrics.Stat("double", lambda: 2 * 21),
    )  # fmt: skip
    stats.errors += 1
    stats.latency.addValue(0.5)
    with stats.latency.time():
        pass
    shown = metrics.getStats()["web"]
    assert (shown["errors"], shown["double"], shown["latency"]["count"]) == (1, 42, 2)
    assert shown["latency"]["max"] == 0.5
    with pytest.raises(AttributeError, match="double"):
        stats.double = 3
    assert "errors" in repr(stats)
    del stats
    assert "web" not in metrics.getStats()


def test_stats_that_a_class_declares() -> None:
    class Handler:
        hits = metrics.IntStat("hits")

        def __init__(self, path: str | None = None) -> None:
            metrics.init(self, path)

    one, other = Handler("/one"), Handler()
    one.hits += 2
    assert (one.hits, other.hits) == (2, 0)
    assert metrics.getStats()["one"] == {"hits": 2}
    assert metrics.getStats()["Handler"] == {"hits": 0}
    assert isinstance(Handler.hits, metrics.Stat)
