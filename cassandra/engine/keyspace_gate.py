"""Ensures that each request is executed in the right keyspace, although a USE switches connections.

A QUERY, BATCH or PREPARE may have an unqualified table name. The server then looks for the table in
the keyspace that the connection is in when the server executes the request. A USE changes that
keyspace. A server executes the requests of one connection concurrently, so a request in flight may
be executed before or after a USE.

Therefore each such request has the keyspace that it expects (`RequestBody.expected`). When the
request is sent, the expected keyspace is compared with the connection's. If they differ and the
protocol version is at least 5, the keyspace is put into the request. In older versions the request
waits in a queue of the connection, its keyspace gate.

A `KeyspaceGate` exists only while requests wait for a connection's keyspace. The gate handles them
in order, and sends USE when the next request needs another keyspace. Before the USE, it waits until
no request in flight depends on the keyspace. Prepared statements do not depend on the keyspace, so
they do not wait at the gate. If the gate waits too long, or if a USE was abandoned, the pool
replaces the connection, and the waiting requests are sent on another connection.

A USE that the application executes goes through the gate, too. A session executes only one USE at a
time (`UseTurns`). After the response to the USE, the session switches its other connections with
USE. Only then does the application's request end.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from cassandra._error_copies import copy_of
from cassandra.errors import ConnectionException, DriverException, InvalidRequest
from cassandra.query.keyspace_texts import names_its_keyspace

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from cassandra.engine.attempts import Attempt
    from cassandra.engine.connection import Connection

# The gate waits at most this long for requests in flight that depend on the keyspace. If some are
# still in flight then, the pool replaces the connection.
LONGEST_UNREST = 0.25  # seconds
# The gate waits at most this long for the response to a USE. After that, the pool replaces the
# connection, and waiting requests use another connection.
LONGEST_USE = 10.0  # seconds
CLAIM_INTERVAL = 0.001  # seconds between two attempts to take the write lock


class Held(Protocol):
    """An item in the queue of a keyspace gate: usually an attempt of a request, or a PREPARE."""

    @property
    def keyspace(self) -> str | None:
        """The keyspace that the connection must be in.

        None for a USE, or if the connection must not be in a keyspace.
        """

    @property
    def is_use(self) -> bool:
        """True if the request is a USE."""

    @property
    def needs_none(self) -> bool:
        """True if the request may only be sent on a connection that is in no keyspace."""

    @property
    def is_over(self) -> bool:
        """True if nobody waits for the request any more."""

    def go(self) -> None:
        """Called when the connection is in the right keyspace: send the request now."""

    def refuse(self, error: Exception) -> None:
        """Called when the USE for this request has failed: fail with `error`."""

    def leave(self, error: Exception) -> None:
        """Use another connection, because this connection takes no further requests.

        The request has not been sent.
        """


class GateSession(Protocol):
    """A session, as the keyspace gates see it (class `session.EngineSession`)."""

    @property
    def keyspace(self) -> str | None:
        """The keyspace of the session; None while it has no keyspace."""

    async def use(self, connection: Connection, keyspace: str) -> None:
        """Execute USE on `connection`.

        :raises DriverException: if the server rejects the USE.
        """

    def run_in_background(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
        """Run a coroutine until it ends, or the session is closed."""


class GatedRequest(Protocol):
    """A request that may have to wait at a gate (class `request.Request`)."""

    @property
    def is_answered(self) -> bool:
        """True if the request must not be sent any more."""

    @property
    def request_body(self) -> object:
        """The body, which knows the keyspace that the request expects."""

    def resend(self, attempt: Attempt) -> None:
        """Called when the connection is in the right keyspace: send the attempt on it."""

    def on_not_sent(self, attempt: Attempt, error: Exception) -> None:
        """Called when the connection takes no further requests: use another connection."""

    def fail(self, error: BaseException) -> None:
        """End the request with an error."""


class UseTurn(Protocol):
    """A USE that waits until earlier USE statements are done (class `use_request.UseRequest`)."""

    done: bool

    def take_turn(self) -> None:
        """Called when the earlier USE statements are done: start the request."""

    def fail(self, error: BaseException) -> None:
        """End the request with an error."""


class HeldRequest:
    """An attempt of a request that waits until its connection is in the expected keyspace."""

    __slots__ = ("_attempt", "_request", "is_use", "keyspace", "needs_none")

    def __init__(self, request: GatedRequest, attempt: Attempt) -> None:
        body: Any = request.request_body
        self._request = request
        self._attempt = attempt
        self.is_use: bool = body.is_use
        # `expected` is not a string if the body is a USE, or if the session had no keyspace when
        # the request was created.
        expected = body.expected if isinstance(body.expected, str) else None
        self.keyspace: str | None = None if self.is_use else expected
        self.needs_none = self.keyspace is None and not self.is_use

    @property
    def is_over(self) -> bool:
        return self._request.is_answered

    def go(self) -> None:
        self._request.resend(self._attempt)

    def refuse(self, error: Exception) -> None:
        if not self.is_over:
            self._request.fail(error)

    def leave(self, error: Exception) -> None:
        self._request.on_not_sent(self._attempt, error)


class _Switch:
    """An item in a gate's queue with which the session itself switches the connection.

    It belongs to no request.

    :param keyspace: the keyspace to switch to.
    :param done: completed when the connection is in `keyspace`, or takes no more requests.
    """

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
        # End the wait without an error: a connection that takes no requests need not be switched.
        self.go()


def can_pass(session: GateSession, request: GatedRequest, connection: Connection) -> bool:
    """Return True if a request may be sent although `connection` may be in another keyspace.

    If False, the request must wait at the gate. A request may be sent if the server does not need
    the connection's keyspace: all names are qualified, or the request itself contains the keyspace.
    With protocol version 5, this function puts the keyspace into the request.

    :raises InvalidRequest: if the request was created without a keyspace, but the session now has
        one.
    """
    body: Any = request.request_body
    gate = connection.gate
    # The gate is sending this request at the moment, so the connection is in the right keyspace.
    if gate is not None and gate.passing is request:
        return True
    # A USE changes the keyspace of the connection, so it always goes through the gate.
    if body.is_use:
        return False
    if connection.version >= 5 and body.carry_keyspace():
        return True
    # All names are qualified, so the keyspace of the connection has no effect.
    if all(map(names_its_keyspace, body.texts())):
        return True
    is_in_no_keyspace = gate is None and connection.keyspace is None
    if isinstance(body.expected, str):
        # If the session has no keyspace but the statement has one, the statement's keyspace is used
        # for routing only, as in cassandra-driver. We must not send USE for it, because no
        # statement could take the connection out of that keyspace again. So send the request
        # unchanged; the server rejects unqualified names.
        return session.keyspace is None and is_in_no_keyspace
    if session.keyspace is not None and not is_in_no_keyspace:
        raise InvalidRequest(
            "the request was made when the session had no keyspace, and by now it has "
            f"{session.keyspace!r}: name the keyspace in the statement"
        )
    return is_in_no_keyspace


def depends_on_keyspace(connection: Connection, responder: Any) -> bool:
    """Return True if the request of `responder` depends on the connection's keyspace.

    A request depends on it if it has unqualified names, because the server looks them up in the
    connection's keyspace. The server may do that at any time until it responds.
    """
    # The PREPAREs of `reprepare` have the attribute `needs_keyspace`; other responders have a
    # `request`.
    needs_keyspace = getattr(responder, "needs_keyspace", None)
    if needs_keyspace is not None:
        return bool(needs_keyspace)
    body = getattr(getattr(responder, "request", None), "request_body", None)
    if body is None or not body.depends:
        return False
    # From protocol version 5 on, a request may contain its keyspace. A USE never contains it.
    return connection.version < 5 or body.is_use or not body.names_keyspace


class KeyspaceGate:
    """The queue of requests that wait until `connection` is in their keyspace.

    A task of the gate switches the connection and sends the requests.

    :param session: the session of the requests.
    """

    __slots__ = ("_changed", "_connection", "_held", "_session", "_task", "passing")

    def __init__(self, session: GateSession, connection: Connection) -> None:
        self._session = session
        self._connection = connection
        # The requests that wait until the connection is in their keyspace, in order of arrival. An
        # item may also be a `_Switch` of the session.
        self._held: deque[Held] = deque()
        # The future that `notify` completes while `_run` waits for a change of the connection, such
        # as a response. None while `_run` does not wait.
        self._changed: asyncio.Future[None] | None = None
        # The request that the gate is sending at the moment, so that `can_pass` returns True for
        # it.
        self.passing: object = None
        connection.gate = self
        self._task = session.run_in_background(self._run())
        # Use a callback instead of `finally` in `_run`: a coroutine that is cancelled before its
        # first step does not run its `finally`.
        self._task.add_done_callback(self._ended)

    def hold(self, held: Held) -> None:
        """Add `held` to the end of the queue."""
        self._held.append(held)

    def notify(self) -> None:
        """Check again whether the gate can continue.

        Called when a response came, a request was abandoned, or the connection was closed.
        """
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    async def _run(self) -> None:
        """Send all waiting requests, and switch the connection in between."""
        connection = self._connection
        while connection.is_open_to_requests:
            self._send_all_of_this_keyspace()
            if not self._held:
                # Remove the gate now. `_ended` runs only in a later loop iteration, and it would
                # treat items that were held until then as not sent.
                connection.gate = None
                return
            first = self._held[0]
            if first.needs_none:
                # The connection is in a keyspace, and no statement can undo that, so the pool must
                # replace the connection. After `give_up`, the condition of this loop is False, and
                # `_ended` lets the waiting requests use another connection.
                connection.give_up("it is in a keyspace, and the session is in none")
            elif not await self._wait_until_at_rest(LONGEST_UNREST):
                return
            elif first.is_use:
                self._pass(self._held.popleft())
                # Wait for the response to the USE, which sets the connection's keyspace.
                if not await self._wait_until_at_rest(LONGEST_USE):
                    return
            else:
                await self._switch_to(first)

    def _send_all_of_this_keyspace(self) -> None:
        """Send all requests that wait for the connection's current keyspace.

        These requests may overtake earlier requests that wait for another keyspace.
        """
        waiters, self._held = self._held, deque()
        for waiter in waiters:
            is_ready = not waiter.is_use and self._connection.keyspace == waiter.keyspace
            if is_ready and not waiter.is_over:
                self._pass(waiter)
            # Drop requests that are over.
            elif not waiter.is_over:
                self._held.append(waiter)

    async def _switch_to(self, held: Held) -> None:
        """Send USE for the keyspace of `held`.

        If the server rejects the USE, `held` fails. If the connection takes no further requests,
        `held` stays in the queue, and then uses another connection.
        """
        assert held.keyspace is not None
        try:
            await self._session.use(self._connection, held.keyspace)
        except (DriverException, OSError) as error:
            if self._connection.is_open_to_requests:
                self._held.popleft()  # `held` is the first in the queue
                held.refuse(error)

    def _pass(self, held: Held) -> None:
        """Send the request of `held`. Set `passing`, so that `can_pass` returns True for it."""
        self.passing = getattr(held, "_request", None)
        try:
            held.go()
        finally:
            self.passing = None

    async def _wait_until_at_rest(self, seconds: float) -> bool:
        """Wait until no request in flight depends on the keyspace, and a stream is free.

        :param seconds: the longest wait. After that time, the connection is given up, so that the
            pool replaces it.
        :returns: False if the connection takes no further requests.
        """
        connection = self._connection
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        if not await self._invalidate_direct_writes(end):
            return False
        while connection.is_open_to_requests:
            if connection.left_text_behind:
                # Requests with unqualified names were abandoned. The server may still execute them,
                # and we cannot know when. So replace the connection if any abandoned request still
                # has no response.
                if connection.orphans:
                    connection.give_up("requests on it that were abandoned may still run")
                    return False
                connection.left_text_behind = False
            responders = connection.streams.waiting()
            # Each responder waits for the response to one request in flight.
            some_depend = any(
                depends_on_keyspace(connection, responder) for responder in responders
            )
            # The USE itself needs a free stream.
            if not some_depend and connection.has_room:
                return True
            if clock() >= end:
                connection.give_up(
                    "requests in flight depend on the keyspace that it is in"
                    if some_depend
                    else "no stream is free to switch its keyspace on"
                )
                return False
            await self._wait_for_change(end)
        return False

    async def _invalidate_direct_writes(self, end: float) -> bool:
        """Ensure that from now on no user thread sends a request for the old keyspace.

        This changes the epoch, which user threads compare before they write.

        :param end: the loop's time at which to stop trying.
        :returns: False if the connection is closed or was replaced.
        """
        connection = self._connection
        clock = asyncio.get_running_loop().time
        while not connection.closed:
            if connection.streams.acquire_write():
                # While we hold the write lock, no user thread is writing. Each thread has written
                # its request already, or will see the new epoch and not write.
                connection.streams.keyspace_epoch += 1
                connection.streams.release_write()
                return True
            if clock() >= end:
                connection.give_up("a thread that writes was interrupted, and does not go on")
                return False
            await asyncio.sleep(CLAIM_INTERVAL)
        return False

    async def _wait_for_change(self, end: float) -> None:
        """Wait until `notify` is called, or until the loop's time is `end`."""
        loop = asyncio.get_running_loop()
        self._changed = loop.create_future()
        timer = loop.call_at(end, self.notify)
        try:
            await self._changed
        finally:
            self._changed = None
            timer.cancel()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        """Called when the task ends: remove the gate; waiting requests use another connection."""
        connection = self._connection
        if connection.gate is self:  # the connection may have a newer gate by now
            connection.gate = None
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            # After an error in the driver itself, the keyspace of the connection is unknown.
            connection.close(ConnectionException(f"{connection.endpoint}: {fault}"))
        error = ConnectionException(
            f"{connection.endpoint}: the connection was replaced before the request was sent",
            connection.endpoint,
        )
        waiters, self._held = self._held, deque()
        for waiter in waiters:
            waiter.leave(copy_of(error))


