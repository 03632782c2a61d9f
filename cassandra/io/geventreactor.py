"""`GeventConnection`, for programs that pass it as ``connection_class``."""

from cassandra._compat.reactors import GeventConnection

__all__ = ["GeventConnection"]
