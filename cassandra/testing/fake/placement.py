"""Places the partitions of a fake ScyllaDB cluster on nodes and shards, by vnodes or by tablets."""

from __future__ import annotations

import random
import uuid
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cassandra.testing.fake.tokens import shard_of

__all__ = ["Member", "Placement", "Replica", "Tablet", "routing_payload"]

_LEAST, _RING = -(1 << 63), 1 << 64  # the smallest token, and the number of tokens


class Member(NamedTuple):
    """A node, with the properties that determine its partitions.

    :param host_id: the node's id.
    :param shards: the number of its shards.
    :param ignore_msb: how many of a token's highest bits are ignored when the shard is computed.
    :param tokens: the tokens of the node on the ring.
    """

    host_id: uuid.UUID
    shards: int
    ignore_msb: int
    tokens: Sequence[int]


class Replica(NamedTuple):
    """One replica of a partition: a shard of a node.

    :param host_id: the id of the node.
    :param shard: the number of the shard, from 0.
    """

    host_id: uuid.UUID
    shard: int


class Tablet(NamedTuple):
    """A range of tokens of a table, and the shards that have it.

    :param first: the token before the first token of the range.
    :param last: the last token of the range.
    :param replicas: the shards that have the range.
    :param version: a random number, which changes when the replicas change.
    """

    first: int
    last: int
    replicas: tuple[Replica, ...]
    version: int


class Placement:
    """The keyspaces and tables of a cluster, and the replicas of their partitions.

    :param members: returns the current nodes.
    :param seed: the seed of the random choices, for reproducible tests.
    """

    def __init__(self, members: Callable[[], Sequence[Member]], seed: int = 1) -> None:
        self._members = members
        self._random = random.Random(seed)
        self._factors: dict[str, int] = {}  # the replication factor of each keyspace
        self._with_leaders: set[str] = set()  # keyspaces whose tablets have leaders
        # The tablets of a table, in token order. Each change creates a new tuple, because the
        # nodes' thread may be reading the old tuple.
        self._tablets: dict[tuple[str, str], tuple[Tablet, ...]] = {}

    def add_keyspace(self, name: str, replication_factor: int, with_leaders: bool = False) -> None:
        """Add a keyspace. Each partition of its tables has `replication_factor` replicas.

        :param name: the name of the keyspace.
        :param replication_factor: the number of replicas.
        :param with_leaders: True if the first replica of each tablet is its leader, as in strongly
            consistent tables.
        """
        self._factors[name] = replication_factor
        if with_leaders:
            self._with_leaders.add(name)

    def split(self, keyspace: str, table: str, count: int) -> None:
        """Divide a table into `count` tablets of equal size, with random replicas.

        :param keyspace: the name of the keyspace.
        :param table: the name of the table.
        :param count: the number of tablets.
        """
        ends = [_LEAST + (index + 1) * _RING // count - 1 for index in range(count)]
        starts = [_LEAST, *ends[:-1]]
        self._tablets[keyspace, table] = tuple(
            Tablet(first, last, self._random_replicas(keyspace), self._random.getrandbits(63))
            for first, last in zip(starts, ends, strict=True)
        )

    def _random_replicas(self, keyspace: str) -> tuple[Replica, ...]:
        """Choose a random set of nodes, and a random shard of each node."""
        members = list(self._members())
        replica_members = self._random.sample(members, min(self._factors[keyspace], len(members)))
        replicas = [
            Replica(member.host_id, self._random.randrange(member.shards))
            for member in replica_members
        ]
        # In a strongly consistent table, the leader is the first replica. In other tables, the
        # replicas are in the order of their host ids.
        if keyspace not in self._with_leaders:
            replicas.sort(key=lambda replica: replica.host_id.bytes)
        return tuple(replicas)

    def move(self, keyspace: str, table: str, count: int = 1) -> None:
        """Give `count` tablets, chosen at random, new random replicas.

        :param keyspace: the name of the keyspace.
        :param table: the name of the table.
        :param count: the number of tablets.
        """
        tablets = list(self._tablets[keyspace, table])
        for index in self._random.sample(range(len(tablets)), count):
            tablets[index] = tablets[index]._replace(
                replicas=self._random_replicas(keyspace), version=self._random.getrandbits(63)
            )
        self._tablets[keyspace, table] = tuple(tablets)

    def tablet_of(self, keyspace: str, table: str, token: int) -> Tablet | None:
        """Return the tablet that contains a token, or None if the table has no tablets.

        :param keyspace: the name of the keyspace.
        :param table: the name of the table.
        :param token: the token of a partition, as a number.
        """
        tablets = self._tablets.get((keyspace, table))
        if not tablets:
            return None
        return tablets[bisect_left(tablets, token, key=lambda tablet: tablet.last)]

    def replicas_of(self, keyspace: str, table: str, token: int) -> tuple[Replica, ...] | None:
        """Return the replicas of a partition, or None if the keyspace was never added.

        :param keyspace: the name of the keyspace.
        :param table: the name of the table.
        :param token: the token of the partition, as a number.
        """
        if keyspace not in self._factors:
            return None
        tablet = self.tablet_of(keyspace, table, token)
        return tablet.replicas if tablet is not None else self._on_ring(keyspace, token)

    def _on_ring(self, keyspace: str, token: int) -> tuple[Replica, ...]:
        """Return a token's replicas by SimpleStrategy: the first nodes along the ring."""
        members = self._members()  # read once: the test may add or remove nodes at any time
        ring = sorted(
            (member_token, index)
            for index, member in enumerate(members)
            for member_token in member.tokens
        )
        # Find the first item (token, index) of the ring whose token is not less than `token`. An
        # item with exactly this token is found too, because -1 is less than every index.
        start = bisect_left(ring, (token, -1))
        replicas: dict[int, Replica] = {}
        for step in range(len(ring)):
            index = ring[(start + step) % len(ring)][1]
            member = members[index]
            # A node with several tokens occurs several times on the ring, but counts as one
            # replica.
            replicas.setdefault(
                index, Replica(member.host_id, shard_of(token, member.shards, member.ignore_msb))
            )
            if len(replicas) == self._factors[keyspace]:
                break
        return tuple(replicas.values())


def _value(data: bytes) -> bytes:
    """Encode [bytes] of the protocol: the length in four bytes, then the data."""
    return len(data).to_bytes(4, "big") + data


def routing_payload(tablet: Tablet, version: int) -> dict[str, bytes | None]:
    """Return the custom payload that informs a client about `tablet`.

    See ScyllaDB's docs/dev/protocol-extensions.md, "Tablets routing v1" and "v2".

    :param tablet: the tablet.
    :param version: the version of the extension, 1 or 2.
    """
    replicas = b"".join(
        _value(_value(host_id.bytes) + _value(shard.to_bytes(4, "big")))
        for host_id, shard in tablet.replicas
    )
    data = (
        _value(tablet.first.to_bytes(8, "big", signed=True))
        + _value(tablet.last.to_bytes(8, "big", signed=True))
        + _value(len(tablet.replicas).to_bytes(4, "big") + replicas)
    )
    if version == 2:
        data += _value(tablet.version.to_bytes(8, "big"))
    return {f"tablets-routing-v{version}": data}
