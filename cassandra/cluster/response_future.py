"""`ResponseFuture`: an execution whose result you can wait for, or to which you add callbacks.

The engine's loop completes the future. The event on which threads wait is created only when the
first thread waits, so most futures have no event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Any, Generic

from cassandra._attempts import deciding_attempt
from cassandra._error_copies import copy_of
from cassandra._forks import renew_after_any_fork, renewed
from cassandra._habits import FUTURE, add_habits
from cassandra._imports import at_first_cluster
from cassandra._logs import Log
from cassandra._threads import GreenEvent, RLock, get_ident, in_own_greenlet, waits_by_waiters
from cassandra.cluster.final_hooks import FinalMethod, finish_wrapped
from cassandra.cluster.result_set import ResultSet
from cassandra.cluster.unread_errors import UnreadError, shown_statement
from cassandra.cluster.unread_pages import KNOWN_PAGES, UnreadPages, unread_by_callbacks
from cassandra.engine.failures import call_on_loop, failure_of, for_caller
from cassandra.errors import DriverException, OperationTimedOut, QueryExhausted
from cassandra.protocol.opcodes import RESULT_KIND_ROWS
from cassandra.query.settings import NOT_SET
from cassandra.query.statement import shown_argument

if TYPE_CHECKING:
    import threading
    import uuid

    from typing_extensions import TypeVar

    from cassandra.client.paging import NextPage
    from cassandra.client.requests import Query
    from cassandra.cluster.session import Session
    from cassandra.engine import happy_path
    from cassandra.engine.happy_path import Attempt
    from cassandra.engine.loop import BLOCKED
    from cassandra.engine.request import Request
    from cassandra.metadata.host import Host
    from cassandra.protocol.messages.results import VOID_RESULT, ResultMessage
    from cassandra.query.prepared import PreparedStatement
    from cassandra.query.trace import QueryTrace, warn_of_missing_trace

    # The default allows `ResponseFuture` without a type argument.
    R = TypeVar("R", default=Any)
else:
    from typing import TypeVar

    at_first_cluster(
        __name__,
        BLOCKED="cassandra.engine.loop",
        VOID_RESULT="cassandra.protocol.messages.results",
        QueryTrace="cassandra.query.trace",
        ResultMessage="cassandra.protocol.messages.results",
        happy_path="cassandra._impl",
        warn_of_missing_trace="cassandra.query.trace",
    )

    R = TypeVar("R")

log = Log("cassandra.cluster")

# A thread that waits for a request with a timeout waits at most so often longer, for so many
# seconds. The event loop thread ends the request before, unless it is blocked.
LAST_WAITS = 4
LAST_WAIT = 0.5


class _PageLock:
    """The lock of a future that has several pages.

    A thread holds the lock while it decides to request a page, so that two threads never request
    the same page. It releases the lock before it starts the request, because starting may wake a
    loop, and calls observers of the application.
    """

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = RLock()

    def _renew_locks(self) -> None:
        self.lock = RLock()


# A function with the further arguments and keyword arguments that the application has passed.
_Callback = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def _call_and_raise(callback: _Callback, outcome: Any) -> None:
    """Call a callback in the thread that has added it, which gets its error."""
    function, args, kwargs = callback
    function(outcome, *args, **kwargs)


class _Callbacks:
    """The callbacks of a future.

    There is no lock. Before a thread calls a callback for a page, it puts a claim into the dict of
    that page, by the atomic method `dict.setdefault`. If another thread was first, the thread does
    not call the callback. So each callback is called once per page.

    :param first_request: the request of the page for which the first callback was added.
    """

    __slots__ = ("_claims", "first_claims", "first_request_id", "for_errors", "for_rows")

    def __init__(self, first_request: Request | None) -> None:
        # Only the id, because the request keeps the rows of its page in memory.
        self.first_request_id = id(first_request)
        self.for_rows: list[_Callback] = []
        self.for_errors: list[_Callback] = []
        self.first_claims: dict[int, object] = {}  # the claims for the page of the first request
        # The claims for the current page, and perhaps for the page before, by the request of the
        # page. The claims of a page map the id of a callback to an object of the thread that calls
        # it.
        self._claims = {first_request: self.first_claims}

    def claims_of(self, request: Request | None) -> dict[int, object]:
        """Return the dict of the claims for the page of `request`.

        Call this before the next page can be requested, or check afterwards that it was not
        requested. `forget` may have dropped the claims otherwise, and this returns another dict.
        """
        return self._claims.setdefault(request, {})

    def forget(self, request: Request | None) -> None:
        """Forget the claims for the page of `request`."""
        self._claims.pop(request, None)


def _trace_ids_of_errors(request: Request) -> list[uuid.UUID]:
    """Return the trace ids of the attempts that servers have answered with an error."""
    trace_ids = (getattr(attempt.error, "trace_id", None) for attempt in request.attempts)
    return [trace_id for trace_id in trace_ids if trace_id is not None]


def _not_callable_message(name: str, value: object) -> str:
    advice = (
        # For example, `add_callback(print(rows))`.
        "pass the function itself, not the result of a call"
        if value is None
        else "its arguments follow it"
    )
    return (
        f"the {name} must be a function, but is {shown_argument(value)} of type "
        f"{type(value).__name__}; {advice}"
    )


class _OfColumns:
    """A descriptor that reads an attribute of the response message of a future.

    Tracing libraries and tests may set the attribute on a future. Because there is no `__set__`,
    the value is then stored in the future's `__dict__`, and hides this descriptor.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, future: ResponseFuture | None, owner: type) -> Any:
        if future is None:
            return None
        return getattr(future._replaced_message or future._response, self._name, None)


