# The interface of row plans for the other compiled modules.

# Returns `count` if the body can hold this many rows from `start` on; raises DecodeError if not.
cdef Py_ssize_t check_rows(
    bytes body, Py_ssize_t start, Py_ssize_t count, Py_ssize_t column_count
) except -1


cdef class EncodedRows:
    cdef readonly object body
    cdef readonly Py_ssize_t offset
    cdef readonly Py_ssize_t count
    # The rows, and the method that decoded them; None and the error if decoding failed.
    cdef object _rows
    cdef str _decoded_by


cdef EncodedRows encoded_rows(bytes body, Py_ssize_t offset, Py_ssize_t count)

# Returns rows as `row_plan.named_tuples` does, for a row plan of any class.
cdef list named_rows(object row_plan, bytes body, Py_ssize_t offset, Py_ssize_t count)
