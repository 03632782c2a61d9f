"""Prepare a statement again on a host that has forgotten it, within the request that found out."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from cassandra.engine.connection import read_answer
from cassandra.engine.failures import as_exception
from cassandra.engine.prepare.body import prepare_body
from cassandra.engine.prepare.rebind import Renewed, changes_of
from cassandra.errors import ConnectionException
from cassandra.protocol.messages.errors import ErrorMessage
from cassandra.protocol.opcodes import PREPARE

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.happy_path import Attempt
    from cassandra.engine.request import Request
    from cassandra.query.prepared import PreparedStatement

_process_random = random


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
            renewed = take_over(self.prepared, response, request.session.core.random)
            if renewed is not None:
                request.request_body.rebind(renewed)
            else:
                request.request_body.renew(old_id, self.prepared)
        except BaseException as error:
            request.fail(as_exception(error))
            return
        request.resend(self.attempt)

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        self.request.on_reprepare_failed(self.attempt, error)


def take_over(
    prepared: PreparedStatement, response: Any, random: random.Random | None = None
) -> Renewed | None:
    """Update `prepared` by the server's answer to a PREPARE.

    :param random: draws an id that no server has; None for numbers of the process.
    :returns: None; or, if the bind columns have changed, the statement as it is now. Values that
        were bound for the old types must not be sent.
    :raises BindColumnsChanged: if the columns have changed so that no values can be bound again.
    """
    if changes_of(prepared.column_metadata, response.bind_metadata):
        # Servers give the same text the same id, whatever its types are: they would take bytes of
        # the old types. An id that no server has lets each later execution come here too.
        if prepared.query_id == response.query_id:
            draws: Any = random if random is not None else _process_random
            prepared.query_id = draws.randbytes(len(response.query_id))
        if prepared.when_changed is not None:
            prepared.when_changed()
        return Renewed(prepared, response)
    prepared.query_id = response.query_id
    prepared.update_result_metadata(response.result_metadata, response.result_metadata_id)
    return None
