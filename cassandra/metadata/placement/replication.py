"""Replication settings of keyspaces: the number of replicas, and where they are placed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._logs import Log
from cassandra.encoder import cql_quote
from cassandra.metadata.placement.tokens import SortedRing
from cassandra.util.pickles import restore

if TYPE_CHECKING:
    from cassandra.metadata.placement import ring as rings
    from cassandra.metadata.placement.ring import ReplicaMap, Ring
else:
    from cassandra._impl import ring as rings

log = Log("cassandra.metadata")

REPLICATION_STRATEGY_CLASS_PREFIX = "org.apache.cassandra.locator."


class ReplicationFactor:
    """A number of replicas, some of which may be transient.

    Transient replicas hold data only until it is repaired. `full_replicas` counts the replicas that
    hold the data permanently.

    :param all_replicas: the number of full and transient replicas.
    :param transient_replicas: how many of these replicas are transient. None means 0.
    """

    __slots__ = ("all_replicas", "full_replicas", "transient_replicas")

    __setstate__ = restore

    def __init__(self, all_replicas: int, transient_replicas: int | None = None) -> None:
        self.all_replicas = all_replicas
        self.transient_replicas = transient_replicas
        self.full_replicas = all_replicas - (transient_replicas or 0)

    @classmethod
    def create(cls, rf: str | int | ReplicationFactor) -> ReplicationFactor:
        """Create a factor from a number, or from a string such as ``"3"`` or ``"3/1"``.

        ``"3/1"`` means three replicas, of which one is transient.

        :param rf: the number or string.
        :raises ValueError: if the string has another form.
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
    """Base class of the replication strategies, and the class of strategies that are not known.

    :param name: the name of the server's class, without the Java package of Cassandra's strategies.
    :param options_map: the options of the keyspace's replication map; ``class`` is ignored.
    """

    def __init__(self, name: str = "", options_map: Mapping[str, Any] | None = None) -> None:
        self.name = name
        # Convert values to strings, because equal settings must compare equal: the server's rows
        # have strings, but applications pass numbers.
        self._options = {
            key: str(value) for key, value in (options_map or {}).items() if key != "class"
        }

    @classmethod
    def create(
        cls, strategy_class: str, options_map: Mapping[str, Any] | None
    ) -> ReplicationStrategy | None:
        """Return the strategy of a keyspace, or None if no class is set.

        If the driver does not know the strategy, or its options are not valid, the result has no
        replicas.

        :param strategy_class: the name of the server's class, with or without its Java package.
        :param options_map: the options of the keyspace's replication map.
        """
        if not strategy_class:
            return None
        name = strategy_class.removeprefix(REPLICATION_STRATEGY_CLASS_PREFIX)
        options = {key: value for key, value in (options_map or {}).items() if key != "class"}
        strategy_type = _STRATEGIES.get(name)
        if strategy_type is None:
            # The driver has no class for this strategy, so it cannot compute the replicas.
            return cls(name, options)
        try:
            strategy: ReplicationStrategy = strategy_type(options)
            return strategy
        except ValueError as error:
            # A newer server may describe a keyspace in a new way. The driver must still be able to
            # connect, so it goes on without the replicas of this keyspace.
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
        """Return, for each `Token` of `ring`, the hosts that hold its range, primary replica first.

        The dict is empty if the replicas are not known.

        :param token_to_host_owner: the `Host` that owns each `Token`.
        :param ring: the tokens in order.
        """
        # Give each host a number, in the order of its first token.
        numbers: dict[Any, int] = {}
        owners = {
            token.value: numbers.setdefault(token_to_host_owner[token], len(numbers))
            for token in ring
        }
        if not owners:
            return {}
        # `replica_map` expects a list of hosts in which each host's index is its number. The keys
        # of `numbers` are in this order.
        replicas = self.replica_map(SortedRing.of_owners(type(ring[0]), owners), list(numbers))
        if replicas is None:
            return {}
        return {token: replicas.of_token(token.value) for token in ring}

    def export_for_schema(self) -> str:
        """Return the replication as a CQL map, for use after ``replication =``."""
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

    # `Routing` has a dict of replica maps by strategy, so equal strategies must have equal hashes.
    def __hash__(self) -> int:
        return hash((self.name, frozenset(self._options.items())))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.export_for_schema()}>"


class SimpleStrategy(ReplicationStrategy):
    """Places replicas on the next hosts along the ring, in any data centre.

    :param options_map: contains ``replication_factor``: a number, or a string such as "3" or "3/1".
    :raises ValueError: if ``replication_factor`` is missing or has another form.
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


def _rack_index(key: str) -> int | None:
    """Return the number after the last colon of an option's name; None if there is none."""
    datacenter, _, index = key.rpartition(":")
    return int(index) if datacenter and index.removeprefix("-").isdecimal() else None


