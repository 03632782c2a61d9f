"""Names of DataStax Enterprise's graph traversals. Using them raises NotImplementedError."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
