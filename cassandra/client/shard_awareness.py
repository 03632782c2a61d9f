"""The methods of a cluster that describe the shards of ScyllaDB nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._imports import at_first_cluster

if TYPE_CHECKING:
    from cassandra.engine.core import Core
    from cassandra.engine.pools.shards import ShardPool
else:
    at_first_cluster(__name__, ShardPool="cassandra.engine.pools.shards")


class ShardAwareness:
    """The base class of both `Cluster` classes with the methods about shards."""

    _core: Core | None = None

    def is_shard_aware(self) -> bool:
        """Return True if the driver sends requests to the right shard of ScyllaDB nodes.

        False before `connect`, if ``shard_aware_options={"disable": True}`` is set, or if no node
        has shards.
        """
        return bool(self.shard_aware_stats())

    def shard_aware_stats(self) -> dict[str, dict[str, int]]:
        """Return the number of shards of each host, and how many of them have connections.

        :returns: a dict with a key for each host that has shards, for example
            ``{"10.0.0.1:9042": {"shards_count": 8, "connected": 8}}``. If there are several
            sessions, "connected" is the number of the session with connections to the fewest
            shards.
        """
        core = self._core
        stats: dict[str, dict[str, int]] = {}
        # Copy the collections, because the engine's loop may change them at any time.
        for session in list(core.sessions) if core is not None else ():
            for pool in session.all_pools():
                if not isinstance(pool, ShardPool) or pool.shards is None:
                    continue
                counts = {"shards_count": pool.shards.count, "connected": pool.connected_shards}
                endpoint = str(pool.host.endpoint)
                previous = stats.get(endpoint)
                # If several pools lead to the same host, report the pool with the fewest connected
                # shards.
                if previous is None or counts["connected"] < previous["connected"]:
                    stats[endpoint] = counts
        return stats
