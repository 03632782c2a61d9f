"""Names of DataStax Enterprise's graphs: they can be imported and constructed, and refuse use."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
