"""Counters for applications, which `cassandra.metrics` exports, too."""

from cassandra._compat.stats import IntStat, PmfStat, Stat, StatsCollection, collection, init

__all__ = ["IntStat", "PmfStat", "Stat", "StatsCollection", "collection", "init"]
