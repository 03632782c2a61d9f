"""Tests of `Cluster.metrics`: its counters and their names, which can be switched off."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from cassandra import ConsistencyLevel, aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.errors import DriverException
from cassandra.metrics import Metrics, RequestTimer, getStats
from cassandra.policies import FallthroughRetryPolicy, RetryPolicy
from cassandra.testing.fake import Answerable, ErrorCode, FakeNode, error, reset, rows, silence
from tests.waiting import WAIT

QUERY = "SELECT k FROM t"
SILENCE = silence()
ONE_ROW = rows([("k", "int")], [(1,)])


class IgnoringPolicy(RetryPolicy):
    """Ignores reads that timed out."""

    def on_read_timeout(self, *args: Any, **kwargs: Any) -> tuple[int, None]:
        return self.IGNORE, None


class RetryingPolicy(RetryPolicy):
    """Retries writes that timed out."""

    def on_write_timeout(self, *args: Any, **kwargs: Any) -> tuple[int, None]:
        return self.RETRY, None


def test_metrics_are_off_by_default_and_then_the_engine_has_no_hooks() -> None:
    """Without metrics, the engine must call nothing for latencies and failures."""
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        assert cluster.metrics is None
        cluster.connect()
        core = cluster._core
        assert core is not None
        assert core.on_latency is None
        assert core.on_failure is None


READ_TIMEOUT: dict[str, Any] = {
    "consistency": ConsistencyLevel.ONE,
    "received": 0,
    "blockfor": 1,
    "data_present": False,
}
WRITE_TIMEOUT: dict[str, Any] = {
    "consistency": ConsistencyLevel.ONE,
    "received": 0,
    "blockfor": 1,
    "write_type": "SIMPLE",
}


@pytest.mark.parametrize(
    ("answer", "policy", "expected_counts"),
    [
        (
            error(ErrorCode.READ_TIMEOUT, **READ_TIMEOUT),
            FallthroughRetryPolicy(),
            {"read_timeouts": 1},
        ),
        (
            error(ErrorCode.READ_TIMEOUT, **READ_TIMEOUT),
            IgnoringPolicy(),
            {"read_timeouts": 1, "ignores": 1},
        ),
        (
            error(ErrorCode.WRITE_TIMEOUT, **WRITE_TIMEOUT),
            RetryingPolicy(),
            {"write_timeouts": 1, "retries": 1},
        ),
        (error(ErrorCode.UNAVAILABLE), FallthroughRetryPolicy(), {"unavailables": 1}),
        (error(ErrorCode.OVERLOADED), FallthroughRetryPolicy(), {"other_errors": 1}),
        (error(ErrorCode.INVALID), FallthroughRetryPolicy(), {"other_errors": 1}),
        (reset(), FallthroughRetryPolicy(), {"connection_errors": 1}),
        (SILENCE, FallthroughRetryPolicy(), {"other_errors": 1}),
        (ONE_ROW, FallthroughRetryPolicy(), {}),
    ],
    ids=[
        "read",
        "ignored",
        "retried",
        "unavailable",
        "overloaded",
        "invalid",
        "reset",
        "no answer",
        "none",
    ],
)
def test_counters_of_requests_and_errors(
    answer: Answerable, policy: RetryPolicy, expected_counts: dict[str, int]
) -> None:
    """Each response and retry decision must be counted as expected."""
    # Wait long for a response that is sent, because the machine may be busy.
    timeout = 0.05 if answer is SILENCE else WAIT
    profile = ExecutionProfile(retry_policy=policy, request_timeout=timeout)
    with (
        FakeNode() as node,
        Cluster([node.address], port=node.port, metrics_enabled=True, execution_profiles={EXEC_PROFILE_DEFAULT: profile}) as cluster,  # noqa: E501
    ):  # fmt: skip
        session = cluster.connect()
        node.prime(QUERY, ONE_ROW)
        node.prime(QUERY, answer, times=1)
        try:
            session.execute(QUERY)
        except DriverException:
            # Only a request that fails has expected counts.
            assert expected_counts
        assert cluster.metrics is not None
        stats = cluster.metrics.get_stats()
        names = (
            "connection_errors",
            "write_timeouts",
            "read_timeouts",
            "unavailables",
            "other_errors",
            "retries",
            "ignores",
        )
        assert {name: stats[name] for name in names if stats[name]} == expected_counts
        # A request without a response counts with the client's time-out.
        timer = stats["request_timer"]
        assert (timer["max"] == timeout) is (answer is SILENCE)


def test_hosts_and_times() -> None:
    """The metrics must count hosts, connections and requests, and measure their times."""
    with (
        FakeNode() as node,
        Cluster([node.address], port=node.port, metrics_enabled=True) as cluster,
    ):
        metrics = cluster.metrics
        assert metrics is not None
        assert metrics.get_stats()["connected_to"] == 0
        session = cluster.connect(wait_for_all_pools=True)
        for _ in range(10):
            session.execute("SELECT 1")
        stats = metrics.get_stats()
        for name in ("known_hosts", "connected_to", "open_connections"):
            assert stats[name] == 1
        timer = stats["request_timer"]
        assert timer["count"] == 10
        assert 0 < timer["min"] <= timer["median"] <= timer["99percentile"] <= timer["max"]
        assert metrics.request_timer["mean"] > 0


async def test_requests_of_the_asyncio_api_are_counted() -> None:
    with FakeNode() as node:
        async with aio.Cluster([node.address], port=node.port, metrics_enabled=True) as cluster:
            session = await cluster.connect()
            await session.execute("SELECT 1")
            assert cluster.metrics is not None
            assert cluster.metrics.request_timer["count"] == 1


def test_names() -> None:
    """The name of a cluster's metrics must be unique, and free again after the shutdown."""
    first_cluster, second_cluster = Cluster(metrics_enabled=True), Cluster(metrics_enabled=True)
    assert isinstance(first_cluster.metrics, Metrics)
    assert isinstance(second_cluster.metrics, Metrics)
    first_cluster.metrics.set_stats_name("mine")
    # A cluster must be able to set the name that it already has.
    first_cluster.metrics.set_stats_name("mine")
    assert getStats()["mine"]["retries"] == 0
    with pytest.raises(ValueError, match="mine"):
        second_cluster.metrics.set_stats_name("mine")
    first_cluster.metrics.shutdown()
    assert "mine" not in getStats()
    metrics = second_cluster.metrics
    del second_cluster
    gc.collect()
    # Metrics must not keep their cluster alive. Without it, they have nothing to report.
    assert metrics.get_stats()["known_hosts"] == 0


