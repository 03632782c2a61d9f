"""The control connection: one connection that the node list, the events and the schema versions
come over.

When its host goes, it moves on: hosts known to be up first, then the others, then the contact
points anew (names are resolved again). Hosts that the policies ignore are left alone. After every
move the node list is read again, so that nothing that happened in between is missed; so is the
schema, if its version is another one.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cassandra.engine.connection import Connection
from cassandra.engine.endpoint import EndPoint
from cassandra.engine.hosts.topology import (
    LOCAL_QUERY,
    PEERS_QUERY,
    PEERS_V2_QUERY,
    NodeList,
    is_complete,
)
from cassandra.errors import (
    AuthenticationFailed,
    ConnectionException,
    ConnectionShutdown,
    DriverException,
    InvalidRequest,
    LoginRefused,
    NoHostAvailable,
)
from cassandra.metadata.host import Host
from cassandra.protocol.messages.control import RegisterMessage
from cassandra.protocol.messages.decode import decode_response

if TYPE_CHECKING:
    from cassandra.engine.core import Core

log = logging.getLogger("cassandra.cluster")

EVENT_TYPES = ("TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE")
ROUTES_EVENT_TYPE = "CLIENT_ROUTES_CHANGE"  # of ScyllaDB
# After so many connections that lived for less than so many seconds, the next one is not opened at
# once.
MOST_SHORT_LIVES = 3
SHORT_LIFE = 1.0
# seconds after the last of a burst of events; how far clients spread, so that not all come at once
REFRESH_DELAY = 0.2


class ControlConnection:
    """Owns the connection, and brings the core's view up to date with what comes over it."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.connection: Connection | None = None
        self.host: Host | None = None
        self._has_peers_v2 = True
        self._connected_at = 0.0
        self._short_lives = 0
        self._delays: Iterator[float] = iter(())  # between the tries to come back
        self._reconnecting: asyncio.Task[None] | None = None
        self._refresh_handle: asyncio.TimerHandle | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._refresh_by = 0.0  # the loop's time that a refresh is not put off beyond
        self._refresh_missed = False  # it was due while there was no connection
        self._rumours: dict[Host, asyncio.TimerHandle] = {}
        self._host_is_up = asyncio.Event()
        self._closed = False
        routes = core.settings.client_routes
        self._routes = routes.watched_by(core) if routes is not None else None

    @property
    def current_host(self) -> Host | None:
        """The host that the connection is at; None while it is being moved."""
        return self.host if self.connection is not None else None

    def required(self) -> Connection:
        """The connection; an exception that says why there is none."""
        if self._closed:
            raise ConnectionShutdown("the cluster is shut down")
        if self.connection is None:
            raise ConnectionException("there is no control connection at the moment")
        return self.connection

    # -- connecting --------------------------------------------------------------------------------

    async def connect(self) -> None:
        """Connect to the first contact point that answers.

        :raises NoHostAvailable: with the error of each, if none does.
        """
        settings = self._core.settings
        if not settings.endpoints and settings.find_endpoints is not None:
            settings.endpoints = await self._core.connector.in_thread(settings.find_endpoints)
        endpoints = list(settings.endpoints)
        # Many clients have the same list: they must not all come to its first node.
        random.shuffle(endpoints)
        await self._connect_to_one(endpoints)

    async def _connect_to_one(self, endpoints: list[EndPoint]) -> None:
        errors: dict[str, Exception] = {}
        kind = NoHostAvailable
        for endpoint in endpoints:
            try:
                await self._connect_to(endpoint)
                return
            except (DriverException, OSError, asyncio.TimeoutError) as error:
                errors[str(endpoint)] = error
                log.debug("the control connection to %s failed: %s", endpoint, error)
                if isinstance(error, AuthenticationFailed):
                    # The next host would refuse the same credentials, and some count the tries.
                    kind = LoginRefused
                    break
            except Exception as error:
                # A name that no resolver takes, system tables of other types: whatever it is, the
                # other hosts may serve.
                errors[str(endpoint)] = error
                log.warning(
                    "the control connection to %s failed: %r", endpoint, error, exc_info=True
                )
        problem = "Unable to connect to any servers" if endpoints else "There are no contact points"
        failure = kind(problem, errors)
        failure.__cause__ = next(reversed(errors.values()), None)
        raise failure

    async def _connect_to(self, endpoint: EndPoint) -> None:
        connection = await self._core.open_connection(endpoint, is_control=True)
        try:
            if self._routes is not None:
                # Before REGISTER: a server without routes would not know their event.
                await self._routes.read(connection)
            # Before REGISTER: the first event may come together with the answer to it.
            connection.on_event = self._on_event
            # Before the node list is read: a change after the reading is then told by an event.
            await self._register(connection)
            node_list = await self._read_nodes(connection, endpoint)
            # At the first connection, connect() waits for the schema. Later ones only look if it
            # changed.
            if self.host is None:
                await self._core.schema.on_connected(connection, node_list.local)
        except BaseException:
            connection.close()
            raise
        # The cluster may have been shut down during the waits above.
        if self._closed:
            connection.close()
            return
        has_moved = self.host is not None
        previous, self.connection = self.connection, connection
        self.host = node_list.local
        self._connected_at = self._core.loop.time()
        self._core.wire_format = connection.wire_format
        connection.on_closed = self._on_closed
        if previous is not None:
            # This end is wanted: it must not count as a failure of the host.
            previous.on_closed = None
            previous.close()
        self._core.hosts.take_node_list(node_list)
        if has_moved:
            self._core.schema.on_moved(node_list.local)
            self._core.hosts.look_again()
        if self._routes is not None:
            self._routes.catch_up()
        if self._refresh_missed:
            # Told of after REGISTER, and perhaps after the rows were read.
            self._refresh_missed = False
            self.schedule_refresh()
        # It may have broken before `on_closed` was set: nobody else would report that.
        if connection.closed:
            self._on_closed(connection, connection.close_error)

    async def _register(self, connection: Connection) -> None:
        further = (ROUTES_EVENT_TYPE,) if self._routes is not None else ()
        message = RegisterMessage([*EVENT_TYPES, *further])
        await self._core.asker.ask(
            connection, message.opcode, message.body(connection.version), "REGISTER"
        )

    async def _read_nodes(self, connection: Connection, endpoint: EndPoint) -> NodeList:
        if self._routes is not None:
            # A node that has joined is reached by its route.
            await self._routes.read_again(connection)
        local_rows, peer_rows = await asyncio.gather(
            self._core.asker.rows(connection, LOCAL_QUERY), self._read_peers(connection)
        )
        if not local_rows:
            raise ConnectionException(
                f"{endpoint} has an empty system.local table: it is not ready", endpoint
            )
        local = local_rows[0]
        metadata = self._core.metadata
        metadata.cluster_name = local.get("cluster_name")
        metadata.partitioner = local.get("partitioner")
        peers = [row for row in peer_rows if is_complete(row)]
        endpoints = [
            await self._core.places.of_local(endpoint, local),
            *await self._core.places.of_rows(peers),
        ]
        rows = zip(endpoints, [local, *peers], strict=True)
        conviction = self._core.settings.conviction_policy_factory
        return NodeList(rows, metadata.all_hosts(), lambda endpoint: Host(endpoint, conviction))

    async def _read_peers(self, connection: Connection) -> list[dict[str, Any]]:
        if self._has_peers_v2:
            try:
                return await self._core.asker.rows(connection, PEERS_V2_QUERY)
            except InvalidRequest:
                self._has_peers_v2 = False  # Cassandra before 4.0, ScyllaDB
        return await self._core.asker.rows(connection, PEERS_QUERY)

    async def refresh_nodes(self, rebuild: bool = False) -> None:
        """Read the node list again, now.

        :param rebuild: compute the placement of partitions again, even if no token has changed.
        """
        connection, host = self.required(), self.host
        assert host is not None
        node_list = await self._read_nodes(connection, host.endpoint)
        # The connection may have moved meanwhile, and then its host is another one.
        if connection is self.connection:
            self.host = node_list.local
        if rebuild:
            self._core.metadata.forget_placement()
        self._core.hosts.take_node_list(node_list)

    # -- events ------------------------------------------------------------------------------------

    def _on_event(self, opcode: int, flags: int, body: bytes) -> None:
        connection = self.connection
        # Events may come before the connection is adopted, see `_connect_to`.
        version = connection.version if connection is not None else self._core.protocol_version
        event = decode_response(opcode, flags, body, version, None)
        log.debug("event from the control connection: %s %s", event.event_type, event.event_args)
        handlers = {
            "STATUS_CHANGE": self._on_status_change,
            "TOPOLOGY_CHANGE": self._on_topology_change,
            "SCHEMA_CHANGE": self._core.schema.on_event,
        }
        if self._routes is not None:
            handlers[ROUTES_EVENT_TYPE] = self._routes.on_event
        handler = handlers.get(event.event_type)
        if handler is not None:
            handler(event.event_args)

    def _on_status_change(self, args: Mapping[str, Any]) -> None:
        window = self._core.settings.status_event_refresh_window
        if window < 0:
            return
        address, port = args["address"]
        host = self._core.metadata.get_host(str(address), port) or self._core.metadata.get_host(
            str(address)
        )
        if host is None:
            # A node that is not in the list yet: reading the list says what it is.
            self._on_topology_change(args)
            return
        # The last word of a burst counts: a node that restarts is told of several times.
        earlier = self._rumours.pop(host, None)
        if earlier is not None:
            earlier.cancel()
        act = (
            self._core.hosts.on_said_up
            if args["change_type"] == "UP"
            else self._core.hosts.on_said_down
        )
        self._rumours[host] = self._core.loop.call_later(
            _spread(window), self._act_on_rumour, host, act
        )

    def _act_on_rumour(self, host: Host, act: Callable[[Host], None]) -> None:
        self._rumours.pop(host, None)
        # The host may have left the cluster during the delay.
        if not self._closed and self._core.hosts.knows(host):
            act(host)

    def _on_topology_change(self, args: Mapping[str, Any]) -> None:
        if self._core.settings.topology_event_refresh_window >= 0:
            self.schedule_refresh()

    def schedule_refresh(self) -> None:
        """Read the node list soon: once for a burst of events, and within
        `topology_event_refresh_window` of its first one.
        """
        if not self._core.schema.enabled:
            return
        now = self._core.loop.time()
        window = max(self._core.settings.topology_event_refresh_window, 0.0)
        if self._refresh_handle is not None:
            self._refresh_handle.cancel()
        else:
            # Set by the first event: a steady stream of them must not put the refresh off for ever.
            self._refresh_by = now + window
        delay = min(REFRESH_DELAY + _spread(window), max(self._refresh_by - now, 0.0))
        self._refresh_handle = self._core.loop.call_later(delay, self._start_refresh)

    def _start_refresh(self) -> None:
        self._refresh_handle = None
        if self._closed:
            return
        if self.connection is None:
            self._refresh_missed = True
            return
        if self._refreshing is not None and not self._refreshing.done():
            # The reading under way may have begun before the event: one more has to follow it.
            self.schedule_refresh()
            return
        self._refreshing = self._core.spawn(self._refresh_quietly())

    async def _refresh_quietly(self) -> None:
        try:
            await self.refresh_nodes()
        except (DriverException, OSError, asyncio.TimeoutError) as error:
            log.warning("the node list could not be read again: %s", error)
            # A connection that cannot answer this is of no use for events either.
            if self.connection is not None:
                self.connection.close(
                    ConnectionException(f"the node list could not be read: {error}")
                )

    # -- moving on ---------------------------------------------------------------------------------

    def _on_closed(self, connection: Connection, error: Exception | None) -> None:
        # The end of a connection that was replaced is not a loss.
        if self._closed or connection is not self.connection:
            return
        log.info(
            "the control connection to %s is gone (%s): it moves on", connection.endpoint, error
        )
        self.connection = None
        if self.host is not None and error is not None:
            self._core.hosts.on_connection_failure(self.host, error)
        if self._reconnecting is None or self._reconnecting.done():
            self._reconnecting = self._core.spawn(self._reconnect())

    async def _reconnect(self) -> None:
        lived = self._core.loop.time() - self._connected_at
        self._short_lives = self._short_lives + 1 if lived < SHORT_LIFE else 0
        if self._short_lives <= MOST_SHORT_LIVES:
            self._delays = iter(self._core.settings.reconnection_policy.new_schedule())
        else:
            # Accepted, read and dropped at once, again and again, would be a storm.
            self._host_is_up.clear()
            await self._wait(_next_delay(self._delays))
        while not self._closed:
            # Before the tries, not after them: a host that comes up meanwhile must end the wait
            # below.
            self._host_is_up.clear()
            try:
                await self._connect_to_one(self._candidates())
                if self.connection is not None:
                    log.info("the control connection is at %s now", self.host)
                    return
                delay = _next_delay(self._delays)  # it was gone before it was in use
            except NoHostAvailable as error:
                await self._find_endpoints()
                delay = _next_delay(self._delays)
                log.warning(
                    "the control connection found no host, next try in %.1f s: %s", delay, error
                )
            except Exception:
                delay = _next_delay(self._delays)
                log.exception(
                    "the control connection could not be moved, next try in %.1f s", delay
                )
            await self._wait(delay)

    async def _find_endpoints(self) -> None:
        """Ask again where the nodes are, if there is somebody to ask."""
        settings = self._core.settings
        if settings.find_endpoints is None:
            return
        try:
            settings.named_endpoints = await self._core.connector.in_thread(settings.find_endpoints)
        except Exception as error:
            log.warning("it could not be found out where the nodes are: %s", error)

    async def _wait(self, delay: float) -> None:
        """Wait so many seconds, or until a host is up."""
        try:
            await asyncio.wait_for(self._host_is_up.wait(), delay)
        except asyncio.TimeoutError:
            pass

    def on_host_up(self) -> None:
        """A host answers: if the connection is lost, try to make it again at once."""
        self._host_is_up.set()

    def _candidates(self) -> list[EndPoint]:
        hosts = [
            host
            for host in self._core.metadata.all_hosts()
            if not self._core.hosts.is_ignored(host)
        ]
        random.shuffle(hosts)
        # The sort is stable: hosts in the same state stay in random order.
        hosts.sort(key=lambda host: host.is_up is not True)
        endpoints = [host.endpoint for host in hosts]
        # Names last: by now they may stand for other addresses.
        settings = self._core.settings
        for endpoint in (*settings.endpoints, *settings.named_endpoints):
            if endpoint not in endpoints:
                endpoints.append(endpoint)
        return endpoints

    def close(self) -> None:
        """Close for good."""
        # First: `_on_closed` of the connection below would start to reconnect.
        self._closed = True
        for handle in (self._refresh_handle, *self._rumours.values()):
            if handle is not None:
                handle.cancel()
        for task in (self._reconnecting, self._refreshing):
            if task is not None:
                task.cancel()
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def _spread(window: float) -> float:
    """Return a random part of a window in seconds, so that not all clients come at once."""
    return random.uniform(0.0, min(window, REFRESH_DELAY))


def _next_delay(schedule: Iterator[float], at_the_end: float = 60.0) -> float:
    """The schedule's next delay in seconds; the control connection never gives up, so past its end
    a constant one.
    """
    return next(schedule, at_the_end)
