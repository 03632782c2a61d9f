"""`TraversalBatch`, whose methods raise NotImplementedError: graphs are not supported."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
