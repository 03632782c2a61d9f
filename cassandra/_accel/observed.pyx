"""The progress of a request for its observers, compiled; `cassandra.observed` explains it.

`happy_path` calls the C methods; the Python methods are for other parts of the engine.
"""

from cassandra._accel.checks cimport unpicklable

from time import monotonic as _monotonic_function

__all__ = ["ObservedBase"]

cdef extern from "clocks.h":
    double turbocql_monotonic(object) except -1.0

cdef extern from "Python.h":
    object PyContext_CopyCurrent()

cdef object _monotonic_called = _monotonic_function


cdef inline double _now(hooks) except -1.0:
    clock = hooks.clock
    # The system's clock is read without calling it.
    return turbocql_monotonic(clock) if clock is _monotonic_called else <double> clock()


cdef class ObservedBase:
    """The part of a `cassandra.observers.ObservedRequest` that the engine updates.

    See the Python twin.
    """

    def __init__(self, request, hooks, Py_ssize_t page_number=1):
        self._request = request
        self._hooks = hooks
        self._context = PyContext_CopyCurrent()
        self.started = _now(hooks)
        self.page_number = page_number

    def __reduce__(self):
        raise unpicklable(self)

    cdef int _tell(self, double before, tuple hooks, tuple arguments) except -1:
        # `before` is the current time, which most callers know already. `arguments` are the
        # arguments after the request in each call; None if there are none.
        cdef double now
        run = self._context.run
        for hook in hooks:
            try:
                if arguments is None:
                    run(hook.call, self)
                else:
                    run(hook.call, self, *arguments)
            except BaseException as error:  # the request must go on, and come to its end
                hook.on_error(error)
            now = _now(self._hooks)
            if now - before > <double> hook.slow_after:
                hook.on_slow(now - before)
            before = now
        return 0

    cdef int begin(self) except -1:
        """Called when the request begins, in the caller's thread or on the loop."""
        cdef tuple hooks
        if not self._is_started:
            self._is_started = True
            hooks = self._hooks.start if self.page_number == 1 else self._hooks.page
            if hooks:
                self._tell(_now(self._hooks), hooks, None)
        return 0

    cdef int begin_directly(self) except -1:
        """Called when the request begins in the caller's thread, which is about to send it itself.
        """
        self.begin()
        self._is_direct = True
        return 0

    cdef int attempt(self, attempt) except -1:
        """Called before an attempt is sent."""
        return self._catch_up() if self._is_direct else self._report_attempt(attempt)

    cdef int _report_attempt(self, attempt) except -1:
        cdef tuple hooks
        self._reported += 1
        connection = attempt.connection
        features = connection.features if connection is not None else None
        if features is not None and features.sharding_info is not None:
            self.shard = features.shard_id
        if self._speculates:
            self._speculates = False
            self.speculations += 1
            self._tell(_now(self._hooks), self._hooks.speculation, (attempt,))
        hooks = self._hooks.attempt
        if hooks:
            self._tell(_now(self._hooks), hooks, (attempt,))
        return 0

    cdef int _catch_up(self) except -1:
        """Report the attempts that were not reported yet."""
        attempts = self._request.attempts
        while self._reported < len(attempts):
            self._report_attempt(attempts[self._reported])
        return 0

    cdef int finish(self) except -1:
        """Called when the request is over."""
        cdef double now
        cdef tuple hooks
        if not self._is_started:  # the request was cancelled before it began
            return 0
        if self._is_direct:
            self._catch_up()
        now = _now(self._hooks)
        self.latency = now - self.started
        hooks = self._hooks.end
        if hooks:
            self._tell(now, hooks, None)
        return 0

    # -- for callers in Python ---------------------------------------------------------------------

    def _start(self):
        """Called when the request begins, in the caller's thread or on the loop."""
        self.begin()

    def _start_directly(self):
        """Called when the request begins in the caller's thread, which is about to send it itself.
        """
        self.begin_directly()

    def _attempt(self, attempt):
        """Called before an attempt is sent."""
        self.attempt(attempt)

    def _answer(self, Py_ssize_t size):
        """Called when an answer has arrived, of `size` bytes without its header."""
        self.response_size = HEADER_SIZE + size

    def _speculation(self):
        """Called before a speculative attempt."""
        self._speculates = True

    def _retry(self, attempt, error, decision):
        """Called when the request is sent again."""
        if self._is_direct:
            self._catch_up()
        self._tell(_now(self._hooks), self._hooks.retry, (attempt, error, decision))

    def _end(self):
        """Called when the request is over."""
        self.finish()

    def _for_page(self, request):
        """Return the object that observes the request for the next page."""
        return type(self)(request, self._hooks, self.page_number + 1)
