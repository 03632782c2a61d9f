"""The connections of one session to one host."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cassandra.engine.connection import Connection
from cassandra.engine.failures import as_exception
from cassandra.engine.known_names import KnownPool
from cassandra.errors import ConnectionShutdown, NoConnectionsAvailable

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.engine import happy_path
    from cassandra.engine.background import Spawn
    from cassandra.engine.pools.shard_table import ShardTable
    from cassandra.metadata.host import Host
else:
    from cassandra._impl import bases, happy_path

log = logging.getLogger("cassandra.pool")

# Past this share of a connection's streams taken by abandoned requests, the connection is replaced.
ORPHAN_SHARE = 0.75
# After so many connections that lived for less than so many seconds, the next one is not opened at
# once.
MOST_SHORT_LIVES = 3
SHORT_LIFE = 0.5
# Seconds between two looks through the requests that wait, of which there are too many.
LOOK_THROUGH_INTERVAL = 0.1


class Waiter(Protocol):
    """A request that found no room on any host of its plan."""

    done: bool

    def on_room(self, host: Host, connection: Connection) -> None:
        """Room is there now."""

    def on_pool_closed(self, host: Host, error: Exception) -> None:
        """The host's pool was closed while the request waited."""

    def fail(self, error: BaseException) -> None:
        """It cannot go on."""


class PoolOwner(NamedTuple):
    """The part of a session that a pool asks.

    :param open_connection: makes a connection ready to use (handshake done, keyspace set); takes
        the host, and the shard that is wanted if there is one.
    :param on_failure: called with the cause when no connection is left and none can be opened.
    :param spawn: runs tasks in the background, and sees to their end.
    :param new_schedule: gives the seconds between tries.
    :param most_waiting: how many requests may wait for room.
    """

    open_connection: Callable[..., Awaitable[Connection]]
    on_failure: Callable[[HostPool, Exception], None]
    spawn: Spawn
    new_schedule: Callable[[], Iterable[float]]
    most_waiting: float


