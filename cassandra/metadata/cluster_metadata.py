"""`Metadata`: what the driver knows about a cluster, as snapshots of its nodes and its schema.

The engine never changes a snapshot: it replaces the whole snapshot. So any thread may read a
snapshot without a lock.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from cassandra._habits import METADATA, add_habits
from cassandra.metadata.endpoint import usual_form
from cassandra.metadata.host import Host
from cassandra.metadata.placement.replication import ReplicationStrategy
from cassandra.metadata.placement.routing import RingMembers, Routing, TokenMap
from cassandra.metadata.placement.tokens import Token, checked_token, token_class_of
from cassandra.metadata.schema.snapshot import NO_SCHEMA, LazyMapping, Schema, object_of

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.engine.endpoint import EndPoint
    from cassandra.metadata.placement import tablets
    from cassandra.metadata.placement.tablets import TabletMap
else:
    from cassandra._impl import bases, tablets

# The note in the KeyError for a keyspace that is looked up while no keyspace is known.
_NO_KEYSPACES = (
    "no keyspace is known: cluster.connect() reads them, unless schema_metadata_enabled is False"
)

# A function that maps keyspace, table and serialized partition key to the replicas; see
# `Metadata.table_replicas`.
TableReplicas = Callable[[str, str, bytes], Sequence[Host] | None]


class ReplicaShard(NamedTuple):
    """A replica of a partition.

    :param host: the host that holds the partition.
    :param shard: the number of the host's shard that serves the partition; None if the host has no
        shards, or if the shard is not known.
    """

    host: Host
    shard: int | None


def _token_for(token_class: type[Token], key: bytes | int | Token) -> Token:
    """Return the token of `key`: a serialized partition key, the value of a token, or a token.

    :param token_class: the token class of the cluster's partitioner.
    """
    if isinstance(key, token_class):
        return key
    if isinstance(key, bytes):
        return token_class.from_key(key)
    return checked_token(token_class, key)


def _shard_of(host: Host, token: Token) -> int | None:
    info = host.sharding_info
    return info.shard_id_from_token(token) if info is not None else None


class EngineCounts:
    """How often the engine has done something; these numbers outlive the engine.

    They never decrease. The keys are weak, so that removed hosts disappear.
    """

    def __init__(self) -> None:
        # The number of attempts to reach each host while it was down.
        self.reconnections: WeakKeyDictionary[Host, int] = WeakKeyDictionary()
        # The number of times that each host has announced that it will stop soon.
        self.drains: WeakKeyDictionary[Host, int] = WeakKeyDictionary()
        self.schema_reads = 0  # the number of readings of targets, including failed readings
        self.failed_schema_reads = 0


class Metadata(bases.MetadataBase):
    """The cluster's name, partitioner, hosts and schema.

    Any thread may read this object. Only the engine replaces the snapshots.
    """

    # The base class has a slot for `placement_version`, because each query plan reads this
    # attribute, and slots are fast.
    __slots__ = ("__dict__", "__weakref__")

    token_metadata_enabled: bool = True
    """True if the driver uses tokens. Otherwise there is no token map, and replicas are unknown."""

    cluster_name: str | None = None
    partitioner: str | None = None

    def __init__(self) -> None:
        self.cluster_name = self.partitioner = None
        self.dbaas = False
        self.replication_version = 0  # counts the changes of the replication of keyspaces
        # The number of changes of the placement so far: changes of the ring, of the replication, or
        # of the hosts of tablets.
        self.placement_version = 0
        self._hosts: MappingProxyType[Any, Host] = MappingProxyType({})  # by end point
        # The replication by keyspace; None for a keyspace whose replication is not known.
        self._replication: Mapping[str, ReplicationStrategy | None] = MappingProxyType({})
        # The hosts that own tokens. The object is replaced when one of these hosts changes.
        self.members: RingMembers | None = None
        self._table_replicas: TableReplicas | None = None
        # The tablets that ScyllaDB nodes have reported.
        self.tablets: TabletMap = tablets.TabletMap()
        # The latest result of `routing`; None before the first call.
        self._routing: Routing | None = None
        # (members, the token map of these members); None before the first access. The map is valid
        # as long as `self.members` is the same object.
        self._token_map: tuple[RingMembers, TokenMap] | None = None
        self.engine_counts = EngineCounts()
        self.schema: Schema = NO_SCHEMA
        # The keyspaces by name. The object of a keyspace is built when it is first accessed.
        self._keyspaces: LazyMapping[Any] = LazyMapping({}, object_of, _NO_KEYSPACES)

    def __repr__(self) -> str:
        names = sorted(self.keyspaces)
        # Show only a few keyspaces, because there may be hundreds.
        first_names = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        count = len(self.all_hosts())
        return (
            f"<Metadata: cluster {self.cluster_name!r}, {count} host{'s' * (count != 1)}, "
            f"{len(names)} keyspaces{': ' * bool(names)}{first_names}>"
        )

    def _repr_html_(self) -> str:
        """Return tables of the hosts and keyspaces as HTML, for notebooks."""
        # Import this module only here, because only notebooks need it.
        from cassandra.metadata.pictures import cluster_as_html

        return cluster_as_html(self.cluster_name, self.all_hosts(), self.keyspaces)

    def all_hosts(self) -> list[Host]:
        """Return all known hosts."""
        return list(self._hosts.values())

    def get_host(self, endpoint_or_address: EndPoint | str, port: int | None = None) -> Host | None:
        """Return the host at an end point or an address, or None if the host is not known.

        :param endpoint_or_address: an end point, or an address as a string.
        :param port: the port of the address. None accepts any port.
        """
        host = self._hosts.get(endpoint_or_address)
        if host is not None or not isinstance(endpoint_or_address, str):
            return host
        address = usual_form(endpoint_or_address)
        # Search all hosts. An index by address would have to be built for each snapshot, but
        # applications rarely look up a host by address.
        for host in self._hosts.values():
            if address == host.address and port in (None, host.endpoint.port):
                return host
        # If no end point has the address, compare with the addresses that nodes advertise. The
        # client may connect to a node at another (translated) address or port.
        for host in self._hosts.values():
            advertised_port = host.broadcast_rpc_port or host.endpoint.port
            if address == host.broadcast_rpc_address and port in (
                None,
                advertised_port,
            ):
                return host
        return None

    def get_host_by_host_id(self, host_id: uuid.UUID) -> Host | None:
        """Return the host with this id, or None if the host is not known.

        :param host_id: the id, a `uuid.UUID`.
        """
        for host in self._hosts.values():
            if host.host_id == host_id:
                return host
        return None

    def add_or_return_host(self, host: Host) -> tuple[Host, bool]:
        """Add `host`, unless a host with the same end point is already known.

        :param host: the `Host`.
        :returns: (the host that is now known at the end point, True if `host` was added).
        """
        existing = self._hosts.get(host.endpoint)
        if existing is not None:
            return existing, False
        self._replace_hosts([*self._hosts.values(), host])
        return host, True

    def _replace_hosts(self, hosts: list[Host]) -> None:
        """Replace the snapshot of hosts (called by the engine)."""
        self._hosts = MappingProxyType({host.endpoint: host for host in hosts})
        self.tablets.take_hosts(hosts)
        token_class = token_class_of(self.partitioner) if self.token_metadata_enabled else None
        members = RingMembers(hosts, token_class) if token_class is not None else None
        previous = self.members
        # A refresh usually finds the same nodes. Then the placement stays valid, and so do the
        # replica maps and query plans that were computed from it.
        if members is not previous and (members is None or not members.same_placement(previous)):
            self.members = members
            self.placement_version += 1

    def _forget_placement(self) -> None:
        """Make the next snapshot of hosts recompute the placement (called by the engine).

        Without this, `_replace_hosts` keeps the placement if it finds the same nodes.
        """
        self.members = None

    # -- replicas ----------------------------------------------------------------------------------

    def replication_of(self, keyspace: str) -> ReplicationStrategy | None:
        """Return the replication of a keyspace, or None if the replication is not known.

        The driver reads the replication even if it does not read the schema.

        :param keyspace: the name of the keyspace.
        """
        return self._replication.get(keyspace)

    @property
    def replication(self) -> Mapping[str, ReplicationStrategy | None]:
        """The replication of all keyspaces, by name, as a snapshot.

        A value is None if the replication of the keyspace is not known.
        """
        return self._replication

    def _replace_replication(self, replication: Mapping[str, ReplicationStrategy | None]) -> None:
        """Replace the replication of all keyspaces (called by the engine).

        `replication_version` counts the changes.
        """
        # The engine calls this after each read of the schema. Only a real change makes the
        # placement invalid.
        if replication != self._replication:
            self._replication = MappingProxyType(dict(replication))
            self.replication_version += 1
            self.placement_version += 1

    def _replace_tablet_keyspaces(self, names: Iterable[str], leaders: Iterable[str]) -> None:
        """Set which keyspaces have tablets (called by the engine).

        :param names: the names of the keyspaces with tablets.
        :param leaders: the keyspaces in which the first replica of a tablet is its leader.
        """
        if self.tablets.use_keyspaces(names, leaders):
            self.placement_version += 1

    @property
    def table_replicas(self) -> TableReplicas | None:
        """A function that returns the replicas of a partition, or None if no function is set.

        The application sets the function for tables whose replicas do not follow from the token
        ring. The driver calls it with keyspace, table and serialized partition key. For any other
        table, the function returns None.
        """
        return self._table_replicas

    @table_replicas.setter
    def table_replicas(self, table_replicas: TableReplicas | None) -> None:
        self._table_replicas = table_replicas
        self.placement_version += 1

    def routing(self) -> Routing | None:
        """Return the current placement of partitions.

        Return None if the driver does not use tokens, or does not know the partitioner.
        """
        # Read the version first, because the engine changes it last. So if the placement changes in
        # the meantime, this routing has the old version, and the next call builds another routing.
        version, members, previous = self.placement_version, self.members, self._routing
        if previous is not None and previous.placement_version == version:
            return previous
        if members is None:
            return None
        # The new routing reuses the replica maps of the previous routing that are still valid.
        self._routing = current = Routing(members, self.replication_of, version, previous)
        return current

    def get_replicas(self, keyspace: str, key: bytes, *, table: str | None = None) -> list[Host]:
        """Return the hosts that hold the partition `key` of `keyspace`, the primary replica first.

        Transient replicas are not included. The list is empty if the replicas are not known. In a
        keyspace with tablets, each table has separate replicas. The driver learns the replicas of a
        tablet from the response to a request for the tablet.

        .. versionchanged:: 4.0
           The parameter `table`.

        :param keyspace: the name of the keyspace.
        :param key: the serialized partition key: `BoundStatement.routing_key`.
        :param table: the name of the table, for keyspaces with tablets.
        :raises TypeError: if `key` is not bytes.
        """
        if not isinstance(key, (bytes, bytearray, memoryview)):
            raise TypeError(
                f"key is the serialized partition key (bytes), not {key!r} "
                f"({type(key).__name__}): write prepared.bind(values).routing_key"
            )
        if self.tablets.has_keyspace(keyspace):
            return list(self.tablets.replicas(keyspace, table, bytes(key)) or ())
        routing = self.routing()
        replica_map = routing.map_of(keyspace) if routing is not None else None
        return list(replica_map.of_key(key)) if replica_map is not None else []

    def get_replica_shards(
        self, keyspace: str, key: bytes | int | Token, table: str | None = None
    ) -> list[ReplicaShard]:
        """Return the hosts that hold a partition, each with the shard that serves it.

        The primary replica comes first. The list is empty if the replicas are not known. The driver
        learns the replicas of a tablet from the response to a request for the tablet.

        .. versionadded:: 4.0

        :param keyspace: the name of the keyspace.
        :param key: the serialized partition key (`BoundStatement.routing_key`), or the token.
        :param table: the name of the table, for keyspaces with tablets.
        :raises TypeError: if `key` is of another type.
        :raises ValueError: if `key` is an int or a `Token`, but not a valid token of the
            partitioner.
        """
        routing = self.routing()
        if routing is None:
            return []
        token = _token_for(routing.members.token_class, key)
        if self.tablets.has_keyspace(keyspace):
            # (first token, last token, replicas, version); None if no response has reported the
            # tablet yet.
            tablet = self.tablets.find(keyspace, table or "", token.value)
            replicas = tablet[2] if tablet is not None else ()
            # Leave out replicas on hosts that the driver does not know.
            hosts_and_shards = [
                (self.get_host_by_host_id(host_id), shard) for host_id, shard in replicas
            ]
            return [
                ReplicaShard(host, shard) for host, shard in hosts_and_shards if host is not None
            ]
        replica_map = routing.map_of(keyspace)
        hosts = replica_map.of_token(token.value) if replica_map is not None else ()
        return [ReplicaShard(host, _shard_of(host, token)) for host in hosts]

    @property
    def token_map(self) -> TokenMap | None:
        """The tokens of all hosts, or None if the partitioner is not known.

        The map is empty if tokens are not read (`Cluster.token_metadata_enabled`).
        """
        members, cached = self.members, self._token_map
        if members is None:
            token_class = token_class_of(self.partitioner)
            # No tokens are read. Return an empty map, which is not cached.
            return TokenMap(token_class, {}, [], self) if token_class is not None else None
        if cached is None or cached[0] is not members:
            cached = self._token_map = (members, TokenMap.of_members(members, self))
        return cached[1]

    def can_support_partitioner(self) -> bool:
        """Return True if tokens of the cluster's partitioner can be computed."""
        return token_class_of(self.partitioner) is not None

    def rebuild_token_map(self, partitioner: str, token_map: Mapping[Host, Iterable[str]]) -> None:
        """Replace the tokens of all hosts, and the partitioner of these tokens.

        :param partitioner: the class name of the partitioner, as the server reports it.
        :param token_map: for each `Host`, its tokens as strings.
        """
        self.partitioner = partitioner
        for host, tokens in token_map.items():
            host.tokens = tuple(tokens)
        # Keep all known hosts, and add the hosts in `token_map` that were not known.
        self._replace_hosts(
            list({**self._hosts, **{host.endpoint: host for host in token_map}}.values())
        )

    # -- schema ------------------------------------------------------------------------------------

    @property
    def keyspaces(self) -> Mapping[str, Any]:
        """The keyspaces by name, as they were last read. Each value is a `KeyspaceMetadata`.

        Keyspaces are built when they are first accessed. The mapping and its keyspaces show later
        changes of the schema. If a table changes, the mappings of its keyspace get a new object for
        the table.
        """
        return self._keyspaces

    def export_schema_as_string(self) -> str:
        """Return the CQL that creates all keyspaces.

        Objects that CQL cannot create, such as virtual keyspaces and damaged tables, are comments.
        """
        return "\n\n".join(keyspace.export_as_string() for keyspace in self.keyspaces.values())

    def _replace_schema(self, schema: Schema) -> None:
        """Replace the snapshot of the schema (called by the engine)."""
        # The application may hold the object of a keyspace, and this object must show the new
        # schema. So pass it on to the new source of the keyspace.
        previous = self.schema.sources
        for name, source in schema.sources.items():
            old_source = previous.get(name)
            # If a source is in both snapshots, the keyspace has not changed.
            if old_source is not None and old_source is not source:
                old_source.pass_object_on(source)
        self.schema = schema
        self._keyspaces.show(schema.sources)


Metadata.__module__ = "cassandra.metadata"

add_habits(Metadata, METADATA, operations={"__getitem__": "write metadata.keyspaces['name']"})
