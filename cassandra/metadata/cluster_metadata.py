"""What the driver knows of a cluster: its nodes, as an immutable snapshot that is swapped whole."""

from __future__ import annotations

import uuid
from types import MappingProxyType
from typing import Any

from cassandra.metadata.host import Host

__all__ = ["Metadata"]


class Metadata:
    """The cluster's name, partitioner and hosts. Readable from any thread; the engine alone replaces the snapshot."""

    def __init__(self) -> None:
        self.cluster_name: str | None = None
        self.partitioner: str | None = None
        self._hosts: MappingProxyType[Any, Host] = MappingProxyType({})

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


Metadata.__module__ = "cassandra.metadata"
