"""The setting of a cluster for shards of ScyllaDB nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cassandra.engine.pools.shard_ports import (
    DEFAULT_LOCAL_PORT_HIGH,
    DEFAULT_LOCAL_PORT_LOW,
    ShardAwarePortGenerator,
)

__all__ = ["ShardAwareOptions"]


class ShardAwareOptions:
    """How to connect to the shards of ScyllaDB nodes.

    :param opts: another `ShardAwareOptions`, or a mapping of these settings.
    :param disable: open as many connections as to a node without shards.
    :param disable_shardaware_port: do not use the port that selects a shard.
    :param local_ports: the first and the last of the client's ports that may select a shard.
    :raises ValueError: if `opts` has another setting, or the ports are out of range.
    """

    def __init__(
        self,
        opts: ShardAwareOptions | Mapping[str, Any] | None = None,
        disable: bool | None = None,
        disable_shardaware_port: bool = False,
        local_ports: tuple[int, int] = (DEFAULT_LOCAL_PORT_LOW, DEFAULT_LOCAL_PORT_HIGH),
    ) -> None:
        source = opts if isinstance(opts, ShardAwareOptions) else None
        settings = opts if isinstance(opts, Mapping) else {}
        unknown_names = sorted(
            set(settings) - {"disable", "disable_shardaware_port", "local_ports"}
        )
        if unknown_names:
            raise ValueError(
                f"shard_aware_options has no setting {', '.join(unknown_names)}; it has disable, "
                "disable_shardaware_port, local_ports"
            )
        self.disable = settings.get("disable", getattr(source, "disable", disable))
        low, high = settings.get("local_ports", getattr(source, "local_ports", local_ports))
        ShardAwarePortGenerator(low, high)  # validates them
        self.local_ports = (int(low), int(high))
        self.disable_shardaware_port = bool(
            settings.get(
                "disable_shardaware_port",
                getattr(source, "disable_shardaware_port", disable_shardaware_port),
            )
        )

    def __repr__(self) -> str:
        return (
            f"ShardAwareOptions(disable={self.disable!r}, "
            f"disable_shardaware_port={self.disable_shardaware_port!r})"
        )


ShardAwareOptions.__module__ = "cassandra.cluster"
