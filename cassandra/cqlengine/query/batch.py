"""`BatchQuery`: several writes that are executed together."""

from __future__ import annotations

import copy
import datetime
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from typing import Any, NoReturn
from weakref import ref

from cassandra._habits import MAPPER_BATCH, add_habits, stack_level
from cassandra._unknown_options import unknown_option
from cassandra.cqlengine.connection import DEFAULT_CONNECTION, format_log_context
from cassandra.cqlengine.errors import CQLEngineException
from cassandra.cqlengine.options import NOT_SET
from cassandra.cqlengine.private_names import CompatBatchQuery
from cassandra.cqlengine.query.errors import check_applied, has_written_nothing
from cassandra.cqlengine.query.unexecuted import ExecutionCheck
from cassandra.cqlengine.running import Operation, Request, arun, run
from cassandra.cqlengine.statements import (
    BaseCQLStatement,
    Timestamp,
    check_timestamp,
    microseconds_of,
)
from cassandra.cqlengine.values import SavedState, Values
from cassandra.query.batch import BatchStatement, BatchType as CBatchType
from cassandra.query.statement import shown_argument

__all__ = ["BatchQuery", "BatchType", "CBatchType"]


class BatchType:
    """The types of batches other than logged batches."""

    Unlogged = "UNLOGGED"
    Counter = "COUNTER"


