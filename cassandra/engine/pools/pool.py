"""The connections of one session to one host, and the requests that wait for a free stream."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cassandra._error_copies import copy_of
from cassandra._logs import Log
from cassandra.engine.compat_names import CompatPool
from cassandra.engine.connection import Connection
from cassandra.engine.failures import as_exception, failure_of
from cassandra.engine.heartbeats import is_silent
from cassandra.errors import ConnectionShutdown, NoConnectionsAvailable

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.engine import happy_path
    from cassandra.engine.background import Spawn
    from cassandra.engine.pools.shard_table import ShardTable
    from cassandra.metadata.host import Host
else:
    from cassandra._impl import bases, happy_path

log = Log("cassandra.pool")

# A connection is replaced if its orphans (abandoned requests) hold more than this share of its
# streams.
ORPHAN_SHARE = 0.75
# A connection has a short life if it is lost within SHORT_LIFE after the pool last opened a
# connection. After MOST_SHORT_LIVES short lives in a row, the pool waits before it opens the next
# connection. Connections that are lost together count once.
MOST_SHORT_LIVES = 3
SHORT_LIFE = 0.5  # seconds
# If the queue of waiting requests is full, finished requests are removed from it, but at most once
# in this time, because that visits the whole queue.
DROP_INTERVAL = 0.1  # seconds
# The last delay of a schedule is repeated as this delay if it is shorter.
SHORTEST_REPEATED_DELAY = 1.0  # seconds
# The delay between attempts to open missing connections if the policy's schedule has no delays.
EMPTY_SCHEDULE_DELAY = 60.0  # seconds


class Waiter(Protocol):
    """A request that found no free stream on any host of its plan."""

    @property
    def done(self) -> bool:
        """True if the request is over."""

    def on_room(self, host: Host, connection: Connection) -> None:
        """Called when a connection to the host has a free stream."""

    def on_pool_closed(self, host: Host, error: Exception) -> None:
        """Called when the host's pool was closed while the request waited."""

    def on_pool_draining(self, host: Host, error: Exception) -> None:
        """Called when the host will stop soon: the request must go to another host."""

    def fail(self, error: BaseException) -> None:
        """End the request with an error."""


def _no_doubt(host: Host) -> None:
    pass


class PoolOwner(NamedTuple):
    """The functions and limits that a session passes to its pools.

    :param open_connection: called with the host, and with a `ShardTarget` to reach a certain shard.
        Returns a connection that has completed its handshake and uses the session's keyspace.
    :param on_failure: called with the pool and the cause when no connection is left and no
        connection can be opened.
    :param spawn: runs a coroutine as a task in the background.
    :param new_schedule: returns an iterable of delays in seconds between attempts to open a
        connection.
    :param most_waiting: the maximum number of requests that may wait for a free stream.
    :param on_doubt: called with the host if it may have stopped responding.
    """

    open_connection: Callable[..., Awaitable[Connection]]
    on_failure: Callable[[HostPool, Exception], None]
    spawn: Spawn
    new_schedule: Callable[[], Iterable[float]]
    most_waiting: float
    on_doubt: Callable[[Host], None] = _no_doubt


