"""Counters and a timer of one cluster's requests, for ``Cluster(metrics_enabled=True)``.

Plain numbers, written on the engine's loop and read from any thread; nothing is counted where
metrics are off. `get_stats` gives them as one dict, for whatever system they are reported to.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator, Mapping
from math import frexp, sqrt
from typing import Any, Protocol

from cassandra.errors import ConnectionException, ReadTimeout, Unavailable, WriteTimeout
from cassandra.policies.retry import RetryPolicy

__all__ = ["Metrics", "RequestTimer", "getStats"]

_OCTAVES = 36  # from a microsecond to nineteen hours
_STEPS = 16  # buckets an octave: values are known to 1/32 of themselves
_PERCENTILES = {
    "median": 50.0,
    "75percentile": 75.0,
    "95percentile": 95.0,
    "98percentile": 98.0,
    "99percentile": 99.0,
    "999percentile": 99.9,
}


class RequestTimer(Mapping[str, float]):
    """How long answers took, in seconds, since `connect`: a mapping of count, min, max, mean,
    stddev, median and percentiles.

    The percentiles are those of a histogram, right to about three parts of a hundred.
    """

    def __init__(self) -> None:
        self._counts = [0] * (_OCTAVES * _STEPS)
        self._count = 0
        self._sum = 0.0
        self._squares = 0.0
        self._min = float("inf")
        self._max = 0.0

    def record(self, host: Any, seconds: float) -> None:
        """An answer of `host` has taken so long."""
        mantissa, octave = frexp(seconds * 1e6)
        place = octave * _STEPS + int((mantissa - 0.5) * 2 * _STEPS)
        self._counts[0 if place < 0 else min(place, len(self._counts) - 1)] += 1
        self._count += 1
        self._sum += seconds
        self._squares += seconds * seconds
        if seconds < self._min:
            self._min = seconds
        if seconds > self._max:
            self._max = seconds

    def percentile(self, percent: float) -> float:
        """The seconds within which `percent` of a hundred answers came; 0.0 before the first one."""
        counts = list(self._counts)
        left = sum(counts) * percent / 100
        if left <= 0:
            return 0.0
        place = -1
        while left > 1e-9:
            place += 1
            left -= counts[place]
        octave, step = divmod(place, _STEPS)
        return min(float(2.0**octave * (0.5 + (step + 1) / (2 * _STEPS)) / 1e6), self._max)

    def __getitem__(self, key: str) -> float:
        if key in _PERCENTILES:
            return self.percentile(_PERCENTILES[key])
        count = self._count
        mean = self._sum / count if count else 0.0
        found = {
            "count": count,
            "min": self._min if count else 0.0,
            "max": self._max,
            "mean": mean,
            "stddev": sqrt(max(self._squares / count - mean * mean, 0.0)) if count else 0.0,
        }
        return found[key]

    def __iter__(self) -> Iterator[str]:
        return iter(("count", "min", "max", "mean", "stddev", *_PERCENTILES))

    def __len__(self) -> int:
        return 5 + len(_PERCENTILES)

    def __repr__(self) -> str:
        return f"<RequestTimer: {self._count} answers, mean {self['mean'] * 1000:.3f} ms>"


class ObservedEngine(Protocol):
    """What an engine lets metrics hear."""

    def observe_latencies(self, observer: Any) -> None:
        """Call ``observer(host, seconds)`` for each answer from now on, but not for refusals."""

    def observe_refusals(self, observer: Any) -> None:
        """The same for refusals."""

    def observe_failures(self, observer: Any) -> None:
        """Call ``observer(error, decision)`` for each failed attempt, with what the retry policy
        decided, or None.
        """


class Metrics:
    """What one cluster's requests came to. Counters begin with 0 and only grow.

    A failed attempt counts by its error, whatever becomes of the request then: one that is retried
    counts there and in `retries`.
    """

    request_timer: RequestTimer
    """The time of each answer, from sending to its arrival, in seconds; a dict-like object, see
    `RequestTimer`.
    """

    connection_errors: int
    """Attempts that ended with their connection."""

    write_timeouts: int
    """Attempts that the server answered with a write time-out."""

    read_timeouts: int
    """Attempts that the server answered with a read time-out."""

    unavailables: int
    """Attempts that the server refused because too few replicas were alive."""

    other_errors: int
    """All other errors: of invalid requests, overloaded or bootstrapping nodes, time-outs of the
    client.
    """

    retries: int
    """How often a retry policy sent a request again."""

    ignores: int
    """How often a retry policy ignored an error."""

    def __init__(self, cluster_proxy: Any) -> None:
        self._cluster = cluster_proxy
        self.request_timer = RequestTimer()
        self.connection_errors = 0
        self.write_timeouts = 0
        self.read_timeouts = 0
        self.unavailables = 0
        self.other_errors = 0
        self.retries = 0
        self.ignores = 0
        self.stats_name = ""
        self.set_stats_name(f"cassandra-{next(_numbers)}")

    def attach(self, engine: ObservedEngine) -> None:
        """Have `engine` tell of answers and failures."""
        engine.observe_latencies(self.request_timer.record)
        engine.observe_refusals(self.request_timer.record)
        engine.observe_failures(self._on_failure)

    def _on_failure(self, error: BaseException, decision: int | None) -> None:
        counter = next(
            (name for kind, name in _COUNTERS if isinstance(error, kind)), "other_errors"
        )
        setattr(self, counter, getattr(self, counter) + 1)
        if decision in (RetryPolicy.RETRY, RetryPolicy.RETRY_NEXT_HOST):
            self.retries += 1
        elif decision == RetryPolicy.IGNORE:
            self.ignores += 1

    def _sessions(self) -> list[Any]:
        try:
            core = self._cluster._core
        except ReferenceError:  # the cluster is gone, its numbers stay
            return []
        return list(core.sessions) if core is not None else []

    @property
    def known_hosts(self) -> int:
        """Hosts that are known at the moment."""
        try:
            return len(self._cluster.metadata.all_hosts())
        except ReferenceError:
            return 0

    @property
    def connected_to(self) -> int:
        """Hosts that a connection is open to."""
        return len(
            {
                host
                for session in self._sessions()
                for host, pool in list(session.pools.items())
                if pool.connections
            }
        )

    @property
    def open_connections(self) -> int:
        """Open connections of all sessions, without the control connection."""
        return sum(
            len(pool.connections)
            for session in self._sessions()
            for pool in list(session.pools.values())
        )

    def get_stats(self) -> dict[str, Any]:
        """All of it as one dict of numbers, with a dict for "request_timer"."""
        names = [*_ALL_COUNTERS, "known_hosts", "connected_to", "open_connections"]
        return {
            **{name: getattr(self, name) for name in names},
            "request_timer": dict(self.request_timer),
        }

    def set_stats_name(self, stats_name: str) -> None:
        """Name these metrics for `getStats`, instead of ``cassandra-<number>``; ValueError for
        another cluster's name.
        """
        if _by_name.get(stats_name, self) is not self:
            raise ValueError(f"the stats name {stats_name!r} is taken by another cluster's metrics")
        _by_name.pop(self.stats_name, None)
        self.stats_name = stats_name
        _by_name[stats_name] = self

    def shutdown(self) -> None:
        """Take them out of `getStats`."""
        _by_name.pop(self.stats_name, None)


_ALL_COUNTERS = (
    "connection_errors", "write_timeouts", "read_timeouts", "unavailables", "other_errors", "retries", "ignores",
)  # fmt: skip
_COUNTERS: tuple[tuple[type[BaseException], str], ...] = (
    (WriteTimeout, "write_timeouts"),
    (ReadTimeout, "read_timeouts"),
    (Unavailable, "unavailables"),
    (ConnectionException, "connection_errors"),
)
_numbers = itertools.count()
_by_name: weakref.WeakValueDictionary[str, Metrics] = weakref.WeakValueDictionary()


def getStats() -> dict[str, dict[str, Any]]:
    """`Metrics.get_stats` of each cluster that has metrics, by its stats name."""
    return {name: metrics.get_stats() for name, metrics in list(_by_name.items())}
