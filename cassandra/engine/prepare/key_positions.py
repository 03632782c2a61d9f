"""Finds the partition key among the bind markers of a statement, if PREPARED does not report it.

Version 3 of the protocol does not report it, so we look into the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.protocol.column_specs import ColumnMetadata

__all__ = ["key_positions"]


def key_positions(metadata: Metadata, markers: Sequence[ColumnMetadata] | None) -> list[int] | None:
    """Return the index of each partition key column among the bind markers, in key order.

    Returns None if the table is unknown, or a key column has no marker.
    """
    if not markers:
        return None
    keyspace = metadata.keyspaces.get(markers[0].keyspace_name)
    table = keyspace.tables.get(markers[0].table_name) if keyspace is not None else None
    if table is None:
        return None
    # Use the first marker of a name: a second marker belongs to a condition.
    positions: dict[str, int] = {}
    for position, marker in enumerate(markers):
        positions.setdefault(marker.name, position)
    key_positions = [positions.get(column.name, -1) for column in table.partition_key]
    return key_positions if key_positions and -1 not in key_positions else None
