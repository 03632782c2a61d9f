"""How a ScyllaDB node spreads tokens over its shards; `Host.sharding_info` has it."""

from __future__ import annotations

from cassandra._lazy import lazy_names
from cassandra.protocol.features import ShardingInfo

__all__ = ["ShardingInfo"]

_ShardingInfo = ShardingInfo

__getattr__ = lazy_names(__name__)
