"""The engine of one cluster: creates its parts, connects, closes, and wires them.

Each part says what it does: `HostWatch` keeps the hosts' states, `ControlConnection` the node list
and the events, `SchemaRefresher` the schema, `Preparer` the prepared statements. `Listeners` and
`Observers` notify others, and `Asker` sends small requests of the engine's own.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra.encoder import cql_quote
from cassandra.engine.asking import Asker
from cassandra.engine.background import Background
from cassandra.engine.connection import Connection, wire_format_of
from cassandra.engine.control import ControlConnection
from cassandra.engine.endpoint import EndPoint
from cassandra.engine.handshake import Connector
from cassandra.engine.heartbeats import beat
from cassandra.engine.hosts.places import Places
from cassandra.engine.hosts.watch import HostWatch
from cassandra.engine.known_names import open_by_factory
from cassandra.engine.listeners import Listeners
from cassandra.engine.mishaps import let_out
from cassandra.engine.observers import Observers
from cassandra.engine.prepare.statements import Preparer
from cassandra.engine.query_fallback import QueryFallback
from cassandra.engine.schema.agreement import wait_for_agreement
from cassandra.engine.schema.reading import SchemaRefresher
from cassandra.engine.session import EngineSession
from cassandra.engine.settings import Settings
from cassandra.errors import ConnectionException, ConnectionShutdown, UserTypeDoesNotExist
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from cassandra.policies.balancing import attach_policy

from cassandra._impl import flight  # isort: skip

if TYPE_CHECKING:
    from cassandra.engine.latches import Wakes
    from cassandra.engine.shards import ShardTarget
    from cassandra.policies.balancing import LoadBalancingPolicy

__all__ = ["Core"]

log = logging.getLogger("cassandra.cluster")

FOLLOW_DELAY = (
    0.1  # seconds after an event until the pools follow the distances that it may have changed
)

T = TypeVar("T")


class Core(Observers):
    """One cluster's engine, confined to one event loop.

    :param settings: what the face was configured with.
    :param metadata: the cluster's snapshots, which the engine swaps.
    :param loop: the loop that all of it belongs to.
    """

    def __init__(
        self, settings: Settings, metadata: Metadata, loop: asyncio.AbstractEventLoop
    ) -> None:
        super().__init__()
        self.settings = settings
        self.metadata = metadata
        self.loop = loop
        self.time = loop.time
        self.timers = flight.TimerWheel(loop)
        # The classes that programs have registered. Replaced, never changed: row plans remember
        # which mapping they were made with.
        self.user_types: Mapping[str, Mapping[str, type]] = {}
        self.sessions: list[EngineSession] = []
        self.closed = False
        # If other threads than the loop's start requests: they may then write by themselves.
        self.wakes: Wakes | None = None
        self._following: asyncio.TimerHandle | None = None
        self._background = Background()
        self.listeners = Listeners(self.follow_distances_soon)
        self.asker = Asker(settings)
        self.connector = Connector(settings, loop)
        # What requests are rendered for ahead of their connection: as the control connection
        # speaks.
        self.wire_format = wire_format_of(self.connector.version, None)
        self.places = Places(
            settings.endpoint_factory, self.connector, metadata.get_host_by_host_id
        )
        self.hosts = HostWatch(
            metadata, settings, self.sessions, self.listeners, self._background, self._probe
        )
        self.control = ControlConnection(self)
        self.query_fallback = QueryFallback(self, settings.query_fallback)
        self.schema = SchemaRefresher(self)
        self.preparer = Preparer(self)
        # Set afterwards: the host watch is made before the parts that it notifies.
        self.hosts.on_host_up = self.control.on_host_up
        self.hosts.prepare_on = self.preparer.prepare_all_on

    @property
    def protocol_version(self) -> int:
        """The version agreed on with the cluster, or the one to start with."""
        return self.connector.version

    @property
    def marks_transactions(self) -> bool:
        """True if the servers mark prepared lightweight transactions, as ScyllaDB does."""
        connection = self.control.connection
        features = connection.features if connection is not None else None
        return features is not None and features.lwt_info is not None

    # -- life --------------------------------------------------------------------------------------

    async def connect(self) -> None:
        """Open the control connection and read the node list; a failure leaves nothing behind."""
        try:
            await self.control.connect()
        except BaseException:
            await self.close()
            raise
        settings = self.settings
        if settings.idle_heartbeat_interval > 0:
            self.spawn(
                beat(
                    self._connections,
                    settings.idle_heartbeat_interval,
                    settings.idle_heartbeat_timeout,
                )
            )

    async def close(self) -> None:
        """Close everything; what is in flight gets an error that says so."""
        if self.closed:
            return
        # First: nothing that ends below may open a connection or a session again.
        self.closed = True
        self.control.close()
        if self._following is not None:
            self._following.cancel()
        self.schema.close()
        self.hosts.close()
        for session in list(self.sessions):
            session.close()
        self.timers.close()
        self.connector.close()
        # After the parts: tasks that they start while they close are cancelled here, too.
        await self._background.close()
        await self.connector.settle()
        # Transports that were told to close do so in the loop's next turns.
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `coroutine` in the background, at the longest until `close`."""
        return self._background.spawn(coroutine)

    # -- sessions ----------------------------------------------------------------------------------

    async def open_session(
        self, keyspace: str | None, distance: Callable[[Any], int], wait_for_all: bool = False
    ) -> EngineSession:
        """Open a session whose connections use `keyspace`.

        :param distance: says how far a host is, by the policies of the face.
        :param wait_for_all: wait for all pools, not only for the first one.
        :raises NoHostAvailable: if no pool can be opened.
        """
        if self.closed:
            raise ConnectionShutdown("the cluster is shut down")
        session = EngineSession(self, keyspace, distance)
        self.sessions.append(session)
        try:
            await session.open(wait_for_all)
        except BaseException:
            session.close()
            raise
        return session

    def forget_session(self, session: EngineSession) -> None:
        """`session` is closed."""
        if session in self.sessions:
            self.sessions.remove(session)

    def resize_pools(self) -> None:
        """Have the pools of all sessions follow the settings."""
        for session in list(self.sessions):
            session.resize_pools()

    def follow_distances_soon(self) -> None:
        """Have the pools follow the distances of the hosts, once for a burst of events."""
        if self._following is None and not self.closed:
            self._following = self.loop.call_later(FOLLOW_DELAY, self._follow_distances)

    def _follow_distances(self) -> None:
        self._following = None
        for session in list(self.sessions):
            try:
                session.follow_distances()
            except BaseException as error:  # of a policy
                log.exception("the distances of the hosts could not be followed")
                let_out(error)

    # -- connections -------------------------------------------------------------------------------

    async def open_connection(
        self,
        endpoint: EndPoint,
        target: ShardTarget | None = None,
        is_control: bool = False,
    ) -> Connection:
        """Open a connection that is ready for requests, within the connect timeout.

        :param target: the shard of a ScyllaDB node that it is to have.
        :param is_control: True for the control connection.
        """
        if self.closed:
            raise ConnectionShutdown("the cluster is shut down", endpoint)
        details = (target, is_control)
        return await open_by_factory(self.connector.open, self.settings, endpoint, *details)

    async def _probe(self, host: Host) -> None:
        connection = await self.open_connection(host.endpoint)
        connection.close()

    def _connections(self) -> list[Connection]:
        connections = [
            connection
            for session in self.sessions
            for pool in session.pools.values()
            for connection in pool.connections
        ]
        if self.control.connection is not None:
            connections.append(self.control.connection)
        return connections

    def in_flight(self, host: Host) -> int:
        """Return the number of requests to `host` that are not answered yet, of all sessions."""
        pools = (session.pools.get(host) for session in self.sessions)
        return sum(flight.in_flight_of(pool.connections) for pool in pools if pool is not None)

    # -- policies ----------------------------------------------------------------------------------

    def populate_policy(self, policy: LoadBalancingPolicy, cluster: object) -> None:
        """Tell a load balancing policy of the hosts, now and from now on."""
        self.listeners.populate(policy, cluster, self.metadata.all_hosts())
        self.attach_policy(policy)

    def adopt_policy(
        self, policy: LoadBalancingPolicy, cluster: object
    ) -> list[asyncio.Task[bool]]:
        """Populate a load balancing policy that came after `connect`, and open its pools.

        :returns: the tasks that open them.
        """
        self.populate_policy(policy, cluster)
        # Also hosts whose state is not known yet: only a try can tell.
        return [
            self.spawn(self.hosts.bring_up(host))
            for host in self.metadata.all_hosts()
            if host.is_up is not False
        ]

    def attach_policy(self, policy: object) -> None:
        """Let a policy of any kind look at the requests in flight, if it wants to."""
        attach_policy(policy, self)

    # -- what the faces ask for --------------------------------------------------------------------

    async def wait_for_schema_agreement(
        self, connection: Connection, max_wait: float | None = None
    ) -> bool:
        """Wait until all live nodes have one schema version; return False if that takes too long.

        :param connection: the one to ask on, while it is open.
        :param max_wait: seconds; None for `Settings.max_schema_agreement_wait`.
        """
        wait = self.settings.max_schema_agreement_wait if max_wait is None else max_wait
        if wait <= 0:
            return False

        async def query(text: str) -> list[dict[str, Any]]:
            # The coordinator of a change has the new version for certain; other nodes may not have
            # it yet.
            through = self.control.connection if connection.closed else connection
            if through is None:
                raise ConnectionException("there is no control connection at the moment")
            return await self.asker.rows(through, text)

        return await wait_for_agreement(
            query, self._is_live, lambda: self.closed, wait, self.loop.time
        )

    def _is_live(self, host_id: uuid.UUID) -> bool:
        host = self.metadata.get_host_by_host_id(host_id)
        # A node that is down cannot agree: to wait for it would always take the whole time.
        return host is not None and host.is_up is not False

    async def user_type_fields(self, keyspace: str, name: str) -> list[str]:
        """Read the names of the fields of a user-defined type.

        :raises UserTypeDoesNotExist: if the cluster has no such type.
        """
        fields = await self.asker.rows(
            self.control.required(),
            "SELECT field_names FROM system_schema.types "
            f"WHERE keyspace_name = {cql_quote(keyspace)} AND type_name = {cql_quote(name)}",
        )
        if not fields:
            raise UserTypeDoesNotExist(f"there is no user-defined type {keyspace}.{name}")
        names: list[str] = list(fields[0]["field_names"])
        return names
