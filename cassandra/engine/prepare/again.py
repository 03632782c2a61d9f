"""Prepare a statement again on a host that has forgotten it, within the request that found out."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from cassandra.engine.connection import read_answer
from cassandra.engine.failures import as_exception
from cassandra.engine.keyspace_gate import hold
from cassandra.engine.prepare.body import prepare_body
from cassandra.engine.prepare.rebind import Renewed, changes_of
from cassandra.engine.randomness import own_or_process
from cassandra.errors import ConnectionException, DriverException, InvalidRequest
from cassandra.protocol.messages.errors import ErrorMessage
from cassandra.protocol.opcodes import PREPARE
from cassandra.query.keyspace_texts import names_its_keyspace
from cassandra.query.statement import query_head

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.happy_path import Attempt
    from cassandra.engine.request import Request
    from cassandra.query.prepared import PreparedStatement


class Reprepare:
    """One PREPARE on the connection of an attempt, whose request goes on when it is answered."""

    __slots__ = (
        "_stream",
        "_was_waiting",
        "attempt",
        "connection",
        "is_text",
        "prepared",
        "request",
    )

    # It waits at the gate of a connection that is in another keyspace than the statement.
    is_use = needs_none = False

    def __init__(
        self,
        request: Request,
        attempt: Attempt,
        prepared: PreparedStatement,
        connection: Connection,
    ) -> None:
        self.request = request
        self.attempt = attempt
        self.prepared = prepared
        self.connection = connection
        self._stream = -1
        self._was_waiting: Any = None
        # Version 5 names the keyspace in the request.
        self.is_text = (
            connection.version < 5
            and prepared.keyspace is not None
            and not names_its_keyspace(prepared.query_string)
        )

    @property
    def keyspace(self) -> str | None:
        """The keyspace that the statement was prepared in."""
        return self.prepared.keyspace

    @property
    def is_over(self) -> bool:
        """True if the request has come to its end meanwhile."""
        return self.request.done

    def start(self) -> None:
        """Prepare the statement in its own keyspace, whatever that of the connection is."""
        connection = self.connection
        if not self.is_text or (connection.gate is None and connection.keyspace == self.keyspace):
            self.go()
        elif connection.is_control_connection:
            self.request.fail(
                InvalidRequest(
                    "the control connection, which all sessions share, is in the keyspace "
                    f"{connection.keyspace!r}: {query_head(self.prepared.query_string)} cannot be "
                    f"prepared again in {self.keyspace!r}"
                )
            )
        else:
            hold(self.request.session, connection, self)

    def go(self) -> None:
        """Ask the server to prepare the statement."""
        prepared = self.prepared
        body = prepare_body(prepared.query_string, prepared.keyspace, self.connection.version)
        try:
            self._stream = self.connection.send(self, PREPARE, 0, body)
        except ConnectionException as error:
            self.request.on_reprepare_failed(self.attempt, error)
            return
        # The end of the request cancels it; a speculative twin may be preparing as well.
        self._was_waiting = self.request._retry_handle
        self.request._retry_handle = self

    def cancel(self) -> None:
        """The request is over: nobody waits for the answer any more."""
        if self._stream >= 0:
            self.connection.abandon(self._stream, self)
            self._stream = -1
        if self._was_waiting is not None:
            self._was_waiting.cancel()

    def refuse(self, error: Exception) -> None:
        """The server does not let the connection use the keyspace of the statement."""
        self.request.fail(error)

    def leave(self, error: Exception) -> None:
        """The connection takes no further requests."""
        self.request.on_not_sent(self.attempt, error)

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        self._stream = -1
        request = self.request
        if request._retry_handle is self:  # or each would hold the other
            request._retry_handle = self._was_waiting
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
        self._stream = -1
        self.request.on_reprepare_failed(self.attempt, error)


def _check_table(prepared: PreparedStatement, response: Any) -> None:
    """Raise DriverException unless the server's answer is about the statement's own table."""
    if prepared.column_metadata:
        old, new = _table_of(prepared.column_metadata), _table_of(response.bind_metadata)
    else:
        old, new = _table_of(prepared.result_metadata), _table_of(response.result_metadata)
    if old is not None and new is not None and old != new:
        raise DriverException(
            f"{query_head(prepared.query_string)} was prepared for the table {'.'.join(old)}, and "
            f"the server prepares it again for {'.'.join(new)}: it is not executed there"
        )


def _table_of(columns: Any) -> tuple[str, str] | None:
    """Return the keyspace and table of the first column; None without one."""
    first = next(iter(columns), None) if columns else None
    return None if first is None else (first[0], first[1])


def take_over(
    prepared: PreparedStatement, response: Any, random: random.Random | None = None
) -> Renewed | None:
    """Update `prepared` by the server's answer to a PREPARE.

    :param random: draws an id that no server has; None for numbers of the process.
    :returns: None; or, if the bind columns have changed, the statement as it is now. Values that
        were bound for the old types must not be sent.
    :raises BindColumnsChanged: if the columns have changed so that no values can be bound again.
    :raises DriverException: if the answer is about another table: then nothing is taken over.
    """
    _check_table(prepared, response)
    if changes_of(prepared.column_metadata, response.bind_metadata):
        # Servers give the same text the same id, whatever its types are: they would take bytes of
        # the old types. An id that no server has lets each later execution come here too.
        if prepared.query_id == response.query_id:
            prepared.query_id = own_or_process(random).randbytes(len(response.query_id))
        if prepared.when_changed is not None:
            prepared.when_changed()
        return Renewed(prepared, response)
    prepared.query_id = response.query_id
    prepared.update_result_metadata(response.result_metadata, response.result_metadata_id)
    return None
