"""Sends requests of the application over the control connection if no pool can send them.

This is for clusters whose nodes cannot be reached at their advertised addresses, for example behind
a TCP proxy. One connection then serves all sessions, so all sessions must use the same keyspace.

If the connection has no free stream, requests wait for one. If the connection's host will stop
soon, requests wait for the next control connection. If the connection is lost, waiting requests
fail.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._error_copies import copy_of
from cassandra.engine.control.query_fallback import ControlConnectionQueryFallback
from cassandra.engine.failures import as_exception
from cassandra.engine.keyspace_gate import switch
from cassandra.engine.targets import named_host
from cassandra.errors import InvalidRequest
from cassandra.query.keyspace_texts import is_use

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.happy_path import RequestBase
    from cassandra.engine.interfaces import RequestSession
    from cassandra.metadata.cluster_metadata import Metadata


# This many streams are reserved for the driver's own requests, for example for the node list. If
# such a request found no free stream, the control connection would be replaced.
RESERVED_STREAMS = 64


class QueryFallback:
    """Sends requests on the control connection, in the keyspace of the sessions that use it.

    :param mode: the cluster's setting that says whether and when the control connection may be
        used.
    :param control: returns the control connection, or None if there is none.
    :param most_waiting: the maximum number of requests that may wait for a free stream.
    """

    __slots__ = (
        "_get_connection", "_keyspace", "_metadata", "_most_waiting", "_sessions", "_waiting",
        "mode",
    )  # fmt: skip

    def __init__(
        self,
        mode: ControlConnectionQueryFallback,
        metadata: Metadata,
        control: Callable[[], Connection | None],
        most_waiting: float = math.inf,
    ) -> None:
        # The requests that wait for a free stream, as pairs (session, request), in order of
        # arrival.
        self._waiting: deque[tuple[RequestSession, RequestBase]] = deque()
        self._most_waiting = most_waiting
        self.mode = mode
        self._metadata = metadata
        self._get_connection = control
        # The open sessions that have sent requests here, and the keyspace that all of them must
        # have.
        self._sessions: set[RequestSession] = set()
        self._keyspace: str | None = None

    @property
    def opens_pools(self) -> bool:
        """False if sessions should not open pools."""
        return self.mode is not ControlConnectionQueryFallback.SkipPoolCreation

    @property
    def is_allowed(self) -> bool:
        """True if requests may use the control connection."""
        return self.mode is not ControlConnectionQueryFallback.Disabled

    def take(self, session: RequestSession, request: RequestBase) -> bool:
        """Send a request for which no pool has a connection.

        :returns: False if the request cannot be sent here, so that the caller must let it fail.
            True if the request was sent, waits for a free stream, or has failed already.
        """
        connection = self._get_connection()
        if (
            not self.is_allowed
            or connection is None
            or connection.closed
            or named_host(request.target) is not None
            # Send each request here only once. Otherwise a retry policy that always retries on the
            # next host would cause an endless loop.
            or any(attempt.connection is connection for attempt in request.attempts)
        ):
            return False
        if _has_room(connection):
            self._begin(session, request, connection)
            return True
        # Remove requests that have timed out from the head of the queue, where they usually are.
        # Searching the whole queue for each request would take too long.
        while self._waiting and self._waiting[0][1].done:
            self._waiting.popleft()
        if len(self._waiting) >= self._most_waiting:
            return False
        request._waits += 1
        self._waiting.append((session, request))
        return True

    def on_room(self, connection: Connection) -> None:
        """Send waiting requests on the control connection, because it may have free streams."""
        while self._waiting and _has_room(connection):
            session, request = self._waiting.popleft()
            if not request.done:
                request._waits -= 1
                try:
                    self._begin(session, request, connection)
                except BaseException as error:
                    # Fail only this request, which has caused the error.
                    request.fail(as_exception(error))

    def on_lost(self, connection: Connection, error: Exception | None) -> None:
        """Let the waiting requests fail, unless a pool can now send them.

        Called when the control connection is lost.

        :param error: the cause; None if the driver has closed the connection on purpose.
        """
        # Replace the queue first, because a request may call `take` again at once.
        waiting, self._waiting = self._waiting, deque()
        for _, request in waiting:
            if not request.done:
                cause = copy_of(error) if error is not None else connection.refusal()
                request.on_pool_closed(self._host_of(connection), cause)

    def _begin(self, session: RequestSession, request: RequestBase, connection: Connection) -> None:
        """Send a request on the control connection, in the keyspace of the request's session.

        If that is not possible, the request fails.
        """
        error = self._refusal(session, request, connection)
        if error is not None:
            request.fail(error)
            return
        self._sessions.add(session)
        self._keyspace = session.keyspace
        # If the connection has a keyspace gate, other requests wait there for a switch of the
        # keyspace. In that case, this request waits behind them.
        if connection.gate is None and connection.keyspace == session.keyspace:
            self._send(request, connection)
        else:
            session.run_for(request, self._switch_and_send(session, request, connection))

    def _refusal(
        self, session: RequestSession, request: RequestBase, connection: Connection
    ) -> InvalidRequest | None:
        """Return the error of a request that must not use the connection; else None."""
        statement = request.request_body.statement_text()
        if statement is not None and is_use(statement):
            return InvalidRequest(
                "USE cannot be executed over the control connection, which all sessions share: "
                "choose the keyspace when the session is made"
            )
        # The connection can be in only one keyspace. If we switched the connection while another
        # session has requests in flight, the server would look for their tables in the wrong
        # keyspace.
        if self._sessions - {session} and self._keyspace != session.keyspace:
            return InvalidRequest(
                f"the control connection serves a session with the keyspace {self._keyspace!r}, "
                f"and cannot serve one with {session.keyspace!r}"
            )
        if session.keyspace is None and connection.keyspace is not None:
            # CQL has no statement that undoes a USE.
            return InvalidRequest(
                f"the control connection uses the keyspace {connection.keyspace!r}, and there is "
                "no way back to none: name the keyspace when the session is made"
            )
        return None

    async def _switch_and_send(
        self, session: RequestSession, request: RequestBase, connection: Connection
    ) -> None:
        assert session.keyspace is not None
        # Switch at the keyspace gate, after the requests that already wait there.
        await switch(session, connection, session.keyspace)
        # Many requests may have waited for the switch, and there may not be enough free streams for
        # all of them: then wait again. If `take` returns False, the connection was lost: send the
        # request nevertheless, so that it fails.
        if _has_room(connection) or not self.take(session, request):
            self._send(request, connection)

    def _send(self, request: RequestBase, connection: Connection) -> None:
        request.send_to(self._host_of(connection), connection)

    def _host_of(self, connection: Connection) -> Any:
        """Return the control connection's host; an `_UnknownHost` if the metadata lacks it."""
        return self._metadata.get_host(connection.endpoint) or _UnknownHost(connection)

    def release(self, session: RequestSession) -> None:
        """Let the waiting requests of `session` fail, because the session is closed."""
        self._sessions.discard(session)
        waiting, self._waiting = self._waiting, deque()
        for owner, request in waiting:
            if owner is not session:
                self._waiting.append((owner, request))
            else:
                request.fail(session.closed_error())


def _has_room(connection: Connection) -> bool:
    """Return True if an application's request may now be sent on the control connection.

    The connection must have a free stream that is not reserved, and must not be closed soon.
    """
    reserved = min(RESERVED_STREAMS, connection.stream_limit // 2)
    return (
        connection.is_open_to_requests
        and connection.has_room
        and connection.in_flight < connection.stream_limit - reserved
    )


class _UnknownHost:
    """Replaces the `Host` if the control connection's node is not in the cluster's metadata."""

    def __init__(self, connection: Connection) -> None:
        self.endpoint = connection.endpoint
        self.address = connection.endpoint.address

    def __str__(self) -> str:
        return str(self.endpoint)


ControlConnectionQueryFallback.__module__ = "cassandra.cluster"
