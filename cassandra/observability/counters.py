"""Counts of requests by host, and the current state of a cluster's connections, for metrics.

`RequestCounters` is an observer that counts requests from the moment at which it is registered.
`ClusterGauges.of` reads the current state of a cluster. `cassandra.observability.prometheus` and
`cassandra.observability.statsd` report both.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cassandra._attempts import deciding_attempt
from cassandra._forks import renewed
from cassandra._logs import Log
from cassandra._threads import RLock
from cassandra.errors import ConnectionException, OperationTimedOut
from cassandra.observers import ObservedRequest, RequestObserver
from cassandra.policies.balancing import HostDistance

if TYPE_CHECKING:
    from cassandra.engine.happy_path import Attempt
    from cassandra.metadata.cluster_metadata import EngineCounts
    from cassandra.metadata.endpoint import EndPoint
    from cassandra.metadata.host import Host

__all__ = ["BUCKETS", "ClusterGauges", "Histogram", "HostCounters", "HostGauges", "RequestCounters"]

log = Log(__name__)

ClusterT = TypeVar("ClusterT")

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The default upper bounds of the latency buckets, in seconds."""


class Histogram:
    """Counts times by bucket. A last bucket, without a bound, has the times above all bounds.

    :param bounds: the upper bounds of the buckets, in seconds and in ascending order.
    """

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float] = BUCKETS) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.sum = 0.0

    def record(self, seconds: float) -> None:
        """Count a time.

        :param seconds: the time in seconds.
        """
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.sum += seconds

    @property
    def count(self) -> int:
        """The number of recorded times."""
        return sum(self.counts)

    def cumulated(self) -> list[tuple[float, int]]:
        """Return the upper bound of each bucket, in seconds, and the number of times up to it."""
        total = 0
        buckets = []
        for bound, count in zip((*self.bounds, float("inf")), list(self.counts), strict=True):
            total += count
            buckets.append((bound, total))
        return buckets


class HostCounters:
    """The counters of one host. Their values never decrease.

    :param bounds: the bucket bounds of the histogram.
    """

    def __init__(self, bounds: Sequence[float] = BUCKETS) -> None:
        self.attempts = 0
        """Attempts that were sent to the host."""
        self.latencies = Histogram(bounds)
        """The latencies of responses: from sending a request to receiving the response."""
        self.errors: dict[str, int] = {}
        """Failed attempts, by the name of the error's class."""
        self.retries = 0
        """Failed attempts that were followed by a retry, on this host or on another host."""
        self.speculations = 0
        """Attempts that were speculative executions."""
        self.bytes_out = 0
        """Bytes of the frames sent, before compression."""
        self.bytes_in = 0
        """Bytes of the response frames that requests waited for, after decompression."""


