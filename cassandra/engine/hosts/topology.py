"""Reading the node list out of system.local, system.peers_v2 and system.peers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cassandra.engine.endpoint import EndPoint
from cassandra.metadata.host import Host

log = logging.getLogger("cassandra.cluster")

LOCAL_QUERY = "SELECT * FROM system.local WHERE key = 'local'"
PEERS_V2_QUERY = "SELECT * FROM system.peers_v2"
PEERS_QUERY = "SELECT * FROM system.peers"

Row = Mapping[str, Any]

# Host attribute: the columns that may hold it, the first one that is set counts.
_COLUMNS = {
    "release_version": ("release_version",),
    "schema_version": ("schema_version",),
    "broadcast_address": ("broadcast_address", "peer"),
    "broadcast_port": ("broadcast_port", "peer_port"),
    "broadcast_rpc_address": ("native_address", "rpc_address"),
    "broadcast_rpc_port": ("native_port", "rpc_port"),
    "listen_address": ("listen_address",),
    "listen_port": ("listen_port",),
    "dse_version": ("dse_version",),
    "dse_workload": ("workload",),
}


def is_complete(row: Row) -> bool:
    """Return True if a peer's row is enough to use it.

    A node that is joining, or has left, leaves half a row behind.
    """
    missing = [
        column for column in ("host_id", "data_center", "rack", "tokens") if not row.get(column)
    ]
    address = row.get("native_address") or row.get("rpc_address")
    if not missing and address:
        return True
    log.debug(
        "a row of the peers table is incomplete and ignored: %s lacks %s",
        row.get("peer"),
        missing or "address",
    )
    return False


def update_host(host: Host, row: Row) -> bool:
    """Write a row's columns into its host; whether it is in another data centre or rack than
    before.
    """
    host.host_id = row.get("host_id")
    before = host.datacenter, host.rack
    host.set_location_info(row.get("data_center"), row.get("rack"))
    tokens = tuple(row.get("tokens") or ())
    if tokens != host.tokens:  # the ring knows by the tuple itself that nothing has changed
        host.tokens = tokens
    for attribute, columns in _COLUMNS.items():
        value = next((row[column] for column in columns if row.get(column) is not None), None)
        if value is not None:
            setattr(host, attribute, value)
    return before != (host.datacenter, host.rack)


class NodeList:
    """The hosts of one reading, matched with those known before: a node keeps its `Host` for as
    long as it keeps id and address.

    rows: that of the node that was asked, then those of its peers, each with its end point. known:
    the hosts up to now.
    """

    __slots__ = ("added", "hosts", "local", "relocated", "removed")

    def __init__(
        self,
        rows: Iterable[tuple[EndPoint, Row]],
        known: Sequence[Host],
        make_host: Callable[[EndPoint], Host],
    ) -> None:
        by_id = {host.host_id: host for host in known if host.host_id is not None}
        by_endpoint = {host.endpoint: host for host in known}
        self.hosts: list[Host] = []
        self.added: list[Host] = []
        self.relocated: list[Host] = []  # known ones that are in another data centre or rack now
        seen: set[Any] = set()
        for endpoint, row in rows:
            host_id = row.get("host_id")
            if host_id in seen or endpoint in seen:
                log.warning(
                    "two rows of the system tables describe %s (host_id %s): one is ignored",
                    endpoint,
                    host_id,
                )
                continue
            seen.update((host_id, endpoint))
            host = (by_id.get(host_id) if host_id is not None else None) or by_endpoint.get(
                endpoint
            )
            # A node that has another address now is another host to its pools; so is another node
            # under the same address.
            replaced = (
                host is not None and None not in (host_id, host.host_id) and host.host_id != host_id
            )
            if host is None or host.endpoint != endpoint or replaced:
                host = make_host(endpoint)
                self.added.append(host)
                update_host(host, row)
            elif update_host(host, row):
                self.relocated.append(host)
            self.hosts.append(host)
        self.local = self.hosts[0]
        kept = set(map(id, self.hosts))
        self.removed = [host for host in known if id(host) not in kept]
