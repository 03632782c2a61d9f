# The interface of row plans for the other compiled modules.

# `count`, once it is sure that the body can hold so many rows at `start`; else DecodeError.
cdef Py_ssize_t check_rows(
    bytes body, Py_ssize_t start, Py_ssize_t count, Py_ssize_t column_count
) except -1
