"""Counts of requests by host, and the state of a cluster's connections, for metrics.

`RequestCounters` counts from the moment that it is registered; `gauges` reads how a cluster is now.
`cassandra.observability.prometheus` and `cassandra.observability.statsd` report both.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._forks import renewed
from cassandra._threads import Lock
from cassandra.observers import ObservedRequest, RequestObserver

if TYPE_CHECKING:
    from cassandra.engine.happy_path import Attempt
    from cassandra.metadata.host import Host

__all__ = ["BUCKETS", "ClusterGauges", "Histogram", "HostCounters", "HostGauges", "RequestCounters"]

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper ends of the buckets of latencies, in seconds."""


class Histogram:
    """Counts of times by bucket. The last count is that of times beyond all buckets.

    :param bounds: the upper ends of the buckets, rising, in seconds.
    """

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float] = BUCKETS) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.sum = 0.0

    def record(self, seconds: float) -> None:
        """Count a time.

        :param seconds: the time.
        """
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.sum += seconds

    @property
    def count(self) -> int:
        """The number of times that were counted."""
        return sum(self.counts)

    def cumulated(self) -> list[tuple[float, int]]:
        """Return the upper end of each bucket with the count of all times up to it."""
        total = 0
        found = []
        for bound, count in zip((*self.bounds, float("inf")), list(self.counts), strict=True):
            total += count
            found.append((bound, total))
        return found


class HostCounters:
    """The counters of one host. Each only grows.

    :param bounds: of the histogram.
    """

    def __init__(self, bounds: Sequence[float] = BUCKETS) -> None:
        self.attempts = 0
        """Attempts that were sent to the host."""
        self.latencies = Histogram(bounds)
        """The times of its answers, from sending to arrival."""
        self.errors: dict[str, int] = {}
        """Attempts that failed, by the name of the error's class."""
        self.retries = 0
        """Attempts that failed and were followed by another one, there or elsewhere."""
        self.speculations = 0
        """Attempts that were speculative executions."""
        self.bytes_out = 0
        """Bytes of the frames sent, before compression."""
        self.bytes_in = 0
        """Bytes of the frames that answered, after decompression."""


class RequestCounters(RequestObserver):
    """Counts requests: by host those sent, answered and failed; in total their outcomes.

    It costs about 2 us a request. Its numbers are written on the event loop, and may be read in any
    thread.

    :param buckets: the upper ends of the buckets of latencies, in seconds.
    :raises ValueError: if they do not rise, or are not positive.
    """

    def __init__(self, buckets: Sequence[float] = BUCKETS) -> None:
        bounds = tuple(buckets)
        if not bounds or bounds[0] <= 0 or any(a >= b for a, b in pairwise(bounds)):
            raise ValueError(f"buckets must be positive and rise, but are {buckets!r}")
        self._bounds = bounds
        self._hosts: dict[Host, HostCounters] = {}
        # Only for hosts that are new: counting itself happens on one thread.
        self._lock = Lock()
        renewed(self)
        self.requests: dict[str, int] = {"success": 0}
        """Requests that are over: those with a result under "success", the others by the name of
        their error's class."""
        self.durations = Histogram(bounds)
        """Times that whole requests took, with all attempts and waits."""

    def _renew_locks(self) -> None:
        self._lock = Lock()

    @property
    def hosts(self) -> Mapping[Host, HostCounters]:
        """The counters of each host that a request was sent to; a copy."""
        with self._lock:
            # The loop may add a host while the caller goes through it.
            return dict(self._hosts)

    def _of(self, host: Host) -> HostCounters:
        # Without the lock first: nearly all requests go to hosts that are known.
        found = self._hosts.get(host)
        if found is None:
            with self._lock:
                # Another thread may have been quicker: its counters are the ones that count.
                found = self._hosts.setdefault(host, HostCounters(self._bounds))
        return found

    def forget(self, host: Host) -> None:
        """Drop the counters of a host that has left the cluster.

        :param host: the `Host`.
        """
        with self._lock:
            self._hosts.pop(host, None)

    # -- events ------------------------------------------------------------------------------------

    def on_latency(self, host: Host, seconds: float) -> None:
        """Count an answer.

        :param host: who has answered.
        :param seconds: from sending to arrival.
        """
        self._of(host).latencies.record(seconds)

    def on_refusal(self, host: Host, seconds: float) -> None:
        """Count an answer.

        :param host: who has answered.
        :param seconds: from sending to arrival.
        """
        self._of(host).latencies.record(seconds)

    def on_failure(self, host: Host | None, error: BaseException, decision: int | None) -> None:
        """Count an error.

        :param host: the host of the attempt.
        :param error: the error.
        :param decision: the retry policy's.
        """
        if host is not None:
            errors = self._of(host).errors
            name = type(error).__name__
            errors[name] = errors.get(name, 0) + 1

    def on_attempt(self, request: ObservedRequest, attempt: Attempt) -> None:
        """Count an attempt.

        :param request: the request.
        :param attempt: the attempt.
        """
        self._of(attempt.host).attempts += 1

    def on_retry(
        self, request: ObservedRequest, attempt: Attempt, error: BaseException, decision: str
    ) -> None:
        """Count a retry.

        :param request: the request.
        :param attempt: the attempt that failed.
        :param error: the error.
        :param decision: the retry policy's.
        """
        self._of(attempt.host).retries += 1

    def on_speculation(self, request: ObservedRequest, attempt: Attempt) -> None:
        """Count a speculative execution.

        :param request: the request.
        :param attempt: the new attempt.
        """
        self._of(attempt.host).speculations += 1

    def on_end(self, request: ObservedRequest) -> None:
        """Count a request.

        :param request: the request.
        """
        error = request.error
        name = "success" if error is None else type(error).__name__
        self.requests[name] = self.requests.get(name, 0) + 1
        # It is over, and so it has one.
        assert request.latency is not None
        self.durations.record(request.latency)
        # Each attempt sends the same frame.
        size = request.request_size
        for attempt in request.attempts:
            self._of(attempt.host).bytes_out += size
        host = request.host
        if host is not None:
            self._of(host).bytes_in += request.response_size


