"""The class of `Host.sharding_info`, which says how a ScyllaDB node assigns tokens to shards."""

from __future__ import annotations

from cassandra._lazy import lazy_names
from cassandra.protocol.features import ShardingInfo

__all__ = ["ShardingInfo"]

_ShardingInfo = ShardingInfo

__getattr__ = lazy_names(__name__)
