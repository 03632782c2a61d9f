"""The questions that programs ask about Insights."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
