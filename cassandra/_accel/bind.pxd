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
    cdef readonly Py_ssize_t count
    cdef readonly Py_ssize_t width
    cdef readonly bint has_unset
    cdef uint8_t* start
    cdef Py_ssize_t used                    # bytes of `start` with the rows, the size of each included
    cdef Py_ssize_t room
    cdef Py_ssize_t expected

    cdef ValuesBlock _values(self, Py_ssize_t pos, Py_ssize_t size)
    cdef int _append(self, const uint8_t* data, Py_ssize_t size) except -1
    cdef int _take(self, wbuf* out) except -1
