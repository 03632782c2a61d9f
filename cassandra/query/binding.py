"""The bound statement of a prepared one, in Python: the reference of `cassandra._accel.binding`.

Most requests begin here: the statement is made without the call of its class, whose checks the
prepared statement's settings have passed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra.query.bound import BoundStatement, name_statement

if TYPE_CHECKING:
    from cassandra.query.prepared import PreparedStatement

__all__ = ["bind"]

_new = object.__new__


def bind(prepared: PreparedStatement, values: Any) -> BoundStatement:
    """A `BoundStatement` with these values: by position, or by column name (see
    `BoundStatement.bind`).
    """
    bound = _new(BoundStatement)
    bound.prepared_statement = prepared
    bound.block = None
    bound._routing_key = None
    bound.take_settings(prepared)
    bound._serial_consistency_level = None
    if prepared.serial_consistency_level is not None:
        bound.serial_consistency_level = prepared.serial_consistency_level
    bound.keyspace = prepared.table_keyspace
    bound.table = prepared.table
    kind = type(values)
    if (kind is tuple or kind is list) and len(values) >= prepared.needed_values:
        try:
            bound.block = prepared.plan.bind(values, prepared.protocol_version)
        except (TypeError, ValueError) as error:
            name_statement(error, prepared.query_string)
            raise
        return bound
    return bound.bind(values)
