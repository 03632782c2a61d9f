# Events with which threads of the application wait for responses. Included by happy_path.pyx.

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
    C_SOME = 64                # events that `WakeQueue` sets at a time


@cython.final
cdef class Event:
    """An event that can be set once, and then stays set (see the Python twin)."""

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
        """Wait until the event is set, at most `seconds`. Returns False after a timeout, and if a
        signal handler has forked this process: nobody sets the event in the child.
        """
        cdef int forks = _forks
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
            # The caller holds a reference to this object, so the lock is not freed during the wait.
            with nogil:
                got = PyThread_acquire_lock_timed(self._lock, <long long> (left * 1e6) + 1, 1)
            if got == C_INTERRUPTED:
                PyErr_CheckSignals()
                if forks != _forks:
                    return False
        # Release the lock at once, so that the next waiting thread gets it.
        PyThread_release_lock(self._lock)
        return True

    def set(self):
        """Set the event, so that all waiting threads continue. A second call does nothing."""
        # Release the GIL first: a thread that wakes up needs the GIL, and would have to sleep
        # again.
        if not exchange(&self._is_set, 1):
            with nogil:
                PyThread_release_lock(self._lock)

    def set_soon(self):
        """Set the event without releasing the GIL, since this thread has more to do."""
        if not exchange(&self._is_set, 1):
            PyThread_release_lock(self._lock)


@cython.final
cdef class WakeQueue:
    """Collects events, and sets them at the end of the loop's current callback.

    See the Python twin.
    """

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
        """Set `event`, either now or, while events are collected, in `wake`."""
        cdef bint waits = False
        if type(event) is Event:
            # The loop's thread may be in `_wake` at this moment. In the critical section, either we
            # append in time, and `_wake` finds the event, or we see that `_wake` collects no more
            # events.
            with cython.critical_section(self):
                if load(&self._is_gathering):
                    self._events.append(event)
                    waits = True
        if not waits:
            event.set()

    def wake(self):
        """Set all collected events. Events that come later are set at once."""
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
            taken = []  # keeps the events alive, which own the locks
            with cython.critical_section(self):
                while events and count < C_SOME:
                    event = <Event> events.pop(0)  # `set` appends only objects of this class
                    if not exchange(&event._is_set, 1):
                        taken.append(event)
                        locks[count] = event._lock
                        count += 1
            with nogil:
                for i in range(count):
                    PyThread_release_lock(locks[i])
        return 0
