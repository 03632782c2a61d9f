"""Counters for applications, compatible with the package scales, which cassandra-driver uses.

`cassandra.metrics` exports these names. A *stat* is a descriptor for a number or a distribution. A
collection is an object with an attribute for each stat. `cassandra.metrics.getStats` returns the
values of these attributes under the collection's name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cassandra import metrics
from cassandra._histogram import any_bucket_of, any_percentile_of
from cassandra.metrics import RequestTimer


class Stat:
    """A descriptor for a value of a collection, which is set, or computed by a function.

    :param name: the key of the value in the dict that `getStats` returns.
    :param func: a function that computes the value at each access, called without arguments; None
        if application code sets the value.
    """

    def __init__(self, name: str, func: Callable[[], Any] | None = None) -> None:
        self.name = name
        self.func = func

    def first(self) -> Any:
        """Return the initial value."""
        return None

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        # If the attribute is read from the class, and not from an object, return the descriptor.
        if instance is None:
            return self
        if self.func is not None:
            return self.func()
        values = vars(instance)
        if self.name not in values:
            # Set the initial value at the first access.
            values[self.name] = self.first()
        return values[self.name]

    def __set__(self, instance: object, value: object) -> None:
        if self.func is not None:
            raise AttributeError(f"the stat {self.name!r} is computed, and cannot be set")
        vars(instance)[self.name] = value


class IntStat(Stat):
    """A number that the application increments, starting at 0.

    :param name: the name in `getStats`.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def first(self) -> int:
        return 0


class Distribution(RequestTimer):
    """The value of a `PmfStat`: a mapping of count, min, max, mean, stddev and percentiles.

    Unlike the latencies of a `RequestTimer`, values may be numbers of any size and sign.
    """

    def __init__(self) -> None:
        super().__init__()
        # How many values there are, by `any_bucket_of`. It replaces the list of the base class.
        self._counts_by_bucket: dict[int, int] = {}
        # The first value. The sums of the base class are of differences from this value: otherwise
        # the standard deviation of large values that differ little would get lost in rounding.
        self._first = 0.0
        self._max = float("-inf")

    def addValue(self, value: float) -> None:
        """Add a value.

        :raises ValueError: if the value is NaN.
        :raises OverflowError: if the value is infinite, or greater than every float.
        """
        bucket = any_bucket_of(value)
        if not self._count:
            self._first = value * 1.0
        difference = value - self._first
        self._counts_by_bucket[bucket] = self._counts_by_bucket.get(bucket, 0) + 1
        self._count += 1
        self._sum += difference
        self._squares += difference * difference
        self._min = min(self._min, value)
        self._max = max(self._max, value)

    def record(self, host: object, seconds: float) -> None:
        """Add a value.

        :param host: not used.
        :param seconds: the value.
        """
        self.addValue(seconds)

    def percentile(self, percent: float) -> float:
        """Return the value that `percent` % of the values do not exceed; 0.0 without any.

        :param percent: 0 to 100.
        """
        if not self._count:
            return 0.0
        # Copy the counts, because other threads may add values while we compute.
        bound = any_percentile_of(self._counts_by_bucket.copy(), percent)
        return max(min(bound, self._max), self._min)

    def __getitem__(self, key: str) -> float:
        if key == "max" and not self._count:
            return 0.0
        value = super().__getitem__(key)
        return value + self._first if key == "mean" else value

    def __repr__(self) -> str:
        return f"<Distribution: {self._count} values, mean {self['mean']:g}>"

    @contextmanager
    def time(self) -> Iterator[None]:
        """Add the duration of the ``with`` block in seconds."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.addValue(time.perf_counter() - started)


class PmfStat(Stat):
    """A distribution of values. Add values by `Distribution.addValue` and `Distribution.time`.

    :param name: the name in `getStats`.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def first(self) -> Distribution:
        return Distribution()


class StatsCollection:
    """A collection of stats under one name.

    :param name: the key in `getStats`. Slashes at both ends are removed.
    :param stats: the stats. Each is an attribute of the collection under its own name.
    """

    def __init__(self, name: str, *stats: Stat) -> None:
        # Descriptors only work as attributes of a class, so create a class for each collection.
        self.__class__ = type("StatsCollection", (StatsCollection,), {s.name: s for s in stats})
        self._stats = stats
        self._name = name.strip("/")
        metrics.register(self._name, self)

    def get_stats(self) -> dict[str, Any]:
        """Return all values as a dict. The value of a distribution is a dict, too."""
        return _values(self, self._stats)

    def __repr__(self) -> str:
        return f"<StatsCollection {self._name}: {self.get_stats()}>"


def _values(holder: object, stats: tuple[Stat, ...]) -> dict[str, Any]:
    """Return the values that `stats` have on the object `holder`, by name."""
    values = {stat.name: stat.__get__(holder) for stat in stats}
    return {
        name: dict(value) if isinstance(value, Distribution) else value
        for name, value in values.items()
    }


def collection(name: str, *stats: Stat) -> StatsCollection:
    """Return a `StatsCollection`.

    :param name: the key in `getStats`. Slashes at both ends are removed.
    :param stats: the stats. Each is an attribute of the collection under its own name.
    """
    return StatsCollection(name, *stats)


class _ObjectStats:
    """The stats that are declared as attributes of an object's class, for `getStats`."""

    def __init__(self, holder: object) -> None:
        self._holder = holder
        self._stats = tuple(
            stat for cls in type(holder).__mro__ for stat in vars(cls).values()
            if isinstance(stat, Stat)
        )  # fmt: skip

    def get_stats(self) -> dict[str, Any]:
        """Return all values as a dict."""
        return _values(self._holder, self._stats)


def init(obj: object, path: str | None = None) -> None:
    """Add the stats that the class of `obj` declares to `getStats`.

    `getStats` returns them as long as the object exists.

    :param obj: an object with a ``__dict__``.
    :param path: the key in `getStats`; None for the name of the class.
    """
    stats = _ObjectStats(obj)
    # The registry of `getStats` only has a weak reference to `stats`. Store `stats` in the object,
    # so that it exists as long as the object.
    vars(obj)["_stats_of_object"] = stats
    metrics.register((path or type(obj).__name__).strip("/"), stats)
