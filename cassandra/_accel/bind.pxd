# Bound values, as the bodies take them.

cdef class ValuesBlock:
    cdef readonly Py_ssize_t count
    cdef readonly bytes data
    cdef readonly bint has_unset

    cdef Py_ssize_t _next(self, Py_ssize_t pos, Py_ssize_t* size) except -1
    cdef Py_ssize_t _find(self, Py_ssize_t index, Py_ssize_t* size) except -1
