"""The methods of a cluster that describe the shards of ScyllaDB nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._imports import at_first_cluster

if TYPE_CHECKING:
    from cassandra.engine.core import Core
    from cassandra.engine.pools.shards import ShardPool
else:
    at_first_cluster(__name__, ShardPool="cassandra.engine.pools.shards")

__all__ = ["ShardAwareness"]


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
        """Return how many shards each host has, and how many of them have connections.

        :returns: for each host with shards, by the string of its end point, ``{"shards_count": 8,
            "connected": 8}``. With several sessions, the smallest number of connected shards
            counts.
        """
        core = self._core
        stats: dict[str, dict[str, int]] = {}
        # Copy both, because the engine's loop changes them.
        for session in list(core.sessions) if core is not None else ():
            for host, pool in list(session.pools.items()):
                if not isinstance(pool, ShardPool) or pool.shards is None:
                    continue
                counts = {"shards_count": pool.shards.count, "connected": pool.connected_shards}
                previous = stats.get(str(host.endpoint))
                if previous is None or counts["connected"] < previous["connected"]:
                    stats[str(host.endpoint)] = counts
        return stats
