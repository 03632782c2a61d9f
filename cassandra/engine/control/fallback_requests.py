"""Application requests over the control connection, used when no pool can take them.

This is for clusters whose nodes cannot be reached at their advertised addresses, for example behind
a TCP proxy. One connection then serves all sessions, so they must all use the same keyspace.
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
    from cassandra.engine.request import Request
    from cassandra.engine.session import EngineSession
    from cassandra.metadata.cluster_metadata import Metadata

__all__ = ["QueryFallback"]


class QueryFallback:
    """Binds a cluster's control connection to the keyspace of the sessions that use it.

    :param control: returns the control connection, or None if there is none at the moment.
    """

    __slots__ = ("_control", "_holders", "_keyspace", "_metadata", "mode")

    def __init__(
        self,
        mode: ControlConnectionQueryFallback,
        metadata: Metadata,
        control: Callable[[], Connection | None],
    ) -> None:
        self.mode = mode
        self._metadata = metadata
        self._control = control
        self._holders: set[EngineSession] = set()
        self._keyspace: str | None = None

    @property
    def opens_pools(self) -> bool:
        """False if sessions should not open pools."""
        return self.mode is not ControlConnectionQueryFallback.SkipPoolCreation

    @property
    def is_allowed(self) -> bool:
        """True if requests may use the control connection."""
        return self.mode is not ControlConnectionQueryFallback.Disabled

    def take(self, session: EngineSession, request: Request) -> bool:
        """Send a request that no pool could take; return False if the request must fail."""
        connection = self._control()
        if (
            not self.is_allowed
            or connection is None
            or connection.closed
            or not connection.has_room
            or named_host(request.target) is not None
            # Only once: a retry policy that asks for another host must not loop here.
            or any(attempt.connection is connection for attempt in request.attempts)
        ):
            return False
        refusal = self._refusal(session, request, connection)
        if refusal is not None:
            request.fail(refusal)
            return True
        self._holders.add(session)
        self._keyspace = session.keyspace
        if connection.gate is None and connection.keyspace == session.keyspace:
            self._send(request, connection)
        else:
            session.run_for(request, self._switch_and_send(session, request, connection))
        return True

    def _refusal(
        self, session: EngineSession, request: Request, connection: Connection
    ) -> InvalidRequest | None:
        statement = request.request_body.statement_text()
        if statement is not None and is_use(statement):
            return InvalidRequest(
                "USE cannot be executed over the control connection, which all sessions share: "
                "choose the keyspace when the session is made"
            )
        # One connection has one keyspace. Switching it while another session has requests in flight
        # would send those to the wrong tables.
        if self._holders - {session} and self._keyspace != session.keyspace:
            return InvalidRequest(
                f"the control connection serves a session with the keyspace {self._keyspace!r}, "
                f"and cannot serve one with {session.keyspace!r}"
            )
        if session.keyspace is None and connection.keyspace is not None:
            # CQL has USE, but no statement that leaves a keyspace.
            return InvalidRequest(
                f"the control connection uses the keyspace {connection.keyspace!r}, and there is "
                "no way back to none: name the keyspace when the session is made"
            )
        return None

    async def _switch_and_send(
        self, session: EngineSession, request: Request, connection: Connection
    ) -> None:
        assert session.keyspace is not None
        # Use the gate: requests that wait there must not be overtaken by another USE.
        await switch(session, connection, session.keyspace)
        self._send(request, connection)

    def _send(self, request: Request, connection: Connection) -> None:
        host: Any = self._metadata.get_host(connection.endpoint) or _Place(connection)
        request.send_to(host, connection)

    def release(self, session: EngineSession) -> None:
        """Called when `session` is closed."""
        self._holders.discard(session)


class _Place:
    """Replaces the host of a control connection whose node is not in the metadata."""

    def __init__(self, connection: Connection) -> None:
        self.endpoint = connection.endpoint
        self.address = connection.endpoint.address

    def __str__(self) -> str:
        return str(self.endpoint)


ControlConnectionQueryFallback.__module__ = "cassandra.cluster"
