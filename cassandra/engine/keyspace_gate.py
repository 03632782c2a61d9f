"""The keyspace of a connection: no request is sent to a connection that is in another one.

Theory of operation. A name without a keyspace, in a QUERY, a BATCH or a PREPARE, belongs to the
keyspace that its connection is in when the server executes the request. A USE changes that
keyspace, and servers execute the requests of one connection side by side: a request that is in
flight when a USE is sent may run before or after it. So each such request carries the keyspace that
it expects (`RequestBody.expected`), which is compared with that of the connection when it is sent.
If they differ, protocol version 5 names the keyspace in the request itself. Older versions cannot:
there the request waits at the connection's gate.

A `KeyspaceGate` exists while a connection is switched. It takes what waits in order. Before each
switch it waits until nothing in flight depends on the keyspace; requests of prepared statements,
which know their tables, pass all the time. A connection that does not come to rest, or whose USE
was given up, is replaced by its pool: what waits at its gate goes to another connection.

A USE that the application executes takes the same way, one at a time for a session (`UseTurns`).
When it is answered, the session's other connections are switched before the request ends.
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

# Seconds that a switch waits for requests in flight before the connection is replaced.
LONGEST_UNREST = 0.25
# Seconds that others wait for the answer to a USE before they go to another connection.
LONGEST_USE = 10.0
CLAIM_INTERVAL = 0.001  # seconds between two tries to keep other threads from writing


class Held(Protocol):
    """A request, or a part of one, that waits at a gate."""

    @property
    def keyspace(self) -> str | None:
        """The keyspace that the connection must be in; of a USE, which needs none, None."""

    @property
    def is_use(self) -> bool:
        """True if it switches the connection itself."""

    @property
    def needs_none(self) -> bool:
        """True if the connection must be in no keyspace at all."""

    @property
    def is_over(self) -> bool:
        """True if nobody waits for it any more."""

    def go(self) -> None:
        """The connection is in the keyspace: send it now."""

    def refuse(self, error: Exception) -> None:
        """The server refuses to switch to the keyspace."""

    def leave(self, error: Exception) -> None:
        """The connection takes no further requests; this one was not sent."""


class HeldRequest:
    """A request whose text depends on the keyspace, and the attempt that waits."""

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
    """A switch that the session needs, for no request in particular."""

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
        self.go()  # a connection that takes no requests needs no keyspace


def can_pass(session: EngineSession, request: Request, connection: Connection) -> bool:
    """Return True if a request may be sent on `connection` as it is, though they differ in
    keyspace; False if it has to wait at the gate.

    It may if it names the keyspace itself, from now on if need be.

    :raises InvalidRequest: if it was made without a keyspace, and the session has one by now.
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
        # Without a keyspace of the session, that of a statement is for routing, as with other
        # drivers: nothing undoes a USE. The server refuses names that lack their keyspace.
        return session.keyspace is None and is_free
    if session.keyspace is not None and not is_free:
        raise InvalidRequest(
            "the request was made when the session had no keyspace, and by now it has "
            f"{session.keyspace!r}: name the keyspace in the statement"
        )
    return is_free


def depends_on_keyspace(connection: Connection, responder: Any) -> bool:
    """Return True if the request that `responder` stands for has names that lack their keyspace.

    The server looks their keyspace up when it executes the request, at any time until its answer.
    """
    is_text = getattr(responder, "is_text", None)
    if is_text is not None:
        return bool(is_text)
    body = getattr(getattr(responder, "request", None), "request_body", None)
    if body is None or not body.depends:
        return False
    return connection.version < 5 or body.is_use or not body.names_keyspace


