"""The engine of one cluster: hosts and their states, the control connection, sessions, heartbeats.

Host states are kept here and nowhere else. A host goes down when its last connection breaks, or
cannot be opened, and the conviction policy agrees; one `Reconnector` then tries it until it
answers. A host goes up when a pool to it is ready. What the server tells by events only hurries
that along: connections are trusted before rumours.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from cassandra.consistency import ConsistencyLevel
from cassandra.encoder import cql_quote
from cassandra.engine.connection import Connection, read_answer, wire_format_of
from cassandra.engine.control import ControlConnection
from cassandra.engine.endpoint import EndPoint, is_ip_address
from cassandra.engine.handshake import Connector
from cassandra.engine.mishaps import let_out
from cassandra.engine.prepare.statements import Preparer
from cassandra.engine.reconnect import Reconnector
from cassandra.engine.schema.agreement import wait_for_agreement
from cassandra.engine.schema.reading import SchemaRefresher
from cassandra.engine.session import EngineSession
from cassandra.engine.settings import Settings
from cassandra.engine.topology import NodeList
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    DriverException,
    OperationTimedOut,
    ProtocolError,
    UserTypeDoesNotExist,
)
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from cassandra.policies.balancing import HostDistance, attach_policy
from cassandra.protocol.messages.errors import ErrorMessage
from cassandra.protocol.opcodes import OPTIONS, QUERY
from cassandra.protocol.params import QueryParams
from cassandra.query.row_factories import dict_factory
from cassandra.util.misc import maybe_add_timeout_to_query

from cassandra._impl import bodies, flight  # isort: skip

log = logging.getLogger("cassandra.cluster")

FOLLOW_DELAY = (
    0.1  # seconds after an event until the pools follow the distances that it may have changed
)


class Core:
    """One cluster's engine, confined to `loop`. `listeners` are load balancing policies,
    `program_listeners` the program's own ones.
    """

    def __init__(
        self, settings: Settings, metadata: Metadata, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.settings = settings
        self.metadata = metadata
        self.loop = loop
        self.timers = flight.TimerWheel(loop)
        self.user_types: dict[str, dict[str, Any]] = {}
        self.listeners: list[Any] = []
        self.program_listeners: Sequence[Any] = ()
        self.sessions: list[EngineSession] = []
        self.connector = Connector(settings, loop)
        self.control = ControlConnection(self)
        self.schema = SchemaRefresher(self)
        self.preparer = Preparer(self)
        # What requests are rendered for ahead of their connection: as the control connection
        # speaks.
        self.wire_format = wire_format_of(self.connector.version, None)
        self.closed = False
        self.time = loop.time
        # Told of each answer that shows how fast its host works, and of each other one, where
        # somebody wants to know.
        self.on_latency: Callable[[Host, float], None] | None = None
        self.on_refusal: Callable[[Host, float], None] | None = None
        self._observers: list[Callable[[Host, float], None]] = []
        # Told of each failed attempt and what the retry policy decided, where somebody counts them.
        self.on_failure: Callable[[BaseException, int | None], None] | None = None
        self._following: asyncio.TimerHandle | None = None
        self._reconnectors: dict[Host, Reconnector] = {}
        self._background: set[asyncio.Task[Any]] = set()

    @property
    def protocol_version(self) -> int:
        """The version agreed on with the cluster, or the one to start with."""
        return self.connector.version

    # -- life --------------------------------------------------------------------------------------

    async def connect(self) -> None:
        """Open the control connection and read the node list; a failure leaves nothing behind."""
        try:
            await self.control.connect()
        except BaseException:
            await self.close()
            raise
        if self.settings.idle_heartbeat_interval > 0:
            self.spawn(self._beat())

    async def close(self) -> None:
        """Close everything; what is under way gets an error that says so."""
        if self.closed:
            return
        self.closed = True
        self.control.close()
        if self._following is not None:
            self._following.cancel()
        self.schema.close()
        for reconnector in list(self._reconnectors.values()):
            reconnector.stop()
        for session in list(self.sessions):
            session.close()
        self.timers.close()
        self.connector.close()
        await self._end_background()
        # Transports that were told to close do so in the loop's next turns.
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def _end_background(self) -> None:
        """Cancel what runs, and wait for its end; what that starts in turn is cancelled too."""
        for _ in range(3):
            tasks = [
                task
                for task in self._background
                if not task.done() and task is not asyncio.current_task()
            ]
            if not tasks:
                return
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=1.0)

    def spawn(self, coroutine: Any) -> asyncio.Task[Any]:
        """Run `coroutine` in the background, at the longest until `close`."""
        task: asyncio.Task[Any] = asyncio.ensure_future(coroutine)
        if self.closed:
            task.cancel()
        self._background.add(task)
        task.add_done_callback(self._background_ended)
        return task

    def _background_ended(self, task: asyncio.Task[Any]) -> None:
        self._background.discard(task)
        error = None if task.cancelled() else task.exception()
        # Errors of servers and networks are for whoever waits for the task, if anybody still does.
        if error is not None and not isinstance(error, (DriverException, OSError)):
            log.error("a task of the engine failed: %r", error, exc_info=error)

    # -- sessions ----------------------------------------------------------------------------------

    async def open_session(
        self, keyspace: str | None, distance: Any, wait_for_all: bool = False
    ) -> EngineSession:
        """A session whose connections use `keyspace`; NoHostAvailable where no pool can be opened."""
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

    # -- connections and small requests of the engine's own ----------------------------------------

    async def open_connection(self, endpoint: EndPoint) -> Connection:
        """A connection that is ready for requests; an exception that says what failed, within the
        connect timeout.
        """
        if self.closed:
            raise ConnectionShutdown("the cluster is shut down", endpoint)
        return await self.connector.open(endpoint)

    async def ask(
        self, connection: Connection, opcode: int, body: bytes, what: str, text: str | None = None
    ) -> Any:
        """One request of the engine's own.

        :param what: was asked, for messages.
        :param text: of the statement, if it is one: it decides what may answer.
        :raises ProtocolError: if what comes is malformed, or no answer to the request; the
            connection is closed.
        :raises OperationTimedOut: after `Settings.control_connection_timeout`.
        :raises DriverException: the server's refusal.
        """
        timeout = self.settings.control_connection_timeout
        try:
            answer_opcode, flags, answer = await connection.request(opcode, body, timeout)
        except asyncio.TimeoutError:
            raise OperationTimedOut(
                f"{connection.endpoint} did not answer {what} within {timeout} seconds",
                connection.endpoint,
                timeout,
            ) from None
        response = read_answer(connection, opcode, text, answer_opcode, flags, answer)
        if isinstance(response, ErrorMessage):
            raise response.to_exception()
        return response

    async def query(self, connection: Connection, query: str) -> Any:
        """Execute a text without parameters at consistency ONE; raises what `ask` raises."""
        body = bodies.query_body(
            query, QueryParams(consistency=ConsistencyLevel.ONE), connection.version
        )
        return await self.ask(connection, QUERY, body, repr(query), query)

    async def query_rows(self, connection: Connection, query: str) -> list[dict[str, Any]]:
        """The rows of `query`, as dicts."""
        rows: list[dict[str, Any]] = (await self.query(connection, query)).decode(dict_factory)
        return rows

    async def query_pages(self, connection: Connection, query: str) -> AsyncIterator[Any]:
        """The result of `query` page by page, as ROWS messages; of `schema_metadata_page_size` rows
        each.
        """
        timeout = self.settings.metadata_request_timeout
        if (
            timeout is not None
            and connection.features is not None
            and connection.features.sharding_info is not None
        ):
            query = maybe_add_timeout_to_query(query, timeout)
        paging_state: bytes | None = None
        states: set[bytes] = set()
        while True:
            params = QueryParams(
                consistency=ConsistencyLevel.ONE,
                page_size=self.settings.schema_metadata_page_size,
                paging_state=paging_state,
            )
            body = bodies.query_body(query, params, connection.version)
            page = await self.ask(connection, QUERY, body, repr(query), query)
            yield page
            paging_state = page.paging_state
            if paging_state is None:
                return
            if paging_state in states:
                raise ProtocolError(
                    f"{connection.endpoint} gives the same page again and again: {query!r} has no end"
                )
            states.add(paging_state)

    async def wait_for_schema_agreement(
        self, connection: Connection, max_wait: float | None = None
    ) -> bool:
        """Wait until all live nodes have one schema version; return False if that takes too long."""
        wait = self.settings.max_schema_agreement_wait if max_wait is None else max_wait
        if wait <= 0:
            return False

        async def query(text: str) -> list[dict[str, Any]]:
            through = self.control.connection if connection.closed else connection
            if through is None:
                raise ConnectionException("there is no control connection at the moment")
            return await self.query_rows(through, text)

        return await wait_for_agreement(
            query, self._is_live, lambda: self.closed, wait, self.loop.time
        )

    def _is_live(self, host_id: Any) -> bool:
        host = self.metadata.get_host_by_host_id(host_id)
        return host is not None and host.is_up is not False

    # -- the node list -----------------------------------------------------------------------------

    def make_host(self, endpoint: EndPoint) -> Host:
        """A host that is not known yet."""
        return Host(endpoint, self.settings.conviction_policy_factory)

    async def endpoint_of_local(self, endpoint: EndPoint, row: Any) -> EndPoint:
        """The end point of the node that the control connection is at.

        It is the one that was just connected to, unless that is a name for several nodes: then it
        is the node's own address. A node that still says of itself what is known of it was only
        reached by another of its names.
        """
        host_id = row.get("host_id")
        known = self.metadata.get_host_by_host_id(host_id) if host_id is not None else None
        own_name = await self._is_of_one_node(endpoint)
        if own_name and (known is None or known.endpoint == endpoint):
            return endpoint
        (advertised,) = await self.endpoints_of([row])
        if own_name and known is not None and known.endpoint != advertised:
            return endpoint
        return advertised

    async def _is_of_one_node(self, endpoint: EndPoint) -> bool:
        if not endpoint.port or is_ip_address(endpoint.address) or endpoint.ssl_options:
            return True
        resolved = await self.loop.getaddrinfo(
            endpoint.address, endpoint.port, family=endpoint.socket_family
        )
        return len({info[4][0] for info in resolved}) == 1

    async def endpoints_of(self, rows: Sequence[Any]) -> list[EndPoint]:
        """The end points that rows of the system tables tell of. A program's own factory or
        translator may block: it runs in a thread.
        """
        factory = self.settings.endpoint_factory

        def create() -> list[EndPoint]:
            return [factory.create(row) for row in rows]

        if not getattr(factory, "may_block", True):
            return create()
        created: list[EndPoint] = await self.connector.in_thread(create)
        return created

    def take_node_list(self, node_list: NodeList) -> None:
        """Swap the snapshot, and tell who has to know."""
        for host in node_list.removed:
            self._remove(host)
        self.metadata.replace_hosts(node_list.hosts)
        first_time = not self.sessions and not self.listeners
        for host in node_list.relocated:
            self._place_anew(host)
        for host in node_list.added:
            if first_time:
                continue
            self._tell("on_add", host)
            self.spawn(self.bring_up(host))

    def _place_anew(self, host: Host) -> None:
        """`host` is in another data centre or rack: policies sort it in again, as they do with one
        that comes back.
        """
        if host.is_up is False:
            if not self.is_ignored(
                host
            ):  # it may be wanted only now, and nobody has tried it before
                self.on_up_event(host)
            return
        if self.listeners:
            log.info("host %s is in data centre %s, rack %s now", host, host.datacenter, host.rack)
            self._tell_of(self.listeners, "on_down", host)
            self._tell_of(self.listeners, "on_up", host)

    def _remove(self, host: Host) -> None:
        reconnector = self._reconnectors.pop(host, None)
        if reconnector is not None:
            reconnector.stop()
        host.set_down()
        for session in self.sessions:
            session.forget_host(
                host, ConnectionException(f"{host} has left the cluster", host.endpoint)
            )
        self._tell("on_remove", host)

    def _tell(self, event: str, host: Host) -> None:
        self._tell_of((*self.listeners, *self.program_listeners), event, host)

    def _tell_of(self, listeners: Sequence[Any], event: str, host: Host) -> None:
        for listener in list(listeners):
            try:
                getattr(listener, event)(host)
            except BaseException as error:
                log.exception("%s.%s(%s) failed", type(listener).__name__, event, host)
                let_out(error)
        self.follow_distances_soon()

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

    # -- policies ----------------------------------------------------------------------------------

    def populate_policy(self, policy: Any, cluster: Any) -> None:
        """Tell a load balancing policy of the hosts, now and from now on."""
        hosts = self.metadata.all_hosts()
        policy.populate(cluster, hosts)
        for host in hosts:
            if host.is_up is False:
                self._tell_of((policy,), "on_down", host)
        self.attach_policy(policy)
        self.listeners.append(policy)

    def adopt_policy(self, policy: Any, cluster: Any) -> None:
        """A load balancing policy that came after `connect`."""
        self.populate_policy(policy, cluster)
        for host in self.metadata.all_hosts():
            if host.is_up is not False:
                self.spawn(self.bring_up(host))

    def attach_policy(self, policy: Any) -> None:
        """Let a policy of any kind look at the requests under way, where it wants to."""
        attach_policy(policy, self)

    def in_flight(self, host: Host) -> int:
        """Requests to `host` that are not answered yet, of all sessions."""
        count = 0
        for session in self.sessions:
            pool = session.pools.get(host)
            if pool is not None:
                for connection in pool.connections:
                    count += connection.in_flight
        return count

    def observe_latencies(self, observer: Callable[[Host, float], None]) -> None:
        """Call `observer` with the host and the seconds of each answer from now on: results, and
        errors that it had to work for.
        """
        self._observers.append(observer)
        self.on_latency = observer if len(self._observers) == 1 else self._tell_observers

    def _tell_observers(self, host: Host, seconds: float) -> None:
        for observer in self._observers:
            observer(host, seconds)

    def observe_refusals(self, observer: Callable[[Host, float], None]) -> None:
        """The same for the other errors: answered at once, perhaps, by a host that has no time for
        more.
        """
        self.on_refusal = observer

    def observe_failures(self, observer: Callable[[BaseException, int | None], None]) -> None:
        """Call `observer` with each failed attempt's error and what the retry policy decided (None:
        it was not asked) from now on.
        """
        self.on_failure = observer

    def resize_pools(self) -> None:
        """Have the pools of all sessions follow the settings."""
        for session in list(self.sessions):
            session.resize_pools()

    async def register_user_type(self, keyspace: str, name: str, klass: Any) -> list[str]:
        """Decode values of a user-defined type as `klass`; the names of its fields.
        UserTypeDoesNotExist where there is none.
        """
        connection = self.control.required()
        fields = await self.query_rows(
            connection,
            "SELECT field_names FROM system_schema.types "
            f"WHERE keyspace_name = {cql_quote(keyspace)} AND type_name = {cql_quote(name)}",
        )
        if not fields:
            raise UserTypeDoesNotExist(f"there is no user-defined type {keyspace}.{name}")
        # Replaced, never changed: plans remember which mapping they were made with.
        self.user_types = {
            **self.user_types,
            keyspace: {**self.user_types.get(keyspace, {}), name: klass},
        }
        names: list[str] = list(fields[0]["field_names"])
        return names

    # -- host states -------------------------------------------------------------------------------

    def on_pool_ready(self, host: Host) -> None:
        """A session has a pool to `host`: it is up."""
        self._mark_up(host)

    def _mark_up(self, host: Host) -> None:
        before = host.is_up
        host.set_up()
        if before is False:
            log.info("host %s is up", host)
        if before is not True:
            self.control.on_host_up()
            self._tell("on_up", host)

    def on_connection_failure(self, host: Host, error: Exception) -> None:
        """A connection to `host` broke or could not be opened."""
        if self.closed or host not in self.metadata.all_hosts():
            return
        convicted = host.signal_connection_failure(error)
        has_pool = self._has_pool(host)
        if convicted and not has_pool:
            self._mark_down(host, error)
        # A session may be without connections also where the host is not convicted, or another
        # session has some.
        if host not in self._reconnectors and not (has_pool and self._is_served(host)):
            self._reconnectors[host] = Reconnector(self, host)

    def on_reconnection_failure(self, host: Host, error: Exception) -> None:
        """A try to reach `host` again has failed; the next one is to come."""
        if (
            host.is_up is not False
            and host.signal_connection_failure(error)
            and not self._has_pool(host)
        ):
            self._mark_down(host, error)

    def _has_pool(self, host: Host) -> bool:
        return any(host in session.pools for session in self.sessions)

    def _is_served(self, host: Host) -> bool:
        """Whether each session that wants connections to `host` has some."""
        return all(
            host in session.pools or session.distance(host) == HostDistance.IGNORED
            for session in self.sessions
        )

    def _mark_down(self, host: Host, reason: Any) -> None:
        if host.is_up is not False:
            log.warning("host %s is down: %s", host, reason)
            host.set_down()
            self._tell("on_down", host)

    def give_up(self, host: Host) -> None:
        """No further try is made to reach `host`, until the cluster says that it is up."""
        if not self._has_pool(host):
            self._mark_down(host, "it is not tried any more")
            host.force_down()

    def knows(self, host: Host) -> bool:
        """Whether `host` has not left the cluster, or been replaced."""
        return self.metadata.get_host(host.endpoint) is host

    def is_ignored(self, host: Host) -> bool:
        """Whether no policy wants connections to `host` at the moment."""
        return bool(self.sessions) and all(
            session.distance(host) == HostDistance.IGNORED for session in self.sessions
        )

    def look_again(self) -> None:
        """The cluster may have said unheard that hosts are up: those that are down are tried at
        once.
        """
        for host in self.metadata.all_hosts():
            if host.state == "forced down" and host not in self._reconnectors:
                self._reconnectors[host] = Reconnector(self, host)
            if host.is_up is False:
                self.on_up_event(host)

    def on_up_event(self, host: Host) -> None:
        """The cluster says that `host` is up."""
        reconnector = self._reconnectors.get(host)
        if reconnector is not None:
            reconnector.hurry()
        elif host.is_up is not True:
            self.spawn(self.bring_up(host))

    def on_down_event(self, host: Host) -> None:
        """The cluster says that `host` is down: believed only where no connection to it is open."""
        if self._has_pool(host):
            return
        error = ConnectionException(f"the cluster says that {host} is down")
        if self.is_ignored(host):
            self._mark_down(host, error)  # and it is not tried: the cluster will say when it is up
        else:
            self.on_connection_failure(host, error)

    async def bring_up(self, host: Host) -> bool:
        """Open the pools to a host that answers again, or is new; false where one that is wanted
        could not be opened.
        """
        if not self.knows(host):
            return True
        if not self.sessions:
            self._mark_up(host)
            return True
        await self._add_pools(host)
        if host.is_up is False and self.knows(host) and self.is_ignored(host):
            # Policies leave out hosts that are down: whether this one is wanted shows when they
            # know that it is up.
            self._mark_up(host)
            await self._add_pools(host)
        if host.is_up and self.settings.reprepare_on_up:
            await self.preparer.prepare_all_on(host)
        return self._is_served(host) or not self.knows(host)

    async def _add_pools(self, host: Host) -> None:
        await asyncio.gather(*(session.add_pool(host) for session in list(self.sessions)))

    def forget_reconnector(self, reconnector: Reconnector) -> None:
        """`reconnector` has come to its end."""
        if self._reconnectors.get(reconnector.host) is reconnector:
            del self._reconnectors[reconnector.host]

    # -- heartbeats --------------------------------------------------------------------------------

    async def _beat(self) -> None:
        """Ask connections that were idle for an interval; one that does not answer in time is
        closed.
        """
        interval = self.settings.idle_heartbeat_interval
        while True:
            await asyncio.sleep(interval)
            idle_since = self.loop.time() - interval
            idle = [
                connection
                for connection in self._all_connections()
                if connection.last_activity <= idle_since
            ]
            if idle:
                await asyncio.gather(*map(self._beat_once, idle))

    def _all_connections(self) -> list[Connection]:
        connections = [
            connection
            for session in self.sessions
            for pool in session.pools.values()
            for connection in pool.connections
        ]
        if self.control.connection is not None:
            connections.append(self.control.connection)
        return connections

    async def _beat_once(self, connection: Connection) -> None:
        timeout = self.settings.idle_heartbeat_timeout
        try:
            read_answer(connection, OPTIONS, None, *await connection.request(OPTIONS, b"", timeout))
        except asyncio.TimeoutError:
            connection.close(
                ConnectionException(
                    f"{connection.endpoint} did not answer a heartbeat within {timeout} s",
                    connection.endpoint,
                )
            )
        except ProtocolError:
            pass  # closed already
        except ConnectionException as error:
            # Closed meanwhile, or without a free stream: and no answer has come for a whole
            # interval.
            connection.close(error)
