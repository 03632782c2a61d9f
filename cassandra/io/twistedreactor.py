"""`TwistedConnection`, for programs that pass it as ``connection_class``."""

from cassandra._compat.reactors import TwistedConnection

__all__ = ["TwistedConnection"]
