"""Finds the partition key among the bind markers of a prepared statement.

Since protocol version 4, the server's answer to PREPARE contains this. For version 3, this module
reads the partition key from the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.protocol.column_specs import ColumnMetadata


def key_positions(metadata: Metadata, markers: Sequence[ColumnMetadata] | None) -> list[int] | None:
    """Return for each column of the partition key, in order, the index of its bind marker.

    :returns: None if the table is not known, or if a column of the key has no bind marker.
    """
    if not markers:
        return None
    keyspace = metadata.keyspaces.get(markers[0].keyspace_name)
    table = keyspace.tables.get(markers[0].table_name) if keyspace is not None else None
    if table is None:
        return None
    # If several markers have the name of a column, use the first one.
    positions: dict[str, int] = {}
    for position, marker in enumerate(markers):
        positions.setdefault(marker.name, position)
    key_positions = [positions.get(column.name, -1) for column in table.partition_key]
    # An incomplete key is of no use: all of its columns together determine the replicas.
    return key_positions if key_positions and -1 not in key_positions else None
