"""Batches: many statements sent as one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cassandra.consistency import ConsistencyLevel
from cassandra.encoder import Encoder
from cassandra.query.prepared import BoundStatement, PreparedStatement
from cassandra.query.statement import SimpleStatement, Statement, bind_params

__all__ = ["BatchStatement", "BatchType"]

MAX_STATEMENTS = 0xFFFF  # the count is a [short] (native_protocol_v5.spec, section 4.1.7)


class BatchType:
    """LOGGED batches are applied whole or not at all, UNLOGGED ones statement by statement; COUNTER is for counters."""

    LOGGED: BatchType
    UNLOGGED: BatchType
    COUNTER: BatchType

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


class BatchStatement(Statement):
    """A batch of simple and prepared statements; the first one with a routing key decides where it goes."""

    __slots__ = ("_entries", "_session", "batch_type")

    def __init__(
        self,
        batch_type: BatchType = BatchType.LOGGED,
        retry_policy: Any = None,
        consistency_level: int | None = None,
        serial_consistency_level: int | None = None,
        session: Any = None,
        custom_payload: Mapping[str, bytes] | None = None,
    ) -> None:
        super().__init__(
            retry_policy=retry_policy,
            consistency_level=consistency_level,
            serial_consistency_level=serial_consistency_level,
            custom_payload=custom_payload,
        )
        self.batch_type = batch_type
        self._session = session
        # Text with its literals written in, or a bound statement.
        self._entries: list[str | BoundStatement] = []

    @property
    def entries(self) -> Sequence[str | BoundStatement]:
        """The statements, in the order of `add`: a query's text, or a `BoundStatement`."""
        return self._entries

    def add(
        self,
        statement: str | Statement | PreparedStatement,
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
    ) -> BatchStatement:
        """Append one statement with its parameters; returns self.

        Raises ValueError beyond 65,535 statements and for parameters of a statement that is bound already, TypeError for what
        is not a statement.
        """
        if len(self._entries) >= MAX_STATEMENTS:
            raise ValueError(f"a batch holds at most {MAX_STATEMENTS} statements")
        if isinstance(statement, PreparedStatement):
            statement = statement.bind(() if parameters is None else parameters)
            parameters = None
        if isinstance(statement, BoundStatement):
            if parameters:
                raise ValueError(f"a bound statement takes no further parameters, but got {parameters!r}")
            self._entries.append(statement)
        elif isinstance(statement, (str, SimpleStatement)):
            text = statement if isinstance(statement, str) else statement.query_string
            if parameters is not None:
                encoder: Encoder | None = self._session.encoder if self._session is not None else None
                text = bind_params(text, parameters, encoder)
            self._entries.append(text)
        else:
            raise TypeError(f"a batch holds queries and prepared statements, not {type(statement).__name__}")
        self._adopt(statement)
        return self

    def add_all(self, statements: Iterable[Any], parameters: Iterable[Any]) -> BatchStatement:
        """Append each statement with the parameters that stand at its place; returns self."""
        for statement, values in zip(statements, parameters, strict=False):
            self.add(statement, values)
        return self

    def clear(self) -> BatchStatement:
        """Take all statements out; returns self."""
        self._entries.clear()
        self._routing_key = None
        self.keyspace = None
        self.table = None
        self.custom_payload = None
        return self

    def _adopt(self, statement: str | Statement) -> None:
        if isinstance(statement, str):
            return
        if self._routing_key is None and statement.routing_key is not None:
            self._routing_key = statement.routing_key
            self.keyspace = statement.keyspace
            self.table = statement.table
        if statement.custom_payload:
            self.custom_payload = {**(self.custom_payload or {}), **statement.custom_payload}

    def is_lwt(self) -> bool:
        return any(isinstance(entry, BoundStatement) and entry.is_lwt() for entry in self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        level = ConsistencyLevel.value_to_name.get(self.consistency_level, "Not Set")  # type: ignore[arg-type]
        return f"<BatchStatement type={self.batch_type}, statements={len(self)}, consistency={level}>"

    __repr__ = __str__


for _class in (BatchType, BatchStatement):
    _class.__module__ = "cassandra.query"
del _class