class KeyspaceGate:
    """The requests that wait until `connection` is in their keyspace.

    :param session: the session whose requests they are.
    """

    __slots__ = ("_changed", "_connection", "_held", "_session", "_task", "passing")

    def __init__(self, session: EngineSession, connection: Connection) -> None:
        self._session = session
        self._connection = connection
        self._held: deque[Held] = deque()
        self._changed: asyncio.Future[None] | None = None
        self.passing: object = None  # the request that is being sent
        connection.gate = self
        self._task = session.run_in_background(self._run())
        # Not at the end of the coroutine, which never begins if it is cancelled at once.
        self._task.add_done_callback(self._ended)

    def hold(self, held: Held) -> None:
        """Let `held` wait for its turn."""
        self._held.append(held)

    def notify(self) -> None:
        """An answer has come, a request was given up, or the connection was closed."""
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    async def _run(self) -> None:
        connection = self._connection
        while not connection.closed and not connection.is_given_up:
            self._pass_all_of_this_keyspace()
            if not self._held:
                return
            held = self._held[0]
            if held.needs_none:
                # Nothing leads back to no keyspace.
                connection.give_up("it is in a keyspace, and the session is in none")
            elif not await self._is_at_rest(LONGEST_UNREST):
                return
            elif held.is_use:
                self._pass(self._held.popleft())
                # Its answer says in which keyspace the connection is.
                if not await self._is_at_rest(LONGEST_USE):
                    return
            else:
                await self._switch_to(held)

    def _pass_all_of_this_keyspace(self) -> None:
        """Let all pass that wait for the keyspace of now, whatever waits between them."""
        held, self._held = self._held, deque()
        for each in held:
            is_ready = not each.is_use and self._connection.keyspace == each.keyspace
            if is_ready and not each.is_over:
                self._pass(each)
            elif not each.is_over:
                self._held.append(each)

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

        :param longest: seconds; the connection is given up then.
        :returns: False if the connection takes no further requests: it is closed, or replaced.
        """
        connection = self._connection
        clock = asyncio.get_running_loop().time
        end = clock() + longest
        if not await self._keep_threads_out(end):
            return False
        while not connection.closed and not connection.is_given_up:
            if connection.left_text_behind:
                # What was given up may run at any time, or never. Nobody would hear of it.
                if connection.orphans:
                    connection.give_up("requests on it that were abandoned may still run")
                    return False
                connection.left_text_behind = False
            waiting = connection.streams.waiting()
            depend = any(depends_on_keyspace(connection, responder) for responder in waiting)
            # The USE needs a stream, too.
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
        """Make threads that were about to write find that the keyspace may change."""
        connection = self._connection
        clock = asyncio.get_running_loop().time
        while not connection.closed:
            if connection.streams.acquire_write():
                # Behind the claim: a thread has either written by now, or compares with this.
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
        """Let later requests to the connection, and send elsewhere what still waits."""
        connection = self._connection
        connection.gate = None
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            # The driver's own: in which keyspace the connection is, nobody knows.
            connection.close(ConnectionException(f"{connection.endpoint}: {fault}"))
        error = ConnectionException(
            f"{connection.endpoint}: the connection was replaced before the request was sent",
            connection.endpoint,
        )
        held, self._held = self._held, deque()
        for one in held:
            one.leave(error)


def hold(session: EngineSession, connection: Connection, held: Held) -> None:
    """Let `held` wait at the gate of `connection`."""
    (connection.gate or KeyspaceGate(session, connection)).hold(held)


async def switch(session: EngineSession, connection: Connection, keyspace: str) -> None:
    """Have an open connection use `keyspace`, behind what waits at its gate already.

    :raises DriverException: if the server refuses.
    """
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    hold(session, connection, _Switch(keyspace, done))
    await done


class UseTurns:
    """The USE statements of one session, one at a time."""

    __slots__ = ("_active", "_switches", "_waiting")

    def __init__(self) -> None:
        self._active: UseRequest | None = None
        self._switches = 0
        self._waiting: deque[UseRequest] = deque()

    def enter(self, request: UseRequest) -> bool:
        """Return True if it is this request's turn; else `request.take_turn` is called later."""
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
        """`request` is over."""
        if self._active is request:
            self._active = None
            self._next()
        elif request in self._waiting:
            self._waiting.remove(request)

    def begin_switch(self) -> None:
        """The session's connections are being switched: the turn lasts until they are."""
        self._switches += 1

    def end_switch(self) -> None:
        """They are in the new keyspace, or gone."""
        self._switches -= 1
        self._next()

    def _next(self) -> None:
        while self._active is None and not self._switches and self._waiting:
            request = self._waiting.popleft()
            if not request.done:
                self._active = request
                request.take_turn()

    def fail_all(self, error: Exception) -> None:
        """The session is closed."""
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            request.fail(error)
