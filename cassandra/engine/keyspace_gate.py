"""The keyspace of a connection, and the gate at which requests wait for it.

An unqualified table name in a QUERY, BATCH or PREPARE belongs to the keyspace that its connection
is in when the server executes the request. A USE changes that keyspace, and servers execute the
requests of one connection concurrently: a request in flight may run before or after a USE. So each
such request has the keyspace that it expects (`RequestBody.expected`), which is compared with the
connection's when it is sent. If they differ, protocol version 5 names the keyspace in the request
itself. In older versions the request waits at the connection's gate.

A `KeyspaceGate` exists while a connection is switched. It handles waiting requests in order. Before
each switch it waits until nothing in flight depends on the keyspace; prepared statements, which
know their tables, are sent all the time. If that takes too long, or the USE was abandoned, the pool
replaces the connection, and requests that wait at the gate go to another connection.

A USE executed by the application goes through the gate too, one at a time per session (`UseTurns`).
After its answer, the session's other connections are switched before the request ends.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from cassandra.errors import ConnectionException, DriverException, InvalidRequest
from cassandra.query.keyspace_texts import names_its_keyspace

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.happy_path import Attempt
    from cassandra.engine.request import Request
    from cassandra.engine.session import EngineSession
    from cassandra.engine.use_request import UseRequest

__all__ = [
    "HeldRequest",
    "KeyspaceGate",
    "UseTurns",
    "can_pass",
    "depends_on_keyspace",
    "hold",
    "switch",
]

# Seconds that a switch waits for requests in flight; then the connection is replaced.
LONGEST_UNREST = 0.25
# Seconds that requests wait for the answer to a USE; then they go to another connection.
LONGEST_USE = 10.0
CLAIM_INTERVAL = 0.001  # seconds between two attempts to take the write lock


class Held(Protocol):
    """A request, or one of its steps, that waits at a gate."""

    @property
    def keyspace(self) -> str | None:
        """The keyspace that the connection must be in; None for a USE, or for no keyspace."""

    @property
    def is_use(self) -> bool:
        """True if the request itself switches the connection."""

    @property
    def needs_none(self) -> bool:
        """True if the connection must not be in any keyspace."""

    @property
    def is_over(self) -> bool:
        """True if nobody waits for the request any more."""

    def go(self) -> None:
        """Called when the connection is in the keyspace: send the request now."""

    def refuse(self, error: Exception) -> None:
        """Called when the server refuses to switch to the keyspace."""

    def leave(self, error: Exception) -> None:
        """Called when the connection takes no further requests; this request was not sent."""


class HeldRequest:
    """An attempt of a request that depends on the keyspace, and waits for it."""

    __slots__ = ("_attempt", "_request", "is_use", "keyspace", "needs_none")

    def __init__(self, request: Request, attempt: Attempt) -> None:
        body: Any = request.request_body
        self._request = request
        self._attempt = attempt
        self.is_use: bool = body.is_use
        expected = body.expected if isinstance(body.expected, str) else None
        self.keyspace: str | None = None if self.is_use else expected
        self.needs_none = self.keyspace is None and not self.is_use

    @property
    def is_over(self) -> bool:
        return self._request.done

    def go(self) -> None:
        self._request.resend(self._attempt)

    def refuse(self, error: Exception) -> None:
        self._request.fail(error)

    def leave(self, error: Exception) -> None:
        self._request.on_not_sent(self._attempt, error)


class _Switch:
    """A switch that the session itself needs, not a particular request."""

    __slots__ = ("_done", "is_use", "keyspace", "needs_none")

    def __init__(self, keyspace: str, done: asyncio.Future[None]) -> None:
        self._done = done
        self.keyspace: str | None = keyspace
        self.is_use = self.needs_none = False

    @property
    def is_over(self) -> bool:
        return self._done.done()

    def go(self) -> None:
        if not self._done.done():
            self._done.set_result(None)

    def refuse(self, error: Exception) -> None:
        if not self._done.done():
            self._done.set_exception(error)

    def leave(self, error: Exception) -> None:
        self.go()  # a connection that takes no requests need not be switched


def can_pass(session: EngineSession, request: Request, connection: Connection) -> bool:
    """Return True if a request may be sent on `connection` although the keyspaces differ; False if
    it must wait at the gate.

    It may be sent if it names its keyspace; in version 5, it is made to.

    :raises InvalidRequest: if the request was made without a keyspace, but the session has one now.
    """
    body: Any = request.request_body
    gate = connection.gate
    if gate is not None and gate.passing is request:
        return True
    if body.is_use:
        return False
    if connection.version >= 5 and body.carry_keyspace():
        return True
    if all(map(names_its_keyspace, body.texts())):
        return True
    is_free = gate is None and connection.keyspace is None
    if isinstance(body.expected, str):
        # If the session has no keyspace, the statement's keyspace is used for routing only, as in
        # cassandra-driver: no statement undoes a USE. The server refuses unqualified names.
        return session.keyspace is None and is_free
    if session.keyspace is not None and not is_free:
        raise InvalidRequest(
            "the request was made when the session had no keyspace, and by now it has "
            f"{session.keyspace!r}: name the keyspace in the statement"
        )
    return is_free


def depends_on_keyspace(connection: Connection, responder: Any) -> bool:
    """Return True if the request of `responder` has unqualified names.

    The server resolves them when it executes the request, at any time until its answer.
    """
    is_text = getattr(responder, "is_text", None)
    if is_text is not None:
        return bool(is_text)
    body = getattr(getattr(responder, "request", None), "request_body", None)
    if body is None or not body.depends:
        return False
    return connection.version < 5 or body.is_use or not body.names_keyspace


class KeyspaceGate:
    """Queue of the requests that wait until `connection` is in their keyspace.

    :param session: the session of the requests.
    """

    __slots__ = ("_changed", "_connection", "_held", "_session", "_task", "passing")

    def __init__(self, session: EngineSession, connection: Connection) -> None:
        self._session = session
        self._connection = connection
        self._held: deque[Held] = deque()
        self._changed: asyncio.Future[None] | None = None
        self.passing: object = None  # the request that is being sent right now
        connection.gate = self
        self._task = session.run_in_background(self._run())
        # A done callback, since a coroutine that is cancelled before its first step runs no
        # `finally`.
        self._task.add_done_callback(self._ended)

    def hold(self, held: Held) -> None:
        """Add `held` to the queue."""
        self._held.append(held)

    def notify(self) -> None:
        """Called when an answer came, a request was given up, or the connection closed."""
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    async def _run(self) -> None:
        connection = self._connection
        while connection.is_open_to_requests:
            self._pass_all_of_this_keyspace()
            if not self._held:
                return
            held = self._held[0]
            if held.needs_none:
                # No statement leaves a keyspace.
                connection.give_up("it is in a keyspace, and the session is in none")
            elif not await self._is_at_rest(LONGEST_UNREST):
                return
            elif held.is_use:
                self._pass(self._held.popleft())
                # The answer to the USE sets the connection's keyspace.
                if not await self._is_at_rest(LONGEST_USE):
                    return
            else:
                await self._switch_to(held)

    def _pass_all_of_this_keyspace(self) -> None:
        """Send all requests that wait for the current keyspace, even behind others."""
        held, self._held = self._held, deque()
        for waiter in held:
            is_ready = not waiter.is_use and self._connection.keyspace == waiter.keyspace
            if is_ready and not waiter.is_over:
                self._pass(waiter)
            elif not waiter.is_over:
                self._held.append(waiter)

    async def _switch_to(self, held: Held) -> None:
        assert held.keyspace is not None
        try:
            await self._session.use(self._connection, held.keyspace)
        except (DriverException, OSError) as error:
            if not self._connection.closed:
                self._held.popleft()
                held.refuse(error)

    def _pass(self, held: Held) -> None:
        self.passing = getattr(held, "_request", None)
        try:
            held.go()
        finally:
            self.passing = None

    async def _is_at_rest(self, longest: float) -> bool:
        """Wait until nothing in flight depends on the keyspace, and a stream is free.

        :param longest: seconds; after that, the connection is given up.
        :returns: False if the connection takes no further requests: it is closed, or being
            replaced.
        """
        connection = self._connection
        clock = asyncio.get_running_loop().time
        end = clock() + longest
        if not await self._keep_threads_out(end):
            return False
        while connection.is_open_to_requests:
            if connection.left_text_behind:
                # Abandoned requests may run at any time, or never, and nobody would notice.
                if connection.orphans:
                    connection.give_up("requests on it that were abandoned may still run")
                    return False
                connection.left_text_behind = False
            waiting = connection.streams.waiting()
            depend = any(depends_on_keyspace(connection, responder) for responder in waiting)
            # The USE needs a free stream, too.
            if not depend and connection.has_room:
                return True
            if clock() >= end:
                connection.give_up(
                    "requests in flight depend on the keyspace that it is in"
                    if depend
                    else "no stream is free to switch its keyspace on"
                )
                return False
            await self._wait_for_change(end)
        return False

    async def _keep_threads_out(self, end: float) -> bool:
        """Make threads that are about to write notice that the keyspace may change."""
        connection = self._connection
        clock = asyncio.get_running_loop().time
        while not connection.closed:
            if connection.streams.acquire_write():
                # We hold the write lock: every thread has either written already, or will see the
                # new epoch.
                connection.streams.keyspace_epoch += 1
                connection.streams.release_write()
                return True
            if clock() >= end:
                connection.give_up("a thread that writes was interrupted, and does not go on")
                return False
            await asyncio.sleep(CLAIM_INTERVAL)
        return False

    async def _wait_for_change(self, end: float) -> None:
        loop = asyncio.get_running_loop()
        self._changed = loop.create_future()
        timer = loop.call_at(end, self.notify)
        try:
            await self._changed
        finally:
            self._changed = None
            timer.cancel()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        """Called when the task ends: remove the gate, and send waiting requests elsewhere."""
        connection = self._connection
        connection.gate = None
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            # An internal fault: the keyspace of the connection is unknown now.
            connection.close(ConnectionException(f"{connection.endpoint}: {fault}"))
        error = ConnectionException(
            f"{connection.endpoint}: the connection was replaced before the request was sent",
            connection.endpoint,
        )
        held, self._held = self._held, deque()
        for waiter in held:
            waiter.leave(error)


def hold(session: EngineSession, connection: Connection, held: Held) -> None:
    """Let `held` wait at the gate of `connection`, which is created if need be."""
    (connection.gate or KeyspaceGate(session, connection)).hold(held)


async def switch(session: EngineSession, connection: Connection, keyspace: str) -> None:
    """Have an open connection use `keyspace`, after the requests that wait at its gate already.

    :raises DriverException: if the server refuses.
    """
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    hold(session, connection, _Switch(keyspace, done))
    await done


class UseTurns:
    """Runs the USE statements of a session one at a time."""

    __slots__ = ("_active", "_switches", "_waiting")

    def __init__(self) -> None:
        self._active: UseRequest | None = None
        self._switches = 0
        self._waiting: deque[UseRequest] = deque()

    def enter(self, request: UseRequest) -> bool:
        """Return True if it is this request's turn; otherwise its `take_turn` is called later."""
        if self._active is None and not self._switches:
            self._active = request
        if self._active is request:
            return True
        self._waiting.append(request)
        return False

    def is_waiting(self, request: UseRequest) -> bool:
        """Return True if `request` waits for its turn."""
        return request in self._waiting

    def leave(self, request: UseRequest) -> None:
        """Called when `request` is over."""
        if self._active is request:
            self._active = None
            self._next()
        elif request in self._waiting:
            self._waiting.remove(request)

    def begin_switch(self) -> None:
        """Called when the session starts to switch its connections; it prolongs the turn."""
        self._switches += 1

    def end_switch(self) -> None:
        """Called when the connections are switched, or closed."""
        self._switches -= 1
        self._next()

    def _next(self) -> None:
        while self._active is None and not self._switches and self._waiting:
            request = self._waiting.popleft()
            if not request.done:
                self._active = request
                request.take_turn()

    def fail_all(self, error: Exception) -> None:
        """Fail all waiting requests: the session is closed."""
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            request.fail(error)
