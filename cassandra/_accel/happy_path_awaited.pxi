# The awaitable of a request (ResultFuture), and HappyPath, which creates it. Included by
# happy_path.pyx.

cdef extern from "beyond_api.h":
    ctypedef enum PySendResult:
        PYGEN_RETURN
        PYGEN_ERROR
        PYGEN_NEXT
    bint turbocql_is_wakeup(object, object) noexcept
    PyObject* turbocql_loop_record() noexcept
    void turbocql_set_send(object, PySendResult (*)(PyObject*, PyObject*, PyObject**) noexcept)

cdef enum:  # ResultFuture._status
    PENDING
    CANCELLED
    FINISHED
    FAILED

cdef tuple _STATES = ("PENDING", "CANCELLED", "FINISHED", "FINISHED")


@cython.final
@cython.freelist(256)
cdef class _Waiting:
    """The iterator of `await` on a `ResultFuture`, like the iterator of asyncio's own futures."""

    cdef ResultFuture _future

    def __iter__(self):
        return self

    def __await__(self):
        return self

    def __next__(self):
        cdef ResultFuture future = self._future
        if future is not None:
            if future._must_wait():
                return future
            self._future = None
            raise StopIteration(future._value())
        raise StopIteration

    def send(self, value):
        """Continue; `value` is ignored."""
        return self.__next__()

    def throw(self, kind, value=None, traceback=None):
        """Raise an error in the waiting coroutine."""
        self._future = None
        if isinstance(kind, BaseException):
            raise kind
        raise kind if value is None else value

    def close(self):
        """Forget the future."""
        self._future = None


cdef PySendResult _send_waiting(PyObject* waiting, PyObject* value, PyObject** result) noexcept:
    result[0] = NULL
    try:
        # Only objects of this class get here, because the class has the slot and no subclasses.
        return _go_on(<_Waiting> waiting, result)
    except BaseException as error:
        PyErr_SetObject(<object> type(error), error)
        return PYGEN_ERROR


# Sets `result` to the future if it is pending, or else to the future's value; raises the future's
# error.
cdef PySendResult _go_on(_Waiting waiting, PyObject** result) except *:
    cdef ResultFuture future = waiting._future
    cdef object value = None
    cdef PySendResult kind = PYGEN_RETURN
    if future is not None:
        if future._must_wait():
            value = future
            kind = PYGEN_NEXT
        else:
            waiting._future = None
            value = future._value()
    Py_INCREF(value)  # for the caller of am_send, which owns the result
    result[0] = <PyObject*> value
    return kind


turbocql_set_send(_Waiting, _send_waiting)


@cython.final
@cython.freelist(256)
cdef class RowsAnswer:
    """The usual response to a SELECT, of which only the rows are needed (see the Python twin)."""

    cdef object _metadata
    cdef bytes _body
    cdef Py_ssize_t _offset

    def __init__(self, metadata, body, offset):
        self._metadata = metadata
        self._body = exact_bytes(body, "a body")
        self._offset = offset

    def rows(self, row_factory):
        """Return the rows that `row_factory` makes, or None if `message` must be used instead."""
        # Read both attributes once, because the metadata may run application code, which may
        # change them.
        cdef bytes body = self._body
        cdef Py_ssize_t offset = self._offset
        if body is None:
            return None
        if offset < 0 or offset > PyBytes_GET_SIZE(body) - 4:
            return None
        row_plan = self._metadata._row_plan
        if row_plan is None:
            row_plan = self._metadata.row_plan
        count = get_be32(<const unsigned char*> PyBytes_AS_STRING(body) + offset)
        try:
            if row_factory is _named_tuple_factory:
                return named_rows(row_plan, body, offset + 4, count)
            method = getattr(row_factory, "row_plan_method", None)
            if method is None or method[1] is not row_factory:
                return None
            return getattr(row_plan, method[0])(body, offset + 4, count)
        except _DecodeError:
            return None  # the message will raise the error, and keep it

    def message(self):
        """Return the response as a `ResultMessage`."""
        return _rows_result(self._metadata, self._body, self._offset)


