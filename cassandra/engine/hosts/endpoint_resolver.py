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

        Usually this is `endpoint`, to which the connection was opened. In the following cases it is
        the end point that the factory creates from `row`, with the node's advertised address:

        * the factory has `names_each_node`, because each contact point may lead to any node;
        * `endpoint` has led to another node before;
        * `endpoint` is a host name with several addresses;
        * `endpoint` is a host name, the node was reached at its advertised address, and
          certificates need not match the name;
        * the node is already known by its advertised address.

        If `endpoint` is a host name that cannot be resolved at the moment, a known node keeps its
        end point.

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
            # If the node was reached at its advertised address, use that address: the host name may
            # lead to another node later.
            (advertised,) = await self.of_rows([row])
            if (advertised.address, advertised.port) == (ip_address, endpoint.port):
                return advertised
        try:
            has_one_address = await _has_one_address(endpoint)
        except OSError:
            if host is None:
                raise
            return host.endpoint
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
        """Record the end points that several nodes share.

        :param endpoints: the end point of each node.
        """
        counts = Counter(endpoints)
        self._shared = frozenset(endpoint for endpoint in endpoints if counts[endpoint] > 1)

    def may_mislead(self, endpoint: EndPoint, reached_id: uuid.UUID) -> bool:
        """Return True if a connection to the end point of a host may reach another node.

        Called when that has happened. If several nodes have the end point, it is normal. Otherwise,
        if the reached node is another known host of the cluster, the end point is recorded as
        misleading. When the node list is read next, a node that is reached through the end point
        gets its advertised address instead.

        :param reached_id: the host id of the node that was reached.
        :returns: True if several nodes have the end point.
        """
        if endpoint in self._shared:
            return True
        # If the reached node is unknown, do not record the end point: the node may have replaced
        # the host, such as a new container behind the same port, and perhaps its advertised address
        # cannot be reached.
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