class RequestCounters(RequestObserver):
    """Counts attempts for each host, and the outcomes of requests for the whole cluster.

    Counting takes about 2 microseconds per request. The counters are written on the event loops of
    the cluster, and may be read in any thread.

    :param buckets: the upper bounds of the latency buckets, in seconds.
    :raises ValueError: if the bounds are not positive and ascending.
    """

    def __init__(self, buckets: Sequence[float] = BUCKETS) -> None:
        bounds = tuple(buckets)
        if not bounds or bounds[0] <= 0 or any(a >= b for a, b in pairwise(bounds)):
            raise ValueError(f"buckets must be positive and rise, but are {buckets!r}")
        self._bounds = bounds
        self._hosts: dict[Host, HostCounters] = {}
        # This lock protects all counters: several event loops may count at the same time, and other
        # threads may read `hosts`. The lock is reentrant, because a signal handler or finalizer may
        # interrupt a thread that holds the lock, and may read the counters.
        self._lock = RLock()
        renewed(self)
        self.requests: dict[str, int] = {"success": 0}
        """Finished requests, by outcome.

        Successful requests are counted under "success", failed requests under the error's class
        name.
        """
        self.durations = Histogram(bounds)
        """The durations of whole requests, including all attempts and waits."""
        self._connection_failures: dict[EndPoint, dict[str, int]] = {}

    def _renew_locks(self) -> None:
        """Replace the lock in a forked child, where the thread that held it does not exist."""
        self._lock = RLock()

    @property
    def hosts(self) -> Mapping[Host, HostCounters]:
        """A copy of the counters of each host that a request was sent to."""
        with self._lock:
            # Copy the dict, because the event loop may add a host while the caller iterates over
            # it.
            return dict(self._hosts)

    def _counters_of(self, host: Host) -> HostCounters:
        """Return the counters of a host. They are created at the first request to the host.

        The caller must hold the lock.
        """
        counters = self._hosts.get(host)
        if counters is None:
            counters = self._hosts[host] = HostCounters(self._bounds)
        return counters

    def forget(self, host: Host) -> None:
        """Drop the counters of a host that has left the cluster.

        :param host: the `Host`.
        """
        with self._lock:
            self._hosts.pop(host, None)

    @property
    def connection_failures(self) -> Mapping[EndPoint, Mapping[str, int]]:
        """A copy of the counts of connections that could not be opened, by end point and kind.

        The kinds are "authentication", "tls", "timeout", "network", "protocol" and "other", as in
        `RequestObserver.on_connection_failure`.
        """
        with self._lock:
            return {
                endpoint: dict(counts) for endpoint, counts in self._connection_failures.items()
            }

    def forget_endpoint(self, endpoint: EndPoint) -> None:
        """Drop the counts of an end point that the driver does not connect to any more.

        :param endpoint: the end point.
        """
        with self._lock:
            self._connection_failures.pop(endpoint, None)

    # -- events ------------------------------------------------------------------------------------

    def on_latency(self, host: Host, seconds: float) -> None:
        """Record the latency of a response.

        :param host: the host that responded.
        :param seconds: the time from sending the request to receiving the response.
        """
        with self._lock:
            self._counters_of(host).latencies.record(seconds)

    def on_refusal(self, host: Host, seconds: float) -> None:
        """Record the latency of an error response.

        :param host: the host that responded.
        :param seconds: the time from sending the request to receiving the response.
        """
        with self._lock:
            self._counters_of(host).latencies.record(seconds)

    def on_failure(self, host: Host | None, error: BaseException, decision: int | None) -> None:
        """Count a failed attempt at its host, under the name of the error's class.

        :param host: the host of the attempt; None if nothing was sent.
        :param error: the error of the attempt.
        :param decision: the decision of the retry policy, which is not used.
        """
        if host is not None:
            name = type(error).__name__
            with self._lock:
                errors = self._counters_of(host).errors
                errors[name] = errors.get(name, 0) + 1

    def on_connection_failure(self, endpoint: EndPoint, kind: str, error: Exception) -> None:
        """Count a connection that could not be opened.

        :param endpoint: the end point of the connection.
        :param kind: the kind of the error, as in `connection_failures`.
        :param error: the error, which is not used.
        """
        with self._lock:
            counts = self._connection_failures.setdefault(endpoint, {})
            counts[kind] = counts.get(kind, 0) + 1

    def on_attempt(self, request: ObservedRequest, attempt: Attempt) -> None:
        """Count an attempt at the host that it is sent to.

        :param request: the request.
        :param attempt: the attempt.
        """
        with self._lock:
            self._counters_of(attempt.host).attempts += 1

    def on_retry(
        self, request: ObservedRequest, attempt: Attempt, error: BaseException, decision: str
    ) -> None:
        """Count a retry at the host of the attempt that failed.

        :param request: the request.
        :param attempt: the attempt that failed.
        :param error: the error of that attempt.
        :param decision: the decision of the retry policy.
        """
        # A request knows the size of its last response only, so count the size of a response that
        # was an error now. An attempt gets no response if its connection was lost. The response to
        # an attempt that cannot be prepared again was counted when it was to be prepared.
        is_answered = not isinstance(error, ConnectionException) and (
            not attempt.reprepared or decision == _PREPARE
        )
        with self._lock:
            counters = self._counters_of(attempt.host)
            counters.retries += 1
            if is_answered:
                counters.bytes_in += request.response_size

    def on_speculation(self, request: ObservedRequest, attempt: Attempt) -> None:
        """Count a speculative execution at the host that it is sent to.

        :param request: the request.
        :param attempt: the new attempt.
        """
        with self._lock:
            self._counters_of(attempt.host).speculations += 1

    def on_end(self, request: ObservedRequest) -> None:
        """Count a finished request.

        :param request: the request.
        """
        error = request.error
        name = "success" if error is None else type(error).__name__
        # All attempts of a request send frames of the same size.
        size = request.request_size
        # `request.host` is the host of the last attempt; None if nothing was sent.
        host = request.host
        attempts = request.attempts
        assert request.latency is not None  # every finished request has a latency
        with self._lock:
            self.requests[name] = self.requests.get(name, 0) + 1
            self.durations.record(request.latency)
            for attempt in attempts:
                self._counters_of(attempt.host).bytes_out += size
            if host is not None and (error is None or _is_answer(error, attempts)):
                self._counters_of(host).bytes_in += request.response_size


