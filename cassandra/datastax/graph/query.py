"""Statements, options and row factories of graphs: they hold what a program gives them."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
