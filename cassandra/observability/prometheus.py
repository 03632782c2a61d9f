"""Metrics for Prometheus; needs ``pip install turbocql[prometheus]``.

.. code-block:: python

   import prometheus_client

   from cassandra.cluster import Cluster
   from cassandra.observability.prometheus import ClusterCollector

   cluster = Cluster()
   prometheus_client.REGISTRY.register(ClusterCollector(cluster))
   prometheus_client.start_http_server(8000)

Names begin with ``cassandra_driver_``. ``docs/_static/grafana.json`` is a dashboard of them.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from cassandra.observability.counters import BUCKETS, ClusterGauges, Histogram, RequestCounters

if TYPE_CHECKING:
    from cassandra.metadata.host import Host

__all__ = ["ClusterCollector"]

_HOST = ("cluster", "host", "datacenter", "rack")


class ClusterCollector(Collector):
    """Collects a cluster's counts and state, when Prometheus asks.

    It registers an observer of requests with the cluster. A cluster that the program drops is not
    kept by it.

    :param cluster: a `cassandra.cluster.Cluster` or `cassandra.aio.Cluster`.
    :param name: the value of the label ``cluster``; None for the cluster's own name.
    :param buckets: the upper ends of the buckets of latencies, in seconds.
    :raises ValueError: if the buckets do not rise.
    """

    def __init__(
        self, cluster: Any, name: str | None = None, buckets: Sequence[float] = BUCKETS
    ) -> None:
        self._cluster = weakref.ref(cluster)
        self._name = name
        self.counters = RequestCounters(buckets)
        """The counters."""
        cluster.add_request_observer(self.counters)

    def describe(self) -> Iterator[Metric]:
        """Return nothing: the registry need not collect to learn the names."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Return the metrics of now."""
        cluster = self._cluster()
        if cluster is None:
            return
        name = self._name or cluster.metadata.cluster_name or ""
        yield from self._totals(name)
        gauges = ClusterGauges.of(cluster)
        for host in set(self.counters.hosts) - {one.host for one in gauges.hosts}:
            self.counters.forget(host)
        yield from self._by_host(name)
        yield from _gauges(name, gauges)

    def _totals(self, name: str) -> Iterator[Metric]:
        requests = _counter("requests", "Requests that are over, by outcome", "cluster", "outcome")
        for outcome, count in list(self.counters.requests.items()):
            requests.add_metric([name, outcome], count)
        yield requests
        durations = HistogramMetricFamily(
            "cassandra_driver_request_duration_seconds",
            "Time of whole requests, with all attempts and waits",
            labels=["cluster"],
        )
        _add(durations, [name], self.counters.durations)
        yield durations

    def _by_host(self, name: str) -> Iterator[Metric]:
        hosts = [(_labels(name, host), one) for host, one in self.counters.hosts.items()]
        latencies = HistogramMetricFamily(
            "cassandra_driver_attempt_duration_seconds",
            "Time from sending an attempt to its answer",
            labels=_HOST,
        )
        for labels, one in hosts:
            _add(latencies, labels, one.latencies)
        yield latencies
        errors = _counter("errors", "Attempts that failed, by error", *_HOST, "error")
        for labels, one in hosts:
            for error, count in list(one.errors.items()):
                errors.add_metric([*labels, error], count)
        yield errors
        for attribute, metric, text in (
            ("attempts", "attempts", "Attempts that were sent"),
            ("retries", "retries", "Failed attempts that were followed by another one"),
            ("speculations", "speculative_executions", "Speculative executions"),
            ("bytes_out", "sent_bytes", "Bytes of requests, before compression"),
            ("bytes_in", "received_bytes", "Bytes of answers, after decompression"),
        ):
            family = _counter(metric, text, *_HOST)
            for labels, one in hosts:
                family.add_metric(labels, getattr(one, attribute))
            yield family


def _gauges(name: str, gauges: ClusterGauges) -> Iterator[Metric]:
    for attribute, metric, text in (
        ("is_up", "host_up", "1 if the host is known to be up"),
        ("connections", "connections", "Open connections"),
        ("in_flight", "in_flight_requests", "Requests that wait for their answers"),
        ("streams_free", "free_streams", "Requests that could be sent at once"),
        ("orphans", "orphaned_streams", "Streams whose answer nobody waits for any more"),
        ("waiting", "waiting_requests", "Requests that wait for a free stream"),
    ):
        family = _gauge(metric, text, *_HOST)
        for one in gauges.hosts:
            family.add_metric(_labels(name, one.host), float(getattr(one, attribute)))
        yield family
    for attribute, metric, text in (
        ("sessions", "sessions", "Open sessions"),
        ("is_connected", "control_connection_up", "1 if there is a control connection"),
        ("prepared_statements", "prepared_statements", "Prepared statements in use"),
        ("tablets", "tablets", "Tablets whose place is known"),
        ("throttled", "throttled_requests", "Requests that wait for the throttler"),
    ):
        family = _gauge(metric, text, "cluster")
        family.add_metric([name], float(getattr(gauges, attribute)))
        yield family
    for attribute, metric, text in (
        ("refused", "refused_requests", "Requests that found the throttler's queue full"),
        ("schema_reads", "schema_reads", "Parts of the schema that were read again"),
        ("failed_schema_reads", "failed_schema_reads", "Those of them that failed"),
    ):
        grown = _counter(metric, text, "cluster")
        grown.add_metric([name], getattr(gauges, attribute))
        yield grown
    tries = _counter("reconnection_attempts", "Tries to reach a host that was down", *_HOST)
    for one in gauges.hosts:
        tries.add_metric(_labels(name, one.host), one.reconnections)
    yield tries
    found = _counter(
        "tablet_lookups", "Requests to tables with tablets, by outcome", "cluster", "outcome"
    )
    found.add_metric([name, "hit"], gauges.tablet_hits)
    found.add_metric([name, "miss"], gauges.tablet_misses)
    yield found


def _labels(name: str, host: Host) -> list[str]:
    return [name, str(host.endpoint), host.datacenter or "", host.rack or ""]


def _counter(name: str, text: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"cassandra_driver_{name}", text, labels=labels)


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"cassandra_driver_{name}", text, labels=labels)


def _add(family: HistogramMetricFamily, labels: list[str], histogram: Histogram) -> None:
    buckets: list[tuple[str, float]] = [
        ("+Inf" if bound == float("inf") else str(bound), count)
        for bound, count in histogram.cumulated()
    ]
    family.add_metric(labels, buckets=buckets, sum_value=histogram.sum)
