"""`group_keys_by_replica`: groups partition keys by a host that holds their partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from cassandra.cqltypes.parse import lookup_cqltype
from cassandra.protocol.bind import composite_key

if TYPE_CHECKING:
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host

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
    :raises KeyError: if the keyspace or the table is not known.
    :raises ValueError: if a key has the wrong number of values, or a value is out of range.
    :raises TypeError: if a value does not fit its column's type.
    """
    cluster = session.cluster
    columns = cluster.metadata.keyspaces[keyspace].tables[table].partition_key
    types = [lookup_cqltype(column.cql_type) for column in columns]
    grouped: dict[Any, list[Sequence[Any]]] = {}
    for key in keys:
        # Check the length here: the error of `zip` would name neither the table nor the key.
        if len(key) != len(types):
            raise ValueError(
                f"the partition key of {keyspace}.{table} has {len(types)} columns, "
                f"but a key is {key!r}"
            )
        # The protocol version makes no difference to the bytes. It is None before the cluster has
        # connected: then pass 4.
        parts = [
            cql_type.serialize(value, cluster.protocol_version or 4)
            for cql_type, value in zip(types, key, strict=True)
        ]
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


# The values of HostDistance.LOCAL_RACK and LOCAL. This package must not import
# `cassandra.policies`, which defines them.
_LOCAL = (0, 1)

group_keys_by_replica.__module__ = "cassandra.metadata"
