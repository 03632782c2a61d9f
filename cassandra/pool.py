"""`Host` and pool errors, under the import path that cassandra-driver uses."""

from cassandra._lazy import lazy_names
from cassandra.errors import NoConnectionsAvailable
from cassandra.metadata.host import Host

__all__ = ["Host", "NoConnectionsAvailable"]

# cassandra-driver has two pool classes. Applications use them in `isinstance` and in mocks, so both
# names refer to our only pool class.
_HOME = dict.fromkeys(("HostConnection", "HostConnectionPool"), "cassandra.engine.pools.pool")
_RENAMED = dict.fromkeys(_HOME, "HostPool")

__getattr__ = lazy_names(__name__, _HOME, _RENAMED)