def test_statistics_of_the_request_timer() -> None:
    """Statistics of known times must be right to within 7 %.

    The timer counts times in buckets whose width is at most 1/16 of the time.
    """
    timer = RequestTimer()
    for name in ("mean", "median", "min"):
        assert timer[name] == 0.0
    for milliseconds in range(1, 1001):
        timer.record(None, milliseconds / 1000)
    assert timer["count"] == 1000
    assert timer["mean"] == pytest.approx(0.5005)
    # The standard deviation of times spread evenly over one second is 1 / sqrt(12).
    assert timer["stddev"] == pytest.approx(0.2887, rel=0.01)
    for key, value in {
        "median": 0.5,
        "75percentile": 0.75,
        "95percentile": 0.95,
        "999percentile": 0.999,
    }.items():
        assert timer[key] == pytest.approx(value, rel=0.07)
    assert timer["min"] == 0.001
    assert timer["max"] == 1.0
    assert set(timer) == set(dict(timer))
    assert len(timer) == len(dict(timer))
    assert "1000 answers" in repr(timer)
    with pytest.raises(KeyError):
        timer["no such"]


def test_methods_of_metrics_increase_their_counters() -> None:
    metrics = Cluster(metrics_enabled=True).metrics
    assert metrics is not None
    for name in (
        "write_timeout", "read_timeout", "unavailable", "connection_error", "other_error",
        "ignore", "retry",
    ):  # fmt: skip
        getattr(metrics, f"on_{name}")()
    numbers = metrics.get_stats()
    # Each of the seven methods must have increased one counter.
    assert list(numbers.values()).count(1) == 7
    assert (metrics.stats.retries, metrics.stats.ignores) == (1, 1)


def test_refused_logins_and_nodes_that_are_down_are_counted() -> None:
    with FakeNode(username="ada", password="right") as node:
        cluster = Cluster([node.address], port=node.port, metrics_enabled=True)
        with pytest.raises(NoHostAvailable):
            cluster.connect()
        metrics = cluster.metrics
        assert metrics is not None
        stats = metrics.get_stats()
        assert (stats["connection_failures"], stats["refused_logins"]) == (1, 1)
    with pytest.raises(NoHostAvailable):
        cluster.connect()
    assert (metrics.connection_failures, metrics.refused_logins) == (2, 1)
    # A failed connect must not be counted as a connection error of a request.
    assert metrics.connection_errors == 0
    cluster.shutdown()
