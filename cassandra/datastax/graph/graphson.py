"""Serializers of graph values, whose methods raise NotImplementedError."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
