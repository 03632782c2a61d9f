"""The token ring, its owners and its replicas; the compiled version is `cassandra._accel.ring`.

Hosts are represented by numbers: their indexes in the snapshot's tuple of hosts. A `TokenRing`
holds the sorted tokens, each with the host that owns it. A `ReplicaMap` holds a row for each
position of the ring, for one replication setting. A row is the tuple of the replicas' numbers.
Equal rows are one object.

Placement follows the server's rules. A key belongs to the first token that is not less than the
key's token; past the last token, it belongs to the first token. SimpleStrategy takes the next hosts
along the ring. NetworkTopologyStrategy takes the next hosts of each data centre. It takes a second
host of a rack only if there are fewer racks than replicas
(org.apache.cassandra.locator.NetworkTopologyStrategy). With transient replication, the last
replicas of each data centre do not hold data permanently, so they are left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Protocol

from cassandra.murmur3 import INT64_MAX, INT64_MIN, python_murmur3

__all__ = [
    "ReplicaMap", "TokenRing", "network_map", "simple_map", "token_of", "whole_map",
]  # fmt: skip

_MOST_HOSTS = 0xFFFF  # the maximum number of hosts of a ring


class Ring(Protocol):
    """The sorted tokens of any partitioner."""

    def position(self, token: Any) -> int:
        """Return the index of the first token that is not less than `token`."""

    def position_of(self, key: bytes) -> int:
        """Return the position of a serialized partition key's token."""

    def owners(self) -> list[int]:
        """Return the host that owns each token, in the order of the tokens."""


def token_of(key: bytes) -> int:
    """Return the Murmur3Partitioner's token of a serialized partition key."""
    token = python_murmur3(key)
    # The partitioner never assigns the smallest number to a key, because it marks the start of the
    # ring.
    return INT64_MAX if token == INT64_MIN else token


class TokenRing:
    """The tokens of the Murmur3Partitioner.

    :param texts: for each host, its tokens as strings from the system tables.
    """

    __slots__ = ("_owners", "_tokens")

    def __init__(self, texts: Sequence[Iterable[str]]) -> None:
        _check_count(len(texts))
        owner_of: dict[int, int] = {}
        for host, tokens in enumerate(texts):
            for token in map(int, tokens):
                # If two hosts claim one token, the first host keeps it, as in the compiled version.
                owner_of.setdefault(token, host)
        self._tokens = sorted(owner_of)
        if self._tokens and not INT64_MIN <= self._tokens[0] <= self._tokens[-1] <= INT64_MAX:
            raise OverflowError("a token of the Murmur3Partitioner has 64 bits, but one has more")
        self._owners = [owner_of[token] for token in self._tokens]

    def position(self, token: int) -> int:
        """Return the index of the first token that is not less than `token`.

        If all tokens are less, return 0, because the ring starts again at its first token.
        """
        index = bisect_left(self._tokens, token)
        return index if index < len(self._tokens) else 0

    def position_of(self, key: bytes) -> int:
        """Return the position of a serialized partition key's token."""
        return self.position(token_of(key))

    def tokens(self) -> list[int]:
        """Return all tokens, in order."""
        return list(self._tokens)

    def owners(self) -> list[int]:
        """Return the host that owns each token, in the order of the tokens."""
        return list(self._owners)

    def __len__(self) -> int:
        return len(self._tokens)


def _check_count(hosts: int) -> None:
    if hosts > _MOST_HOSTS:
        raise ValueError(f"a ring holds at most {_MOST_HOSTS} hosts, but there are {hosts}")


class ReplicaMap:
    """The replicas at each position of a ring, for one replication setting.

    Create it with `simple_map`, `network_map` or `whole_map`.
    """

    __slots__ = ("_hosts", "_ring", "_rows", "_sets")

    def __init__(self, ring: Ring, hosts: Sequence[Any], rows: Sequence[tuple[int, ...]]) -> None:
        self._ring = ring
        self._hosts = tuple(hosts)
        # Make equal rows one object. There is a row for each position of the ring, or a single row
        # for all positions.
        unique_rows: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._rows = [unique_rows.setdefault(row, row) for row in rows]
        self._sets = len(unique_rows)  # the number of different sets of replicas

    def at(self, position: int) -> tuple[Any, ...]:
        """Return the hosts that hold the range of the token at `position`, the primary first."""
        hosts = self._hosts
        return tuple([hosts[host] for host in self.row(position)])

    def row(self, position: int) -> tuple[int, ...]:
        """Return the replicas at `position` as host numbers."""
        if not self._rows:
            return ()
        # A map with a single row has the same replicas at all positions; see `whole_map`.
        return self._rows[position if len(self._rows) > 1 else 0]

    def of_token(self, token: Any) -> tuple[Any, ...]:
        """Return the hosts that hold the partitions with this token."""
        return self.at(self._ring.position(token))

    def of_key(self, key: bytes) -> tuple[Any, ...]:
        """Return the hosts that hold the partition with this serialized key."""
        return self.at(self._ring.position_of(key))

    def position_of(self, key: bytes) -> int:
        """Return the position on the ring to which a serialized key belongs."""
        return self._ring.position_of(key)

    def hosts(self) -> tuple[Any, ...]:
        """Return all hosts. A host number is an index of this tuple."""
        return self._hosts

    def sets(self) -> int:
        """Return the number of different sets of replicas."""
        return self._sets


