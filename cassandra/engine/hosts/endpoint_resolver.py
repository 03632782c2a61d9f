"""Finds the end points of nodes from rows of the system tables."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.engine.endpoint import EndPoint, is_ip_address

if TYPE_CHECKING:
    from cassandra.engine.endpoint import EndPointFactory
    from cassandra.engine.handshake import Connector
    from cassandra.metadata.host import Host


class EndpointResolver:
    """Finds the end points of nodes from rows of the system tables.

    :param factory: creates an end point from a row.
    :param connector: calls a factory, which may block, in another thread.
    :param by_host_id: returns the host with an id, or None if there is no such host.
    """

    __slots__ = ("_connector", "_factory", "_find_host", "_misleading", "_shared")

    def __init__(
        self,
        factory: EndPointFactory,
        connector: Connector,
        by_host_id: Callable[[uuid.UUID], Host | None],
    ) -> None:
        self._factory = factory
        self._connector = connector
        self._find_host = by_host_id
        # The end points of hosts at which another node of the cluster was reached, such as the
        # address of a load balancer that was given as a contact point.
        self._misleading: set[EndPoint] = set()
        # The end points that the factory returns for several nodes, such as one proxy for all.
        self._shared: frozenset[EndPoint] = frozenset()

    async def of_local(
        self, endpoint: EndPoint, row: Mapping[str, Any], ip_address: str | None = None
    ) -> EndPoint:
        """Return the end point of the node that the control connection is connected to.

        Usually this is `endpoint`, to which the connection was opened. In four cases it is the
        node's advertised address: if `endpoint` is a host name with several addresses, if it is a
        host name and the node was reached at its advertised address, if `endpoint` has led to
        several nodes, or if the node is already known by its advertised address.

        :param endpoint: the end point of the control connection.
        :param row: the row of system.local.
        :param ip_address: the IP address at which the node was reached; None if it is unknown.
        """
        if getattr(self._factory, "names_each_node", False) or endpoint in self._misleading:
            return (await self.of_rows([row]))[0]
        host_id = row.get("host_id")
        host = self._find_host(host_id) if host_id is not None else None
        advertised: EndPoint | None = None
        if ip_address is not None and _is_name(endpoint) and not self._connector.may_check_names:
            # The name may lead to another node later, although it leads to a single node now.
            (advertised,) = await self.of_rows([row])
            if (advertised.address, advertised.port) == (ip_address, endpoint.port):
                return advertised
        has_one_address = await _has_one_address(endpoint)
        if has_one_address and (host is None or host.endpoint == endpoint):
            return endpoint
        if advertised is None:
            (advertised,) = await self.of_rows([row])
        # If the node is known neither by `endpoint` nor by its advertised address, use `endpoint`,
        # because the connection was opened to it.
        if has_one_address and host is not None and host.endpoint != advertised:
            return endpoint
        return advertised

    def note_nodes(self, endpoints: Sequence[EndPoint]) -> None:
        """Note which end points several nodes have.

        :param endpoints: the end point of each node.
        """
        counts = Counter(endpoints)
        self._shared = frozenset(endpoint for endpoint in endpoints if counts[endpoint] > 1)

    def may_mislead(self, endpoint: EndPoint, reached_id: uuid.UUID) -> bool:
        """Called if a connection to the end point of a host has reached another node.

        :param reached_id: the host id of the node that was reached.
        :returns: True if that is normal, because several nodes have the end point. Otherwise, if
            this is the end point of a contact point, and the reached node is another one of the
            cluster, the node gets its advertised address when the node list is read next.
        """
        if endpoint in self._shared:
            return True
        # An unknown node may have replaced the host, such as a new container behind the same port.
        # Perhaps its advertised address cannot be reached.
        reached = self._find_host(reached_id)
        if reached is not None and reached.endpoint != endpoint:
            self._misleading.add(endpoint)
        return False

    async def of_rows(self, rows: Sequence[Mapping[str, Any]]) -> list[EndPoint]:
        """Return the end points of rows of the system tables.

        A user's factory or address translator may block, so it is called in another thread.
        """

        def create() -> list[EndPoint]:
            return [self._factory.create(row) for row in rows]

        if not getattr(self._factory, "may_block", True):
            return create()
        return await self._connector.in_thread(create)


def _is_name(endpoint: EndPoint) -> bool:
    """Return True if `endpoint` is a host name, which may lead to any of several nodes."""
    # An end point with its own TLS server name is a single node behind a proxy, so the number of
    # the proxy's addresses does not matter.
    if endpoint.ssl_options or endpoint.leads_to_one_node:
        return False
    # A Unix socket has no port.
    return bool(endpoint.port and not is_ip_address(endpoint.address))


async def _has_one_address(endpoint: EndPoint) -> bool:
    """Return False if `endpoint` is a host name with several addresses."""
    if not _is_name(endpoint):
        return True
    resolved = await asyncio.get_running_loop().getaddrinfo(
        endpoint.address, endpoint.port, family=endpoint.socket_family
    )
    return len({info[4][0] for info in resolved}) == 1
