"""`AsyncoreConnection`, for programs that pass it as ``connection_class``."""

from cassandra._compat.reactors import AsyncoreConnection

__all__ = ["AsyncoreConnection"]
