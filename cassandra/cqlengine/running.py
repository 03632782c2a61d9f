"""Operations, and their execution on blocking sessions and on sessions of `cassandra.aio`.

An operation is a generator that yields requests. It never waits itself: `run` executes its requests
on a blocking session, and `arun` on a session of `cassandra.aio`. Both send the result of each
request into the generator, and return the value that the generator returns. So each operation is
written only once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from cassandra._steps import adrive, drive
from cassandra.concurrent import execute_concurrent
from cassandra.cqlengine.connection import Connection, _connections, get_connection, log
from cassandra.cqlengine.copies import snapshot
from cassandra.cqlengine.errors import CQLEngineException
from cassandra.cqlengine.hooks import log_statement, set_row_factory
from cassandra.cqlengine.options import NOT_SET
from cassandra.cqltypes.failures import ENCODE_ERRORS
from cassandra.query.row_factories import dict_factory
from cassandra.query.statement import FETCH_SIZE_UNSET, SimpleStatement

T = TypeVar("T")

# The result of a request whose values could not be encoded for its prepared statement.
_REFUSED = object()

# A function of (column names, rows as tuples) that returns the rows of a page.
RowFactory = Callable[[Sequence[str], Sequence[Any]], Any]


class Request:
    """A prepared statement to execute with its values.

    :param text: the query string, with ``?`` for each value.
    :param values: the values, in order.
    :param connection: the name of the connection; None for the default connection.
    :param factory: the row factory of the result.
    :param consistency: a value of `ConsistencyLevel`; None for the level of the connection or the
        session.
    :param timeout: seconds; None for no limit; by default the session's timeout.
    :param fetch_size: rows per page; by default the session's fetch size.
    """

    __slots__ = (
        "all_pages", "connection", "consistency", "factory", "fetch_size", "idempotent",
        "is_prepared_again", "text", "timeout", "values",
    )  # fmt: skip

    def __init__(
        self,
        text: str,
        values: Sequence[Any],
        connection: str | None,
        factory: RowFactory = dict_factory,
        consistency: int | None = None,
        timeout: float | None = NOT_SET,
        fetch_size: int | None = FETCH_SIZE_UNSET,
    ) -> None:
        self.text = text
        self.values = values
        self.connection = connection
        self.factory = factory
        self.consistency = consistency
        self.timeout = timeout
        self.fetch_size = fetch_size
        # True if the driver may send the statement again, or to several nodes.
        self.idempotent = False
        self.all_pages = False  # True to get a list with the rows of all pages, not the result
        # True after `prepare_again` has dropped the prepared statements of this request. It does so
        # only once for each request.
        self.is_prepared_again = False

    def display_text(self) -> str:
        """Return the CQL for logs."""
        return self.text

    def parameters(self) -> Sequence[Any]:
        """Return the values for logs."""
        return self.values

    def texts(self) -> Sequence[str]:
        """Return the query strings to prepare."""
        return (self.text,)

    def copy_values(self) -> None:
        """Replace values that the application may change in place by copies of them."""
        self.values = [snapshot(value) for value in self.values]

    def statement(self, prepared: Mapping[str, Any], level: int | None) -> tuple[Any, Any]:
        """Return the arguments of `Session.execute`: the statement, and the values to bind to it.

        :param prepared: prepared statements by query string.
        :param level: the connection's consistency level, for a request without a level.
        """
        statement = prepared[self.text]
        if (
            self.consistency is None
            and level is None
            and self.fetch_size is FETCH_SIZE_UNSET
            and not self.idempotent
        ):
            return statement, self.values  # the fastest path through the session
        # Set the options on a bound statement, because all requests with this query string share
        # the prepared statement.
        bound = statement.bind(self.values)
        if self.idempotent:
            bound.is_idempotent = True
        if self.consistency is not None or level is not None:
            bound.consistency_level = level if self.consistency is None else self.consistency
        if self.fetch_size is not FETCH_SIZE_UNSET:
            bound.fetch_size = self.fetch_size
        return bound, None


class SimpleRequest(Request):
    """A query string that is executed without preparing it, for changes of the schema.

    After it is executed, all connections drop their prepared statements, because these may still
    have the column types that the schema had before the change.
    """

    __slots__ = ()

    def texts(self) -> Sequence[str]:
        return ()

    def statement(self, prepared: Mapping[str, Any], level: int | None) -> tuple[Any, Any]:
        return SimpleStatement(self.text, consistency_level=level), None


class Call(Request):
    """A request that calls a function with the connection instead of executing a statement.

    :param function: called with the connection; returns the result of the request. On a connection
        of `cassandra.aio`, it returns an awaitable of the result.
    :param connection: the name of the connection; None for the default connection.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Connection], Any], connection: str | None) -> None:
        super().__init__(text="", values=(), connection=connection)
        self.function = function


