"""Sends requests of the application over the control connection if no pool can send them.

This is for clusters whose nodes cannot be reached at their advertised addresses, for example behind
a TCP proxy. One connection then serves all sessions, so all sessions must use the same keyspace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra.engine.control.query_fallback import ControlConnectionQueryFallback
from cassandra.engine.keyspace_gate import switch
from cassandra.engine.targets import named_host
from cassandra.errors import InvalidRequest
from cassandra.query.keyspace_texts import is_use

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.happy_path import RequestBase
    from cassandra.engine.interfaces import RequestSession
    from cassandra.metadata.cluster_metadata import Metadata


class QueryFallback:
    """Sends requests on a cluster's control connection, and switches that to the keyspace of the
    sessions that use it.

    :param mode: the cluster's setting, whether and when the control connection may be used.
    :param control: returns the control connection, or None if there is none at the moment.
    """

    __slots__ = ("_get_connection", "_keyspace", "_metadata", "_sessions", "mode")

    def __init__(
        self,
        mode: ControlConnectionQueryFallback,
        metadata: Metadata,
        control: Callable[[], Connection | None],
    ) -> None:
        self.mode = mode
        self._metadata = metadata
        self._get_connection = control
        # The open sessions that have sent requests here, and the keyspace of the last of them.
        # All of them must have this keyspace.
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

        :returns: False if it cannot be sent here, so that the caller must let it fail. True if it
            was sent, or has failed already.
        """
        connection = self._get_connection()
        if (
            not self.is_allowed
            or connection is None
            or connection.closed
            or not connection.has_room
            or named_host(request.target) is not None
            # Send each request here only once. Otherwise a retry policy that always asks for the
            # next host would cause an endless loop.
            or any(attempt.connection is connection for attempt in request.attempts)
        ):
            return False
        error = self._refusal(session, request, connection)
        if error is not None:
            request.fail(error)
            return True
        self._sessions.add(session)
        self._keyspace = session.keyspace
        # If the connection has a keyspace gate, other requests wait for a switch of the keyspace:
        # wait behind them.
        if connection.gate is None and connection.keyspace == session.keyspace:
            self._send(request, connection)
        else:
            session.run_for(request, self._switch_and_send(session, request, connection))
        return True

    def _refusal(
        self, session: RequestSession, request: RequestBase, connection: Connection
    ) -> InvalidRequest | None:
        """Return the error of a request that must not use the control connection, or None."""
        statement = request.request_body.statement_text()
        if statement is not None and is_use(statement):
            return InvalidRequest(
                "USE cannot be executed over the control connection, which all sessions share: "
                "choose the keyspace when the session is made"
            )
        # The connection is in one keyspace. If we switched it while another session has requests in
        # flight, the server would look for their tables in the wrong keyspace.
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
        self._send(request, connection)

    def _send(self, request: RequestBase, connection: Connection) -> None:
        host: Any = self._metadata.get_host(connection.endpoint) or _UnknownHost(connection)
        request.send_to(host, connection)

    def release(self, session: RequestSession) -> None:
        """Called when `session` is closed."""
        self._sessions.discard(session)


class _UnknownHost:
    """Replaces the `Host` if the control connection's node is not in the metadata."""

    def __init__(self, connection: Connection) -> None:
        self.endpoint = connection.endpoint
        self.address = connection.endpoint.address

    def __str__(self) -> str:
        return str(self.endpoint)


ControlConnectionQueryFallback.__module__ = "cassandra.cluster"
