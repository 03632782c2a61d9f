"""Counters and latencies of a cluster's requests, if you set ``Cluster(metrics_enabled=True)``.

The engine updates these numbers on its event loop, and you can read them from any thread.
`Metrics.get_stats` returns all numbers as one dict, which you can pass to a reporting system. If
metrics are disabled, nothing is counted.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator, Mapping
from math import sqrt
from typing import TYPE_CHECKING, Any, Protocol

from cassandra._histogram import BUCKETS, bucket_of, percentile_of
from cassandra._lazy import lazy_names
from cassandra.errors import (
    ConnectionException,
    OperationTimedOut,
    ReadTimeout,
    Unavailable,
    WriteTimeout,
)
from cassandra.observers import RequestObserver
from cassandra.policies.retry import RetryPolicy

if TYPE_CHECKING:
    from cassandra.engine.core import Core
    from cassandra.engine.endpoint import EndPoint
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host

__all__ = ["Metrics", "RequestTimer", "getStats"]

# The percentiles of a `RequestTimer`, by their keys in the mapping.
_PERCENTILES = {
    "median": 50.0,
    "75percentile": 75.0,
    "95percentile": 95.0,
    "98percentile": 98.0,
    "99percentile": 99.0,
    "999percentile": 99.9,
}


class RequestTimer(Mapping[str, float]):
    """The latencies of all responses since `Cluster.connect`, and client time-outs, in seconds.

    The timer is a mapping with the keys count, min, max, mean, stddev, median, and percentiles such
    as ``99percentile``. The percentiles come from a histogram and are accurate to about 3 %.
    """

    def __init__(self) -> None:
        self._counts = [0] * BUCKETS  # the number of latencies in each bucket of the histogram
        self._count = 0
        self._sum = 0.0
        # The sum of the squares of all latencies, for the standard deviation.
        self._squares = 0.0
        self._min = float("inf")
        self._max = 0.0

    def record(self, host: object, seconds: float) -> None:
        """Add the latency of a response.

        :param host: the `Host`.
        :param seconds: from sending the request to receiving the response.
        """
        self._counts[bucket_of(seconds)] += 1
        self._count += 1
        self._sum += seconds
        self._squares += seconds * seconds
        if seconds < self._min:
            self._min = seconds
        if seconds > self._max:
            self._max = seconds

    def percentile(self, percent: float) -> float:
        """Return the seconds within which `percent` % of the responses arrived; 0.0 without any.

        :param percent: 0 to 100.
        """
        # Copy the counts, because the event loop may add latencies while we compute. The percentile
        # is the upper bound of a bucket, and may be greater than the greatest latency. So return
        # the greatest latency at most.
        return min(percentile_of(list(self._counts), percent), self._max)

    def __getitem__(self, key: str) -> float:
        if key in _PERCENTILES:
            return self.percentile(_PERCENTILES[key])
        count = self._count
        mean = self._sum / count if count else 0.0
        statistics = {
            "count": count,
            "min": self._min if count else 0.0,
            "max": self._max,
            "mean": mean,
            # The variance is the mean of the squares minus the square of the mean. If these two are
            # almost equal, rounding may make the difference negative.
            "stddev": sqrt(max(self._squares / count - mean * mean, 0.0)) if count else 0.0,
        }
        return statistics[key]

    def __iter__(self) -> Iterator[str]:
        return iter(("count", "min", "max", "mean", "stddev", *_PERCENTILES))

    def __len__(self) -> int:
        return 5 + len(_PERCENTILES)

    def __repr__(self) -> str:
        return f"<RequestTimer: {self._count} answers, mean {self['mean'] * 1000:.3f} ms>"


class _Counting(RequestObserver):
    """The observer that passes responses and failures to a `Metrics` object."""

    def __init__(self, metrics: Metrics) -> None:
        # Use the methods of the metrics directly: they are called for each response, and a further
        # call from a method of this class would take time.
        self.on_latency = metrics.request_timer.record  # type: ignore[method-assign]
        self.on_refusal = metrics.request_timer.record  # type: ignore[method-assign]
        self.on_failure = metrics._on_failure  # type: ignore[method-assign]


class _CountingConnections(RequestObserver):
    """The observer that counts connections that could not be opened."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def on_connection_failure(self, endpoint: EndPoint, kind: str, error: Exception) -> None:
        self._metrics.connection_failures += 1
        if kind == "authentication":
            self._metrics.refused_logins += 1


