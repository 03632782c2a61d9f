"""The control connection of a cluster.

On this connection the driver reads the node list and the schema, and receives events.

When the host of the control connection fails, the control connection moves: the driver opens a
connection to another host. The driver first tries hosts that are up, then other hosts, then the
contact points, whose names are resolved again. Hosts that the load balancing policies ignore are
not used. Events may have been missed during a move. So the node list is read again afterwards, and
the schema is read again if its version differs.

A contact point may be a node that has left the cluster and still answers, or its address may belong
to another cluster by now. So if it is not one of the known nodes, the driver goes on trying these:
see `_refuse_strangers`.

The control connection also moves if its host announces that it will stop soon. If another host is
found, the old connection stays open until its requests are answered. Otherwise it is closed at
once, because the stopping node waits for that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from cassandra._clocks import wall_time_ns
from cassandra._logs import Log
from cassandra.cqltypes.failures import add_note
from cassandra.engine.failures import fault_among, refuses_login
from cassandra.engine.hosts.debouncing import Debouncer
from cassandra.engine.randomness import generator_or_default
from cassandra.engine.waiting import within
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    DriverException,
    LoginRefused,
    NoHostAvailable,
)
from cassandra.policies.reconnection import delays_of
from cassandra.protocol.messages.control import RegisterMessage
from cassandra.protocol.messages.decode import decode_response

if TYPE_CHECKING:
    from random import Random
    from uuid import UUID

    from cassandra.engine.background import Spawn
    from cassandra.engine.connection import Connection
    from cassandra.engine.control.contacts import Contacts
    from cassandra.engine.control.doubts import NodeDoubts
    from cassandra.engine.control.internal_queries import Send
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.hosts.topology import NodeList
    from cassandra.engine.settings import Settings
    from cassandra.metadata.host import Host

log = Log("cassandra.cluster")

EventHandler = Callable[[Mapping[str, Any]], None]

# If more than this many control connections in a row were lost within SHORT_LIFE, wait before
# opening the next one.
MOST_SHORT_LIVES = 3
SHORT_LIFE = 1.0  # seconds

# While only nodes that are not known answer at the IP addresses of contact points, the known nodes
# are tried for this time, before the list of such a node replaces them.
STRANGERS_WAIT = 120.0  # seconds

# If user code, such as a listener, raises an error for a new node list, read the list again after
# this time.
NEXT_REFRESH = 10.0  # seconds

# While no host can be reached, a repeated reason is logged at WARNING at most once in this time
# (seconds). At most MOST_REASONS different reasons count as new, because error texts may contain
# changing numbers.
REMINDER_INTERVAL = 60.0
MOST_REASONS = 10

# A note for the error of `connect`, if all end points have rejected the connection.
_NOBODY_LISTENS = (
    "(no server listens there. Has Cassandra started, and are these its rpc_address and "
    "native_transport_port? In a container, 127.0.0.1 is the container itself: write the name of "
    "the other container or service)"
)


class NodeLists(Protocol):
    """Reads the node list; see `cassandra.engine.hosts.node_list.NodeListReader`."""

    async def prepare(self, connection: Connection) -> None:
        """Send the queries that must be answered before `connection` registers for events."""

    async def read(self, connection: Connection, endpoint: EndPoint) -> NodeList:
        """Read the node list through `connection`, which is connected to `endpoint`."""


class Hosts(Protocol):
    """Adds, removes and updates hosts; see `cassandra.engine.hosts.watch.HostWatch`."""

    def take_node_list(self, node_list: NodeList, rebuild: bool = False) -> None:
        """Update the hosts from `node_list`, and notify listeners of the changes."""

    def recheck(self) -> None:
        """Check hosts that are down, because events about hosts may have been missed."""

    def on_connection_failure(self, host: Host, error: Exception) -> None:
        """Called when a connection to `host` broke."""


class SchemaWatch(Protocol):
    """Keeps the schema up to date; see `cassandra.engine.schema.refreshing.SchemaRefresher`."""

    enabled: bool

    async def on_connected(self, connection: Connection, local: Host) -> None:
        """Read the schema, because the first control connection is open."""

    def on_moved(self, local: Host) -> None:
        """Read the schema again if it has changed, because events may have been missed.

        Called when the control connection has moved to another host.
        """


class ControlConnection:
    """Opens the control connection, moves it to another host if needed, and handles its events.

    `handlers` maps event types to callbacks; each control connection registers for these types.
    `on_adopted` is called with each new control connection. `on_lost` is called with a connection
    that was lost and the cause (None if the driver has closed the connection on purpose).

    :param open_connection: opens a connection to an end point.
    :param send: sends an internal request on a connection.
    :param contacts: chooses the end points to try.
    :param node_lists: reads the node list.
    :param hosts: updates the hosts from the node list.
    :param schema: reads the schema when the connection is open, and after it has moved.
    :param doubts: tells whether the node list must be read again.
    :param spawn: runs a coroutine in the background.
    :param random: chooses the delays before the node list is read; None uses the process-wide
        generator.
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
        doubts: NodeDoubts,
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
        self._doubts = doubts
        self._spawn = spawn
        self._random = random
        # The core sets these callbacks, because some event handlers are created after this object.
        self.handlers: Mapping[str, EventHandler] = {}
        self.on_adopted: Callable[[Connection], None] = _nothing
        self.on_lost: Callable[[Connection, Exception | None], None] = _nothing
        # The control connection; None while it moves to another host. `host` is the host of the
        # current control connection, or else of the last one; None before the first connection.
        self.connection: Connection | None = None
        self.host: Host | None = None
        self._connected_at = 0.0  # the loop's time when a connection was last opened
        # The loop's time when the list of a node that is not known was first refused; None if none
        # was since the last control connection was adopted.
        self._strangers_since: float | None = None
        self._short_lives = 0  # the number of connections in a row that were lost within SHORT_LIFE
        self._delays: Iterator[float] = iter(())  # the next delays between attempts to reconnect
        # The tasks that connect to another host, that read the node list, and that wait before they
        # read it again after an error; None before the first such task. A task may have ended.
        self._reconnecting: asyncio.Task[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._refreshing_later: asyncio.Task[None] | None = None
        # The timer that reads the node list again because of doubts; None without doubts.
        self._doubt_timer: asyncio.TimerHandle | None = None
        # The previous connection, if its host will stop soon. It is closed when it is idle.
        self._draining_connection: Connection | None = None
        # True if the node list should have been read while there was no connection.
        self._refresh_missed = False
        # Pass `topology_event_refresh_window` as a function, because applications may change this
        # setting while they are connected.
        self._debouncer = Debouncer(
            lambda: settings.topology_event_refresh_window, self._start_refresh, random
        )
        # Set when a host comes up; interrupts the wait between two attempts to reconnect.
        self._host_is_up = asyncio.Event()
        self._outage = _OutageLog()
        self._closed = False

    @property
    def current_host(self) -> Host | None:
        """The host of the control connection; None if there is no control connection now."""
        return self.host if self.connection is not None else None

    def required(self) -> Connection:
        """Return the control connection; raise an error with the reason if there is none."""
        if self._closed:
            raise ConnectionShutdown("the cluster is shut down")
        if self.connection is None:
            raise ConnectionException("there is no control connection at the moment")
        return self.connection

    # -- connecting --------------------------------------------------------------------------------

    async def connect(self) -> None:
        """Connect to the first contact point that can be reached.

        :raises NoHostAvailable: with the error of each contact point, if no contact point can be
            reached.
        """
        endpoints = await self._contacts.first()
        await self._connect_to_any(endpoints)
        if self._settings.topology_event_refresh_window >= 0:
            self._doubts.note_contact_points(endpoints)
            self._watch_doubts()

    async def _connect_to_any(self, endpoints: list[EndPoint]) -> None:
        """Try the end points in order until one of them can be used.

        :raises NoHostAvailable: with the error of each end point, if no end point can be used.
        """
        errors: dict[str, Exception] = {}
        error_class = NoHostAvailable
        for endpoint in endpoints:
            try:
                await self._connect_to(endpoint)
                return
            except (DriverException, OSError, asyncio.TimeoutError) as error:
                errors[str(endpoint)] = error
                log.debug("the control connection to %s failed: %s", endpoint, error)
                if refuses_login(error):
                    # Other hosts would reject the same credentials, and some servers count failed
                    # logins. So do not try other hosts.
                    error_class = LoginRefused
                    break
            except Exception as error:
                # For example, the host's system tables have unexpected content. Other hosts may
                # work, so continue.
                errors[str(endpoint)] = error
                log.warning(
                    "the control connection to %s failed: %r", endpoint, error, exc_info=True
                )
        problem = "Unable to connect to any servers" if endpoints else "There are no contact points"
        failure = error_class(problem, errors)
        if errors and all(
            isinstance(error.__cause__, ConnectionRefusedError) for error in errors.values()
        ):
            add_note(failure, _NOBODY_LISTENS)
        # Set only a programming error as the cause. The message lists all other errors, whose
        # tracebacks would only show frames of the engine.
        raise failure from fault_among(errors.values())

    async def _connect_to(self, endpoint: EndPoint) -> None:
        """Open a connection to `endpoint`, and make it the control connection.

        Before that, register for events and read the node list.
        """
        connection = await self._open(endpoint)
        try:
            await self._node_lists.prepare(connection)
            # Set `on_event` before sending REGISTER, because the server may send the first event
            # together with the response.
            connection.on_event = partial(self._on_event, connection.version)
            # Register before reading the node list, so that an event reports every later change.
            message = RegisterMessage(list(self.handlers))
            await self._send(
                connection, message.opcode, message.body(connection.version), "REGISTER"
            )
            node_list = await self._node_lists.read(connection, endpoint)
            self._refuse_strangers(endpoint, node_list)
            # For the first connection, `connect` waits until the schema has been read. If the
            # control connection has moved to another host, `on_moved` reads the schema only if its
            # version differs.
            if self.host is None:
                await self._schema.on_connected(connection, node_list.local)
            if connection.is_draining:  # the host announced this during the waits above
                raise connection.refusal()
        except BaseException:
            connection.close()
            raise
        # The cluster may have been shut down during the waits above.
        if self._closed:
            connection.close()
        else:
            if node_list.is_strange:
                log.warning(
                    "%s was not one of the known nodes, of which none can be reached: its list of "
                    "nodes replaces theirs",
                    endpoint,
                )
            self._adopt(connection, node_list)

    def _refuse_strangers(self, endpoint: EndPoint, node_list: NodeList) -> None:
        """Raise an error if a node list must not replace the known nodes now.

        The list of a node that was removed from the cluster never does, although it may name other
        nodes as before. The list of a node that is not known does after STRANGERS_WAIT: then all
        nodes have probably been replaced. So does the list of a node whose removal only an event
        has told, because the next event, that it has joined again, may have been missed.

        :param endpoint: the end point from which the list was read.
        :raises ConnectionException: if the known nodes should be tried further.
        """
        if self._doubts.is_removed(node_list.local):
            raise ConnectionException(
                f"{endpoint} was removed from the cluster (if it has come back, and no other node "
                "can be reached, restart the application)",
                endpoint,
            )
        is_leaving = self._doubts.is_leaving(node_list.local)
        if not is_leaving and (
            not node_list.is_strange or self._contacts.leads_to_current_nodes(endpoint)
        ):
            return
        now = asyncio.get_running_loop().time()
        if self._strangers_since is None:
            self._strangers_since = now
        if now - self._strangers_since < STRANGERS_WAIT:
            reason = (
                "is being removed from the cluster"
                if is_leaving
                else "is not one of the known nodes: it may have left the cluster, or be another "
                "cluster's by now"
            )
            raise ConnectionException(f"{endpoint} {reason}", endpoint)

    def _adopt(self, connection: Connection, node_list: NodeList) -> None:
        """Make `connection` the control connection, and adopt the node list read from it."""
        has_moved = self.host is not None
        previous, self.connection = self.connection, connection
        self.host = node_list.local
        self._connected_at = asyncio.get_running_loop().time()
        self._strangers_since = None
        # Call `on_adopted` before `take_node_list`, which notifies listeners: the requests that
        # listeners send must already use the new wire format.
        self.on_adopted(connection)
        connection.on_closed = self._on_closed
        if previous is not None:
            self._close_previous(previous)
        self._take(node_list)
        if has_moved:
            self._schema.on_moved(node_list.local)
            self._hosts.recheck()
        if self._refresh_missed:
            # Read the node list again, because the missed event may have come after `node_list` was
            # read.
            self._refresh_missed = False
            self.schedule_refresh()
        # If the connection was lost before `on_closed` was set, nobody was notified.
        if connection.closed:
            self._on_closed(connection, connection.close_error)

    def _close_previous(self, previous: Connection) -> None:
        """Close the previous control connection, at once or when it is idle.

        If the connection's host will stop soon, the requests in flight are completed first.
        """
        # Remove the callback. We close the connection on purpose, and that must not count as a
        # failure of the host.
        previous.on_closed = None
        if not previous.is_draining:
            previous.close()
            return
        self._draining_connection = previous
        previous.on_event = None
        # `on_room` is called after each response, and `on_orphan` after each abandoned request.
        previous.on_room = previous.on_orphan = _close_if_idle
        previous.close_if_idle()

    # -- the node list -----------------------------------------------------------------------------

    async def refresh_nodes(self, rebuild: bool = False) -> None:
        """Read the node list now.

        :param rebuild: True to compute the replicas again even if no token has changed.
        """
        connection, host = self.required(), self.host
        assert host is not None
        node_list = await self._node_lists.read(connection, host.endpoint)
        # If the control connection has moved while the rows were read, keep its new host.
        if connection is self.connection:
            self.host = node_list.local
        self._take(node_list, rebuild)

    def _take(self, node_list: NodeList, rebuild: bool = False) -> None:
        """Pass on a node list; if there are doubts about it, read it again later."""
        self._doubts.take(node_list)
        self._hosts.take_node_list(node_list, rebuild)
        self._watch_doubts()

    def on_other_node(self, endpoint: EndPoint, host_id: UUID) -> None:
        """Called when the node at a host's end point has another id than the host.

        :param host_id: the id of the node.
        """
        self._doubts.note_identity(endpoint, host_id)
        self.schedule_refresh()

    def _watch_doubts(self) -> None:
        """Set the timer that reads the node list again if there are doubts about it."""
        if self._doubt_timer is not None:
            self._doubt_timer.cancel()
            self._doubt_timer = None
        delay = self._doubts.next_delay()
        if delay is not None and not self._closed:
            delay *= generator_or_default(self._random).uniform(1.0, 1.2)
            self._doubt_timer = asyncio.get_running_loop().call_later(delay, self._resolve_doubts)

    def _resolve_doubts(self) -> None:
        """Read the node list again, unless all doubts are resolved."""
        self._doubt_timer = None
        if self._doubts.are_left():
            self.schedule_refresh()

    def on_topology_change(self, event: Mapping[str, Any]) -> None:
        """Read the node list again soon, because the server has sent a topology event.

        A negative `topology_event_refresh_window` disables this.
        """
        if self._settings.topology_event_refresh_window >= 0:
            self._doubts.note_event(event)
            self.schedule_refresh()

    def schedule_refresh(self) -> None:
        """Read the node list after a delay of at most `topology_event_refresh_window` seconds.

        Further calls during the delay have no effect.
        """
        # `set_meta_refresh_enabled(False)` also disables reading the node list.
        if self._schema.enabled:
            self._debouncer.add()

    def _start_refresh(self) -> None:
        """Called by the debouncer: read the node list in the background, unless that is running."""
        if self._closed:
            return
        if self.connection is None:
            # `_adopt` calls `schedule_refresh` when there is a connection again.
            self._refresh_missed = True
            return
        if self._refreshing is not None and not self._refreshing.done():
            # The node list is being read, but its rows may be older than the event: read it again
            # afterwards.
            self.schedule_refresh()
            return
        self._refreshing = self._spawn(self._refresh_quietly())

    async def _refresh_quietly(self) -> None:
        """Read the node list. If that fails, close the connection, so that it moves."""
        try:
            await self.refresh_nodes()
        except (DriverException, OSError, asyncio.TimeoutError) as error:
            log.warning("the node list could not be read again: %s", error)
            # The connection got no response in time, so it will probably deliver no events, either:
            # replace it.
            if self.connection is not None:
                self.connection.close(
                    ConnectionException(f"the node list could not be read: {error}")
                )
        except Exception:
            # For example, an error of a user's address translator. Another host would not help, and
            # no event will cause another reading, so schedule another reading.
            log.exception("the node list could not be used, next try in %.0f s", NEXT_REFRESH)
            # If several events fail before the next attempt, one attempt is enough for all of them.
            if self._refreshing_later is None or self._refreshing_later.done():
                self._refreshing_later = self._spawn(self._refresh_later(NEXT_REFRESH))

    async def _refresh_later(self, delay: float) -> None:
        """Read the node list again after `delay` seconds."""
        await asyncio.sleep(delay)
        self.schedule_refresh()

    # -- events ------------------------------------------------------------------------------------

    def _on_event(self, version: int, opcode: int, flags: int, body: bytes) -> None:
        """Decode an event, and call the handler of its type.

        :param version: the protocol version of the connection.
        """
        event = decode_response(opcode, flags, body, version, None)
        log.debug("event from the control connection: %s %s", event.event_type, event.event_args)
        handler = self.handlers.get(event.event_type)
        if handler is not None:
            handler(event.event_args)

    # -- moving to another host --------------------------------------------------------------------

    def _on_closed(self, connection: Connection, error: Exception | None) -> None:
        """Connect to another host if `connection`, which has closed, is the current connection.

        :param error: the cause; None if the driver has closed it on purpose.
        """
        # Ignore the closing of a connection that was replaced.
        if self._closed or connection is not self.connection:
            return
        log.info(
            "the control connection to %s is gone (%s): it moves on", connection.endpoint, error
        )
        self.connection = None
        if self.host is not None and error is not None:
            self._hosts.on_connection_failure(self.host, error)
        self.on_lost(connection, error)
        self._start_to_move()

    def leave(self, host: Host) -> None:
        """Connect to another host if the control connection is to `host`, which will stop soon."""
        connection = self.connection
        if self._closed or connection is None or self.host != host:
            return
        log.info("the control connection leaves %s, which will stop soon", host)
        # The move begins below. The host may still announce on this connection that it will stop
        # (with the event GRACEFUL_DISCONNECT). A connection that is draining ignores this event.
        connection.is_draining = True
        self._start_to_move()

    def _start_to_move(self) -> None:
        if self._reconnecting is None or self._reconnecting.done():
            self._reconnecting = self._spawn(self._reconnect())

    async def _reconnect(self) -> None:
        """Try all candidates repeatedly until the control connection is open."""
        lifetime = asyncio.get_running_loop().time() - self._connected_at
        self._short_lives = self._short_lives + 1 if lifetime < SHORT_LIFE else 0
        if self._short_lives <= MOST_SHORT_LIVES:
            self._delays = delays_of(self._settings.reconnection_policy)
        else:
            # The hosts accept connections and close them at once. Wait; otherwise we would
            # reconnect in an endless loop. Continue with the previous schedule of delays.
            self._host_is_up.clear()
            await self._wait(_next_delay(self._delays))
        while not self._closed:
            # Clear the event before trying, because a host that comes up during the attempt must
            # end the wait below.
            self._host_is_up.clear()
            try:
                await self._connect_to_any(self._contacts.candidates())
                if self.connection is not None and not self.connection.is_draining:
                    self._outage.end(self.host)
                    return
                delay = _next_delay(self._delays)  # the new connection was lost at once
            except NoHostAvailable as error:
                previous, self.connection = self.connection, None
                if previous is not None:  # its host will stop soon, and no other host was found
                    self._close_previous(previous)
                    self.on_lost(previous, error)
                # The nodes may have new addresses: resolve the names of the contact points again.
                await self._contacts.find_again()
                delay = self._until_strangers(_next_delay(self._delays))
                self._outage.report(error, delay)
            except Exception:
                delay = _next_delay(self._delays)
                log.exception(
                    "the control connection could not be moved, next try in %.1f s", delay
                )
            await self._wait(delay)

    def _until_strangers(self, delay: float) -> float:
        """Return `delay`, or the rest of STRANGERS_WAIT if that is less, and has begun."""
        if self._strangers_since is None:
            return delay
        waited = asyncio.get_running_loop().time() - self._strangers_since
        # Many clients may have lost the nodes at the same moment.
        rest = (STRANGERS_WAIT - waited) * generator_or_default(self._random).uniform(1.0, 1.2)
        return min(delay, rest) if rest > 0 else delay

    async def _wait(self, delay: float) -> None:
        """Wait `delay` seconds, or until a host comes up."""
        try:
            await within(delay, self._host_is_up.wait())
        except asyncio.TimeoutError:
            pass

    def on_host_up(self) -> None:
        """Try to connect at once if there is no connection, because a host came up."""
        self._host_is_up.set()

    def close(self) -> None:
        """Close the control connection, and do not open a new one."""
        # Set `_closed` first; otherwise `_on_closed` of the connection below would start to
        # reconnect.
        self._closed = True
        self._debouncer.cancel()
        if self._doubt_timer is not None:
            self._doubt_timer.cancel()
        for task in (self._reconnecting, self._refreshing, self._refreshing_later):
            if task is not None:
                task.cancel()
        for connection in (self.connection, self._draining_connection):
            if connection is not None:
                connection.close()
        self.connection = None


class _OutageLog:
    """Logs why no host can be reached, and when the control connection is open again.

    The pauses between the attempts may be short, and all processes log the outage at the same time.
    The same reason would then fill the log. So a reason is logged at WARNING when it is new, and
    then every `REMINDER_INTERVAL` seconds; otherwise it is logged at INFO.
    """

    def __init__(self) -> None:
        self._since: datetime | None = None  # None if no outage was logged
        self._reasons: set[frozenset[tuple[str, str]]] = set()
        self._warned_at = 0.0  # the loop's time of the last WARNING

    def report(self, error: NoHostAvailable, delay: float) -> None:
        """Log that no host could be reached.

        :param delay: seconds until the next attempt.
        """
        now = asyncio.get_running_loop().time()
        # The hosts are tried in a different order each time, so compare their errors without the
        # order.
        reason = frozenset((host, str(cause)) for host, cause in error.errors.items())
        is_new = reason not in self._reasons and len(self._reasons) < MOST_REASONS
        level = logging.INFO
        if is_new or now - self._warned_at >= REMINDER_INTERVAL:
            level, self._warned_at = logging.WARNING, now
        if is_new:
            self._reasons.add(reason)
        if self._since is None:
            self._since = datetime.fromtimestamp(wall_time_ns() / 1e9, timezone.utc)
        log.log(level, "the control connection found no host, next try in %.1f s: %s", delay, error)

    def end(self, host: Host | None) -> None:
        """Log that the control connection is open; at WARNING if an outage was logged."""
        if self._since is None:
            log.info("the control connection is at %s now", host)
            return
        since = self._since.isoformat(timespec="seconds")
        log.warning("the control connection is at %s now; it found no host since %s", host, since)
        self._since = None
        self._reasons.clear()


def _next_delay(schedule: Iterator[float], at_the_end: float = 60.0) -> float:
    """Return the next delay of the schedule in seconds; after the schedule's end, `at_the_end`.

    The control connection never gives up, so there must always be a next delay.
    """
    return next(schedule, at_the_end)


def _nothing(connection: Connection, error: Exception | None = None) -> None:
    pass


def _close_if_idle(connection: Connection) -> None:
    connection.close_if_idle()
