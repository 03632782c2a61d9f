"""Binds values to prepared statements; the compiled version is `cassandra._accel.binding`.

Most requests begin here. For speed, `bind` creates the bound statement without calling
`BoundStatement.__init__`. That is safe, because the settings of the prepared statement have already
passed the checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra.query.bound import BoundStatement, name_statement, refuse_arguments

if TYPE_CHECKING:
    from typing import NoReturn

    from cassandra.query.prepared import PreparedStatement

__all__ = ["bind"]

_new = object.__new__


def bind(prepared: PreparedStatement, values: Any, *_extra: NoReturn) -> BoundStatement:
    """Return a `BoundStatement` of the prepared statement; see `BoundStatement.bind`.

    :param prepared: the prepared statement.
    :param values: a sequence by position, a mapping by column name, or an object by its attributes.
    :raises TypeError: if a value does not fit its column's type, or values are separate arguments.
    :raises ValueError: if there are too many values, a value is out of range, or an object has
        fields without a bind marker.
    """
    if _extra:
        refuse_arguments(prepared, (values, *_extra))
    bound = _new(BoundStatement)
    bound.prepared_statement = prepared
    bound.block = None
    bound._routing_key = None
    # The bound statement was created without __init__, so set every slot: reading an unset slot
    # would raise AttributeError.
    bound.take_settings(prepared)
    bound._serial_consistency_level = None
    if prepared.serial_consistency_level is not None:
        bound.serial_consistency_level = prepared.serial_consistency_level
    bound.keyspace = prepared.table_keyspace
    bound.table = prepared.table
    values_type = type(values)
    # This is the fast path for a row that has all columns of the partition key. Instances of
    # subclasses of tuple and list are left to `BoundStatement.bind`, because a subclass may
    # override ``__len__``.
    if (values_type is tuple or values_type is list) and len(values) >= prepared.needed_values:
        try:
            bound.block = prepared.bind_plan.bind(values, prepared.protocol_version)
        except (TypeError, ValueError) as error:
            name_statement(error, prepared.query_string)
            raise
        # If a value is unset, call `BoundStatement.bind`, which refuses UNSET_VALUE for a column of
        # the partition key.
        if not bound.block.has_unset:
            return bound
    return bound.bind(values)
