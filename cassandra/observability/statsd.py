"""Metrics for StatsD, sent by a StatsD client of your choice.

.. code-block:: python

   import statsd

   from cassandra.cluster import Cluster
   from cassandra.observability.statsd import StatsReporter

   cluster = Cluster()
   reporter = StatsReporter(cluster, statsd.StatsClient("localhost", 8125))
   session = cluster.connect()
   reporter.start(interval=10)
   ...
   reporter.stop()

The client needs the methods ``incr(name, count)``, ``gauge(name, value)`` and ``timing(name,
milliseconds)``. The clients in the packages ``statsd`` and ``pystatsd`` have these methods.
"""

from __future__ import annotations

import re
import threading
import weakref
from typing import TYPE_CHECKING, Any, Protocol

from cassandra._forks import renewed
from cassandra._habits import warn_of_milliseconds
from cassandra._logs import Log
from cassandra._threads import RLock, daemon_thread
from cassandra.observability.counters import (
    ClusterGauges,
    RequestCounters,
    checked_cluster,
    forget_departed,
)

if TYPE_CHECKING:
    from cassandra.metadata.endpoint import EndPoint
    from cassandra.metadata.host import Host
    from cassandra.observers import ObservedRequest

__all__ = ["StatsReporter"]

log = Log("cassandra.observers")

# The characters that must not be in a part of a metric's name, and are replaced there. For example,
# a dot would separate two parts.
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]")

# The fields of `HostGauges` that are sent as gauges. Two more fields, `reconnections` and
# `graceful_disconnects`, are sent as counters.
_HOST_GAUGES = (
    "is_up", "is_given_up", "connections", "in_flight", "streams_free", "orphans", "waiting",
    "draining",
)  # fmt: skip


class StatsdClient(Protocol):
    """The methods that a StatsD client must have."""

    def incr(self, stat: str, count: int = 1) -> object:
        """Add to a counter.

        :param stat: the counter's name.
        :param count: the number to add.
        """

    def gauge(self, stat: str, value: float) -> object:
        """Set a gauge.

        :param stat: the gauge's name.
        :param value: the new value.
        """

    def timing(self, stat: str, delta: float) -> object:
        """Record a time.

        :param stat: the timer's name.
        :param delta: the time in milliseconds.
        """


class _TimedCounters(RequestCounters):
    """Request counters that also send the duration of each request to StatsD when it ends."""

    def __init__(self, client: StatsdClient, name: str) -> None:
        super().__init__()
        self._client = client
        self._name = name  # the name of the timer

    def on_end(self, request: ObservedRequest) -> None:
        super().on_end(request)
        assert request.latency is not None
        self._client.timing(self._name, request.latency * 1000)