class HostPool(CompatPool, bases.PoolBase):
    """The connections to one host. If they have no free stream, requests wait here.

    The pool keeps `size` connections open. If a connection breaks, the pool opens another
    connection at once, because requests may wait here that no other host can serve.

    :param owner: the functions of the session that open connections and handle failures.
    """

    __slots__ = (
        "_closing", "_delay", "_delays", "_dropped_at", "_filling", "_is_loss_counted",
        "_most_waiting", "_new_schedule", "_next_try", "_on_doubt", "_on_drained", "_on_failure",
        "_open", "_opened_at", "_short_lives", "_spawn", "_waiters", "closed", "distance", "host",
        "size",
    )  # fmt: skip

    def __init__(
        self,
        host: Host,
        distance: int,
        size: int,
        owner: PoolOwner,
    ) -> None:
        self.host = host
        self.distance = distance
        self.size = size
        self.connections: list[Connection] = []
        # The connections by shard; None if the host is not a sharded ScyllaDB node (see
        # `engine.pools.shards`).
        self.shards: ShardTable | None = None
        self.closed = False
        (
            self._open,
            self._on_failure,
            self._spawn,
            self._new_schedule,
            self._most_waiting,
            self._on_doubt,
        ) = owner
        # The delays between attempts to open missing connections while other connections are open;
        # None if no connection is missing.
        self._delays: Iterator[float] | None = None
        self._delay = EMPTY_SCHEDULE_DELAY  # the latest of these delays
        # The timer of the next attempt to open missing connections; None if no attempt is
        # scheduled.
        self._next_try: asyncio.TimerHandle | None = None
        # The task that opens missing connections; None before the first such task. The task may
        # have ended.
        self._filling: asyncio.Task[None] | None = None
        # The requests that wait for a free stream. Requests that finish while they wait, for
        # example by a timeout, stay here until a stream is free or the queue is full. We use an
        # OrderedDict, not a deque: a request that another pool continues must leave this queue, and
        # if the host hangs, many requests may be before it.
        self._waiters: OrderedDict[Waiter, None] = OrderedDict()
        self._dropped_at = -math.inf  # when finished waiters were last removed; see DROP_INTERVAL
        # Connections that take no more requests, and that will be closed when they are idle.
        self._closing: list[Connection] = []
        # Called when the last connection of a draining pool has closed.
        self._on_drained: Callable[[HostPool], None] | None = None
        self._opened_at = 0.0  # the loop's time when a connection was last opened
        self._short_lives = 0  # the number of short lives in a row; see SHORT_LIFE
        # True if the last short life was counted, and no connection was opened since. Connections
        # that are lost together thus count once.
        self._is_loss_counted = False

    def pick(self) -> Connection | None:
        """Return the connection with the fewest streams in use; None if no stream is free."""
        return happy_path.first_with_room(self.connections)

    @property
    def is_worth_waiting_for(self) -> bool:
        """True if a connection is open or is being opened, so that a stream may become free."""
        return bool(self.connections) or self.is_opening

    @property
    def is_opening(self) -> bool:
        """True if a connection is being opened, or soon will be, to replace a closed connection."""
        return (self._filling is not None and not self._filling.done()) or any(
            connection.closed for connection in self.connections
        )

    def wait_for_room(self, waiter: Waiter) -> None:
        """Add `waiter` to the queue; its `on_room` is called when a connection has a free stream.

        :raises NoConnectionsAvailable: if too many requests wait already.
        """
        if len(self._waiters) >= self._most_waiting:
            self._drop_finished_waiters()
            if len(self._waiters) >= self._most_waiting:
                raise NoConnectionsAvailable(
                    f"all connections to {self.host} are full ({self.load()}), and "
                    f"{len(self._waiters)} requests wait already, as many as may "
                    "(max_waiting_requests)"
                )
        self._waiters[waiter] = None

    def stop_waiting(self, waiter: Waiter) -> None:
        """Remove `waiter` from the queue, if the queue contains it."""
        self._waiters.pop(waiter, None)

    def _drop_finished_waiters(self) -> None:
        """Remove finished waiters from the queue, but at most once per DROP_INTERVAL seconds.

        Removing them visits the whole queue.
        """
        now = asyncio.get_running_loop().time()
        if now - self._dropped_at >= DROP_INTERVAL:
            self._dropped_at = now
            # Change the queue in place, because `_on_room` may be using it.
            for waiter in [waiter for waiter in self._waiters if waiter.done]:
                del self._waiters[waiter]

    async def fill(self) -> None:
        """Open the missing connections in parallel, and wait for them.

        If no connection is open afterwards, raise the first error.
        """
        if self._filling is None or self._filling.done():
            self._filling = self._spawn(self._fill())
        # Shield the task, because other callers may wait for it, too. If this caller is cancelled,
        # the other callers must continue to wait.
        await asyncio.shield(self._filling)

    async def _fill(self) -> None:
        """Open the missing connections in parallel.

        If no connection is open afterwards, raise the first error.
        """
        missing = self.size - len(self.connections)
        if self.closed or missing <= 0:
            return
        results = await asyncio.gather(
            *(self._open_one() for _ in range(missing)), return_exceptions=True
        )
        errors = [result for result in results if isinstance(result, BaseException)]
        if not self.connections and not self.closed:
            if errors:
                raise errors[0]
            if self._closing:
                # A connection was opened, but was then retired because its keyspace is not certain.
                # The host itself works: try again.
                asyncio.get_running_loop().call_soon(self.refill)
                return
            # New connections were opened, but were lost at once. Raise an error in this case, too,
            # so that the pool does not stay empty.
            raise ConnectionShutdown(f"{self.host} closes connections at once", self.host.endpoint)
        # A connection may be missing without an error, because it was lost while others were
        # opened.
        if len(self.connections) < self.size:
            log.debug(
                "%r lacks a connection: %s", self, errors[0] if errors else "it was lost at once"
            )
            # Let the heartbeat check the host's other connections: if the host hangs, they get no
            # responses, either.
            self._on_doubt(self.host)
            self._fill_later()
        else:
            # All connections are open: forget the schedule, and the attempt that it has scheduled.
            # Otherwise the next lost connection would wait for that attempt.
            self._delays = None
            if self._next_try is not None:
                self._next_try.cancel()
                self._next_try = None

    def _fill_later(self) -> None:
        """Schedule another attempt to open missing connections.

        The attempt is made after the next delay of the reconnection policy. Other connections serve
        requests until then. At the end of the policy's schedule, its last delay is repeated: the
        host is up, so the session has no reason to give up.
        """
        # An attempt that is scheduled already opens all missing connections. Do not take another
        # delay for the same attempt: a schedule may have few of them.
        if self.closed or self._next_try is not None:
            return
        if self._delays is None:
            self._delays = iter(self._new_schedule())
            self._delay = EMPTY_SCHEDULE_DELAY
        self._delay = next(self._delays, max(self._delay, SHORTEST_REPEATED_DELAY))
        self._next_try = asyncio.get_running_loop().call_later(self._delay, self._try_again)

    def _try_again(self) -> None:
        self._next_try = None
        self.refill()

    async def _open_one(self) -> None:
        # Do not await anything between opening the connection and adding it to the pool. If the
        # task were cancelled in between, the connection would stay open, and nobody would close it.
        self._adopt(await self._open(self.host))

    def _adopt(self, connection: Connection) -> None:
        """Add a new connection to the pool, and give its streams to waiting requests.

        :raises ConnectionException: if the connection is closed or will be closed soon.
        """
        # If the connection was closed before we set `on_closed`, nobody was notified.
        if connection.closed:
            raise connection.refusal()
        if connection.is_draining and not self.closed:
            # Read the reason before `close`; afterwards it would only say that the connection is
            # closed.
            refusal = connection.refusal()
            connection.close()
            raise refusal
        # The pool may have been closed, or its size reduced, while the connection was opened.
        if self.closed or len(self.connections) >= self.size:
            connection.close()
            return
        connection.on_closed = self._on_connection_closed
        connection.on_room = self._on_room
        connection.on_orphan = self._on_orphan
        connection.on_given_up = self._on_given_up
        self._opened_at = asyncio.get_running_loop().time()
        self._is_loss_counted = False
        self.connections.append(connection)
        # Requests may be waiting for this connection.
        self._on_room(connection)

    def _on_room(self, connection: Connection) -> None:
        """Send waiting requests on `connection`, because it may have free streams.

        If the connection is to be closed and is idle now, close it.
        """
        waiters = self._waiters
        # Connections in `_closing` get no further requests.
        takes_requests = waiters and connection in self.connections
        while takes_requests and waiters and connection.has_room:
            waiter, _ = waiters.popitem(last=False)
            if not waiter.done:
                try:
                    waiter.on_room(self.host, connection)
                except BaseException as error:
                    # Fail only the request that has caused the error, and offer the stream to the
                    # next request.
                    waiter.fail(as_exception(error))
            takes_requests = not connection.is_given_up
        if (
            self._closing
            and connection in self._closing
            and connection.in_flight == connection.orphans
        ):
            connection.close_if_idle()

    def _on_orphan(self, connection: Connection) -> None:
        """Replace `connection` if orphans hold most of its streams; check the host if it is silent.

        Called when a request on `connection` was abandoned.
        """
        if is_silent(connection):
            self._on_doubt(self.host)
        if connection in self._closing:
            # The responses to abandoned requests may never come, so do not wait for them.
            if connection.in_flight == connection.orphans:
                connection.close_if_idle()
        elif (
            connection.orphans > ORPHAN_SHARE * connection.stream_limit
            and connection in self.connections
        ):
            log.warning(
                "%r has %d abandoned requests: it is replaced", connection, connection.orphans
            )
            self._replace(connection)

    def _on_given_up(self, connection: Connection, why: str) -> None:
        if connection in self.connections:
            log.info("%r is replaced: %s", connection, why)
            self._replace(connection)

    def _replace(self, connection: Connection) -> None:
        """Open another connection to replace `connection`, which is closed when it is idle."""
        self._retire(connection)
        self.refill()

    def _retire(self, connection: Connection) -> None:
        """Send no further requests on `connection`, and close it when it is idle."""
        # Remove the connection from the list first, so that no new request uses one of its streams.
        self.connections.remove(connection)
        self._closing.append(connection)
        # Do not wait for the responses to abandoned requests, which may never come.
        if connection.in_flight == connection.orphans:
            connection.close_if_idle()

    def resize(self, size: int) -> None:
        """Change the number of connections to `size`.

        Missing connections are opened in the background. Surplus connections are closed when they
        are idle.
        """
        if self.closed or size == self.size:
            return
        self.size = size
        # Close the connections with the fewest requests, because they will be idle soonest.
        idlest_first = sorted(self.connections, key=lambda connection: connection.in_flight)
        surplus_count = max(len(idlest_first) - size, 0)
        for connection in idlest_first[:surplus_count]:
            self._retire(connection)
        if self._filling is not None and not self._filling.done():
            # The running task opens connections for the old size, so check again when it has ended.
            self._filling.add_done_callback(lambda _: self.refill())
        else:
            self.refill()

    def refill(self) -> None:
        """Open the missing connections, in the background."""
        if not self.closed and (self._filling is None or self._filling.done()):
            self._filling = self._spawn(self._fill())
            self._filling.add_done_callback(self._on_refilled)

    def hurry(self) -> None:
        """Open the missing connections now, and later with the delays of a new schedule."""
        if self._next_try is not None:
            self._next_try.cancel()
        self._next_try = self._delays = None
        self.refill()

    def _on_refilled(self, task: asyncio.Task[None]) -> None:
        """Report a failure, or refill again if the new connections were lost at once.

        Called when the task of `refill` has ended.
        """
        error = None if task.cancelled() else task.exception()
        if error is not None and not self.connections:
            failure = failure_of(error)
            self._fail_waiters(failure)
            self._on_failure(self, failure)
        elif error is None and not self.closed and not self.connections:
            # The new connections were lost at once: open other connections.
            self.refill()
        else:
            self._serve_waiters()

    def _serve_waiters(self) -> None:
        """Give the free streams of all connections to waiting requests.

        A request may wait here for a new connection although existing connections have free
        streams. If no new connection was opened, serve the request now.
        """
        for connection in list(self.connections):
            self._on_room(connection)

    def _on_connection_closed(self, connection: Connection, error: Exception | None) -> None:
        """Open another connection to replace `connection`, unless it was closed on purpose.

        :param error: why the connection closed; None if there was no error.
        """
        # A retired connection is not replaced.
        if connection in self._closing:
            self._closing.remove(connection)
            self._notify_if_drained()
            return
        if connection in self.connections:
            self.connections.remove(connection)
        if self.closed:
            return
        # Count short lives: see SHORT_LIFE.
        if asyncio.get_running_loop().time() - self._opened_at >= SHORT_LIFE:
            self._short_lives = 0
        elif not self._is_loss_counted:
            self._short_lives += 1
            self._is_loss_counted = True
        if self._short_lives >= MOST_SHORT_LIVES:
            # The host accepts connections and closes them at once. Wait; otherwise we would
            # reconnect in an endless loop.
            if self.connections:
                self._fill_later()
                self._serve_waiters()
                return
            cause = error or ConnectionShutdown(
                f"connection to {self.host} was closed", self.host.endpoint
            )
            self._fail_waiters(cause)
            self._on_failure(self, cause)
            return
        # Replace the connection at once. If it broke, the host may hang: let the heartbeat check
        # that.
        log.debug("a connection to %s was lost, it is opened again: %s", self.host, error)
        if error is not None:
            self._on_doubt(self.host)
        self.refill()

    def _fail_waiters(self, error: Exception) -> None:
        """Let waiting requests try other hosts: the pool has no connection, or is closed."""
        # Replace the queue first, because a waiter may call `wait_for_room` again at once.
        waiters, self._waiters = self._waiters, OrderedDict()
        for waiter in waiters:
            if not waiter.done:
                try:
                    waiter.on_pool_closed(self.host, copy_of(error))
                except BaseException as fault:
                    waiter.fail(as_exception(fault))

    def drain(self, error: Exception, on_drained: Callable[[HostPool], None]) -> None:
        """Take no further requests, and close each connection when it is idle.

        Requests in flight are still answered. Requests that wait for a free stream are sent to
        other hosts.

        :param error: the reason, which is passed to waiting requests.
        :param on_drained: called with the pool when all its connections are closed. That may be
            before this method returns.
        """
        if self.closed:
            return
        self._stop_filling()
        self._on_drained = on_drained
        # Set `is_draining`, so that the server's announcement on each connection is ignored. The
        # announcement may come late, when the host has been restarted and must not be drained
        # again.
        for connection in self.open_connections():
            connection.is_draining = True
            if connection.gate is not None:
                connection.gate.notify()
        for connection in list(self.connections):
            self._retire(connection)
        waiters, self._waiters = self._waiters, OrderedDict()
        for waiter in waiters:
            if not waiter.done:
                try:
                    waiter.on_pool_draining(self.host, error)
                except BaseException as fault:
                    waiter.fail(as_exception(fault))
        self._notify_if_drained()

    def _notify_if_drained(self) -> None:
        """Call `on_drained` once, when the last connection of a draining pool has closed."""
        if self._on_drained is not None and not self._closing and not self.connections:
            on_drained, self._on_drained = self._on_drained, None
            on_drained(self)

    def _stop_filling(self) -> None:
        """Mark the pool as closed, and open no further connections."""
        # Set `closed` first: `_on_connection_closed` must not replace connections that we close.
        self.closed = True
        if self._filling is not None:
            self._filling.cancel()
        if self._next_try is not None:
            self._next_try.cancel()

    def close(self, error: Exception | None = None) -> None:
        """Close all connections.

        Attempts in flight fail with `error`. Requests that wait for a free stream try other hosts.
        """
        if not self.closed:
            self._stop_filling()
        cause = error or ConnectionShutdown(
            f"the pool of {self.host} is closed", self.host.endpoint
        )
        # Iterate over a copy, because a connection removes itself from its list when it closes.
        for connection in [*self.connections, *self._closing]:
            connection.close(cause)
        self.connections.clear()
        self._closing.clear()
        self._fail_waiters(cause)
        self._notify_if_drained()

    def open_connections(self) -> list[Connection]:
        """Return all open connections, including those that will be closed when they are idle."""
        return [*self.connections, *self._closing]

    def retired_connections(self) -> list[Connection]:
        """Return the open connections that get no further requests. Any thread may call this."""
        return list(self._closing)

    @property
    def in_flight(self) -> int:
        """The number of streams in use on all connections."""
        return sum(connection.in_flight for connection in self.connections)

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a free stream."""
        return len(self._waiters)

    @property
    def is_busy(self) -> bool:
        """True if requests wait for a free stream or for their responses.

        Requests that are over, or that their callers have abandoned, do not count, because their
        responses may never come.
        """
        orphans = sum(connection.orphans for connection in self.connections)
        is_awaited = any(not waiter.done for waiter in self._waiters)
        return is_awaited or self.in_flight > orphans

    def load(self) -> str:
        """Describe for error messages how busy the connections are."""
        connections = self.connections
        orphans = sum(connection.orphans for connection in connections)
        return (
            f"connections: {len(connections)}, in flight: {self.in_flight} of "
            f"{sum(connection.stream_limit for connection in connections)}"
            + (f", abandoned: {orphans}" if orphans else "")
        )

    def state(self) -> dict[str, Any]:
        """Return the entry of this pool in `Session.get_pool_state`."""
        return {
            "shutdown": self.closed,
            "open_count": len(self.connections),
            "in_flights": [connection.in_flight for connection in self.connections],
            "orphan_requests": [connection.streams.orphan_ids() for connection in self.connections],
        }

    def joined_state(self, pools: Iterable[HostPool]) -> dict[str, Any]:
        """Return the entry of a host in `Session.get_pool_state`.

        :param pools: all pools of the session to this host: this pool, and the pools on further
            loops.
        """
        states = [self.state(), *(pool.state() for pool in pools if pool is not self)]
        # The host counts as shut down only if all pools are shut down. In the other entries, counts
        # are added, and lists are concatenated.
        joined = states[0]
        for state in states[1:]:
            joined["shutdown"] = joined["shutdown"] and state["shutdown"]
            for key in ("open_count", "in_flights", "orphan_requests"):
                joined[key] += state[key]
        return joined

    def __repr__(self) -> str:
        return (
            f"<HostPool of {self.host}: {len(self.connections)} open, {self.in_flight} in flight>"
        )
