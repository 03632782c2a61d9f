# What the other compiled modules see of row plans.

# `row_count` as a number, once it is sure that the body can hold so many rows at `offset`; else DecodeError.
cdef Py_ssize_t check_rows(bytes body, object offset, object row_count, Py_ssize_t column_count) except -1
