"""Metrics for Prometheus. This module needs ``pip install turbocql[prometheus]``.

.. code-block:: python

   import prometheus_client

   from cassandra.cluster import Cluster
   from cassandra.observability.prometheus import ClusterCollector

   cluster = Cluster()
   prometheus_client.REGISTRY.register(ClusterCollector(cluster))
   prometheus_client.start_http_server(8000)

You can register collectors of several clusters in one registry: the label ``cluster`` distinguishes
them. Names begin with ``cassandra_driver_``. ``docs/_static/grafana.json`` is a dashboard for these
metrics.
"""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector, CollectorRegistry, RestrictedRegistry

from cassandra._habits import stack_level
from cassandra._unknown_options import advise_options
from cassandra.observability.counters import (
    BUCKETS,
    ClusterGauges,
    Histogram,
    HostGauges,
    RequestCounters,
    checked_cluster,
    forget_departed,
)

if TYPE_CHECKING:
    from types import FrameType

    from cassandra.metadata.host import Host

__all__ = ["ClusterCollector"]


# The clusters that have a collector. Creating another collector for such a cluster causes a
# warning.
_observed_clusters: weakref.WeakSet[Any] = weakref.WeakSet()
_HOST_LABELS = ("cluster", "host", "datacenter", "rack")  # the labels of metrics of a host


class ClusterCollector(Collector):
    """Collects a cluster's counters and current state each time Prometheus scrapes metrics.

    The collector registers a request observer with the cluster. It only has a weak reference to the
    cluster, so it does not keep the cluster alive.

    :param cluster: a `cassandra.cluster.Cluster` or `cassandra.aio.Cluster`.
    :param name: the value of the label ``cluster``; None for the cluster's own name. If two
        clusters in a registry have the same name, ``-2`` is appended to the name of the second
        cluster.
    :param buckets: the upper bounds of the latency buckets, in seconds.
    :raises TypeError: if `cluster` is not a cluster.
    :raises ValueError: if the bounds are not positive and ascending.
    """

    def __init__(
        self, cluster: Any, name: str | None = None, buckets: Sequence[float] = BUCKETS
    ) -> None:
        self._cluster = weakref.ref(checked_cluster(cluster, "ClusterCollector"))
        self._name = name
        self._last_name = ""  # the cluster's name at the last scrape; empty before it is known
        if cluster in _observed_clusters:
            warnings.warn(
                f"{cluster!r} has a ClusterCollector already: a second one counts each request "
                "again, under another label",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
        _observed_clusters.add(cluster)
        self.counters = RequestCounters(buckets)
        """The request counters of the cluster."""
        cluster.add_request_observer(self.counters)

    def describe(self) -> Iterator[Metric]:
        """Return all metrics without their values, from which the registry learns their names.

        A registry asks only the collector that has registered a name for it. So the first collector
        of a registry returns the metrics, and the other collectors return nothing, as in `collect`.
        """
        collectors = _collectors_beside(self, is_registered=False)
        return iter(()) if collectors and collectors[0] is not self else _metrics(())

    def collect(self) -> Iterator[Metric]:
        """Return the current metrics.

        A registry may have several collectors, but each metric may be declared only once. So the
        first collector returns the metrics of all clusters, and the other collectors return
        nothing.
        """
        # This must not be a generator: `_collectors_beside` searches the call stack for the
        # registry, so it must run while the registry is calling this method.
        collectors = _collectors_beside(self)
        if collectors[0] is not self:
            return iter(())
        sources = _read_sources(collectors)
        return _metrics(sources) if sources else iter(())


advise_options(ClusterCollector)


class _Source(NamedTuple):
    """The counters and gauges of one cluster.

    :param name: the value of the label ``cluster``.
    :param counters: the counters of the cluster's requests.
    :param gauges: the cluster's current state, and further counters.
    :param has_state: False after the cluster's shutdown: it has only counters then. Otherwise
        alarms would fire, because such a cluster has no control connection.
    """

    name: str
    counters: RequestCounters
    gauges: ClusterGauges
    has_state: bool


def _collectors_beside(
    collector: ClusterCollector, is_registered: bool = True
) -> list[ClusterCollector]:
    """Return all `ClusterCollector` objects of the registry that is calling a method of one.

    The objects are in the order of their registration.

    :param collector: the collector whose method is called.
    :param is_registered: True if `collector` belongs to the objects that are returned; False if the
        registry is about to register it.
    """
    # A collector does not know its registry, so search the call stack for the registry that has
    # called the method. Frame 0 is this function, frame 1 is the method, and frame 2 its caller.
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_MAX_FRAMES):
        if frame is None:
            break
        registry = frame.f_locals.get("self")
        # A registry that ``?name[]=`` restricts to some names refers to the whole registry.
        if isinstance(registry, RestrictedRegistry):
            registry = getattr(registry, "_registry", None)
        if isinstance(registry, CollectorRegistry):
            # The registry has its collectors only as keys of this private dict.
            registered = list(getattr(registry, "_collector_to_names", ()))
            collectors = [
                registered_collector
                for registered_collector in registered
                if isinstance(registered_collector, ClusterCollector)
            ]
            # If the registry does not have `collector`, code of the application has called
            # `collect`: return only this collector.
            if is_registered and collector not in collectors:
                break
            return collectors
        frame = frame.f_back
    return [collector]


