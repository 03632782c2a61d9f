"""The partition key among the bind markers of a statement, if PREPARED does not tell it.

Version 3 of the protocol does not; the schema does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.protocol.column_specs import ColumnMetadata

__all__ = ["key_places"]


def key_places(metadata: Metadata, markers: Sequence[ColumnMetadata] | None) -> list[int] | None:
    """Return the place of each partition key column among the bind markers, in the key's order.

    Returns None if the table is not known, or a column of its key has no marker of its own.
    """
    if not markers:
        return None
    keyspace = metadata.keyspaces.get(markers[0].keyspace_name)
    table = keyspace.tables.get(markers[0].table_name) if keyspace is not None else None
    if table is None:
        return None
    # The first marker of a name: a second one stands in a condition.
    places: dict[str, int] = {}
    for place, marker in enumerate(markers):
        places.setdefault(marker.name, place)
    found = [places.get(column.name, -1) for column in table.partition_key]
    return found if found and -1 not in found else None
