"""What the driver knows of a cluster."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cassandra._foreign import refuse_foreign_files

refuse_foreign_files(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from cassandra.metadata.cluster_metadata import Metadata  # noqa: E402
from cassandra.metadata.replication import (  # noqa: E402
    REPLICATION_STRATEGY_CLASS_PREFIX,
    EverywhereStrategy,
    LocalStrategy,
    NetworkTopologyStrategy,
    ReplicationFactor,
    ReplicationStrategy,
    SimpleStrategy,
)
from cassandra.metadata.routing import TokenMap  # noqa: E402
from cassandra.metadata.tokens import (  # noqa: E402
    MAX_LONG,
    MIN_LONG,
    BytesToken,
    HashToken,
    MD5Token,
    Murmur3Token,
    NoMurmur3,
    Token,
)

if TYPE_CHECKING:
    from cassandra.metadata.grouping import NO_VALID_REPLICA, group_keys_by_replica

__all__ = [
    "MAX_LONG",
    "MIN_LONG",
    "NO_VALID_REPLICA",
    "REPLICATION_STRATEGY_CLASS_PREFIX",
    "BytesToken",
    "EverywhereStrategy",
    "HashToken",
    "LocalStrategy",
    "MD5Token",
    "Metadata",
    "Murmur3Token",
    "NetworkTopologyStrategy",
    "NoMurmur3",
    "ReplicationFactor",
    "ReplicationStrategy",
    "SimpleStrategy",
    "Token",
    "TokenMap",
    "group_keys_by_replica",
]

# Imported at their first use.
_LATER = {
    "NO_VALID_REPLICA": "cassandra.metadata.grouping",
    "group_keys_by_replica": "cassandra.metadata.grouping",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
