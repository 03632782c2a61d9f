# Bound values, as the bodies take them.

from libc.stdint cimport uint8_t

from cassandra._accel.wbuf cimport wbuf

cdef class ValuesBlock:
    cdef readonly Py_ssize_t count
    cdef readonly bytes data
    cdef readonly bint has_unset

    cdef Py_ssize_t _next(self, Py_ssize_t pos, Py_ssize_t* size) except -1
    cdef Py_ssize_t _find(self, Py_ssize_t index, Py_ssize_t* size) except -1


cdef class RowsBlock:
    cdef Py_ssize_t _count                  # other threads look at it while rows are appended
    cdef readonly Py_ssize_t width
    cdef readonly bint has_unset
    cdef uint8_t* start
    cdef Py_ssize_t used                    # bytes of `start`: the rows, with the size of each
    cdef Py_ssize_t room
    cdef Py_ssize_t expected
    cdef Py_ssize_t* row_starts             # where rows begin, created at the first use
    cdef Py_ssize_t start_count             # how many of them are known

    cdef ValuesBlock _values(self, Py_ssize_t pos, Py_ssize_t size)
    cdef int _append(self, const uint8_t* data, Py_ssize_t size) except -1
    cdef int _take(self, wbuf* out) except -1
    cdef int _find_row_starts(self) except -1


cdef class BindPlan:
    cdef readonly tuple columns
    cdef readonly object routing_key_indexes
    cdef readonly bint strict
    cdef tuple _codecs
    cdef Py_ssize_t _count
    cdef tuple _names
    cdef bint _native
    cdef bint _repeats       # whether several markers have the same name
    cdef Py_ssize_t _needed  # values that a row must have for its partition key

    cdef ValuesBlock _bind(self, tuple values, int version)
    cdef int _add_all(self, wbuf* out, tuple values, int version) except -1
    cdef int _add_dict(self, wbuf* out, dict values, int version) except -1
    cdef int _add_row(self, wbuf* out, object row, int version) except -1
    cdef int _add(self, wbuf* out, Py_ssize_t index, object value) except -1
    cdef object _miscount(self, Py_ssize_t value_count)
