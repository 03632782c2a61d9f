"""Compares the bind markers of prepared statements with the schema.

A server may give the same CQL the same id although a table has got other types. So before a
statement is used after a change, its markers are compared with the columns that the schema has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._patterns import pattern
from cassandra.cqltypes.parse import strip_frozen
from cassandra.engine.prepare.rebind import user_types_of
from cassandra.protocol.marker_names import usual_name

if TYPE_CHECKING:
    from cassandra.cqltypes.udt import UserType
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.schema.elements import ColumnMetadata as SchemaColumn
    from cassandra.protocol.column_specs import ColumnMetadata

_VARCHAR = pattern(r"\bvarchar\b")
# What Cassandra calls the argument of a function. The names of lists, such as "in(a.b)", and of
# parts, such as "value(m)", have the same form, but without "arg".
_ARGUMENT = pattern(r"arg\d+\((.+)\..+\)")


def is_of_clause(marker: ColumnMetadata) -> bool:
    """Return True for a marker of LIMIT, TTL or TIMESTAMP, which servers call "[limit]" and so on.

    :param marker: the bind marker.
    """
    return marker.name.startswith("[")


def is_of_function(marker: ColumnMetadata) -> bool:
    """Return True for a marker that is an argument of a user-defined function.

    Cassandra calls it "arg0(ks.f)", with the keyspace of the function. The keyspace of the marker
    is that of the table.

    :param marker: the bind marker.
    """
    match = _ARGUMENT.fullmatch(marker.name)
    return match is not None and match[1] != "system"


def column_of(metadata: Metadata, marker: ColumnMetadata) -> SchemaColumn | None:
    """Return the column of the schema that a bind marker is named after; None if it is not known.

    The value of the marker need not be a value of that column: it may be an element, for example.
    """
    keyspace = metadata.keyspaces.get(marker.keyspace_name)
    if keyspace is None:
        return None
    table: Any = keyspace.tables.get(marker.table_name) or keyspace.views.get(marker.table_name)
    if table is None:
        return None
    columns: Mapping[str, SchemaColumn] = table.columns
    return columns.get(marker.name) or columns.get(usual_name(marker.name))


def has_types_of_schema(metadata: Metadata, markers: Sequence[ColumnMetadata]) -> bool:
    """Return True if the schema is known to have the type of each bind marker.

    Then values that do not fit the statement would not fit either if it was prepared again.

    :returns: False if a marker is not the value of a column, or if its table is not known.
    """
    for marker in markers:
        column = column_of(metadata, marker)
        if column is None or not is_same_type(column.cql_type, marker.type):
            return False
    return all(has_fields_of_schema(metadata, udt) for udt in user_types_of(markers))


def is_same_type(schema_type: str, marker_type: Any) -> bool:
    """Return True if the type of a column or field is that of a bind marker, by its name.

    Servers do not tell whether the type of a bind marker is frozen, and call the type text varchar
    there.

    :param schema_type: the type in CQL, from the schema.
    :param marker_type: the class of the bind marker's type, or of a field's type.
    """
    name: str = marker_type.cql_parameterized_type()
    return schema_type == name or _comparable(schema_type) == _comparable(name)


def _comparable(cql_type: str) -> str:
    return strip_frozen(_VARCHAR.sub("text", cql_type))


def has_fields_of_schema(metadata: Metadata, udt: type[UserType]) -> bool | None:
    """Return True if a user-defined type has the same fields in the schema, in the same order.

    :param udt: the type of a bind marker, or a part of it.
    :returns: None if the schema does not have the type.
    """
    keyspace = metadata.keyspaces.get(udt.keyspace)
    current = keyspace.user_types.get(udt.typename) if keyspace is not None else None
    if current is None:
        return None
    names = tuple(udt.fieldnames or ())
    return tuple(current.field_names) == names and all(
        map(is_same_type, current.field_types, udt.subtypes)
    )


def key_positions(metadata: Metadata, markers: Sequence[ColumnMetadata] | None) -> list[int] | None:
    """Return for each column of the partition key, in order, the index of its bind marker.

    Since protocol version 4, the server's response to PREPARE contains these indexes. For version
    3, we read the partition key from the schema.

    :returns: None if the table is not known, or if a column of the key has no bind marker.
    """
    if not markers:
        return None
    keyspace = metadata.keyspaces.get(markers[0].keyspace_name)
    table = keyspace.tables.get(markers[0].table_name) if keyspace is not None else None
    if table is None:
        return None
    # If several markers belong to the same column, use the first marker.
    positions: dict[str, int] = {}
    for position, marker in enumerate(markers):
        positions.setdefault(marker.name, position)
    key_positions = [positions.get(column.name, -1) for column in table.partition_key]
    # An incomplete key is of no use, because only all columns of the key together determine the
    # replicas.
    return key_positions if key_positions and -1 not in key_positions else None
