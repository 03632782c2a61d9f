"""Counters that applications may use. `cassandra.metrics` exports the same names."""

from cassandra._compat.stats import IntStat, PmfStat, Stat, StatsCollection, collection, init

__all__ = ["IntStat", "PmfStat", "Stat", "StatsCollection", "collection", "init"]
