"""The methods of a cluster that describe shards of ScyllaDB nodes."""

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
