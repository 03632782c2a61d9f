"""Operations, and their execution.

An operation is a generator: it yields requests, gets their results, and returns its outcome.
Nothing in it waits. `run` executes
the requests on a blocking session and `arun` on one of `cassandra.aio`, so that each operation
is written once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from cassandra._steps import adrive, drive
from cassandra.concurrent import execute_concurrent
from cassandra.cqlengine.connection import Connection, _connections, get_connection, log
from cassandra.cqlengine.errors import CQLEngineException
from cassandra.cqlengine.hooks import log_statement, with_rows_of
from cassandra.cqlengine.options import NOT_SET
from cassandra.query.row_factories import dict_factory
from cassandra.query.statement import FETCH_SIZE_UNSET, SimpleStatement

__all__ = ["Call", "ManyRequests", "Operation", "Request", "arun", "run", "simple_request"]

T = TypeVar("T")

RowFactory = Callable[[Sequence[str], Sequence[Any]], Any]


class Request:
    """A prepared statement to execute with its values.

    :param text: with ``?`` for each value.
    :param factory: makes rows.
    """

    __slots__ = (
        "connection",
        "consistency",
        "factory",
        "fetch_size",
        "text",
        "timeout",
        "values",
        "whole",
    )

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
        self.whole = False  # the result is a list of the rows of all pages

    def shown(self) -> str:
        """Return the text for logs."""
        return self.text

    def parameters(self) -> Sequence[Any]:
        """Return the values for logs."""
        return self.values

    def texts(self) -> Sequence[str]:
        """Return the texts to prepare."""
        return (self.text,)

    def statement(self, prepared: Mapping[str, Any], level: int | None) -> tuple[Any, Any]:
        """Return the statement to execute, and the values to bind to it.

        :param prepared: prepared statements, by their text.
        :param level: the connection's consistency level.
        """
        statement = prepared[self.text]
        if self.consistency is None and level is None and self.fetch_size is FETCH_SIZE_UNSET:
            return statement, self.values  # the shortest way through the session
        bound = statement.bind(self.values)
        if self.consistency is not None or level is not None:
            bound.consistency_level = level if self.consistency is None else self.consistency
        if self.fetch_size is not FETCH_SIZE_UNSET:
            bound.fetch_size = self.fetch_size
        return bound, None


class SimpleRequest(Request):
    """A text that is executed as it is.

    Changes of the schema. Prepared statements are forgotten then, because they know the types of
    before.
    """

    __slots__ = ()

    def texts(self) -> Sequence[str]:
        return ()

    def statement(self, prepared: Mapping[str, Any], level: int | None) -> tuple[Any, Any]:
        return SimpleStatement(self.text, consistency_level=level), None


class Call(Request):
    """Something else than a statement.

    A function of the connection, whose outcome may have to be awaited.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Connection], Any], connection: str | None) -> None:
        super().__init__("", (), connection)
        self.function = function


class ManyRequests(Request):
    """Writes that are executed concurrently; the result is a list of their outcomes.

    :param writes: the text of a prepared statement and its values, for each of them.
    :param concurrency: how many are in flight at most.
    """

    __slots__ = ("concurrency", "writes")

    def __init__(
        self,
        writes: Sequence[tuple[str, Sequence[Any]]],
        connection: str | None,
        consistency: int | None,
        concurrency: int,
    ) -> None:
        super().__init__("", (), connection, consistency=consistency)
        self.writes = writes
        self.concurrency = concurrency

    def texts(self) -> Sequence[str]:
        return tuple({text for text, _ in self.writes})

    def shown(self) -> str:
        return f"{len(self.writes)} times " + "; ".join(sorted(self.texts()))

    def parameters(self) -> Sequence[Any]:
        return [values for _, values in self.writes]

    def pairs(self, prepared: Mapping[str, Any], level: int | None) -> Iterator[tuple[Any, Any]]:
        """Return an iterator over the statements to execute, and the values to bind to them.

        :param prepared: prepared statements, by their text.
        :param level: the connection's consistency level.
        """
        level = level if self.consistency is None else self.consistency
        for text, values in self.writes:
            if level is None:
                yield prepared[text], values
            else:
                bound = prepared[text].bind(values)
                bound.consistency_level = level
                yield bound, None


