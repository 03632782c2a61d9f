"""Executes many statements concurrently with the blocking API, at most N requests at a time.

The limit of requests in flight also limits the memory.

These functions work with any session whose `execute_async` returns an object with `add_callbacks`.
Such an object may call a callback immediately, inside `add_callbacks`. If the callback then sent
the next statement itself, the stack would grow with each statement. So the callback only records
that another statement may be sent, and the loop that is already running sends it.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, Protocol, overload

from cassandra._habits import advise_on_pairs, is_table
from cassandra._imports import at_first_cluster
from cassandra._lazy import lazy_names
from cassandra._logs import Log
from cassandra._threads import Lock, Waiter, in_own_greenlet, new_lock, new_user_thread, new_waiter
from cassandra._unknown_options import unknown_option
from cassandra.client.checks import check_pairs, checked_concurrency
from cassandra.client.filling import fill
from cassandra.cluster.response_future import ResponseFuture
from cassandra.cluster.result_set import ResultSet
from cassandra.errors import ConnectionShutdown
from cassandra.query.settings import StatementSettings

if TYPE_CHECKING:
    from cassandra._signals import is_from_signal_handler, raise_interruption
    from cassandra.client.requests import Query
    from cassandra.cqltypes.failures import locate
    from cassandra.engine import happy_path
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.engine.request import Request
else:
    at_first_cluster(
        __name__,
        happy_path="cassandra._impl",
        is_from_signal_handler="cassandra._signals",
        locate="cassandra.cqltypes.failures",
        raise_interruption="cassandra._signals",
    )

__all__ = [
    "ExecutionResult",
    "execute_concurrent",
    "execute_concurrent_async",
    "execute_concurrent_with_args",
]


log = Log("cassandra.concurrent")

# If the application does not begin to read a generator of results within this time (seconds), the
# remaining statements are sent all the same.
_PATIENCE = 1.0

# The log message about statements that were not sent, because the session was shut down.
_NOT_SENT = (
    "a generator of execute_concurrent was not read to its end before its session was shut down: "
    "the statements that were not sent yet are lost. Read all of its results, or leave "
    "results_generator=True out"
)


class CallbackFuture(Protocol):
    """The methods of a `ResponseFuture` that this module uses.

    Sessions that applications fake in their tests may return other objects with these methods.
    """

    @property
    def add_callbacks(self) -> Callable[..., object]:
        """Accepts ``callback``, ``callback_args``, ``errback`` and ``errback_args``."""

    @property
    def clear_callbacks(self) -> Callable[[], object]:
        """Removes the callbacks, which otherwise form a reference cycle with the future."""


class ConcurrentSession(Protocol):
    """The method of a session that this module uses."""

    @property
    def execute_async(self) -> Callable[..., CallbackFuture]:
        """Accepts a statement, parameters, and options by keyword."""


class ExecutionResult(NamedTuple):
    """The outcome of one execution.

    :param success: True if the statement was executed, False if it failed.
    :param result_or_exc: the `ResultSet`, or the error if it failed.
    """

    success: bool
    result_or_exc: Any


advise_on_pairs(ExecutionResult)


def _check_session(call: str, session: object) -> None:
    """Raise TypeError if the first argument is not a session, but a statement or a list.

    :param call: the name of the called function, for the error.
    """
    if not hasattr(session, "execute_async"):
        advice = (
            "write `async for success, result in session.execute_concurrent(pairs)`"
            if hasattr(session, "execute")
            else f"write {call}(session, ...)"
        )
        raise TypeError(
            f"the first argument of {call} is the session, but is of type "
            f"{type(session).__name__}: {advice}"
        )


@overload
def execute_concurrent(
    session: ConcurrentSession,
    statements_and_parameters: Iterable[tuple[Any, Any]],
    concurrency: int = 100,
    raise_on_first_error: bool = True,
    results_generator: Literal[False] = False,
    execution_profile: ExecutionProfile | str | None = None,
    row_type: type[Any] | None = None,
) -> list[ExecutionResult]: ...


@overload
def execute_concurrent(
    session: ConcurrentSession,
    statements_and_parameters: Iterable[tuple[Any, Any]],
    concurrency: int = 100,
    raise_on_first_error: bool = True,
    results_generator: Literal[True] = ...,
    execution_profile: ExecutionProfile | str | None = None,
    row_type: type[Any] | None = None,
) -> Generator[ExecutionResult, None, None]: ...


@overload
def execute_concurrent(
    session: ConcurrentSession,
    statements_and_parameters: Iterable[tuple[Any, Any]],
    concurrency: int = 100,
    raise_on_first_error: bool = True,
    results_generator: bool = ...,
    execution_profile: ExecutionProfile | str | None = None,
    row_type: type[Any] | None = None,
) -> list[ExecutionResult] | Generator[ExecutionResult, None, None]: ...


def execute_concurrent(
    session: ConcurrentSession,
    statements_and_parameters: Iterable[tuple[Any, Any]],
    concurrency: int = 100,
    raise_on_first_error: bool = True,
    results_generator: bool = False,
    execution_profile: ExecutionProfile | str | None = None,
    row_type: type[Any] | None = None,
    **_unknown: NoReturn,
) -> list[ExecutionResult] | Generator[ExecutionResult, None, None]:
    """Execute (statement, parameters) pairs, and return their results in the same order.

    :param session: a connected session.
    :param statements_and_parameters: an iterable of (statement, parameters) pairs; parameters may
        be None.
    :param concurrency: the maximum number of requests in flight.
    :param raise_on_first_error: True sends no more statements after an error, and raises the error
        when all requests in flight are done. False returns errors as results.
    :param results_generator: True returns a generator of results instead of a list. The call sends
        the first `concurrency` statements, and more are sent as you read results. The statements
        and results of a large load are thus never all in memory. If you do not begin to read
        within a second, or close or drop the generator, the remaining statements are sent in the
        background, unless the generator has raised an error.
    :param execution_profile: a profile or its name, for all executions.
    :param row_type: the class of rows for all results, as in `Session.execute`.
    :returns: an `ExecutionResult` (success, result_or_exc) for each pair.
    :raises ValueError: if `concurrency` is not greater than 0.
    :raises TypeError: if `row_type` cannot be used for rows.
    """
    if _unknown:
        raise unknown_option("execute_concurrent", _unknown)
    _check_session("execute_concurrent", session)
    concurrency = checked_concurrency(concurrency)
    check_pairs(statements_and_parameters)
    options = _execute_options(execution_profile, row_type)
    run = _Run(session, statements_and_parameters, concurrency, raise_on_first_error, options)
    if not results_generator:
        # The caller does not read results one by one, so wake this thread only when many results
        # have come.
        run.batch_wakeups()
        return list(run.outcomes())
    outcomes = run.generator()
    next(outcomes)  # send the first statements now, and not only when the first result is read
    return outcomes


def execute_each(
    session: ConcurrentSession,
    statements: Iterator[Any],
    concurrency: int,
    take: Callable[[bool, Any], object],
    execution_profile: ExecutionProfile | str | None = None,
) -> None:
    """Execute statements, and call `take` with each result in the order of the statements.

    The results are not stored. If `take` raises an error, no more statements are sent.

    :param session: a connected session.
    :param statements: an iterator of statements. Getting its next statement must not block.
    :param concurrency: the maximum number of requests in flight.
    :param take: called with (True, the result) or (False, the error) for each execution.
    :param execution_profile: a profile or its name, for all executions.
    """
    options = _execute_options(execution_profile, row_type=None)
    run = _Run(
        session, zip(statements, repeat(None)), concurrency, fail_fast=False, options=options
    )
    run.batch_wakeups(are_ready=True)
    for success, result in run.outcomes():
        take(success, result)


@overload
def execute_concurrent_with_args(
    session: ConcurrentSession,
    statement: Query,
    parameters: Iterable[Any],
    concurrency: int = 100,
    raise_on_first_error: bool = True,
    results_generator: Literal[False] = False,
    execution_profile: ExecutionProfile | str | None = None,
    row_type: type[Any] | None = None,
) -> list[ExecutionResult]: ...


@overload
def execute_concurrent_with_args(
    session: ConcurrentSession,
    statement: Query,
    parameters: Iterable[Any],
    concurrency: int = 100,
    raise_on_first_error: bool = True,
    results_generator: Literal[True] = ...,
    execution_profile: ExecutionProfile | str | None = None,
    row_type: type[Any] | None = None,
) -> Generator[ExecutionResult, None, None]: ...


@overload
def execute_concurrent_with_args(
    session: ConcurrentSession,
    statement: Query,
    parameters: Iterable[Any],
    concurrency: int = 100,
    raise_on_first_error: bool = True,
    results_generator: bool = ...,
    execution_profile: ExecutionProfile | str | None = None,
    row_type: type[Any] | None = None,
) -> list[ExecutionResult] | Generator[ExecutionResult, None, None]: ...


def execute_concurrent_with_args(
    session: ConcurrentSession,
    statement: Query,
    parameters: Iterable[Any],
    concurrency: int = 100,
    raise_on_first_error: bool = True,
    results_generator: bool = False,
    execution_profile: ExecutionProfile | str | None = None,
    row_type: type[Any] | None = None,
    **_unknown: NoReturn,
) -> list[ExecutionResult] | Generator[ExecutionResult, None, None]:
    """Execute the same statement once with each item of `parameters`, like `execute_concurrent`.

    :param session: a connected session.
    :param statement: a CQL string, or a statement.
    :param parameters: the values for each execution, as a sequence or mapping.
    :param concurrency: the maximum number of requests in flight.
    :param raise_on_first_error: True sends no more statements after an error, and raises the error
        when all requests in flight are done. False returns errors as results.
    :param results_generator: True returns a generator of results instead of a list.
    :param execution_profile: a profile or its name, for all executions.
    :param row_type: the class of rows for all results, as in `Session.execute`.
    :returns: the same as `execute_concurrent`.
    :raises ValueError: if `concurrency` is not greater than 0.
    :raises TypeError: if `row_type` cannot be used for rows.
    """
    if _unknown:
        raise unknown_option("execute_concurrent_with_args", _unknown)
    _check_session("execute_concurrent_with_args", session)
    return execute_concurrent(
        session,
        _Pairs(statement, parameters),
        concurrency,
        raise_on_first_error,
        results_generator,
        execution_profile,
        row_type,
    )


class _Pairs:
    """An iterable of pairs: the same statement with each item of `parameters`."""

    __slots__ = ("_statement", "parameters")

    def __init__(self, statement: object, parameters: Iterable[Any]) -> None:
        if is_table(parameters):
            raise TypeError(
                f"iterating over a {type(parameters).__name__} yields its columns, and not its "
                "rows: write session.load(table, frame), which writes its rows, or pass "
                "frame.itertuples(index=False, name=None)"
            )
        if isinstance(parameters, Mapping):
            raise TypeError(
                "the parameters are a sequence of rows, and not a mapping, whose keys would be "
                "taken for rows: write [mapping] for one row"
            )
        if isinstance(parameters, StatementSettings):
            raise TypeError(
                f"the parameters are a sequence of rows, but are a {type(parameters).__name__}: "
                "write the statement before the rows"
            )
        self._statement = statement
        self.parameters = parameters

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return zip(repeat(self._statement), self.parameters, strict=False)


def _execute_options(
    execution_profile: ExecutionProfile | str | None, row_type: type[Any] | None
) -> dict[str, Any]:
    """Return the keyword arguments for `Session.execute_async`.

    :raises TypeError: if `row_type` cannot be used for rows.
    """
    options: dict[str, Any] = {}
    if execution_profile is not None:
        options["execution_profile"] = execution_profile
    if row_type is not None:
        from cassandra.query.typed_rows import typed_rows  # few applications need this module

        typed_rows(row_type)
        options["row_type"] = row_type
    return options


def _watched_submit(session: ConcurrentSession) -> Callable[..., Any] | None:
    """Return the session's `_submit_watched`, or None if we must call `execute_async` instead.

    We must call `execute_async` if the session is not the driver's own, or if user code has
    replaced `execute_async`. Tracing libraries replace it on the class or on the session, and
    expect a call for each statement.
    """
    original = getattr(type(session), "_own_execute_async", None)
    if original is None or "execute_async" in vars(session):
        return None
    own_session: Any = session
    return own_session._submit_watched if type(own_session).execute_async is original else None


class _Run:
    """The state of one call of `execute_concurrent` or `execute_each`.

    Statements are sent in the thread that reads the results. Executions may complete in any thread.
    """

    def __init__(
        self,
        session: ConcurrentSession,
        statements: Iterable[tuple[Any, Any]],
        concurrency: int,
        fail_fast: bool,
        options: dict[str, Any],
    ) -> None:
        self._session = session
        self._statements = iter(statements)
        # Statements in a list or tuple are available without waiting, so many statements are passed
        # to the event loop together. Any other iterable may block before each statement, so each
        # statement is passed on at once.
        source = statements.parameters if isinstance(statements, _Pairs) else statements
        self._burst_size = concurrency if isinstance(source, (list, tuple)) else 1
        # Limit the concurrency to the capacity of the connections: further requests would only wait
        # in the driver and use memory.
        capacity = getattr(session, "request_capacity", 0)
        # Check the type, because a mock of a session may return any object.
        if isinstance(capacity, int) and capacity > 0:
            concurrency = min(concurrency, capacity)
        self._fail_fast = fail_fast
        self._execute_options = options
        self._profile = options.get("execution_profile")
        self._row_type = options.get("row_type")
        refuse_on_loop = getattr(session, "_refuse_on_loop", None)
        # Refuse a call in the event loop's own thread: it would wait for results that the same
        # thread has to receive.
        if refuse_on_loop is not None:
            refuse_on_loop(
                "execute_concurrent()", "execute_concurrent_async, or execute_async with callbacks"
            )
        # The session's method that raises an error in a forked child; None for a mock, which does
        # not have the method.
        self._refuse_in_child = getattr(session, "_refuse_in_child", None)
        # The session's method that waits for its loops, and notices if they are blocked. Look it up
        # in the class: a mock would return at once.
        has_loops = hasattr(type(session), "_wait_patiently")
        self._wait_patiently = session._wait_patiently if has_loops else None  # type: ignore[attr-defined]
        self._submit = _watched_submit(session)
        # The session's happy path (for requests that need no retry, tracing or paging) puts results
        # into the collector without creating a future. It can be used if there are no options, and
        # if user code has not replaced `execute_async`.
        path = None
        if self._submit is not None and not options:
            own_session: Any = session
            path, self._start_burst = own_session._happy_path()
        self._collector = happy_path.Collector(concurrency, ExecutionResult, path=path)
        # The lock that the reading thread waits for. The queue is empty while no thread waits.
        self._waiters: deque[Waiter] = deque()
        # This lock protects the statements and the collector, because `_send_ahead` uses both in
        # another thread.
        self._lock = new_lock()
        # The outcomes that `_send_ahead` has taken from the collector, and the error that ended it
        # (None without an error).
        self._ahead: list[ExecutionResult] = []
        self._error_ahead: BaseException | None = None
        # `_send_ahead` waits for this lock, which is released when the application begins to read
        # the generator or drops it; None if `_send_ahead` does not run.
        self._end_of_patience: Waiter | None = None
        # True if the application reads the generator or has dropped it, so `_send_ahead` must end.
        self._is_read = False
        # Do not pass a bound method: it would keep this object, the session and the statements
        # alive as long as the collector.
        self._collector.notify_reader = partial(_wake_up, self._waiters)

    def batch_wakeups(self, are_ready: bool = False) -> None:
        """Wake the reading thread only when many results have come.

        Waking the thread takes longer than reading a result.

        :param are_ready: True if the iterator of statements never waits, so that many statements
            can be passed to the event loop together.
        """
        self._collector.batches_wakeups = True
        if are_ready:
            self._burst_size = sys.maxsize

    def generator(self) -> Generator[Any, None, None]:
        """Send the first statements and yield None; then yield the results in order.

        The caller discards the None with `next`, which sends the first statements at once.
        """
        try:
            self._fill()
            if not self._collector.is_exhausted:
                self._start_sending_ahead()
            yield None
            self._end_sending_ahead()
            # Do not call `outcomes`: each result would pass through one more generator.
            for outcomes in self._batches():
                yield from outcomes
        except GeneratorExit:
            # The caller has dropped the generator, so nobody reads the results any more. But
            # `execute_concurrent` promises to send all statements.
            self._end_sending_ahead()
            if not self._collector.is_exhausted:
                self._send_the_rest()
            raise

    def _start_sending_ahead(self) -> None:
        """Start the thread that sends statements until the application reads the generator."""
        self._end_of_patience = new_waiter()
        try:
            new_user_thread(self._send_ahead, "cassandra-concurrent-ahead").start()
        except RuntimeError:  # the interpreter is shutting down, or has no more threads
            self._end_of_patience = None

    def _end_sending_ahead(self) -> None:
        """End the thread of `_send_ahead`, because the generator is read now, or was dropped."""
        waiter, self._end_of_patience = self._end_of_patience, None
        if waiter is not None:
            self._is_read = True
            waiter.release()
            _wake_up(self._waiters)

    def _send_ahead(self) -> None:
        """Send statements until the application reads the generator, and keep their outcomes.

        An application may keep a generator and never read it. cassandra-driver sends all statements
        of such a generator, so this driver sends them, too. But first, wait for a second: if the
        application does read the generator, statements and outcomes should not all be in memory.
        """
        waiter = self._end_of_patience
        if waiter is None or waiter.acquire(timeout=_PATIENCE):
            return
        try:
            while self._send_some_ahead():
                self._wait(is_ahead=True)
        except BaseException as error:
            # The iterable of statements has raised an error: `outcomes` raises it again.
            self._error_ahead = error

    def _send_some_ahead(self) -> bool:
        """Send as many statements as the collector wants; return False if no more must be sent.

        No more statements are sent if the application has begun to read, if all statements were
        sent, or if a statement has failed and `fail_fast` is set.
        """
        collector = self._collector
        with self._lock:
            collector.is_paused = self._fail_fast and collector.has_failed
            if self._is_read or collector.is_exhausted or collector.is_paused:
                return False
            if collector.wants_more:
                self._fill()
            outcomes = collector.take()
            self._ahead += outcomes
            if any(isinstance(outcome[1], ConnectionShutdown) for outcome in outcomes):
                log.warning(_NOT_SENT)
                collector.is_exhausted = True  # the iterable of statements may be endless
                return False
            return True

    def _send_the_rest(self) -> None:
        """Send the remaining statements in a new thread, and drop their results."""

        def send() -> None:
            try:
                for _, outcome in self.outcomes():
                    # Stop when the session is closed: the iterable of statements may be endless.
                    if isinstance(outcome, ConnectionShutdown):
                        log.warning(_NOT_SENT)
                        return
            except Exception:
                log.exception("the statements of a generator that was dropped could not be read")

        # While Python 3.11 or older shuts down, a new thread never runs, but `start` waits for it:
        # send nothing.
        if sys.is_finalizing():
            return
        self._fail_fast = False
        try:
            if self._refuse_in_child is not None:
                self._refuse_in_child()  # in a forked child, leave the statements to the parent
            new_user_thread(send, "cassandra-concurrent").start()
        except (ConnectionShutdown, RuntimeError):  # RuntimeError: the interpreter is shutting down
            pass

    def outcomes(self) -> Iterator[ExecutionResult]:
        """Yield results in order, and send more statements while the caller reads them.

        A second call continues after the results that the first call has yielded.
        """
        for outcomes in self._batches():
            yield from outcomes

    def _batches(self) -> Iterator[Iterable[ExecutionResult]]:
        """Yield the results in order, several at a time; see `outcomes`."""
        collector = self._collector
        while True:
            with self._lock:
                if self._error_ahead is not None:
                    raise self._error_ahead
                # After an error that will be raised, send no more statements.
                collector.is_paused = self._fail_fast and collector.has_failed
                # Send more statements before yielding results: the caller may be slow, and the
                # servers should not be idle while it processes a result.
                if collector.wants_more:
                    self._fill()
                ready = collector.take()
                if self._ahead:
                    ready, self._ahead = self._ahead + ready, []
            if collector.has_failed:
                raise_interruption(ready)
            if collector.has_failed and self._fail_fast:
                yield self._yield_until_failure(ready)
            elif ready:
                yield ready
            elif collector.is_over:
                return
            else:
                self._wait()

    def _yield_until_failure(self, ready: list[ExecutionResult]) -> Iterator[ExecutionResult]:
        """Yield the results in `ready` up to the first error, and raise it after all requests end.

        If `ready` is empty, wait for more results. A statement before the failed statement is then
        still in flight, so the error must not be raised yet.
        """
        collector = self._collector
        # The collector has counted the results in `ready` as delivered already.
        first_position = collector.delivered - len(ready)
        for position, outcome in enumerate(ready, first_position):
            # Raise the error of the earliest failed statement, and not the error that came first,
            # so that repeated runs raise the same error.
            if not outcome.success:
                # Send no more statements, and wait for those in flight.
                collector.is_exhausted = True
                while not collector.is_over:
                    self._wait()
                    collector.take()
                try:
                    locate(outcome.result_or_exc, f"row {position}")
                    raise outcome.result_or_exc
                finally:
                    # Drop this frame's references to the error: the error's traceback refers to
                    # this frame, so there would be a reference cycle.
                    del outcome
                    ready.clear()
            yield outcome
        if not ready:
            self._wait()

    def _fill(self) -> None:
        fill(self._collector, self._statements, self._burst_size, self._start_all, self._send)

    def _start_all(self, burst: list[Request]) -> None:
        self._start_burst(burst)

    def _send(self, statement: object, parameters: object, position: int) -> None:
        """Start one execution; its outcome is put into the collector under `position`."""
        try:
            if self._submit is not None:
                # `_on_done` must not decode the rows: the thread that reads the results does this.
                self._submit(
                    statement, parameters, self._on_done, position, self._profile, self._row_type
                )
                return
            future = self._session.execute_async(statement, parameters, **self._execute_options)
            _add_callbacks(future, position, self._on_success, self._on_error)
        except Exception as error:
            self._collector.put(position, False, error)

    def _on_done(self, future: ResponseFuture, position: int) -> None:
        """Called when a future of `_submit` is complete: store its outcome."""
        error = future.error
        if error is None:
            self._collector.put(position, True, future.result())
        else:
            self._collector.put(position, False, error)

    def _on_success(self, rows: object, future: CallbackFuture, position: int) -> None:
        # Break a reference cycle: the callbacks of the future have the future as an argument.
        future.clear_callbacks()
        self._collector.put(position, True, _result_set(future, rows))

    def _on_error(self, error: BaseException, future: CallbackFuture, position: int) -> None:
        future.clear_callbacks()
        self._collector.put(position, False, error)

    def _wait(self, is_ahead: bool = False) -> None:
        """Wait until the collector is ready, or all executions are complete.

        :param is_ahead: True to wait no longer than until the application reads the generator.
        """
        collector = self._collector
        while not (collector.is_ready or collector.is_over or (is_ahead and self._is_read)):
            waiter = new_waiter()
            # Register the waiter first, and then check again. A thread that completes an execution
            # first changes the collector and then looks for a waiter. So either we see its change,
            # or it sees our waiter.
            self._waiters.append(waiter)
            collector.is_awaited = True
            if not (collector.is_ready or collector.is_over or (is_ahead and self._is_read)):
                if self._refuse_in_child is not None:
                    self._refuse_in_child()
                if self._wait_patiently is None:
                    waiter.acquire()
                else:
                    self._wait_patiently(partial(_acquire, waiter))


def _acquire(waiter: Waiter, seconds: float) -> bool:
    return waiter.acquire(timeout=seconds)


def _wake_up(waiters: deque[Waiter]) -> None:
    """Wake the thread that waits in `_Run._wait`, if there is one."""
    while waiters:
        try:
            waiter = waiters.popleft()
        except IndexError:  # another thread has taken the last waiter
            return
        waiter.release()


def _add_callbacks(
    future: CallbackFuture,
    index: int,
    on_success: Callable[..., object],
    on_error: Callable[..., object],
) -> None:
    """Register the callbacks for the end of an execution.

    They are called as ``on_success(rows, future, index)`` or ``on_error(error, future, index)``.
    """
    arguments = (future, index)
    future.add_callbacks(
        callback=on_success, callback_args=arguments, errback=on_error, errback_args=arguments
    )


def _result_set(future: CallbackFuture, rows: object) -> ResultSet[Any]:
    """Return the `ResultSet` of an execution.

    If the future is not the driver's own, create the `ResultSet` from the rows that were passed to
    the callback.
    """
    if isinstance(future, ResponseFuture):
        return future.result()
    return rows if isinstance(rows, ResultSet) else ResultSet(future, rows)


def execute_concurrent_async(
    session: ConcurrentSession,
    statements_and_parameters: Iterable[tuple[Any, Any]],
    concurrency: int = 100,
    raise_on_first_error: bool = False,
    execution_profile: ExecutionProfile | str | None = None,
    row_type: type[Any] | None = None,
) -> Future[list[ExecutionResult]]:
    """Execute (statement, parameters) pairs, and return a future of their results at once.

    The iterable is read completely before the call returns. If you cancel the future, no more
    statements are sent; requests in flight continue.

    :param session: a connected session.
    :param statements_and_parameters: an iterable of (statement, parameters) pairs; parameters may
        be None.
    :param concurrency: the maximum number of requests in flight.
    :param raise_on_first_error: True sends no more statements after an error, and sets that error
        as the future's. False returns errors as results.
    :param execution_profile: an `ExecutionProfile`, or the name of a profile; None for the default.
    :param row_type: the class of rows, as in `Session.execute`; None for the rows of the row
        factory.
    :returns: a future of the list of results, in the order of the statements.
    """
    _check_session("execute_concurrent_async", session)
    concurrency = checked_concurrency(concurrency)
    options = _execute_options(execution_profile, row_type)
    run = _UnwatchedRun(session, list(statements_and_parameters), raise_on_first_error, options)
    # Send the first statements. Each execution that completes then sends another statement.
    run.send(concurrency)
    return run.future


class _UnwatchedRun:
    """The state of one call of `execute_concurrent_async`, for which no thread waits.

    When an execution completes, the callback sends the next statement in the thread in which it is
    called.
    """

    def __init__(
        self,
        session: ConcurrentSession,
        statements: list[tuple[Any, Any]],
        fail_fast: bool,
        options: dict[str, Any],
    ) -> None:
        self.future: Future[list[ExecutionResult]] = Future()
        self._session = session
        self._statements = statements
        self._fail_fast = fail_fast
        self._execute_options = options
        # Callbacks may run in any thread, so a thread must hold this lock while it changes the
        # attributes below. To avoid deadlocks, no user code is called while the lock is held.
        self._lock = Lock()
        self._settle_in_greenlet = in_own_greenlet(self._settle_future)
        self._outcomes: list[Any] = [None] * len(statements)
        self._next = 0  # the index of the next statement to send
        self._remaining = len(statements)  # the number of statements without an outcome
        self._capacity = 0  # how many more statements may be sent now
        self._sending = False  # True while a call of `send` runs
        self._ended = False  # True once the future has its result, or will get it

    def send(self, count: int) -> None:
        """Send `count` more statements.

        If an earlier call of this method is still running, that call also sends these statements,
        and the new call returns at once. This happens if a callback inside `_send_one` calls
        `send`. So the stack does not grow with the number of statements.
        """
        with self._lock:
            self._capacity += count
            if self._sending:
                return
            self._sending = True
        while True:
            with self._lock:
                if (
                    self._capacity == 0
                    or self._next == len(self._statements)
                    or self._ended
                    or self.future.cancelled()
                ):
                    self._sending = False
                    break
                self._capacity -= 1
                index = self._next
                self._next += 1
            self._send_one(index)
        # Without any statements, no execution completes and ends the run, so end it here.
        if not self._statements:
            self._end(error=None)

    def _send_one(self, index: int) -> None:
        """Send a statement; an error in sending counts as the outcome of the statement."""
        statement, parameters = self._statements[index]
        try:
            future = self._session.execute_async(statement, parameters, **self._execute_options)
            _add_callbacks(future, index, self._on_success, self._on_error)
        except Exception as error:
            self._fail(error, index)
            if is_from_signal_handler(error):
                raise

    def _on_success(self, rows: object, future: CallbackFuture, index: int) -> None:
        future.clear_callbacks()
        self._complete(index, ExecutionResult(True, _result_set(future, rows)))

    def _on_error(self, error: BaseException, future: CallbackFuture, index: int) -> None:
        future.clear_callbacks()
        self._fail(error, index)

    def _fail(self, error: BaseException, index: int) -> None:
        if self._fail_fast:
            locate(error, f"row {index}")
            self._end(error)
        self._complete(index, ExecutionResult(False, error))

    def _complete(self, index: int, outcome: ExecutionResult) -> None:
        """Store the outcome of a statement, and send another statement or end the run."""
        with self._lock:
            self._outcomes[index] = outcome
            self._remaining -= 1
            is_over = self._remaining == 0
        if is_over:
            self._end(error=None)
        else:
            # One request has ended, so one more statement may be sent.
            self.send(1)

    def _end(self, error: BaseException | None) -> None:
        """Settle the future with the error, or with all outcomes, if it is not settled yet."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
        self._settle_in_greenlet(error)

    def _settle_future(self, error: BaseException | None) -> None:
        """Set the result of the future: the error, or all outcomes."""
        # Mark the future as running: then the caller can no longer cancel it, so setting its result
        # cannot fail. `set_running_or_notify_cancel` returns False if it was cancelled before.
        if not self.future.set_running_or_notify_cancel():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(self._outcomes)


__getattr__ = lazy_names(
    __name__,
    dict.fromkeys(
        (
            "ConcurrentExecutorFutureResults",
            "ConcurrentExecutorGenResults",
            "ConcurrentExecutorListResults",
        ),
        "cassandra._compat.executors",
    ),
)
