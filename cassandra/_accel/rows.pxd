# The interface of row plans for the other compiled modules.

# Returns `count` if the body can hold so many rows from `start` on; raises DecodeError if not.
cdef Py_ssize_t check_rows(
    bytes body, Py_ssize_t start, Py_ssize_t count, Py_ssize_t column_count
) except -1
