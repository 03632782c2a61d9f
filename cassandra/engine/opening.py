"""Opens the connections of an engine, and checks that the expected node is at the address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from cassandra._logs import Log
from cassandra.engine.compat_names import open_by_factory
from cassandra.errors import ConnectionException, ConnectionShutdown

if TYPE_CHECKING:
    from uuid import UUID

    from cassandra.engine.connection import Connection
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.handshake import Connector
    from cassandra.engine.pools.shards import ShardTarget
    from cassandra.engine.settings import Settings
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host

log = Log("cassandra.pool")


def draining_error(host: Host) -> ConnectionException:
    """Return the error for a request whose only remaining host will stop soon."""
    return ConnectionException(
        f"{host} takes no new requests: it will stop soon (GRACEFUL_DISCONNECT)", host.endpoint
    )


class ConnectionOpener:
    """Opens connections that are ready for requests.

    :param connector: opens the connections, on its event loop.
    :param is_closed: returns True when no connection may be opened any more.
    :param on_draining: called with the host and a connection when the host announces on that
        connection that it will stop soon.
    :param on_wrong_node: called with the end point of a host and the id of another node that a
        connection to it has reached. Returns True if the connection may be used nevertheless.
    :param check_cluster: raises ConnectionException if a connection has reached another cluster.
    :param read_host_id: returns the host id of the node that a connection has reached, or None if
        the node has none.
    """

    def __init__(
        self,
        settings: Settings,
        metadata: Metadata,
        connector: Connector,
        is_closed: Callable[[], bool],
        on_draining: Callable[[Host, Connection], None],
        on_wrong_node: Callable[[EndPoint, UUID], bool],
        check_cluster: Callable[[Connection, EndPoint], Awaitable[None]],
        read_host_id: Callable[[Connection], Awaitable[UUID | None]],
    ) -> None:
        self._settings = settings
        self._metadata = metadata
        self._connector = connector
        self._is_closed = is_closed
        self._on_draining = on_draining
        self._on_wrong_node = on_wrong_node
        self._check_cluster = check_cluster
        self._read_host_id = read_host_id
        # The connections that `open_to` has opened to each host; closed ones may be missing.
        self._connections: WeakKeyDictionary[Host, WeakSet[Connection]] = WeakKeyDictionary()

    async def open(
        self,
        endpoint: EndPoint,
        target: ShardTarget | None = None,
        is_control: bool = False,
    ) -> Connection:
        """Open a connection that is ready for requests, within the connect timeout.

        :param target: the shard of a ScyllaDB node to connect to; None for any shard.
        :param is_control: True for the control connection.
        """
        if self._is_closed():
            raise ConnectionShutdown("the cluster is shut down", endpoint)
        # If the application's connection class has its own method `factory`, `open_by_factory`
        # calls that method, which may then call `Connector.open`. Otherwise it calls
        # `Connector.open(endpoint, target, is_control)` directly.
        return await open_by_factory(
            self._connector.open, self._settings, endpoint, target, is_control
        )

    async def open_to(self, host: Host, target: ShardTarget | None = None) -> Connection:
        """Open a connection to `host`, and check that it has not reached another node.

        Another node may be reached with a wrong proxy or address translator, or if the address now
        belongs to another node. ScyllaDB nodes send their host id in SUPPORTED. Other nodes are
        asked for their host id only if the host name of the end point has several addresses, and
        the host was reached at another one of them before. If all earlier connections to the host
        were lost, its address may now belong to a node of another cluster, so ask the node for the
        name of its cluster.

        :param target: the shard of a ScyllaDB node to connect to; None for any shard.
        :raises ConnectionException: if another node was reached; the node list is then read again.
            Or if another address of the host name was reached, and the node cannot be identified.
        :raises ConnectionShutdown: if the node announces at once that it will stop soon.
        """
        connection = await self.open(host.endpoint, target)
        connection.on_draining = partial(self._on_draining, host)
        if connection.is_draining:  # the node announced during the handshake that it will stop
            # Create the error before `close`; afterwards the error would say "closed".
            refusal = connection.refusal()
            connection.close()
            raise refusal
        reached_id = connection.features.host_id if connection.features is not None else None
        is_at_other_address = connection.is_at_other_address
        if is_at_other_address:
            reached_id = await self._identify(host, connection, target)
        # Without both ids there is nothing to compare, so accept the connection: Cassandra sends no
        # host id, and the node list may have none for this host.
        if (
            reached_id is None
            or host.host_id is None
            or reached_id == host.host_id
            or self._on_wrong_node(host.endpoint, reached_id)
        ):
            if is_at_other_address:
                self._connector.note_address(connection)
            elif reached_id is None:
                await self._check_after_loss(host, connection)
            # Remove the entry first, and so its key, which may be an earlier host with the same
            # address. The entry would vanish with that host.
            connections = self._connections.pop(host, WeakSet())
            connections.add(connection)
            self._connections[host] = connections
            return connection
        if is_at_other_address:
            self._connector.note_wrong_node(connection, target)
        reached_host = self._metadata.get_host_by_host_id(reached_id)
        error = ConnectionException(
            f"{host.endpoint} leads to another node: to {reached_id} "
            f"({reached_host or 'not known'}) instead of {host.host_id}",
            host.endpoint,
        )
        log.warning("%s; the connection is closed, and the node list is read again", error)
        connection.close(error)
        raise error

    async def _identify(
        self, host: Host, connection: Connection, target: ShardTarget | None
    ) -> UUID:
        """Return the host id of the node at another address of the host name of `host`.

        :raises ConnectionException: if the node or `host` has no host id.
        :raises DriverException: if the node does not say its host id.
        """
        features = connection.features
        host_id = features.host_id if features is not None else None
        try:
            if host_id is None and host.host_id is not None:
                host_id = await self._read_host_id(connection)
            if host_id is None or host.host_id is None:
                raise ConnectionException(
                    f"{host.endpoint} leads to {connection.ip_address}, too, but without a host id "
                    "this may be another node",
                    host.endpoint,
                )
        except BaseException:
            self._connector.note_wrong_node(connection, target)
            connection.close()
            raise
        return host_id

    async def _check_after_loss(self, host: Host, connection: Connection) -> None:
        """Check the cluster of a new connection, unless an earlier connection to `host` is open."""
        earlier = self._connections.get(host)
        if earlier is None or any(not known.closed for known in earlier):
            return
        try:
            await self._check_cluster(connection, host.endpoint)
        except BaseException:
            connection.close()
            raise