@cython.final
cdef class _Unread:
    """Logs an error that was never retrieved, when the failed future is deleted.

    This is a separate object because few futures fail: with a finalizer in `ResultFuture` itself,
    every future would cost more. `_likeness` is a copy of the future, for the log message.
    """

    cdef ResultFuture _likeness
    cdef str _name

    def __del__(self):
        if self._likeness is not None:
            self._likeness._path.loop.call_exception_handler({
                "message": f"{self._name} exception was never retrieved",
                "exception": self._likeness._outcome,
                "future": self._likeness,
            })


@cython.freelist(256)
cdef class ResultFuture:
    """The awaitable of one execution's result (see the Python twin).

    It behaves like an asyncio future, but is cheaper. When it completes, it does not create a
    handle of the event loop: all futures that complete in the same turn of the loop share one
    handle.
    """

    cdef public RequestBase request
    cdef public object row_factory
    cdef public bint _asyncio_future_blocking
    cdef HappyPath _path
    cdef int _status
    cdef _Unread _unread             # set until the error is retrieved
    cdef object _outcome             # the result, or the error
    cdef object _traceback           # the error's traceback at the time when it was set
    cdef public object _cancel_message  # asyncio.gather reads it
    cdef object _callback            # the first callback, and its context
    cdef object _context
    cdef list _others                # further callbacks: (callback, context)
    cdef object _truth_test          # a `TruthTest` if the future was tested for truth
    cdef object __weakref__

    def __init__(self, path, row_factory):
        if self._path is not None:
            raise TypeError("a future is made once")  # the future may be in use
        self._path = <HappyPath?> path
        self.row_factory = row_factory

    def __reduce__(self):
        raise unpicklable(self)

    def __getattr__(self, name):
        raise _no_attribute(type(self).__name__, name)

    def __bool__(self):
        if self._truth_test is None and self._status == PENDING:
            self._truth_test = _new_truth_test()
        return True

    cdef int _note_use(self) except -1:
        """Called when the future is used: it is no mistake then that it was tested for truth."""
        if self._truth_test is not None:
            self._truth_test.is_used = True
        return 0

    @property
    def session(self):
        """The session of the request."""
        return self._path.session

    @property
    def message(self):
        """The message of the request; a request listener may change it before it is sent."""
        return self._path.session._message_of_request(self.request)

    # -- called by the engine --------------------------------------------------------------------

    def complete(self, request):
        """Called by the engine when `request` is over."""
        self._complete(<RequestBase?> request)

    cdef int _complete(self, RequestBase request) except -1:
        if request.error is not None:
            self._refuse(request.error)
        elif self._status == PENDING:
            self._outcome = self._path._result_of(request, self.row_factory)
            self._end_as(FINISHED)
        return 0

    def refuse(self, error):
        """Complete the future with `error`, unless it is already done."""
        self._refuse(error)

    cdef int _refuse(self, error) except -1:
        if self._status != PENDING:
            return 0
        if isinstance(error, _CancelledError):
            # Do not call self.cancel(), because the request has already ended.
            self._end_as(CANCELLED)
        else:
            self._fail(error)
        return 0

    cdef int _fail(self, error) except -1:
        if isinstance(error, StopIteration):
            # A StopIteration that is raised into a coroutine would look like the coroutine's
            # return.
            cause = error
            error = RuntimeError(
                "StopIteration interacts badly with generators and cannot be raised into a Future"
            )
            error.__cause__ = error.__context__ = cause
        self._outcome = error
        self._traceback = error.__traceback__
        self._unread = self._not_read()
        self._end_as(FAILED)
        return 0

    cdef _Unread _not_read(self):
        """Return an object that logs the error if nobody retrieves it."""
        cdef _Unread unread = _Unread.__new__(_Unread)
        cdef ResultFuture likeness = ResultFuture.__new__(ResultFuture)
        likeness.request = self.request
        likeness.row_factory = self.row_factory
        likeness._path = self._path
        likeness._outcome = self._outcome
        likeness._traceback = self._traceback
        likeness._status = FAILED
        unread._likeness = likeness
        unread._name = type(self).__name__
        return unread

    cdef int _read(self) except -1:
        """Called when the error is retrieved, so that it is not logged."""
        if self._unread is not None:
            self._unread._likeness = None
            self._unread = None
        return 0

    cdef int _end_as(self, int status) except -1:
        self._status = status
        if self._callback is not None:
            self._path._wake(self)
        return 0

    cdef bint _must_wait(self) except -1:
        """Return True if the future is pending; sets the flag by which a task recognises that."""
        self._note_use()
        if self._status != PENDING:
            return False
        if self._asyncio_future_blocking:
            raise RuntimeError(
                "await wasn't used with future: write `await session.execute(...)`"
            )
        self._asyncio_future_blocking = True
        return True

    cdef object _value(self):
        if self._status == FINISHED:
            return self._outcome
        if self._status == FAILED:
            self._read()
            raise self._outcome.with_traceback(self._traceback)
        if self._status == CANCELLED:
            raise self._make_cancelled_error()
        raise _InvalidState("Result is not set.")

    # -- the API of asyncio futures --------------------------------------------------------------

    def __await__(self):
        cdef _Waiting waiting = _Waiting.__new__(_Waiting)
        waiting._future = self
        return waiting

    def __iter__(self):
        return self.__await__()

    def get_loop(self):
        """Return the event loop of the future."""
        return self._path.loop

    @property
    def _loop(self):
        return self._path.loop

    @property
    def _state(self):
        return _STATES[self._status]

    @property
    def _log_traceback(self):
        return self._unread is not None

    @_log_traceback.setter
    def _log_traceback(self, value):
        if value:
            raise ValueError("_log_traceback can only be set to False")
        self._read()

    def done(self):
        """Return True if the future has a result or an error, or was cancelled."""
        return self._status != PENDING

    def cancelled(self):
        """Return True if the future was cancelled."""
        return self._status == CANCELLED

    def cancel(self, msg=None):
        """Cancel the request. Its stream stays in use until the response arrives.

        If the loop is not running, the request ends when the loop runs again.
        """
        self._note_use()
        self._read()
        if self._status != PENDING:
            return False
        # Complete the future first, so that the end of the request has no effect on it.
        self._cancel_message = msg
        self._end_as(CANCELLED)
        if self.request is not None:
            _call_on(self._loop, self.request.cancel)
        return True

    def _make_cancelled_error(self):
        if self._cancel_message is None:
            return _CancelledError()
        return _CancelledError(self._cancel_message)

    def result(self):
        """Return the result, or raise the error or CancelledError.

        :raises InvalidStateError: if the future is not done.
        """
        self._note_use()
        return self._value()

    def exception(self):
        """Return the error, or None if there is a result; raise CancelledError if it was cancelled.

        :raises InvalidStateError: if the future is not done.
        """
        self._note_use()
        if self._status == CANCELLED:
            raise self._make_cancelled_error()
        if self._status == PENDING:
            raise _InvalidState("Exception is not set.")
        self._read()
        return self._outcome if self._status == FAILED else None

    def set_result(self, result, /):
        """Complete the future with `result`. A later response of the server is dropped."""
        if self._status != PENDING:
            raise _InvalidState("invalid state")
        self._outcome = result
        self._end_as(FINISHED)

    def set_exception(self, exception, /):
        """Complete the future with an error. A later response of the server is dropped."""
        if self._status != PENDING:
            raise _InvalidState("invalid state")
        if isinstance(exception, type):
            exception = exception()
        if not isinstance(exception, BaseException):
            raise TypeError("invalid exception object")
        self._fail(exception)

    def add_done_callback(self, fn, /, *, context=None):
        """Have the loop call ``fn(self)`` when the future is done."""
        self._note_use()
        if context is None:
            context = PyContext_CopyCurrent()
        if self._status != PENDING:
            self._path._call_soon(fn, self, context=context)
        elif self._callback is None:
            self._callback = fn
            self._context = context
        else:
            if self._others is None:
                self._others = []
            self._others.append((fn, context))

    def remove_done_callback(self, fn, /):
        """Remove all callbacks that equal `fn`; returns how many there were."""
        cdef list all_of_them
        if self._status != PENDING:
            return 0  # the callbacks are already scheduled
        all_of_them = self._taken_callbacks()
        cdef list remaining = [pair for pair in all_of_them if pair[0] != fn]
        if remaining:
            self._callback, self._context = remaining[0]
            self._others = remaining[1:] or None
        return len(all_of_them) - len(remaining)

    cdef list _taken_callbacks(self):
        """Remove all callbacks; returns them as (callback, context)."""
        cdef list taken = []
        if self._callback is not None:
            taken.append((self._callback, self._context))
        if self._others is not None:
            taken.extend(self._others)
        self._callback = self._context = self._others = None
        return taken

    def __repr__(self):
        state = _STATES[self._status].lower()
        if self._status == FINISHED:
            state += f" result={_short(self._outcome)}"
        elif self._status == FAILED:
            state += f" exception={self._outcome!r}"
        return f"<{type(self).__name__} {state}{_statement_of(self)}>"