_MAX_FRAMES = 5  # maximum depth of the search: subclasses and wrappers add frames


def _read_sources(collectors: Sequence[ClusterCollector]) -> list[_Source]:
    """Read the counters and gauges of all clusters, and forget hosts that left their cluster."""
    sources: list[_Source] = []
    names: set[str] = set()
    for collector in collectors:
        cluster = collector._cluster()
        # Keep the name of a cluster that was garbage-collected while its collector is registered:
        # otherwise the series of another cluster would continue under this name.
        if cluster is not None:
            collector._last_name = collector._name or cluster.metadata.cluster_name or ""
        elif not collector._last_name:
            continue
        name = base_name = collector._last_name
        # If several clusters have the same name, append a number: Prometheus rejects two samples
        # with the same labels.
        number = 1
        while name in names:
            number += 1
            name = f"{base_name}-{number}"
        names.add(name)
        if cluster is None:
            continue
        counters = collector.counters
        gauges = ClusterGauges.of(cluster)
        if cluster.is_shutdown:
            sources.append(_Source(name, counters, gauges, has_state=False))
            continue
        forget_departed(cluster, counters, gauges)
        sources.append(_Source(name, counters, gauges, has_state=True))
    return sources


def _metrics(sources: Sequence[_Source]) -> Iterator[Metric]:
    yield from _request_metrics(sources)
    yield from _host_metrics(sources)
    yield from _gauge_metrics(sources)


def _request_metrics(sources: Sequence[_Source]) -> Iterator[Metric]:
    """Yield the counts and durations of whole requests."""
    requests = _counter("requests", "Requests that are over, by outcome", "cluster", "outcome")
    for source in sources:
        for outcome, count in list(source.counters.requests.items()):
            requests.add_metric([source.name, outcome], count)
    yield requests
    durations = HistogramMetricFamily(
        "cassandra_driver_request_duration_seconds",
        "Time of whole requests, with all attempts and waits",
        labels=["cluster"],
    )
    for source in sources:
        _add_histogram(durations, [source.name], source.counters.durations)
    yield durations


def _host_metrics(sources: Sequence[_Source]) -> Iterator[Metric]:
    """Yield the counts and durations of attempts, by host."""
    # The labels and the counters of each host, as pairs. Several metrics below use this list.
    labelled_counters = [
        (_host_labels(source.name, host), counters)
        for source in sources
        for host, counters in source.counters.hosts.items()
    ]
    latencies = HistogramMetricFamily(
        "cassandra_driver_attempt_duration_seconds",
        "Time from sending an attempt to its answer",
        labels=_HOST_LABELS,
    )
    for labels, counters in labelled_counters:
        _add_histogram(latencies, labels, counters.latencies)
    yield latencies
    # Count failed attempts by error, and failed connections by the kind of failure.
    errors = _counter("errors", "Attempts that failed, by error", *_HOST_LABELS, "error")
    for labels, counters in labelled_counters:
        # Copy the items, because another thread may add an error at the same time.
        for error, count in list(counters.errors.items()):
            errors.add_metric([*labels, error], count)
    yield errors
    failures = _counter(
        "connection_failures",
        "Connections that could not be opened, by kind",
        *("cluster", "host", "kind"),
    )
    for source in sources:
        for endpoint, counts in source.counters.connection_failures.items():
            for kind, count in counts.items():
                failures.add_metric([source.name, str(endpoint), kind], count)
    yield failures
    # The other counters are plain numbers. Each item is (attribute of `HostCounters`, metric, help
    # text).
    for attribute, metric, help_text in (
        ("attempts", "attempts", "Attempts that were sent"),
        ("retries", "retries", "Failed attempts that were followed by another one"),
        ("speculations", "speculative_executions", "Speculative executions"),
        ("bytes_out", "sent_bytes", "Bytes of requests, before compression"),
        ("bytes_in", "received_bytes", "Bytes of answers, after decompression"),
    ):
        family = _counter(metric, help_text, *_HOST_LABELS)
        for labels, counters in labelled_counters:
            family.add_metric(labels, getattr(counters, attribute))
        yield family


