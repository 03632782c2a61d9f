"""Preparing a statement again on the host that has forgotten it, inside the request that found out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._impl import bodies
from cassandra.errors import ConnectionException, InvalidRequest, ProtocolError
from cassandra.protocol.messages.errors import ErrorMessage
from cassandra.protocol.opcodes import PREPARE, RESULT_KIND_PREPARED
from cassandra.query.statement import query_head

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.exchange import Attempt
    from cassandra.engine.request import Request
    from cassandra.query.prepared import PreparedStatement


class Reprepare:
    """One PREPARE on the connection of an attempt, whose request goes on when it is answered."""

    __slots__ = ("attempt", "prepared", "request")

    def __init__(self, request: Request, attempt: Attempt, prepared: PreparedStatement) -> None:
        self.request = request
        self.attempt = attempt
        self.prepared = prepared

    def send(self, connection: Connection) -> None:
        """Ask the server to prepare the statement."""
        prepared = self.prepared
        keyspace = prepared.keyspace if connection.version >= 5 else None
        try:
            connection.send(self, PREPARE, 0, bodies.prepare_body(prepared.query_string, keyspace, connection.version))
        except ConnectionException as error:
            self.request.on_reprepare_failed(self.attempt, error)

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        request = self.request
        if request.done:
            return
        try:
            response = request.session.decode_control(connection, opcode, flags, body)
            old_id = self.prepared.query_id
            take_over(self.prepared, checked_prepared(response, connection))
            request.payload.renew(old_id, self.prepared)
        except Exception as error:
            request.fail(error)
            return
        request.resend(self.attempt)

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        self.request.on_reprepare_failed(self.attempt, error)


def checked_prepared(response: Any, connection: Connection) -> Any:
    """`response` where it is the answer to a PREPARE; raises the server's refusal, or ProtocolError for anything else."""
    if isinstance(response, ErrorMessage):
        raise response.to_exception()
    if getattr(response, "kind", None) != RESULT_KIND_PREPARED:
        raise ProtocolError(f"{connection.endpoint} answered a PREPARE with {response!r}")
    return response


def take_over(prepared: PreparedStatement, response: Any) -> None:
    """Bring `prepared` up to what the server says now.

    Raises InvalidRequest where the bind columns have changed: values bound for the old types must not be sent.
    """
    before = [(column.name, column.type) for column in prepared.column_metadata]
    now = [(column.name, column.type) for column in response.bind_metadata]
    changed = [
        f"{old_name} {old_type.cql_parameterized_type()} -> {name} {kind.cql_parameterized_type()}"
        for (old_name, old_type), (name, kind) in zip(before, now, strict=False)
        if old_name != name or old_type.cql_parameterized_type() != kind.cql_parameterized_type()
    ]
    if changed or len(before) != len(now):
        shown = ", ".join(changed) or f"{len(before)} columns -> {len(now)}"
        raise InvalidRequest(
            f"the bind columns of {query_head(prepared.query_string)} have changed on the server since it was prepared "
            f"({shown}): prepare it again"
        )
    prepared.query_id = response.query_id
    prepared.update_result_metadata(response.result_metadata, response.result_metadata_id)
