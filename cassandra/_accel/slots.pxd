# Attributes that Python classes keep in slots, read directly (see objects.h).

from cpython.object cimport PyObject

cdef extern from "objects.h":
    Py_ssize_t turbocql_slot(object, const char*) noexcept
    PyObject* turbocql_slot_get(object, Py_ssize_t) noexcept


cdef inline Py_ssize_t slot_in(type kind, str name) except -2:
    """Return the offset of slot `name` in a `kind`; -1 if it is not a slot, or is overridden."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return turbocql_slot(base, name.encode())
    return -1


cdef inline object slot_value(object owner, Py_ssize_t place, str name):
    """`owner.name`; `place` is the result of `slot_in` for the class of `owner`."""
    cdef PyObject* value
    if place >= 0:
        value = turbocql_slot_get(owner, place)
        if value != NULL:
            return <object> value  # borrowed until here: no code of Python's ran in between
    return getattr(owner, name)
