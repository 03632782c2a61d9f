# Events on which the application's threads wait for their answers. Included by happy_path.pyx.

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
cdef class Event:
    """Is set once, for all threads that wait at it (see the Python twin)."""

    cdef PyThread_type_lock _lock
    cdef int _is_set

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
        """Wait until it is set, at most `seconds`; return False if it is not."""
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
        # Each thread passes the lock on to the next thread.
        PyThread_release_lock(self._lock)
        return True

    def set(self):
        """Let all threads go on; a second call does nothing."""
        # Without the interpreter's lock: a thread that is woken takes that at once, or has to
        # sleep again.
        if not exchange(&self._is_set, 1):
            with nogil:
                PyThread_release_lock(self._lock)

    def set_soon(self):
        """Do the same, but keep the interpreter's lock for the next step of this thread."""
        if not exchange(&self._is_set, 1):
            PyThread_release_lock(self._lock)


@cython.final
cdef class WakeQueue:
    """The events to set at the end of the loop's current callback (see the Python twin)."""

    cdef int _is_gathering
    cdef list _events

    def __cinit__(self, *arguments, **named):
        self._events = []

    def __init__(self):
        pass

    @property
    def is_gathering(self):
        """True while events that were passed to `set` wait for `wake`."""
        return load(&self._is_gathering) != 0

    @is_gathering.setter
    def is_gathering(self, value):
        store(&self._is_gathering, 1 if value else 0)

    def set(self, event):
        """Set `event`, now or in `wake`."""
        cdef bint waits = False
        if type(event) is Event:
            # In another thread: the loop may be about to set the others. Either `_wake` finds the
            # event, or it has said before that it gathers no more.
            with cython.critical_section(self):
                if load(&self._is_gathering):
                    self._events.append(event)
                    waits = True
        if not waits:
            event.set()

    def wake(self):
        """Set all events, and those that follow at once."""
        self._wake()

    cdef int _wake(self) except -1:
        cdef PyThread_type_lock locks[C_SOME]
        cdef list events = self._events
        cdef list taken
        cdef Event event
        cdef Py_ssize_t count
        cdef Py_ssize_t i
        with cython.critical_section(self):
            store(&self._is_gathering, 0)
        while events:
            count = 0
            taken = []  # keeps the locks
            with cython.critical_section(self):
                while events and count < C_SOME:
                    event = <Event> events.pop(0)  # `set` lets no other class in
                    if not exchange(&event._is_set, 1):
                        taken.append(event)
                        locks[count] = event._lock
                        count += 1
            with nogil:
                for i in range(count):
                    PyThread_release_lock(locks[i])
        return 0
