"""The engine of a cluster: creates its parts, connects them with each other, and closes them.

Each part is a class with one task, and gets only the other parts that it needs. Only a session gets
the whole `Core`.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._clocks import wall_time_ns
from cassandra._logs import Log
from cassandra.engine.background import Background
from cassandra.engine.connection import Connection, wire_format_of
from cassandra.engine.control.connection import ControlConnection, EventHandler
from cassandra.engine.control.contacts import Contacts
from cassandra.engine.control.doubts import NodeDoubts
from cassandra.engine.control.fallback_requests import QueryFallback
from cassandra.engine.control.internal_queries import InternalQueries
from cassandra.engine.control.route_watch import RouteWatch
from cassandra.engine.endpoint import EndPoint
from cassandra.engine.environment import call_on, environment_of
from cassandra.engine.handshake import Connector
from cassandra.engine.heartbeats import Heartbeats, is_silent
from cassandra.engine.hosts.endpoint_resolver import EndpointResolver
from cassandra.engine.hosts.node_list import NodeListReader
from cassandra.engine.hosts.status_events import StatusEvents
from cassandra.engine.hosts.watch import HostWatch
from cassandra.engine.listeners import Listeners
from cassandra.engine.observers import Observers
from cassandra.engine.opening import ConnectionOpener, draining_error
from cassandra.engine.policies import Policies
from cassandra.engine.prepare.changed_types import ChangedTypes
from cassandra.engine.prepare.statements import Preparer
from cassandra.engine.schema.agreement import Agreement
from cassandra.engine.schema.reading import SchemaReader
from cassandra.engine.schema.refreshing import SchemaRefresher
from cassandra.engine.session import EngineSession
from cassandra.engine.sessions import Sessions
from cassandra.engine.settings import Settings
from cassandra.engine.waiting import Closing
from cassandra.errors import ConnectionShutdown
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from cassandra.timestamps import MonotonicTimestampGenerator

if TYPE_CHECKING:
    import uuid
    from contextvars import Context

    from cassandra.cqltypes import codecs
    from cassandra.engine import happy_path
    from cassandra.engine.events import WakeQueue
    from cassandra.engine.pools.shards import ShardTarget
    from cassandra.engine.workers import WorkerCore
else:
    from cassandra._impl import codecs, happy_path

T = TypeVar("T")

log = Log("cassandra.pool")


class Core(Observers):
    """The engine of one cluster. It runs on one event loop.

    :param settings: the settings from the blocking or the asyncio API.
    :param metadata: the cluster's metadata, whose snapshots the engine replaces.
    :param loop: the loop on which everything runs.
    """

    def __init__(
        self, settings: Settings, metadata: Metadata, loop: asyncio.AbstractEventLoop
    ) -> None:
        environment = environment_of(loop)
        super().__init__(environment.clock)
        self.random = environment.random
        self._wall_clock = environment.wall_clock
        self.settings = settings
        self.metadata = metadata
        self.loop = loop
        self.time = loop.time
        self.timers = happy_path.TimerWheel(loop, environment.clock)
        self.throttler = settings.request_throttler
        # The classes that the application has registered for user-defined types, by keyspace and
        # type name. Each registration replaces the whole mapping. A cached row plan remembers the
        # mapping with which it was built, and is rebuilt when the mapping has been replaced.
        self.user_types: Mapping[str, Mapping[str, type]] = {}
        self.closed = False
        self._closing = Closing()
        # Wakes user threads that wait for responses. If it is set, user threads may also write to
        # sockets themselves. None for asyncio, where only the loop's thread starts requests.
        self.wake_queue: WakeQueue | None = None
        self._background = Background(loop)
        self.sessions = Sessions()
        # The engines of additional loops; see `cassandra.engine.workers`.
        self.workers: tuple[WorkerCore, ...] = ()
        self.listeners = Listeners(self.sessions.follow_distances_soon, environment.clock)
        self.internal_queries = InternalQueries(settings)
        self.connector = Connector(settings, environment)
        self._opener = ConnectionOpener(
            settings,
            metadata,
            self.connector,
            lambda: self.closed,
            self.on_draining,
            self._on_wrong_node,
            self.check_cluster,
            self.read_host_id,
        )
        # Requests are rendered before a connection is chosen, for the wire format of the control
        # connection. If the chosen connection has another wire format, the request is rendered
        # again.
        self.wire_format = wire_format_of(self.connector.version, None)
        self.hosts = HostWatch(
            metadata, settings, self.sessions, self.listeners, self._background, self._probe
        )
        fallback = settings.allow_control_connection_query_fallback
        self.query_fallback = QueryFallback(
            fallback,
            metadata,
            self._connection,
            math.inf if settings.max_waiting_requests is None else settings.max_waiting_requests,
        )
        self.agreement = Agreement(
            settings,
            metadata,
            self.internal_queries.rows,
            self._required_connection,
            lambda: self.closed,
        )
        self.schema_reader = SchemaReader(
            settings, metadata, self.internal_queries.rows, self.internal_queries.pages
        )
        self.schema = SchemaRefresher(
            settings,
            metadata,
            self.schema_reader,
            self.agreement.wait,
            self._required_connection,
            self.spawn,
            self.random,
        )
        self.policies = Policies(
            self,
            metadata,
            self.listeners,
            self.hosts.bring_up_if_wanted,
            self.spawn,
            self.sessions.follow_distances_soon,
            loop,
        )
        self.preparer = Preparer(
            settings, metadata, self.sessions, self.internal_queries.send, self.spawn, server=self
        )
        self.home = self.preparer.home
        self.changed_types = ChangedTypes(
            settings,
            metadata,
            self.preparer,
            self.agreement.wait,
            self._required_connection,
            self.spawn,
            self.random,
        )
        self.heartbeats = Heartbeats(
            self._connections,
            self.spawn,
            settings.idle_heartbeat_interval,
            settings.idle_heartbeat_timeout,
        )
        self.policies.attach(settings.reconnection_policy)
        # Create the control connection last, because it needs the parts above. Those parts look up
        # `self.control` only when they need the control connection.
        self._routes = self._new_route_watch()
        self.control = self._new_control()
        self._status_events = StatusEvents(
            settings, metadata, self.hosts, self.control.on_topology_change, self.random
        )
        self._wire()
        # Attach the throttler last, so that it does not stay attached if a step above fails.
        if self.throttler is not None:
            self.throttler.attach(loop)

    def keep_time(self, generator: object) -> None:
        """In a simulation, let the driver's own timestamp generator read the simulated clock."""
        # Only a simulation replaces `_wall_clock`. Without a simulation, do nothing: the generator
        # reads the real clock by default.
        is_simulated = self._wall_clock is not time.time_ns
        if is_simulated and isinstance(generator, MonotonicTimestampGenerator):
            # Another cluster, which is real or belongs to another simulation, may use the same
            # generator. So pass `wall_time_ns`, which looks up the clock of the running loop at
            # each call. That works only if the loop has a method `wall_time_ns`. Otherwise, pass
            # the clock of this cluster.
            loop_has_clock = hasattr(self.loop, "wall_time_ns")
            generator.read_from(wall_time_ns if loop_has_clock else self._wall_clock)

    def _new_route_watch(self) -> RouteWatch | None:
        """Create the object that keeps the routes to nodes current; None without routes."""
        routes = self.settings.client_routes
        if routes is None:
            return None
        return RouteWatch(
            routes,
            self.settings,
            self.internal_queries.rows,
            self._connection,
            on_change=self.hosts.recheck,
            spawn=self.spawn,
        )

    def _new_control(self) -> ControlConnection:
        """Create the control connection, and the parts that only the control connection uses."""
        settings, metadata = self.settings, self.metadata
        find_host = metadata.get_host_by_host_id
        assert settings.endpoint_factory is not None  # the cluster makes a default
        self._resolver = EndpointResolver(settings.endpoint_factory, self.connector, find_host)
        self._node_lists = NodeListReader(
            settings, metadata, self._resolver, self.internal_queries.rows, self._routes
        )
        return ControlConnection(
            settings,
            self._open_control,
            self.internal_queries.send,
            Contacts(
                settings, metadata, self.connector.in_thread, self.sessions.ignore, self.random
            ),
            self._node_lists,
            self.hosts,
            self.schema,
            NodeDoubts(metadata, self.sessions.have_pool, self.sessions.ignore),
            self.spawn,
            self.random,
        )

    def _wire(self) -> None:
        """Set callbacks of parts that were created before the parts which the callbacks call."""
        # The control connection passes each event to the part that handles it.
        handlers: dict[str, EventHandler] = {
            "TOPOLOGY_CHANGE": self.control.on_topology_change,
            "STATUS_CHANGE": self._status_events.on_event,
            "SCHEMA_CHANGE": self._on_schema_event,
        }
        if self._routes is not None:
            handlers[self._routes.event_type] = self._routes.on_event
        self.control.handlers = handlers
        # After a DDL statement or missed events, statements that use changed types are prepared
        # again.
        self.schema.on_ddl = self.changed_types.after_ddl
        self.schema.on_caught_up = self.changed_types.catch_up
        # If the control connection has moved or was lost, other parts must notice that.
        self.control.on_adopted = self._on_control_adopted
        self.control.on_lost = self.query_fallback.on_lost
        # Parts that react when a host comes up (`on_host_up`, `prepare_on`) or may hang
        # (`on_doubt`).
        self.hosts.on_host_up = self.control.on_host_up
        self.hosts.prepare_on = self.preparer.prepare_all_on
        self.hosts.on_doubt = self.heartbeats.check
        self.hosts.on_up_report = self._refill_pools
        self.connector.on_failure = self.report_connection_failure

    def _on_schema_event(self, event: Mapping[str, Any]) -> None:
        """Called when the server reports a schema change."""
        try:
            self.schema.on_event(event)
        finally:
            self.changed_types.on_event(event)

    @property
    def protocol_version(self) -> int:
        """The protocol version that was negotiated with the cluster.

        Before the negotiation, this is the version that will be tried first.
        """
        return self.connector.version

    @property
    def marks_transactions(self) -> bool:
        """True if PREPARED responses say whether a statement is an LWT, as ScyllaDB's do."""
        connection = self._connection()
        features = connection.features if connection is not None else None
        return features is not None and features.lwt_info is not None

    # -- opening and closing -----------------------------------------------------------------------

    async def connect(self) -> None:
        """Open the control connection and read the node list; close everything if that fails."""
        try:
            await self.control.connect()
        except BaseException:
            # Do not shut down the cluster's observers here: the next attempt to connect may use
            # them.
            self.forget_connection_failures()
            await self.close()
            raise
        self.heartbeats.start()

    async def close(self, context: Context | None = None) -> None:
        """Close everything. Requests in flight fail with `SessionShutdown`.

        If a call is cancelled, the closing continues. Further calls wait until it has completed.

        :param context: the context (see `contextvars`) of observers; None for the caller's.
        """
        # Set `closed` first, so that the steps of `_close` do not open connections or sessions
        # again.
        self.closed = True
        await self._closing.run(self._close, context)

    async def _close(self) -> None:
        sessions = list(self.sessions)
        # Sessions have their own observers, which must be notified until the last requests have
        # failed. So read the list of observers now, before the sessions are gone.
        observers = self.observers_in_use()
        for close in (
            self.control.close,
            self._status_events.close,
            self.sessions.stop_following,
            self.schema.close,
            self.hosts.close,
        ):
            # If one part fails to close, close the other parts nevertheless. Otherwise requests in
            # flight would wait for ever for an engine that is only half closed.
            try:
                close()
            except Exception:
                log.exception("a part of the cluster cannot be closed")
        self.sessions.close()
        self._detach_throttler(sessions)
        self.timers.close()
        # Cancel background tasks after the other parts were closed, because closing a part may
        # start further tasks.
        await self._background.close()
        await self.listeners.close()
        await self.notify_shutdown(observers)
        await self.connector.settle()
        codecs.release_vector_memory(even_if_used=True)

    def _detach_throttler(self, sessions: Iterable[EngineSession]) -> None:
        """Detach the throttler, so that it is not notified about requests that end later."""
        throttler, self.throttler = self.throttler, None
        for session in sessions:
            session.follow_observers()
        if throttler is not None:
            throttler.detach()

    def on_access_changed(self) -> None:
        """Retry what failed with the old credentials or TLS settings.

        Called when the application has set other credentials or TLS settings.
        """
        if self.closed:
            return
        self.hosts.on_access_changed()
        self._refill_pools()
        self.control.on_host_up()  # ends the wait between two attempts to connect

    def _refill_pools(self, host: Host | None = None) -> None:
        """Open missing connections now, even if a pool has scheduled the next attempt for later.

        :param host: the host that may accept connections again; None for all hosts.
        """
        self.sessions.refill_pools(host)
        for worker in self.workers:
            worker.refill_pools_soon(host)

    def _set_observers(self, name: str, observers: tuple[Callable[..., object], ...]) -> None:
        super()._set_observers(name, observers)
        for worker in self.workers:
            worker.relay(name)

    def _on_observers_changed(self) -> None:
        for session in list(self.sessions):
            session.follow_observers()

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `coroutine` in the background until it ends, or until `close`."""
        return self._background.spawn(coroutine)

    # -- sessions ----------------------------------------------------------------------------------

    async def open_session(
        self, keyspace: str | None, distance: Callable[[Any], int], wait_for_all: bool = False
    ) -> EngineSession:
        """Open a session whose connections use `keyspace`; None uses no keyspace.

        :param distance: returns the distance of a host, according to the load balancing policies.
        :param wait_for_all: True waits until all pools are open or have failed; False returns soon
            after the first pool is open.
        :raises NoHostAvailable: if no pool can be opened.
        """
        if self.closed:
            raise ConnectionShutdown("the cluster is shut down")
        session = EngineSession(self, keyspace, distance)
        self.sessions.add(session)
        try:
            await session.open(wait_for_all)
        except BaseException:
            session.close()
            raise
        return session

    # -- connections -------------------------------------------------------------------------------

    async def open_connection(
        self,
        endpoint: EndPoint,
        target: ShardTarget | None = None,
        is_control: bool = False,
    ) -> Connection:
        """Open a connection; see `ConnectionOpener.open`."""
        return await self._opener.open(endpoint, target, is_control)

    def may_mislead(self, endpoint: EndPoint, reached_id: uuid.UUID) -> bool:
        """Call `EndpointResolver.may_mislead`. Any thread may call this."""
        return self._resolver.may_mislead(endpoint, reached_id)

    def _on_wrong_node(self, endpoint: EndPoint, reached_id: uuid.UUID) -> bool:
        """Called when a connection to the end point of a host has reached another node.

        :param reached_id: the host id of the node that was reached.
        :returns: True if the connection may be used nevertheless.
        """
        if self.may_mislead(endpoint, reached_id):
            return True
        self.control.schedule_refresh()
        return False

    async def check_cluster(self, connection: Connection, endpoint: EndPoint) -> None:
        """Check which cluster a connection has reached; see `NodeListReader.check_cluster`."""
        other_id = await self._node_lists.check_cluster(connection, endpoint)
        if other_id is not None:
            # Further loops call this method, too.
            call_on(self.loop, self.control.on_other_node, endpoint, other_id)

    async def read_host_id(self, connection: Connection) -> uuid.UUID | None:
        """Return the host id of a node; see `NodeListReader.read_host_id`."""
        return await self._node_lists.read_host_id(connection)

    async def open_connection_to(self, host: Host, target: ShardTarget | None = None) -> Connection:
        """Open a connection to `host`; see `ConnectionOpener.open_to`."""
        return await self._opener.open_to(host, target)

    async def _probe(self, host: Host) -> None:
        """Check that a connection to `host` can be opened, and raise the error if not."""
        connection = await self.open_connection_to(host)
        connection.close()

    async def _open_control(self, endpoint: EndPoint) -> Connection:
        return await self.open_connection(endpoint, is_control=True)

    def _on_control_adopted(self, connection: Connection) -> None:
        """Use `connection`, which is the new control connection."""
        connection.on_draining = self._on_control_draining
        connection.on_orphan = self._on_control_orphan
        if self.query_fallback.is_allowed:
            connection.on_room = self.query_fallback.on_room
            # Requests may still wait for the previous control connection: let them use this
            # connection.
            self.loop.call_soon(self.query_fallback.on_room, connection)
        self.wire_format = connection.wire_format
        for worker in self.workers:
            worker.wire_format = connection.wire_format
        if self._routes is not None:
            self._routes.catch_up()

    def _on_control_orphan(self, connection: Connection) -> None:
        """Check the host after a request on the control connection got no response in time."""
        if self.control.host is not None and is_silent(connection):
            self.heartbeats.check(self.control.host)

    def _on_control_draining(self, connection: Connection) -> None:
        if self.control.host is not None:
            self.on_draining(self.control.host, connection)

    def on_draining(self, host: Host, connection: Connection) -> None:
        """Called when `host` announces on a connection that it will stop soon (CEP-59).

        From now on, the existing connections to the host take no new requests. Further
        announcements on these connections are ignored, because they may come late, when the host
        has been restarted.

        :param connection: not used, because an announcement on one connection is about the whole
            host.
        """
        error = draining_error(host)
        self.sessions.drain(host, error)
        self.hosts.on_draining(host, error)
        self.control.leave(host)

    def _connection(self) -> Connection | None:
        """Return the control connection; None if no control connection is open now."""
        return self.control.connection

    def _required_connection(self) -> Connection:
        """Return the control connection, or raise an error if there is no control connection."""
        return self.control.required()

    def _connections(self) -> dict[Host, list[Connection]]:
        connections = self.sessions.connections()
        control = self.control
        if control.connection is not None and control.host is not None:
            connections.setdefault(control.host, []).append(control.connection)
        return connections

    def in_flight(self, host: Host) -> int:
        """Return the number of requests of all sessions that wait for a response of `host`."""
        return self.sessions.in_flight(host)

    async def user_type_fields(self, keyspace: str, name: str) -> list[str]:
        """Return the field names of a user-defined type.

        :raises UserTypeDoesNotExist: if the cluster has no such type.
        """
        return await self.schema_reader.user_type_fields(
            self._required_connection(), keyspace, name
        )
