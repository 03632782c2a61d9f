"""`BatchQuery`: several writes that are executed together."""

from __future__ import annotations

import copy
import datetime
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from typing import Any

from cassandra.cqlengine.connection import DEFAULT_CONNECTION, format_log_context
from cassandra.cqlengine.errors import CQLEngineException
from cassandra.cqlengine.options import NOT_SET
from cassandra.cqlengine.query.errors import check_applied
from cassandra.cqlengine.running import Operation, Request, arun, run
from cassandra.cqlengine.statements import (
    BaseCQLStatement,
    Timestamp,
    check_timestamp,
    microseconds_of,
)
from cassandra.cqlengine.values import SavedState, Values
from cassandra.query.batch import BatchStatement, BatchType as CBatchType

__all__ = ["BatchQuery", "BatchType", "CBatchType"]


class BatchType:
    """The types of batches other than logged batches."""

    Unlogged = "UNLOGGED"
    Counter = "COUNTER"


_TYPES = {
    None: CBatchType.LOGGED,
    "": CBatchType.LOGGED,
    "LOGGED": CBatchType.LOGGED,
    "UNLOGGED": CBatchType.UNLOGGED,
    "COUNTER": CBatchType.COUNTER,
}


class _TimestampError(CQLEngineException, ValueError):
    """A timestamp has a wrong type."""


class BatchRequest(Request):
    """A batch of prepared statements.

    :param entries: query strings, each with its values.
    """

    __slots__ = ("batch_type", "entries")

    def __init__(
        self,
        entries: Sequence[tuple[str, Sequence[Any]]],
        batch_type: CBatchType,
        connection: str | None,
        consistency: int | None,
        timeout: float | None,
    ) -> None:
        super().__init__("", (), connection, consistency=consistency, timeout=timeout)
        self.entries = entries
        self.batch_type = batch_type

    def display_text(self) -> str:
        return "; ".join(text for text, _ in self.entries)

    def parameters(self) -> Sequence[Any]:
        return [list(values) for _, values in self.entries]

    def texts(self) -> Sequence[str]:
        # Batches often repeat one query string, which is prepared once.
        return list(dict.fromkeys(text for text, _ in self.entries))

    def statement(self, prepared: Mapping[str, Any], level: int | None) -> tuple[Any, Any]:
        if self.consistency is not None:
            level = self.consistency
        batch = BatchStatement(self.batch_type, consistency_level=level)
        for text, values in self.entries:
            batch.add(prepared[text], values)
        return batch, None


class QueuedStatement:
    """A statement of a batch, in the form that applications read.

    :param text: the CQL of the prepared statement.
    :param values: its values.
    """

    def __init__(self, text: str, values: Sequence[Any]) -> None:
        self._text = text
        self._values = values

    def __str__(self) -> str:
        numbers = count()
        # A quoted name may have a question mark in it.
        return re.sub(
            r'"(?:[^"]|"")*"|\?',
            lambda match: f"%({next(numbers)})s" if match[0] == "?" else match[0],
            self._text,
        )

    def get_context(self) -> dict[str, Any]:
        """Return the values by the names of their markers in the CQL."""
        return {str(number): value for number, value in enumerate(self._values)}


