"""Prepare a statement again on a host that has forgotten it, within the request that found out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra.engine.connection import read_answer
from cassandra.engine.mishaps import mishap
from cassandra.engine.prepare.body import prepare_body
from cassandra.errors import ConnectionException, InvalidRequest
from cassandra.protocol.messages.errors import ErrorMessage
from cassandra.protocol.opcodes import PREPARE
from cassandra.query.statement import query_head

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.flight import Attempt
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
        body = prepare_body(prepared.query_string, prepared.keyspace, connection.version)
        try:
            connection.send(self, PREPARE, 0, body)
        except ConnectionException as error:
            self.request.on_reprepare_failed(self.attempt, error)

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        request = self.request
        if request.done:
            return
        try:
            response = read_answer(connection, PREPARE, None, opcode, flags, body)
            if isinstance(response, ErrorMessage):
                raise response.to_exception()
            old_id = self.prepared.query_id
            take_over(self.prepared, response)
            request.request_body.renew(old_id, self.prepared)
        except BaseException as error:
            request.fail(mishap(error))
            return
        request.resend(self.attempt)

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        self.request.on_reprepare_failed(self.attempt, error)


def take_over(prepared: PreparedStatement, response: Any) -> None:
    """Update `prepared` by the server's answer to a PREPARE.

    :raises InvalidRequest: if the bind columns have changed: values bound for the old types must
        not be sent.
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
            f"the bind columns of {query_head(prepared.query_string)} have changed on the server "
            f"since it was prepared ({shown}): prepare it again"
        )
    prepared.query_id = response.query_id
    prepared.update_result_metadata(response.result_metadata, response.result_metadata_id)
