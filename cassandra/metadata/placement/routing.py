"""Where partitions are: the ring and the replicas of each keyspace, as a snapshot that is computed
as it is asked.

A `Routing` belongs to one list of hosts and one state of the keyspaces' replication; `Metadata`
swaps it whole. Tokens are parsed at the first look-up, the replicas of a keyspace at its first one,
and keyspaces with equal replication share them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cassandra._impl import ring as rings
from cassandra.metadata.placement.replication import ReplicationStrategy
from cassandra.metadata.placement.tokens import Murmur3Token, SortedRing, Token

if TYPE_CHECKING:
    from cassandra.metadata.host import Host
    from cassandra.metadata.placement.ring import ReplicaMap

__all__ = ["Routing", "TokenMap", "View"]

_UNKNOWN: Any = object()


class View:
    """The hosts of a ring with all that decides where replicas are. `places` has (host, its tokens,
    data centre, rack).
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

    def is_like(self, other: View | None) -> bool:
        """Whether replicas are at the same places."""
        return (
            other is not None
            and self.token_class is other.token_class
            and self.places == other.places
            # A host that left and came back is equal, and another one all the same.
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
    """One state of the cluster: `view` and `placement_version` say which. Readable from any thread."""

    __slots__ = ("_by_keyspace", "_by_strategy", "_replication_of", "placement_version", "view")

    def __init__(
        self,
        view: View,
        replication_of: Callable[[str], ReplicationStrategy | None],
        placement_version: int,
        previous: Routing | None = None,
    ) -> None:
        self.view = view
        self.placement_version = placement_version
        self._replication_of = replication_of
        self._by_keyspace: dict[str, ReplicaMap | None] = {}
        # What is known of the same hosts stays known.
        self._by_strategy: dict[ReplicationStrategy, ReplicaMap | None] = (
            previous.used() if previous is not None and previous.view is view else {}
        )

    def used(self) -> dict[ReplicationStrategy, ReplicaMap | None]:
        """The maps that a keyspace has been asked for."""
        asked = list(self._by_keyspace.values())
        return {
            strategy: made for strategy, made in list(self._by_strategy.items()) if made in asked
        }

    def map_of(self, keyspace: str) -> ReplicaMap | None:
        """The replicas of `keyspace`; None where there is no such keyspace, or it has none that
        could be known.
        """
        found: ReplicaMap | None = self._by_keyspace.get(keyspace, _UNKNOWN)
        return self._make(keyspace) if found is _UNKNOWN else found

    def _make(self, keyspace: str) -> ReplicaMap | None:
        strategy = self._replication_of(keyspace)
        if strategy is None:
            return None  # not remembered: names of keyspaces that do not exist are without end
        made: ReplicaMap | None = self._by_strategy.get(strategy, _UNKNOWN)
        if made is _UNKNOWN:
            made = strategy.replica_map(self.view.ring, self.view.hosts)
            self._by_strategy[strategy] = made
        self._by_keyspace[keyspace] = made
        return made


class TokenMap:
    """The tokens of all hosts, and the replicas of each.

    token_class: a subclass of `Token`. token_to_host_owner: for each token its host. all_tokens:
    the tokens in order. metadata: the `Metadata` that knows the keyspaces' replication.
    """

    def __init__(
        self,
        token_class: type[Token],
        token_to_host_owner: Mapping[Any, Any],
        all_tokens: Sequence[Any],
        metadata: Any,
    ) -> None:
        numbers: dict[Any, int] = {}
        owners = {
            token.value: numbers.setdefault(token_to_host_owner[token], len(numbers))
            for token in all_tokens
        }
        self._take(token_class, SortedRing.of_owners(token_class, owners), tuple(numbers), metadata)

    @classmethod
    def of_view(cls, view: View, metadata: Any) -> TokenMap:
        """The tokens of a snapshot."""
        token_map = cls.__new__(cls)
        token_map._take(view.token_class, view.ring, view.hosts, metadata)
        return token_map

    def _take(
        self, token_class: type[Token], sorted_ring: Any, hosts: tuple[Any, ...], metadata: Any
    ) -> None:
        self.token_class = token_class
        self._metadata = metadata
        self._sorted = sorted_ring
        self._hosts = hosts
        self._by_keyspace: dict[str, tuple[ReplicationStrategy, ReplicaMap | None]] = {}

    @cached_property
    def ring(self) -> list[Any]:
        """All tokens, in order. They become objects when they are first asked for."""
        return [self.token_class(value) for value in self._sorted.tokens()]

    @cached_property
    def token_to_host_owner(self) -> dict[Any, Any]:
        """The host of each token."""
        return {
            token: self._hosts[owner]
            for token, owner in zip(self.ring, self._sorted.owners(), strict=True)
        }

    @property
    def tokens_to_hosts_by_ks(self) -> dict[str, dict[Any, Any]]:
        """For each keyspace that was asked for: for each token the hosts that hold its range."""
        return {
            keyspace: {token: made.at(place) for place, token in enumerate(self.ring)}
            if made is not None
            else {}
            for keyspace, (_, made) in list(self._by_keyspace.items())
        }

    def get_replicas(self, keyspace: str, token: Any) -> list[Any]:
        """The hosts that hold the partitions with `token` in `keyspace`, the first one first; empty
        where that is not known.
        """
        strategy = self._metadata.replication_of(keyspace)
        if strategy is None:
            return []
        known = self._by_keyspace.get(keyspace)
        if known is None or known[0] != strategy:
            known = self._by_keyspace[keyspace] = (
                strategy,
                strategy.replica_map(self._sorted, self._hosts),
            )
        return list(known[1].of_token(token.value)) if known[1] is not None else []


TokenMap.__module__ = "cassandra.metadata"
