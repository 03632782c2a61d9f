"""The driver's knowledge of a cluster: its nodes, as a snapshot that is replaced as a whole."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cassandra._habits import METADATA, add_habits
from cassandra.metadata.host import Host
from cassandra.metadata.placement.replication import ReplicationStrategy
from cassandra.metadata.placement.routing import RingMembers, Routing, TokenMap
from cassandra.metadata.placement.tokens import token_class_of
from cassandra.metadata.schema.snapshot import NO_SCHEMA, LazyMapping, Schema, object_of

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.engine.endpoint import EndPoint
    from cassandra.metadata.placement import tablets
    from cassandra.metadata.placement.tablets import TabletMap
else:
    from cassandra._impl import bases, tablets

__all__ = ["Metadata"]


TableReplicas = Callable[[str, str, bytes], Sequence[Host] | None]


class Metadata(bases.MetadataBase):
    """The cluster's name, partitioner, hosts and schema.

    Any thread may read it. Only the engine replaces the snapshots.
    """

    # A slot for the version, because each query plan reads it.
    __slots__ = ("__dict__", "__weakref__")

    token_metadata_enabled: bool = True
    """True if tokens are used. Without them there is no token map, and replicas are not known."""

    def __init__(self) -> None:
        self.cluster_name: str | None = None
        self.partitioner: str | None = None
        self.dbaas = False
        self.replication_version = 0
        self.placement_version = 0  # counts all changes of the placement of partitions
        self._hosts: MappingProxyType[Any, Host] = MappingProxyType({})
        self._replication: Mapping[str, ReplicationStrategy | None] = MappingProxyType({})
        # Of the hosts that own tokens; replaced when one of them changes.
        self.members: RingMembers | None = None
        self._table_replicas: TableReplicas | None = None
        # What ScyllaDB's nodes have told of tablets.
        self.tablets: TabletMap = tablets.TabletMap()
        self._routing: Routing | None = None
        self._token_map: tuple[RingMembers, TokenMap] | None = None
        self.schema: Schema = NO_SCHEMA
        self._keyspaces: LazyMapping[Any] = LazyMapping({}, object_of)

    def __repr__(self) -> str:
        names = sorted(self.keyspaces)
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        hosts = len(self.all_hosts())
        return (
            f"<Metadata: cluster {self.cluster_name!r}, {hosts} host{'s' * (hosts != 1)}, "
            f"{len(names)} keyspaces{': ' * bool(names)}{shown}>"
        )

    def _repr_html_(self) -> str:
        """Return the tables of hosts and keyspaces that notebooks show."""
        # Imported here: only notebooks ask for it.
        from cassandra.metadata.pictures import metadata_as_html

        return metadata_as_html(self)

    def all_hosts(self) -> list[Host]:
        """Return all known hosts."""
        return list(self._hosts.values())

    def get_host(self, endpoint_or_address: EndPoint | str, port: int | None = None) -> Host | None:
        """Return the host at an end point or an address, or None if it is not known.

        :param endpoint_or_address: an end point, or an address as text.
        :param port: the port of an address. None accepts any.
        """
        host = self._hosts.get(endpoint_or_address)
        if host is not None or not isinstance(endpoint_or_address, str):
            return host
        # A search is enough: programs look hosts up by address rarely, and an index would have to
        # be made for each snapshot.
        for host in self._hosts.values():
            if endpoint_or_address == host.address and port in (None, host.endpoint.port):
                return host
        # The address that nodes report of each other: the client may connect to a translated
        # address, or another port.
        for host in self._hosts.values():
            told_port = host.broadcast_rpc_port or host.endpoint.port
            if endpoint_or_address == host.broadcast_rpc_address and port in (None, told_port):
                return host
        return None

    def get_host_by_host_id(self, host_id: uuid.UUID) -> Host | None:
        """Return the host with this id, or None if it is not known.

        :param host_id: the id, a `uuid.UUID`.
        """
        for host in self._hosts.values():
            if host.host_id == host_id:
                return host
        return None

    def add_or_return_host(self, host: Host) -> tuple[Host, bool]:
        """Add `host`, unless a host at its end point is known.

        :param host: the `Host`.
        :returns: the known or the added host, and True if it was added.
        """
        known = self._hosts.get(host.endpoint)
        if known is not None:
            return known, False
        self._replace_hosts([*self._hosts.values(), host])
        return host, True

    def _replace_hosts(self, hosts: list[Host]) -> None:
        """Take a new snapshot (the engine calls it).

        :param hosts: all that are known.
        """
        self._hosts = MappingProxyType({host.endpoint: host for host in hosts})
        self.tablets.take_hosts(hosts)
        token_class = token_class_of(self.partitioner) if self.token_metadata_enabled else None
        members = RingMembers(hosts, token_class) if token_class is not None else None
        known = self.members
        # A refresh mostly finds the same nodes. The placement, and all that was computed from it,
        # stays valid then.
        if members is not known and (members is None or not members.is_like(known)):
            self.members = members
            self.placement_version += 1

    def _forget_placement(self) -> None:
        """Compute the placement of partitions anew with the next snapshot (the engine calls it)."""
        self.members = None

    # -- replicas ----------------------------------------------------------------------------------

    def replication_of(self, keyspace: str) -> ReplicationStrategy | None:
        """Return the replication of a keyspace, or None if it is not known.

        It is known even if the schema is not read.

        :param keyspace: the name of the keyspace.
        """
        return self._replication.get(keyspace)

    @property
    def replication(self) -> Mapping[str, ReplicationStrategy | None]:
        """The replication of all keyspaces, by name; a snapshot."""
        return self._replication

    def _replace_replication(self, replication: Mapping[str, ReplicationStrategy | None]) -> None:
        """Take the replication of all keyspaces (the engine calls it).

        `replication_version` counts the changes.

        :param replication: the replication by keyspace.
        """
        # Each reading of the schema brings the replication. Only a change may invalidate the
        # placement.
        if replication != self._replication:
            self._replication = MappingProxyType(dict(replication))
            self.replication_version += 1
            self.placement_version += 1

    def _replace_tablet_keyspaces(self, names: Iterable[str], leaders: Iterable[str]) -> None:
        """Take the names of the keyspaces with tablets (the engine calls it).

        :param names: the names of the keyspaces.
        :param leaders: those in which the first replica of a tablet is its leader.
        """
        if self.tablets.use_keyspaces(names, leaders):
            self.placement_version += 1

    @property
    def table_replicas(self) -> TableReplicas | None:
        """A function from keyspace, table and serialized key to replicas, or None.

        The function serves tables that the ring does not place. It returns None for all others.
        """
        return self._table_replicas

    @table_replicas.setter
    def table_replicas(self, table_replicas: TableReplicas | None) -> None:
        self._table_replicas = table_replicas
        self.placement_version += 1

    def routing(self) -> Routing | None:
        """Return the current placement of partitions.

        None if tokens are not used, or the partitioner is not known.
        """
        # The version is read first, and changes last. So a routing made during a change belongs to
        # the old version, and is made again.
        version, members, known = self.placement_version, self.members, self._routing
        if known is not None and known.placement_version == version:
            return known
        if members is None:
            return None
        self._routing = made = Routing(members, self.replication_of, version, known)
        return made

    def get_replicas(self, keyspace: str, key: bytes) -> list[Host]:
        """Return the hosts that hold the partition `key` of `keyspace`, the primary replica first.

        Transient replicas are left out. The list is empty if the replicas are not known.

        :param keyspace: the name of the keyspace.
        :param key: the serialized partition key.
        """
        routing = self.routing()
        replica_map = routing.map_of(keyspace) if routing is not None else None
        return list(replica_map.of_key(key)) if replica_map is not None else []

    @property
    def token_map(self) -> TokenMap | None:
        """The tokens of all hosts; None if the partitioner is not known.

        It is empty if tokens are not read (`Cluster.token_metadata_enabled`).
        """
        members, known = self.members, self._token_map
        if members is None:
            kind = token_class_of(self.partitioner)
            return TokenMap(kind, {}, [], self) if kind is not None else None
        if known is None or known[0] is not members:
            known = self._token_map = (members, TokenMap.of_members(members, self))
        return known[1]

    def can_support_partitioner(self) -> bool:
        """Return True if tokens of the cluster's partitioner can be computed."""
        return token_class_of(self.partitioner) is not None

    def rebuild_token_map(self, partitioner: str, token_map: Mapping[Host, Iterable[str]]) -> None:
        """Take the tokens of each host as texts, and the partitioner that they belong to.

        :param partitioner: its class name, as the server says it.
        :param token_map: for each `Host` the texts of its tokens.
        """
        self.partitioner = partitioner
        for host, tokens in token_map.items():
            host.tokens = tuple(tokens)
        self._replace_hosts(
            list({**self._hosts, **{host.endpoint: host for host in token_map}}.values())
        )

    # -- schema ------------------------------------------------------------------------------------

    @property
    def keyspaces(self) -> Mapping[str, Any]:
        """The keyspaces by name, a `KeyspaceMetadata` each, as they were last read.

        They are made at the first access. The mapping and the keyspaces in it are live: they show
        later changes of the schema. A table that is changed becomes another object, in the mappings
        of its keyspace.
        """
        return self._keyspaces

    def export_schema_as_string(self) -> str:
        """Return the CQL that creates all keyspaces; the rest is in comments."""
        return "\n\n".join(keyspace.export_as_string() for keyspace in self.keyspaces.values())

    def _replace_schema(self, schema: Schema) -> None:
        """Take a new snapshot (the engine calls it).

        :param schema: the schema as it was read.
        """
        known = self.schema.sources
        for name, source in schema.sources.items():
            before = known.get(name)
            if before is not None and before is not source:
                before.hand_on(source)
        self.schema = schema
        self._keyspaces.show(schema.sources)


Metadata.__module__ = "cassandra.metadata"

add_habits(Metadata, METADATA)
