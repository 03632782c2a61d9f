"""Create bound statements: the compiled twin of `cassandra.query.binding`.

Settings are copied from field to field. Changes to these classes after their import have no effect;
subclasses of `PreparedStatement` keep the methods that they override.
"""

from cpython.object cimport PyObject

from cassandra._accel.bind cimport BindPlan, ValuesBlock
from cassandra._accel.fields cimport (
    BoundBase, Kind, PreparedBase, has_fields, reads_plainly, turbocql_put, value_of
)


# This comes before the imports, because modules of `cassandra.query` import this function, even if
# this module is the first that a process imports.
def bind(prepared, values, *_extra):
    """Return a `BoundStatement` of the prepared statement; see `BoundStatement.bind`.

    :param values: a sequence by position, a mapping by column name, or an object by its attributes.
    :raises TypeError: if a value does not fit its column's type, or values are separate arguments.
    :raises ValueError: if there are too many values, unknown names, or a value out of range.
    """
    if _extra:
        _refuse_arguments(prepared, (values, *_extra))
    # True if the fields of both statements can be used directly.
    cdef bint is_plain = _bound_has_fields and has_fields(_kind, prepared)
    if is_plain:
        bound = _new_bound(<PreparedBase> prepared)
        serial = value_of(
            &(<PreparedBase> prepared).serial_consistency_level, prepared,
            "serial_consistency_level",
        )
    else:
        bound = _new_bound_by_name(prepared)
        serial = prepared.serial_consistency_level
    if serial is not None:
        bound.serial_consistency_level = serial
    if (type(values) is tuple or type(values) is list) and (
        len(values) >= _needed_values(prepared, is_plain)
    ):
        try:
            block = _block_of(prepared, is_plain, values)
        except (TypeError, ValueError) as error:
            _name_statement(error, prepared.query_string)
            raise error  # with the traceback that it has now
        if is_plain:
            turbocql_put(&(<BoundBase> bound).block, block)
        else:
            bound.block = block
        # If a value is not set, use `BoundStatement.bind` below, which checks the partition key.
        if not (<ValuesBlock?> block).has_unset:
            return bound
    bound.block = None
    return bound.bind(values)


cdef object _new_bound(PreparedBase prepared):
    """Return a new bound statement without its block."""
    cdef object statement = turbocql_new(_BoundStatement)
    cdef BoundBase bound = <BoundBase> statement
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
    return statement


cdef object _new_bound_by_name(prepared):
    """Do the same as `_new_bound` by attribute names, for classes whose fields cannot be used."""
    bound = _new(_BoundStatement)
    bound.prepared_statement = prepared
    bound._routing_key = bound._serial_consistency_level = None
    bound.take_settings(prepared)
    bound.keyspace = prepared.table_keyspace
    bound.table = prepared.table
    return bound


cdef inline object _needed_values(prepared, bint is_plain):
    if not is_plain:
        return prepared.needed_values
    return value_of(&(<PreparedBase> prepared).needed_values, prepared, "needed_values")


cdef inline int _copy(PyObject** to, PyObject** field, prepared, str name) except -1:
    turbocql_put(to, value_of(field, prepared, name))
    return 0


from cassandra.query.bound import BoundStatement as _BoundStatementClass
from cassandra.query.bound import name_statement as _name_statement
from cassandra.query.bound import refuse_arguments as _refuse_arguments

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


cdef inline object _block_of(prepared, bint is_plain, values):
    """Return the block of the values in a tuple or list."""
    if is_plain:
        bind_plan = value_of(&(<PreparedBase> prepared).bind_plan, prepared, "bind_plan")
        version = value_of(
            &(<PreparedBase> prepared).protocol_version, prepared, "protocol_version"
        )
    else:
        bind_plan, version = prepared.bind_plan, prepared.protocol_version
    if type(bind_plan) is BindPlan:
        held = values if type(values) is tuple else tuple(values)
        return (<BindPlan> bind_plan)._bind(<tuple> held, version)
    return bind_plan.bind(values, version)


__all__ = ["bind"]
