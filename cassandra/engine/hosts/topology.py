"""Creates the node list from rows of system.local, system.peers_v2 and system.peers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cassandra._logs import Log
from cassandra.engine.endpoint import EndPoint
from cassandra.metadata.host import Host

log = Log("cassandra.cluster")

LOCAL_QUERY = "SELECT * FROM system.local WHERE key = 'local'"
PEERS_V2_QUERY = "SELECT * FROM system.peers_v2"
PEERS_QUERY = "SELECT * FROM system.peers"

Row = Mapping[str, Any]

# For each attribute of a `Host`: the columns that may contain its value. The first column that is
# not null is used.
_COLUMNS_OF_ATTRIBUTE = {
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
    """Return True if a peer's row has all columns that we need.

    The rows of nodes that are joining or have left may be incomplete.
    """
    missing = [
        column for column in ("host_id", "data_center", "rack", "tokens") if not row.get(column)
    ]
    # `advertised_address` takes `peer` if the others are null.
    address = row.get("native_address") or row.get("rpc_address") or row.get("peer")
    if not missing and address:
        return True
    # Log why the row is ignored, because the node is then missing in the cluster's hosts.
    log.debug(
        "a row of the peers table is incomplete and ignored: %s lacks %s",
        row.get("peer"),
        missing or "address",
    )
    return False


def update_host(host: Host, row: Row) -> bool:
    """Copy the columns of a row to the attributes of `host`.

    :returns: True if the host's data centre or rack has changed.
    """
    host.host_id = row.get("host_id")
    previous_location = host.datacenter, host.rack
    host.set_location_info(row.get("data_center"), row.get("rack"))
    tokens = tuple(row.get("tokens") or ())
    # If the tokens are the same, keep the old tuple: the token ring compares tuples by identity,
    # and would otherwise be computed again.
    if tokens != host.tokens:
        host.tokens = tokens
    for attribute, columns in _COLUMNS_OF_ATTRIBUTE.items():
        value = next((row[column] for column in columns if row.get(column) is not None), None)
        if value is not None:
            setattr(host, attribute, value)
    return previous_location != (host.datacenter, host.rack)


class NodeList:
    """The hosts that the system tables name, and how they differ from the previous reading.

    A node keeps its `Host` object as long as its id and its address stay the same.

    :param rows: pairs (end point, row of the system tables); first the pair of the queried node,
        then the pairs of its peers.
    :param previous: the hosts after the previous reading.
    :param make_host: creates a `Host` for an end point.
    :param has_local: False leaves the queried node out of the hosts, because it has no data. It is
        `local` nevertheless.
    """

    __slots__ = (
        "added", "hosts", "is_strange", "local", "relocated", "removed", "several_addresses",
    )  # fmt: skip

    def __init__(
        self,
        rows: Iterable[tuple[EndPoint, Row]],
        previous: Sequence[Host],
        make_host: Callable[[EndPoint], Host],
        has_local: bool = True,
    ) -> None:
        by_id = {host.host_id: host for host in previous if host.host_id is not None}
        by_endpoint = {host.endpoint: host for host in previous}
        self.hosts: list[Host] = []
        self.added: list[Host] = []
        self.relocated: list[Host] = []  # previous hosts with a new data centre or rack
        rows = list(rows)
        endpoint_by_id = _endpoints_by_id(rows, by_endpoint)
        seen_endpoints: set[EndPoint] = set()
        doubtful_ids: set[Any] = set()  # of the nodes that have rows with different addresses
        for endpoint, row in rows:
            host_id = row.get("host_id")
            if endpoint in seen_endpoints or endpoint_by_id[host_id] != endpoint:
                log.warning(
                    "two rows of the system tables describe %s (host_id %s): one is ignored",
                    endpoint,
                    host_id,
                )
                if endpoint_by_id[host_id] != endpoint:
                    doubtful_ids.add(host_id)
                continue
            seen_endpoints.add(endpoint)
            host_with_id = by_id.get(host_id) if host_id is not None else None
            host = host_with_id or by_endpoint.get(endpoint)
            # Create a new `Host` if the node has a new address, or if another node has this address
            # now. In both cases, pools must connect again.
            is_other_node = (
                host is not None and None not in (host_id, host.host_id) and host.host_id != host_id
            )
            if host is None or host.endpoint != endpoint or is_other_node:
                host = make_host(endpoint)
                self.added.append(host)
                update_host(host, row)
            elif update_host(host, row):
                self.relocated.append(host)
            self.hosts.append(host)
        self.local = self.hosts[0]
        # True if the queried node was not in the previous reading. Its list may name known nodes
        # although it was removed from the cluster. A node without data is in no reading.
        queried_endpoint, queried_row = rows[0]
        self.is_strange = (
            bool(previous)
            and has_local
            and queried_endpoint not in by_endpoint
            and queried_row.get("host_id") not in by_id
        )
        # The hosts of nodes whose address was chosen from several, and may be the wrong one.
        self.several_addresses = [
            host for host in self.hosts if host is not self.local and host.host_id in doubtful_ids
        ]
        if not has_local:
            for hosts in (self.hosts, self.added, self.relocated):
                if hosts and hosts[0] is self.local:
                    del hosts[0]
        # Compare by identity: a removed host may be equal to the new host at the same address.
        current_ids = set(map(id, self.hosts))
        self.removed = [host for host in previous if id(host) not in current_ids]

    def keep(self, host: Host) -> None:
        """Put one of the removed hosts back into the list."""
        self.removed = [other for other in self.removed if other is not host]
        self.hosts.append(host)


def _endpoints_by_id(
    rows: Sequence[tuple[EndPoint, Row]], previous: Mapping[EndPoint, Host]
) -> dict[Any, EndPoint]:
    """Return the end point of each host id.

    Servers sometimes keep the row of a node's old address beside the row of its new address. Then
    several rows have the same host id. If one of them is the first row, which is the queried
    node's, use its end point. Otherwise prefer the end point of a host that is not down, then an
    end point that we have not tried, and last the end point of a host that is down.

    :param rows: as for `NodeList`.
    :param previous: the hosts after the previous reading.
    """

    def rank(endpoint: EndPoint) -> int:
        host = previous.get(endpoint)
        if endpoint == rows[0][0]:
            return 0
        if host is None:
            return 2
        return 3 if host.is_up is False else 1

    endpoints: dict[Any, EndPoint] = {}
    for endpoint, row in rows:
        earlier = endpoints.setdefault(row.get("host_id"), endpoint)
        if rank(endpoint) < rank(earlier):
            endpoints[row.get("host_id")] = endpoint
    return endpoints
