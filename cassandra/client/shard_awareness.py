"""The settings for shards of ScyllaDB nodes, and methods of a cluster that describe them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cassandra.engine.pools.shard_ports import (
    DEFAULT_LOCAL_PORT_HIGH,
    DEFAULT_LOCAL_PORT_LOW,
    ShardAwarePortGenerator,
)
from cassandra.engine.pools.shards import ShardPool

if TYPE_CHECKING:
    from cassandra.engine.core import Core

__all__ = ["ShardAwareOptions", "ShardAwareness"]


class ShardAwareOptions:
    """How connections to the shards of ScyllaDB nodes are made.

    :param opts: another `ShardAwareOptions`, or a mapping of the settings.
    :param disable: open as many connections as to a node without shards.
    :param disable_shardaware_port: do not use the port that chooses a shard.
    :param local_ports: the first and the last of the client's own ports that choose a shard.
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
        unknown = sorted(set(settings) - {"disable", "disable_shardaware_port", "local_ports"})
        if unknown:
            raise ValueError(f"shard_aware_options has no setting {', '.join(unknown)}")
        self.disable = settings.get("disable", getattr(source, "disable", disable))
        low, high = settings.get("local_ports", getattr(source, "local_ports", local_ports))
        ShardAwarePortGenerator(low, high)  # which checks them
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


class ShardAwareness:
    """The methods of a cluster that describe shards."""

    _core: Core | None = None

    def is_shard_aware(self) -> bool:
        """Return True if requests go to the shards of ScyllaDB nodes.

        It is False before `connect`, with ``shard_aware_options={"disable": True}``, and if no node
        has shards.
        """
        return bool(self.shard_aware_stats())

    def shard_aware_stats(self) -> dict[str, dict[str, int]]:
        """Return how many shards each host has, and to how many of them connections are open.

        :returns: for each host with shards, by its end point as text, ``{"shards_count": 8,
            "connected": 8}``. Of several sessions the one with the fewest connections counts.
        """
        core = self._core
        stats: dict[str, dict[str, int]] = {}
        # Copies: the engine's loop changes both.
        for session in list(core.sessions) if core is not None else ():
            for host, pool in list(session.pools.items()):
                if not isinstance(pool, ShardPool) or pool.shards is None:
                    continue
                found = {"shards_count": pool.shards.count, "connected": pool.connected_shards}
                known = stats.get(str(host.endpoint))
                if known is None or found["connected"] < known["connected"]:
                    stats[str(host.endpoint)] = found
        return stats


ShardAwareOptions.__module__ = "cassandra.cluster"
