"""Remembers why a node list may be wrong or out of date, and when to read it again.

A node's system tables follow the gossip between the nodes. The row of a new node may come seconds
after the event about it, and the row of a removed node may stay longer. A node that has just
started may know no other node at all. No further event comes when the tables are right again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra.engine.endpoint import DefaultEndPoint, EndPoint, is_ip_address

if TYPE_CHECKING:
    import uuid

    from cassandra.engine.hosts.topology import NodeList
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host

# The seconds from one reading to the next, while there are doubts.
DELAYS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 60.0)

# The number of removed nodes whose ids are remembered at most.
MOST_REMOVED = 1000

# A host to which we are connected is kept until this many readings in a row have lacked its row.
MOST_LACKS = 3


class NodeDoubts:
    """The doubts about the current node list.

    After the last of DELAYS, the tables are believed. Only a node with rows of several addresses
    stays in doubt until one of them has answered, unless nobody tries them. A host that is kept
    without a row stays in doubt until its row comes, or MOST_LACKS readings have lacked it.

    :param metadata: has the current hosts.
    :param is_connected: returns True if a session has connections to a host.
    :param is_ignored: returns True if no session wants connections to a host.
    """

    __slots__ = (
        "_expected", "_identities", "_is_connected", "_is_ignored", "_lacks", "_leaving",
        "_metadata", "_readings", "_removed_ids", "_several", "_vanished",
    )  # fmt: skip

    def __init__(
        self,
        metadata: Metadata,
        is_connected: Callable[[Host], bool],
        is_ignored: Callable[[Host], bool],
    ) -> None:
        self._metadata = metadata
        self._is_connected = is_connected
        self._is_ignored = is_ignored
        # The addresses (IP address, port) that events or the application have named: of nodes that
        # should be in the list, and of nodes that should not.
        self._expected: set[tuple[str, int]] = set()
        self._leaving: set[tuple[str, int]] = set()
        # The ids of nodes that left the hosts after an event that they were removed; used as an
        # ordered set.
        self._removed_ids: dict[uuid.UUID, None] = {}
        # The ids that nodes said they have, by end point.
        self._identities: dict[EndPoint, uuid.UUID] = {}
        # Hosts whose rows have vanished without an event, and how many readings in a row have
        # lacked the rows of those to which we are connected.
        self._vanished: list[Host] = []
        self._lacks: dict[int, int] = {}  # by the id() of the host
        self._several: list[Host] = []  # hosts with rows of several addresses
        self._readings = 0  # the number of readings since the last new doubt

    def note_event(self, event: Mapping[str, Any]) -> None:
        """Remember what a TOPOLOGY_CHANGE or STATUS_CHANGE event says of its node."""
        address = str(event["address"][0]), event["address"][1]
        if event["change_type"] == "REMOVED_NODE":
            self._expected.discard(address)
            self._leaving.add(address)
        elif event["change_type"] != "DOWN":
            self._leaving.discard(address)
            self._expected.add(address)
        self._readings = 0

    def note_contact_points(self, endpoints: Iterable[EndPoint]) -> None:
        """Remember the contact points, of which the first list may lack some.

        The node that has told the list may have started a moment ago. Contact points that are names
        or belong to proxies are in no list.
        """
        for endpoint in endpoints:
            if type(endpoint) is DefaultEndPoint and is_ip_address(str(endpoint.address)):
                self._expected.add((str(endpoint.address), endpoint.port))
        self._readings = 0

    def note_identity(self, endpoint: EndPoint, host_id: uuid.UUID) -> None:
        """Remember that the node at an end point has said which id it has."""
        self._identities[endpoint] = host_id
        self._readings = 0

    def take(self, node_list: NodeList) -> None:
        """Compare a new node list with the hosts so far, before it replaces them.

        Hosts to which we are connected are put back into the list if only their row is missing.
        """
        # Some managed services name other peers in each reading. So the last reading of DELAYS
        # causes no new doubt, or such a list would be read for ever.
        is_last = self._readings >= len(DELAYS)
        if not self.are_left():
            self._readings = 0
        ids = {host.host_id for host in node_list.hosts}
        endpoints = {host.endpoint for host in node_list.hosts}
        lacks, self._lacks = self._lacks, {}
        for host in list(node_list.removed):
            # The host has another address, or an event has told that it leaves.
            if host.host_id in ids:
                continue
            if self.is_leaving(host):
                if host.host_id is not None:
                    self._removed_ids[host.host_id] = None
                continue
            count = lacks.get(id(host), 0) + 1
            if count == 1 and not is_last:
                self._vanished.append(host)
            # Another node may have the host's address now. The host is then gone, or has an
            # address that is not in the list yet.
            is_replaced = host.endpoint in endpoints
            if count < MOST_LACKS and not is_replaced and self._is_connected(host):
                node_list.keep(host)
                self._lacks[id(host)] = count
        self._several = list(node_list.several_addresses)
        for host_id in ids:
            if host_id is not None:
                self._removed_ids.pop(host_id, None)
        while len(self._removed_ids) > MOST_REMOVED:
            del self._removed_ids[next(iter(self._removed_ids))]

    def is_removed(self, host: Host) -> bool:
        """Return True if an event has told that a node was removed, and no list had it since."""
        return host.host_id in self._removed_ids

    def next_delay(self) -> float | None:
        """Return the seconds after which the list must be read again; None without doubts."""
        if not self.are_left():
            return None
        delay = DELAYS[min(self._readings, len(DELAYS) - 1)]
        self._readings += 1
        return delay

    def are_left(self) -> bool:
        """Return True if the current hosts have not resolved all doubts."""
        self._drop_resolved()
        return bool(
            self._expected or self._leaving or self._identities or self._vanished or self._several
            or self._lacks
        )  # fmt: skip

    def _drop_resolved(self) -> None:
        """Drop the doubts that the current hosts have resolved, and all at the end of DELAYS."""
        # If nobody tries to reach a host, further readings would not tell more.
        self._several = [
            host for host in self._several if not host.is_up and not self._is_ignored(host)
        ]
        if self._readings >= len(DELAYS):
            self._expected.clear()
            self._leaving.clear()
            self._identities.clear()
            self._vanished.clear()
            return
        get_host = self._metadata.get_host
        # The port in an event may differ from the port that we connect to.
        self._expected = {
            (address, port)
            for address, port in self._expected
            if get_host(address, port) is None and get_host(address) is None
        }
        self._leaving = {address for address in self._leaving if get_host(*address) is not None}
        hosts = {endpoint: get_host(endpoint) for endpoint in self._identities}
        self._identities = {
            endpoint: host_id
            for endpoint, host_id in self._identities.items()
            if (host := hosts[endpoint]) is not None and host.host_id != host_id
        }
        ids = {host.host_id for host in self._metadata.all_hosts() if id(host) not in self._lacks}
        self._vanished = [host for host in self._vanished if host.host_id not in ids]

    def is_leaving(self, host: Host) -> bool:
        """Return True if an event has told that the host is removed, and it is still known."""
        ports = {host.endpoint.port, host.broadcast_rpc_port}
        addresses = {host.endpoint.address, host.broadcast_rpc_address}
        return any((str(address), port) in self._leaving for address in addresses for port in ports)