class ManyRequests(Request):
    """Writes that are executed concurrently.

    The result is a list with (True, result) or (False, error) for each write, in order.

    :param writes: (CQL to prepare, values) for each write.
    :param connection: the name of the connection; None for the default connection.
    :param consistency: a value of `ConsistencyLevel`; None for the level of the connection or the
        session.
    :param concurrency: the maximum number of requests in flight.
    """

    __slots__ = ("concurrency", "writes")

    def __init__(
        self,
        writes: Sequence[tuple[str, Sequence[Any]]],
        connection: str | None,
        consistency: int | None,
        concurrency: int,
    ) -> None:
        super().__init__(text="", values=(), connection=connection, consistency=consistency)
        self.writes = writes
        self.concurrency = concurrency

    def texts(self) -> Sequence[str]:
        # Use a dict and not a set to drop duplicates: the order of a set differs between processes.
        return tuple(dict.fromkeys(text for text, _ in self.writes))

    def copy_values(self) -> None:
        self.writes = [
            (text, [snapshot(value) for value in values]) for text, values in self.writes
        ]

    def display_text(self) -> str:
        return f"{len(self.writes)} times " + "; ".join(sorted(self.texts()))

    def parameters(self) -> Sequence[Any]:
        return [values for _, values in self.writes]

    def pairs(self, prepared: Mapping[str, Any], level: int | None) -> Iterator[tuple[Any, Any]]:
        """Yield the statement of each write, and the values to bind to it.

        :param prepared: prepared statements by query string.
        :param level: the connection's consistency level, for requests without a level.
        """
        level = level if self.consistency is None else self.consistency
        for text, values in self.writes:
            if level is None and not self.idempotent:
                yield prepared[text], values
                continue
            try:
                bound = prepared[text].bind(values)
            except Exception:
                # The values could not be encoded. `execute_concurrent` binds them again, so only
                # this write gets the error as its outcome.
                yield prepared[text], values
                continue
            if level is not None:
                bound.consistency_level = level
            if self.idempotent:
                bound.is_idempotent = True
            yield bound, None

    def refused(self, outcomes: Sequence[tuple[bool, Any]]) -> ManyRequests:
        """Return a request that repeats those writes whose values could not be encoded.

        :param outcomes: (True, result) or (False, error) for each write.
        """
        writes = [
            write
            for write, (_, outcome) in zip(self.writes, outcomes, strict=True)
            if isinstance(outcome, ENCODE_ERRORS)
        ]
        request = ManyRequests(writes, self.connection, self.consistency, self.concurrency)
        request.idempotent = self.idempotent
        request.is_prepared_again = self.is_prepared_again
        return request


def _with_later(
    outcomes: Sequence[tuple[bool, Any]], later: Iterable[tuple[bool, Any]]
) -> list[tuple[bool, Any]]:
    """Replace each outcome that is an encode error by the outcome of the second execution.

    :param later: the outcomes of the request that `ManyRequests.refused` has returned.
    """
    later = iter(later)
    return [
        next(later) if isinstance(outcome[1], ENCODE_ERRORS) else outcome for outcome in outcomes
    ]


def simple_request(
    text: str, connection: str | None, timeout: float | None = NOT_SET
) -> SimpleRequest:
    """Return a request for a query string without values."""
    return SimpleRequest(text, values=(), connection=connection, timeout=timeout)


# An operation of the mapper: it yields requests, is sent their results, and returns a value.
Operation = Generator[Request, Any, T]


def blocking(request: Request) -> Any:
    """Execute `request` on its connection's blocking session and return its result.

    :raises CQLEngineException: if the connection belongs to `cassandra.aio`.
    """
    connection = get_connection(request.connection)
    # The calling thread may run the event loop that has to receive the response: waiting would
    # block it.
    if connection.is_async:
        raise _wrong_api(connection, blocking=True)
    if type(request) is Call:
        return request.function(connection)
    # In the usual case (a plain `Request` whose query string was prepared before), nothing has to
    # be prepared. Look the statement up once: another thread may drop it at any time.
    statement = connection.prepared.get(request.text) if type(request) is Request else None
    if statement is None:
        prepared = _all_prepared(connection, request.texts())
    else:
        prepared = {request.text: statement}
    if type(request) is ManyRequests:
        if log.isEnabledFor(logging.DEBUG):
            log_statement(log, connection, request.display_text(), request.parameters())
        pairs = request.pairs(prepared, connection.consistency)
        # The last argument, raise_on_first_error, is False: errors are then part of the outcomes.
        outcomes = execute_concurrent(connection.session, pairs, request.concurrency, False)
        for _, outcome in outcomes:
            # Conditional writes return a row, and `check_applied` needs this row as a dict.
            set_row_factory(outcome, dict_factory)
        refused = request.refused(outcomes)
        if refused.writes and prepare_again(connection, refused):
            return _with_later(outcomes, blocking(refused))
        return outcomes
    if log.isEnabledFor(logging.DEBUG):
        log_statement(log, connection, request.display_text(), request.parameters())
    try:
        statement, values = request.statement(prepared, connection.consistency)
        # Call the public `Session.execute`, because applications wrap it to observe or refuse
        # statements.
        result = connection.session.execute(statement, values, timeout=request.timeout)
    except ENCODE_ERRORS:
        if not prepare_again(connection, request):
            raise
        result = _REFUSED
    # Call `blocking` again outside of `except`: otherwise a second error would have the first error
    # as its context.
    if result is _REFUSED:
        return blocking(request)
    set_row_factory(result, request.factory)
    # A `SimpleRequest` changes the schema, so prepared statements may be outdated.
    if type(request) is SimpleRequest:
        forget_prepared(connection)
    return result.all() if request.all_pages else result


