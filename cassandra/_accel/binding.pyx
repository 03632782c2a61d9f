"""The bound statement of a prepared one: the compiled twin of `cassandra.query.binding`.

Settings are copied from field to field. Changes of these classes after their import have no effect;
subclasses of `PreparedStatement` keep what they override.
"""

from cpython.object cimport PyObject

from cassandra._accel.bind cimport BindPlan, ValuesBlock
from cassandra._accel.fields cimport (
    BoundBase, Kind, PreparedBase, has_fields, reads_plainly, turbocql_put, value_of
)


# Before the imports: those of `cassandra.query` want this function, also if this module is the very
# first one that a process imports.
def bind(prepared, values):
    """Return a `BoundStatement` of the prepared statement; see `BoundStatement.bind`.

    :param values: a sequence by position, a mapping by column name, or an object by its attributes.
    :raises TypeError: if a value does not fit its column's type.
    :raises ValueError: if there are too many values, unknown names, or a value out of range.
    """
    cdef PreparedBase own = None  # if the fields of both statements may be used
    if _bound_has_fields and has_fields(_kind, prepared):
        own = <PreparedBase> prepared
        bound = _made_of(own)
        serial = value_of(&own.serial_consistency_level, prepared, "serial_consistency_level")
    else:
        bound = _made_slowly(prepared)
        serial = prepared.serial_consistency_level
    if serial is not None:
        bound.serial_consistency_level = serial
    if (type(values) is tuple or type(values) is list) and (
        len(values) >= _needed_values(prepared, own)
    ):
        try:
            block = _block_of(prepared, own, values)
        except (TypeError, ValueError) as error:
            _name_statement(error, prepared.query_string)
            raise error  # with the traceback that it has now
        if own is not None:
            turbocql_put(&(<BoundBase> bound).block, block)
        else:
            bound.block = block
        # UNSET_VALUE for a column of the partition key is refused by the longer way.
        if not (<ValuesBlock?> block).has_unset:
            return bound
    bound.block = None
    return bound.bind(values)


cdef object _made_of(PreparedBase prepared):
    """A new bound statement with all but its block."""
    cdef object made = turbocql_new(_BoundStatement)
    cdef BoundBase bound = <BoundBase> made
    turbocql_put(&bound.prepared_statement, prepared)
    turbocql_put(&bound._routing_key, None)
    turbocql_put(&bound._serial_consistency_level, None)
    _copy(&bound.consistency_level, &prepared.consistency_level, prepared, "consistency_level")
    _copy(&bound.custom_payload, &prepared.custom_payload, prepared, "custom_payload")
    _copy(&bound.fetch_size, &prepared.fetch_size, prepared, "fetch_size")
    _copy(&bound.is_idempotent, &prepared.is_idempotent, prepared, "is_idempotent")
    _copy(&bound.retry_policy, &prepared.retry_policy, prepared, "retry_policy")
    _copy(&bound.vector_type, &prepared.vector_type, prepared, "vector_type")
    _copy(&bound.keyspace, &prepared.table_keyspace, prepared, "table_keyspace")
    _copy(&bound.table, &prepared.table, prepared, "table")
    return made


cdef object _made_slowly(prepared):
    """The same of a class that has properties in the place of settings, say."""
    made = _new(_BoundStatement)
    made.prepared_statement = prepared
    made._routing_key = made._serial_consistency_level = None
    made.take_settings(prepared)
    made.keyspace = prepared.table_keyspace
    made.table = prepared.table
    return made


cdef inline object _needed_values(prepared, PreparedBase own):
    if own is None:
        return prepared.needed_values
    return value_of(&own.needed_values, prepared, "needed_values")


cdef inline int _copy(PyObject** to, PyObject** field, prepared, str name) except -1:
    turbocql_put(to, value_of(field, prepared, name))
    return 0


from cassandra.query.bound import BoundStatement as _BoundStatementClass
from cassandra.query.bound import name_statement as _name_statement
from cassandra.query.settings import SETTINGS as _statement_settings

cdef extern from "objects.h":
    object turbocql_new(object)

cdef type _BoundStatement = _BoundStatementClass
cdef object _new = object.__new__
if len(_statement_settings) != 6:
    raise ImportError(
        f"binding.pyx copies 6 settings of a statement, which has {len(_statement_settings)}"
    )
cdef bint _bound_has_fields = reads_plainly(_BoundStatement, BoundBase)
cdef Kind _kind = Kind(PreparedBase)


cdef inline object _block_of(prepared, PreparedBase own, values):
    """The block of the values in a tuple or list."""
    if own is None:
        bind_plan, version = prepared.bind_plan, prepared.protocol_version
    else:
        bind_plan = value_of(&own.bind_plan, prepared, "bind_plan")
        version = value_of(&own.protocol_version, prepared, "protocol_version")
    if type(bind_plan) is BindPlan:
        held = values if type(values) is tuple else tuple(values)
        return (<BindPlan> bind_plan)._bind(<tuple> held, version)
    return bind_plan.bind(values, version)


__all__ = ["bind"]
