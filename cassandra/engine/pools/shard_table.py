"""The connections of a pool to a ScyllaDB node, by shard.

Use the names that `cassandra.engine.happy_path` exports: the compiled Cython versions if they are
in use, else the pure Python versions in this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.metadata.placement.tablets import TabletMap

_MOST_SHARDS = 0xFFFF
_MASK = (1 << 64) - 1  # keeps the low 64 bits, as arithmetic on uint64 does


def first_with_room(connections: list[Connection]) -> Connection | None:
    """Return the connection with the fewest streams in use; None if no stream is free."""
    best = None
    for connection in connections:
        streams = connection.streams
        if streams.has_room and (best is None or streams.in_flight < best.streams.in_flight):
            best = connection
    return best


def in_flight_of(connections: list[Any]) -> int:
    """Return the number of streams in use on all of `connections`."""
    return sum([connection.streams.in_flight for connection in connections])


class ShardTable:
    """The open connections of a pool by shard.

    :param count: the number of shards of the node.
    :param ignore_msb: the number of most significant bits of a token that are ignored when the
        shard is computed (docs/dev/protocol-extensions.md of ScyllaDB, "Intranode sharding").
    :param tablets: the known tablets. For a table with tablets, the tablet determines the shard.
    """

    __slots__ = ("_by_shard", "count", "ignore_msb", "tablets")

    def __init__(self, count: int, ignore_msb: int, tablets: TabletMap) -> None:
        if not 0 < count <= _MOST_SHARDS:
            raise ValueError(f"a node has 1 to {_MOST_SHARDS} shards, not {count}")
        if not 0 <= ignore_msb < 64:
            raise ValueError(f"0 to 63 bits of a token may be ignored, not {ignore_msb}")
        self.count = count
        self.ignore_msb = ignore_msb
        self.tablets = tablets
        self._by_shard: list[list[Any]] = [[] for _ in range(count)]

    def shard_of(self, token: int) -> int:
        """Return the shard that owns a token, for tables without tablets."""
        # Make the token unsigned, shift out the ignored bits, and scale the rest from 64 bits to
        # the number of shards.
        return ((token + (1 << 63) << self.ignore_msb) & _MASK) * self.count >> 64

    def add(self, shard: int, connection: Any) -> None:
        """Add a connection to `shard`."""
        self._by_shard[self._checked(shard)].append(connection)

    def remove(self, connection: Any) -> None:
        """Remove a connection, if the table contains it."""
        for shard_connections in self._by_shard:
            if connection in shard_connections:
                shard_connections.remove(connection)

    def counts(self) -> list[int]:
        """Return the number of connections of each shard, in the order of the shards."""
        return [len(shard_connections) for shard_connections in self._by_shard]

    def pick(self, shard: int) -> Connection | None:
        """Return the connection to `shard` with the fewest streams in use; None if all are full."""
        return first_with_room(self._by_shard[self._checked(shard)])

    def _checked(self, shard: int) -> int:
        if not 0 <= shard < self.count:
            raise IndexError(f"there is no shard {shard}: the node has {self.count}")
        return shard
