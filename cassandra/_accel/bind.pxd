# Bound values, in the form in which bodies contain them.

from libc.stdint cimport uint8_t

from cassandra._accel.wbuf cimport wbuf

cdef class ValuesBlock:
    cdef readonly Py_ssize_t count
    cdef readonly bytes data
    cdef readonly bint has_unset

    cdef Py_ssize_t _next(self, Py_ssize_t pos, Py_ssize_t* size) except -1
    cdef Py_ssize_t _find(self, Py_ssize_t index, Py_ssize_t* size) except -1


cdef class RowsBlock:
    cdef Py_ssize_t _count                  # other threads read it while rows are appended
    cdef readonly Py_ssize_t width
    cdef readonly bint has_unset
    cdef uint8_t* start
    cdef Py_ssize_t used                    # bytes in use: the rows, each with its size before it
    cdef Py_ssize_t room                    # bytes allocated
    cdef Py_ssize_t expected                # rows expected in total, from `reserve`
    cdef Py_ssize_t* row_starts             # where each row begins; NULL until it is first needed
    cdef Py_ssize_t start_count             # the number of rows in `row_starts`

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
    cdef tuple _usual_names  # see the Python twin; None if they are the same
    cdef bint _native
    cdef bint _repeats       # True if several markers have the same name
    cdef Py_ssize_t _needed  # values that a row must have for its partition key

    cdef ValuesBlock _bind(self, tuple values, int version)
    cdef int _add_all(self, wbuf* out, tuple values, int version) except -1
    cdef int _check_absent(self, dict values, Py_ssize_t index, int version) except -1
    cdef int _add_dict(self, wbuf* out, dict values, int version) except -1
    cdef int _add_row(self, wbuf* out, object row, int version) except -1
    cdef int _add(self, wbuf* out, Py_ssize_t index, object value) except -1
    cdef object _miscount(self, Py_ssize_t value_count)
