"""The names of cassandra-driver's graph predicates, so that applications can import them.

This driver does not support graphs: a call of any of these names raises NotImplementedError.
"""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
