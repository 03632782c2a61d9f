"""`murmur3` under the path of a compiled module."""

from cassandra.murmur3 import murmur3

__all__ = ["murmur3"]