def simple_map(ring: Ring, hosts: Sequence[Any], full: int, total: int) -> ReplicaMap:
    """Return the map of SimpleStrategy.

    :param ring: the token ring.
    :param hosts: the hosts; their indexes are the host numbers.
    :param full: the number of replicas that hold the data permanently. These replicas come first.
    :param total: the number of full and transient replicas.
    """
    owners = ring.owners()
    replica_count = max(min(full, total, len(set(owners))), 0)
    rows = []
    # Repeat the ring once, so that we can walk past its end without a modulo.
    two_laps = owners + owners
    for start in range(len(owners)):
        row: list[int] = []
        index = start
        while len(row) < replica_count:
            if two_laps[index] not in row:
                row.append(two_laps[index])
            index += 1
        rows.append(tuple(row))
    return ReplicaMap(ring, hosts, rows)


class _Datacenter:
    """The tokens of one data centre, and the rules that place replicas on them.

    :param owners: for each position of the whole ring, the number of the host that owns the token.
    :param positions: the positions of the data centre's tokens on the whole ring.
    :param racks: for each host, the number of its rack.
    :param factor: (full replicas, all replicas).
    """

    __slots__ = ("_owners", "_positions", "_racks", "_size", "full", "repeats", "replica_count")

    def __init__(
        self,
        owners: Sequence[int],
        positions: Sequence[int],
        racks: Sequence[int],
        factor: tuple[int, int],
    ) -> None:
        full, total = factor
        self._size = len(owners)
        # Store two laps of the ring, so that we can walk past its end without a modulo.
        self._positions = [*positions, *(position + self._size for position in positions)]
        self._owners = [owners[position] for position in positions] * 2
        self._racks = racks
        hosts_on_ring = set(self._owners)
        # There cannot be more replicas than hosts.
        self.replica_count = max(min(total, len(hosts_on_ring)), 0)
        # If there are fewer hosts than replicas, assume that the missing replicas are transient
        # replicas, as far as there are any.
        missing = total - self.replica_count
        self.full = self.replica_count - max(total - full - missing, 0)
        # The number of replicas that may be in a rack which already has a replica: by how much the
        # number of replicas exceeds the number of racks.
        self.repeats = total - len({racks[host] for host in hosts_on_ring})

    def choose(self, index: int) -> list[int]:
        """Walk the ring from the data centre's token number `index`, and choose the full replicas.

        :returns: the positions on the whole ring of the tokens at which the replicas were found. If
            the walk goes past the end of the ring, the size of the ring is added to the position.
        """
        positions: list[int] = []
        hosts: list[int] = []
        racks: list[int] = []
        repeats = self.repeats
        while len(hosts) < self.replica_count:
            host = self._owners[index]
            if host not in hosts:
                rack = self._racks[host]
                # Take a host of a rack that has no replica yet. Only `repeats` hosts may be in
                # racks that already have a replica.
                if rack not in racks or repeats > 0:
                    repeats -= rack in racks
                    racks.append(rack)
                    hosts.append(host)
                    positions.append(self._positions[index])
            index += 1
        # The last replicas are transient, so leave them out.
        return positions[: self.full]

    def rows(self) -> Iterator[list[int]]:
        """Yield, for each position of the ring, the result of `choose` for the next token.

        The next token is the data centre's first token at or after the position.
        """
        index = 0
        token_count = len(self._positions) // 2
        row = self.choose(0)
        # `index` is the data centre's first token at or after `position`.
        for position in range(self._size):
            if position > self._positions[index]:
                index += 1
                # After the data centre's last token, continue with its first token, in the second
                # lap around the ring.
                row = (
                    self.choose(index)
                    if index < token_count
                    else [first_lap + self._size for first_lap in self.choose(0)]
                )
            yield row


def network_map(
    ring: Ring,
    hosts: Sequence[Any],
    datacenters: Sequence[int],
    racks: Sequence[int],
    factors: Sequence[tuple[int, int]],
) -> ReplicaMap:
    """Return the map of NetworkTopologyStrategy.

    :param ring: the token ring.
    :param hosts: the hosts; their indexes are the host numbers.
    :param datacenters: for each host, the number of its data centre; -1 if the data centre holds no
        data.
    :param racks: for each host, the number of its rack. Racks of different data centres have
        different numbers.
    :param factors: for each data centre, (full replicas, all replicas); (0, 0) if it holds no data.
    """
    owners = ring.owners()
    # Find the tokens of each data centre.
    positions: list[list[int]] = [[] for _ in factors]
    for position, owner in enumerate(owners):
        if 0 <= datacenters[owner] < len(positions):
            positions[datacenters[owner]].append(position)
    # Place the replicas of each data centre separately.
    placements = [
        _Datacenter(owners, datacenter_positions, racks, factor).rows()
        for datacenter_positions, factor in zip(positions, factors, strict=True)
        if datacenter_positions
    ]
    if not placements:
        return ReplicaMap(ring, hosts, [()] * len(owners))
    rows = []
    for row in zip(*placements, strict=True):
        # Merge the replicas of all data centres in the order of the ring, so that the primary
        # replica comes first.
        replica_positions = sorted(row[0] if len(row) == 1 else chain.from_iterable(row))
        # `position` may be in a second lap around the ring. Then it means the same token as in the
        # first lap.
        rows.append(tuple([owners[position % len(owners)] for position in replica_positions]))
    return ReplicaMap(ring, hosts, rows)


def whole_map(ring: Ring, hosts: Sequence[Any]) -> ReplicaMap:
    """Return the map of EverywhereStrategy: every host that owns a token is a replica."""
    row = tuple(sorted(set(ring.owners())))
    return ReplicaMap(ring, hosts, [row] if row else [])
