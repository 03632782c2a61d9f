"""`murmur3`, under the import path of cassandra-driver's compiled module."""

from cassandra.murmur3 import murmur3

__all__ = ["murmur3"]
