"""Prepares statements again on a host that does not know them.

This is a step of the request that executes the statements. Requests that need the same statement on
the same connection share one PREPARE.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cassandra._error_copies import copy_of
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
from cassandra.protocol.opcodes import ERROR, PREPARE
from cassandra.query.keyspace_texts import names_its_keyspace
from cassandra.query.prepared import index_by_id, is_unknown
from cassandra.query.statement import query_head

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.happy_path import Attempt
    from cassandra.engine.request import Request
    from cassandra.protocol.column_specs import ColumnMetadata, UserTypes
    from cassandra.query.prepared import PreparedStatement


# Errors of a host that may be overloaded or starting. Other hosts can prepare the statement.
_ERRORS_OF_HOSTS = (RequestExecutionException, ServerError)
# The number of statements of a batch that are prepared again concurrently.
PARALLEL_PREPARES = 16


class Reprepare:
    """Prepares statements on the connection of the attempt that executes them.

    These are the statement that the server has reported as unprepared, and those of its batch that
    no server knows, so that the server need not report one after another. After the responses, the
    request sends the attempt again.

    :param prepared: the statement that the server has reported.
    """

    __slots__ = ("_previous_handle", "_steps", "_unsent", "attempt", "connection", "request")

    def __init__(
        self,
        request: Request,
        attempt: Attempt,
        prepared: PreparedStatement,
        connection: Connection,
    ) -> None:
        self.request = request
        self.attempt = attempt
        self.connection = connection
        # The statements that are not being prepared yet. The PREPARE of one may renew others.
        others = request.request_body.batched_statements()
        unknown = (other for other in others if other is not prepared and is_unknown(other))
        self._unsent = itertools.chain((prepared,), unknown)
        self._steps: set[_Step] = set()  # the PREPAREs that are under way
        # The request's `_retry_handle` before `start` replaced it by this object.
        self._previous_handle: Any = None

    @property
    def is_over(self) -> bool:
        """True if the request has ended."""
        return self.request.done

    def start(self) -> None:
        """Send the first PREPAREs."""
        # When the request ends, it calls `cancel` of its `_retry_handle`, so store this object
        # there. Keep the previous handle, because another attempt of the request may also be
        # preparing or waiting for a retry.
        self._previous_handle = self.request._retry_handle
        self.request._retry_handle = self
        for prepared in itertools.islice(self._unsent, PARALLEL_PREPARES):
            step = _Step(self, prepared)
            self._steps.add(step)
            step.start()
            if step not in self._steps:
                return  # it has failed, and the request knows that

    def cancel(self) -> None:
        """Abandon the PREPAREs, because the request is over."""
        self._abandon_steps()
        if self._previous_handle is not None:
            self._previous_handle.cancel()

    def end(self) -> None:
        """Abandon the PREPAREs, because one of them has failed. The caller tells the request."""
        self._abandon_steps()
        if self.request._retry_handle is self:  # break the reference cycle
            self.request._retry_handle = self._previous_handle

    def on_prepared(self, step: _Step) -> None:
        """Send the next PREPARE; after the last response, send the attempt again."""
        self._steps.discard(step)
        for prepared in self._unsent:
            next_step = _Step(self, prepared)
            self._steps.add(next_step)
            next_step.start()
            return
        if not self._steps:
            # The server knows the statements again, so execute them.
            self.end()
            self.request.resend(self.attempt)

    def _abandon_steps(self) -> None:
        steps, self._steps = self._steps, set()
        for step in steps:
            step.abandon()


class _Step:
    """The preparation of one statement for a `Reprepare`.

    The PREPARE may wait at the connection's keyspace gate, which calls the methods of
    `keyspace_gate.Held`.
    """

    __slots__ = ("_owner", "_sent", "has_tried_again", "needs_keyspace", "prepared")

    # A PREPARE is not a USE, and it never needs a connection without a keyspace.
    is_use = needs_none = False

    def __init__(self, owner: Reprepare, prepared: PreparedStatement) -> None:
        self._owner = owner
        self.prepared = prepared
        self._sent: _SharedPrepare | None = None  # the PREPARE whose response this step awaits
        self.has_tried_again = False  # True after `try_again`, which is called only once
        # True if the PREPARE depends on the connection's keyspace. In protocol version 5, the
        # PREPARE contains the keyspace itself.
        self.needs_keyspace = (
            owner.connection.version < 5
            and prepared.keyspace is not None
            and not names_its_keyspace(prepared.query_string)
        )

    @property
    def keyspace(self) -> str | None:
        """The keyspace in which the statement was prepared."""
        return self.prepared.keyspace

    @property
    def is_over(self) -> bool:
        """True if the request has ended, or another step of it has failed."""
        return self._owner.is_over or self not in self._owner._steps

    def start(self) -> None:
        """Send the PREPARE when the connection is in the statement's keyspace.

        If the connection is in another keyspace, the PREPARE waits at the keyspace gate.
        """
        connection, request = self._owner.connection, self._owner.request
        if not self.needs_keyspace or (
            connection.gate is None and connection.keyspace == self.keyspace
        ):
            self.go()
        elif connection.is_control_connection:
            # All sessions share the control connection, so it must not be switched to another
            # keyspace.
            self.refuse(
                InvalidRequest(
                    "the control connection, which all sessions share, is in the keyspace "
                    f"{connection.keyspace!r}: {query_head(self.prepared.query_string)} cannot be "
                    f"prepared again in {self.keyspace!r}"
                )
            )
        else:
            hold(request.session, connection, self)

    def go(self) -> None:
        """Send the PREPARE, or wait for the response to one that another request has sent."""
        try:
            self._sent = _SharedPrepare.join(self)
        except ConnectionException as error:
            self.on_lost(error)

    def try_again(self) -> None:
        """Send another PREPARE, because another request was told of an error, or told nothing."""
        self._sent = None
        self.has_tried_again = True
        if not self.is_over:
            self.start()

    def abandon(self) -> None:
        """Do not wait for the response."""
        if self._sent is not None:
            self._sent.leave(self)
            self._sent = None

    def refuse(self, error: Exception) -> None:
        """End the request, because the USE for the statement's keyspace has failed."""
        if not self.is_over:
            self._owner.end()
            self._owner.request.fail(error)

    def leave(self, error: Exception) -> None:
        """Let the request use another connection, because this connection takes no requests."""
        if not self.is_over:
            self._owner.end()
            self._owner.request.on_not_sent(self._owner.attempt, error)

    def on_lost(self, error: Exception) -> None:
        """Let the request use another host, because this one did not prepare the statement."""
        self._owner.end()
        self._owner.request.on_reprepare_failed(self._owner.attempt, error)

    def on_response(self, change_count: int, opcode: int, flags: int, body: bytes) -> None:
        """Update the statement from the response to the PREPARE.

        :param change_count: the number of schema changes before the PREPARE was sent.
        """
        self._sent = None
        if self.is_over:
            return
        request = self._owner.request
        preparer = request.session.core.preparer
        try:
            # If the server cannot prepare the statement, or the statement's columns no longer fit,
            # the request fails.
            response = read_answer(self._owner.connection, PREPARE, None, opcode, flags, body)
            if isinstance(response, ErrorMessage):
                error = response.to_exception()
                if isinstance(error, _ERRORS_OF_HOSTS):
                    self.on_lost(error)
                    return
                raise error
            if preparer.changes.have_affected(self.prepared, since=change_count):
                # The response may describe types that the table does not have any more. So ask
                # again: the server answers what it knows now.
                self.start()
                return
            self._take_over(response, change_count)
        except BaseException as error:
            self._owner.end()
            request.fail(as_exception(error))
            return
        self._owner.on_prepared(self)

    def _take_over(self, response: Any, change_count: int) -> None:
        """Update the statement. If its columns have changed, convert the values that are bound."""
        request = self._owner.request
        core = request.session.core
        renewed = take_over(
            self.prepared,
            response,
            core.random,
            core.preparer.all_with,
            core.user_types,
            core.preparer.key_of(response),
        )
        if core.preparer.changes.have_affected(self.prepared, since=change_count):
            # On the thread of a worker, this was not atomic: the first loop has noted a change
            # meanwhile, and may have replaced the id before it was set above.
            revoke_id(self.prepared, core.random)
        if renewed is not None:
            core.preparer.revoke_strangers(response.query_id)
            request.request_body.rebind(renewed)
        else:
            core.preparer.renew_like(self.prepared, response, change_count)


