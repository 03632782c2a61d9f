"""The placement of partitions: the ring and the replicas of each keyspace, computed on demand.

A `Routing` belongs to one list of hosts and one state of the keyspaces' replication. If either
changes, `Metadata` makes a new `Routing`. Tokens are parsed at the first look-up. The replicas of a
keyspace are computed when they are first needed. Keyspaces with equal replication share them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.metadata.placement.replication import ReplicationStrategy
from cassandra.metadata.placement.tokens import Murmur3Token, SortedRing, Token

if TYPE_CHECKING:
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host
    from cassandra.metadata.placement import ring as rings
    from cassandra.metadata.placement.ring import ReplicaMap, TokenRing
else:
    from cassandra._impl import ring as rings

_UNKNOWN: Any = object()  # marks an absent entry of a cache in which None is a value


class RingMembers:
    """The hosts that own tokens, with all properties that decide where replicas are placed.

    `locations` has a tuple (host, its tokens, data centre, rack) for each host.
    """

    __slots__ = ("_ring", "hosts", "locations", "token_class")

    def __init__(self, hosts: Sequence[Host], token_class: type[Token]) -> None:
        # Leave out hosts without tokens, which hold no data, for example because they are joining
        # the cluster.
        self.locations = tuple(
            (host, host.tokens, host.datacenter, host.rack) for host in hosts if host.tokens
        )
        self.hosts = tuple(location[0] for location in self.locations)
        self.token_class = token_class
        self._ring: TokenRing | SortedRing | None = None

    def same_placement(self, other: RingMembers | None) -> bool:
        """Return True if both rings place replicas on the same hosts."""
        return (
            other is not None
            and self.token_class is other.token_class
            and self.locations == other.locations
            # Compare hosts by identity: if a host has left the cluster and come back, it is a new
            # object that equals the old object.
            and all(
                host is other_host for host, other_host in zip(self.hosts, other.hosts, strict=True)
            )
        )

    @property
    def ring(self) -> TokenRing | SortedRing:
        """The sorted tokens, built at the first access."""
        if self._ring is None:
            # Each location is (host, tokens, data centre, rack).
            tokens_by_host = [location[1] for location in self.locations]
            self._ring = (
                # `TokenRing` only holds the 64-bit tokens of Murmur3.
                rings.TokenRing(tokens_by_host)
                if self.token_class is Murmur3Token
                else SortedRing(self.token_class, tokens_by_host)
            )
        return self._ring


class Routing:
    """The placement for one state of the cluster: its ring members and replication settings.

    Any thread may use it.
    """

    __slots__ = ("_by_keyspace", "_by_strategy", "_replication_of", "members", "placement_version")

    def __init__(
        self,
        members: RingMembers,
        replication_of: Callable[[str], ReplicationStrategy | None],
        placement_version: int,
        previous: Routing | None = None,
    ) -> None:
        self.members = members
        self.placement_version = placement_version
        self._replication_of = replication_of
        self._by_keyspace: dict[str, ReplicaMap | None] = {}
        # If the hosts are the same, the replica map of a strategy is the same, too. So keep the
        # maps of the previous routing, whichever keyspaces use these strategies now.
        self._by_strategy: dict[ReplicationStrategy, ReplicaMap | None] = (
            previous.maps_in_use() if previous is not None and previous.members is members else {}
        )

    def maps_in_use(self) -> dict[ReplicationStrategy, ReplicaMap | None]:
        """Return the replica maps of the keyspaces that were looked up, by replication strategy.

        A map is None if the replicas of the strategy are not known.
        """
        # Copy both dicts, because other threads may add entries during the loop.
        replica_maps = list(self._by_keyspace.values())
        return {
            strategy: replica_map
            for strategy, replica_map in list(self._by_strategy.items())
            if replica_map in replica_maps
        }

    def map_of(self, keyspace: str) -> ReplicaMap | None:
        """Return the replica map of `keyspace`, or None if the replicas are not known."""
        # `_UNKNOWN` means that the keyspace was not looked up yet. None is a cached value: the
        # keyspace's strategy has no known replicas.
        replica_map: ReplicaMap | None = self._by_keyspace.get(keyspace, _UNKNOWN)
        return self._compute_replicas(keyspace) if replica_map is _UNKNOWN else replica_map

    def _compute_replicas(self, keyspace: str) -> ReplicaMap | None:
        """Compute the replica map of a keyspace; return None if the replicas are not known.

        Keyspaces with equal replication share one map.
        """
        strategy = self._replication_of(keyspace)
        if strategy is None:
            return None  # not cached, because an application may look up many unknown names
        # `_UNKNOWN` means that no map was computed yet. None is a cached value: the strategy has no
        # known replicas.
        replica_map: ReplicaMap | None = self._by_strategy.get(strategy, _UNKNOWN)
        if replica_map is _UNKNOWN:
            replica_map = strategy.replica_map(self.members.ring, self.members.hosts)
            self._by_strategy[strategy] = replica_map
        self._by_keyspace[keyspace] = replica_map
        return replica_map


class TokenMap:
    """The tokens of all hosts, and the replicas of each token.

    :param token_class: a subclass of `Token`.
    :param token_to_host_owner: for each token, the host that owns it.
    :param all_tokens: the tokens in order.
    :param metadata: the `Metadata`, which has the replication of the keyspaces.
    """

    def __init__(
        self,
        token_class: type[Token],
        token_to_host_owner: Mapping[Any, Any],
        all_tokens: Sequence[Any],
        metadata: Metadata,
    ) -> None:
        # Give each host a number, in the order of its first token.
        numbers: dict[Any, int] = {}
        owners = {
            token.value: numbers.setdefault(token_to_host_owner[token], len(numbers))
            for token in all_tokens
        }
        self._initialize(
            token_class, SortedRing.of_owners(token_class, owners), tuple(numbers), metadata
        )

    @classmethod
    def of_members(cls, members: RingMembers, metadata: Metadata) -> TokenMap:
        """Return the tokens of a snapshot of the ring's members.

        :param members: the snapshot.
        :param metadata: the `Metadata` to which the snapshot belongs.
        """
        token_map = cls.__new__(cls)
        token_map._initialize(members.token_class, members.ring, members.hosts, metadata)
        return token_map

    def _initialize(
        self,
        token_class: type[Token],
        sorted_ring: SortedRing | TokenRing,
        hosts: tuple[Any, ...],
        metadata: Metadata,
    ) -> None:
        """Set the attributes; the constructor and `of_members` call this."""
        self.token_class = token_class
        self._metadata = metadata
        self._sorted_ring = sorted_ring
        self._ring: list[Any] | None = None
        self._owners: dict[Any, Any] | None = None
        self._hosts = hosts
        self._by_keyspace: dict[str, tuple[ReplicationStrategy, ReplicaMap | None]] = {}

    # Do not use cached_property: before Python 3.12 it has a lock, and a forked child process could
    # wait for this lock for ever.
    @property
    def ring(self) -> list[Any]:
        """All tokens in order. The list is built at the first access."""
        tokens = self._ring
        if tokens is None:
            tokens = self._ring = [self.token_class(value) for value in self._sorted_ring.tokens()]
        return tokens

    @property
    def token_to_host_owner(self) -> dict[Any, Any]:
        """The host that owns each token."""
        # Build the dict at the first access. Two threads may both build it: their dicts are equal.
        owner_of = self._owners
        if owner_of is None:
            owners = self._sorted_ring.owners()
            owner_of = self._owners = {
                token: self._hosts[owner] for token, owner in zip(self.ring, owners, strict=True)
            }
        return owner_of

    @property
    def tokens_to_hosts_by_ks(self) -> dict[str, dict[Any, Any]]:
        """For each keyspace that was looked up, the hosts that hold each token's range."""
        return {
            keyspace: {token: replica_map.at(position) for position, token in enumerate(self.ring)}
            if replica_map is not None
            else {}
            for keyspace, (_, replica_map) in list(self._by_keyspace.items())
        }

    def get_replicas(self, keyspace: str, token: Token) -> list[Any]:
        """Return the hosts that hold the partitions with `token`, the primary replica first.

        The list is empty if the replicas are not known. It is also empty for a keyspace with
        tablets, whose replicas do not follow the ring: see `Metadata.get_replica_shards`.

        :param keyspace: the name of the keyspace.
        :param token: a `Token` of the ring's partitioner.
        """
        replica_map = self._replicas_of(keyspace)
        return list(replica_map.of_token(token.value)) if replica_map is not None else []

    def _replicas_of(self, keyspace: str) -> ReplicaMap | None:
        """Return the replicas of a keyspace, or None if they are not known.

        They are cached until the replication of the keyspace changes.
        """
        strategy = self._metadata.replication_of(keyspace)
        if strategy is None or self._metadata.tablets.has_keyspace(keyspace):
            # The keyspace was dropped, or it has tablets now. Forget its replicas.
            self._by_keyspace.pop(keyspace, None)
            return None
        cached = self._by_keyspace.get(keyspace)
        if cached is None or cached[0] != strategy:
            cached = self._by_keyspace[keyspace] = (
                strategy,
                strategy.replica_map(self._sorted_ring, self._hosts),
            )
        return cached[1]

    def rebuild_keyspace(self, keyspace: str, build_if_absent: bool = False) -> None:
        """Add the keyspace to `tokens_to_hosts_by_ks`, using its current replication.

        :param keyspace: the name of the keyspace.
        :param build_if_absent: True adds the keyspace even if its replicas were never looked up.
        """
        # Looking up the replicas of the keyspace adds the keyspace.
        if build_if_absent or keyspace in self._by_keyspace:
            self._replicas_of(keyspace)

    def remove_keyspace(self, keyspace: str) -> None:
        """Remove the keyspace from `tokens_to_hosts_by_ks` until its replicas are looked up again.

        :param keyspace: the name of the keyspace.
        """
        self._by_keyspace.pop(keyspace, None)


TokenMap.__module__ = "cassandra.metadata"
