"""ScyllaDB's protocol extensions, under the public import path.

The names are defined in `cassandra.protocol.features`.
"""

from __future__ import annotations

from cassandra.protocol.features import (
    LWT_ADD_METADATA_MARK,
    LWT_OPTIMIZATION_META_BIT_MASK,
    RATE_LIMIT_ERROR_EXTENSION,
    TABLETS_ROUTING_V1,
    TABLETS_ROUTING_V2,
    USE_METADATA_ID,
    LwtInfo,
    ProtocolFeatures,
    ShardingInfo,
)

__all__ = [
    "LWT_ADD_METADATA_MARK", "LWT_OPTIMIZATION_META_BIT_MASK", "RATE_LIMIT_ERROR_EXTENSION",
    "TABLETS_ROUTING_V1", "TABLETS_ROUTING_V2", "USE_METADATA_ID", "LwtInfo", "ProtocolFeatures",
    "ShardingInfo",
]  # fmt: skip
