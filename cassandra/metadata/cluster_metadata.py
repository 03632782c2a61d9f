"""What the driver knows of a cluster: its nodes, as an immutable snapshot that is swapped whole."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from cassandra.metadata.host import Host
from cassandra.metadata.replication import ReplicationStrategy
from cassandra.metadata.schema import NO_SCHEMA, Schema

__all__ = ["Metadata"]


class Metadata:
    """The cluster's name, partitioner and hosts. Readable from any thread; the engine alone replaces the snapshot."""

    def __init__(self) -> None:
        self.cluster_name: str | None = None
        self.partitioner: str | None = None
        self._hosts: MappingProxyType[Any, Host] = MappingProxyType({})
        self.schema: Schema = NO_SCHEMA
        self.replication: Mapping[str, ReplicationStrategy] = MappingProxyType({})
        self.replication_version = 0

    def all_hosts(self) -> list[Host]:
        """All known hosts."""
        return list(self._hosts.values())

    def get_host(self, endpoint_or_address: Any, port: int | None = None) -> Host | None:
        """The host at an end point, or at an address (and port, where given); None where it is not known."""
        host = self._hosts.get(endpoint_or_address)
        if host is not None or not isinstance(endpoint_or_address, str):
            return host
        for host in self._hosts.values():
            addresses = (host.address, host.broadcast_rpc_address)
            if endpoint_or_address in addresses and port in (None, host.endpoint.port):
                return host
        return None

    def get_host_by_host_id(self, host_id: uuid.UUID) -> Host | None:
        """The host with this id; None where it is not known."""
        for host in self._hosts.values():
            if host.host_id == host_id:
                return host
        return None

    def get_replicas(self, keyspace: str, key: bytes) -> list[Host]:
        """The hosts that hold the partition `key` (a serialized partition key) of `keyspace`; empty where that is not known."""
        return []

    def replace_hosts(self, hosts: list[Host]) -> None:
        """Take a new snapshot (the engine calls it)."""
        self._hosts = MappingProxyType({host.endpoint: host for host in hosts})

    # -- schema --------------------------------------------------------------------------------------------------------

    @property
    def keyspaces(self) -> Mapping[str, Any]:
        """The keyspaces by name (`KeyspaceMetadata` each) as they were last read; they are made when they are looked at.

        A snapshot: what is taken out of it does not change with the schema.
        """
        return self.schema.keyspaces

    def export_schema_as_string(self) -> str:
        """The CQL that makes all keyspaces; what cannot be made is in comments."""
        return "\n\n".join(keyspace.export_as_string() for keyspace in self.keyspaces.values())

    def replace_schema(self, schema: Schema) -> None:
        """Take a new snapshot (the engine calls it)."""
        self.schema = schema

    def replication_of(self, keyspace: str) -> ReplicationStrategy | None:
        """The replication of a keyspace, known also where the schema is not read; None where there is none."""
        return self.replication.get(keyspace)

    def replace_replication(self, replication: Mapping[str, ReplicationStrategy]) -> None:
        """Take the replication of all keyspaces (the engine calls it); `replication_version` counts how often it has changed."""
        if dict(replication) != dict(self.replication):
            self.replication = MappingProxyType(dict(replication))
            self.replication_version += 1


Metadata.__module__ = "cassandra.metadata"