class HasStats(Protocol):
    """An object that can be registered for `getStats`."""

    def get_stats(self) -> dict[str, Any]:
        """Return numbers by name."""


class ObservedEngine(Protocol):
    """The method of an engine that metrics use."""

    def observe_requests(self, observer: RequestObserver, is_trusted: bool = False) -> None:
        """Notify `observer` of all requests from now on.

        :param is_trusted: True for the driver's own observers, which neither raise nor block.
        """


class MeasuredCluster(Protocol):
    """The attributes of a cluster that metrics read."""

    @property
    def _core(self) -> Core | None:
        """The engine, or None before `connect`."""

    @property
    def metadata(self) -> Metadata:
        """The metadata with the known hosts."""


class Metrics:
    """Statistics of one cluster's requests. Counters start at 0 and only grow.

    Each failed attempt is counted under its error, even if the request succeeds after a retry. Each
    retry is also counted in `retries`.

    :param cluster_proxy: a weak proxy of the cluster, because metrics must not keep a cluster
        alive.
    """

    request_timer: RequestTimer
    """The latency of each response, in seconds. See `RequestTimer`."""

    connection_errors: int
    """The number of attempts that failed because their connection broke."""

    connection_failures: int
    """The number of connections that could not be opened.

    .. versionadded:: 4.0
    """

    refused_logins: int
    """The number of `connection_failures` in which the server has refused the login.

    .. versionadded:: 4.0
    """

    write_timeouts: int
    """The number of attempts that failed with a write time-out of the server."""

    read_timeouts: int
    """The number of attempts that failed with a read time-out of the server."""

    unavailables: int
    """The number of attempts that the server rejected because too few replicas were alive."""

    other_errors: int
    """The number of all other errors, such as invalid requests and client time-outs."""

    retries: int
    """The number of retries by a retry policy."""

    ignores: int
    """The number of errors that a retry policy ignored."""

    def __init__(self, cluster_proxy: MeasuredCluster) -> None:
        self._cluster = cluster_proxy
        self.request_timer = RequestTimer()
        self.connection_errors = 0
        self.connection_failures = 0
        self.refused_logins = 0
        self.write_timeouts = 0
        self.read_timeouts = 0
        self.unavailables = 0
        self.other_errors = 0
        self.retries = 0
        self.ignores = 0
        self.stats_name = ""
        self.set_stats_name(f"cassandra-{next(_numbers)}")

    def attach(self, engine: ObservedEngine) -> None:
        """Have an engine report its responses and failures to these metrics.

        :param engine: the engine.
        """
        engine.observe_requests(_Counting(self), is_trusted=True)

    def _connection_observer(self) -> RequestObserver:
        """Return the observer that counts connections that could not be opened."""
        return _CountingConnections(self)

    def _on_failure(self, host: Host | None, error: BaseException, decision: int | None) -> None:
        """Count a failed attempt by its error and the decision of the retry policy."""
        # Find the name of the attribute that counts errors of this class.
        counter = next(
            (name for error_class, name in _COUNTERS if isinstance(error, error_class)),
            "other_errors",
        )
        if isinstance(error, OperationTimedOut) and error.timeout is not None:
            # Without a response there is no latency, but the timer also shows how many requests
            # there are, and how long they take.
            self.request_timer.record(host, max(error.timeout, 0.0))
        # This needs no lock, because only the engine's event loop counts.
        setattr(self, counter, getattr(self, counter) + 1)
        if decision in (RetryPolicy.RETRY, RetryPolicy.RETRY_NEXT_HOST):
            self.retries += 1
        elif decision == RetryPolicy.IGNORE:
            self.ignores += 1

    def _sessions(self) -> list[Any]:
        """Return the open sessions of the cluster."""
        try:
            core = self._cluster._core
        except ReferenceError:  # the cluster no longer exists, but its numbers stay
            return []
        return list(core.sessions) if core is not None else []

    @property
    def known_hosts(self) -> int:
        """The number of known hosts."""
        try:
            return len(self._cluster.metadata.all_hosts())
        except ReferenceError:
            return 0

    @property
    def connected_to(self) -> int:
        """The number of hosts that have an open connection."""
        return len(
            {
                pool.host
                for session in self._sessions()
                for pool in session.all_pools()
                if pool.connections
            }
        )

    @property
    def open_connections(self) -> int:
        """The number of open connections of all sessions, without the control connection."""
        return sum(
            len(pool.connections) for session in self._sessions() for pool in session.all_pools()
        )

    @property
    def graceful_disconnects(self) -> int:
        """The number of times that nodes announced that they would stop soon (GRACEFUL_DISCONNECT).

        .. versionadded:: 4.0
        """
        try:
            metadata = self._cluster.metadata
        except ReferenceError:
            return 0
        return sum(metadata.engine_counts.drains.values())

    @property
    def tablet_hits(self) -> int:
        """The number of requests whose partition was in a known tablet (ScyllaDB)."""
        return self._of_tablets("hits")

    @property
    def tablet_misses(self) -> int:
        """The number of requests whose tablet was not known yet."""
        return self._of_tablets("misses")

    def _of_tablets(self, name: str) -> int:
        try:
            return int(getattr(self._cluster.metadata.tablets, name))
        except ReferenceError:
            return 0

    def get_stats(self) -> dict[str, Any]:
        """Return all numbers as one dict, with a dict for "request_timer"."""
        names = [
            *_ALL_COUNTERS,
            "connection_failures",
            "refused_logins",
            "known_hosts",
            "connected_to",
            "open_connections",
            "graceful_disconnects",
            "tablet_hits",
            "tablet_misses",
        ]
        return {
            **{name: getattr(self, name) for name in names},
            "request_timer": dict(self.request_timer),
        }

    def set_stats_name(self, stats_name: str) -> None:
        """Name these metrics for `getStats`, instead of ``cassandra-<number>``.

        :param stats_name: the new name.
        :raises ValueError: if another cluster's metrics have that name.
        """
        if _by_name.get(stats_name, self) is not self:
            raise ValueError(f"the stats name {stats_name!r} is taken by another cluster's metrics")
        _by_name.pop(self.stats_name, None)
        self.stats_name = stats_name
        _by_name[stats_name] = self

    @property
    def stats(self) -> Metrics:
        """The metrics themselves: each number is an attribute, and `get_stats` returns all."""
        return self

    # The following methods are for user code that counts events itself, such as retry policies of
    # the application.

    def on_write_timeout(self) -> None:
        """Increment `write_timeouts`."""
        self.write_timeouts += 1

    def on_read_timeout(self) -> None:
        """Increment `read_timeouts`."""
        self.read_timeouts += 1

    def on_unavailable(self) -> None:
        """Increment `unavailables`."""
        self.unavailables += 1

    def on_connection_error(self) -> None:
        """Increment `connection_errors`."""
        self.connection_errors += 1

    def on_other_error(self) -> None:
        """Increment `other_errors`."""
        self.other_errors += 1

    def on_ignore(self) -> None:
        """Increment `ignores`."""
        self.ignores += 1

    def on_retry(self) -> None:
        """Increment `retries`."""
        self.retries += 1

    def shutdown(self) -> None:
        """Remove these metrics from `getStats`."""
        _by_name.pop(self.stats_name, None)