def _all_prepared(connection: Connection, texts: Sequence[str]) -> dict[str, Any]:
    """Return the prepared statements of `texts`, after preparing those that are missing.

    :param connection: a connection with a blocking session.
    """
    # Collect the statements in a dict of this call, because another thread may replace the
    # connection's dict at any time.
    prepared = {text: connection.prepared.get(text) for text in texts}
    for text, statement in prepared.items():
        prepared[text] = statement or connection.keep(text, connection.session.prepare(text))
    return prepared


async def awaited(request: Request) -> Any:
    """Execute `request` on a session of `cassandra.aio` and return its result.

    :raises CQLEngineException: if the connection has a blocking session.
    """
    connection = get_connection(request.connection)
    if not connection.is_async:
        raise _wrong_api(connection, blocking=False)
    if type(request) is Call:
        return await request.function(connection)
    # Collect the statements in a dict of this call, because other tasks may drop the connection's
    # statements while we wait.
    prepared = {text: connection.prepared.get(text) for text in request.texts()}
    missing = [text for text, statement in prepared.items() if statement is None]
    if missing:
        # Copy the values, because other tasks may change an instance's collections while we wait.
        request.copy_values()
        statements = await connection.session.prepare_all(missing)
        for text, prepared_statement in zip(missing, statements, strict=True):
            prepared[text] = connection.keep(text, prepared_statement)
    if type(request) is ManyRequests:
        if log.isEnabledFor(logging.DEBUG):
            log_statement(log, connection, request.display_text(), request.parameters())
        pairs = request.pairs(prepared, connection.consistency)
        # The last argument, raise_on_first_error, is False: errors are then part of the outcomes.
        generator = connection.session.execute_concurrent(pairs, request.concurrency, False)
        outcomes = [outcome async for outcome in generator]
        refused = request.refused(outcomes)
        if refused.writes and prepare_again(connection, refused):
            return _with_later(outcomes, await awaited(refused))
        return outcomes
    if log.isEnabledFor(logging.DEBUG):
        log_statement(log, connection, request.display_text(), request.parameters())
    try:
        statement, values = request.statement(prepared, connection.consistency)
        future = connection.session.execute(statement, values, request.timeout)
        future.row_factory = request.factory
        result = await future
    except ENCODE_ERRORS:
        if not prepare_again(connection, request):
            raise
        result = _REFUSED
    # Call `awaited` again outside of `except`: otherwise a second error would have the first error
    # as its context.
    if result is _REFUSED:
        return await awaited(request)
    # A `SimpleRequest` changes the schema, so prepared statements may be outdated.
    if type(request) is SimpleRequest:
        forget_prepared(connection)
    return await result.fetch_all() if request.all_pages else result


def prepare_again(connection: Connection, request: Request) -> bool:
    """Drop the prepared statements of a request whose values could not be encoded.

    The caller then executes the request again, which prepares new statements. A prepared statement
    keeps the types from the time when it was prepared. If another process has since added a field
    to a user-defined type, or has created the table again with other types, only a new prepared
    statement accepts the values.

    :returns: True if the caller should execute the request again; False if the statements of this
        request were already dropped once.
    """
    if request.is_prepared_again:
        return False
    request.is_prepared_again = True
    for text in request.texts():
        connection.prepared.pop(text, None)
    return True


def forget_prepared(changed: Connection) -> None:
    """Drop the prepared statements of all connections, after a change of the schema.

    A statement has the same id before and after the change. As soon as one connection has prepared
    it again, servers would also accept values that another connection has serialized for the old
    types.

    :param changed: the connection that executed the change.
    """
    for connection in {changed, *list(_connections.values())}:
        connection.prepared = {}


def _wrong_api(connection: Connection, blocking: bool) -> CQLEngineException:
    """Return the error for a call that does not fit the connection.

    :param blocking: True for a blocking call on a connection of `cassandra.aio`; False for an
        awaited call on a connection with a blocking session.
    """
    if blocking:
        return CQLEngineException(
            f"the connection {connection.label} has a session of cassandra.aio, which cannot be "
            "waited for in a plain call: "
            "await the method with the prefix a (acreate, asave, aupdate, adelete, aget, afirst, "
            "acount, aall, async_table) "
            "or use async for"
        )
    return CQLEngineException(
        f"the connection {connection.label} has a blocking session, which cannot be awaited: "
        "register one of cassandra.aio, "
        "by asetup(...) or register_connection(name, session=...)"
    )


def run(operation: Operation[T]) -> T:
    """Run `operation` on a blocking session and return its outcome."""
    return drive(operation, blocking)


async def arun(operation: Operation[T]) -> T:
    """Run `operation` on a session of `cassandra.aio` and return its outcome."""
    return await adrive(operation, awaited)
