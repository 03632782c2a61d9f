"""Prepared and bound statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._impl import bind
from cassandra.consistency import ConsistencyLevel
from cassandra.protocol.records import is_record
from cassandra.query.statement import FETCH_SIZE_UNSET, Statement, query_head

if TYPE_CHECKING:
    from cassandra.protocol.bind import ValuesBlock

__all__ = ["BoundStatement", "PreparedStatement"]

_new = object.__new__


class PreparedStatement:
    """A statement that the servers know by its id. Made by `Session.prepare`; bind it with `bind` or by executing it.

    Safe to share between threads. The settings given here are taken over by each statement bound from it.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_is_lwt",
        "changes_counters",
        "column_encryption_policy",
        "column_metadata",
        "consistency_level",
        "custom_payload",
        "fetch_size",
        "is_idempotent",
        "keyspace",
        "needed_values",
        "plan",
        "protocol_version",
        "query_id",
        "query_string",
        "result_metadata_and_id",
        "retry_policy",
        "routing_key_indexes",
        "serial_consistency_level",
        "table",
        "table_keyspace",
        "vector_type",
    )

    def __init__(
        self,
        column_metadata: Sequence[Any],
        query_id: bytes,
        routing_key_indexes: Sequence[int] | None,
        query: str,
        keyspace: str | None,
        protocol_version: int,
        result_metadata: Any,
        result_metadata_id: bytes | None,
        is_lwt: bool = False,
        column_encryption_policy: Any = None,
    ) -> None:
        self.column_metadata = column_metadata
        self.query_id = query_id
        self.routing_key_indexes = routing_key_indexes
        self.query_string = query
        self.keyspace = keyspace
        self.protocol_version = protocol_version
        self.column_encryption_policy = column_encryption_policy
        # What a program may set.
        self.consistency_level: int | None = None
        self.serial_consistency_level: int | None = None
        self.retry_policy: Any = None
        self.fetch_size: Any = FETCH_SIZE_UNSET
        self.custom_payload: Mapping[str, bytes] | None = None
        self.is_idempotent = False
        self.vector_type: str | None = None
        self._is_lwt = is_lwt
        # One attribute for both, so that a reader never sees the id of one version with the columns of another.
        self.result_metadata_and_id: tuple[Any, bytes | None] = (result_metadata, result_metadata_id)
        # Where its table is: not always in the keyspace that it was prepared in.
        self.table: str | None = column_metadata[0].table_name if column_metadata else None
        self.table_keyspace: str | None = column_metadata[0].keyspace_name if column_metadata else keyspace
        self.needed_values = max(routing_key_indexes) + 1 if routing_key_indexes else 0
        self.plan = bind.BindPlan(column_metadata, routing_key_indexes)
        # Whether it is known to change a counter: one of its bind markers is for one.
        self.changes_counters = any(column.type.codec().cql_name == "counter" for column in column_metadata)

    def require_key(self, named: Mapping[str, Any], listed: Sequence[Any]) -> None:
        """ValueError that names the columns of the partition key for which neither `named` nor `listed` has a value."""
        missing = [
            self.column_metadata[i].name
            for i in self.routing_key_indexes or ()
            if i >= len(listed) and self.column_metadata[i].name not in named
        ]
        if missing:
            raise ValueError(
                f"{len(listed) or len(named)} values for {len(self.column_metadata)} parameters: "
                f"the partition key needs one for {', '.join(map(repr, missing))}"
            )

    @property
    def result_metadata(self) -> Any:
        """The columns that executing it gives, as the server last told."""
        return self.result_metadata_and_id[0]

    @property
    def result_metadata_id(self) -> bytes | None:
        """The id of these columns (protocol v5)."""
        return self.result_metadata_and_id[1]

    def update_result_metadata(self, result_metadata: Any, result_metadata_id: bytes | None) -> None:
        """Take over what the server says that the result's columns are now."""
        self.result_metadata_and_id = (result_metadata, result_metadata_id)

    def bind(self, values: Any) -> BoundStatement:
        """A `BoundStatement` with these values: by position, or by column name (see `BoundStatement.bind`)."""
        bound = _new(BoundStatement)  # without the call of __init__, which a statement for each request would feel
        bound.prepared_statement = self
        bound.block = None
        bound._routing_key = None
        bound.retry_policy = self.retry_policy
        bound.consistency_level = self.consistency_level
        bound._serial_consistency_level = None
        if self.serial_consistency_level is not None:
            bound.serial_consistency_level = self.serial_consistency_level
        bound.fetch_size = self.fetch_size
        bound.keyspace = self.table_keyspace
        bound.custom_payload = self.custom_payload
        bound.is_idempotent = self.is_idempotent
        bound.table = self.table
        bound.vector_type = self.vector_type
        kind = type(values)
        if (kind is tuple or kind is list) and len(values) >= self.needed_values:
            try:
                bound.block = self.plan.bind(values, self.protocol_version)
            except (TypeError, ValueError) as error:
                name_statement(error, self.query_string)
                raise
            return bound
        return bound.bind(values)

    def is_lwt(self) -> bool:
        """Whether the server said that this is a lightweight transaction (ScyllaDB)."""
        return self._is_lwt

    def __str__(self) -> str:
        level = ConsistencyLevel.value_to_name.get(self.consistency_level, "Not Set")  # type: ignore[arg-type]
        return f'<PreparedStatement query="{self.query_string}", consistency={level}>'

    __repr__ = __str__


