"""`version_supports_insights`, which returns False for every version."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
