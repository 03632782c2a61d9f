"""`group_keys_by_replica`: groups partition keys by a host that holds their partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from cassandra.cqltypes.base import codec_in_order
from cassandra.cqltypes.parse import lookup_parameterized_cqltype
from cassandra.cqltypes.udt import UserType
from cassandra.protocol.bind import composite_key
from cassandra.util.cql_text import unquoted

if TYPE_CHECKING:
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host
    from cassandra.metadata.schema.keyspaces import KeyspaceMetadata
    from cassandra.protocol.column_specs import CqlType

NO_VALID_REPLICA = object()
"""The group of keys for which no replica is up and at a local distance (see `HostDistance`)."""


class Profiles(Protocol):
    """The execution profiles of a cluster: `cassandra.engine.profile.ProfileManager`."""

    def distance(self, host: Host) -> int:
        """Return the distance of `host`, a value of `HostDistance`."""


class KeyCluster(Protocol):
    """The attributes of a cluster that `group_keys_by_replica` uses."""

    @property
    def metadata(self) -> Metadata:
        """The hosts, the token ring and the schema."""

    @property
    def protocol_version(self) -> int | None:
        """The protocol version; None before it is known."""

    @property
    def profile_manager(self) -> Profiles:
        """The execution profiles, whose policies know the distance of each host."""


class KeySession(Protocol):
    """The attributes of a session that `group_keys_by_replica` uses."""

    @property
    def cluster(self) -> KeyCluster:
        """The cluster of the session."""


def group_keys_by_replica(
    session: KeySession, keyspace: str, table: str, keys: Iterable[Sequence[Any]]
) -> dict[Any, list[Sequence[Any]]]:
    """Group `keys` by a host that holds their partitions.

    Use this to build a statement with ``IN``, or a batch, from keys that one host holds. The host
    of a key is its first replica that is up and at a local distance. So keys with the same replicas
    are in one group. Keys without such a replica are under `NO_VALID_REPLICA`, and so are keys
    whose tablet the driver does not know yet.

    :param session: a connected session.
    :param keyspace: the name of the keyspace.
    :param table: the name of the table.
    :param keys: for each key, the values of the partition key's columns, in order.
    :raises KeyError: if the keyspace or the table is not known, or a user-defined type of a column.
    :raises ValueError: if a key has the wrong number of values, or a value is out of range.
    :raises TypeError: if a value does not fit its column's type.
    """
    cluster = session.cluster
    schema = cluster.metadata.keyspaces[keyspace]
    columns = schema.tables[table].partition_key
    # The protocol version makes no difference to the bytes. It is None before the cluster has
    # connected: then pass 4.
    version = cluster.protocol_version or 4
    codecs = []
    for column in columns:
        cql_type = _type_named(column.cql_type, schema)
        # The server computes the token from sets and maps in its own order.
        codecs.append(codec_in_order(cql_type.codec(version), cql_type))
    grouped: dict[Any, list[Sequence[Any]]] = {}
    for key in keys:
        # Check the length here: the error of `zip` would name neither the table nor the key.
        if len(key) != len(codecs):
            raise ValueError(
                f"the partition key of {keyspace}.{table} has {len(codecs)} columns, "
                f"but a key is {key!r}"
            )
        parts = [codec.encode(value) for codec, value in zip(codecs, key, strict=True)]
        serialized = composite_key(parts)
        assert serialized is not None  # a partition key has at least one column
        replicas = cluster.metadata.get_replicas(keyspace, serialized, table=table)
        # Use a generator, so that hosts are only checked until a host fits.
        valid = (
            host
            for host in replicas
            if host.is_up and cluster.profile_manager.distance(host) in _LOCAL
        )
        grouped.setdefault(next(valid, NO_VALID_REPLICA), []).append(key)
    return grouped


def _type_named(cql_type: str, schema: KeyspaceMetadata) -> CqlType:
    """Return the `cassandra.cqltypes` class of a type.

    :param cql_type: the type as CQL.
    :param schema: the keyspace, with the user-defined types.
    :raises KeyError: if a user-defined type is not known.
    """

    def user_type(name: str) -> CqlType:
        described = schema.user_types[unquoted(name)]
        return UserType.make_udt_class(
            described.keyspace,
            described.name,
            described.field_names,
            [_type_named(field_type, schema) for field_type in described.field_types],
        )

    return lookup_parameterized_cqltype(cql_type, user_type)


# The values of HostDistance.LOCAL_RACK and LOCAL. This package must not import
# `cassandra.policies`, which defines them.
_LOCAL = (0, 1)

group_keys_by_replica.__module__ = "cassandra.metadata"
