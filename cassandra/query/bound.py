"""Bound statements: prepared statements with the values of one execution."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._habits import many_rows_advice
from cassandra._imports import Deferred
from cassandra._patterns import pattern
from cassandra.consistency import ConsistencyLevel
from cassandra.cqltypes.failures import without_compiled_frames
from cassandra.query.sent_values import SentValues, block_of
from cassandra.query.statement import FETCH_SIZE_UNSET, RoutingKey, Statement, query_head
from cassandra.sentinels import UNSET_VALUE

if TYPE_CHECKING:
    from typing import NoReturn

    from cassandra import bases
    from cassandra.policies.retry import RetryPolicy
    from cassandra.protocol.bind import ValuesBlock
    from cassandra.query import conversions
    from cassandra.query.prepared import PreparedStatement
else:
    from cassandra._impl import bases

    # Imported at the first error, because most applications never need this module.
    conversions = Deferred("cassandra.query.conversions")


class BoundStatement(Statement, bases.BoundBase):
    """A prepared statement with its values, which `bind` serializes.

    :param prepared_statement: the statement, whose settings apply unless you pass others.
    :param retry_policy: decides on retries; None for the prepared statement's policy.
    :param consistency_level: a value of `ConsistencyLevel`; None for the prepared statement's
        level.
    :param routing_key: the partition key's bytes, or the bytes of each of its columns; None
        computes the key from the values.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL; None for the prepared statement's
        level.
    :param fetch_size: rows per page; None for one page of all rows. The default is the prepared
        statement's setting.
    :param keyspace: the keyspace for routing; None for the keyspace of the statement's table.
    :param custom_payload: a mapping of strings to bytes for the server's query handler; None for
        the prepared statement's payload.
    :raises ValueError: if `serial_consistency_level` is not serial.
    """

    __slots__ = ()

    block: ValuesBlock | None

    def __init__(
        self,
        prepared_statement: PreparedStatement,
        retry_policy: RetryPolicy | None = None,
        consistency_level: int | None = None,
        routing_key: RoutingKey = None,
        serial_consistency_level: int | None = None,
        fetch_size: int | None = FETCH_SIZE_UNSET,
        keyspace: str | None = None,
        custom_payload: Mapping[str, bytes | None] | None = None,
    ) -> None:
        # Do not call Statement.__init__: this is a hot path, and the prepared statement's settings
        # have already passed its checks.
        prepared = self.prepared_statement = prepared_statement
        self.block = None
        self.take_settings(prepared)
        if retry_policy is not None:
            if isinstance(retry_policy, (tuple, list, dict)):
                raise ValueError(
                    "retry_policy must implement RetryPolicy, but is a "
                    f"{type(retry_policy).__name__}: values are bound by "
                    "prepared.bind(values), or by session.execute(prepared, values)"
                )
            self.retry_policy = retry_policy
        if consistency_level is not None:
            self.consistency_level = consistency_level
        self._routing_key = routing_key
        self._serial_consistency_level = None
        if serial_consistency_level is None:
            serial_consistency_level = prepared.serial_consistency_level
        if serial_consistency_level is not None:
            self.serial_consistency_level = serial_consistency_level
        if fetch_size is not FETCH_SIZE_UNSET:
            self.fetch_size = fetch_size
        self.keyspace = keyspace if keyspace is not None else prepared.table_keyspace
        if custom_payload is not None:
            self.custom_payload = custom_payload
        self.table = prepared.table

    def bind(self, values: object) -> BoundStatement:
        """Serialize `values` and store them in this statement; return self.

        Names of a mapping that have no bind marker are ignored, unless the prepared statement's
        `strict_names` is True. An instance of a dataclass or an attrs class must not have a field
        without a bind marker. Of any other object, only the attributes named by markers are read.
        On protocol v4 and later, a missing value is "not set", so the column keeps its value. On v3
        it is an error.

        :param values: a sequence by position, a mapping by column name, or an object by its
            attributes. If there is one bind marker, a string of one character is its value.
        :raises ValueError: if there are too many values, if a column of the partition key has no
            value, or if a value is out of range. The message names the column.
        :raises KeyError: if a column has no value on protocol v3.
        :raises TypeError: if a value does not fit its column's type. The message names the column.
        """
        prepared = self.prepared_statement
        # As in `Session.execute`, None means no values.
        if values is None:
            values = ()
        try:
            # `bind_row` refuses a row without the whole partition key, so that the traceback shows
            # the caller's line. The server would only refuse it after a round trip.
            block = prepared.bind_plan.bind_row(values, prepared.protocol_version)
        except (TypeError, ValueError) as error:
            name_statement(error, prepared.query_string)
            # pandas' `DataFrame.itertuples` returns rows of a class named Pandas, whose first value
            # is the index.
            if type(values).__name__ == "Pandas" and "Too many values" in str(error):
                error.args = (
                    f"{error.args[0]}; the first value is the index of the frame: write "
                    "frame.itertuples(index=False)",
                    *error.args[1:],
                )
            raise
        if self._routing_key is not None:
            self._forget_computed_key()  # a computed key belongs to the previous values
        self.block = block
        return self

    def _forget_computed_key(self) -> None:
        """Forget a routing key that was computed from the values, which are about to change."""
        # Keep a routing key that differs from the key of the old values: the application has set
        # it.
        if self._has_computed_key():
            self._routing_key = None

    def _has_computed_key(self) -> bool:
        """Return True if the routing key was computed from the values, and not set directly."""
        prepared, block = self.prepared_statement, self.block
        if block is None:
            return False
        # If the table has got another partition key, the routing key may have been computed by
        # earlier positions of its columns. So compare with these keys, too.
        keys = (prepared.routing_key_indexes, *prepared._former_keys)
        return any(indexes and self._routing_key == block.routing_key(indexes) for indexes in keys)

    @property
    def query_string(self) -> str:
        """The query string of the prepared statement."""
        return self.prepared_statement.query_string

    @property
    def values(self) -> list[Any]:
        """The serialized values: bytes, None for null, or `UNSET_VALUE`. Empty before `bind`.

        If you change the list or assign another list, the statement sends the new values.
        """
        values = SentValues()
        values._statement = self
        block = self.block
        return values if block is None else block.values(values)

    @values.setter
    def values(self, values: Iterable[Any]) -> None:
        block = block_of(values)
        if self._routing_key is not None:
            self._forget_computed_key()
        self.block = block

    def _block_values(self) -> list[Any]:
        return self.block.values() if self.block is not None else []

    @property
    def raw_values(self) -> list[Any]:
        """The values as Python objects, None for null, or `UNSET_VALUE`. Empty before `bind`.

        A bound statement holds only the serialized bytes, so each access decodes them.
        """
        columns = self.prepared_statement.column_metadata
        return [
            _read_back(value, column.type)
            for value, column in zip(self._block_values(), columns, strict=False)
        ]

    @property
    def routing_key(self) -> bytes | None:
        """The serialized partition key from the bound values, or None if a part is missing."""
        # `_routing_key` was set by the application, or was computed by an earlier access. If the
        # table has got another partition key since then, a computed key is wrong.
        if self._routing_key is not None:
            if not (self.prepared_statement._former_keys and self._has_computed_key()):
                return Statement.routing_key.fget(self)  # type: ignore[attr-defined, no-any-return]
            self._routing_key = None
        indexes = self.prepared_statement.routing_key_indexes
        # Without indexes, the key is not known: the server sends none if a column of the partition
        # key has no bind marker.
        if not indexes or self.block is None:
            return None
        self._routing_key = self.block.routing_key(indexes)
        return self._routing_key

    @routing_key.setter
    def routing_key(self, key: RoutingKey) -> None:
        self._routing_key = key

    def is_lwt(self) -> bool:
        return self.prepared_statement._is_lwt

    def __str__(self) -> str:
        level = ConsistencyLevel.value_to_name.get(
            self.consistency_level,  # type: ignore[arg-type]
            "Not Set",
        )
        query = self.prepared_statement.query_string
        return f'<BoundStatement query="{query}", values={self.raw_values}, consistency={level}>'

    __repr__ = __str__


def _read_back(value: Any, cql_type: Any) -> object:
    """Return the Python object of a serialized value, or its bytes if they cannot be decoded."""
    if value is None or value is UNSET_VALUE:
        return value
    try:
        return cql_type.codec().decode_nullable(value)
    except Exception:  # raised by an application's type; `__repr__` must not fail because of that
        return value


def refuse_arguments(prepared: PreparedStatement, arguments: Sequence[Any]) -> NoReturn:
    """Raise TypeError for a call of `PreparedStatement.bind` with several arguments.

    :param prepared: the prepared statement.
    :param arguments: all positional arguments.
    :raises TypeError: always.
    """
    # Several sequences are probably several rows. Other arguments are probably the values of a row.
    names = [column.name for column in prepared.column_metadata]
    if all(isinstance(argument, (tuple, list, Mapping)) for argument in arguments):
        advice = "it binds one row; for many rows, write " + many_rows_advice(
            "batch.add_many(prepared, rows)"
        )
    else:
        values = ", ".join(names)
        advice = (
            "it takes the values of all markers together, as one sequence or mapping: write "
            f"bind(({values}{',' * (len(names) == 1)}))"
        )
    raise TypeError(
        f"bind() takes one argument, and {len(arguments)} were given: {advice} "
        f"(in {query_head(prepared.query_string)})"
    )


def name_statement(error: BaseException, query: str) -> None:
    """Add the beginning of the query string to the message of `error`.

    This also removes the frames of compiled code from the traceback of `error`.
    """
    without_compiled_frames(error)
    # Change the error in place, so that it keeps its class and traceback: callers catch TypeError
    # and ValueError.
    if error.args and isinstance(error.args[0], str):
        message = error.args[0]
        error.args = (
            f"{message} (in {query_head(query)}){_advice_for(message, query)}",
            *error.args[1:],
        )


# Maps the class of a value that was bound instead of a vector to the expression that converts it.
_REPLACEMENTS_FOR_VECTORS = {
    "bytes": "numpy.frombuffer(value, 'float32') for the bytes of an array",
    "str": "json.loads(value) for numbers in a text",
    "dict": "the list that the dict has",
}


# Matches errors for a two-dimensional array that was bound instead of a vector.
_MATRIX_ERRORS = pattern(
    r"(?:array\(\[\[.*|of shape \d+x\S+ )\(ndarray\) has \d+ elements, vector<"
    r"|tensor\(\[\[.*\(Tensor\) has \d+ elements, vector<"
    # The matrix has as many rows as the vector has elements.
    r"|: element 0 of vector<[^:]*: .*\((?:ndarray|list)\) is not a number"
    r"|elements for vector<[^:]*: it has \d+ dimensions"
    # A list of lists, as `array.tolist()` returns.
    r"|: \[\[.*\(list\) has \d+ elements, vector<",
    re.DOTALL,
)


# Matches errors for an array of n rows and one column that was bound instead of a vector of n.
_COLUMN_ERRORS = pattern(
    r": element 0 of vector<[^:]*: (?:array\(\[[^,\[\]]*\].*\(ndarray\)|\[[^,\[\]]*\] \(list\))"
    r" is not a number"
)


# Matches errors for the bytes of an array that were bound instead of a vector of floats. Other
# drivers return blobs as objects of these classes.
_PACKED_VECTORS = pattern(
    r"\((?:bytearray|memoryview)\) has (\d+) elements, vector<float, \d+> takes (\d+)"
)


def _advice_for(message: str, query: str) -> str:
    """Return advice for a common mistake that `message` does not explain; "" for other mistakes.

    For example, the application has bound a list of rows instead of one row, or a dict in a list.
    """
    # Inside a collection or a user-defined type, a list is not a row.
    is_inside = re.search(r": (?:element|field|key|value|item) \S+ of ", message) is not None
    if not is_inside and re.search(
        r"\((?:list|tuple|set)\) is not (?!a mapping|a collection|a tuple)", message
    ):
        # A list was bound to a marker that does not take a list. The query string shows what the
        # application probably meant.
        if re.search(r"\bIN\s*\(\s*(\?|:\w+)\s*\)", query, re.IGNORECASE):
            return "; write IN ?, without parentheses, to bind a list of values"
        if "(set) is not a sequence of elements" in message:
            return "; write a list, whose elements have an order"
        if re.search(r": \[(?:\d+(?:, |\]))+.*\(list\) is not bytes", message):
            return "; write bytes(value)"
        return (
            "; the values of one row are bound here: for many rows, write "
            f"{many_rows_advice('batch.add_many(prepared, rows)')}"
        )
    if not is_inside and re.search(r"\(ndarray\) is not (?:an? |text|bytes)", message):
        return (
            "; the values of one row are bound here: for arrays of columns, write "
            "session.load(table, {'column': array, ...})"
        )
    # A value that is not a list was bound to a vector or another collection.
    if " is not a collection of elements for vector<" in message:
        if re.search(r": b'\s*\[.*\(bytes\) is not", message):
            return f"; write {_REPLACEMENTS_FOR_VECTORS['str']}"
        for class_name, replacement in _REPLACEMENTS_FOR_VECTORS.items():
            if f"({class_name}) is not" in message:
                return f"; write {replacement}"
    packed = _PACKED_VECTORS.search(message)
    if packed is not None and int(packed[1]) == 4 * int(packed[2]):
        return f"; write {_REPLACEMENTS_FOR_VECTORS['bytes']}"
    if "'[" not in message and "(str) is not a collection of elements for " in message:
        return "; a single text is written as a list, [value], or as a set, {value}"
    # A value of datetime was bound to a type of another class.
    if "(timedelta) is not a cassandra.util.Duration" in message:
        return (
            "; write Duration(months=0, days=value.days, nanoseconds=value.seconds * 10**9 + "
            "value.microseconds * 1000)"
        )
    if "(datetime) is not a UUID" in message:
        return (
            "; write cassandra.util.uuid_from_time(value) for a new timeuuid, and "
            "min_uuid_from_time(value) or max_uuid_from_time(value) for a range"
        )
    if "(timedelta) is not an integer" in message:
        return "; write int(value.total_seconds()) for seconds"
    # A vector or a list has the wrong size.
    if _COLUMN_ERRORS.search(message):
        return "; its rows have one number each: write array.ravel(), or [row[0] for row in value]"
    if _MATRIX_ERRORS.search(message):
        return "; its rows are vectors themselves: write array[0] for the first one"
    sizes = re.search(r" has (\d+) elements, vector<(\w+), \d+> takes \d+", message)
    if sizes is not None and int(sizes[1]) > 1 and not is_inside:
        return (
            "; vectors of another model need a column or table of their own, "
            f"vector<{sizes[2]}, {sizes[1]}>"
        )
    if re.match(r"Too many values .* given, 1 wanted ", message):
        return "; the list for a single marker is written (value,)"
    # A dict was bound as a value.
    if "(dict) is not text" in message:
        return (
            "; to store a dict as text, pass json.dumps(value); a row of named values is passed as "
            "it is, not inside a list or tuple"
        )
    # Only tables refuse a dict for a list or set: see `cassandra.query.tables.unfit`.
    if re.search(r"\(dict\) is not a collection of elements for (list|set)<", message):
        return "; make a list of its keys or of its values"
    if "(dict) is not" in message:
        return "; a row of named values is passed as it is, not inside a list or tuple"
    return conversions.advice_on_conversion(message)


BoundStatement.__module__ = "cassandra.query"
