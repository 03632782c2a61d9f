"""End points and the errors of connections, under the import path that programs know."""

from cassandra.engine.connection import Connection
from cassandra.engine.endpoint import (
    DefaultEndPoint,
    DefaultEndPointFactory,
    EndPoint,
    EndPointFactory,
    SniEndPoint,
    SniEndPointFactory,
    UnixSocketEndPoint,
)
from cassandra.errors import (
    ConnectionBusy,
    ConnectionException,
    ConnectionShutdown,
    ProtocolError,
    ProtocolVersionUnsupported,
)

__all__ = [
    "Connection",
    "ConnectionBusy",
    "ConnectionException",
    "ConnectionShutdown",
    "DefaultEndPoint",
    "DefaultEndPointFactory",
    "EndPoint",
    "EndPointFactory",
    "ProtocolError",
    "ProtocolVersionUnsupported",
    "SniEndPoint",
    "SniEndPointFactory",
    "UnixSocketEndPoint",
]