def _gauge_metrics(sources: Sequence[_Source]) -> Iterator[Metric]:
    """Yield the metrics that are read from `ClusterGauges`. Some of them are counters."""
    named_counters = [(source.name, source.gauges) for source in sources]
    labelled_counters = _by_host(named_counters)
    # Clusters that were shut down have only counters.
    named_gauges = [(source.name, source.gauges) for source in sources if source.has_state]
    labelled_gauges = _by_host(named_gauges)
    # The gauges of each host. Each item is (attribute of `HostGauges`, metric, help text).
    for attribute, metric, help_text in (
        ("is_up", "host_up", "1 if the host is known to be up; not for hosts that policies ignore"),
        ("is_given_up", "host_given_up", "1 if the host is not tried any more: a refused login"),
        ("connections", "connections", "Open connections"),
        ("in_flight", "in_flight_requests", "Requests that wait for their answers"),
        ("streams_free", "free_streams", "Requests that could be sent at once"),
        ("orphans", "orphaned_streams", "Streams whose answer nobody waits for any more"),
        ("waiting", "waiting_requests", "Requests that wait for a free stream"),
        ("draining", "draining_connections", "Connections that the host will close soon"),
    ):
        family = _gauge(metric, help_text, *_HOST_LABELS)
        for labels, gauges in labelled_gauges:
            # If all policies ignore a host, the driver does not know if it is up. Leave it out,
            # because an alarm about hosts that are down would fire for it.
            if metric == "host_up" and gauges.is_ignored:
                continue
            family.add_metric(labels, float(getattr(gauges, attribute)))
        yield family
    for attribute, metric, help_text in (
        ("sessions", "sessions", "Open sessions"),
        ("is_connected", "control_connection_up", "1 if there is a control connection"),
        ("prepared_statements", "prepared_statements", "Prepared statements in use"),
        ("tablets", "tablets", "Tablets whose place is known"),
        ("throttled", "throttled_requests", "Requests that wait for the throttler"),
    ):
        family = _gauge(metric, help_text, "cluster")
        for name, cluster_gauges in named_gauges:
            family.add_metric([name], float(getattr(cluster_gauges, attribute)))
        yield family
    for attribute, metric, help_text in (
        ("refused", "refused_requests", "Requests that found the throttler's queue full"),
        ("schema_reads", "schema_reads", "Parts of the schema that were read again"),
        ("failed_schema_reads", "failed_schema_reads", "Those of them that failed"),
    ):
        family_of_counters = _counter(metric, help_text, "cluster")
        for name, cluster_gauges in named_counters:
            family_of_counters.add_metric([name], getattr(cluster_gauges, attribute))
        yield family_of_counters
    for attribute, metric, help_text in (
        ("reconnections", "reconnection_attempts", "Tries to reach a host that was down"),
        ("graceful_disconnects", "graceful_disconnects", "Times that the host said it would stop"),
    ):
        family_of_counters = _counter(metric, help_text, *_HOST_LABELS)
        for labels, gauges in labelled_counters:
            family_of_counters.add_metric(labels, getattr(gauges, attribute))
        yield family_of_counters
    lookups = _counter(
        "tablet_lookups", "Requests to tables with tablets, by outcome", "cluster", "outcome"
    )
    for name, cluster_gauges in named_counters:
        lookups.add_metric([name, "hit"], cluster_gauges.tablet_hits)
        lookups.add_metric([name, "miss"], cluster_gauges.tablet_misses)
    yield lookups


def _by_host(
    named_gauges: Sequence[tuple[str, ClusterGauges]],
) -> list[tuple[list[str], HostGauges]]:
    """Return the labels and the gauges of each host of the clusters.

    :param named_gauges: the name and the gauges of each cluster.
    """
    return [
        (_host_labels(name, host_gauges.host), host_gauges)
        for name, cluster_gauges in named_gauges
        for host_gauges in cluster_gauges.hosts
    ]


def _host_labels(name: str, host: Host) -> list[str]:
    """Return the values for the labels in `_HOST_LABELS`."""
    return [name, str(host.endpoint), host.datacenter or "", host.rack or ""]


def _counter(name: str, help_text: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"cassandra_driver_{name}", help_text, labels=labels)


def _gauge(name: str, help_text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"cassandra_driver_{name}", help_text, labels=labels)


def _add_histogram(family: HistogramMetricFamily, labels: list[str], histogram: Histogram) -> None:
    """Add a histogram to `family`, as a sample with these label values."""
    buckets: list[tuple[str, float]] = [
        ("+Inf" if bound == float("inf") else str(bound), count)
        for bound, count in histogram.cumulated()
    ]
    family.add_metric(labels, buckets=buckets, sum_value=histogram.sum)