class _SharedPrepare:
    """A PREPARE, and all steps that await its response.

    After a change of a type, all requests in flight may need the same statement at once.
    """

    __slots__ = ("_change_count", "_connection", "_key", "_steps", "_stream", "needs_keyspace")

    def __init__(self, first: _Step, change_count: int) -> None:
        self._connection = first._owner.connection
        self._key = (first.prepared.query_string, first.prepared.keyspace)
        self._change_count = change_count
        self._steps = {first: None}  # in the order in which they came
        self.needs_keyspace = first.needs_keyspace
        body = prepare_body(*self._key, self._connection.version)
        self._stream = self._connection.send(self, PREPARE, 0, body)
        self._connection.prepares[self._key] = self

    @classmethod
    def join(cls, step: _Step) -> _SharedPrepare:
        """Return the PREPARE of the step's statement that is under way; else send one.

        :raises ConnectionException: if the connection cannot send it.
        """
        change_count = step._owner.request.session.core.preparer.changes.total
        prepares = step._owner.connection.prepares
        shared: _SharedPrepare | None = prepares.get(
            (step.prepared.query_string, step.prepared.keyspace)
        )
        # The response to an earlier PREPARE may be older than a schema change.
        if shared is None or shared._change_count != change_count:
            return cls(step, change_count)
        shared._steps[step] = None
        return shared

    def leave(self, step: _Step) -> None:
        """Do not call `step` any more. If no step is left, nobody awaits the response.

        The request has probably timed out, so the response may never come. Let no further step
        wait for it. If the request is the one that has waited longest, the others prepare the
        statement again.
        """
        if step in self._steps:
            is_first = step is next(iter(self._steps))
            del self._steps[step]
            self._forget()
            retrying = [other for other in self._steps if is_first and not other.has_tried_again]
            for other in retrying:
                del self._steps[other]
            if not self._steps:
                self._connection.abandon(self._stream, self)
            for other in retrying:
                other.try_again()

    def _forget(self) -> None:
        """Let no further step join."""
        if self._connection.prepares.get(self._key) is self:
            del self._connection.prepares[self._key]

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        self._forget()
        steps, self._steps = self._steps, {}
        for index, step in enumerate(steps):
            # An error may be transient. Only one request gets it; the others share another PREPARE.
            if index > 0 and opcode == ERROR and not step.has_tried_again:
                step.try_again()
            else:
                step.on_response(self._change_count, opcode, flags, body)

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        self._forget()
        steps, self._steps = self._steps, {}
        for step in steps:
            if not step.is_over:
                step.on_lost(copy_of(error))


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