class HostGauges(NamedTuple):
    """The connections to one host now, over all sessions.

    :param host: the host.
    :param is_up: True if it is known to be up.
    :param connections: how many are open.
    :param in_flight: requests that wait for their answers.
    :param streams_free: requests that could be sent at once.
    :param orphans: streams whose answer nobody waits for any more.
    :param waiting: requests that wait for a free stream.
    :param reconnections: how often it was tried while it was down; this only grows.
    """

    host: Host
    is_up: bool
    connections: int
    in_flight: int
    streams_free: int
    orphans: int
    waiting: int
    reconnections: int


class ClusterGauges(NamedTuple):
    """The state of a cluster now.

    :param hosts: each host that is known.
    :param sessions: how many are open.
    :param prepared_statements: those that the program holds.
    :param tablets: tablets of ScyllaDB whose place is known.
    :param tablet_hits: requests to tables with tablets whose tablet was known.
    :param tablet_misses: those whose tablet was not.
    :param is_connected: True if there is a control connection.
    :param throttled: requests that wait for the throttler; 0 without one.
    :param refused: requests that found its queue full.
    :param schema_reads: how often parts of the schema were read again.
    :param failed_schema_reads: how often that failed.
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
        """Read them; any thread, at any time.

        :param cluster: a `cassandra.cluster.Cluster` or `cassandra.aio.Cluster`.
        """
        core = cluster._core
        # A copy: the loop may open and close sessions meanwhile.
        sessions = list(core.sessions) if core is not None else []
        metadata = cluster.metadata
        throttler = cluster.request_throttler
        return cls(
            hosts=tuple(_gauges_of(host, sessions, core) for host in metadata.all_hosts()),
            sessions=len(sessions),
            prepared_statements=core.preparer.known_count if core is not None else 0,
            tablets=metadata.tablets.count,
            tablet_hits=metadata.tablets.hits,
            tablet_misses=metadata.tablets.misses,
            is_connected=core is not None and core.control.connection is not None,
            throttled=throttler.waiting if throttler is not None else 0,
            refused=throttler.refused if throttler is not None else 0,
            schema_reads=core.schema.reads if core is not None else 0,
            failed_schema_reads=core.schema.failed_reads if core is not None else 0,
        )


def _gauges_of(host: Host, sessions: Sequence[Any], core: Any) -> HostGauges:
    pools = [pool for one in sessions if (pool := one.pools.get(host)) is not None]
    connections = list(_connections(pools))
    orphans = sum(one.orphans for one in connections)
    used = sum(one.in_flight for one in connections)
    return HostGauges(
        host=host,
        is_up=bool(host.is_up),
        connections=len(connections),
        # Orphans hold their streams, but nobody waits for them.
        in_flight=used - orphans,
        streams_free=sum(one.streams.limit for one in connections) - used,
        orphans=orphans,
        waiting=sum(pool.waiting for pool in pools),
        reconnections=core.hosts.reconnections.get(host, 0) if core is not None else 0,
    )


def _connections(pools: Sequence[Any]) -> Iterator[Any]:
    for pool in pools:
        yield from list(pool.connections)
