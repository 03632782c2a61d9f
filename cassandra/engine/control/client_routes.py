"""Routes to nodes behind the proxies of a private network, and the end points that use them.

ScyllaDB stores the routes in the table ``system.client_routes``. For each node (host_id) and each
private network connection (connection_id) it has the address and ports at which clients reach the
node. The event CLIENT_ROUTES_CHANGE reports changes (docs/dev/protocol-extensions.md of ScyllaDB).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cassandra._logs import Log
from cassandra.encoder import cql_quote
from cassandra.engine.endpoint import EndPoint, EndPointFactory, advertised_address
from cassandra.errors import ConnectionException
from cassandra.metadata.endpoint import DEFAULT_PORT

if TYPE_CHECKING:
    from cassandra.client_routes import ClientRoutesConfig

log = Log("cassandra.cluster")


class RouteHandler(Protocol):
    """The methods of the route table that the end points of nodes use."""

    def location_of(self, host_id: uuid.UUID) -> tuple[str, int] | None:
        """Return the address and port at which to reach a node; None if there is no route."""

    @property
    def uses_shard_ports(self) -> bool:
        """True if the proxies preserve the client's local port, which selects the shard."""


class _Route(NamedTuple):
    connection_id: str
    address: str
    port: int


class ClientRoutes:
    """The current routes to nodes. Each node has at most one route.

    :param config: the private network connections that may be used.
    """

    def __init__(self, config: ClientRoutesConfig) -> None:
        self.uses_shard_ports = bool(config.advanced_shard_awareness)
        # For each configured connection, by its id: the address of its proxy, which replaces the
        # addresses in system.client_routes; None to use the addresses in that table.
        self._addresses: dict[str, str | None] = {}
        for proxy in config.proxies:
            self._addresses.setdefault(proxy.connection_id, proxy.connection_addr_override)
        # The current route of each node. A change replaces the whole mapping, because any thread
        # may read it.
        self._routes: Mapping[uuid.UUID, _Route] = {}

    @property
    def query(self) -> str:
        """The SELECT that reads the rows of the configured connections."""
        connection_ids = ", ".join(map(cql_quote, self._addresses))
        return (
            "SELECT connection_id, host_id, address, port, tls_port FROM system.client_routes "
            f"WHERE connection_id IN ({connection_ids})"
        )

    def location_of(self, host_id: uuid.UUID) -> tuple[str, int] | None:
        """Return the address and port at which to reach a node; None if there is no route."""
        route = self._routes.get(host_id)
        return (route.address, route.port) if route is not None else None

    def concerns(self, connection_ids: Iterable[str]) -> bool:
        """Return True if a change of the routes of these connections may affect our routes."""
        changed = set(connection_ids)
        # An event without connection ids may be about any connection, so it may affect us.
        return not changed or not changed.isdisjoint(self._addresses)

    def take(self, rows: Iterable[Mapping[str, Any]], tls: bool) -> bool:
        """Replace all routes by the routes in `rows`; return True if any route has changed.

        If there are several rows for a node, the row of its current private network connection is
        used, or the first row if there is none.

        :param tls: True to use the TLS ports.
        :raises ConnectionException: if there are rows, but no row is usable.
        """
        usable: dict[uuid.UUID, list[_Route]] = {}
        refused: list[Mapping[str, Any]] = []
        for row in rows:
            # Ignore rows of connections that are not configured. The query does not select such
            # rows, but `_usable_route` would raise KeyError for them.
            if row["connection_id"] not in self._addresses:
                continue
            route = self._usable_route(row, tls)
            if route is None:
                refused.append(row)
            else:
                usable.setdefault(row["host_id"], []).append(route)
        if refused and not usable:
            port = "tls_port" if tls else "port"
            raise ConnectionException(
                f"All {len(refused)} route rows failed validation: each row of "
                f"system.client_routes must have host_id, address and {port}; "
                f"the first one is {dict(refused[0])!r}"
            )
        for row in refused:
            log.warning("a row of system.client_routes cannot be used: %r", dict(row))
        previous_routes = self._routes
        self._routes = {
            host_id: _choose_route(routes, previous_routes.get(host_id))
            for host_id, routes in usable.items()
        }
        return self._routes != previous_routes

    def _usable_route(self, row: Mapping[str, Any], tls: bool) -> _Route | None:
        """Return the route in `row`; None if the row has no host id, address or valid port."""
        connection_id: str = row["connection_id"]
        address = self._addresses[connection_id] or row["address"]
        port = row["tls_port"] if tls else row["port"]
        if row["host_id"] is None or not address or not port or not 0 < port <= 0xFFFF:
            return None
        return _Route(connection_id, address, port)


