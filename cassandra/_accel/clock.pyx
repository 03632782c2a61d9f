"""A clock that never returns the same microsecond twice: the compiled twin of `cassandra.clock`."""

from libc.stdint cimport int64_t

from cassandra._accel.threads cimport share

from time import time_ns as _time_ns_function

from cassandra._impl import reduced as _reduced

__all__ = ["MicrosecondClock"]

cdef object _time_ns = _time_ns_function
share(_time_ns)  # each request calls this function

cdef extern from "Python.h":
    # Only free-threaded builds need a critical section. Otherwise, the GIL keeps other threads out.
    """
    #if PY_VERSION_HEX >= 0x030D0000
    #define BEGIN_CLOCK(o) Py_BEGIN_CRITICAL_SECTION(o)
    #define END_CLOCK() Py_END_CRITICAL_SECTION()
    #else
    #define BEGIN_CLOCK(o) {
    #define END_CLOCK() }
    #endif
    """
    void BEGIN_CLOCK(object o)
    void END_CLOCK()


cdef class MicrosecondClock:
    """Returns microseconds since 1970, each value greater than the last (see the Python twin).

    Threads may share a clock.
    """

    def __init__(self, tolerance, on_drift):
        self.tolerance = tolerance
        self.on_drift = on_drift
        self.time_ns = _time_ns

    def __reduce__(self):
        return _reduced(self, MicrosecondClock, "clock", self.tolerance, self.on_drift)

    def next(self):
        """Return the next value."""
        return self._next()

    cdef int64_t _next(self) except? -1:
        # Read the clock before the critical section: no Python code may run between reading and
        # writing `last`.
        cdef int64_t now = (<int64_t> self.time_ns()) // 1000
        cdef int64_t last, value
        BEGIN_CLOCK(self)
        last = self.last
        value = now if now > last else last + 1
        self.last = value
        END_CLOCK()
        if last - now > self.tolerance:
            self.on_drift(now, last)
        return value