# The protocol's batch type for each `batch_type` that an application may pass.
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
    """The request for a batch of prepared statements.

    :param entries: (query string, values) for each statement.
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
        super().__init__(
            text="", values=(), connection=connection, consistency=consistency, timeout=timeout
        )
        self.entries = entries
        self.batch_type = batch_type

    def display_text(self) -> str:
        return "; ".join(text for text, _ in self.entries)

    def parameters(self) -> Sequence[Any]:
        return [list(values) for _, values in self.entries]

    def texts(self) -> Sequence[str]:
        # The query strings to prepare, without duplicates: a batch often has one query string many
        # times.
        return list(dict.fromkeys(text for text, _ in self.entries))

    def statement(self, prepared: Mapping[str, Any], level: int | None) -> tuple[Any, Any]:
        if self.consistency is not None:
            level = self.consistency
        batch = BatchStatement(self.batch_type, consistency_level=level)
        for text, values in self.entries:
            batch.add(prepared[text], values)
        if self.idempotent:
            batch.is_idempotent = True
        return batch, None


# A quoted name, which may contain question marks, the option TIMESTAMP with its marker, or another
# marker.
_MARKERS = re.compile(r'"(?:[^"]|"")*"|(?P<timestamp> (?:USING|AND) TIMESTAMP \?)|\?')


# A statement of a batch: the CQL of a prepared statement, and its values.
_Entry = tuple[str, Sequence[Any]]


class QueuedStatement:
    """A statement in `BatchQuery.queries`, with ``str()`` and `get_context` as in cassandra-driver.

    :param text: the CQL of the prepared statement, without the batch's timestamp.
    :param values: the statement's values, without the batch's timestamp.
    :param entry: the CQL and the values that the batch sends; None if they are the same.
    """

    def __init__(self, text: str, values: Sequence[Any], entry: _Entry | None = None) -> None:
        self._text = text
        self._values = values
        self._entry = (text, values) if entry is None else entry
        self._first_number = 0  # the number of the first marker

    def update_context_id(self, i: int) -> None:
        """Number the markers, starting with `i`.

        :param i: the number of the first marker.
        """
        self._first_number = i

    def __str__(self) -> str:
        numbers = count(self._first_number)
        # The documented form of a statement has numbered markers, as in cassandra-driver. The
        # mapper writes no string literals, so a ``?`` that is not a marker is in a quoted name.
        return re.sub(
            r'"(?:[^"]|"")*"|\?',
            lambda match: f"%({next(numbers)})s" if match[0] == "?" else match[0],
            self._text,
        )

    def get_context(self) -> dict[str, Any]:
        """Return the values by the names of their markers in ``str(statement)``."""
        return {str(n): value for n, value in enumerate(self._values, self._first_number)}

    def get_context_size(self) -> int:
        """Return the number of markers."""
        return len(self._values)


class BatchQuery(CompatBatchQuery):
    """Collects writes and executes them together, as one request.

    ``with BatchQuery() as b: Model.batch(b).create(...)`` executes the batch at the end of the
    block, unless the block ends with an exception. On a connection of `cassandra.aio`, write
    ``async with`` instead of ``with``.

    :param batch_type: None for a logged batch, or a value of `BatchType`.
    :param timestamp: the timestamp of statements without one: a datetime, or a timedelta from now.
    :param consistency: a value of `ConsistencyLevel`; None for the connection's level.
    :param execute_on_exception: True to execute even if the block ends with an exception.
    :param timeout: seconds; None for no limit; by default the session's timeout.
    :param connection: the name of the connection, which all statements must use; None for the
        connection of the first statement.
    """

    # Whether `execute` warns if the batch was executed before. Applications may set this to False.
    warn_multiple_exec = True

    def __init__(
        self,
        batch_type: str | CBatchType | None = None,
        timestamp: Timestamp = None,
        consistency: int | None = None,
        execute_on_exception: bool = False,
        timeout: float | None = NOT_SET,
        connection: str | None = None,
        **_unknown: NoReturn,
    ) -> None:
        if _unknown:
            raise unknown_option("BatchQuery", _unknown)
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
        # Convert the timestamp once, here: a timedelta means "from now", and all statements must
        # get the same timestamp.
        self.timestamp = microseconds_of(timestamp)
        self.timeout = timeout
        self._consistency = consistency
        self._connection = connection
        # If this is False, the batch takes the connection of its first statement.
        self._has_connection = connection is not None
        self._execute_on_exception = execute_on_exception
        self._entries: list[_Entry] = []
        # The state that each written instance had before its write was added. These states are
        # restored if the batch fails.
        self._saved_states: list[SavedState] = []
        # Weak references to the values of instances whose writes are added to this batch (`hold`).
        # The options of these values refer to the batch.
        self._held_values: list[ref[Values]] = []
        self._under_way = 0  # how many executions have no response yet
        # True if some of the saved states may be restored; see `_redo_writes`.
        self._has_restored = False
        # True after a failure if servers may have executed the statements all the same.
        self._in_doubt = False
        self._callbacks: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []
        self._executed = False
        self._conditional = False
        self._idempotent = True  # False as soon as one statement is not idempotent
        # Warns if the batch is never executed. None once the batch was executed, was entered as a
        # block, or its `queries` were read. A copy of the batch has None too.
        self._execution_check: ExecutionCheck | None = ExecutionCheck()

    # -- adding statements ----------------------------------------------------------------------

    @property
    def queries(self) -> list[QueuedStatement]:
        """The statements that were not sent yet, each with ``str()`` and `get_context`."""
        # The application may only inspect the statements of this batch, so do not warn if it is
        # never executed.
        self._finish_execution_check()
        return [
            QueuedStatement(*_without_timestamp(*entry, self.timestamp), entry)
            for entry in self._entries
        ]

    @queries.setter
    def queries(self, queries: Sequence[QueuedStatement]) -> None:
        # A program that has executed the statements itself sets an empty list, and so has ended the
        # batch for the instances.
        self._finish_execution_check()
        self._entries = [query._entry for query in queries]
        if not queries:
            self._release_instances()
            self._saved_states.clear()
            self._conditional = self._in_doubt = False
            self._idempotent = True

    def add_query(self, query: BaseCQLStatement) -> None:
        """Add a statement.

        :param query: an insert, update or delete.
        :raises CQLEngineException: if `query` is not a statement of the mapper.
        """
        if not isinstance(query, BaseCQLStatement):
            raise CQLEngineException(
                f"only BaseCQLStatements can be added to a batch query, not {shown_argument(query)}"
            )
        if query.timestamp is None and self.timestamp is not None:
            query.timestamp = self.timestamp
        # `prepared` returns the statement's CQL, `bound` its values.
        self.add_bound(query.prepared(), query.bound(), bool(query.conditionals), self._connection)

    def add_bound(
        self,
        text: str,
        values: Sequence[Any],
        conditional: bool = False,
        connection: str | None = None,
        saved_state: SavedState | None = None,
        idempotent: bool = False,
    ) -> None:
        """Add the CQL of a prepared statement with its values.

        :param text: the CQL, with ``?`` for its values.
        :param values: the values, in order.
        :param conditional: True if the statement has an IF: `execute` then raises an error if the
            batch was not applied.
        :param connection: the name of the statement's connection; None for the default connection.
            It is ignored if the batch was created with a connection.
        :param saved_state: the state of the written instance before the write; None if no instance
            is written. The instance counts as saved as soon as its write is added to the batch. If
            the batch fails, this state is restored.
        :param idempotent: True if the driver may send the statement again. The driver sends the
            batch again only if this is True for all statements.
        """
        # The connection of the first statement is the batch's connection, unless the batch was
        # created with one.
        if self._has_connection:
            pass
        elif not self._entries:
            self._connection = connection
        elif connection != self._connection:
            names = [str(name or DEFAULT_CONNECTION) for name in (connection, self._connection)]
            raise CQLEngineException(
                "all statements of a batch go to one connection: "
                f"this one is for {names[0]}, the batch for {names[1]}"
            )
        if self._execution_check is not None:
            self._execution_check.note_statement()
        # Copy the values, because the application may change the instance's collections later.
        entry: _Entry = (text, [_snapshot(value) for value in values])
        self._entries.append(entry)
        self._conditional = self._conditional or conditional
        self._idempotent = self._idempotent and idempotent
        if saved_state is not None:
            saved_state.entry = entry
            self._saved_states.append(saved_state)

    def hold(self, values: Values) -> None:
        """Remember an instance whose writes are added to this batch.

        When the batch is executed, `_release_instances` makes the instance write directly again.

        :param values: the values of the instance; their options name this batch.
        """
        # If the batch has failed, it sends its statements again, together with the writes that
        # follow. So these writes must send only what differs from the batch's statements.
        self._redo_writes()
        self._held_values.append(ref(values))

    def _release_instances(self) -> None:
        """Remove this batch from the instances' options: later writes are sent directly."""
        held_values, self._held_values = self._held_values, []
        for reference in held_values:
            values = reference()
            # Skip an instance that the application has added to another batch in the meantime.
            if values is not None and values.options.batch is self:
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
        :param args: the arguments of `fn`.
        :param kwargs: the keyword arguments of `fn`.
        :raises ValueError: if `fn` cannot be called.
        """
        if not callable(fn):
            raise ValueError(f"Value for argument 'fn' is {type(fn)} and is not a callable object.")
        self._callbacks.append((fn, args, kwargs))

    # -- executing ------------------------------------------------------------------------------

    def execute(self) -> None:
        """Execute the batch, then call the callbacks. An empty batch sends no request.

        If another thread or task executes the batch at this moment, this call sends only the
        statements that were added since.

        :raises LWTException: if a condition in the batch does not hold.
        """
        run(self._operation())

    async def aexecute(self) -> None:
        """Execute the batch on a connection of `cassandra.aio`, then call the callbacks."""
        await arun(self._operation())

    def _operation(self) -> Operation[None]:
        """Execute the batch, then call the callbacks."""
        if self._executed and self.warn_multiple_exec:
            warnings.warn(
                "Batch executed multiple times: "
                + format_log_context("each time with the statements added since", self._connection),
                stacklevel=stack_level(),
            )
        self._executed = True
        self._finish_execution_check()
        # Release the instances before calling the callbacks, which may write the instances
        # directly.
        self._release_instances()
        if self._entries:
            if self._in_doubt:
                self._assign_lists()
            self._redo_writes()
            # While the request is under way, other threads or tasks may add statements, and may
            # execute the batch. So this execution takes its statements out of the batch.
            entries, self._entries = self._entries, []
            saved_states, self._saved_states = self._saved_states, []
            is_conditional, self._conditional = self._conditional, False
            is_idempotent, self._idempotent = self._idempotent, True
            was_in_doubt, self._in_doubt = self._in_doubt, False
            request = BatchRequest(
                entries,
                _TYPES[self.batch_type],
                self._connection,
                self._consistency,
                self.timeout,
            )
            request.idempotent = is_idempotent
            for saved_state in saved_states:
                saved_state.begin_execution()
            self._under_way += 1
            try:
                result = yield request
                if is_conditional:
                    # A batch is applied as a whole: if one condition does not hold, none of its
                    # statements is executed.
                    check_applied(result)
            except BaseException as error:
                # Put the statements back, because the application may execute the batch again.
                self._entries[:0] = entries
                self._saved_states[:0] = saved_states
                self._conditional = self._conditional or is_conditional
                self._idempotent = self._idempotent and is_idempotent
                self._restore_instances()
                has_failed = not has_written_nothing(error)
                self._in_doubt = self._in_doubt or was_in_doubt or has_failed
                for saved_state in saved_states:
                    saved_state.end_execution(has_failed)
                raise
            finally:
                self._under_way -= 1
            for saved_state in saved_states:
                saved_state.end_execution()
        elif self._under_way:
            # Another thread or task has sent all statements, and calls the callbacks itself.
            return
        self._execute_callbacks()

    def _assign_lists(self) -> None:
        """Make the updates of instances assign the lists to which they would add elements.

        Servers may have executed the batch, and would add the elements once more.
        """
        # The positions that the batch has already written, by the id of the weak reference to the
        # instance's values.
        written: dict[int, int] = {}
        # The new entries by the id of those that they replace. (Numbers of entries would change:
        # an execution removes its entries, and the application may set `queries`.)
        replacements: dict[int, _Entry] = {}
        for saved_state in self._saved_states:
            key = id(saved_state.reference)
            earlier = written.get(key, 0)
            written[key] = earlier | saved_state.write.positions
            # An INSERT assigns lists anyway.
            repeated = saved_state.repeated and saved_state.repeated(earlier)
            if repeated is not None:
                text, values = repeated
                replacement: _Entry = (text, [_snapshot(value) for value in values])
                replacements[id(saved_state.entry)] = saved_state.entry = replacement
        for number, entry in enumerate(self._entries):
            self._entries[number] = replacements.get(id(entry), entry)

    # -- blocks ---------------------------------------------------------------------------------

    def __enter__(self) -> BatchQuery:
        self._context_entered = True
        self._finish_execution_check()
        return self

    def __exit__(self, exc_type: type[BaseException] | None, *details: object) -> None:
        if exc_type is None or self._execute_on_exception:
            self.execute()
        else:
            self._restore_instances()

    async def __aenter__(self) -> BatchQuery:
        self._context_entered = True
        self._finish_execution_check()
        return self

    async def __aexit__(self, exc_type: type[BaseException] | None, *details: object) -> None:
        if exc_type is None or self._execute_on_exception:
            await self.aexecute()
        else:
            self._restore_instances()

    def _finish_execution_check(self) -> None:
        """Stop checking whether the batch is executed: no warning follows."""
        check, self._execution_check = self._execution_check, None
        if check is not None:
            check.finish()

    def _restore_instances(self) -> None:
        """Restore the state that each instance had before it was written in this batch."""
        self._release_instances()
        # If an instance was written several times in this batch, reverse order restores its oldest
        # state last.
        for saved_state in reversed(self._saved_states):
            saved_state.restore()
        self._has_restored = True

    def _redo_writes(self) -> None:
        """Make the instances whose states were restored count as saved again."""
        if self._has_restored:
            self._has_restored = False
            for saved_state in self._saved_states:
                saved_state.redo()


def _without_timestamp(
    text: str, values: Sequence[Any], timestamp: int | None
) -> tuple[str, Sequence[Any]]:
    """Return a statement without the batch's timestamp, which its own timestamp repeats.

    As in cassandra-driver, the statements in `BatchQuery.queries` have only timestamps of their
    own. A program that executes them itself writes the batch's timestamp in front.

    :param timestamp: the batch's timestamp; None for none.
    """
    if timestamp is None:
        return text, values
    number = 0  # the number of the next marker
    for match in _MARKERS.finditer(text):
        if match["timestamp"] and values[number] == timestamp:
            # The timestamp is the last option of USING.
            text = text[: match.start()] + text[match.end() :]
            return text, [*values[:number], *values[number + 1 :]]
        number += match[0].endswith("?")
    return text, values


def _snapshot(value: Any) -> object:
    """Return a copy of `value` if it is a collection or a bytearray; otherwise `value` itself."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Collection):
        return value
    return bytes(value) if isinstance(value, memoryview) else copy.deepcopy(value)


for _class in (BatchQuery, BatchType):
    _class.__module__ = "cassandra.cqlengine.query"
del _class


add_habits(BatchQuery, MAPPER_BATCH)
