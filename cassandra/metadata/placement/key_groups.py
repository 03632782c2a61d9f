"""Keys grouped by the host to ask for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cassandra.cqltypes.parse import lookup_cqltype
from cassandra.protocol.bind import composite_key

__all__ = ["NO_VALID_REPLICA", "group_keys_by_replica"]

NO_VALID_REPLICA = object()
"""The group of keys for which no replica is up and at a local distance."""


def group_keys_by_replica(
    session: Any, keyspace: str, table: str, keys: Iterable[Sequence[Any]]
) -> dict[Any, list[Sequence[Any]]]:
    """`keys` grouped by a host that holds them, for statements with ``IN`` or batches that one host
    can answer alone.

    keys: for each the values of the partition key's columns, in their order. The host is the first
    replica that is up and at a local distance, so that keys with the same replicas come together;
    keys without one are under `NO_VALID_REPLICA`. Raises KeyError for a keyspace or table that is
    not known, and what serializing a value raises.
    """
    cluster = session.cluster
    columns = cluster.metadata.keyspaces[keyspace].tables[table].partition_key
    types = [lookup_cqltype(column.cql_type) for column in columns]
    grouped: dict[Any, list[Sequence[Any]]] = {}
    for key in keys:
        if len(key) != len(types):
            raise ValueError(
                f"the partition key of {keyspace}.{table} has {len(types)} columns, "
                f"but a key is {key!r}"
            )
        parts = [
            kind.serialize(value, cluster.protocol_version or 4)
            for kind, value in zip(types, key, strict=True)
        ]
        replicas = cluster.metadata.get_replicas(keyspace, composite_key(parts))
        valid = (
            host
            for host in replicas
            if host.is_up and cluster.profile_manager.distance(host) in _LOCAL
        )
        grouped.setdefault(next(valid, NO_VALID_REPLICA), []).append(key)
    return grouped


_LOCAL = (0, 1)  # cassandra.policies.HostDistance, which is of a higher layer: LOCAL_RACK and LOCAL

group_keys_by_replica.__module__ = "cassandra.metadata"
