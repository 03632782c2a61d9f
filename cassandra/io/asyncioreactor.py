"""`AsyncioConnection`, for programs that pass it as ``connection_class``."""

from cassandra._compat.reactors import AsyncioConnection

__all__ = ["AsyncioConnection"]