def _choose_route(routes: list[_Route], current: _Route | None) -> _Route:
    """Return one of the `routes` to a node.

    :param current: the route in use until now; None if there was none.
    """
    # If the current connection still has a route, keep that connection. The server returns rows in
    # arbitrary order, so the first row may differ at each reading although no route has changed.
    if current is not None:
        for route in routes:
            if route.connection_id == current.connection_id:
                return route
    return routes[0]


class ClientRoutesEndPoint(EndPoint):
    """The end point of a node that is reached by its current route.

    If the node has no route, the address in the system tables is used. A change of the route does
    not change the end point: `address` and `port` are always the node's own, and only `resolve`
    returns the address and port of the route.

    :param host_id: the node's id.
    :param handler: the route table.
    :param original_address: the address in the node's system tables.
    :param original_port: the port to use at that address.
    """

    __slots__ = ("_handler", "_host_id", "_original_address", "_original_port")

    def __init__(
        self,
        host_id: uuid.UUID,
        handler: RouteHandler,
        original_address: str,
        original_port: int | None = None,
    ) -> None:
        self._host_id = host_id
        self._handler = handler
        self._original_address = original_address
        self._original_port = original_port or DEFAULT_PORT

    @property
    def host_id(self) -> uuid.UUID:
        """The node's id."""
        return self._host_id

    @property
    def address(self) -> str:
        return self._original_address

    @property
    def port(self) -> int:
        return self._original_port

    @property
    def leads_to_one_node(self) -> bool:
        # All addresses of the proxy lead to this node, because the proxy has a separate port for
        # each node.
        return True

    def resolve(self) -> tuple[str, int]:
        location = self._handler.location_of(self._host_id)
        return location or (self._original_address, self._original_port)

    def shard_aware_port(self, advertised: int | None) -> int | None:
        """Return the port at which the client's local port selects the shard; None without one.

        :param advertised: the node's own shard-aware port.
        """
        if not self._handler.uses_shard_ports:
            return None
        location = self._handler.location_of(self._host_id)
        return advertised if location is None else location[1]

    def _key(self) -> tuple[Any, ...]:
        # The route is not part of the key, so that the end point stays the same when the route
        # changes. If the node's own address changes, it is another end point.
        return ("ClientRoutesEndPoint", str(self._host_id), self._original_address)

    def __str__(self) -> str:
        return f"{self._original_address} (host_id={self._host_id})"


class ClientRoutesEndPointFactory(EndPointFactory):
    """Creates the end points of nodes that are reached by the routes of a table.

    :param client_routes_handler: the route table.
    :param default_port: the port of nodes without a route; None for the cluster's port.
    """

    may_block = False
    # Contact points are proxies, and each proxy may lead to any node. So the address of a contact
    # point must not be used as the address of the node that was reached.
    names_each_node = True

    def __init__(
        self, client_routes_handler: RouteHandler, default_port: int | None = None
    ) -> None:
        self._handler = client_routes_handler
        self._default_port = default_port

    def create(self, row: Mapping[str, Any]) -> ClientRoutesEndPoint:
        host_id = row.get("host_id")
        if host_id is None:
            raise ValueError(f"a row of the system tables has no host_id: {dict(row)!r}")
        port = self._default_port or getattr(self.cluster, "port", None)
        return ClientRoutesEndPoint(host_id, self._handler, advertised_address(row), port)


for _class in (ClientRoutesEndPoint, ClientRoutesEndPointFactory):
    _class.__module__ = "cassandra.connection"
del _class
