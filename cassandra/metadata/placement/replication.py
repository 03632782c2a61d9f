"""Replication settings of keyspaces: the number of replicas, and where they are placed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.encoder import cql_quote
from cassandra.metadata.placement.tokens import SortedRing

if TYPE_CHECKING:
    from cassandra.metadata.placement import ring as rings
    from cassandra.metadata.placement.ring import ReplicaMap, Ring
else:
    from cassandra._impl import ring as rings

__all__ = [
    "REPLICATION_STRATEGY_CLASS_PREFIX",
    "EverywhereStrategy",
    "LocalStrategy",
    "NetworkTopologyStrategy",
    "ReplicationFactor",
    "ReplicationStrategy",
    "SimpleStrategy",
]

log = logging.getLogger("cassandra.metadata")

REPLICATION_STRATEGY_CLASS_PREFIX = "org.apache.cassandra.locator."


class ReplicationFactor:
    """The number of replicas. Transient replicas hold data only until it is repaired.

    `full_replicas` counts the replicas that hold the data permanently.

    :param all_replicas: the number of full and transient replicas.
    :param transient_replicas: how many of them are transient. None means 0.
    """

    __slots__ = ("all_replicas", "full_replicas", "transient_replicas")

    def __init__(self, all_replicas: int, transient_replicas: int | None = None) -> None:
        self.all_replicas = all_replicas
        self.transient_replicas = transient_replicas
        self.full_replicas = all_replicas - (transient_replicas or 0)

    @classmethod
    def create(cls, rf: str | int | ReplicationFactor) -> ReplicationFactor:
        """Create a factor from a number, or from a string such as ``"3"`` or ``"3/1"``.

        ``"3/1"`` means three replicas, one of them transient. Raises ValueError for other strings.

        :param rf: the number or string.
        """
        if isinstance(rf, ReplicationFactor):
            return rf
        total, slash, transient = str(rf).partition("/")
        try:
            return cls(int(total), int(transient) if slash else None)
        except ValueError:
            raise ValueError(
                f"a replication factor is a number, or two as in '3/1', but one is {rf!r}"
            ) from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReplicationFactor):
            return False
        return (self.all_replicas, self.full_replicas) == (other.all_replicas, other.full_replicas)

    def __hash__(self) -> int:
        return hash((self.all_replicas, self.full_replicas))

    def __str__(self) -> str:
        return (
            f"{self.all_replicas}/{self.transient_replicas}"
            if self.transient_replicas
            else str(self.all_replicas)
        )

    def __repr__(self) -> str:
        return f"<ReplicationFactor: {self}>"


class ReplicationStrategy:
    """Base of the strategies.

    :param name: the server's class, without its package if that is Cassandra's.
    :param options_map: the options of the keyspace's replication map; ``class`` is ignored.
    """

    def __init__(self, name: str = "", options_map: Mapping[str, Any] | None = None) -> None:
        self.name = name
        # Keep strings: rows have strings, user code passes numbers, and equal settings must compare
        # equal.
        self._options = {
            key: str(value) for key, value in (options_map or {}).items() if key != "class"
        }

    @classmethod
    def create(
        cls, strategy_class: str, options_map: Mapping[str, Any] | None
    ) -> ReplicationStrategy | None:
        """Return the strategy of a keyspace, or None if no class is set.

        A strategy that the driver does not know, or that has unknown options, has no replicas.

        :param strategy_class: the class, with or without the package.
        :param options_map: the options of the keyspace's replication map.
        """
        if not strategy_class:
            return None
        name = strategy_class.removeprefix(REPLICATION_STRATEGY_CLASS_PREFIX)
        options = {key: value for key, value in (options_map or {}).items() if key != "class"}
        strategy_type = _STRATEGIES.get(name)
        if strategy_type is None:
            return cls(name, options)
        try:
            strategy: ReplicationStrategy = strategy_type(options)
            return strategy
        except ValueError as error:
            # A keyspace that a newer server describes must not keep the driver from connecting.
            log.warning(
                "the replication of a keyspace is not understood, so nothing is routed by it: %s",
                error,
            )
            return ReplicationStrategy(name, options)

    def replica_map(self, ring: Ring, hosts: Sequence[Any]) -> ReplicaMap | None:
        """Return the replicas at each position of `ring`, or None if they cannot be known.

        :param ring: a ring whose owners are indexes of `hosts`.
        :param hosts: the members of the ring, in order.
        """
        return None

    def make_token_replica_map(
        self, token_to_host_owner: Mapping[Any, Any], ring: Sequence[Any]
    ) -> dict[Any, Any]:
        """Return, for each `Token` of `ring`, the hosts that hold its range, the primary one first.

        The dict is empty if the replicas are not known.

        :param token_to_host_owner: the `Host` that owns each `Token`.
        :param ring: the tokens in order.
        """
        numbers: dict[Any, int] = {}
        owners = {
            token.value: numbers.setdefault(token_to_host_owner[token], len(numbers))
            for token in ring
        }
        if not owners:
            return {}
        placed = self.replica_map(SortedRing.of_owners(type(ring[0]), owners), list(numbers))
        if placed is None:
            return {}
        return {token: placed.of_token(token.value) for token in ring}

    def export_for_schema(self) -> str:
        """Return the CQL map that follows ``replication =``."""
        items = {"class": self.name, **self._options}
        return (
            "{"
            + ", ".join(
                f"{cql_quote(key)}: {cql_quote(str(value))}" for key, value in items.items()
            )
            + "}"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReplicationStrategy):
            return False
        return (self.name, self._options) == (other.name, other._options)

    # `Routing` shares replica maps by strategy, so equal settings need equal hashes.
    def __hash__(self) -> int:
        return hash((self.name, frozenset(self._options.items())))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.export_for_schema()}>"


class SimpleStrategy(ReplicationStrategy):
    """The next hosts along the ring, in any data centre.

    :param options_map: has ``replication_factor``: a number, or a string such as "3" or "3/1".
    :raises ValueError: if it is missing or has another form.
    """

    def __init__(self, options_map: Mapping[str, Any]) -> None:
        super().__init__("SimpleStrategy", options_map)
        if "replication_factor" not in options_map:
            raise ValueError(
                f"SimpleStrategy needs a replication_factor, but has {dict(options_map)!r}"
            )
        self.replication_factor_info = ReplicationFactor.create(options_map["replication_factor"])

    @property
    def replication_factor(self) -> int:
        """The number of full replicas."""
        return self.replication_factor_info.full_replicas

    def replica_map(self, ring: Ring, hosts: Sequence[Any]) -> ReplicaMap:
        factor = self.replication_factor_info
        return rings.simple_map(ring, hosts, factor.full_replicas, factor.all_replicas)


class NetworkTopologyStrategy(ReplicationStrategy):
    """A number of replicas in each data centre, in different racks if there are enough of them.

    ScyllaDB allows you to name the racks. It stores them as ``{"dc1:0": "rack1", "dc1:1":
    "rack2"}``, or as ``{"dc1:-1": ""}`` if there are none.

    :param dc_replication_factors: for each data centre its factor: a number, or a string such as
        "3" or "3/1".
    :raises ValueError: if a factor has another form.
    """

    def __init__(self, dc_replication_factors: Mapping[str, Any]) -> None:
        super().__init__("NetworkTopologyStrategy", dc_replication_factors)
        self.dc_replication_factors_info = {}
        self._racks: dict[str, dict[int, str]] = {}
        for key, factor in self._options.items():
            # Split from the right, because the name of a data centre may contain a colon.
            datacenter, _, rack_index = key.rpartition(":")
            if datacenter and rack_index.removeprefix("-").isdecimal():
                racks = self._racks.setdefault(datacenter, {})
                if int(rack_index) >= 0:
                    racks[int(rack_index)] = factor
                self.dc_replication_factors_info[datacenter] = ReplicationFactor(len(racks))
            else:
                self.dc_replication_factors_info[key] = ReplicationFactor.create(factor)
        self.dc_replication_factors = {
            datacenter: factor.full_replicas
            for datacenter, factor in self.dc_replication_factors_info.items()
        }

    def export_for_schema(self) -> str:
        items = [("class", cql_quote(self.name))]
        for datacenter, factor in self.dc_replication_factors_info.items():
            racks = self._racks.get(datacenter)
            named = (
                f"[{', '.join(cql_quote(rack) for _, rack in sorted(racks.items()))}]"
                if racks is not None
                else None
            )
            items.append((datacenter, named or cql_quote(str(factor))))
        return "{" + ", ".join(f"{cql_quote(key)}: {value}" for key, value in items) + "}"

    def replica_map(self, ring: Ring, hosts: Sequence[Any]) -> ReplicaMap:
        names = {
            datacenter: number for number, datacenter in enumerate(self.dc_replication_factors_info)
        }
        racks: dict[Any, int] = {}
        datacenter_of = [names.get(host.datacenter, -1) for host in hosts]
        # Racks of different data centres may share a name.
        rack_of = [racks.setdefault((host.datacenter, host.rack), len(racks)) for host in hosts]
        factors = [
            (factor.full_replicas, factor.all_replicas)
            for factor in self.dc_replication_factors_info.values()
        ]
        return rings.network_map(ring, hosts, datacenter_of, rack_of, factors)


class EverywhereStrategy(ReplicationStrategy):
    """Every host holds all data.

    :param options_map: options of the replication map, for its export; None means no options.
    """

    def __init__(self, options_map: Mapping[str, Any] | None = None) -> None:
        super().__init__("EverywhereStrategy", options_map)

    def replica_map(self, ring: Ring, hosts: Sequence[Any]) -> ReplicaMap:
        return rings.whole_map(ring, hosts)


class LocalStrategy(ReplicationStrategy):
    """Each host holds its own data, so no host is a better coordinator than another.

    :param options_map: options of the replication map, for its export; None means no options.
    """

    def __init__(self, options_map: Mapping[str, Any] | None = None) -> None:
        super().__init__("LocalStrategy", options_map)


_STRATEGIES: dict[str, Any] = {
    "EverywhereStrategy": EverywhereStrategy,
    "LocalStrategy": LocalStrategy,
    "NetworkTopologyStrategy": NetworkTopologyStrategy,
    "SimpleStrategy": SimpleStrategy,
}

for _class in (
    ReplicationFactor,
    ReplicationStrategy,
    SimpleStrategy,
    NetworkTopologyStrategy,
    EverywhereStrategy,
    LocalStrategy,
):
    _class.__module__ = "cassandra.metadata"
del _class
