# The clock of client-side timestamps, for compiled callers.

from libc.stdint cimport int64_t


cdef class MicrosecondClock:
    cdef public int64_t last
    cdef public int64_t tolerance
    cdef public object on_drift
    cdef public object time_ns

    cdef int64_t _next(self) except? -1
