# The interface of a request's observation for the other compiled modules.

cdef enum:
    HEADER_SIZE = 9  # bytes of a frame's header: native_protocol_v5.spec, section 2


cdef class ObservedBase:
    cdef public object _request
    cdef public object _hooks
    cdef public object _context
    cdef public bint _is_started
    cdef public bint _is_direct
    cdef public bint _speculates
    cdef public Py_ssize_t _reported             # attempts that were reported to the observers
    cdef public double started
    cdef public object latency
    cdef public Py_ssize_t page_number
    cdef public Py_ssize_t response_size
    cdef public Py_ssize_t speculations
    cdef public object shard
    cdef object __weakref__

    cdef int _tell(self, double before, tuple hooks, tuple arguments) except -1
    cdef int begin(self) except -1
    cdef int begin_directly(self) except -1
    cdef int attempt(self, attempt) except -1
    cdef int _report_attempt(self, attempt) except -1
    cdef int _catch_up(self) except -1
    cdef int finish(self) except -1
