# The attributes of the classes in `bases`, as compiled code sees them (see bases.h and twins.rst).
#
# A field is read of objects whose class `reads_plainly` has approved of, once: the class may have a
# property of the same name, and objects of the Python twin's classes have no such fields.

from cpython.object cimport PyObject

cdef extern from "bases.h":
    void turbocql_put(PyObject**, object) noexcept

    ctypedef class cassandra._accel.bases.ColumnBase [object turbocql_ColumnBase]:
        cdef PyObject* cql_type
        cdef PyObject* is_reversed
        cdef PyObject* is_static
        cdef PyObject* mask
        cdef PyObject* name
        cdef PyObject* table

    ctypedef class cassandra._accel.bases.TableBase [object turbocql_TableBase]:
        cdef PyObject* _error
        cdef PyObject* _names
        cdef PyObject* _options
        cdef PyObject* _row
        cdef PyObject* _scylladb
        cdef PyObject* clustering_key
        cdef PyObject* columns
        cdef PyObject* keyspace_name
        cdef PyObject* name
        cdef PyObject* partition_key
        cdef PyObject* dropped_columns
        cdef PyObject* indexes
        cdef PyObject* is_compact_storage
        cdef PyObject* is_cql_compatible
        cdef PyObject* triggers
        cdef PyObject* views
        cdef PyObject* virtual


cdef inline object value_of(PyObject* field, object owner, str name):
    """`owner.name`, whose field this is."""
    if field != NULL:
        return <object> field  # borrowed until here: no code of Python's ran in between
    return getattr(owner, name)


cdef inline bint reads_plainly(type kind, type base) except -1:
    """Return True if objects of `kind` have the fields of `base`, and no attribute hides one."""
    if base not in kind.__mro__:
        return False
    for owner in base.__mro__:
        for name in owner.__dict__.get("__slots__", ()):
            for other in kind.__mro__:
                if name in other.__dict__:
                    if other is not owner:
                        return False
                    break
    return True
