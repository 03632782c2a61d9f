"""Test `StatsReporter`, which sends metrics to a StatsD client."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import pytest

from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.errors import InvalidRequest
from cassandra.observability.counters import ClusterGauges
from cassandra.observability.statsd import StatsReporter
from cassandra.testing.fake import ErrorCode, FakeCluster, FakeNode, error
from tests.waiting import WAIT, until


class FakeClient:
    """A fake StatsD client that records its calls.

    :ivar reported: set when the last metric of a report has arrived.

    :param fault: called for each gauge; it may raise an error.
    """

    def __init__(self, fault: Callable[[], None] | None = None) -> None:
        self.counters: dict[str, list[int]] = {}
        self.gauges: dict[str, float] = {}
        self.times: list[tuple[str, float]] = []
        self.reported = threading.Event()
        self._fault = fault

    def incr(self, stat: str, count: int = 1) -> None:
        self.counters.setdefault(stat, []).append(count)

    def gauge(self, stat: str, value: float) -> None:
        if self._fault is not None:
            self._fault()
        self.gauges[stat] = value
        if stat.endswith(".tablets"):  # this metric is the last metric of a report
            self.reported.set()

    def timing(self, stat: str, delta: float) -> None:
        self.times.append((stat, delta))


def test_a_report_contains_what_happened_since_the_last_one() -> None:
    """Each report has the counts since the report before, and the current gauges."""
    client = FakeClient()
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        node.prime("SELECT wrong", error(ErrorCode.INVALID))
        reporter = StatsReporter(cluster, client, prefix="shop")
        session = cluster.connect()
        session.execute("SELECT 1")
        reporter.report()
        reporter.report()
        session.execute("SELECT 1")
        with pytest.raises(InvalidRequest):
            session.execute("SELECT wrong")
        reporter.report()
        prefix = f"shop.hosts.{node.address.replace('.', '_')}_{node.port}"
        # Nothing had changed before the second report, so it contained nothing.
        assert client.counters["shop.requests.success"] == [1, 1]
        assert client.counters["shop.requests.InvalidRequest"] == [1]
        assert client.counters[f"{prefix}.attempts"] == [1, 2]
        assert client.counters[f"{prefix}.errors.InvalidRequest"] == [1]
        assert client.gauges[f"{prefix}.connections"] == 1
        assert client.gauges["shop.sessions"] == 1
        assert client.gauges["shop.control_connection_up"] == 1
        assert [name for name, _ in client.times] == ["shop.request"] * 3
        assert all(0 < milliseconds < 60_000 for _, milliseconds in client.times)


def test_lookups_of_tablets_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FakeClient()
    cluster = Cluster()
    gauges = ClusterGauges.of(cluster)._replace(tablet_hits=3, tablet_misses=1)
    monkeypatch.setattr(ClusterGauges, "of", lambda cluster: gauges)
    StatsReporter(cluster, client).report()
    assert client.counters["cassandra.tablet_lookups.hit"] == [3]
    assert client.counters["cassandra.tablet_lookups.miss"] == [1]
    assert client.gauges["cassandra.control_connection_up"] == 0


def test_refused_logins_are_reported() -> None:
    """A refused login is reported as a failed connection of its host."""
    client = FakeClient()
    with FakeNode(username="ada", password="right") as node:
        cluster = Cluster([node.address], port=node.port)
        reporter = StatsReporter(cluster, client, prefix="shop")
        with pytest.raises(NoHostAvailable):
            cluster.connect()
        reporter.report()
        prefix = f"shop.hosts.{node.address.replace('.', '_')}_{node.port}"
        assert client.counters[f"{prefix}.connection_failures.authentication"] == [1]
        cluster.shutdown()


def test_reports_in_the_background() -> None:
    """After `start`, the reporter sends a report in each interval, until `stop` is called."""
    client = FakeClient()
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        reporter = StatsReporter(cluster, client)
        cluster.connect()
        reporter.start(interval=0.01)
        assert client.reported.wait(WAIT)
        reporter.stop()
        reporter.stop()


def test_stop_sends_what_happened_since_the_last_report() -> None:
    """A program that ends before its first report must send its counts, even after the shutdown."""
    client = FakeClient()
    with FakeNode() as node:
        with Cluster([node.address], port=node.port) as cluster:
            reporter = StatsReporter(cluster, client)
            reporter.start(interval=1000)
            cluster.connect().execute("SELECT 1")
        reporter.stop()
        reporter.stop()
        assert client.counters["cassandra.requests.success"] == [1]
        # The cluster has no state any more.
        assert client.gauges == {}


def test_counts_never_decrease(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count that begins anew sends what was counted since, and not a negative number."""
    client = FakeClient()
    with FakeNode() as node:
        with Cluster([node.address], port=node.port) as cluster:
            reporter = StatsReporter(cluster, client)
            cluster.connect()
            cluster.refresh_schema_metadata()
            reporter.report()
            (host,) = cluster.metadata.all_hosts()
            # A removed host comes back, and its attempts to reconnect are counted from 0.
            for count in (16, 0, 3):
                monkeypatch.setitem(cluster.metadata.engine_counts.reconnections, host, count)
                reporter.report()
        reporter.report()
    assert client.counters["cassandra.schema_reads"][0] > 0
    name = f"cassandra.hosts.{node.address.replace('.', '_')}_{node.port}.reconnections"
    assert client.counters[name] == [16, 3]
    assert all(count > 0 for counts in client.counters.values() for count in counts)