cdef inline bint _is_changed_by_user_code(session) except -1:
    """Return True if a listener or protocol handler may change requests (see the Python twin)."""
    if session.client_protocol_handler is not _ProtocolHandler:
        return True
    return bool(session._request_init_listeners)


cdef extern from *:
    """
    #if defined(__GLIBC__)
    /* `pthread_atfork` calls this. Before glibc 2.34, `pthread_atfork` itself is in no
       shared library. */
    extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
    #define call_in_children(function) __register_atfork(NULL, NULL, function, NULL)
    #elif defined(_WIN32)
    #define call_in_children(function) ((void)(function), 0)
    #else
    #include <pthread.h>
    #define call_in_children(function) pthread_atfork(NULL, NULL, function)
    #endif
    """
    int call_in_children(void (*function)() noexcept nogil) nogil

cdef int _forks = 0  # grows whenever this process, or an ancestor of it, is forked


cdef void _count_fork() noexcept nogil:
    global _forks
    _forks += 1


# Python's own hooks are not called if C code forks, as in uWSGI. Without a new number, a child
# would use the sockets of its parent.
if call_in_children(_count_fork) != 0:
    raise MemoryError


@cython.final
cdef class HappyPath:
    """Executes prepared and bound statements and batches by the fast path (see the Python twin)."""

    cdef readonly object session
    cdef readonly object loop
    # asyncio's record of the running loop when `loop` was running, and the value of `_forks` at
    # that time.
    cdef object _loop_record
    cdef int _record_forks
    cdef object _engine
    cdef object _options
    cdef type _request_class
    cdef type _body_class
    cdef object _result_class
    cdef readonly bint reads_rows_answers
    cdef object _check_vectors
    cdef object _call_soon
    cdef list _done                  # futures whose callbacks the loop calls in its next iteration
    cdef object _run_done
    cdef object _nothing             # a completed asyncio future with the result None
    cdef bint _fills_fields          # True if the fields of results can be set directly

    def __init__(
        self, session, engine, options, request_class, body_class, result_class, check_vectors
    ):
        if self._engine is not None:
            raise TypeError("a happy path is made once")  # executions may be in progress
        self.session = session
        self.loop = engine.loop
        self._engine = engine
        self._options = options
        self._request_class = <type?> request_class
        self._body_class = <type?> body_class
        self._result_class = result_class
        self.reads_rows_answers = getattr(result_class, "_reads_rows_answers", False)
        if not (issubclass(request_class, RequestBase) and issubclass(body_class, ExecuteBodyBase)):
            raise TypeError(f"{request_class} and {body_class} are not a request's classes")
        for each in (request_class, body_class, result_class):
            share(each)  # these objects belong to modules
        self._check_vectors = check_vectors
        self._call_soon = engine.loop.call_soon
        self._done = []
        self._run_done = self._call_done
        self._nothing = _Future(loop=engine.loop)
        self._nothing.set_result(None)
        if isinstance(result_class, type):
            self._fills_fields = reads_plainly(result_class, ResultBase)

    @property
    def row_factory(self):
        """The row factory of the execution profile."""
        return self._row_factory()

    cdef object _row_factory(self):
        return _settings_of(_profile_of(self._options))[S_ROW_FACTORY]

    def request(self, query, parameters, on_done):
        """Create the request for a statement, or return None if the fast path cannot be used.

        That is so for other kinds of statements or parameters, and if the session has its own
        protocol handler or request listeners.
        """
        return self._request(query, parameters, on_done)

    cdef RequestBase _request(self, query, parameters, on_done):
        cdef RequestBase request
        cdef PyObject* session
        cdef PyObject* engine
        cdef PyObject* options
        cdef bint is_batch = type(query) is _BatchStatement
        if type(query) is _PreparedStatement:
            if type(parameters) is not tuple and type(parameters) is not list:
                return None
        elif parameters is not None or (type(query) is not _BoundStatement and not is_batch):
            return None
        # These attributes are never replaced, so take no references to them: threads that count
        # references to the same object wait for each other.
        session = <PyObject*> self.session
        engine = <PyObject*> self._engine
        options = <PyObject*> self._options
        if _is_changed_by_user_code(<object> session):
            return None
        if is_batch:
            request = self.session._happy_batch(query, self._options, on_done)
            if request is not None:
                request._row_factory = self._row_factory()
            return request
        statement = query if parameters is None else query.bind(parameters)
        if type(statement) is not _BoundStatement:
            return None
        request = _bound_request(
            self._request_class, self._body_class, <object> session, <object> engine, statement,
            statement, <object> options, on_done,
        )
        if request.vectors != "list":
            self._check_vectors(request)
        return request

    def execute(self, query, parameters):
        """Execute a statement; returns its `ResultFuture`, or None if `request` returns None."""
        cdef ResultFuture future
        cdef RequestBase request
        self._check_loop()
        request = self._request(query, parameters, _over)
        if request is None:
            return None
        future = ResultFuture.__new__(ResultFuture)
        future._path = self
        future.row_factory = request._row_factory
        future.request = request
        request._future = future
        request._reads_rows = self.reads_rows_answers
        request._begin()
        return future

    cdef inline int _check_loop(self) except -1:
        """Raise RuntimeError if the loop that runs in this thread is not the session's."""
        cdef PyObject* record = turbocql_loop_record()
        if record != NULL and record == <PyObject*> self._loop_record:
            if self._record_forks == _forks:
                return 0
        if _running_loop() is not self.loop:
            _refuse_loop(self.loop)
        if record != NULL:
            self._loop_record = <object> record
            self._record_forks = _forks
        return 0

    cdef object _result_of(self, RequestBase request, row_factory):
        """Create the result object of a completed request."""
        cdef ResultBase result
        if not self._fills_fields:
            return self._result_class(self.session, request, row_factory)
        instance = turbocql_new(self._result_class)
        result = <ResultBase> instance
        turbocql_put(&result._session, self.session)
        turbocql_put(&result._request, request)
        turbocql_put(&result._row_factory, row_factory)
        turbocql_put(&result._answer, request.response)
        turbocql_put(&result._history, None)
        turbocql_put(&result._page, None)
        turbocql_put(&result._begun, "")
        turbocql_put(&result._next, None)
        return instance

    cdef int _wake(self, ResultFuture future) except -1:
        """Schedule the callbacks of `future` for the next turn of the loop."""
        # Schedule the call before we append. If call_soon raises an error, the list stays empty, so
        # that the next future tries again.
        if PyList_GET_SIZE(self._done) == 0:
            self._call_soon(self._run_done)
        self._done.append(future)
        return 0

    def _call_done(self):
        cdef list done = self._done
        cdef Py_ssize_t index = 0
        # Futures that complete during this loop wait for the next iteration, like callbacks of a
        # loop.
        self._done = []
        try:
            while index < PyList_GET_SIZE(done):
                index += 1
                self._call(<ResultFuture> done[index - 1])  # only `_wake` adds to the list
        finally:
            # After an exception that ends the loop (such as KeyboardInterrupt), schedule the rest
            # again, for the case that the loop is run again.
            if index < PyList_GET_SIZE(done):
                self._done = done[index:] + self._done
                self._call_soon(self._run_done)

    cdef int _call(self, ResultFuture future) except -1:
        cdef object callback = future._callback
        cdef object context = future._context
        cdef list others = future._others
        future._callback = future._context = future._others = None
        if others is not None:
            for function, its_context in others:
                self._call_soon(function, future, context=its_context)
        if callback is not None:
            try:
                PyContext_Enter(context)
                try:
                    # A task only asks the future that it gets whether there is an error, which is
                    # much faster with an asyncio future. It gets the result from our future later.
                    if future._status == FINISHED and turbocql_is_wakeup(callback, _Task):
                        callback(self._nothing)
                    else:
                        callback(future)
                finally:
                    PyContext_Exit(context)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                self.loop.call_exception_handler({
                    "message": f"Exception in callback {callback!r}",
                    "exception": error,
                    "future": future,
                })
        return 0
