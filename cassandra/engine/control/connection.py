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
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from cassandra.engine.failures import fault_among
from cassandra.engine.hosts.debouncing import Debouncer
from cassandra.engine.waiting import within
from cassandra.errors import (
    AuthenticationFailed,
    ConnectionException,
    ConnectionShutdown,
    DriverException,
    LoginRefused,
    NoHostAvailable,
)
from cassandra.protocol.messages.control import RegisterMessage
from cassandra.protocol.messages.decode import decode_response

if TYPE_CHECKING:
    from random import Random

    from cassandra.engine.background import Spawn
    from cassandra.engine.connection import Connection
    from cassandra.engine.control.contacts import Contacts
    from cassandra.engine.control.internal_queries import Send
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.hosts.topology import NodeList
    from cassandra.engine.settings import Settings
    from cassandra.metadata.host import Host

__all__ = ["ControlConnection"]

log = logging.getLogger("cassandra.cluster")

EventHandler = Callable[[Mapping[str, Any]], None]

# After so many connections that lived for less than so many seconds, the next one is not opened at
# once.
MOST_SHORT_LIVES = 3
SHORT_LIFE = 1.0


class NodeLists(Protocol):
    """A reader of the node list: `cassandra.engine.hosts.node_list.NodeListReader`."""

    async def prepare(self, connection: Connection) -> None:
        """Read the node list that is needed before `connection` registers for events."""

    async def read(self, connection: Connection, endpoint: EndPoint) -> NodeList:
        """Read the node list, through `connection` to `endpoint`."""


class Hosts(Protocol):
    """The part that acts on the node list: `cassandra.engine.hosts.watch.HostWatch`."""

    def take_node_list(self, node_list: NodeList, rebuild: bool = False) -> None:
        """Swap the snapshot of the hosts, and act on the changes."""

    def recheck(self) -> None:
        """Events that say which hosts are up may have been missed."""

    def on_connection_failure(self, host: Host, error: Exception) -> None:
        """A connection to `host` broke."""


class SchemaWatch(Protocol):
    """The part that keeps the schema: `cassandra.engine.schema.refreshing.SchemaRefresher`."""

    enabled: bool

    async def on_connected(self, connection: Connection, local: Host) -> None:
        """The first control connection is open."""

    def on_moved(self, local: Host) -> None:
        """Read changes that may have come while the control connection moved."""


