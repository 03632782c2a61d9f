# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, binding=True
"""The bound statement of a prepared one, compiled; `cassandra.query.binding` is its reference and explains it.

Settings go from slot to slot where they stand. Whoever changes these classes after they were imported is not heard; subclasses of
`PreparedStatement` are, with what they override.
"""

from cassandra._accel.slots cimport slot_in, slot_value

from cassandra.query.bound import BoundStatement as _BoundStatementClass
from cassandra.query.bound import name_statement as _name_statement

cdef extern from "objects.h":
    void turbocql_slot_set(object, Py_ssize_t, object) noexcept
    object turbocql_new(object)

cdef enum:
    SETTINGS = 8

cdef type _BoundStatement = _BoundStatementClass
cdef object _new = object.__new__
cdef tuple _from = (
    "retry_policy", "consistency_level", "fetch_size", "table_keyspace", "custom_payload", "is_idempotent", "table", "vector_type",
)
cdef tuple _to = (
    "retry_policy", "consistency_level", "fetch_size", "keyspace", "custom_payload", "is_idempotent", "table", "vector_type",
)
cdef Py_ssize_t _TO[SETTINGS]
cdef Py_ssize_t _PREPARED = slot_in(_BoundStatement, "prepared_statement")
cdef Py_ssize_t _BLOCK = slot_in(_BoundStatement, "block")
cdef Py_ssize_t _ROUTING_KEY = slot_in(_BoundStatement, "_routing_key")
cdef Py_ssize_t _SERIAL = slot_in(_BoundStatement, "_serial_consistency_level")
cdef bint _by_slots = min(_PREPARED, _BLOCK, _ROUTING_KEY, _SERIAL) >= 0

# Where prepared statements of the class that was seen last keep theirs. A thread that reads this while another one writes it is
# right all the same: subclasses keep a slot where their base does, or have none of that name, and are asked for it then.
cdef type _kind = object
cdef Py_ssize_t _FROM[SETTINGS]
cdef Py_ssize_t _PREPARED_SERIAL = -1
cdef Py_ssize_t _NEEDED = -1
cdef Py_ssize_t _PLAN = -1
cdef Py_ssize_t _VERSION = -1


cdef int _find_places() except -1:
    global _by_slots
    cdef int i
    for i in range(SETTINGS):
        _TO[i] = slot_in(_BoundStatement, _to[i])
        if _TO[i] < 0:
            _by_slots = False
    return 0


_find_places()


cdef int _meet(type kind) except -1:
    """Prepared statements of class `kind` come from here on."""
    global _kind, _PREPARED_SERIAL, _NEEDED, _PLAN, _VERSION
    cdef int i
    for i in range(SETTINGS):
        _FROM[i] = slot_in(kind, _from[i])
    _PREPARED_SERIAL = slot_in(kind, "serial_consistency_level")
    _NEEDED = slot_in(kind, "needed_values")
    _PLAN = slot_in(kind, "plan")
    _VERSION = slot_in(kind, "protocol_version")
    _kind = kind
    return 0


def bind(prepared, values):
    """A `BoundStatement` with these values: by position, or by column name (see `BoundStatement.bind`)."""
    cdef object bound
    cdef int i
    if type(prepared) is not _kind:
        _meet(type(prepared))
    serial = slot_value(prepared, _PREPARED_SERIAL, "serial_consistency_level")
    if _by_slots:
        bound = turbocql_new(_BoundStatement)
        turbocql_slot_set(bound, _PREPARED, prepared)
        turbocql_slot_set(bound, _ROUTING_KEY, None)
        turbocql_slot_set(bound, _SERIAL, None)
        for i in range(SETTINGS):
            turbocql_slot_set(bound, _TO[i], slot_value(prepared, _FROM[i], _from[i]))
    else:
        bound = _new(_BoundStatement)
        bound.prepared_statement = prepared
        bound._routing_key = bound._serial_consistency_level = None
        for i in range(SETTINGS):
            setattr(bound, _to[i], slot_value(prepared, _FROM[i], _from[i]))
    if serial is not None:
        bound.serial_consistency_level = serial
    if (type(values) is tuple or type(values) is list) and len(values) >= slot_value(prepared, _NEEDED, "needed_values"):
        try:
            block = slot_value(prepared, _PLAN, "plan").bind(values, slot_value(prepared, _VERSION, "protocol_version"))
        except (TypeError, ValueError) as error:
            _name_statement(error, prepared.query_string)
            raise
        if _by_slots:
            turbocql_slot_set(bound, _BLOCK, block)
        else:
            bound.block = block
        return bound
    bound.block = None
    return bound.bind(values)


__all__ = ["bind"]