class ResponseFuture(Generic[R]):
    """The future of an execution, made by `Session.execute_async`. You may use it in any thread.

    `result` waits for the result. Callbacks run in the engine's thread, or at once if the result
    has already come. They must not block.

    :param session: the session that executes the query.
    :param query: the statement or CQL string.
    :param row_factory: makes the rows of a page.
    :param watcher: (function, argument), or None: ``function(future, argument)`` is called once,
        when the first page has come or the execution has failed.
    """

    # `_complete` acquires no lock. It stores the outcome, then sets `_done`, and then looks for
    # callbacks and for a waiter (the event on which threads wait). Other threads first add a
    # callback or waiter and then read `_done`. So at least one of these two threads sees what the
    # other thread has done. If both threads see it, each callback is still called only once,
    # because only one thread can claim it.
    #
    # `start_fetching_next_page` begins the next page: it clears `_done`, replaces `_request`, and
    # clears the outcome. Therefore another thread that reads the outcome must read `_request`
    # before, and check afterwards that `_done` is True and that `_request` is the same object.
    #
    # Each page has a waiter of its own. A thread may still wait for the previous page when
    # `start_fetching_next_page` begins the next page, so that method wakes the thread.

    __slots__ = (
        # Tracing libraries store their own attributes here. The dict is only created when they do
        # so.
        "__dict__",
        "__weakref__",
        "_callbacks",
        "_done",
        "_error",
        "_history",
        "_hooks",
        "_paging_state",
        "_request",
        "_response",
        "_waiters",
        "_watcher",
        "is_schema_agreed",
        "query",
        "row_factory",
        "session",
    )

    # These are class attributes instead of slots, because few futures set them. If a future sets
    # one, the value is in the future's `__dict__`.
    _next: NextPage | None = None  # the next page, if it was requested ahead
    _trace_ids: tuple[uuid.UUID, ...] = ()  # the trace ids of all pages
    # The number of pages that results of this future have fetched during iterations. Other results
    # of the same future do not see these pages.
    _pages_of_results = 0
    # `_handed_rows` are the rows that were passed to a tracing library's replacement of
    # `_set_final_result`. `_replaced_message` is the message of these rows, if the replacement has
    # passed on other rows. See `cassandra._compat.tracers`.
    _handed_rows: Any = None
    # What has taken the original of the error, which only one caller gets; None if nothing has.
    _error_owner: object = None
    _replaced_message: Any = None
    # Logs the error if the application never retrieves it. `_complete` sets this if the execution
    # has failed.
    _unread_error: UnreadError | None = None
    # Logs that callbacks got a page, but that the further pages were never requested. `_call` sets
    # this if there are further pages.
    _unread_pages: UnreadPages | None = None
    # Tracing libraries read this attribute. It belongs to DataStax Enterprise's continuous paging,
    # which is not supported, so it is always None.
    _continuous_paging_session: None = None
    # The objects that the first thread has created, and that all threads use. `setdefault` of the
    # future's `__dict__` chooses them, because it is atomic.
    _first_callbacks: _Callbacks | None = None
    _first_waiters: dict[Request | None, Any] | None = None
    _page_lock: _PageLock | None = None

    def __init__(
        self,
        session: Session,
        query: Query,
        row_factory: Callable[..., Any],
        watcher: tuple[Callable[..., Any], object] | None = None,
    ) -> None:
        self.session = session
        self.query = query
        self.row_factory = row_factory
        self.is_schema_agreed = True
        # The request of the current page, its response, and its error. Each is None until it
        # exists.
        self._request: Request | None = None
        self._response: Any = None
        self._error: BaseException | None = None
        self._done = False  # True when the current page, or its error, has come
        # The event on which threads wait for a page, by the request of the page; None until the
        # first thread waits.
        self._waiters: dict[Request | None, Any] | None = None
        # A pair (function, argument), or None. Unlike a callback, the function is called only once,
        # not for each page, and no rows are decoded for it.
        self._watcher: tuple[Callable[..., Any], Any] | None = watcher
        # None until the first callback is added.
        self._callbacks: _Callbacks | None = None
        self._history: Sequence[Attempt] = ()  # the attempts of all completed pages
        self._paging_state: bytes | None = None
        # The methods of this future that a tracing library has replaced, by name; None if no method
        # was replaced.
        self._hooks: dict[str, Callable[..., Any]] | None = None

    # -- completion, on the loop -------------------------------------------------------------------

    def _watch(self, request: Request) -> None:
        """Store the request that will complete this future.

        :param request: the engine's request, which must not be started yet.
        """
        self._request = request

    def _complete(self, request: Request | None) -> None:
        """Called by the engine when `request` is over.

        Store the outcome of the request, wake waiting threads, and call the callbacks.

        :param request: None if the outcome is already stored. A tracing library's replacement of
            `_set_final_result` or `_set_final_exception` leads to a call with None.
        """
        if request is not None:
            # `_history` has the attempts of all pages so far. Most executions have a single page,
            # so use the list of its request as it is.
            history = self._history
            self._history = [*history, *request.attempts] if history else request.attempts
            response = self._response = request.response
            self._error = error = request.error
            if error is not None:
                self._trace_ids = (*self._trace_ids, *_trace_ids_of_errors(request))
            if response is not VOID_RESULT:
                self._copy_details(response)
            # If a tracing library has replaced a method, call the replacement instead of continuing
            # here. The replacement leads to another call of `_complete`, with None.
            if self._hooks is not None:
                finish_wrapped(self)
                return
        # Read these attributes before `_done` is set: another thread may then request the next
        # page, which replaces them.
        completed, response, error = self._request, self._response, self._error
        callbacks = self._callbacks
        claims = callbacks.claims_of(completed) if callbacks is not None else {}
        if error is not None:
            self._unread_error = UnreadError(error, self.query)
        # Set `_done` after the outcome: a thread that sees `_done` reads the outcome without a
        # lock.
        self._done = True
        if callbacks is None:
            # Another thread may have added the first callback a moment ago. The callback is not for
            # this page if the next page was requested before.
            callbacks = self._callbacks
            if callbacks is not None:
                claims = callbacks.first_claims
                if callbacks.first_request_id != id(completed):
                    callbacks = None
        waiters, watcher = self._waiters, self._watcher
        waiter = waiters.get(completed) if waiters is not None else None
        if callbacks is not None:
            # The wake queue collects the threads to wake. Wake them now, before the callbacks are
            # called, because a callback may wait for one of these threads. `set_soon` wakes the
            # threads that wait in `result` of this future. Usually the current thread continues
            # first, so that the callbacks have run when `result` returns.
            self.session._loops.wake_queue_of(completed).wake()
            if waiter is not None:
                waiter.set_soon()
        elif waiter is not None:
            self.session._loops.wake_queue_of(completed).set(waiter)
        if watcher is not None:
            self._watcher = None
            function, argument = watcher
            function(self, argument)
        if callbacks is not None and not self._calls_back_on_loop():
            self._call(callbacks, claims, response, error)

    def _calls_back_on_loop(self) -> bool:
        """If the current thread has read the response itself, let the loop call the callbacks.

        This happens if another thread has added callbacks while the current thread was reading.

        :returns: False if the current thread must call the callbacks.
        """
        request = self._request
        if request is None or not request.is_ended_by_caller:
            return False
        return call_on_loop(self.session._loop_thread.loop.call_soon_threadsafe, (self._call_due,))

    def _copy_details(self, response: object) -> None:
        """Copy the trace id, the schema agreement and the paging state from `response`.

        Methods and attributes of this future return them later.
        """
        trace_id = getattr(response, "trace_id", None)
        if trace_id is not None:
            # A retried request has a trace for each attempt that a server has responded to.
            earlier_ids = _trace_ids_of_errors(self._request) if self._request is not None else ()
            self._trace_ids = (*self._trace_ids, *earlier_ids, trace_id)
        self.is_schema_agreed = getattr(response, "is_schema_agreed", True)
        # After an error, keep the paging state of the previous page, so that the application can
        # request the failed page again.
        if self._error is None:
            self._paging_state = getattr(response, "paging_state", None)

    _set_final_result = FinalMethod("set_final_result")
    _set_final_exception = FinalMethod("set_final_exception")

    def _call_due(self, added: _Callback | None = None) -> None:
        """Call the callbacks that have not been called yet for the current outcome.

        :param added: the only callback to call, whose error is raised; None for all callbacks.
        """
        request, callbacks = self._request, self._callbacks
        if not self._done or callbacks is None:
            return
        claims = callbacks.claims_of(request)
        response, error = self._response, self._error
        # If another thread has requested the next page, do nothing: the completion of the next page
        # calls the callbacks.
        if self._done and self._request is request:
            self._call(callbacks, claims, response, error, added)
        else:
            callbacks.forget(request)

    def _call(
        self,
        callbacks: _Callbacks,
        claims: dict[int, object],
        response: object,
        error: BaseException | None,
        added: _Callback | None = None,
    ) -> None:
        """Call the callbacks for rows with the rows, or the callbacks for errors with the error.

        The claims for the page and its outcome are arguments, because a callback may request the
        next page, which replaces the future's attributes.
        """
        claim = object()
        rows: Any = NOT_SET
        # Another thread may append a callback during the iteration. The loop then reaches this
        # callback, too.
        for callback in callbacks.for_rows if error is None else callbacks.for_errors:
            if added is not None and callback is not added:
                continue
            # Claim the callback. `setdefault` is atomic: all threads get the object of the first
            # thread.
            if claims.setdefault(id(callback), claim) is not claim:
                continue
            call_one = self._call_one if added is None else _call_and_raise
            if error is not None:
                self._note_error_read()
                call_one(callback, error)
                continue
            # Decode the rows only if a callback wants them.
            if rows is NOT_SET:
                try:
                    rows = self._rows(response)
                except BaseException as fault:  # the rows cannot be decoded, or a row factory fails
                    failure = failure_of(fault)
                    # Store the error. But if the next page was already requested, do not store it,
                    # because it would overwrite the outcome of the next page.
                    if self._response is response:
                        self._error = failure
                    # The outcome of the page is now an error, so call the callbacks for errors.
                    self._call(callbacks, claims, response, failure)
                    return
                if self._paging_state is not None and self._unread_pages is None:
                    self._watch_pages(unread_by_callbacks(self.query, rows))
            call_one(callback, rows)

    def _call_one(self, callback: _Callback, outcome: Any) -> None:
        function, args, kwargs = callback
        try:
            function(outcome, *args, **kwargs)
        # Log the error, so that it does not end the loop's thread, which handles all other
        # requests, too.
        except BaseException:
            # The repr of this future has the values of its statement, which may be secret.
            log.exception("a callback of the execution of %s failed", shown_statement(self.query))

    def _rows(self, response: object) -> Any:
        """Decode and return the rows of a page for callbacks; None if the statement has no rows."""
        if isinstance(response, ResultMessage) and response.kind == RESULT_KIND_ROWS:
            return response.decode(self.row_factory)
        return response if isinstance(response, list) else None

    # The names of the page's columns, and the columns' `cassandra.cqltypes` classes; None if there
    # are no columns, or no page yet. Applications read these private attributes, which
    # cassandra-driver also has, to make a `ResultSet` from the rows that a callback gets.
    _col_names = _OfColumns("column_names")
    _col_types = _OfColumns("column_types")

    # -- waiting -----------------------------------------------------------------------------------

    def result(self, timeout: object = NOT_SET) -> ResultSet[R]:
        """Wait until the execution is complete, and return its `ResultSet` or raise its error.

        You may call this repeatedly.

        :param timeout: must be left out, because `Session.execute_async` has the timeout.
        """
        if timeout is not NOT_SET:
            raise TypeError(
                "ResponseFuture.result() takes no timeout: write "
                f"session.execute_async(query, parameters, timeout={timeout!r}).result()"
            )
        while True:
            request = self._request
            if not self._done:
                self._wait()
            error, response = self._error, self._response
            # If a callback has requested the next page during the wait, wait for that page.
            if self._done and self._request is request:
                break
        if error is not None:
            self._note_error_read()
            try:
                raise for_caller(self._own_error(error))
            finally:
                # The traceback of the error refers to this frame. If the frame referred to the
                # error, it would keep the request, its values and the caller's frames alive until
                # the garbage collector runs.
                del self, request, error, response
        self._note_pages_known()
        return ResultSet(self, response)

    def _own_error(self, error: BaseException) -> BaseException:
        """Return `error` for the first caller, who may compare it with the error of an observer.

        Return a copy for other callers, and for all errors of further pages: their tracebacks refer
        to the frames of a `ResultSet`, which refers to this future.
        """
        owner = object()
        # `setdefault` is atomic.
        is_first = vars(self).setdefault("_error_owner", owner) is owner
        return error if is_first else copy_of(error)

    def _note_error_read(self) -> None:
        """Called when the application gets the error: keep `UnreadError` from logging it."""
        if self._unread_error is not None:
            self._unread_error.is_read = True

    def _note_pages_known(self) -> None:
        """Called when the application asks for further pages, or whether there are further pages.

        The further pages are then not logged as unread.
        """
        if self._unread_pages is not None:
            self._unread_pages.is_read = True
        elif self._paging_state is not None:
            # Another thread may have set `_unread_pages` since; then mark that object as read.
            self._watch_pages(KNOWN_PAGES).is_read = True

    def _watch_pages(self, unread_pages: UnreadPages) -> UnreadPages:
        """Set `_unread_pages`, unless another thread has already set it; return its value."""
        # `setdefault` is atomic, so two threads get the same object.
        current: UnreadPages = vars(self).setdefault("_unread_pages", unread_pages)
        if current is not unread_pages:
            unread_pages.is_read = True
        return current

    def _wait_for_write(self, seconds: float) -> None:
        """Wait for at most `seconds`, unless this execution is a SELECT.

        :param seconds: the maximum wait.
        """
        query = getattr(self.query, "query_string", self.query)
        if not (isinstance(query, str) and query.lstrip()[:6].upper() == "SELECT"):
            self._wait(seconds)

    def _wait(self, timeout: float | None = None) -> None:
        """Wait until a page has come.

        When this returns, another thread may have already requested the next page.

        :param timeout: return after this many seconds. None waits until the page has come.
        :raises OperationTimedOut: if `timeout` is None, and the event loop thread does not even end
            the request some time after its own timeout.
        """
        if get_ident() in self.session._loops.idents:
            self.session._refuse_on_loop(
                "ResponseFuture.result()", "add_callbacks, or the session of cassandra.aio"
            )
        request = self._request
        # The current thread may read the response from the socket itself, and complete the future.
        # But callbacks, and the methods of tracing libraries, must run on the loop.
        may_end = self._callbacks is None and self._hooks is None
        if timeout is None and request is not None and request.read_answer(may_end):
            return
        waiters = self._waiters
        if waiters is None:
            # `setdefault` is atomic, so two threads get the same dict, and below the same waiter.
            waiters = self._waiters = vars(self).setdefault("_first_waiters", {})
        waiter = waiters.get(request)
        if waiter is None:
            # Under gevent and eventlet, waiting in the kernel would block all greenlets of this
            # thread.
            new_waiter = GreenEvent() if waits_by_waiters() else happy_path.Event()
            waiter = waiters.setdefault(request, new_waiter)
        # Check again, after the waiter was stored. If the page was completed or the next page was
        # requested before that, `_complete` has not seen the waiter, and nobody will set it.
        if not self._done and self._request is request:
            # In a forked child, `is_shutdown` is True. Raise an error there, because the request
            # would never complete.
            if self.session.is_shutdown:
                self.session._refuse_in_child()
            limit = timeout
            if timeout is None and request is not None and request.timeout is not None:
                limit = min(max(request.timeout, 0.0), TIMEOUT_MAX)
            if limit is None:
                self.session._wait_patiently(waiter.wait, getattr(request, "session", None))
                return
            if waiter.wait(limit):
                return
            renew_after_any_fork()
            if self.session.is_shutdown:
                # A signal handler has forked during the wait, or C code has forked before.
                self.session._refuse_in_child()
            if timeout is not None:
                return
            # The loop ends the request about now. If the whole process was suspended, the loop has
            # to read the response first. So wait in several steps, of which a suspension ends only
            # one.
            for _ in range(LAST_WAITS):
                if self._done or self._request is not request or waiter.wait(LAST_WAIT):
                    return
            self._refuse_to_wait(request)

    def _refuse_to_wait(self, request: Any) -> None:
        """Raise OperationTimedOut, because the event loop thread does not end the request."""
        raise OperationTimedOut(
            f"the request was not over {LAST_WAITS * LAST_WAIT:g} s after its timeout of "
            f"{request.timeout:g} s: {BLOCKED}",
            timeout=request.timeout,
            statement=request.request_body.describe(),
        )

    # -- callbacks ---------------------------------------------------------------------------------

    def add_callback(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> ResponseFuture:
        """Call ``fn(rows, *args, **kwargs)`` when the result has come.

        With paging, `fn` is called for each page. `rows` is None if the result has no rows.

        :param fn: a function. It runs in the driver's event loop thread, which it must not block.
            Under gevent and eventlet, it runs in a greenlet of the calling thread, or of the main
            thread if a native thread calls this outside of a greenlet. If the result has already
            come, `fn` is called at once in the calling thread, and this raises its error.
        :param args: further arguments.
        :param kwargs: further keyword arguments.
        :returns: self.
        """
        if not callable(fn):
            raise TypeError(_not_callable_message("callback", fn))
        callback = (in_own_greenlet(fn), args, kwargs)
        self._own_callbacks().for_rows.append(callback)
        if self._done:
            self._call_due(callback)
        return self

    def add_errback(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> ResponseFuture:
        """Call ``fn(error, *args, **kwargs)`` when the execution fails.

        :param fn: a function, which is called in the same thread as the function of `add_callback`.
        :param args: further arguments.
        :param kwargs: further keyword arguments.
        :returns: self.
        """
        if not callable(fn):
            raise TypeError(_not_callable_message("errback", fn))
        callback = (in_own_greenlet(fn), args, kwargs)
        self._own_callbacks().for_errors.append(callback)
        if self._done:
            self._call_due(callback)
        return self

    def _own_callbacks(self) -> _Callbacks:
        """Return the callbacks of this future, which are created at the first call."""
        callbacks = self._callbacks
        if callbacks is None:
            # `setdefault` is atomic, so two threads get the same object.
            callbacks = vars(self).setdefault("_first_callbacks", _Callbacks(self._request))
            self._callbacks = callbacks
        return callbacks

    def add_callbacks(
        self,
        callback: Callable[..., Any],
        errback: Callable[..., Any] = NOT_SET,
        callback_args: Sequence[Any] = (),
        callback_kwargs: Mapping[str, Any] | None = None,
        errback_args: Sequence[Any] = (),
        errback_kwargs: Mapping[str, Any] | None = None,
    ) -> ResponseFuture:
        """Call `add_callback` and `add_errback` with these functions and arguments.

        :param callback: called with the rows, `callback_args` and `callback_kwargs`.
        :param errback: called with the error, `errback_args` and `errback_kwargs`.
        :param callback_args: further arguments of `callback`.
        :param callback_kwargs: further keyword arguments of `callback`, or None.
        :param errback_args: further arguments of `errback`.
        :param errback_kwargs: further keyword arguments of `errback`, or None.
        :returns: self.
        """
        if errback is NOT_SET:
            raise TypeError(
                "add_callbacks takes a callback for the rows and an errback for the error: write "
                "add_callbacks(callback, errback), or add_callback(callback) for the rows alone"
            )
        self.add_callback(callback, *callback_args, **(callback_kwargs or {}))
        self.add_errback(errback, *errback_args, **(errback_kwargs or {}))
        return self

    def clear_callbacks(self) -> None:
        """Remove all callbacks and errbacks."""
        if self._callbacks is not None:
            vars(self).pop("_first_callbacks", None)
            self._callbacks = None

    @property
    def error(self) -> BaseException | None:
        """The error of the execution; None if the execution is not complete or was successful."""
        self._note_error_read()
        return self._error

    @property
    def is_over(self) -> bool:
        """True if the last page that was requested has come, or its request has failed."""
        return self._done

    # -- paging ------------------------------------------------------------------------------------

    @property
    def has_more_pages(self) -> bool:
        """True if there is a page after the current page."""
        self._note_pages_known()
        return self._paging_state is not None

    @property
    def paging_state(self) -> bytes | None:
        """The server's paging state, which the request for the next page needs.

        None on the last page.
        """
        self._note_pages_known()
        return self._paging_state

    def start_fetching_next_page(self) -> None:
        """Request the next page.

        After this call, `result` and the callbacks are about the next page. This method does
        nothing while a requested page has not come yet.

        :raises QueryExhausted: if there is no further page.
        """
        if self._request is None:
            raise QueryExhausted("there are no more pages")
        self._note_pages_known()
        # Check this before acquiring the lock, too. A thread that has the lock and requests nothing
        # would keep the loop from requesting the page after this one.
        if not self._done and self._paging_state is not None:
            return
        lock, waits = self._get_page_lock()
        try:
            if not lock.acquire(waits):
                return
            completed, state = self._request, self._paging_state
            # If another thread or a callback has already requested the page, and it has not come
            # yet, do nothing.
            if not self._done and state is not None:
                return
            # Use the request that `_ask_for_page_ahead` has sent, if any.
            next_page, self._next = self._next, None
            is_new = next_page is None
            if next_page is None:  # `_next_page` raises QueryExhausted if `state` is None
                next_page = self.session._next_page(completed, state)
            self._done = False
            self._watch(next_page.request)
            self._watcher = None
            self._response = self._error = None
            self._error_owner = True  # no caller gets the original of a later error
        finally:
            # See `new_reentrant_lock` for this way to release the lock.
            try:
                lock.release()
            except RuntimeError:
                pass
        callbacks, waiters = self._callbacks, self._waiters
        if callbacks is not None:
            callbacks.forget(completed)
        # Wake threads that still wait for the previous page, so that they wait for the next page.
        # The thread that completes the previous page may not have seen the waiter.
        if waiters is not None and (waiter := waiters.pop(completed, None)) is not None:
            waiter.set()
        # `_complete` is called when the next page comes, or at once if it has already come.
        next_page.add_callback(self._complete)
        if is_new:
            next_page.start()

    def _ask_for_page_ahead(self) -> None:
        """Request the next page while the application still reads the current page.

        `start_fetching_next_page` later uses this request. Does nothing if there is no next page,
        or if it was already requested. Also does nothing if the future has callbacks, because they
        request pages themselves.
        """
        if self._paging_state is None or self._request is None:
            return
        lock, waits = self._get_page_lock()
        try:
            if not lock.acquire(waits):
                return
            # Check again under the lock, because another thread may have requested the page since.
            state = self._paging_state
            if state is None or self._next is not None or not self._done:
                return
            if self._callbacks is not None:
                return
            next_page = self._next = self.session._next_page(self._request, state)
        finally:
            # See `new_reentrant_lock` for this way to release the lock.
            try:
                lock.release()
            except RuntimeError:
                pass
        next_page.start()

    def _get_page_lock(self) -> tuple[threading.RLock, bool]:
        """Return the lock under which a thread decides to request a page.

        :returns: the lock, and True if the current thread may wait for the lock. False if the
            thread runs an event loop: if another thread has the lock, that thread requests the
            page. A loop must not wait for the lock: a signal handler may have interrupted the other
            thread, and may be waiting for a request, which needs the loop.
        """
        # `setdefault` is atomic, so two threads get the same object.
        lock: _PageLock = self._page_lock or vars(self).setdefault(
            "_page_lock", renewed(_PageLock())
        )
        return lock.lock, get_ident() not in self.session._loops.idents

    # -- details of the execution ------------------------------------------------------------------

    @property
    def message(self) -> Any:
        """The request's protocol message, with the attributes of cassandra-driver's messages."""
        return self.session._message_of_request(self._request)

    @property
    def prepared_statement(self) -> PreparedStatement | None:
        """The prepared statement that is executed; None for strings and batches."""
        statement: Any = self._request.statement if self._request is not None else self.query
        return getattr(statement, "prepared_statement", None)

    @property
    def timeout(self) -> float | None:
        """The time limit in seconds; None for no limit."""
        return self._request.timeout if self._request is not None else None

    @property
    def attempts(self) -> list[Attempt]:
        """All attempts so far. Each has its host, start, latency, error and retry decision."""
        # When a page is complete, `_history` includes the attempts of its request: do not add them
        # twice.
        current = self._request.attempts if self._request is not None and not self._done else []
        return [*self._history, *current]

    @property
    def attempted_hosts(self) -> list[Host]:
        """The hosts of all attempts, in order."""
        return [attempt.host for attempt in self.attempts]

    @property
    def coordinator_host(self) -> Host | None:
        """The host that has responded; None before the first attempt.

        While the request is under way, and if no host has responded, this is the host of the last
        attempt.
        """
        attempts = self.attempts
        if not self._done:
            return attempts[-1].host if attempts else None
        attempt = deciding_attempt(attempts, self._error)
        return attempt.host if attempt is not None else None

    _current_host = coordinator_host  # tracing libraries use this name

    @property
    def request_encoded_size(self) -> int | None:
        """The size of the request's body in bytes."""
        return self._request.request_body.size if self._request is not None else None

    @property
    def warnings(self) -> list[str] | None:
        """The server's warnings; None if the server sent no warnings."""
        self._check_complete("warnings")
        return getattr(self._last_answer(), "warnings", None)

    @property
    def custom_payload(self) -> Mapping[str, bytes] | None:
        """The custom payload of the server's response; None if it has none."""
        self._check_complete("custom_payload")
        return getattr(self._last_answer(), "custom_payload", None)

    def _last_answer(self) -> object:
        """Return the response; if the request has failed, return the error that ended it."""
        request = self._request
        if self._error is None or request is None or not request.attempts:
            return self._response
        attempt = deciding_attempt(request.attempts, self._error)
        return attempt.error if attempt is not None else None

    def _check_complete(self, attribute: str) -> None:
        if not self._done:
            raise DriverException(
                f"{attribute} cannot be known before the response has come; wait for result() first"
            )

    # -- tracing -----------------------------------------------------------------------------------

    def get_query_trace_ids(self) -> list[uuid.UUID]:
        """Return the trace ids of an execution with trace=True.

        There is an id for each page, and for each attempt that a server has answered with an error.
        """
        return list(self._trace_ids)

    def get_query_trace(
        self, max_wait: float | None = None, query_cl: int | None = None
    ) -> QueryTrace | None:
        """Read the trace of the last page or of its error; None if the execution was not traced.

        :param max_wait: how many seconds to wait until the trace is complete; None for
            `Session.max_trace_wait`.
        :param query_cl: the consistency level of the read; None for LOCAL_ONE.
        :raises TraceUnavailable: if the trace is not complete in time.
        """
        if not self._trace_ids:
            warn_of_missing_trace()
            return None
        return self._trace(self._trace_ids[-1], max_wait, query_cl)

    def get_all_query_traces(
        self, max_wait_per: float | None = None, query_cl: int | None = None
    ) -> list[QueryTrace]:
        """Read the traces of all pages, and of all attempts that servers answered with errors.

        :param max_wait_per: how many seconds to wait until each trace is complete; None for
            `Session.max_trace_wait`.
        :param query_cl: the consistency level of the reads; None for LOCAL_ONE.
        :raises TraceUnavailable: if a trace is not complete in time.
        """
        return [self._trace(trace_id, max_wait_per, query_cl) for trace_id in self._trace_ids]

    def _trace(
        self, trace_id: uuid.UUID, max_wait: float | None, query_cl: int | None
    ) -> QueryTrace:
        trace = QueryTrace(trace_id, self.session)
        limit = self.session.max_trace_wait if max_wait is None else max_wait
        trace.populate(limit, query_cl=query_cl)
        return trace

    def __repr__(self) -> str:
        if not self._done:
            outcome = "(no result yet)"
        else:
            outcome = repr(self._error) if self._error is not None else "complete"
        host = self.coordinator_host
        return f"<ResponseFuture: query='{self.query}' {outcome} coordinator_host={host}>"


ResponseFuture.__module__ = "cassandra.cluster"

add_habits(
    ResponseFuture,
    FUTURE,
    operations={"__getitem__": "this is a future; its rows are those of future.result()"},
)