class BoundStatement(Statement):
    """A prepared statement with its values, which are serialized when they are bound."""

    __slots__ = ("block", "prepared_statement")

    block: ValuesBlock | None

    def __init__(
        self,
        prepared_statement: PreparedStatement,
        retry_policy: Any = None,
        consistency_level: int | None = None,
        routing_key: bytes | Sequence[bytes] | None = None,
        serial_consistency_level: int | None = None,
        fetch_size: Any = FETCH_SIZE_UNSET,
        keyspace: str | None = None,
        custom_payload: Mapping[str, bytes] | None = None,
    ) -> None:
        # Not through Statement.__init__, whose checks the prepared statement's settings have passed: this is a hot path.
        prepared = self.prepared_statement = prepared_statement
        self.block = None
        self.retry_policy = retry_policy if retry_policy is not None else prepared.retry_policy
        self.consistency_level = consistency_level if consistency_level is not None else prepared.consistency_level
        self._routing_key = routing_key
        self._serial_consistency_level = None
        if serial_consistency_level is None:
            serial_consistency_level = prepared.serial_consistency_level
        if serial_consistency_level is not None:
            self.serial_consistency_level = serial_consistency_level
        self.fetch_size = fetch_size if fetch_size is not FETCH_SIZE_UNSET else prepared.fetch_size
        self.keyspace = keyspace if keyspace is not None else prepared.table_keyspace
        self.custom_payload = custom_payload if custom_payload is not None else prepared.custom_payload
        self.is_idempotent = prepared.is_idempotent
        self.table = prepared.table
        self.vector_type = prepared.vector_type

    def bind(self, values: Any) -> BoundStatement:
        """Serialize `values` and keep them; returns self.

        values: a sequence by position, a mapping by column name, or an object by its attributes. An instance of a dataclass or an
        attrs class must have no field that is not a bind marker; of any other object, attributes that no marker has are not looked
        at. A missing value is "not set" on protocol v4 and later and leaves the column as it is; on v3 it is an error. Raises ValueError for values that are too many or not known, TypeError or ValueError that
        names the column for a value that does not fit its type.
        """
        prepared = self.prepared_statement
        if values is None:
            values = ()
        try:
            if isinstance(values, Mapping):
                prepared.require_key(values, ())
                self.block = prepared.plan.bind_mapping(values, prepared.protocol_version)
            elif not isinstance(values, (tuple, list)) and is_record(values):
                self.block = prepared.plan.bind_row(values, prepared.protocol_version)
            else:
                if len(values) < prepared.needed_values:
                    prepared.require_key({}, values)
                self.block = prepared.plan.bind(values, prepared.protocol_version)
        except (TypeError, ValueError) as error:
            name_statement(error, prepared.query_string)
            raise
        return self

    @property
    def values(self) -> list[Any]:
        """The serialized values: bytes, None for null, or `UNSET_VALUE`. Empty before `bind`."""
        return self.block.values() if self.block is not None else []

    @property
    def raw_values(self) -> list[Any]:
        """The same as `values`."""
        return self.values

    @property
    def routing_key(self) -> bytes | None:
        """The serialized partition key, from the bound values; None where they do not hold all of it."""
        if self._routing_key is not None:
            return Statement.routing_key.fget(self)  # type: ignore[attr-defined, no-any-return]
        indexes = self.prepared_statement.routing_key_indexes
        if not indexes or self.block is None:
            return None
        self._routing_key = self.block.routing_key(indexes)
        return self._routing_key

    @routing_key.setter
    def routing_key(self, key: bytes | Sequence[bytes] | None) -> None:
        self._routing_key = key

    def is_lwt(self) -> bool:
        return self.prepared_statement._is_lwt

    def __str__(self) -> str:
        level = ConsistencyLevel.value_to_name.get(self.consistency_level, "Not Set")  # type: ignore[arg-type]
        query = self.prepared_statement.query_string
        return f'<BoundStatement query="{query}", values={self.values}, consistency={level}>'

    __repr__ = __str__


def name_statement(error: BaseException, query: str) -> None:
    """Add the statement's head to an error's message."""
    if error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]} (in {query_head(query)})", *error.args[1:])


for _class in (PreparedStatement, BoundStatement):
    _class.__module__ = "cassandra.query"
del _class