# The attributes of `Metrics` that count failed attempts by their errors, or decisions of retry
# policies.
_ALL_COUNTERS = (
    "connection_errors", "write_timeouts", "read_timeouts", "unavailables", "other_errors",
    "retries", "ignores",
)  # fmt: skip
# The attribute that counts the errors of each class. The first entry whose class matches is used.
_COUNTERS: tuple[tuple[type[BaseException], str], ...] = (
    (WriteTimeout, "write_timeouts"),
    (ReadTimeout, "read_timeouts"),
    (Unavailable, "unavailables"),
    (ConnectionException, "connection_errors"),
)
# `_by_name` has the metrics by their stats name. The references are weak, so that a cluster that
# nobody uses any more can be freed with its metrics.
_numbers = itertools.count()  # numbers the clusters, for their default names
_by_name: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


def getStats() -> dict[str, dict[str, Any]]:
    """Return a dict with the result of `Metrics.get_stats` of each cluster, by its stats name.

    The dict also has the numbers of the application's own objects that were passed to `register`.
    """
    return {name: metrics.get_stats() for name, metrics in list(_by_name.items())}


def register(name: str, source: HasStats) -> None:
    """Include ``source.get_stats()`` in `getStats` while `source` exists."""
    _by_name[name] = source


__getattr__ = lazy_names(
    __name__,
    dict.fromkeys(
        ("IntStat", "PmfStat", "Stat", "StatsCollection", "collection", "init"),
        "cassandra._compat.stats",
    ),
)
