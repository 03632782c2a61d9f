"""The names of graph predicates of cassandra-driver, so that programs that import them start.

This driver does not support graphs: a call of any of these names raises NotImplementedError.
"""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
