"""`Host` and pool errors, under the import path that cassandra-driver uses."""

from cassandra._lazy import lazy_names
from cassandra.errors import NoConnectionsAvailable
from cassandra.metadata.host import Host

__all__ = ["Host", "NoConnectionsAvailable"]

# The names of cassandra-driver's pool classes lead to our only pool class, for `isinstance` and
# mocks.
_HOME = dict.fromkeys(("HostConnection", "HostConnectionPool"), "cassandra.engine.pools.pool")
_RENAMED = dict.fromkeys(_HOME, "HostPool")

__getattr__ = lazy_names(__name__, _HOME, _RENAMED)