# The decisions after which `RequestCounters.on_retry` is called.
_PREPARE = "prepare"
_SENT_AGAIN = frozenset({"retry", "retry next host", _PREPARE})


def _is_answer(error: BaseException, attempts: Sequence[Attempt]) -> bool:
    """Return True if a request has failed by a response that `on_retry` has not counted."""
    # CancelledError is not an Exception.
    if isinstance(error, OperationTimedOut) or not isinstance(error, Exception):
        return False
    attempt = deciding_attempt(attempts, error)
    return (
        attempt is not None
        and attempt.decision not in _SENT_AGAIN
        and not isinstance(attempt.error, ConnectionException)
    )


def forget_departed(cluster: Any, counters: RequestCounters, gauges: ClusterGauges) -> None:
    """Drop the counts of hosts that have left the cluster.

    :param cluster: the cluster, which is not shut down.
    :param counters: the counters of its requests.
    :param gauges: its current state.
    """
    for host in set(counters.hosts) - {gauge.host for gauge in gauges.hosts}:
        counters.forget(host)
    # Until the nodes are known, the driver only connects to contact points: do not drop their
    # counts.
    if gauges.hosts:
        in_use = {gauge.host.endpoint for gauge in gauges.hosts} | set(cluster.endpoints_resolved)
        for endpoint in set(counters.connection_failures) - in_use:
            counters.forget_endpoint(endpoint)


def checked_cluster(cluster: ClusterT, owner: str) -> ClusterT:
    """Return `cluster` after checking that it is a cluster, and not a session, for example.

    :param cluster: a `cassandra.cluster.Cluster` or `cassandra.aio.Cluster`.
    :param owner: the class that reports the metrics, for the message.
    :raises TypeError: if `cluster` is a session or anything else.
    """
    if hasattr(cluster, "add_request_observer") and hasattr(cluster, "metadata"):
        return cluster
    advice = f": write {owner}(session.cluster)" if hasattr(cluster, "cluster") else ""
    kind = type(cluster).__name__
    raise TypeError(f"{owner} is for a cluster, but got an object of type {kind}{advice}")


class HostGauges(NamedTuple):
    """The current connections to one host, over all sessions.

    :param host: the host.
    :param is_up: True if the host is known to be up.
    :param connections: the number of open connections.
    :param in_flight: the number of requests that wait for a response.
    :param streams_free: the number of free streams: so many requests could be sent immediately.
    :param orphans: the number of streams that are still in use, although their requests were
        abandoned.
    :param waiting: the number of requests that wait for a free stream.
    :param reconnections: the number of attempts to reconnect while the host was down. This number
        never decreases.
    :param draining: the number of connections that get no further requests, and will be closed when
        their requests are over: the host will stop soon, or the session has replaced the
        connections. They are not included in `connections`.
    :param graceful_disconnects: how often the host has announced that it will stop soon. This
        number never decreases.
    :param is_ignored: True if the load balancing policies of all sessions ignore the host, for
        example because it is in another data centre. The driver does not connect to such a host, so
        it does not notice if the host is up.
    :param is_given_up: True if the driver no longer tries to reach the host: the host has refused
        the login, or the schedule of the reconnection policy has ended.
    """

    host: Host
    is_up: bool
    connections: int
    in_flight: int
    streams_free: int
    orphans: int
    waiting: int
    reconnections: int
    draining: int = 0
    graceful_disconnects: int = 0
    is_ignored: bool = False
    is_given_up: bool = False


