"""The names of `cassandra.datastax.graph` under their older path."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
