"""`LibevConnection`, for programs that pass it as ``connection_class``."""

from cassandra._compat.reactors import LibevConnection

__all__ = ["LibevConnection"]