class ClusterGauges(NamedTuple):
    """The current state of a cluster.

    :param hosts: the gauges of each known host.
    :param sessions: the number of open sessions.
    :param prepared_statements: the number of prepared statements that the application holds.
    :param tablets: the number of ScyllaDB tablets whose replicas are known.
    :param tablet_hits: the number of requests whose tablet the driver knew. Only requests to tables
        with tablets count.
    :param tablet_misses: the number of requests whose tablet the driver did not know.
    :param is_connected: True if there is a control connection.
    :param throttled: the number of requests that wait for the throttler; 0 without a throttler.
    :param refused: the number of requests that the throttler has rejected because its queue was
        full.
    :param schema_reads: how often parts of the schema were read again.
    :param failed_schema_reads: how often reading the schema failed.
    """

    hosts: tuple[HostGauges, ...]
    sessions: int
    prepared_statements: int
    tablets: int
    tablet_hits: int
    tablet_misses: int
    is_connected: bool
    throttled: int
    refused: int
    schema_reads: int
    failed_schema_reads: int

    @classmethod
    def of(cls, cluster: Any) -> ClusterGauges:
        """Read the gauges of a cluster. You may call this in any thread, at any time.

        The numbers that never decrease stay after the cluster's shutdown.

        :param cluster: a `cassandra.cluster.Cluster` or `cassandra.aio.Cluster`.
        """
        core = cluster._core
        # Copy the list, because the event loop may open or close sessions at the same time.
        sessions = list(core.sessions) if core is not None else []
        metadata = cluster.metadata
        counts = metadata.engine_counts
        throttler = cluster.request_throttler
        return cls(
            hosts=tuple(_read_host_gauges(host, sessions, counts) for host in metadata.all_hosts()),
            sessions=len(sessions),
            prepared_statements=core.preparer.prepared_count if core is not None else 0,
            tablets=metadata.tablets.count,
            tablet_hits=metadata.tablets.hits,
            tablet_misses=metadata.tablets.misses,
            is_connected=core is not None and core.control.connection is not None,
            throttled=throttler.waiting if throttler is not None else 0,
            refused=throttler.refused if throttler is not None else 0,
            schema_reads=counts.schema_reads,
            failed_schema_reads=counts.failed_schema_reads,
        )


def _read_host_gauges(host: Host, sessions: Sequence[Any], counts: EngineCounts) -> HostGauges:
    """Read the gauges of one host, summed over all sessions."""
    pools = [pool for session in sessions for pool in session.pools_to(host)]
    connections = list(_open_connections(pools))
    draining_connections = [
        *(connection for pool in pools for connection in pool.retired_connections()),
        *(
            connection
            for session in sessions
            for pool in session.draining_pools()
            if pool.host == host
            for connection in pool.open_connections()
        ),
    ]
    # The `in_flight` of a connection is the number of its streams in use. These include the streams
    # of abandoned requests (orphans). Subtract the orphans below, because nobody waits for their
    # responses.
    orphans = sum(connection.orphans for connection in (*connections, *draining_connections))
    streams_in_use = sum(connection.in_flight for connection in connections)
    in_flight = (
        streams_in_use + sum(connection.in_flight for connection in draining_connections) - orphans
    )
    return HostGauges(
        host=host,
        is_up=bool(host.is_up),
        connections=len(connections),
        in_flight=in_flight,
        streams_free=sum(connection.streams.limit for connection in connections) - streams_in_use,
        orphans=orphans,
        waiting=sum(pool.waiting for pool in pools),
        reconnections=counts.reconnections.get(host, 0),
        draining=len(draining_connections),
        graceful_disconnects=counts.drains.get(host, 0),
        is_ignored=not pools and _is_ignored(host, sessions),
        is_given_up=host.state == "forced down",
    )


def _is_ignored(host: Host, sessions: Sequence[Any]) -> bool:
    """Return True if there are sessions, and the policies of all sessions ignore `host`."""
    try:
        return bool(sessions) and all(
            session.distance(host) == HostDistance.IGNORED for session in sessions
        )
    # An application's policy may raise any error. The gauges must be readable nevertheless.
    except Exception:
        log.debug("a policy gives no distance of %s", host, exc_info=True)
        return False


def _open_connections(pools: Sequence[Any]) -> Iterator[Any]:
    for pool in pools:
        yield from list(pool.connections)
