"""The token ring and the owners of its parts: the Python twin of `cassandra._accel.ring`.

Hosts are numbers here: indexes of the snapshot's tuple of hosts. A `TokenRing` holds the sorted
tokens, each with the host that owns it. A `ReplicaMap` holds the replicas at each place of the
ring, for one replication setting; equal rows are kept once.

Placement follows the server. A key belongs to the first token that is not less than its own; past
the last token, to the first one. SimpleStrategy takes the next hosts along the ring.
NetworkTopologyStrategy does so in each data centre; it takes a second host of a rack only if there
are fewer racks than replicas (org.apache.cassandra.locator.NetworkTopologyStrategy). With transient
replication, the last replicas of each data centre do not hold data permanently: they are left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Protocol

from cassandra.murmur3 import INT64_MAX, INT64_MIN, python_murmur3

__all__ = [
    "ReplicaMap",
    "TokenRing",
    "network_map",
    "simple_map",
    "token_of",
    "whole_map",
]

_MOST_HOSTS = 0xFFFF


class Ring(Protocol):
    """Sorted tokens, of any partitioner."""

    def position(self, token: Any) -> int:
        """Return the place of the first token that is not less than `token`."""

    def position_of(self, key: bytes) -> int:
        """Return the same for the token of a serialized partition key."""

    def owners(self) -> list[int]:
        """Return the host that owns each token, in the order of the tokens."""


def token_of(key: bytes) -> int:
    """Return the Murmur3Partitioner's token of a serialized partition key."""
    token = python_murmur3(key)
    # The smallest number is the ring's minimum token, which the partitioner gives to no key.
    return INT64_MAX if token == INT64_MIN else token


class TokenRing:
    """The tokens of the Murmur3Partitioner.

    :param texts: for each host its tokens, as the system tables hold them.
    """

    __slots__ = ("_owners", "_tokens")

    def __init__(self, texts: Sequence[Iterable[str]]) -> None:
        _check_count(len(texts))
        owner_of: dict[int, int] = {}
        for host, own in enumerate(texts):
            for token in map(int, own):
                # Of two hosts with one token the first one is kept, as in the compiled twin.
                owner_of.setdefault(token, host)
        self._tokens = sorted(owner_of)
        if self._tokens and not INT64_MIN <= self._tokens[0] <= self._tokens[-1] <= INT64_MAX:
            raise OverflowError("a token of the Murmur3Partitioner has 64 bits, but one has more")
        self._owners = [owner_of[token] for token in self._tokens]

    def position(self, token: int) -> int:
        """Return the place of the first token not less than `token`; 0 past the last one."""
        at = bisect_left(self._tokens, token)
        return at if at < len(self._tokens) else 0

    def position_of(self, key: bytes) -> int:
        """Return the same for the token of a serialized partition key."""
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
    """The replicas at each place of a ring, for one replication setting.

    `simple_map`, `network_map` and `whole_map` make it.
    """

    __slots__ = ("_hosts", "_ring", "_rows", "_sets")

    def __init__(self, ring: Ring, hosts: Sequence[Any], rows: Sequence[tuple[int, ...]]) -> None:
        self._ring = ring
        self._hosts = tuple(hosts)
        kept: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._rows = [kept.setdefault(row, row) for row in rows]
        self._sets = len(kept)

    def at(self, position: int) -> tuple[Any, ...]:
        """Return the hosts that hold the range of the token at `position`, primary first."""
        hosts = self._hosts
        return tuple([hosts[host] for host in self.row(position)])

    def row(self, position: int) -> tuple[int, ...]:
        """Return the same, as numbers."""
        if not self._rows:
            return ()
        return self._rows[position if len(self._rows) > 1 else 0]

    def of_token(self, token: Any) -> tuple[Any, ...]:
        """Return the hosts that hold the partitions with this token."""
        return self.at(self._ring.position(token))

    def of_key(self, key: bytes) -> tuple[Any, ...]:
        """Return the hosts that hold the partition with this serialized key."""
        return self.at(self._ring.position_of(key))

    def position_of(self, key: bytes) -> int:
        """Return the place on the ring that a serialized key belongs to."""
        return self._ring.position_of(key)

    def hosts(self) -> tuple[Any, ...]:
        """Return all hosts, by their numbers."""
        return self._hosts

    def sets(self) -> int:
        """Return the number of different sets of replicas."""
        return self._sets