class ControlConnection:
    """Owns the connection, and brings hosts and schema up to date with the events that come over
    it.

    Its events go to `handlers`, by their type; it registers for these types and no others.
    `on_adopted` is called with each connection that comes into use.

    :param open_connection: opens a connection to an end point.
    :param send: sends a request of the engine's own on a connection.
    :param contacts: tells where to try.
    :param node_lists: reads the node list.
    :param spawn: runs a coroutine in the background.
    :param random: spreads the reading of the node list; None for numbers of the process.
    """

    def __init__(
        self,
        settings: Settings,
        open_connection: Callable[[EndPoint], Awaitable[Connection]],
        send: Send,
        contacts: Contacts,
        node_lists: NodeLists,
        hosts: Hosts,
        schema: SchemaWatch,
        spawn: Spawn,
        random: Random | None = None,
    ) -> None:
        self._settings = settings
        self._open = open_connection
        self._send = send
        self._contacts = contacts
        self._node_lists = node_lists
        self._hosts = hosts
        self._schema = schema
        self._spawn = spawn
        # Set by the core: some of those that handle events are made after this.
        self.handlers: Mapping[str, EventHandler] = {}
        self.on_adopted: Callable[[Connection], None] = _nothing
        self.connection: Connection | None = None
        self.host: Host | None = None
        self._connected_at = 0.0
        self._short_lives = 0
        self._delays: Iterator[float] = iter(())  # between the tries to come back
        self._reconnecting: asyncio.Task[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._refresh_missed = False  # it was due while there was no connection
        # The window is asked for each time: programs may change it while they are connected.
        self._debouncer = Debouncer(
            lambda: settings.topology_event_refresh_window, self._start_refresh, random
        )
        # Ends the wait between two tries.
        self._host_is_up = asyncio.Event()
        self._closed = False

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
        await self._connect_to_one(await self._contacts.first())

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
        # `errors` has the exceptions: a chain would show the engine's frames for each of them.
        raise kind(problem, errors) from fault_among(errors.values())

    async def _connect_to(self, endpoint: EndPoint) -> None:
        connection = await self._open(endpoint)
        try:
            await self._node_lists.prepare(connection)
            # Before REGISTER: the first event may come together with the answer to it.
            connection.on_event = partial(self._on_event, connection.version)
            # Before the node list is read: a change after the reading is then told by an event.
            message = RegisterMessage(list(self.handlers))
            await self._send(
                connection, message.opcode, message.body(connection.version), "REGISTER"
            )
            node_list = await self._node_lists.read(connection, endpoint)
            # At the first connection, connect() waits for the schema. Later ones only look if it
            # changed.
            if self.host is None:
                await self._schema.on_connected(connection, node_list.local)
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
        self._connected_at = asyncio.get_running_loop().time()
        # Before the node list is acted on: what listeners send then goes in the new wire format.
        self.on_adopted(connection)
        connection.on_closed = self._on_closed
        if previous is not None:
            # This end is wanted: it must not count as a failure of the host.
            previous.on_closed = None
            previous.close()
        self._hosts.take_node_list(node_list)
        if has_moved:
            self._schema.on_moved(node_list.local)
            self._hosts.recheck()
        if self._refresh_missed:
            # Told of after REGISTER, and perhaps after the rows were read.
            self._refresh_missed = False
            self.schedule_refresh()
        # It may have broken before `on_closed` was set: nobody else would report that.
        if connection.closed:
            self._on_closed(connection, connection.close_error)

    # -- the node list -----------------------------------------------------------------------------

    async def refresh_nodes(self, rebuild: bool = False) -> None:
        """Read the node list again, now.

        :param rebuild: compute the placement of partitions again, even if no token has changed.
        """
        connection, host = self.required(), self.host
        assert host is not None
        node_list = await self._node_lists.read(connection, host.endpoint)
        # The connection may have moved meanwhile, and then its host is another one.
        if connection is self.connection:
            self.host = node_list.local
        self._hosts.take_node_list(node_list, rebuild)

    def on_topology_change(self, event: Mapping[str, Any]) -> None:
        """The node list has changed: read it again soon."""
        if self._settings.topology_event_refresh_window >= 0:
            self.schedule_refresh()

    def schedule_refresh(self) -> None:
        """Read the node list soon: once for a burst of events, and within
        `topology_event_refresh_window` of its first one.
        """
        # The switch of all metadata is for the node list, too.
        if self._schema.enabled:
            self._debouncer.add()

    def _start_refresh(self) -> None:
        if self._closed:
            return
        if self.connection is None:
            self._refresh_missed = True
            return
        if self._refreshing is not None and not self._refreshing.done():
            # The reading under way may have begun before the event: one more has to follow it.
            self.schedule_refresh()
            return
        self._refreshing = self._spawn(self._refresh_quietly())

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

    # -- events ------------------------------------------------------------------------------------

    def _on_event(self, version: int, opcode: int, flags: int, body: bytes) -> None:
        event = decode_response(opcode, flags, body, version, None)
        log.debug("event from the control connection: %s %s", event.event_type, event.event_args)
        handler = self.handlers.get(event.event_type)
        if handler is not None:
            handler(event.event_args)

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
            self._hosts.on_connection_failure(self.host, error)
        if self._reconnecting is None or self._reconnecting.done():
            self._reconnecting = self._spawn(self._reconnect())

    async def _reconnect(self) -> None:
        lived = asyncio.get_running_loop().time() - self._connected_at
        self._short_lives = self._short_lives + 1 if lived < SHORT_LIFE else 0
        if self._short_lives <= MOST_SHORT_LIVES:
            self._delays = iter(self._settings.reconnection_policy.new_schedule())
        else:
            # Accepted, read and dropped at once, again and again, would be a storm.
            self._host_is_up.clear()
            await self._wait(_next_delay(self._delays))
        while not self._closed:
            # Before the tries, not after them: a host that comes up meanwhile must end the wait
            # below.
            self._host_is_up.clear()
            try:
                await self._connect_to_one(self._contacts.candidates())
                if self.connection is not None:
                    log.info("the control connection is at %s now", self.host)
                    return
                delay = _next_delay(self._delays)  # it was gone before it was in use
            except NoHostAvailable as error:
                await self._contacts.find_again()
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

    async def _wait(self, delay: float) -> None:
        """Wait so many seconds, or until a host is up."""
        try:
            await within(delay, self._host_is_up.wait())
        except asyncio.TimeoutError:
            pass

    def on_host_up(self) -> None:
        """A host answers: if the connection is lost, try to make it again at once."""
        self._host_is_up.set()

    def close(self) -> None:
        """Close for good."""
        # First: `_on_closed` of the connection below would start to reconnect.
        self._closed = True
        self._debouncer.cancel()
        for task in (self._reconnecting, self._refreshing):
            if task is not None:
                task.cancel()
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def _next_delay(schedule: Iterator[float], at_the_end: float = 60.0) -> float:
    """The schedule's next delay in seconds; the control connection never gives up, so past its end
    a constant one.
    """
    return next(schedule, at_the_end)


def _nothing(connection: Connection) -> None:
    pass
