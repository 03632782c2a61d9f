"""The placement of partitions: the ring and the replicas of each keyspace, computed on demand.

A `Routing` belongs to one list of hosts and one state of the keyspaces' replication; `Metadata`
replaces it as a whole. Tokens are parsed at the first look-up, and the replicas of a keyspace are
computed at its first one. Keyspaces with equal replication share them.
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

__all__ = ["RingMembers", "Routing", "TokenMap"]

_UNKNOWN: Any = object()


class RingMembers:
    """The hosts of a ring, with everything that decides the places of replicas.

    `places` has (host, its tokens, data centre, rack).
    """

    __slots__ = ("_ring", "hosts", "places", "token_class")

    def __init__(self, hosts: Sequence[Host], token_class: type[Token]) -> None:
        # A host that owns no token holds nothing: it may be joining.
        self.places = tuple(
            (host, host.tokens, host.datacenter, host.rack) for host in hosts if host.tokens
        )
        self.hosts = tuple(place[0] for place in self.places)
        self.token_class = token_class
        self._ring: Any = None

    def is_like(self, other: RingMembers | None) -> bool:
        """Return True if replicas are at the same places."""
        return (
            other is not None
            and self.token_class is other.token_class
            and self.places == other.places
            # A host that left and came back compares equal, but is a new object.
            and all(host is known for host, known in zip(self.hosts, other.hosts, strict=True))
        )

    @property
    def ring(self) -> Any:
        """The sorted tokens."""
        if self._ring is None:
            texts = [place[1] for place in self.places]
            self._ring = (
                rings.TokenRing(texts)
                if self.token_class is Murmur3Token
                else SortedRing(self.token_class, texts)
            )
        return self._ring


class Routing:
    """One state of the cluster, named by `members` and `placement_version`.

    Any thread may read it.
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
        # The maps of the same hosts stay valid, whatever else has changed.
        self._by_strategy: dict[ReplicationStrategy, ReplicaMap | None] = (
            previous.used() if previous is not None and previous.members is members else {}
        )

    def used(self) -> dict[ReplicationStrategy, ReplicaMap | None]:
        """Return the maps of the keyspaces that were asked for."""
        # Copied, because other threads add entries meanwhile.
        asked = list(self._by_keyspace.values())
        return {
            strategy: made for strategy, made in list(self._by_strategy.items()) if made in asked
        }

    def map_of(self, keyspace: str) -> ReplicaMap | None:
        """Return the replicas of `keyspace`, or None if they are not known."""
        # None is an answer too: replicas that cannot be known are not computed at each request.
        found: ReplicaMap | None = self._by_keyspace.get(keyspace, _UNKNOWN)
        return self._make(keyspace) if found is _UNKNOWN else found

    def _make(self, keyspace: str) -> ReplicaMap | None:
        strategy = self._replication_of(keyspace)
        if strategy is None:
            return None  # not kept: a program may ask for any number of unknown names
        made: ReplicaMap | None = self._by_strategy.get(strategy, _UNKNOWN)
        if made is _UNKNOWN:
            made = strategy.replica_map(self.members.ring, self.members.hosts)
            self._by_strategy[strategy] = made
        self._by_keyspace[keyspace] = made
        return made


class TokenMap:
    """The tokens of all hosts, and the replicas of each.

    :param token_class: a subclass of `Token`.
    :param token_to_host_owner: for each token its host.
    :param all_tokens: the tokens in order.
    :param metadata: the `Metadata` with the keyspaces' replication.
    """

    def __init__(
        self,
        token_class: type[Token],
        token_to_host_owner: Mapping[Any, Any],
        all_tokens: Sequence[Any],
        metadata: Metadata,
    ) -> None:
        numbers: dict[Any, int] = {}
        owners = {
            token.value: numbers.setdefault(token_to_host_owner[token], len(numbers))
            for token in all_tokens
        }
        self._take(token_class, SortedRing.of_owners(token_class, owners), tuple(numbers), metadata)

    @classmethod
    def of_members(cls, members: RingMembers, metadata: Metadata) -> TokenMap:
        """Return the tokens of a snapshot.

        :param members: the snapshot of the ring's members.
        :param metadata: the `Metadata` that it belongs to.
        """
        token_map = cls.__new__(cls)
        token_map._take(members.token_class, members.ring, members.hosts, metadata)
        return token_map

    def _take(
        self,
        token_class: type[Token],
        sorted_ring: SortedRing | TokenRing,
        hosts: tuple[Any, ...],
        metadata: Metadata,
    ) -> None:
        self.token_class = token_class
        self._metadata = metadata
        self._sorted = sorted_ring
        self._ring: list[Any] | None = None
        self._owners: dict[Any, Any] | None = None
        self._hosts = hosts
        self._by_keyspace: dict[str, tuple[ReplicationStrategy, ReplicaMap | None]] = {}

    # Not cached_property: before Python 3.12 it has a lock that a forked child would wait for.
    @property
    def ring(self) -> list[Any]:
        """All tokens in order. They become objects at the first access."""
        made = self._ring
        if made is None:
            made = self._ring = [self.token_class(value) for value in self._sorted.tokens()]
        return made

    @property
    def token_to_host_owner(self) -> dict[Any, Any]:
        """The host of each token."""
        made = self._owners
        if made is None:
            owners = self._sorted.owners()
            made = self._owners = {
                token: self._hosts[owner] for token, owner in zip(self.ring, owners, strict=True)
            }
        return made

    @property
    def tokens_to_hosts_by_ks(self) -> dict[str, dict[Any, Any]]:
        """For each keyspace that was asked for, the hosts that hold each token's range."""
        return {
            keyspace: {token: made.at(place) for place, token in enumerate(self.ring)}
            if made is not None
            else {}
            for keyspace, (_, made) in list(self._by_keyspace.items())
        }

    def get_replicas(self, keyspace: str, token: Token) -> list[Any]:
        """Return the hosts that hold the partitions with `token`, the primary one first.

        The list is empty if they are not known.

        :param keyspace: the name of the keyspace.
        :param token: a `Token` of the ring's partitioner.
        """
        made = self._replicas_of(keyspace)
        return list(made.of_token(token.value)) if made is not None else []

    def _replicas_of(self, keyspace: str) -> ReplicaMap | None:
        strategy = self._metadata.replication_of(keyspace)
        if strategy is None:
            return None
        known = self._by_keyspace.get(keyspace)
        if known is None or known[0] != strategy:
            known = self._by_keyspace[keyspace] = (
                strategy,
                strategy.replica_map(self._sorted, self._hosts),
            )
        return known[1]

    def rebuild_keyspace(self, keyspace: str, build_if_absent: bool = False) -> None:
        """Have `keyspace` in `tokens_to_hosts_by_ks`, by its replication as it is now.

        :param keyspace: its name.
        :param build_if_absent: also if nobody has asked for its replicas yet.
        """
        if build_if_absent or keyspace in self._by_keyspace:
            self._replicas_of(keyspace)

    def remove_keyspace(self, keyspace: str) -> None:
        """Take `keyspace` out of `tokens_to_hosts_by_ks` until it is asked for again.

        :param keyspace: its name.
        """
        self._by_keyspace.pop(keyspace, None)


TokenMap.__module__ = "cassandra.metadata"
