"""Requests of programs over the control connection, if no pool can take them.

That is for clusters whose nodes cannot be reached at the addresses they tell, behind a TCP proxy
say. One connection serves all sessions then, so all of them have to use one keyspace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra.engine.control.query_fallback import ControlConnectionQueryFallback
from cassandra.engine.keyspace_gate import switch
from cassandra.errors import InvalidRequest
from cassandra.query.keyspace_texts import is_use

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.request import Request
    from cassandra.engine.session import EngineSession
    from cassandra.metadata.cluster_metadata import Metadata

__all__ = ["QueryFallback"]


class QueryFallback:
    """The keyspace that a cluster's control connection is bound to, and the session that did it.

    :param control: returns the control connection, or None while there is none.
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
        """False if sessions are to have no pools."""
        return self.mode is not ControlConnectionQueryFallback.SkipPoolCreation

    @property
    def is_allowed(self) -> bool:
        """True if requests may use the control connection."""
        return self.mode is not ControlConnectionQueryFallback.Disabled

    def take(self, session: EngineSession, request: Request) -> bool:
        """Send a request that no pool could take; return False if it has to fail."""
        connection = self._control()
        if (
            not self.is_allowed
            or connection is None
            or connection.closed
            or not connection.has_room
            or request.target_host is not None
            # Once: a retry policy that wants another host must not lead here again and again.
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
            session.see_through(request, self._switch_and_send(session, request, connection))
        return True

    def _refusal(
        self, session: EngineSession, request: Request, connection: Connection
    ) -> InvalidRequest | None:
        text = request.request_body.statement_text()
        if text is not None and is_use(text):
            return InvalidRequest(
                "USE cannot be executed over the control connection, which all sessions share: "
                "choose the keyspace when the session is made"
            )
        # One connection has one keyspace. Switching it under another session's requests would send
        # them to the wrong tables.
        if self._holders - {session} and self._keyspace != session.keyspace:
            return InvalidRequest(
                f"the control connection serves a session with the keyspace {self._keyspace!r}, "
                f"and cannot serve one with {session.keyspace!r}"
            )
        if session.keyspace is None and connection.keyspace is not None:
            # CQL has USE, but nothing that undoes it.
            return InvalidRequest(
                f"the control connection uses the keyspace {connection.keyspace!r}, and there is "
                "no way back to none: name the keyspace when the session is made"
            )
        return None

    async def _switch_and_send(
        self, session: EngineSession, request: Request, connection: Connection
    ) -> None:
        assert session.keyspace is not None
        # Through the gate: what waits there must not be overtaken by another USE.
        await switch(session, connection, session.keyspace)
        self._send(request, connection)

    def _send(self, request: Request, connection: Connection) -> None:
        host: Any = self._metadata.get_host(connection.endpoint) or _Place(connection)
        request.send_to(host, connection)

    def release(self, session: EngineSession) -> None:
        """`session` is closed."""
        self._holders.discard(session)


class _Place:
    """Stands for the host of a control connection that is not among the known ones."""

    def __init__(self, connection: Connection) -> None:
        self.endpoint = connection.endpoint
        self.address = connection.endpoint.address

    def __str__(self) -> str:
        return str(self.endpoint)


ControlConnectionQueryFallback.__module__ = "cassandra.cluster"