class HostPool(KnownPool, bases.PoolBase):
    """Open connections to one host, filled up to `size`; requests wait here if all are full.

    A connection that breaks is opened again at once: requests that have no other host wait for it.

    :param owner: opens the connections, and hears if none is left.
    """

    __slots__ = (
        "_closing",
        "_delays",
        "_filling",
        "_looked_through_at",
        "_most_waiting",
        "_new_schedule",
        "_next_try",
        "_on_failure",
        "_open",
        "_opened_at",
        "_short_lives",
        "_spawn",
        "_waiters",
        "closed",
        "distance",
        "host",
        "size",
    )

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
        # By shard, if the host is a ScyllaDB node and shards count (see `engine.pools.shards`).
        self.shards: ShardTable | None = None
        self.closed = False
        (
            self._open,
            self._on_failure,
            self._spawn,
            self._new_schedule,
            self._most_waiting,
        ) = owner
        # Between the tries to open what is missing while others are open.
        self._delays: Iterator[float] | None = None
        self._next_try: asyncio.TimerHandle | None = None
        self._filling: asyncio.Task[None] | None = None
        # Those that are done stay until there is room, or until it is full.
        self._waiters: deque[Waiter] = deque()
        self._looked_through_at = -math.inf
        self._closing: list[Connection] = []
        self._opened_at = 0.0
        self._short_lives = 0

    def pick(self) -> Connection | None:
        """Return the connection with the fewest streams in use; None if all are full."""
        found: Connection | None = happy_path.first_with_room(self.connections)
        return found

    @property
    def is_worth_waiting_for(self) -> bool:
        """True if a connection is open (and full), or being opened."""
        return bool(self.connections) or (self._filling is not None and not self._filling.done())

    def wait_for_room(self, waiter: Waiter) -> None:
        """`waiter.on_room` is called as soon as a connection has room.

        :raises NoConnectionsAvailable: if too many wait already.
        """
        if len(self._waiters) >= self._most_waiting:
            self._look_through_waiters()
            if len(self._waiters) >= self._most_waiting:
                raise NoConnectionsAvailable(
                    f"all connections to {self.host} are full, and {len(self._waiters)} requests "
                    "wait already, as many as may (max_waiting_requests)"
                )
        self._waiters.append(waiter)

    def _look_through_waiters(self) -> None:
        """Forget those that were given up; not for each request that finds no place."""
        now = asyncio.get_running_loop().time()
        if now - self._looked_through_at >= LOOK_THROUGH_INTERVAL:
            self._looked_through_at = now
            waiters = self._waiters
            # In place: `_on_room` may be in the middle of it.
            for _ in range(len(waiters)):
                waiter = waiters.popleft()
                if not waiter.done:
                    waiters.append(waiter)

    async def fill(self) -> None:
        """Open the missing connections, in parallel.

        It raises the first error if no connection is open then.
        """
        if self._filling is None or self._filling.done():
            self._filling = self._spawn(self._fill())
        # Several may wait for it: one that is cancelled must not end it for the others.
        await asyncio.shield(self._filling)

    async def _fill(self) -> None:
        missing = self.size - len(self.connections)
        if self.closed or missing <= 0:
            return
        results = await asyncio.gather(
            *(self._open_one() for _ in range(missing)), return_exceptions=True
        )
        errors = [result for result in results if isinstance(result, BaseException)]
        if not self.connections and not self.closed and not errors and self._closing:
            # It was opened, and given up for its keyspace: the host is well.
            asyncio.get_running_loop().call_soon(self.refill)
            return
        if not self.connections and not self.closed:
            # Without an error what was opened is gone already. A pool with nothing open and nothing
            # under way would stay so.
            raise (
                errors[0]
                if errors
                else ConnectionShutdown(f"{self.host} closes connections at once", self.host)
            )
        # Also if one was lost while others were opened.
        if len(self.connections) < self.size:
            log.debug(
                "%r lacks a connection: %s", self, errors[0] if errors else "it was lost at once"
            )
            self._fill_later()
        else:
            self._delays = None

    def _fill_later(self) -> None:
        """Requests have connections, and some are missing: they are opened by the schedule of the
        reconnection policy.
        """
        if self.closed:
            return
        if self._delays is None:
            self._delays = iter(self._new_schedule())
        delay = next(self._delays, None)
        if delay is not None and self._next_try is None:
            self._next_try = asyncio.get_running_loop().call_later(delay, self._try_again)

    def _try_again(self) -> None:
        self._next_try = None
        self.refill()

    async def _open_one(self) -> None:
        # Adopted as soon as it is there: what is cancelled later must not leave an open connection
        # that nobody knows.
        self._adopt(await self._open(self.host))

    def _adopt(self, connection: Connection) -> None:
        # It may have been closed before `on_closed` was set: nobody else would report that.
        if connection.closed:
            raise connection.refusal()
        # The pool may have been closed, or made smaller, while the connection was opened.
        if self.closed or len(self.connections) >= self.size:
            connection.close()
            return
        connection.on_closed = self._on_connection_closed
        connection.on_room = self._on_room
        connection.on_orphan = self._on_orphan
        connection.on_given_up = self._on_given_up
        self._opened_at = asyncio.get_running_loop().time()
        self.connections.append(connection)
        # Requests may have waited since before there was a connection.
        self._on_room(connection)

    def _on_room(self, connection: Connection) -> None:
        waiters = self._waiters
        # One that is to be closed gets no further requests.
        is_open_to_all = waiters and connection in self.connections
        while is_open_to_all and waiters and connection.has_room:
            waiter = waiters.popleft()
            if not waiter.done:
                try:
                    waiter.on_room(self.host, connection)
                except BaseException as error:
                    # Its own fault. Those behind it wait for the same room.
                    waiter.fail(as_exception(error))
            is_open_to_all = not connection.is_given_up
        if (
            self._closing
            and connection in self._closing
            and connection.in_flight == connection.orphans
        ):
            connection.close_if_idle()

    def _on_orphan(self, connection: Connection) -> None:
        if connection in self._closing:
            # Nobody else would look at it: the answers of what was abandoned may never come.
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
        """Open another connection, and close this one when it is idle."""
        self._retire(connection)
        self.refill()

    def _retire(self, connection: Connection) -> None:
        """Give a connection no further requests, and close it when it is idle."""
        # Out of the list first: no new request may take one of its last streams.
        self.connections.remove(connection)
        self._closing.append(connection)
        # Abandoned requests do not count: their answers may never come.
        if connection.in_flight == connection.orphans:
            connection.close_if_idle()

    def resize(self, size: int) -> None:
        """Keep `size` connections from now on: open missing ones in the background, close surplus
        ones as they get idle.
        """
        if self.closed or size == self.size:
            return
        self.size = size
        # Those with the least to do go: they are idle soonest.
        surplus = sorted(self.connections, key=lambda connection: connection.in_flight)[
            : max(len(self.connections) - size, 0)
        ]
        for connection in surplus:
            self._retire(connection)
        if self._filling is not None and not self._filling.done():
            # It counted by the old size.
            self._filling.add_done_callback(lambda _: self.refill())
        else:
            self.refill()

    def refill(self) -> None:
        """Open the missing connections, in the background."""
        if not self.closed and (self._filling is None or self._filling.done()):
            self._filling = self._spawn(self._fill())
            self._filling.add_done_callback(self._refilled)

    def _refilled(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception) and not self.connections:
            self._fail_waiters(error)
            self._on_failure(self, error)
        elif error is None and not self.closed and not self.connections:
            # What was opened is gone already.
            self.refill()

    def _on_connection_closed(self, connection: Connection, error: Exception | None) -> None:
        if connection in self._closing:
            self._closing.remove(connection)
            return
        if connection in self.connections:
            self.connections.remove(connection)
        if self.closed:
            return
        lived = asyncio.get_running_loop().time() - self._opened_at
        self._short_lives = self._short_lives + 1 if lived < SHORT_LIFE else 0
        if self._short_lives >= MOST_SHORT_LIVES:
            # Accepted and dropped at once, again and again, would be a storm: this goes the way of
            # the back-off.
            if self.connections:
                self._fill_later()
                return
            cause = error or ConnectionShutdown(f"connection to {self.host} was closed", self.host)
            self._fail_waiters(cause)
            self._on_failure(self, cause)
            return
        log.debug("a connection to %s was lost, it is opened again: %s", self.host, error)
        self.refill()

    def _fail_waiters(self, error: Exception) -> None:
        # A new queue: a request that is told here may come back to wait at once.
        waiters, self._waiters = self._waiters, deque()
        for waiter in waiters:
            if not waiter.done:
                try:
                    waiter.on_pool_closed(self.host, error)
                except BaseException as fault:
                    waiter.fail(as_exception(fault))

    def close(self, error: Exception | None = None) -> None:
        """Close all connections; requests in flight and waiting ones get `error`."""
        if self.closed:
            return
        # First: `_on_connection_closed` must not open new ones for those closed below.
        self.closed = True
        if self._filling is not None:
            self._filling.cancel()
        if self._next_try is not None:
            self._next_try.cancel()
        cause = error or ConnectionShutdown(f"the pool of {self.host} is closed", self.host)
        # A copy: each connection takes itself out of its list as it closes.
        for connection in [*self.connections, *self._closing]:
            connection.close(cause)
        self.connections.clear()
        self._closing.clear()
        self._fail_waiters(cause)

    def open_connections(self) -> list[Connection]:
        """Return all that are open, also those that take no further requests."""
        return [*self.connections, *self._closing]

    @property
    def in_flight(self) -> int:
        """Streams in use on all connections."""
        return sum(connection.in_flight for connection in self.connections)

    @property
    def waiting(self) -> int:
        """Requests that wait for a free stream."""
        return len(self._waiters)

    def state(self) -> dict[str, Any]:
        """Return the entry of this pool in `Session.get_pool_state`."""
        return {
            "shutdown": self.closed,
            "open_count": len(self.connections),
            "in_flights": [connection.in_flight for connection in self.connections],
            "orphan_requests": [connection.streams.orphan_ids() for connection in self.connections],
        }

    def __repr__(self) -> str:
        return (
            f"<HostPool of {self.host}: {len(self.connections)} open, {self.in_flight} in flight>"
        )
