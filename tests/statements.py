"""Prepared statements created without a server, with bind plans of either implementation."""

from __future__ import annotations

from collections.abc import Sequence

from cassandra.bulk.chunks import Column
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.query import PreparedStatement
from tests.conftest import Implementation


def prepared_insert(
    implementation: Implementation, columns: Sequence[Column], routing_key_indexes: Sequence[int]
) -> PreparedStatement:
    """Return a real `PreparedStatement` of an INSERT whose bind markers are `columns`.

    :param implementation: the implementation that binds the values.
    :param routing_key_indexes: the positions of the partition key's columns.
    """
    metadata = [ColumnMetadata("ks", "t", column.name, column.type) for column in columns]
    statement = PreparedStatement(
        metadata, b"id", routing_key_indexes, "INSERT", "ks", 5, None, None
    )
    statement.bind_plan = implementation.bind.BindPlan(metadata, routing_key_indexes)
    return statement
