"""Names of DataStax Enterprise's graphs. You can create objects; using them raises
NotImplementedError.
"""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
