"""Local ports by which a ScyllaDB node that listens on its shard-aware port puts a connection on a
shard.

The shard is the local port modulo the number of shards (docs/dev/protocol-extensions.md of
ScyllaDB, "Intranode sharding").
"""

from __future__ import annotations

import random
from collections.abc import Iterator

__all__ = [
    "DEFAULT_LOCAL_PORT_HIGH",
    "DEFAULT_LOCAL_PORT_LOW",
    "DefaultShardAwarePortGenerator",
    "ShardAwarePortGenerator",
]

# The ports that RFC 6335 leaves to clients.
DEFAULT_LOCAL_PORT_LOW = 49152
DEFAULT_LOCAL_PORT_HIGH = 65535


class ShardAwarePortGenerator:
    """Gives local ports from `start_port` to `end_port`, both included."""

    def __init__(self, start_port: int, end_port: int) -> None:
        if not 0 < start_port <= end_port <= 65535:
            raise ValueError(
                "ports must be from 1 to 65535 and in order, "
                f"but are {start_port!r} and {end_port!r}"
            )
        self.start_port = start_port
        self.end_port = end_port

    def generate(self, shard_id: int, total_shards: int) -> Iterator[int]:
        """Each port of the range that leads to shard `shard_id` of `total_shards` once, from a
        random one on.
        """
        if not 0 <= shard_id < total_shards:
            raise ValueError(f"shard_id must be from 0 to {total_shards - 1}, but is {shard_id!r}")
        first = self.start_port + (shard_id - self.start_port) % total_shards
        ports = range(first, self.end_port + 1, total_shards)
        # A random start: programs on one machine would otherwise try the same ports in turn.
        begin = random.randrange(len(ports)) if ports else 0
        yield from ports[begin:]
        yield from ports[:begin]


DefaultShardAwarePortGenerator = ShardAwarePortGenerator(
    DEFAULT_LOCAL_PORT_LOW, DEFAULT_LOCAL_PORT_HIGH
)

ShardAwarePortGenerator.__module__ = "cassandra.connection"
