"""A table that is dropped and created again with another type while clients write to it.

Each time, another client prepares the statement for the new table first. So the nodes know the id
of the statement, and read the bytes of a value by the new type, whatever type a client has encoded
the value for. The value of each row is its key, a small number, which all of the types can hold.
"""

from __future__ import annotations

import struct
import uuid
from typing import TYPE_CHECKING, Any

from cassandra.testing.fake.answers import Prepared
from tests.unit.metadata.schema.rows import Tables, add_table, column, keyspace, remove_table

if TYPE_CHECKING:
    from cassandra.testing.fake.node import FakeNode

KEYSPACE, NAME = "kt", "typed"
INSERT = f"INSERT INTO {KEYSPACE}.{NAME} (k, v) VALUES (?, ?)"
# The types that the column `v` has one after the other, with their formats for `struct`.
_TYPES = (("int", ">i"), ("bigint", ">q"), ("smallint", ">h"))


class TypedTable:
    """The table, which all nodes of a cluster share.

    `rows` has what the nodes have read from the bytes of the clients, by key; None for bytes that
    are no value of the type.

    :param markers: the names of the bind markers in INSERT. Markers that are not called like their
        columns, such as ``:key``, cannot be compared with the schema.
    :param changes: how often the table was dropped and created again before.
    """

    def __init__(self, markers: tuple[str, str] = ("k", "v"), changes: int = 0) -> None:
        self.markers = markers
        self.rows: dict[int, Any] = {}
        self._changes = changes  # how often the table was dropped and created again
        self._nodes: list[FakeNode] = []

    def add_to(self, node: FakeNode) -> None:
        """Let `node` have the table."""
        self._nodes.append(node)
        node.schema.setdefault("system_schema.keyspaces", []).append(keyspace(KEYSPACE))
        self._describe(node.schema)

    def create_again(self) -> None:
        """Drop the table on all nodes, and create it with the next type.

        The nodes know the statement as before, because another client has prepared it.
        """
        self._changes += 1
        for node in self._nodes:
            remove_table(node.schema, KEYSPACE, NAME)
            self._describe(node.schema)
            # Clients that miss the events notice by the version that the schema has changed.
            node.schema_version = uuid.UUID(int=self._changes)
            for query_id, prepared in node._prepared.items():
                if prepared.query == INSERT:
                    node._prepared[query_id] = self.prepared(query_id)

    def prepared(self, query_id: bytes) -> Prepared:
        """Return the description of INSERT for the current table."""
        types = ("int", _TYPES[self._changes % len(_TYPES)][0])
        columns = list(zip(self.markers, types, strict=True))
        return Prepared(INSERT, columns, (), [0], query_id, keyspace=KEYSPACE, table=NAME)

    def write(self, values: Any) -> None:
        """Execute INSERT with the encoded values."""
        (key,) = struct.unpack(">i", values[0])
        try:
            (self.rows[key],) = struct.unpack(_TYPES[self._changes % len(_TYPES)][1], values[1])
        except struct.error:
            self.rows[key] = None

    def _describe(self, tables: Tables) -> None:
        """Add the rows of the table to a node's schema tables."""
        table_id = uuid.UUID(int=self._changes + 1)
        add_table(tables, KEYSPACE, NAME, column_count=0, id=table_id)
        value_type = _TYPES[self._changes % len(_TYPES)][0]
        tables["system_schema.columns"] = [
            row for row in tables["system_schema.columns"] if row["table_name"] != NAME
        ] + [
            column(KEYSPACE, NAME, "k", "partition_key", 0),
            column(KEYSPACE, NAME, "v", type=value_type),
        ]
