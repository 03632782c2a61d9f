"""`Host` and the errors of pools, under the import path that programs know."""

from cassandra.errors import NoConnectionsAvailable
from cassandra.metadata.host import Host

__all__ = ["Host", "NoConnectionsAvailable"]
