"""End points, connection errors and protocol constants, at cassandra-driver's import path."""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from cassandra._lazy import lazy_names
from cassandra._version import DRIVER_NAME, __version__ as DRIVER_VERSION
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
from cassandra.engine.pools.shard_ports import (
    DEFAULT_LOCAL_PORT_HIGH,
    DEFAULT_LOCAL_PORT_LOW,
    DefaultShardAwarePortGenerator,
    ShardAwarePortGenerator,
)
from cassandra.errors import (
    ConnectionBusy,
    ConnectionException,
    ConnectionShutdown,
    CrcException as CrcMismatchException,
    ProtocolError,
    ProtocolVersionUnsupported,
)
from cassandra.protocol.compression import available_compressions, compression
from cassandra.protocol.primitives import int32_pack

__all__ = [
    "DEFAULT_CQL_VERSION", "DEFAULT_LOCAL_PORT_HIGH", "DEFAULT_LOCAL_PORT_LOW", "DRIVER_NAME",
    "DRIVER_VERSION", "HEADER_DIRECTION_FROM_CLIENT", "HEADER_DIRECTION_MASK",
    "HEADER_DIRECTION_TO_CLIENT", "PROTOCOL_VERSION_MASK", "Connection", "ConnectionBusy",
    "ConnectionException", "ConnectionShutdown", "CrcMismatchException", "DefaultEndPoint",
    "DefaultEndPointFactory", "DefaultShardAwarePortGenerator", "EndPoint", "EndPointFactory",
    "ProtocolError", "ProtocolVersionUnsupported", "ShardAwarePortGenerator", "SniEndPoint",
    "SniEndPointFactory", "UnixSocketEndPoint", "int32_pack", "locally_supported_compressions",
]  # fmt: skip

# The first byte of an envelope has the direction in its highest bit, and the protocol version in
# the other bits (native_protocol_v5.spec, section 2.4.1.1).
HEADER_DIRECTION_FROM_CLIENT = 0x00
HEADER_DIRECTION_TO_CLIENT = 0x80
HEADER_DIRECTION_MASK = 0x80
PROTOCOL_VERSION_MASK = 0x7F

# The CQL version that every server supports (native_protocol_v5.spec, section 4.1.1). The driver
# only sends a version if Cluster.cql_version is set.
DEFAULT_CQL_VERSION = "3.0.0"

# The maximum length of an envelope's body in bytes (native_protocol_v5.spec, section 2.4.1.5).
_LARGEST_BODY = 256 * 1024 * 1024


locally_supported_compressions: OrderedDict[str, tuple[Any, Any]]


def _supported_compressions() -> OrderedDict[str, tuple[Any, Any]]:
    """Return (compress, decompress) for message bodies by algorithm, the preferred one first."""
    functions: OrderedDict[str, tuple[Any, Any]] = OrderedDict()
    for name in available_compressions():
        algorithm = compression(name)
        functions[name] = (algorithm.compress_body, partial(_decompress, algorithm.decompress_body))
    return functions


def _decompress(decompress_body: Callable[[bytes, int], bytes], data: bytes) -> bytes:
    return decompress_body(data, _LARGEST_BODY)


# These names are imported when they are first used, because few applications need them.
_HOME = dict.fromkeys(
    (
        "ConnectionHeartbeat",
        "ContinuousPagingSession",
        "ContinuousPagingState",
        "HeartbeatFuture",
        "NONBLOCKING",
        "ResponseWaiter",
        "Timer",
        "TimerManager",
        "decompress",
        "defunct_on_error",
        "lz4_compress",
        "lz4_decompress",
    ),
    "cassandra._compat.connection_parts",
) | dict.fromkeys(
    ("ClientRoutesEndPoint", "ClientRoutesEndPointFactory"),
    "cassandra.engine.control.client_routes",
)

_find = lazy_names(__name__, _HOME)


def __getattr__(name: str) -> Any:
    # Look for the compression packages only when this name is needed: they are optional, and slow
    # to import.
    if name == "locally_supported_compressions":
        globals()[name] = _supported_compressions()
        return globals()[name]
    return _find(name)
