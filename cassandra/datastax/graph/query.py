"""Statements, options and row factories of graphs. Statements cannot be executed."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
