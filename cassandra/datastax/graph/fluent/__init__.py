"""Names of DataStax Enterprise's graph traversals: they can be imported, and refuse use."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
