"""The names of `cassandra.datastax.graph`, under the older import path of cassandra-driver."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
