"""Prepared statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cassandra._impl import bind as bind_plans
from cassandra._impl import binding
from cassandra.consistency import ConsistencyLevel
from cassandra.query.settings import StatementSettings

__all__ = ["PreparedStatement"]


class PreparedStatement(StatementSettings):
    """A statement that the servers know by its id. Made by `Session.prepare`; bind it with `bind`
    or by executing it.

    Safe to share between threads. The settings given here are taken over by each statement bound
    from it.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_is_lwt",
        "changes_counters",
        "column_encryption_policy",
        "column_metadata",
        "keyspace",
        "needed_values",
        "plan",
        "protocol_version",
        "query_id",
        "query_string",
        "result_metadata_and_id",
        "routing_key_indexes",
        "serial_consistency_level",
        "table",
        "table_keyspace",
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
        self.reset_settings()
        self.serial_consistency_level: int | None = None
        self._is_lwt = is_lwt
        # One attribute for both, so that a reader never sees the id of one version with the columns
        # of another.
        self.result_metadata_and_id: tuple[Any, bytes | None] = (
            result_metadata,
            result_metadata_id,
        )
        # Where its table is: not always in the keyspace that it was prepared in.
        self.table: str | None = column_metadata[0].table_name if column_metadata else None
        self.table_keyspace: str | None = (
            column_metadata[0].keyspace_name if column_metadata else keyspace
        )
        self.needed_values = max(routing_key_indexes) + 1 if routing_key_indexes else 0
        self.plan = bind_plans.BindPlan(column_metadata, routing_key_indexes)
        # Whether it is known to change a counter: one of its bind markers is for one.
        self.changes_counters = any(
            column.type.codec().cql_name == "counter" for column in column_metadata
        )

    def require_key(self, named: Mapping[str, Any], listed: Sequence[Any]) -> None:
        """ValueError that names the columns of the partition key for which neither `named` nor
        `listed` has a value.
        """
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

    def update_result_metadata(
        self, result_metadata: Any, result_metadata_id: bytes | None
    ) -> None:
        """Take over what the server says that the result's columns are now."""
        self.result_metadata_and_id = (result_metadata, result_metadata_id)

    bind = binding.bind  # of the pair of modules: most requests begin with it

    def is_lwt(self) -> bool:
        """Whether the server said that this is a lightweight transaction (ScyllaDB)."""
        return self._is_lwt

    def __str__(self) -> str:
        level = ConsistencyLevel.value_to_name.get(self.consistency_level, "Not Set")  # type: ignore[arg-type]
        return f'<PreparedStatement query="{self.query_string}", consistency={level}>'

    __repr__ = __str__


PreparedStatement.__module__ = "cassandra.query"
