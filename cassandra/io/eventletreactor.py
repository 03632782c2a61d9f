"""`EventletConnection`, for programs that pass it as ``connection_class``."""

from cassandra._compat.reactors import EventletConnection

__all__ = ["EventletConnection"]
