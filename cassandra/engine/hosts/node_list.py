"""Reading the node list, and the routes to the nodes if there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra.engine.hosts.topology import (
    LOCAL_QUERY,
    PEERS_QUERY,
    PEERS_V2_QUERY,
    NodeList,
    is_complete,
)
from cassandra.engine.waiting import together
from cassandra.errors import ConnectionException, InvalidRequest
from cassandra.metadata.host import Host

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.control.internal_queries import Rows
    from cassandra.engine.control.route_watch import RouteWatch
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.hosts.endpoint_resolver import EndpointResolver
    from cassandra.engine.settings import Settings
    from cassandra.metadata.cluster_metadata import Metadata

__all__ = ["NodeListReader"]


class NodeListReader:
    """Reads the node list of a cluster.

    :param resolver: finds the end points of nodes.
    :param rows: returns the rows of a query on a connection, as dicts.
    :param routes: keeps the routes to nodes behind proxies; None if there are none.
    """

    __slots__ = ("_has_peers_v2", "_metadata", "_resolver", "_routes", "_rows", "_settings")

    def __init__(
        self,
        settings: Settings,
        metadata: Metadata,
        resolver: EndpointResolver,
        rows: Rows,
        routes: RouteWatch | None = None,
    ) -> None:
        self._settings = settings
        self._metadata = metadata
        self._resolver = resolver
        self._rows = rows
        self._routes = routes
        self._has_peers_v2 = True

    async def prepare(self, connection: Connection) -> None:
        """Read the node list that is needed before `connection` registers for events.

        :raises ConnectionException: if the nodes need routes, and the server has none.
        """
        if self._routes is not None:
            # Before REGISTER: a server without routes would not know their event.
            await self._routes.read(connection)

    async def read(self, connection: Connection, endpoint: EndPoint) -> NodeList:
        """Read the node list, through `connection` to `endpoint`.

        :raises ConnectionException: if the node says nothing of itself.
        """
        if self._routes is not None:
            # A node that has joined is reached by its route.
            await self._routes.read_again(connection)
        # At the same time: connecting takes a round trip less.
        local_rows, peer_rows = await together(
            self._rows(connection, LOCAL_QUERY), self._read_peers(connection)
        )
        if not local_rows:
            raise ConnectionException(
                f"{endpoint} has an empty system.local table: it is not ready", endpoint
            )
        local = local_rows[0]
        self._metadata.cluster_name = local.get("cluster_name")
        self._metadata.partitioner = local.get("partitioner")
        peers = [row for row in peer_rows if is_complete(row)]
        endpoints = [
            await self._resolver.of_local(endpoint, local),
            *await self._resolver.of_rows(peers),
        ]
        rows = zip(endpoints, [local, *peers], strict=True)
        conviction = self._settings.conviction_policy_factory
        return NodeList(
            rows, self._metadata.all_hosts(), lambda endpoint: Host(endpoint, conviction)
        )

    async def _read_peers(self, connection: Connection) -> list[dict[str, Any]]:
        if self._has_peers_v2:
            try:
                return await self._rows(connection, PEERS_V2_QUERY)
            except InvalidRequest:
                self._has_peers_v2 = False  # Cassandra before 4.0, ScyllaDB
        return await self._rows(connection, PEERS_QUERY)
