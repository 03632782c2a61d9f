"""Metrics for StatsD, sent by whatever client the program has.

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

The client needs ``incr(name, count)``, ``gauge(name, value)`` and ``timing(name, milliseconds)``,
as those of the packages ``statsd`` and ``pystatsd`` have.
"""

from __future__ import annotations

import logging
import re
import threading
import weakref
from typing import TYPE_CHECKING, Any, Protocol

from cassandra.observability.counters import ClusterGauges, RequestCounters

if TYPE_CHECKING:
    from cassandra.metadata.host import Host
    from cassandra.observers import ObservedRequest

__all__ = ["StatsReporter"]

log = logging.getLogger("cassandra.observers")

_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


class StatsdClient(Protocol):
    """A client of StatsD."""

    def incr(self, stat: str, count: int = 1) -> object:
        """Add to a counter.

        :param stat: its name.
        :param count: how much.
        """

    def gauge(self, stat: str, value: float) -> object:
        """Set a gauge.

        :param stat: its name.
        :param value: its value.
        """

    def timing(self, stat: str, delta: float) -> object:
        """Record a time.

        :param stat: its name.
        :param delta: milliseconds.
        """


class _Timed(RequestCounters):
    """Counts, and sends the time of each request as it ends."""

    def __init__(self, client: StatsdClient, name: str) -> None:
        super().__init__()
        self._client = client
        self._name = name

    def on_end(self, request: ObservedRequest) -> None:
        super().on_end(request)
        assert request.latency is not None
        self._client.timing(self._name, request.latency * 1000)


class StatsReporter:
    """Sends a cluster's counts since the last report, and its state.

    :param cluster: a `cassandra.cluster.Cluster` or `cassandra.aio.Cluster`.
    :param client: sends.
    :param prefix: of all names.
    """

    def __init__(self, cluster: Any, client: StatsdClient, prefix: str = "cassandra") -> None:
        self._cluster = weakref.ref(cluster)
        self._client = client
        self._prefix = prefix
        self._sent: dict[str, int] = {}
        self._stopped: threading.Event | None = None
        self.counters: RequestCounters = _Timed(client, f"{prefix}.request")
        """The counters."""
        cluster.add_request_observer(self.counters)

    def report(self) -> None:
        """Send one report; any thread, one at a time."""
        cluster = self._cluster()
        if cluster is None:
            self.stop()
            return
        for outcome, count in list(self.counters.requests.items()):
            self._count(f"requests.{_UNFIT.sub('_', outcome)}", count)
        for host, counters in self.counters.hosts.items():
            place = _place(host)
            for name in ("attempts", "retries", "speculations", "bytes_out", "bytes_in"):
                self._count(f"{place}.{name}", getattr(counters, name))
            for error, count in list(counters.errors.items()):
                self._count(f"{place}.errors.{error}", count)
        gauges = ClusterGauges.of(cluster)
        for one in gauges.hosts:
            for name in ("is_up", "connections", "in_flight", "streams_free", "orphans", "waiting"):
                self._client.gauge(
                    f"{self._prefix}.{_place(one.host)}.{name}", int(getattr(one, name))
                )
            self._count(f"{_place(one.host)}.reconnections", one.reconnections)
        for name in ("refused", "schema_reads", "failed_schema_reads"):
            self._count(name, getattr(gauges, name))
        for name in ("sessions", "prepared_statements", "throttled", "tablets"):
            self._client.gauge(f"{self._prefix}.{name}", getattr(gauges, name))

    def _count(self, name: str, count: int) -> None:
        # Counters of StatsD are differences.
        new = count - self._sent.get(name, 0)
        if new:
            self._sent[name] = count
            self._client.incr(f"{self._prefix}.{name}", new)

    def start(self, interval: float = 10.0) -> None:
        """Report every `interval` seconds, in a thread that ends with `stop` or with the cluster.

        :param interval: seconds.
        :raises ValueError: if it is not positive.
        """
        if not interval > 0:
            raise ValueError(f"interval must be positive, but is {interval!r}")
        self.stop()
        stopped = self._stopped = threading.Event()

        def work() -> None:
            while not stopped.wait(interval):
                try:
                    self.report()
                except Exception:  # of the client: the next report may go through
                    log.exception("a report to StatsD failed")

        threading.Thread(target=work, name="cassandra-statsd", daemon=True).start()

    def stop(self) -> None:
        """Report no more."""
        stopped, self._stopped = self._stopped, None
        if stopped is not None:
            stopped.set()


def _place(host: Host) -> str:
    # Dots part names from each other.
    return "hosts." + _UNFIT.sub("_", str(host.endpoint))