def test_counts_are_sent_again_if_the_client_has_failed() -> None:
    class FailsOnce(FakeClient):
        has_failed = False

        def incr(self, stat: str, count: int = 1) -> None:
            if not self.has_failed:
                self.has_failed = True
                raise OSError("no route")
            super().incr(stat, count)

    client = FailsOnce()
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        reporter = StatsReporter(cluster, client)
        cluster.connect().execute("SELECT 1")
        with pytest.raises(OSError, match="no route"):
            reporter.report()
        reporter.report()
    assert client.counters["cassandra.requests.success"] == [1]


def test_an_error_of_the_client_is_logged_and_reports_continue(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If the StatsD client raises an error, the error is logged, and later reports are sent."""
    calls: list[int] = []

    def fail_once() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("no route")

    client = FakeClient(fail_once)
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        reporter = StatsReporter(cluster, client)
        cluster.connect()
        reporter.start(interval=0.01)
        # The first report fails. Wait until a later report has sent all metrics.
        assert client.reported.wait(WAIT)
        reporter.stop()
    assert "a report to StatsD failed" in caplog.text


def test_reports_end_with_the_cluster() -> None:
    """A reporter whose cluster was freed stops at its next report."""
    cluster = Cluster()
    reporter = StatsReporter(cluster, FakeClient())
    reporter.start(interval=1000.0)
    del cluster
    gc.collect()
    reporter.report()
    # The reporter has noticed that its cluster no longer exists.
    assert reporter._stopped is None


def test_the_interval_is_positive() -> None:
    with pytest.raises(ValueError, match="interval must be positive, but is 0"):
        StatsReporter(Cluster(), FakeClient()).start(interval=0)


def test_hosts_that_have_left_are_forgotten() -> None:
    """The reporter keeps nothing of a host that has left the cluster, after a last report of it."""
    client = FakeClient()
    with FakeCluster(2) as nodes, Cluster(nodes.contact_points[:1], port=nodes.port) as cluster:
        reporter = StatsReporter(cluster, client)
        session = cluster.connect(wait_for_all_pools=True)
        for _ in range(4):
            session.execute("SELECT 1")
        reporter.report()
        departed = nodes[1]
        prefix = f"hosts.{departed.address.replace('.', '_')}_{departed.port}."
        assert len(reporter.counters.hosts) == 2
        assert any(name.startswith(prefix) for name in reporter._sent)
        nodes.remove_node(departed)
        until(lambda: len(cluster.metadata.all_hosts()) == 1)
        reporter.report()
        assert len(reporter.counters.hosts) == 1
        gc.collect()
        reporter.report()
        assert not any(name.startswith(prefix) for name in reporter._sent)
        assert any(name.startswith("hosts.") for name in reporter._sent)
        assert "requests.success" in reporter._sent