def simple_request(
    text: str, connection: str | None, timeout: float | None = NOT_SET
) -> SimpleRequest:
    """Return a request for a text without values."""
    return SimpleRequest(text, (), connection, timeout=timeout)


Operation = Generator[Request, Any, T]


def blocking(request: Request) -> Any:
    """Execute `request` on a blocking session and return its result.

    :raises CQLEngineException: if the connection is one of `cassandra.aio`.
    """
    connection = get_connection(request.connection)
    # Waiting here could stop the very event loop that has to bring the answer.
    if connection.is_async:
        raise _wrong_face(connection, blocking=True)
    if type(request) is Call:
        return request.function(connection)
    prepared = connection.prepared
    # The usual request first: one text, which is prepared.
    if type(request) is not Request or request.text not in prepared:
        prepared = _all_prepared(connection, request.texts())
    if type(request) is ManyRequests:
        if log.isEnabledFor(logging.DEBUG):
            log_statement(log, connection, request.shown(), request.parameters())
        pairs = request.pairs(prepared, connection.consistency)
        outcomes = execute_concurrent(connection.session, pairs, request.concurrency, False)
        for _, outcome in outcomes:
            with_rows_of(outcome, dict_factory)
        return outcomes
    statement, values = request.statement(prepared, connection.consistency)
    if log.isEnabledFor(logging.DEBUG):
        log_statement(log, connection, request.shown(), request.parameters())
    # By `execute`, which programs wrap to see or stop each statement.
    result = connection.session.execute(statement, values, timeout=request.timeout)
    with_rows_of(result, request.factory)
    if type(request) is SimpleRequest:
        forget_prepared(connection)
    return result.all() if request.whole else result


def _all_prepared(connection: Connection, texts: Sequence[str]) -> dict[str, Any]:
    """Return the statements of `texts`, prepared on a blocking session if they are not yet."""
    # In a mapping of its own: the connection's may be emptied meanwhile.
    prepared = {text: connection.prepared.get(text) for text in texts}
    for text, known in prepared.items():
        prepared[text] = known or connection.keep(text, connection.session.prepare(text))
    return prepared


async def awaited(request: Request) -> Any:
    """`blocking` for a session of `cassandra.aio`."""
    connection = get_connection(request.connection)
    if not connection.is_async:
        raise _wrong_face(connection, blocking=False)
    if type(request) is Call:
        return await request.function(connection)
    prepared = connection.prepared
    # The usual request first: one text, which is prepared.
    is_usual = type(request) is Request and request.text in prepared
    texts = () if is_usual else request.texts()
    missing = [text for text in texts if text not in prepared]
    if missing:
        # In a mapping of its own: the connection's may be emptied during the wait.
        prepared = {text: prepared[text] for text in texts if text in prepared}
        made = await connection.session.prepare_all(missing)
        for text, one in zip(missing, made, strict=True):
            prepared[text] = connection.keep(text, one)
    if type(request) is ManyRequests:
        if log.isEnabledFor(logging.DEBUG):
            log_statement(log, connection, request.shown(), request.parameters())
        pairs = request.pairs(prepared, connection.consistency)
        run_of = connection.session.execute_concurrent(pairs, request.concurrency, False)
        return [outcome async for outcome in run_of]
    statement, values = request.statement(prepared, connection.consistency)
    if log.isEnabledFor(logging.DEBUG):
        log_statement(log, connection, request.shown(), request.parameters())
    future = connection.session.execute(statement, values, request.timeout)
    future.row_factory = request.factory
    result = await future
    if type(request) is SimpleRequest:
        forget_prepared(connection)
    return await result.fetch_all() if request.whole else result


def forget_prepared(changed: Connection) -> None:
    """Forget the prepared statements of all connections, after a change of the schema.

    Servers take bytes of the old types under an id that another connection has prepared again.

    :param changed: the connection that the change was made on.
    """
    for one in {changed, *list(_connections.values())}:
        one.prepared = {}


def _wrong_face(connection: Connection, blocking: bool) -> CQLEngineException:
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
