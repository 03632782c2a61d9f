"""Reads the list of nodes from the server and, if routes are used, the routes to the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cassandra._logs import Log
from cassandra.engine.hosts.topology import (
    LOCAL_QUERY,
    PEERS_QUERY,
    PEERS_V2_QUERY,
    NodeList,
    is_complete,
)
from cassandra.engine.waiting import together
from cassandra.errors import ConnectionException, DriverException, InvalidRequest, OperationTimedOut
from cassandra.metadata.host import Host

if TYPE_CHECKING:
    from uuid import UUID

    from cassandra.engine.connection import Connection
    from cassandra.engine.control.internal_queries import Rows
    from cassandra.engine.control.route_watch import RouteWatch
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.hosts.endpoint_resolver import EndpointResolver
    from cassandra.engine.settings import Settings
    from cassandra.metadata.cluster_metadata import Metadata

log = Log("cassandra.cluster")

IDENTITY_QUERY = "SELECT cluster_name, host_id FROM system.local WHERE key = 'local'"


class NodeListReader:
    """Reads the node list of a cluster.

    :param resolver: finds the end points of nodes.
    :param rows: returns the rows of a query on a connection, as dicts.
    :param routes: keeps the routes to nodes behind proxies; None if routes are not used.
    """

    __slots__ = ("_has_peers_v2", "_metadata", "_read_rows", "_resolver", "_routes", "_settings")

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
        self._read_rows = rows
        self._routes = routes
        # False once a server has rejected a query of system.peers_v2.
        self._has_peers_v2 = True

    async def prepare(self, connection: Connection) -> None:
        """Read the routes to the nodes, if routes are used.

        Must be called before `connection` registers for events.

        :raises ConnectionException: if routes are used, but the server has none.
        """
        if self._routes is not None:
            # Read the routes now: if the server does not support routes, this raises a clear error.
            # The server's rejection of the REGISTER for the routes' event would be less clear.
            await self._routes.read(connection)

    async def read(self, connection: Connection, endpoint: EndPoint) -> NodeList:
        """Read the node list through `connection`, which is connected to `endpoint`.

        :raises ConnectionException: if system.local is empty.
        """
        if self._routes is not None:
            # Read the routes before the nodes, because a new node may be reachable only by its
            # route.
            await self._routes.read_again(connection)
        # Query both tables at the same time to save a round trip.
        local_rows, peer_rows = await together(
            self._read_rows(connection, LOCAL_QUERY), self._read_peers(connection)
        )
        if not local_rows:
            raise ConnectionException(
                f"{endpoint} has an empty system.local table: it is not ready", endpoint
            )
        local = local_rows[0]
        self._refuse_other_cluster(endpoint, local)
        self._metadata.cluster_name = local.get("cluster_name")
        self._store_partitioner(local.get("partitioner"))
        peers = [row for row in peer_rows if is_complete(row)]
        endpoints = [
            await self._resolver.of_local(endpoint, local, connection.ip_address),
            *await self._resolver.of_rows(peers),
        ]
        self._resolver.note_nodes(endpoints)
        rows = zip(endpoints, [local, *peers], strict=True)
        # Leave a ScyllaDB node without tokens out of the hosts: it stores no data, and the peers
        # tables of other nodes do not contain it either. (All rows in `peers` have tokens.) In
        # Cassandra, a node without tokens is a coordinator, which applications connect to on
        # purpose.
        features = connection.features
        is_scylla = features is not None and features.is_scylla
        has_local = bool(local.get("tokens") or not peers or not is_scylla)
        new_conviction_policy = self._settings.conviction_policy_factory
        return NodeList(
            rows,
            self._metadata.all_hosts(),
            lambda endpoint: Host(endpoint, new_conviction_policy),
            has_local,
        )

    async def check_cluster(self, connection: Connection, endpoint: EndPoint) -> UUID | None:
        """Check that `connection`, which is connected to `endpoint`, has reached this cluster.

        :returns: the id of the node if it is another one than that of the host at `endpoint`.
        :raises ConnectionException: if a node of another cluster has the address now.
        :raises DriverException: if the connection was lost, or the node does not answer in time.
        """
        try:
            rows = await self._read_rows(connection, IDENTITY_QUERY)
        except DriverException as error:
            if connection.closed or isinstance(error, OperationTimedOut):
                raise
            # The node may be overloaded, or may be a service that does not have this table. Use the
            # connection nevertheless, because requests may succeed.
            log.debug("%s does not say which cluster it belongs to: %s", endpoint, error)
            return None
        for local in rows:
            self._refuse_other_cluster(endpoint, local)
            host, host_id = self._metadata.get_host(endpoint), local.get("host_id")
            known_id = host.host_id if host is not None else None
            if None not in (known_id, host_id) and known_id != host_id:
                return host_id
        return None

    async def read_host_id(self, connection: Connection) -> UUID | None:
        """Return the host id of the node that `connection` has reached; None if it has none.

        :raises DriverException: if the node does not answer the query.
        """
        rows = await self._read_rows(connection, IDENTITY_QUERY)
        return rows[0].get("host_id") if rows else None

    def _refuse_other_cluster(self, endpoint: EndPoint, local: Mapping[str, Any]) -> None:
        """Raise ConnectionException if a node does not belong to the cluster that we know.

        Addresses are reused, for example those of pods in Kubernetes. A node of another cluster may
        have a table of the same name, so it would accept our requests.

        A renamed cluster still has some of its nodes, and the nodes of a cluster may all be
        replaced. So a node is refused only if we know neither the name of its cluster nor its id.

        :param local: the row of system.local of the node at `endpoint`.
        """
        expected, name = self._metadata.cluster_name, local.get("cluster_name")
        known_ids = {host.host_id for host in self._metadata.all_hosts()} - {None}
        if None in (expected, name) or name == expected:
            return
        if not known_ids or local.get("host_id") in known_ids:
            return
        raise ConnectionException(
            f"{endpoint} leads to a node of the cluster {name!r} now, and not of {expected!r}",
            endpoint,
        )

    def _store_partitioner(self, name: str | None) -> None:
        """Store the name of the cluster's partitioner.

        If the driver does not know the partitioner, log once that requests are not routed by token.
        """
        metadata = self._metadata
        if name == metadata.partitioner:
            return
        metadata.partitioner = name
        if metadata.token_metadata_enabled and not metadata.can_support_partitioner():
            log.info(
                "the partitioner %s is not known, as with some managed services: requests are not "
                "routed by token, and go to hosts in the order of the policy alone",
                name,
            )

    async def _read_peers(self, connection: Connection) -> list[dict[str, Any]]:
        """Return the rows of the peers, from system.peers_v2 if the server has that table."""
        if self._has_peers_v2:
            try:
                return await self._read_rows(connection, PEERS_V2_QUERY)
            except InvalidRequest:
                # Cassandra before 4.0 and ScyllaDB do not have this table. Remember that, to save
                # the query the next time.
                self._has_peers_v2 = False
        return await self._read_rows(connection, PEERS_QUERY)
