"""How a ScyllaDB node distributes tokens over its shards, as in `Host.sharding_info`."""

from __future__ import annotations

from cassandra._lazy import lazy_names
from cassandra.protocol.features import ShardingInfo

__all__ = ["ShardingInfo"]

_ShardingInfo = ShardingInfo

__getattr__ = lazy_names(__name__)
