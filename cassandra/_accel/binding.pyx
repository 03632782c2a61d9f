# cython: language_level=3, boundscheck=True, nonecheck=True, wraparound=False
# cython: initializedcheck=False, cdivision=True, binding=True
"""The bound statement of a prepared one: the compiled twin of `cassandra.query.binding`.

Settings are copied from slot to slot. Changes of these classes after their import have no effect;
subclasses of `PreparedStatement` keep what they override.
"""

from cassandra._accel.bind cimport BindPlan, ValuesBlock
from cassandra._accel.slots cimport slot_in, slot_value


# Before the imports: those of `cassandra.query` want this function, also if this module is the very
# first one that a process imports.
def bind(prepared, values):
    """Return a `BoundStatement` of the prepared statement; see `BoundStatement.bind`.

    :param values: a sequence by position, a mapping by column name, or an object by its attributes.
    :raises TypeError: if a value does not fit its column's type.
    :raises ValueError: if there are too many values, unknown names, or a value out of range.
    """
    cdef object bound
    cdef int i
    cdef _Places places = _last
    if places is None or type(prepared) is not places.kind:
        places = _meet(type(prepared))
    serial = slot_value(prepared, places.serial, "serial_consistency_level")
    if _by_slots:
        bound = turbocql_new(_BoundStatement)
        turbocql_slot_set(bound, _PREPARED, prepared)
        turbocql_slot_set(bound, _ROUTING_KEY, None)
        turbocql_slot_set(bound, _SERIAL, None)
        for i in range(SETTINGS):
            turbocql_slot_set(bound, _TO[i], slot_value(prepared, places.settings[i], _from[i]))
    else:
        bound = _new(_BoundStatement)
        bound.prepared_statement = prepared
        bound._routing_key = bound._serial_consistency_level = None
        for i in range(SETTINGS):
            setattr(bound, _to[i], slot_value(prepared, places.settings[i], _from[i]))
    if serial is not None:
        bound.serial_consistency_level = serial
    if (type(values) is tuple or type(values) is list) and (
        len(values) >= slot_value(prepared, places.needed, "needed_values")
    ):
        try:
            block = _block_of(
                slot_value(prepared, places.bind_plan, "bind_plan"),
                values,
                slot_value(prepared, places.version, "protocol_version"),
            )
        except (TypeError, ValueError) as error:
            _name_statement(error, prepared.query_string)
            raise error  # with the traceback that it has now
        if _by_slots:
            turbocql_slot_set(bound, _BLOCK, block)
        else:
            bound.block = block
        # UNSET_VALUE for a column of the partition key is refused by the longer way.
        if not (<ValuesBlock?> block).has_unset:
            return bound
    bound.block = None
    return bound.bind(values)


from cassandra.query.bound import BoundStatement as _BoundStatementClass
from cassandra.query.bound import name_statement as _name_statement
from cassandra.query.settings import SETTINGS as _statement_settings

cdef extern from "objects.h":
    void turbocql_slot_set(object, Py_ssize_t, object) noexcept
    object turbocql_new(object)

cdef enum:
    SETTINGS = 8

cdef type _BoundStatement = _BoundStatementClass
cdef object _new = object.__new__
cdef tuple _from = (*_statement_settings, "table_keyspace", "table")
cdef tuple _to = (*_statement_settings, "keyspace", "table")
if len(_to) != SETTINGS:
    raise ImportError(
        f"binding.pyx has places for {SETTINGS} settings of a statement, which has {len(_to)}"
    )
cdef Py_ssize_t _TO[SETTINGS]
cdef Py_ssize_t _PREPARED = slot_in(_BoundStatement, "prepared_statement")
cdef Py_ssize_t _BLOCK = slot_in(_BoundStatement, "block")
cdef Py_ssize_t _ROUTING_KEY = slot_in(_BoundStatement, "_routing_key")
cdef Py_ssize_t _SERIAL = slot_in(_BoundStatement, "_serial_consistency_level")
cdef bint _by_slots = min(_PREPARED, _BLOCK, _ROUTING_KEY, _SERIAL) >= 0

# Where instances of one class keep their settings. One object, which never changes: a thread that
# takes another one's gets all of it, with the class that it is for, and never the places of one
# class for an object of another.
cdef class _Places:
    cdef type kind
    cdef Py_ssize_t settings[SETTINGS]
    cdef Py_ssize_t serial
    cdef Py_ssize_t needed
    cdef Py_ssize_t bind_plan
    cdef Py_ssize_t version


cdef _Places _last = None  # of the class that was seen last


cdef int _find_places() except -1:
    global _by_slots
    cdef int i
    for i in range(SETTINGS):
        _TO[i] = slot_in(_BoundStatement, _to[i])
        if _TO[i] < 0:
            _by_slots = False
    return 0


_find_places()


cdef _Places _meet(type kind):
    """Prepared statements of class `kind` come from here on."""
    global _last
    cdef int i
    cdef _Places made = _Places.__new__(_Places)
    for i in range(SETTINGS):
        made.settings[i] = slot_in(kind, _from[i])
    made.serial = slot_in(kind, "serial_consistency_level")
    made.needed = slot_in(kind, "needed_values")
    made.bind_plan = slot_in(kind, "bind_plan")
    made.version = slot_in(kind, "protocol_version")
    made.kind = kind
    _last = made
    return made


cdef inline ValuesBlock _block_of(object bind_plan, object values, object version):
    """The block of the values in a tuple or list."""
    if type(bind_plan) is BindPlan:
        held = values if type(values) is tuple else tuple(values)
        return (<BindPlan> bind_plan)._bind(<tuple> held, version)
    return bind_plan.bind(values, version)


__all__ = ["bind"]
