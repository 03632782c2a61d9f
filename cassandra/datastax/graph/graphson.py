"""Serializers of graph values, which applications may import; methods raise NotImplementedError."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