def simple_map(ring: Ring, hosts: Sequence[Any], full: int, total: int) -> ReplicaMap:
    """Return the map of SimpleStrategy.

    :param total: the number of replicas.
    :param full: how many of these, the first ones, hold the data permanently.
    """
    owners = ring.owners()
    wanted = max(min(full, total, len(set(owners))), 0)
    rows = []
    # The ring twice in a row: walking past its end needs no modulo.
    twice = owners + owners
    for at in range(len(owners)):
        row: list[int] = []
        while len(row) < wanted:
            if twice[at] not in row:
                row.append(twice[at])
            at += 1
        rows.append(tuple(row))
    return ReplicaMap(ring, hosts, rows)


class _Datacenter:
    """One data centre's part of a ring.

    `places` are those of its own tokens on the whole ring of `size` tokens.
    """

    __slots__ = ("_owners", "_places", "_racks", "_size", "full", "repeats", "wanted")

    def __init__(
        self,
        owners: Sequence[int],
        places: Sequence[int],
        racks: Sequence[int],
        factor: tuple[int, int],
    ) -> None:
        full, total = factor
        self._size = len(owners)
        self._places = [*places, *(place + self._size for place in places)]
        self._owners = [owners[place] for place in places] * 2
        self._racks = racks
        on_ring = set(self._owners)
        self.wanted = max(min(total, len(on_ring)), 0)
        # If there are fewer hosts than replicas, the transient ones are dropped first.
        self.full = self.wanted - max(total - full - (total - self.wanted), 0)
        self.repeats = total - len({racks[host] for host in on_ring})

    def choose(self, at: int) -> list[int]:
        """Return the places on the ring at which the replicas of its own token number `at` are met.

        Places past the end of the ring belong to the second lap.
        """
        found: list[int] = []
        hosts: list[int] = []
        racks: list[int] = []
        repeats = self.repeats
        while len(hosts) < self.wanted:
            host = self._owners[at]
            if host not in hosts:
                rack = self._racks[host]
                if rack not in racks or repeats > 0:
                    repeats -= rack in racks
                    racks.append(rack)
                    hosts.append(host)
                    found.append(self._places[at])
            at += 1
        # The transient replicas are the last ones that are met.
        return found[: self.full]

    def rows(self) -> Iterator[list[int]]:
        """Return, for each place on the whole ring, the choice for the data centre's next token."""
        own = 0
        last = len(self._places) // 2
        row = self.choose(0)
        for place in range(self._size):
            if place > self._places[own]:
                own += 1
                row = (
                    self.choose(own)
                    if own < last
                    else [found + self._size for found in self.choose(0)]
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

    :param datacenters: for each host the number of its data centre.
    :param racks: for each host the number of its rack. Racks of different data centres have
        different numbers.
    :param factors: for each data centre (full replicas, all replicas); (0, 0) if it holds nothing.
    """
    owners = ring.owners()
    places: list[list[int]] = [[] for _ in factors]
    for place, owner in enumerate(owners):
        if 0 <= datacenters[owner] < len(places):
            places[datacenters[owner]].append(place)
    parts = [
        _Datacenter(owners, own, racks, factor).rows()
        for own, factor in zip(places, factors, strict=True)
        if own
    ]
    twice = owners + owners
    if not parts:
        return ReplicaMap(ring, hosts, [()] * len(owners))
    rows = []
    for row in zip(*parts, strict=True):
        # Sorted by place: the replicas of all data centres come in the order in which the ring
        # meets them, the primary one first.
        met = sorted(row[0] if len(row) == 1 else chain.from_iterable(row))
        rows.append(tuple([twice[place % len(twice)] for place in met]))
    return ReplicaMap(ring, hosts, rows)


def whole_map(ring: Ring, hosts: Sequence[Any]) -> ReplicaMap:
    """Return the map of EverywhereStrategy: every host that owns a token holds everything."""
    row = tuple(sorted(set(ring.owners())))
    return ReplicaMap(ring, hosts, [row] if row else [])