class StatsReporter:
    """Sends reports to StatsD: a cluster's counts since the last report, and its current state.

    :param cluster: a `cassandra.cluster.Cluster` or `cassandra.aio.Cluster`.
    :param client: the client that sends the metrics.
    :param prefix: the prefix of all metric names.
    :raises TypeError: if `cluster` is not a cluster, or `client` lacks a method.
    """

    def __init__(self, cluster: Any, client: StatsdClient, prefix: str = "cassandra") -> None:
        self._cluster = weakref.ref(checked_cluster(cluster, "StatsReporter"))
        missing = [name for name in ("incr", "gauge", "timing") if not hasattr(client, name)]
        if missing:
            raise TypeError(
                f"client must have the methods incr, gauge and timing, but {client!r} has no "
                f"{' and no '.join(missing)}: write statsd.StatsClient('localhost', 8125)"
            )
        self._client = client
        self._prefix = prefix
        self._renew_locks()
        renewed(self)
        self._sent: dict[str, int] = {}  # the count in the last report, by metric name
        # The event that ends the thread of `start`; None if no thread is running.
        self._stopped: threading.Event | None = None
        self.counters: RequestCounters = _TimedCounters(client, f"{prefix}.request")
        """The request counters of the cluster."""
        cluster.add_request_observer(self.counters)

    def _renew_locks(self) -> None:
        """Create the lock, also in a forked child, where the thread that held it does not exist."""
        # It protects `_sent`, and is reentrant because a client may call `report`.
        self._lock = RLock()

    def report(self) -> None:
        """Send one report. You may call this from any thread.

        After the shutdown of the cluster, a report has only counts, and no state.
        """
        cluster = self._cluster()
        if cluster is None:
            # The cluster was garbage-collected, so there is nothing to report any more.
            self._end_thread()
            return
        # The thread of `start` may be sending a report when `stop` sends the last one.
        with self._lock:
            self._report(cluster)

    def _report(self, cluster: Any) -> None:
        """Send one report. The caller holds the lock."""
        for outcome, count in list(self.counters.requests.items()):
            self._send_difference(f"requests.{_UNSAFE_CHARACTERS.sub('_', outcome)}", count)
        for host, counters in self.counters.hosts.items():
            name_prefix = _host_prefix(host)
            for name in ("attempts", "retries", "speculations", "bytes_out", "bytes_in"):
                self._send_difference(f"{name_prefix}.{name}", getattr(counters, name))
            # Copy the items, because another thread may add an error at the same time.
            for error, count in list(counters.errors.items()):
                self._send_difference(f"{name_prefix}.errors.{error}", count)
        for endpoint, counts in self.counters.connection_failures.items():
            for kind, count in counts.items():
                self._send_difference(f"{_prefix_of(endpoint)}.connection_failures.{kind}", count)
        gauges = ClusterGauges.of(cluster)
        # A cluster that was shut down has no state: alarms would fire, or would never fire again.
        has_state = not cluster.is_shutdown
        for host_gauges in gauges.hosts:
            for name in _HOST_GAUGES if has_state else ():
                # The driver does not connect to an ignored host, so it does not know whether the
                # host is up.
                if name == "is_up" and host_gauges.is_ignored:
                    continue
                self._client.gauge(
                    f"{self._prefix}.{_host_prefix(host_gauges.host)}.{name}",
                    int(getattr(host_gauges, name)),
                )
            for name in ("reconnections", "graceful_disconnects"):
                self._send_difference(
                    f"{_host_prefix(host_gauges.host)}.{name}", getattr(host_gauges, name)
                )
        for name in ("refused", "schema_reads", "failed_schema_reads"):
            self._send_difference(name, getattr(gauges, name))
        self._send_difference("tablet_lookups.hit", gauges.tablet_hits)
        self._send_difference("tablet_lookups.miss", gauges.tablet_misses)
        if has_state:
            self._client.gauge(f"{self._prefix}.control_connection_up", int(gauges.is_connected))
        state = ("sessions", "prepared_statements", "throttled", "tablets") if has_state else ()
        for name in state:
            self._client.gauge(f"{self._prefix}.{name}", getattr(gauges, name))
        if has_state:
            self._forget_departed(cluster, gauges)

    def _forget_departed(self, cluster: Any, gauges: ClusterGauges) -> None:
        """Drop the counts of hosts that have left the cluster, which this report has sent."""
        forget_departed(cluster, self.counters, gauges)
        counts = cluster.metadata.engine_counts
        # The engine's counts of a host continue if it comes back while the application still has
        # its `Host`. `keyrefs` returns a copy, because the event loop may add hosts.
        counted = [ref() for ref in (*counts.reconnections.keyrefs(), *counts.drains.keyrefs())]
        prefixes = {
            *(_host_prefix(host_gauges.host) for host_gauges in gauges.hosts),
            *(_host_prefix(host) for host in (*self.counters.hosts, *counted) if host is not None),
            *map(_prefix_of, self.counters.connection_failures),
        }
        self._sent = {
            name: count
            for name, count in self._sent.items()
            if not name.startswith("hosts.") or ".".join(name.split(".")[:2]) in prefixes
        }

    def _send_difference(self, name: str, count: int) -> None:
        """Send the increase of `count` since the last report, as StatsD expects.

        A count that is smaller than in the last report begins anew at 0: the host was removed and
        has come back.
        """
        sent = self._sent.get(name, 0)
        difference = count - sent if count >= sent else count
        if difference:
            self._client.incr(f"{self._prefix}.{name}", difference)
        # If the client has raised an error, the next report sends the difference.
        if count != sent:
            self._sent[name] = count

    def start(self, interval: float = 10.0) -> None:
        """Report every `interval` seconds, in a thread that ends with `stop` or with the cluster.

        :param interval: the time between two reports, in seconds.
        :raises ValueError: if `interval` is not positive.
        """
        if not interval > 0:
            raise ValueError(f"interval must be positive, but is {interval!r}")
        warn_of_milliseconds("interval", interval)
        self.stop()
        stopped = self._stopped = threading.Event()

        def report_repeatedly() -> None:
            """Report once per interval until `stop` is called; a thread runs this function."""
            while not stopped.wait(interval):
                self._try_to_report()

        daemon_thread(report_repeatedly, "cassandra-statsd").start()

    def stop(self) -> None:
        """Stop the reports that `start` has started, and send a last one.

        If the client raises an error, it is logged.
        """
        if self._end_thread():
            self._try_to_report()

    def _end_thread(self) -> bool:
        """End the thread of `start`; return False if none is running."""
        stopped, self._stopped = self._stopped, None
        if stopped is not None:
            stopped.set()
        return stopped is not None

    def _try_to_report(self) -> None:
        try:
            self.report()
        # The client may raise any error. Log the error, and try again at the next report.
        except Exception:
            log.exception("a report to StatsD failed")


def _host_prefix(host: Host) -> str:
    """Return the prefix of the metric names of a host."""
    return _prefix_of(host.endpoint)


def _prefix_of(endpoint: EndPoint) -> str:
    """Return the prefix of the metric names of the host at an end point."""
    return "hosts." + _UNSAFE_CHARACTERS.sub("_", str(endpoint))