class BatchQuery:
    """Collects writes and executes them together, as one request.

    ``with BatchQuery() as b: Model.batch(b).create(...)`` executes at the end of the block, unless
    the block ends with an exception; ``async with`` does so on a connection of `cassandra.aio`.

    :param batch_type: None for a logged batch, or a value of `BatchType`.
    :param timestamp: for all statements without a timestamp: a datetime, or a timedelta from now.
    :param consistency: a `ConsistencyLevel`.
    :param execute_on_exception: execute even if the block ends with an exception.
    :param timeout: seconds; None for no limit.
    :param connection: the name of the connection; all statements must use it.
    """

    warn_multiple_exec = True

    def __init__(
        self,
        batch_type: str | CBatchType | None = None,
        timestamp: Timestamp = None,
        consistency: int | None = None,
        execute_on_exception: bool = False,
        timeout: float | None = NOT_SET,
        connection: str | None = None,
    ) -> None:
        if isinstance(batch_type, CBatchType):
            batch_type = batch_type.name
        if isinstance(batch_type, str):
            batch_type = batch_type.upper()
        if batch_type not in _TYPES:
            raise ValueError(f"batch_type must be None or of BatchType, but is {batch_type!r}")
        if not isinstance(timestamp, (int, datetime.datetime, datetime.timedelta, type(None))):
            raise _TimestampError(
                f"timestamp must be a datetime or a timedelta, but is {timestamp!r}"
            )
        check_timestamp(timestamp)
        self.batch_type: str | None = batch_type
        # Resolved now: all statements get the same timestamp.
        self.timestamp = microseconds_of(timestamp)
        self.timeout = timeout
        self._consistency = consistency
        self._connection = connection
        self._has_connection = connection is not None
        self._execute_on_exception = execute_on_exception
        self._entries: list[tuple[str, Sequence[Any]]] = []
        self._saved_states: list[SavedState] = []
        self._held_values: list[Values] = []
        self._failed = False
        self._callbacks: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []
        self._executed = False
        self._in_context = False
        self._conditional = False

    # -- filling --------------------------------------------------------------------------------

    @property
    def queries(self) -> list[QueuedStatement]:
        """The statements that wait for execution, each with ``str()`` and `get_context`."""
        return [QueuedStatement(text, values) for text, values in self._entries]

    def add_query(self, query: BaseCQLStatement) -> None:
        """Add a statement.

        :param query: an insert, update or delete.
        :raises CQLEngineException: if `query` is not a statement of the mapper.
        """
        if not isinstance(query, BaseCQLStatement):
            raise CQLEngineException(
                f"only BaseCQLStatements can be added to a batch query, not {query!r}"
            )
        if query.timestamp is None and self.timestamp is not None:
            query.timestamp = self.timestamp
        self.add_bound(query.prepared(), query.bound(), bool(query.conditionals))

    def add_bound(
        self,
        text: str,
        values: Sequence[Any],
        conditional: bool = False,
        connection: str | None = None,
        saved_state: SavedState | None = None,
    ) -> None:
        """Add the CQL of a prepared statement with its values.

        :param text: the CQL, with ``?`` for its values.
        :param values: the values, in order.
        :param conditional: True if the statement has an IF: executing the batch then raises if it
            was not applied.
        :param connection: the name of its connection; None for the default connection.
        :param saved_state: the state of an instance that now counts as saved; the batch restores it
            if it fails.
        """
        if not self._entries and not self._has_connection:
            # the first statement's connection is used for all statements
            self._connection = connection
        elif connection != self._connection and not (connection is None and self._has_connection):
            names = [str(name or DEFAULT_CONNECTION) for name in (connection, self._connection)]
            raise CQLEngineException(
                "all statements of a batch go to one connection: "
                f"this one is for {names[0]}, the batch for {names[1]}"
            )
        # The values are copied now: later changes of the instance are not part of this statement.
        self._entries.append((text, [_snapshot(value) for value in values]))
        self._conditional = self._conditional or conditional
        if saved_state is not None:
            self._saved_states.append(saved_state)

    def hold(self, values: Values) -> None:
        """Keep an instance in the batch until the batch is executed or its block ends.

        :param values: the values of the instance, whose options name this batch.
        """
        self._held_values.append(values)

    def _release_instances(self) -> None:
        """Let the instances write without the batch again."""
        instances_values, self._held_values = self._held_values, []
        for values in instances_values:
            # The application may have moved the instance to another batch.
            if values.options.batch is self:
                values.options = values.options.with_changes(batch=None)

    def consistency(self, consistency: int) -> BatchQuery:
        """Set the consistency level; returns self.

        :param consistency: a value of `ConsistencyLevel`.
        """
        self._consistency = consistency
        return self

    def add_callback(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Call ``fn(*args, **kwargs)`` after the batch is executed.

        Callbacks are called in the order in which they were added.

        :param fn: the function.
        :param args: its arguments.
        :param kwargs: its keywords.
        :raises ValueError: if `fn` cannot be called.
        """
        if not callable(fn):
            raise ValueError(f"Value for argument 'fn' is {type(fn)} and is not a callable object.")
        self._callbacks.append((fn, args, kwargs))

    # -- executing ------------------------------------------------------------------------------

    def execute(self) -> None:
        """Execute the batch, then call the callbacks; does nothing if the batch is empty.

        :raises LWTException: if a condition in the batch does not hold.
        """
        run(self._operation())

    async def aexecute(self) -> None:
        """Execute the batch on a connection of `cassandra.aio`, then call the callbacks."""
        await arun(self._operation())

    def _operation(self) -> Operation[None]:
        if self._executed and self.warn_multiple_exec:
            warnings.warn(
                "Batch executed multiple times: "
                + format_log_context("each time with the statements added since", self._connection),
                stacklevel=4,
            )
        self._executed = True
        # before the request: callbacks may write the instances that they receive
        self._release_instances()
        if self._entries:
            request = BatchRequest(
                list(self._entries),
                _TYPES[self.batch_type],
                self._connection,
                self._consistency,
                self.timeout,
            )
            if self._failed:  # once more: this attempt may succeed
                self._failed = False
                for saved_state in self._saved_states:
                    saved_state.swap()
            try:
                result = yield request
                if self._conditional:
                    check_applied(result)
            except BaseException:
                self._failed = True
                self._forget()
                raise
            # Cleared only after success: the application may execute the same batch again after an
            # error.
            self._saved_states.clear()
            self._entries.clear()
            self._conditional = False
        for fn, args, kwargs in self._callbacks:
            fn(*args, **kwargs)

    # -- blocks ---------------------------------------------------------------------------------

    def __enter__(self) -> BatchQuery:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, *details: object) -> None:
        if exc_type is None or self._execute_on_exception:
            self.execute()
        # A failed execution has swapped already: a second swap would undo it.
        elif not self._failed:
            self._failed = True
            self._forget()

    async def __aenter__(self) -> BatchQuery:
        return self

    async def __aexit__(self, exc_type: type[BaseException] | None, *details: object) -> None:
        if exc_type is None or self._execute_on_exception:
            await self.aexecute()
        elif not self._failed:
            self._failed = True
            self._forget()

    def _forget(self) -> None:
        """Restore the instances, because nothing was written; in reverse order, for instances that
        were saved twice.
        """
        self._release_instances()
        for saved_state in reversed(self._saved_states):
            saved_state.swap()


def _snapshot(value: Any) -> Any:
    """Return a copy of the value: the application may change collections and bytes in place."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Collection):
        return value
    return bytes(value) if isinstance(value, memoryview) else copy.deepcopy(value)


for _class in (BatchQuery, BatchType):
    _class.__module__ = "cassandra.cqlengine.query"
del _class
