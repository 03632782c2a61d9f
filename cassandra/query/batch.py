"""`BatchStatement`: many statements that are sent as one request.

A batch stores its statements as entries. `BoundRows` holds consecutive rows of one prepared
statement, and `BoundRow` holds a bound statement. `TextRows` holds rows for a query string with
bind markers, which is prepared when the batch is executed. `NamedRow` (in
`cassandra.query.named_rows`) holds a row for the id of a prepared statement. A str is a query
string that is sent as it is. A block, such as `RowsBlock`, is a buffer of serialized values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from cassandra import _impl
from cassandra._habits import BATCH, add_habits, many_rows_advice, stack_level
from cassandra._mocks import is_mock
from cassandra._unknown_options import unknown_option
from cassandra.consistency import ConsistencyLevel
from cassandra.encoder import Encoder
from cassandra.query.bound import BoundStatement, name_statement
from cassandra.query.conditional import is_conditional
from cassandra.query.keyspace_texts import names_its_keyspace
from cassandra.query.markers import Parameters as MarkerKind, parameters_of
from cassandra.query.named_rows import NamedRow
from cassandra.query.prepared import PreparedStatement
from cassandra.query.snapshots import snapshot
from cassandra.query.statement import (
    RoutingKey,
    SimpleStatement,
    Statement,
    are_empty,
    bind_params,
    query_head,
)
from cassandra.query.tables.rows import TableRows, rows_of, snapshot_and_count
from cassandra.query.write_times import WriteTimePlan

if TYPE_CHECKING:
    from cassandra.policies.retry import RetryPolicy
    from cassandra.protocol import bind
    from cassandra.protocol.bind import RowsBlock
else:
    from cassandra._impl import bind

# The maximum number of statements in a batch, because BATCH has the number as a [short]
# (native_protocol_v5.spec, section 4.1.7).
MAX_STATEMENTS = 0xFFFF

# The classes whose objects `add` takes as they are; see `_stand_in`.
_USUAL_CLASSES = frozenset({str, SimpleStatement, BoundStatement})

# The attributes that a batch adopts from other objects with a `query_string`, and their types: the
# attributes of a mock are mocks.
_ADOPTED: dict[str, tuple[type, ...]] = {
    "keyspace": (str,), "routing_key": (bytes, list, tuple), "custom_payload": (Mapping,)
}  # fmt: skip

# The slot `keyspace` of the base class. The property `BatchStatement.keyspace` overrides the slot,
# and stores its value in it.
_KEYSPACE: Any = Statement.keyspace  # type: ignore[misc]

# The getter of `Statement.routing_key`, which `BatchStatement` overrides.
_routing_key_of: Callable[[Statement], bytes | None]
_routing_key_of = Statement.routing_key.fget  # type: ignore[attr-defined]


class WithEncoder(Protocol):
    """The attribute of a session that a `BatchStatement` needs; see its parameter `session`."""

    @property
    def encoder(self) -> Encoder:
        """The encoder, which makes the literals of ``%s`` parameters."""


class BatchType:
    """The way in which the servers apply a batch.

    :param name: the type's name, such as "LOGGED".
    :param value: the type's number in the protocol.
    """

    LOGGED: BatchType
    """The batch is applied as a whole or not at all."""
    UNLOGGED: BatchType
    """Each statement is applied separately."""
    COUNTER: BatchType
    """The batch only changes counters."""

    def __init__(self, name: str, value: int) -> None:
        self.name = name
        self.value = value

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"BatchType.{self.name}"


BatchType.LOGGED = BatchType("LOGGED", 0)
BatchType.UNLOGGED = BatchType("UNLOGGED", 1)
BatchType.COUNTER = BatchType("COUNTER", 2)


def _batch_type_error(argument: object) -> str:
    """Return the error message, with advice, for a `batch_type` that is not a `BatchType`."""
    if isinstance(argument, str) and argument.upper() in ("LOGGED", "UNLOGGED", "COUNTER"):
        advice = f"BatchType.{argument.upper()}"
    elif isinstance(argument, (list, tuple)):
        advice = "batch = BatchStatement(), then batch.add(statement, parameters) for each of them"
    else:
        advice = "BatchType.LOGGED, BatchType.UNLOGGED or BatchType.COUNTER"
    return (
        f"batch_type must be a BatchType, but is {argument!r} of type {type(argument).__name__}: "
        f"write {advice}"
    )


class BoundRows:
    """An entry of a batch: consecutive rows of one prepared statement, bound into one block."""

    __slots__ = ("block", "prepared")

    def __init__(self, prepared: PreparedStatement, block: RowsBlock) -> None:
        self.prepared = prepared
        self.block = block

    def __len__(self) -> int:
        return self.block.count

    def computed_key(self) -> bytes | None:
        """Return the routing key of the first row; None if it is not known."""
        return self.block.row(0).routing_key(self.prepared.routing_key_indexes or ())

    def statements(self) -> list[BoundStatement]:
        """Return a bound statement for each row."""
        bound_statements = []
        for block in self.block.rows():
            bound = BoundStatement(self.prepared)
            bound.block = block
            bound_statements.append(bound)
        return bound_statements


class BoundRow:
    """An entry of a batch: a bound statement with the values at the time when it was added.

    The values are stored separately from the statement, because the application may bind the same
    object to other values and add it to the batch again.
    """

    __slots__ = ("block", "bound")

    def __init__(self, bound: BoundStatement) -> None:
        self.bound = bound
        self.block = bound.block

    @property
    def prepared(self) -> PreparedStatement:
        """The prepared statement of this entry."""
        return self.bound.prepared_statement

    def computed_key(self) -> bytes | None:
        """Return the routing key of the values; None if it is not known."""
        indexes = self.prepared.routing_key_indexes
        return self.block.routing_key(indexes) if indexes and self.block is not None else None

    def statement(self) -> BoundStatement:
        """Return a bound statement with the values of this entry."""
        bound = self.bound
        # If the application has bound the statement to other values after it was added to the
        # batch, make another bound statement with the values of this entry.
        if bound.block is not self.block:
            bound = BoundStatement(bound.prepared_statement)
            bound.block = self.block
        return bound


class TextRows:
    """An entry of a batch: consecutive rows for one query string with bind markers.

    The query is prepared, and the rows are bound, when the batch is executed.

    :param text: the query string.
    :param keyspace: the keyspace of the `SimpleStatement`, for unqualified names; None for none.
    :param rows: the rows as the application has passed them.
    :param count: the number of rows.
    """

    __slots__ = ("count", "keyspace", "rows", "text")

    # `BatchStatement.add` compares the attribute `prepared` of its last entry with the statement to
    # add. If they are the same object, `add` binds the row into that entry. None is not a
    # statement, so `add` never binds a row into an entry of this class.
    prepared = None

    def __init__(self, text: str, keyspace: str | None, rows: object, count: int) -> None:
        self.text = text
        self.keyspace = keyspace
        self.rows: Any = rows  # a list that may still grow, or a table
        self.count = count

    def __len__(self) -> int:
        return self.count

    def bind_to(self, prepared: PreparedStatement) -> BoundRows:
        """Bind the rows to `prepared`, the prepared statement of the query string."""
        # Do not cache the result: before the next execution, the query may be prepared again and
        # get other columns.
        return _rows_of_batch(prepared, self.rows)


Entry = str | BoundRow | BoundRows | TextRows | NamedRow


def bind_rows(prepared: PreparedStatement, rows: object, is_plain: bool = False) -> RowsBlock:
    """Bind all `rows` into one block; see `BatchStatement.add_many`.

    :param prepared: the statement.
    :param rows: the rows or the table.
    :param is_plain: True if the rows hold plain CQL values, so that the session's converters are
        not applied. Converters are never applied to tables.
    """
    plain_plan = prepared.plain_plan
    bind_plan = plain_plan if is_plain else prepared.bind_plan
    try:
        source = rows_of(rows, plain_plan.columns)
        if type(source) is TableRows:
            # Import this at the first table, because most applications bind no tables.
            block: RowsBlock = _impl.column_binding.bind_table(
                plain_plan, source, prepared.protocol_version
            )
            return block
        return bind_plan.bind_many(source, prepared.protocol_version)
    except (TypeError, ValueError, KeyError) as error:
        name_statement(error, prepared.query_string)
        raise


def _rows_of_batch(prepared: PreparedStatement, rows: object) -> BoundRows:
    """Bind the rows of a batch; warn if the first write timestamp is probably not microseconds."""
    block = bind_rows(prepared, rows)
    plan = prepared.bind_plan
    if isinstance(plan, WriteTimePlan) and len(block):
        plan.look_at(block.row(0))
    return BoundRows(prepared, block)


class BatchStatement(Statement):
    """A batch of simple and prepared statements.

    The first statement with a routing key decides where the batch is sent. Rows of prepared
    statements are bound when you add them, straight into one buffer. Query strings with bind
    markers and parameters are prepared when the batch is executed: each string only once, and all
    strings at the same time.

    You may execute a batch again, and add statements after that. Only one thread at a time may add
    statements.

    :param batch_type: how the servers apply the batch, a `BatchType`; LOGGED by default.
    :param retry_policy: decides on retries of the batch; None for the profile's policy.
    :param consistency_level: a value of `ConsistencyLevel`; None for the profile's level.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL; None for the profile's level.
    :param session: the session whose encoder writes parameters into query strings; None for a plain
        `Encoder`.
    :param custom_payload: a mapping of strings to bytes for the server's query handler.
    :raises ValueError: if `retry_policy` is not a retry policy, or `serial_consistency_level` is
        not serial.
    """

    __slots__ = (
        "_count", "_entries", "_has_borrowed_keyspace", "_has_text", "_open", "_reserved",
        "_routed_by", "_session", "_text_keyspaces", "batch_type",
    )  # fmt: skip

    def __init__(
        self,
        batch_type: BatchType = BatchType.LOGGED,
        retry_policy: RetryPolicy | None = None,
        consistency_level: int | None = None,
        serial_consistency_level: int | None = None,
        session: WithEncoder | None = None,
        custom_payload: Mapping[str, bytes | None] | None = None,
        **_unknown: NoReturn,
    ) -> None:
        if _unknown:
            raise unknown_option("BatchStatement", _unknown)
        super().__init__(
            retry_policy=retry_policy,
            consistency_level=consistency_level,
            serial_consistency_level=serial_consistency_level,
            custom_payload=custom_payload,
        )
        # Accept any object whose attribute `value` is a type's number in the protocol.
        if not hasattr(batch_type, "value"):
            raise TypeError(_batch_type_error(batch_type))
        self.batch_type = batch_type
        self._session = session
        self._entries: list[Entry] = []
        self._has_text = False  # True if an entry is a query string that is sent unprepared
        self._count = 0  # the number of statements; an entry may contain several statements
        self._reserved = 0  # the number of statements that was passed to `reserve`
        # The last entry, while `add` may still append rows to it. Building a request closes the
        # entry, because the values of the request must not change any more.
        self._open: BoundRows | TextRows | None = None
        # The entry from whose first row the batch's routing key is computed; None if there is no
        # such entry.
        self._routed_by: BoundRows | BoundRow | None = None
        # True if the keyspace was copied from a bound or prepared statement, and the application
        # has not set another keyspace; see `own_keyspace`.
        self._has_borrowed_keyspace = False
        # The keyspaces that the application has set on `SimpleStatement` objects with unqualified
        # names that are sent unprepared. A batch has only one keyspace for all its query strings,
        # so these settings may have no effect.
        self._text_keyspaces: tuple[str, ...] = ()

    def _set_defaults(self) -> None:
        BatchStatement.__init__(self)

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        # When the base class restored `keyspace`, the property's setter reset
        # `_has_borrowed_keyspace`: restore this attribute again.
        for attributes in state if isinstance(state, tuple) else ():
            if attributes and "_has_borrowed_keyspace" in attributes:
                self._has_borrowed_keyspace = attributes["_has_borrowed_keyspace"]

    @property
    def keyspace(self) -> str | None:
        """The keyspace of unqualified names in query strings; None for the session's keyspace.

        Unless you set it, it is the keyspace of the first statement that has a routing key.
        """
        name: str | None = _KEYSPACE.__get__(self)
        return name

    @keyspace.setter
    def keyspace(self, name: str | None) -> None:
        _KEYSPACE.__set__(self, name)
        self._has_borrowed_keyspace = False

    @keyspace.deleter
    def keyspace(self) -> None:
        self.keyspace = None

    @property
    def entries(self) -> Sequence[str | BoundStatement]:
        """The statements in the order of `add`: query strings and `BoundStatement` objects.

        A statement that is prepared only when the batch is executed appears as its query string. A
        row that an application has added by the id of a prepared statement (`NamedRow`) appears as
        a string that describes it.
        """
        # Make one item for each statement, because an entry may hold several statements.
        expanded: list[str | BoundStatement] = []
        for entry in self._entries:
            if isinstance(entry, BoundRows):
                expanded += entry.statements()
            elif isinstance(entry, BoundRow):
                expanded.append(entry.statement())
            elif isinstance(entry, TextRows):
                expanded += [entry.text] * entry.count
            else:
                expanded.append(repr(entry) if isinstance(entry, NamedRow) else entry)
        return expanded

    @property
    def query_string(self) -> str:
        """The statements as one batch in CQL, for logs and tracers."""
        # Compare the values, because an unpickled batch has another `BatchType` object.
        is_logged = self.batch_type.value == BatchType.LOGGED.value
        kind = "" if is_logged else f"{self.batch_type.name} "
        texts = [entry if isinstance(entry, str) else entry.query_string for entry in self.entries]
        return f"BEGIN {kind}BATCH {'; '.join(texts)} APPLY BATCH"

    @property
    def _statements_and_parameters(self) -> list[tuple[bool, str | bytes, Any]]:
        """A tuple (is prepared, query id or query string, parameters) for each statement.

        Tracers that are written for cassandra-driver read this attribute, and some applications
        assign it.
        """
        triples: list[tuple[bool, str | bytes, Any]] = []
        for entry in self._entries:
            if isinstance(entry, TextRows):
                # If the rows are a table, show empty parameters: the values are bound only when the
                # batch is executed.
                rows = entry.rows if isinstance(entry.rows, list) else [()] * entry.count
                triples += [(False, entry.text, row) for row in rows]
            elif isinstance(entry, str):
                triples.append((False, entry, ()))
            elif isinstance(entry, NamedRow):
                triples.append((True, entry.query_id, entry.values))
            else:
                statements = (
                    [entry.statement()] if isinstance(entry, BoundRow) else entry.statements()
                )
                triples += [
                    (True, bound.prepared_statement.query_id, bound.values) for bound in statements
                ]
        return triples

    @_statements_and_parameters.setter
    def _statements_and_parameters(self, triples: Iterable[tuple[bool, str | bytes, Any]]) -> None:
        # Read `triples` before the batch is cleared, because it may iterate over the entries of
        # this batch.
        rows = list(triples)
        self.clear()
        for is_prepared, statement, parameters in rows:
            if is_prepared:
                # `statement` is the id of a prepared statement, and the values are already encoded.
                # `add` accepts neither ids nor encoded values.
                self._entries.append(NamedRow(statement, parameters))  # type: ignore[arg-type]
                self._count += 1
            else:
                self.add(statement, parameters or None)  # type: ignore[arg-type]

    def sealed_entries(self) -> tuple[Entry, ...]:
        """Return the entries of the batch for a request, and close the last entry.

        A statement that is added after this call begins a new entry, so the values of the request
        do not change.
        """
        self._open = None
        return tuple(self._entries)

    @property
    def routing_key(self) -> bytes | None:
        """The first serialized partition key of the statements; None if no statement has a key."""
        # Compute the key here and not in `add`: most batches are routed once, after all rows are
        # added. Compute it again if `_former_keys` shows that the table was created again with
        # another partition key.
        entry = self._routed_by
        if entry is not None and (self._routing_key is None or entry.prepared._former_keys):
            self._routing_key = entry.computed_key()
        return _routing_key_of(self)

    @routing_key.setter
    def routing_key(self, key: RoutingKey) -> None:
        self._routing_key = key
        if key is not None:  # None lets the key of the statements apply again
            self._routed_by = None

    @routing_key.deleter
    def routing_key(self) -> None:
        self._routing_key = self._routed_by = None

    @property
    def own_keyspace(self) -> str | None:
        """The keyspace to send for unqualified names; None for the session's keyspace.

        The keyspace of a prepared statement's table also applies to query strings in the same
        batch, as in cassandra-driver.
        """
        # Only query strings can have unqualified names, because the server knows the table of a
        # prepared statement. So without query strings, a borrowed keyspace need not be sent.
        if self._has_borrowed_keyspace and not self._has_text:
            return None
        return self.keyspace

    def keyspaces_without_effect(self, keyspace: str) -> list[str]:
        """Return the keyspaces of query strings that have no effect.

        The batch has one keyspace for all its query strings, so other keyspaces have no effect.

        :param keyspace: the keyspace in which the query strings are executed.
        """
        return [name for name in self._text_keyspaces if name != keyspace]

    @property
    def expected_keyspace(self) -> str | None:
        """The keyspace that the application has set for unqualified names.

        None means the session's keyspace. This is also None if the keyspace was copied from a
        prepared statement: such a keyspace is only sent on protocol version 5, and has no effect
        before.
        """
        return None if self._has_borrowed_keyspace else self.keyspace

    def add(
        self,
        statement: str | Statement | PreparedStatement,
        parameters: object = None,
        *_values: NoReturn,
    ) -> BatchStatement:
        """Append one statement with its parameters; return self.

        Parameters of a query string with ``%s`` are written into the string. A query string with
        ``?`` or ``:name`` is prepared when the batch is executed. If this method raises an error,
        the batch does not change.

        :param statement: a query string, or any statement except a batch. Also any other object
            with a `query_string`, such as a mock in your tests.
        :param parameters: a sequence, a mapping or an object with attributes, as for
            `Session.execute`.
        :raises ValueError: if the batch already holds 65,535 statements, if you pass parameters
            with a bound statement, or if a value is out of range.
        :raises TypeError: if `statement` is not a statement, or a value does not fit its column's
            type.
        """
        if _values:
            raise TypeError(
                "the parameters of a statement are one argument: write "
                "batch.add(statement, (first, second))"
            )
        count = self._count
        # Check at each `add`, so that the traceback shows the line that adds too many statements.
        if count >= MAX_STATEMENTS:
            raise ValueError(
                f"a batch holds at most {MAX_STATEMENTS} statements: for many rows, write "
                f"session.load(table, rows), or {many_rows_advice()}"
            )
        open_rows = self._open
        # Usually the statement is the same as in the last entry (`_open`): append the row to that
        # entry. Compare the statements by identity, because another statement with the same query
        # string may have another id or other columns.
        if open_rows is not None and open_rows.prepared is statement:
            try:
                statement.bind_plan.bind_into(
                    open_rows.block,
                    () if parameters is None else parameters,
                    statement.protocol_version,
                )
            except (TypeError, ValueError, KeyError) as error:
                name_statement(error, statement.query_string)
                raise
        elif type(statement) is PreparedStatement:
            self._add_first_row(statement, parameters)
        else:
            self._add_other_statement(statement, parameters)
        self._count = count + 1
        return self

    def _add_first_row(self, statement: PreparedStatement, parameters: object) -> None:
        """Start a new entry with the first row of `statement`."""
        rows = BoundRows(statement, bind.RowsBlock(len(statement.bind_plan.columns)))
        # `reserve` was called with the number of all statements. Subtract the statements of earlier
        # entries, which have their own blocks.
        if self._reserved > self._count:
            rows.block.reserve(self._reserved - self._count)
        try:
            statement.bind_plan.bind_into(
                rows.block, () if parameters is None else parameters, statement.protocol_version
            )
        except (TypeError, ValueError, KeyError) as error:
            name_statement(error, statement.query_string)
            raise
        self._append_rows(rows)

    def _add_other_statement(self, statement: object, parameters: Any) -> None:
        """Append a statement that is not exactly a `PreparedStatement`."""
        if isinstance(statement, PreparedStatement):  # a subclass may override `bind`
            statement = statement.bind(() if parameters is None else parameters)
            parameters = None
        if type(statement) not in _USUAL_CLASSES:
            statement, parameters = _stand_in(statement, parameters)
        if isinstance(statement, BoundStatement):
            if parameters:
                raise ValueError(
                    f"a bound statement takes no further parameters, but got {parameters!r}"
                )
            self._entries.append(BoundRow(statement))
        elif isinstance(statement, (str, SimpleStatement)):
            text = statement if isinstance(statement, str) else statement.query_string
            # Empty parameters mean no parameters, as in `Session.execute`.
            if are_empty(parameters):
                parameters = None
            if parameters is not None and parameters_of(text) is MarkerKind.MARKERS:
                self._add_row_to_text(statement, text, parameters)
                return
            if parameters is not None:
                # Write the literals now, because the application may change the parameters before
                # it executes the batch.
                encoder = self._session.encoder if self._session is not None else None
                text = bind_params(text, parameters, encoder)
            self._entries.append(text)
            self._has_text = True
            keyspace = None if isinstance(statement, str) else statement.keyspace
            if (
                keyspace is not None
                and keyspace not in self._text_keyspaces
                and not names_its_keyspace(text)
            ):
                self._text_keyspaces += (keyspace,)
        else:
            raise TypeError(
                f"a batch holds queries and prepared statements, not {type(statement).__name__}"
                + _instead_of_statement(statement)
            )
        # Let the next `add` begin a new entry. Statements are sent in the order of `add`, so only
        # rows that were added directly after each other may share an entry.
        self._open = None
        self._adopt_route_and_payload(statement)

    def _add_row_to_text(
        self, statement: str | SimpleStatement, text: str, parameters: object
    ) -> None:
        """Append one row of parameters for a query string with bind markers."""
        # The row is only bound when the batch is executed. Copy it, because the application may
        # change its object until then.
        parameters = snapshot(parameters)
        open_entry = self._open
        keyspace = None if isinstance(statement, str) else statement.keyspace
        if (
            isinstance(open_entry, TextRows)
            and open_entry.text == text
            and open_entry.keyspace == keyspace
        ):
            open_entry.rows.append(parameters)
            open_entry.count += 1
            self._adopt_route_and_payload(statement)
        else:
            self._open = self._append_text(statement, text, [parameters], 1)

    def _append_rows(self, rows: BoundRows) -> None:
        """Append an entry and leave it open, so that `add` can append further rows to it."""
        self._entries.append(rows)
        self._open = rows
        if self._routing_key is None and self._routed_by is None:
            self.route_by(rows)
        if rows.prepared.custom_payload:
            self.custom_payload = {**(self.custom_payload or {}), **rows.prepared.custom_payload}

    def _append_text(
        self, statement: str | SimpleStatement, text: str, rows: object, count: int
    ) -> TextRows:
        """Append an entry of `count` rows for a query string with bind markers, and return it."""
        entry = TextRows(
            text, None if isinstance(statement, str) else statement.keyspace, rows, count
        )
        self._entries.append(entry)
        self._open = None
        self._adopt_route_and_payload(statement)
        return entry

    @property
    def is_routed(self) -> bool:
        """True if the batch has a routing key, of one of its statements or of the application."""
        return self._routing_key is not None or self._routed_by is not None

    def route_by(self, rows: BoundRows) -> None:
        """Use the partition key of the first of `rows` as routing key, if the batch has none yet.

        :param rows: the rows that were bound to a prepared statement.
        """
        prepared = rows.prepared
        if not self.is_routed and prepared.routing_key_indexes and rows.block.count:
            self._routed_by = rows
            if self.keyspace is None:
                self.keyspace = prepared.table_keyspace
                self._has_borrowed_keyspace = self.keyspace is not None
            self.table = prepared.table

    def add_all(
        self,
        statements: Iterable[str | Statement | PreparedStatement],
        parameters: Iterable[object],
    ) -> BatchStatement:
        """Append each statement with the parameters at the same position.

        :param statements: as for `add`.
        :param parameters: the parameters of each statement, as for `add`. If one iterable is
            shorter, the rest of the longer iterable is ignored; if both have a length, a
            RuntimeWarning says so.
        :returns: self.
        """
        if isinstance(statements, (str, Statement, PreparedStatement)):
            raise TypeError(
                "add_all takes several statements, each with its parameters: write "
                "batch.add_many(prepared, rows) for one statement"
            )
        lengths = [len(each) for each in (statements, parameters) if isinstance(each, Sized)]
        if len(lengths) == 2 and lengths[0] != lengths[1]:
            warnings.warn(
                f"add_all got {lengths[0]} statements and {lengths[1]} parameters: the rest of the "
                "longer list is not added. For many rows of one statement, write "
                "batch.add_many(prepared, rows)",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
        # Stop at the end of the shorter iterable: applications pair statements with an endless
        # iterator of parameters.
        for statement, values in zip(statements, parameters, strict=False):
            self.add(statement, values)
        return self

    def add_many(
        self, statement: str | SimpleStatement | PreparedStatement, rows: object
    ) -> BatchStatement:
        """Append `statement` once for each row; return self.

        All rows are bound at once into one buffer. `rows` is an iterable of sequences, mappings,
        dataclass instances or objects with attributes, or it is a table. A table has a column for
        each bind marker, found by name. It may be a structured NumPy array, a pandas DataFrame, an
        Arrow table or record batch, or any object with Arrow's C interface. The columns of a
        two-dimensional NumPy array are matched to the bind markers by position. Missing values of a
        table are bound as null. NaN is a value for float and double, and null for other types. If
        this method raises an error, the batch does not change.

        :param statement: a prepared statement, or a query string with bind markers. A query string
            is prepared when the batch is executed; errors in the rows are raised then.
        :param rows: the rows or the table.
        :raises ValueError: if the batch would hold more than 65,535 statements, if a column is
            unknown or missing, or if a value is out of range. The message has the row's number,
            from 0, and the column.
        :raises TypeError: if `rows` are not rows, or a value does not fit its column's type.
        """
        if type(statement) is not PreparedStatement and is_mock(statement):
            for row in rows:  # type: ignore[attr-defined]
                self.add(statement, row)
            return self
        if isinstance(statement, PreparedStatement):
            bound = _rows_of_batch(statement, rows)
            # Check the number of rows only after binding, because `rows` may be an iterator, which
            # has no length. The batch does not change if the check fails, because no row has been
            # added yet.
            self._check_room_for(bound.block.count)
            if bound.block.count:
                self._append_rows(bound)
                self._count += bound.block.count
            return self
        if not isinstance(statement, (str, SimpleStatement)):
            raise TypeError(
                "rows are added for a prepared statement or a text with bind markers, "
                f"not {type(statement).__name__}"
            )
        text = statement if isinstance(statement, str) else statement.query_string
        if parameters_of(text) is not MarkerKind.MARKERS:
            raise ValueError(
                f"rows are added for a text with bind markers (? or :name), not {query_head(text)}"
            )
        # Count the rows now, so that too many rows are refused here, and not when the batch is
        # executed.
        rows, count = snapshot_and_count(rows)
        self._check_room_for(count)
        if count:
            self._append_text(statement, text, rows, count)
            self._count += count
        return self

    def reserve(self, n: int) -> BatchStatement:
        """Reserve memory for `n` statements; return self.

        Call this before many calls of `add` with one prepared statement. `add_many` needs no such
        call.

        :param n: the number of statements.
        :raises ValueError: if `n` is more than 65,535.
        """
        # Refuse True, which is an int in Python, but surely a mistake as a number of statements.
        if isinstance(n, bool) or not isinstance(n, int):
            raise TypeError(f"n must be a number of statements, but is {n!r}")
        if not 0 <= n <= MAX_STATEMENTS:
            raise ValueError(f"a batch holds at most {MAX_STATEMENTS} statements, but n is {n}")
        self._reserved = n
        return self

    def _check_room_for(self, count: int) -> None:
        """Raise ValueError if `count` more statements do not fit into the batch."""
        if self._count + count > MAX_STATEMENTS:
            raise ValueError(
                f"a batch holds at most {MAX_STATEMENTS} statements: "
                f"it has {self._count}, and {count} do not fit"
            )

    def clear(self) -> BatchStatement:
        """Remove all statements; return self."""
        self._entries.clear()
        self._has_text = False
        self._count = 0
        self._open = None
        self._routing_key = self._routed_by = None
        self.keyspace = None
        self._text_keyspaces = ()
        self.table = None
        self.custom_payload = None
        return self

    def _adopt_route_and_payload(self, statement: str | Statement) -> None:
        """Copy the payload of `statement`, and its routing key if the batch has none yet."""
        if isinstance(statement, str):
            return
        if (
            self._routing_key is None
            and self._routed_by is None
            and statement.routing_key is not None
        ):
            self._routing_key = statement.routing_key
            # If the key was computed from the values, keep the entry, so that `routing_key` can
            # compute the key again if the table gets another partition key.
            if isinstance(statement, BoundStatement) and statement._has_computed_key():
                self._routed_by = BoundRow(statement)
            if self.keyspace is None:
                self.keyspace = statement.keyspace
                self._has_borrowed_keyspace = (
                    isinstance(statement, BoundStatement) and statement.keyspace is not None
                )
            self.table = statement.table
        # Merge the payloads, because a BATCH message has one payload for all statements.
        if statement.custom_payload:
            self.custom_payload = {**(self.custom_payload or {}), **statement.custom_payload}

    def is_lwt(self) -> bool:
        return any(map(_is_lwt, self._entries))

    def __len__(self) -> int:
        return self._count

    def __str__(self) -> str:
        level = ConsistencyLevel.value_to_name.get(
            self.consistency_level,  # type: ignore[arg-type]
            "Not Set",
        )
        return (
            f"<BatchStatement type={self.batch_type}, statements={len(self)}, consistency={level}>"
        )

    __repr__ = __str__


def batch_of_block(prepared: PreparedStatement, block: RowsBlock) -> BatchStatement:
    """Return an unlogged batch of rows that are already bound.

    :param prepared: the statement of all rows.
    :param block: the rows, at most 65,535.
    """
    batch = BatchStatement(BatchType.UNLOGGED)
    batch._append_rows(BoundRows(prepared, block))
    batch._count = block.count
    return batch


def _is_lwt(entry: Entry) -> bool:
    """Return True if an entry of a batch contains a lightweight transaction."""
    if isinstance(entry, BoundRows):
        return entry.prepared.is_lwt()
    if isinstance(entry, BoundRow):
        return entry.bound.is_lwt()
    # For a `NamedRow`, the prepared statement is only looked up by its id when the batch is
    # executed, so the CQL is not known here.
    if isinstance(entry, NamedRow):
        return False
    return is_conditional(entry if isinstance(entry, str) else entry.text)


for _class in (BatchType, BatchStatement):
    _class.__module__ = "cassandra.query"
del _class


def _stand_in(statement: Any, parameters: object) -> tuple[Any, object]:
    """Return the statement and the parameters to add for a statement of an unusual class.

    As in cassandra-driver, a batch takes any object with a `query_string`, and tests of
    applications pass mocks. For such an object, return a `SimpleStatement`. Return any other object
    unchanged.
    """
    mocked = is_mock(statement)
    is_bound = isinstance(statement, BoundStatement)
    # Leave instances of an application's subclasses as they are. The caller refuses batches, and
    # parameters of bound statements.
    if isinstance(statement, BatchStatement) or (is_bound and parameters):
        return statement, parameters
    if not mocked and (is_bound or isinstance(statement, (str, SimpleStatement))):
        return statement, parameters
    text = statement if is_bound else getattr(statement, "query_string", None)
    if mocked and text is not None and not isinstance(text, str):
        # The string is a mock, too, which has no placeholders for parameters.
        text, parameters = str(text), None
    if not isinstance(text, str):
        return statement, parameters
    adopted: dict[str, Any] = {
        name: value
        for name, classes in _ADOPTED.items()
        if isinstance(value := getattr(statement, name, None), classes)
    }
    return SimpleStatement(text, **adopted), parameters


def _instead_of_statement(statement: object) -> str:
    """Return the end of a message: what to write instead of `statement` in `BatchStatement.add`."""
    if isinstance(statement, BatchStatement):
        return ": execute each batch by itself"
    if not isinstance(statement, (list, tuple)) or not statement:
        return ""
    if isinstance(statement[0], (str, SimpleStatement, PreparedStatement)):
        if len(statement) == 2 and isinstance(statement[1], (list, tuple, dict)):
            return ": write batch.add(statement, parameters)"
        return ": call batch.add(statement, parameters) for each statement"
    return ""


add_habits(
    BatchStatement,
    BATCH,
    operations={"__enter__": "write batch = BatchStatement(), then session.execute(batch)"},
)
