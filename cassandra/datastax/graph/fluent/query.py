"""Batches of graph traversals: the name only, since graphs are not supported."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
