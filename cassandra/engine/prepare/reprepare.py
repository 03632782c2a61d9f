"""Prepares a statement again on a host that has forgotten it.

This is a step of the request that executes the statement.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cassandra.engine.connection import read_answer
from cassandra.engine.failures import as_exception
from cassandra.engine.keyspace_gate import hold
from cassandra.engine.prepare.body import prepare_body
from cassandra.engine.prepare.rebind import Renewed, adopt_columns, adopt_key, changes_of, has_key
from cassandra.engine.randomness import generator_or_default
from cassandra.errors import (
    ConnectionException,
    DriverException,
    InvalidRequest,
    RequestExecutionException,
)
from cassandra.protocol.messages.errors import ErrorMessage, ServerError
from cassandra.protocol.opcodes import PREPARE
from cassandra.query.keyspace_texts import names_its_keyspace
from cassandra.query.prepared import index_by_id
from cassandra.query.statement import query_head

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.happy_path import Attempt
    from cassandra.engine.request import Request
    from cassandra.protocol.column_specs import ColumnMetadata, UserTypes
    from cassandra.query.prepared import PreparedStatement


# Errors of a host that may be overloaded or starting. Other hosts can prepare the statement.
_ERRORS_OF_HOSTS = (RequestExecutionException, ServerError)


class Reprepare:
    """A PREPARE of a forgotten statement, on the connection of the attempt that executes it.

    After the response to the PREPARE, the request sends the attempt again.
    """

    __slots__ = (
        "_change_count", "_previous_handle", "_stream", "attempt", "connection", "needs_keyspace",
        "prepared", "request",
    )  # fmt: skip

    # The PREPARE may wait at the connection's keyspace gate, which reads these attributes (see
    # `keyspace_gate.Held`). A PREPARE is not a USE, and it never needs a connection without a
    # keyspace.
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
        self._stream = -1  # the stream of the PREPARE; -1 if it does not wait for a response
        # The request's `_retry_handle` before `go` replaced it by this object.
        self._previous_handle: Any = None
        # True if the PREPARE depends on the connection's keyspace. In protocol version 5, the
        # PREPARE contains the keyspace itself.
        self.needs_keyspace = (
            connection.version < 5
            and prepared.keyspace is not None
            and not names_its_keyspace(prepared.query_string)
        )

    @property
    def keyspace(self) -> str | None:
        """The keyspace in which the statement was prepared."""
        return self.prepared.keyspace

    @property
    def is_over(self) -> bool:
        """True if the request has ended."""
        return self.request.done

    def start(self) -> None:
        """Send the PREPARE when the connection is in the statement's keyspace.

        If the connection is in another keyspace, the PREPARE waits at the keyspace gate.
        """
        connection = self.connection
        if not self.needs_keyspace or (
            connection.gate is None and connection.keyspace == self.keyspace
        ):
            self.go()
        elif connection.is_control_connection:
            # All sessions share the control connection, so it must not be switched to another
            # keyspace.
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
        """Send the PREPARE."""
        prepared = self.prepared
        body = prepare_body(prepared.query_string, prepared.keyspace, self.connection.version)
        self._change_count = self.request.session.core.preparer.changes.total
        try:
            self._stream = self.connection.send(self, PREPARE, 0, body)
        except ConnectionException as error:
            self.request.on_reprepare_failed(self.attempt, error)
            return
        # When the request ends, it calls `cancel` of its `_retry_handle`, so store this object
        # there. Keep the previous handle, because another attempt of the request may also be
        # preparing or waiting for a retry.
        self._previous_handle = self.request._retry_handle
        self.request._retry_handle = self

    def cancel(self) -> None:
        """Abandon the PREPARE, because the request is over."""
        if self._stream >= 0:
            self.connection.abandon(self._stream, self)
            self._stream = -1
        if self._previous_handle is not None:
            self._previous_handle.cancel()

    def refuse(self, error: Exception) -> None:
        """End the request, because the USE for the statement's keyspace has failed."""
        self.request.fail(error)

    def leave(self, error: Exception) -> None:
        """Let the request use another connection, because this connection takes no requests."""
        self.request.on_not_sent(self.attempt, error)

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        """Update the statement from the response to the PREPARE.

        Then let the request send its attempt again.
        """
        self._stream = -1
        request = self.request
        if request._retry_handle is self:  # break the reference cycle
            request._retry_handle = self._previous_handle
        if request.done:
            return
        try:
            # If the server cannot prepare the statement, or the statement's columns no longer fit,
            # the request fails.
            response = read_answer(connection, PREPARE, None, opcode, flags, body)
            if isinstance(response, ErrorMessage):
                error = response.to_exception()
                if isinstance(error, _ERRORS_OF_HOSTS):
                    request.on_reprepare_failed(self.attempt, error)
                    return
                raise error
            core = request.session.core
            if core.preparer.changes.have_affected(self.prepared, since=self._change_count):
                # The response may describe types that the table does not have any more. So ask
                # again: the server answers what it knows now.
                self.start()
                return
            renewed = take_over(
                self.prepared,
                response,
                core.random,
                core.preparer.all_with,
                core.user_types,
                core.preparer.key_of(response),
            )
            # If the bind columns have changed, convert the values that are already bound.
            if core.preparer.changes.have_affected(self.prepared, since=self._change_count):
                # On the thread of a worker, this was not atomic: the first loop has noted a change
                # meanwhile, and may have replaced the id before it was set above.
                revoke_id(self.prepared, core.random)
            if renewed is not None:
                core.preparer.revoke_strangers(response.query_id)
                request.request_body.rebind(renewed)
            else:
                core.preparer.renew_like(self.prepared, response, self._change_count)
        except BaseException as error:
            request.fail(as_exception(error))
            return
        # The server knows the statement again, so execute it.
        request.resend(self.attempt)

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        self._stream = -1
        self.request.on_reprepare_failed(self.attempt, error)


