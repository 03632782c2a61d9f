"""Counters of a program's own, which `cassandra.metrics` gives too."""

from cassandra._compat.stats import IntStat, PmfStat, Stat, StatsCollection, collection, init

__all__ = ["IntStat", "PmfStat", "Stat", "StatsCollection", "collection", "init"]
