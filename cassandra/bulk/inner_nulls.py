"""Finds the nulls inside collections for which servers refuse a row.

Dry runs need this, because they send nothing to a server.

A field of a tuple or a user-defined type may be null, and so may an element of a frozen list.
Cassandra 5.0 refuses a null in a list that is not frozen, and in any set or map, even if that
collection is inside another value. Loads that are not dry runs leave this check to the server, and
add a note with the null's position to the server's error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra.cqltypes.containers import ListType
from cassandra.engine.null_positions import CONTAINERS, WRAPPERS, first_null

if TYPE_CHECKING:
    from cassandra.query.prepared import PreparedStatement


class CollectionColumn(NamedTuple):
    """A bound column whose values may contain nulls.

    :param position: the position of the column's bind marker.
    :param name: the column's name.
    :param type: the column's CQL type, as the server returned it.
    :param takes_null_elements: True if the elements of the value may be null.
    """

    position: int
    name: str
    type: Any
    takes_null_elements: bool


def collection_columns(
    prepared: PreparedStatement, cql_types: Mapping[str, str] | None
) -> list[CollectionColumn]:
    """Return the columns of a statement whose types contain other types.

    :param prepared: the statement.
    :param cql_types: the CQL types of the table's columns, which say which lists are frozen; None
        if they are unknown. Then all lists count as frozen.
    """
    columns: list[CollectionColumn] = []
    for position, column in enumerate(prepared.column_metadata):
        cql_type = column.type
        # Find the type inside of wrappers, such as frozen<...>.
        while issubclass(cql_type, WRAPPERS):
            cql_type = cql_type.subtypes[0]
        if not issubclass(cql_type, CONTAINERS):
            continue
        takes_null_elements = issubclass(cql_type, ListType) and (
            cql_types is None or cql_types.get(column.name, "").startswith("frozen<")
        )
        columns.append(CollectionColumn(position, column.name, cql_type, takes_null_elements))
    return columns


def inner_null(
    columns: Sequence[CollectionColumn], data: bytes, spans: Sequence[tuple[int, int]]
) -> ValueError | None:
    """Return the error for the first null in a row that servers refuse; None if there is none.

    :param columns: see `collection_columns`.
    :param data: the bound values of the row.
    :param spans: (offset of the length, size) of each value; a null has a negative size.
    """
    for column in columns:
        offset, size = spans[column.position]
        if size <= 0:
            continue
        start = offset + 4  # skip the length of the value
        position = first_null(column.type, data[start : start + size])
        if position is None or (
            column.takes_null_elements and re.fullmatch(r"element \d+", position)
        ):
            continue
        return ValueError(
            f"column {column.name!r} has a null inside the collection, at {position}: servers "
            "refuse it; leave it out, or write null for the whole value"
        )
    return None
