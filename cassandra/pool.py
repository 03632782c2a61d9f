"""`Host` and the errors of pools, under the import path that programs know."""

from cassandra._lazy import lazy_names
from cassandra.errors import NoConnectionsAvailable
from cassandra.metadata.host import Host

__all__ = ["Host", "NoConnectionsAvailable"]

__getattr__ = lazy_names(__name__)