def _is_factor(value: Any) -> bool:
    """Return True if the value of an option is a replication factor."""
    try:
        ReplicationFactor.create(value)
    except (ValueError, TypeError):
        return False
    return True


def _named_racks(options: Mapping[str, Any]) -> dict[str, dict[int, str]]:
    """Return the racks that ScyllaDB's options name, by data centre and index.

    ``{"dc1:0": "rack1", "dc1:1": "rack2"}`` means a replica in each of two racks. The index -1
    means that no rack is named, so there are no replicas.

    A data centre of Cassandra may have such a name, too, as in ``{"dc1:1": "3"}``. But racks may
    also be called "1" and "2". ScyllaDB counts from 0 and names each rack once, so other options
    whose values are all factors are not racks.
    """
    options_by_datacenter: dict[str, dict[int, Any]] = {}
    for key, value in options.items():
        index = _rack_index(key)
        if index is not None:
            # Split from the right, because the name of a data centre may contain a colon.
            options_by_datacenter.setdefault(key.rpartition(":")[0], {})[index] = value
    named_racks = {}
    for datacenter, values in options_by_datacenter.items():
        racks = {index: value for index, value in values.items() if index >= 0}
        is_as_scylladb_writes = racks.keys() == {*range(len(racks))} and len(
            {*racks.values()}
        ) == len(racks)
        if is_as_scylladb_writes or not all(map(_is_factor, values.values())):
            named_racks[datacenter] = racks
    return named_racks


class NetworkTopologyStrategy(ReplicationStrategy):
    """Places a number of replicas in each data centre, in different racks if there are enough.

    In ScyllaDB you may name the racks of a data centre instead of a number. The server stores them
    as ``{"dc1:0": "rack1", "dc1:1": "rack2"}``, or as ``{"dc1:-1": ""}`` if you named no rack.

    :param dc_replication_factors: the replication factor of each data centre: a number, or a string
        such as "3" or "3/1".
    :raises ValueError: if a factor has another form.
    """

    def __init__(self, dc_replication_factors: Mapping[str, Any]) -> None:
        super().__init__("NetworkTopologyStrategy", dc_replication_factors)
        self.dc_replication_factors_info = {}
        self._racks = _named_racks(self._options)
        for key, factor in self._options.items():
            datacenter, _, _ = key.rpartition(":")
            racks = self._racks.get(datacenter)
            if racks is not None and _rack_index(key) is not None:
                # Each rack has one replica.
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
            if racks is None:
                value = cql_quote(str(factor))
            else:
                # A data centre whose racks are named has a list of racks instead of a number.
                value = f"[{', '.join(cql_quote(rack) for _, rack in sorted(racks.items()))}]"
            items.append((datacenter, value))
        return "{" + ", ".join(f"{cql_quote(key)}: {value}" for key, value in items) + "}"

    def replica_map(self, ring: Ring, hosts: Sequence[Any]) -> ReplicaMap:
        # Number the data centres and the racks, because `network_map` takes numbers, not names.
        numbers = {
            datacenter: number for number, datacenter in enumerate(self.dc_replication_factors_info)
        }
        racks: dict[Any, int] = {}
        # -1 stands for any data centre without replicas.
        datacenter_of = [numbers.get(host.datacenter, -1) for host in hosts]
        # Racks of different data centres may have the same name, but must get different numbers.
        rack_of = [racks.setdefault((host.datacenter, host.rack), len(racks)) for host in hosts]
        factors = [
            (factor.full_replicas, factor.all_replicas)
            for factor in self.dc_replication_factors_info.values()
        ]
        return rings.network_map(ring, hosts, datacenter_of, rack_of, factors)


class EverywhereStrategy(ReplicationStrategy):
    """Places a replica on every host.

    :param options_map: the options of the replication map, used by `export_for_schema`; None means
        no options.
    """

    def __init__(self, options_map: Mapping[str, Any] | None = None) -> None:
        super().__init__("EverywhereStrategy", options_map)

    def replica_map(self, ring: Ring, hosts: Sequence[Any]) -> ReplicaMap:
        return rings.whole_map(ring, hosts)


class LocalStrategy(ReplicationStrategy):
    """The strategy of keyspaces in which each host has only its own data, such as ``system``.

    All hosts are equally good coordinators, because no host holds replicas of another host's data.

    :param options_map: the options of the replication map, used by `export_for_schema`; None means
        no options.
    """

    def __init__(self, options_map: Mapping[str, Any] | None = None) -> None:
        super().__init__("LocalStrategy", options_map)


# The strategies that the driver knows, by the name of the server's class without its package.
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