def hold(session: GateSession, connection: Connection, held: Held) -> None:
    """Put `held` into the queue of the connection's gate. If there is no gate, create one."""
    (connection.gate or KeyspaceGate(session, connection)).hold(held)


async def switch(session: GateSession, connection: Connection, keyspace: str) -> None:
    """Switch an open connection to `keyspace`, after the requests that wait at its gate already.

    :raises DriverException: if the server rejects the USE.
    """
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    hold(session, connection, _Switch(keyspace, done))
    await done


class UseTurns:
    """Ensures that a session executes its USE statements one after the other.

    A turn of a USE begins when it is sent, and ends when all connections of the session were
    switched.
    """

    __slots__ = ("_active", "_switches", "_waiting")

    def __init__(self) -> None:
        # The USE that is being executed; None if there is none.
        self._active: UseTurn | None = None
        # How often `begin_switch` was called without `end_switch`: the switches that are still
        # running.
        self._switches = 0
        # The USE statements that wait, in order.
        self._waiting: deque[UseTurn] = deque()

    def enter(self, request: UseTurn) -> bool:
        """Return True if `request` may be sent now.

        If False, its `take_turn` is called when the earlier USE statements are done.
        """
        if self._active is None and not self._switches:
            self._active = request
        if self._active is request:
            return True
        self._waiting.append(request)
        return False

    def is_waiting(self, request: UseTurn) -> bool:
        """Return True if `request` waits for earlier USE statements."""
        return request in self._waiting

    def leave(self, request: UseTurn) -> None:
        """Called when `request` is over: start the next USE, or remove `request` from the queue."""
        if self._active is request:
            self._active = None
            self._next()
        elif request in self._waiting:
            self._waiting.remove(request)

    def begin_switch(self) -> None:
        """Hold back the next USE until `end_switch` is called.

        Called when the session starts to switch its connections.
        """
        self._switches += 1

    def end_switch(self) -> None:
        """Allow the next USE. Called when each connection has been switched or closed."""
        self._switches -= 1
        self._next()

    def _next(self) -> None:
        """Start the next USE whose request is not over, unless a USE or a switch is running."""
        while self._active is None and not self._switches and self._waiting:
            request = self._waiting.popleft()
            if not request.done:
                self._active = request
                request.take_turn()

    def fail_all(self, error: Exception) -> None:
        """Let all waiting requests fail with `error`. Called when the session is closed."""
        # Empty the queue first, because a failing request calls `leave`.
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            request.fail(copy_of(error))
