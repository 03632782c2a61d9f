# Concurrent executions of many statements. Included by happy_path.pyx.

cdef extern from *:
    """
    /* Creates a named tuple (success, value[, place]) of the class `kind` without its constructor,
     * which is Python code. `kind` must be a subclass of tuple. `place` may be NULL. */
    static PyObject *turbocql_outcome(PyTypeObject *kind, PyObject *success, PyObject *value,
                                      PyObject *place) {
        PyObject *made = kind->tp_alloc(kind, place == NULL ? 2 : 3);
        if (made == NULL)
            return NULL;
        Py_INCREF(success);
        PyTuple_SET_ITEM(made, 0, success);
        Py_INCREF(value);
        PyTuple_SET_ITEM(made, 1, value);
        if (place != NULL) {
            Py_INCREF(place);
            PyTuple_SET_ITEM(made, 2, place);
        }
        return made;
    }
    """
    object turbocql_outcome(type, object, object, PyObject*)

cdef enum:
    C_MOST_UNDER_WAY = 1 << 24


@cython.final
cdef class Collector:
    """Creates the requests of many statements, and passes their outcomes to one reader (see the
    Python twin).

    If outcomes are returned in the order of the statements, `_places` is a ring buffer. A request
    is in its slot until its outcome replaces it, and a slot is reused after the reader got the
    outcome. Otherwise, `_requests` has the requests by position, and `_arrived` is the list of
    outcomes.

    The reader works in one thread, while outcomes may arrive in other threads. So shared fields are
    accessed in a critical section.
    """

    cdef HappyPath _path
    cdef type _outcome_class
    cdef readonly Py_ssize_t sent
    cdef readonly Py_ssize_t delivered
    cdef readonly Py_ssize_t under_way
    cdef Py_ssize_t _concurrency
    cdef public bint is_exhausted
    cdef public bint is_paused
    cdef readonly bint has_failed
    cdef public bint batches_wakeups
    cdef public bint is_awaited
    cdef public object notify_reader
    cdef readonly object off_path
    cdef list _places
    cdef list _arrived
    cdef dict _requests

    def __init__(self, concurrency, outcome_class, path=None, in_order=True):
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, but is {concurrency}")
        self._concurrency = min(concurrency, C_MOST_UNDER_WAY)
        if not issubclass(outcome_class, tuple):
            raise TypeError(f"{outcome_class!r} is not a class of named tuples")
        self._outcome_class = outcome_class
        share(outcome_class)  # the class belongs to a module
        self._path = <HappyPath?> path if path is not None else None
        if in_order:
            self._places = []
        else:
            self._arrived = []
            self._requests = {}

    cdef inline Py_ssize_t _slot(self, Py_ssize_t position) noexcept:
        return position % (2 * self._concurrency)

    @property
    def is_over(self):
        """True if the reader has all outcomes and there are no more statements."""
        with cython.critical_section(self):
            return self.is_exhausted and self.delivered == self.sent

    @property
    def is_ready(self):
        """True if the reader has something to do: take outcomes, or send further statements."""
        return self._is_ready()

    cdef bint _is_ready(self) except -1:
        with cython.critical_section(self):
            return self._has_enough()

    # The next three methods are called in a critical section.

    cdef bint _has_enough(self) except -1:
        if self.batches_wakeups and not self.has_failed:
            if self._wants_more() or self.under_way == 0:
                return True
            return self.sent - self.delivered >= 2 * self._concurrency and self._has_next()
        return self._has_next() or self._wants_more()

    cdef bint _has_next(self) except -1:
        if self._arrived is not None:
            return PyList_GET_SIZE(self._arrived) > 0
        return (
            self.delivered < self.sent
            and type(self._places[self._slot(self.delivered)]) is self._outcome_class
        )

    @property
    def wants_more(self):
        """True if the reader should send further statements.

        That is so when half of the allowed requests are done, so that many are sent at a time.
        """
        with cython.critical_section(self):
            return self._wants_more()

    cdef bint _wants_more(self) noexcept:
        return (
            not self.is_exhausted
            and not self.is_paused
            and self.under_way <= self._concurrency // 2
            and self.sent - self.delivered < 2 * self._concurrency
        )

    cdef bint _may_send(self) except -1:
        with cython.critical_section(self):
            return (
                not self.is_exhausted
                and self.under_way < self._concurrency
                and self.sent - self.delivered < 2 * self._concurrency
            )

    def requests(self, statements, burst, limit):
        """Append the requests of the next statements to `burst` (see the Python twin)."""
        cdef RequestBase request
        cdef list request_list = <list?> burst
        cdef Py_ssize_t left = min(limit, C_MOST_UNDER_WAY)
        self.off_path = None
        while left > 0 and self._may_send():
            left -= 1
            try:
                query, parameters = next(statements)
            except StopIteration:
                self.is_exhausted = True
                return
            request = self._next(query, parameters)
            if request is not None:
                request_list.append(request)
            elif self.off_path is not None:
                return

    cdef RequestBase _next(self, query, parameters):
        """Create the request of the next statement.

        Returns None if the request failed already. Also returns None if the fast path cannot be
        used; `off_path` is then (query, parameters), and the caller executes the statement.
        """
        cdef RequestBase request = None
        cdef Py_ssize_t position = self.sent
        with cython.critical_section(self):
            if self._places is not None and PyList_GET_SIZE(self._places) <= self._slot(position):
                self._places.append(None)  # positions are used in order, so this is the next
            # Count the statement before it is sent, because it may complete before the call
            # returns.
            self.sent = position + 1
            self.under_way += 1
        if self._path is not None:
            try:
                request = self._path._request(query, parameters, _over)
            except Exception as error:
                self._put(position, False, error)
                return None
        if request is None:
            self.off_path = (query, parameters)
            return None
        request._collector = self
        request._collected_at = position
        request._reads_rows = self._path.reads_rows_answers
        if self._places is not None:
            self._places[self._slot(position)] = request
        else:
            self._requests[position] = request
        return request

    cdef int _complete(self, RequestBase request) except -1:
        """Store the outcome of a completed request."""
        cdef Py_ssize_t position = request._collected_at
        if self._requests is not None:
            self._requests.pop(position, None)
        if request.error is not None:
            self._put(position, False, request.error)
            return 0
        try:
            result = self._path._result_of(request, request._row_factory)
        except BaseException as error:  # without an outcome, the reader would wait forever
            self._put(position, False, error)
        else:
            self._put(position, True, result)
        return 0

    def put(self, position, success, value):
        """Store the outcome of the statement at `position`; may be called from any thread."""
        cdef Py_ssize_t number = position
        cdef Py_ssize_t sent
        with cython.critical_section(self):
            sent = self.sent
        if not 0 <= number < sent:
            raise ValueError(f"no statement at {position}: {sent} were taken")
        self._put(number, success, value)

    cdef int _put(self, Py_ssize_t position, bint success, value) except -1:
        cdef object number
        cdef bint tells = False
        # No code in this section lets another thread run, except the deallocation at its end.
        with cython.critical_section(self):
            if self._arrived is not None:
                number = position
                self._arrived.append(
                    turbocql_outcome(self._outcome_class, success, value, <PyObject*> number)
                )
            else:
                self._places[self._slot(position)] = turbocql_outcome(
                    self._outcome_class, success, value, NULL
                )
            if not success:
                self.has_failed = True
            self.under_way -= 1
            if self.is_awaited and self._has_enough():
                self.is_awaited = False
                tells = True
        if tells and self.notify_reader is not None:
            self.notify_reader()
        return 0

    def take(self):
        """Return the outcomes that the reader did not get yet; [] if there are none.

        If outcomes are ordered, it stops at the first statement that has no outcome yet.
        """
        cdef list outcomes = []
        cdef Py_ssize_t slot
        with cython.critical_section(self):
            if self._arrived is not None:
                outcomes, self._arrived = self._arrived, outcomes
                self.delivered += PyList_GET_SIZE(outcomes)
                return outcomes
            while self.delivered < self.sent:
                slot = self._slot(self.delivered)
                outcome = self._places[slot]
                if type(outcome) is not self._outcome_class:
                    break
                self._places[slot] = None
                self.delivered += 1
                outcomes.append(outcome)
        return outcomes

    def pending(self):
        """Return the requests that have no outcome yet."""
        if self._requests is not None:
            return list(self._requests.values())
        return [each for each in self._places if isinstance(each, RequestBase)]
