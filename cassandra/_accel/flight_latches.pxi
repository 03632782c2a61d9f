# What threads of the program wait at for their answers. Included by flight.pyx.

cdef extern from "Python.h":
    ctypedef void* PyThread_type_lock
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    int PyThread_acquire_lock(PyThread_type_lock lock, int wait) nogil
    int PyThread_acquire_lock_timed(
        PyThread_type_lock lock, long long microseconds, int can_be_interrupted
    ) nogil
    void PyThread_release_lock(PyThread_type_lock lock) nogil
    int PyErr_CheckSignals() except -1

cdef enum:
    C_INTERRUPTED = 2          # PY_LOCK_INTR
    C_LONGEST_WAIT = 3600      # seconds at a time
    C_SOME = 64


@cython.final
cdef class Latch:
    """Opens once, for all threads that wait at it (see the Python twin)."""

    cdef PyThread_type_lock _lock
    cdef bint _is_open

    def __cinit__(self, *arguments, **named):
        self._lock = PyThread_allocate_lock()
        if self._lock == NULL:
            raise MemoryError
        PyThread_acquire_lock(self._lock, 0)

    def __init__(self):
        pass

    def __dealloc__(self):
        if self._lock != NULL:
            PyThread_free_lock(self._lock)

    def wait(self, seconds=None):
        """Wait until it is open, at most `seconds`; return False if it is not."""
        cdef double end = 0
        cdef double left = C_LONGEST_WAIT
        cdef int got = PyThread_acquire_lock(self._lock, 0)
        if not got and seconds is not None:
            end = _monotonic() + <double> seconds
        while got != 1:
            if seconds is not None:
                left = end - _monotonic()
                if left <= 0:
                    return False
                if left > C_LONGEST_WAIT:
                    left = C_LONGEST_WAIT
            # The caller holds this object, which frees the lock at its end.
            with nogil:
                got = PyThread_acquire_lock_timed(self._lock, <long long> (left * 1e6) + 1, 1)
            if got == C_INTERRUPTED:
                PyErr_CheckSignals()
        # Each thread hands it on to the next one.
        PyThread_release_lock(self._lock)
        return True

    def open(self):
        """Let all threads go on; a second call does nothing."""
        # Without the interpreter's lock: a thread that is woken takes that at once, or has to
        # sleep again.
        if not self._is_open:
            self._is_open = True
            with nogil:
                PyThread_release_lock(self._lock)

    def open_soon(self):
        """Do the same, but keep the interpreter's lock for what this thread does next."""
        if not self._is_open:
            self._is_open = True
            PyThread_release_lock(self._lock)


@cython.final
cdef class Wakes:
    """The latches to open at the end of what the loop is doing (see the Python twin)."""

    cdef public bint is_gathering
    cdef list _latches

    def __cinit__(self, *arguments, **named):
        self._latches = []

    def __init__(self):
        pass

    def open(self, latch):
        """Open `latch`, now or in `wake`."""
        if not self.is_gathering or type(latch) is not Latch:
            latch.open()
            return
        self._latches.append(latch)
        # In another thread: the loop may just have opened the others.
        if not self.is_gathering:
            self._wake()

    def wake(self):
        """Open all latches, and those that follow at once."""
        self._wake()

    cdef int _wake(self) except -1:
        cdef PyThread_type_lock locks[C_SOME]
        cdef list latches = self._latches
        cdef list taken
        cdef Latch latch
        cdef Py_ssize_t count
        cdef Py_ssize_t i
        self.is_gathering = False
        while latches:
            count = 0
            taken = []  # keeps the locks
            while latches and count < C_SOME:
                latch = <Latch> latches.pop(0)  # `open` lets no other class in
                if not latch._is_open:
                    latch._is_open = True
                    taken.append(latch)
                    locks[count] = latch._lock
                    count += 1
            with nogil:
                for i in range(count):
                    PyThread_release_lock(locks[i])
        return 0