def _check_table(prepared: PreparedStatement, response: Any) -> None:
    """Raise DriverException if the server has now prepared the statement for another table."""
    # A statement without bind markers has no bind columns, so compare its result columns.
    if prepared.column_metadata:
        old, new = (
            _table_of(prepared.column_metadata),
            _table_of(response.bind_metadata),
        )
    else:
        old, new = (
            _table_of(prepared.result_metadata),
            _table_of(response.result_metadata),
        )
    if old is not None and new is not None and old != new:
        raise DriverException(
            f"{query_head(prepared.query_string)} was prepared for the table {'.'.join(old)}, and "
            f"the server prepares it again for {'.'.join(new)}: it is not executed there"
        )


def _table_of(columns: Any) -> tuple[str, str] | None:
    """Return the keyspace and table of the first column; None if there are no columns."""
    first = next(iter(columns), None) if columns else None
    # A `ColumnMetadata` begins with keyspace and table.
    return None if first is None else (first[0], first[1])


def _no_others(query_id: bytes) -> Sequence[PreparedStatement]:
    return ()


def take_over(
    prepared: PreparedStatement,
    response: Any,
    random: random.Random | None = None,
    all_with: Callable[[bytes], Sequence[PreparedStatement]] = _no_others,
    user_types: UserTypes = MappingProxyType({}),
    key: Sequence[int] | None = None,
) -> Renewed | None:
    """Update `prepared` from the server's response to a PREPARE.

    If user-defined types have got new fields, values of these fields can be bound from now on. If
    the table has got another partition key, all statements with this id are routed by that key.

    :param random: generates an id that no statement of a server has; None uses the process-wide
        generator.
    :param all_with: returns all statements with a given id.
    :param user_types: the classes that are registered for user-defined types.
    :param key: the positions of the partition key, from `Preparer.key_of`; None if not known.
    :returns: None if the bind columns are the same as before. Otherwise the new description of the
        statement, for which the caller must bind the values again.
    :raises BindColumnsChanged: if values cannot be bound again for the changed columns.
    :raises DriverException: if the response is about another table. In that case, `prepared` is not
        changed.
    """
    _check_table(prepared, response)
    if changes_of(prepared.column_metadata, response.bind_metadata):
        # A server gives the same CQL the same id even if the types have changed, so it would accept
        # bytes of the old types. So if the id is the same, give the old statements an id that no
        # server has. The server then responds to each later execution of an old statement with
        # Unprepared, and `take_over` is called for that statement, too.
        if prepared.query_id == response.query_id:
            # Use a dict to have each statement once, because `prepared` itself may also be in
            # `all_with`.
            equal_statements = dict.fromkeys((prepared, *all_with(response.query_id)))
            guard(equal_statements, response.bind_metadata, random, key)
        else:
            adopt_key((prepared,), response.bind_metadata, key)
            if prepared.when_changed is not None:
                # `when_changed` removes the statement from its session's cache.
                prepared.when_changed()
        return Renewed(prepared, response, key)
    if prepared.query_id != response.query_id:
        prepared.query_id = response.query_id
        index_by_id(prepared)
    adopt_columns((prepared,), response.bind_metadata, user_types)
    prepared.update_result_metadata(response.result_metadata, response.result_metadata_id)
    if not has_key(prepared, key):
        # The server knows the other statements with this id now, too, so it will not report them
        # as unprepared.
        equal_statements = dict.fromkeys((prepared, *all_with(response.query_id)))
        adopt_key(equal_statements, response.bind_metadata, key)
    return None


def revoke_id(statement: PreparedStatement, random: random.Random | None = None) -> None:
    """Give `statement` an id that no server has, so that it is prepared again before it executes.

    :param random: generates the id; None uses the process-wide generator.
    """
    statement.query_id = generator_or_default(random).randbytes(len(statement.query_id))


def guard(
    statements: Iterable[PreparedStatement],
    columns: Sequence[ColumnMetadata],
    random: random.Random | None = None,
    key: Sequence[int] | None = None,
) -> None:
    """Give statements whose bind columns have changed an id that no server has.

    Thus no server executes them before they are prepared again.

    :param statements: statements with the same id.
    :param columns: the bind columns that the server has now.
    :param key: the positions of the partition key; None if they are not known.
    """
    statements = list(statements)
    adopt_key(statements, columns, key)
    for statement in statements:
        if changes_of(statement.column_metadata, columns):
            revoke_id(statement, random)
            if statement.when_changed is not None:
                # `when_changed` removes the statement from its session's cache.
                statement.when_changed()
