"""Many concurrent executions with the blocking API, with bounded memory.

This works with any session whose `execute_async` returns an object with `add_callbacks`. A callback
that is called immediately, inside `add_callbacks`, does not deepen the stack: it only records that
there is more to send, and the running loop continues.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, Protocol, overload

from cassandra._imports import at_first_cluster
from cassandra._lazy import lazy_names
from cassandra._threads import Lock, Waiter, in_own_greenlet, new_user_thread, new_waiter
from cassandra._unknown_options import unknown_option
from cassandra.client.checks import check_pairs
from cassandra.client.filling import fill
from cassandra.cluster.response_future import ResponseFuture
from cassandra.cluster.result_set import ResultSet
from cassandra.errors import ConnectionShutdown

if TYPE_CHECKING:
    from cassandra.client.requests import Query
    from cassandra.cqltypes.failures import locate
    from cassandra.engine import happy_path
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.engine.request import Request
else:
    at_first_cluster(__name__, happy_path="cassandra._impl", locate="cassandra.cqltypes.failures")

__all__ = [
    "ExecutionResult",
    "execute_concurrent",
    "execute_concurrent_async",
    "execute_concurrent_with_args",
]


log = logging.getLogger("cassandra.concurrent")


class CallbackFuture(Protocol):
    """The part of a `ResponseFuture` that is used here. Futures of test sessions have it, too."""

    @property
    def add_callbacks(self) -> Callable[..., object]:
        """Accepts ``callback``, ``callback_args``, ``errback`` and ``errback_args``."""

    @property
    def clear_callbacks(self) -> Callable[[], object]:
        """Removes the callbacks, and with them a reference cycle."""


class ConcurrentSession(Protocol):
    """The part of a session that is used here."""

    @property
    def execute_async(self) -> Callable[..., CallbackFuture]:
        """Accepts a statement, parameters, and options by keyword."""


class ExecutionResult(NamedTuple):
    """The result of one execution.

    :param success: False if the execution failed.
    :param result_or_exc: the `ResultSet`, or the error if it failed.
    """

    success: bool
    result_or_exc: Any


def _checked(concurrency: object) -> Any:
    """Return `concurrency`; a text of a command line or an environment variable is no number."""
    if not hasattr(concurrency, "__float__"):
        raise TypeError(
            f"concurrency must be a number of requests, but is {concurrency!r} of type "
            f"{type(concurrency).__name__}"
            + (f": write int({concurrency!r})" if isinstance(concurrency, str) else "")
        )
    return concurrency


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
    :param raise_on_first_error: True raises the first error, after all requests in flight are done.
    :param results_generator: True returns a generator of results. The call sends the first
        `concurrency` statements. More are sent as you read results, so that the statements and
        results of a large load are never all in memory. If you close or drop the generator, the
        remaining statements are sent in the background, unless an error has ended it.
    :param execution_profile: a profile or its name, for all executions.
    :param row_type: the class of rows for all results, as in `Session.execute`.
    :returns: an `ExecutionResult` (success, result_or_exc) for each pair.
    :raises ValueError: if `concurrency` is not greater than 0.
    :raises TypeError: if `row_type` cannot be used for rows.
    """
    if _unknown:
        raise unknown_option("execute_concurrent", _unknown)
    if _checked(concurrency) <= 0:
        raise ValueError(f"concurrency must be greater than 0, but is {concurrency}")
    check_pairs(statements_and_parameters)
    options = _options(execution_profile, row_type)
    run = _Run(session, statements_and_parameters, concurrency, raise_on_first_error, options)
    if not results_generator:
        run.batch_wakeups()
        return list(run.outcomes())
    outcomes = run.generator()
    next(outcomes)
    return outcomes


def execute_each(
    session: ConcurrentSession,
    statements: Iterator[Any],
    concurrency: int,
    take: Callable[[bool, Any], object],
    execution_profile: ExecutionProfile | str | None = None,
) -> None:
    """Execute statements, and pass on their results in order, without storing them.

    :param session: a connected session.
    :param statements: the statements, which must be available without waiting. If `take` raises an
        error, no more are sent.
    :param concurrency: the maximum number of requests in flight.
    :param take: called with (success, result or error) for each execution.
    :param execution_profile: a profile or its name, for all executions.
    """
    options = _options(execution_profile, None)
    run = _Run(session, zip(statements, repeat(None)), concurrency, False, options)
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
    """Execute one statement with each item of `parameters`, like `execute_concurrent`.

    :param session: a connected session.
    :param statement: a CQL string, or a statement.
    :param parameters: the values for each execution, as a sequence or mapping.
    :param concurrency: the maximum number of requests in flight.
    :param raise_on_first_error: True raises the first error, after all requests in flight are done.
    :param results_generator: True returns a generator of results instead of a list.
    :param execution_profile: a profile or its name, for all executions.
    :param row_type: the class of rows for all results, as in `Session.execute`.
    :returns: the same as `execute_concurrent`.
    :raises ValueError: if `concurrency` is not greater than 0.
    :raises TypeError: if `row_type` cannot be used for rows.
    """
    if _unknown:
        raise unknown_option("execute_concurrent_with_args", _unknown)
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
    """One statement with each item of `parameters`."""

    __slots__ = ("_statement", "parameters")

    def __init__(self, statement: object, parameters: Iterable[Any]) -> None:
        self._statement = statement
        self.parameters = parameters

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return zip(repeat(self._statement), self.parameters, strict=False)


def _options(
    execution_profile: ExecutionProfile | str | None, row_type: type[Any] | None
) -> dict[str, Any]:
    """Return the options for `Session.execute_async`; raise TypeError for a wrong `row_type`."""
    options: dict[str, Any] = {}
    if execution_profile is not None:
        options["execution_profile"] = execution_profile
    if row_type is not None:
        from cassandra.query.typed_rows import typed_rows  # only for applications that use it

        typed_rows(row_type)
        options["row_type"] = row_type
    return options


def _submit_of(session: ConcurrentSession) -> Any:
    """Return the session's `_submit_watched`.

    Return None if there is none, or if user code has replaced `execute_async`: tracing libraries
    wrap it on the class or on the session.
    """
    original = getattr(type(session), "_own_execute_async", None)
    if original is None or "execute_async" in vars(session):
        return None
    own_session: Any = session
    return own_session._submit_watched if type(own_session).execute_async is original else None


class _Run:
    """One call: sends from the reader's thread, and accepts completions from any thread."""

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
        # If the statements are available without waiting, they are passed to the event loop
        # together.
        source = statements.parameters if isinstance(statements, _Pairs) else statements
        self._burst_size = concurrency if isinstance(source, (list, tuple)) else 1
        # More requests than the connections can carry would only wait in the driver, and use
        # memory.
        capacity = getattr(session, "request_capacity", 0)
        # A substitute for a session may have any value here.
        if isinstance(capacity, int) and capacity > 0:
            concurrency = min(concurrency, capacity)
        self._fail_fast = fail_fast
        self._options = options
        self._profile = options.get("execution_profile")
        self._row_type = options.get("row_type")
        refuse = getattr(session, "_refuse_on_loop", None)
        # On the event loop's own thread, waiting would block the loop that has to respond.
        if refuse is not None:
            refuse(
                "execute_concurrent()", "execute_concurrent_async, or execute_async with callbacks"
            )
        # A substitute for a session has no such check.
        self._refuse_in_child = getattr(session, "_refuse_in_child", None)
        self._submit = _submit_of(session)
        path = None
        # If no option needs a future, we bypass the future.
        if self._submit is not None and not options:
            own_session: Any = session
            path, self._put = own_session._happy_path()
        self._collector = happy_path.Collector(concurrency, ExecutionResult, path)
        # The reader's waiter; at most one.
        self._waiters: deque[Waiter] = deque()
        # We do not store a bound method, which would keep this object alive, and with it the
        # session and the statements.
        self._collector.notify_reader = partial(_wake_up, self._waiters)

    def batch_wakeups(self, are_ready: bool = False) -> None:
        """Wake up for many results at a time: a wake-up takes longer than reading a result.

        :param are_ready: True if statements are available without waiting.
        """
        self._collector.batches_wakeups = True
        if are_ready:
            self._burst_size = sys.maxsize

    def generator(self) -> Generator[Any, None, None]:
        """Send the first statements and yield None; then yield the results in order."""
        try:
            self._fill()
            yield None
            yield from self.outcomes()
        except GeneratorExit:
            # Nobody reads the results any more, but all statements are sent as documented.
            if not self._collector.is_exhausted:
                self._send_the_rest()
            raise

    def _send_the_rest(self) -> None:
        def send() -> None:
            try:
                for _, outcome in self.outcomes():
                    # An endless iterable ends with the session.
                    if isinstance(outcome, ConnectionShutdown):
                        return
            except Exception:
                log.exception("the statements of a generator that was dropped could not be read")

        # Up to Python 3.11, a thread started now would never run, and `start` would wait for it.
        if sys.is_finalizing():
            return
        self._fail_fast = False
        try:
            if self._refuse_in_child is not None:
                self._refuse_in_child()  # the parent sends them
            new_user_thread(send, "cassandra-concurrent").start()
        except (ConnectionShutdown, RuntimeError):  # or the interpreter is shutting down
            pass

    def outcomes(self) -> Iterator[ExecutionResult]:
        """Yield results in order, and send more statements while the results are read.

        Another call continues after the results that this call has yielded.
        """
        collector = self._collector
        while True:
            collector.is_paused = self._fail_fast and collector.has_failed
            # Do this first: a slow reader must not leave the servers idle.
            if collector.wants_more:
                self._fill()
            ready = collector.take()
            if collector.has_failed and self._fail_fast:
                yield from self._yield_until_failure(ready)
            elif ready:
                yield from ready
            elif collector.is_over:
                return
            else:
                self._wait()

    def _yield_until_failure(self, ready: list[ExecutionResult]) -> Iterator[ExecutionResult]:
        """Yield results up to the first error. Raise it when no request is in flight any more."""
        collector = self._collector
        for position, outcome in enumerate(ready, collector.delivered - len(ready)):
            # First by position, not by time, so that the same run fails with the same error.
            if not outcome[0]:
                collector.is_exhausted = True
                while not collector.is_over:
                    self._wait()
                    collector.take()
                try:
                    locate(outcome[1], f"row {position}")
                    raise outcome[1]
                finally:
                    # The error refers to this frame and the caller's frame, so drop our references
                    # to it.
                    del outcome
                    ready.clear()
            yield outcome
        if not ready:
            self._wait()

    def _fill(self) -> None:
        fill(self._collector, self._statements, self._burst_size, self._put_all, self._send)

    def _put_all(self, burst: list[Request]) -> None:
        self._put(_Burst(burst) if len(burst) > 1 else burst[0])

    def _send(self, statement: object, parameters: object, position: int) -> None:
        try:
            if self._submit is not None:
                # Rows are not decoded until the reader reads them, in its own thread.
                self._submit(
                    statement, parameters, self._on_done, position, self._profile, self._row_type
                )
                return
            future = self._session.execute_async(statement, parameters, **self._options)
            _add_callbacks(future, position, self._on_success, self._on_error)
        except Exception as error:
            self._collector.put(position, False, error)

    def _on_done(self, future: ResponseFuture, position: int) -> None:
        error = future.error
        if error is None:
            self._collector.put(position, True, future.result())
        else:
            self._collector.put(position, False, error)

    def _on_success(self, rows: object, future: CallbackFuture, position: int) -> None:
        # Break the reference cycle from the future through its callback to the future.
        future.clear_callbacks()
        self._collector.put(position, True, _result_set(future, rows))

    def _on_error(self, error: BaseException, future: CallbackFuture, position: int) -> None:
        future.clear_callbacks()
        self._collector.put(position, False, error)

    def _wait(self) -> None:
        """Wait until there is something to read or send."""
        collector = self._collector
        while not (collector.is_ready or collector.is_over):
            waiter = new_waiter()
            # Check again after registering the waiter. Completions check in the reverse order.
            self._waiters.append(waiter)
            collector.is_awaited = True
            if not (collector.is_ready or collector.is_over):
                if self._refuse_in_child is not None:
                    self._refuse_in_child()
                waiter.acquire()


def _wake_up(waiters: deque[Waiter]) -> None:
    """Wake the reader."""
    while waiters:
        try:
            waiter = waiters.popleft()
        except IndexError:  # another completion was faster
            return
        waiter.release()


def _add_callbacks(
    future: CallbackFuture,
    index: int,
    on_success: Callable[..., object],
    on_error: Callable[..., object],
) -> None:
    """Call one of the functions when `future` completes, with the future and the statement's
    index.
    """
    arguments = (future, index)
    future.add_callbacks(
        callback=on_success, callback_args=arguments, errback=on_error, errback_args=arguments
    )


class _Burst:
    """Requests that the event loop starts together."""

    __slots__ = ("_requests",)

    def __init__(self, requests: list[Request]) -> None:
        self._requests = requests

    def start(self) -> None:
        """Start the requests, on the event loop."""
        happy_path.start_all(self._requests)

    def fail(self, error: BaseException) -> None:
        """End the requests with `error`."""
        for request in self._requests:
            request.fail(error)


def _result_set(future: CallbackFuture, rows: object) -> Any:
    """Return the result of an execution, even if the future is a substitute."""
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
    """Execute (statement, parameters) pairs without waiting for them.

    The iterable is read completely before the call returns. Cancelling the future stops sending;
    requests in flight continue. The parameters are the same as for `execute_concurrent`.

    :param session: a connected session.
    :param statements_and_parameters: an iterable of (statement, parameters) pairs; parameters may
        be None.
    :param concurrency: the maximum number of requests in flight.
    :param raise_on_first_error: True sets the first error on the future.
    :param execution_profile: an `ExecutionProfile`, or the name of one.
    :param row_type: the class of rows, as in `Session.execute`; None for the rows of the row
        factory.
    :returns: a future of the list of results, in the order of the statements.
    """
    if _checked(concurrency) <= 0:
        raise ValueError(f"concurrency must be greater than 0, but is {concurrency}")
    options = _options(execution_profile, row_type)
    run = _UnwatchedRun(session, list(statements_and_parameters), raise_on_first_error, options)
    run.send(concurrency)
    return run.future


class _UnwatchedRun:
    """One call that nobody waits for: each completion sends the next statement, in its own
    thread.
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
        self._options = options
        # Completions may come in any thread, so they take this lock. Nothing is called while it is
        # held.
        self._lock = Lock()
        self._settle = in_own_greenlet(self._settle_future)
        self._outcomes: list[Any] = [None] * len(statements)
        self._next = 0
        self._remaining = len(statements)
        self._capacity = 0
        self._sending = False
        self._ended = False

    def send(self, count: int) -> None:
        """Send `count` more. If a completion calls this inside a running loop, that loop sends
        them.
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
        # No completion will come that could end the run.
        if not self._statements:
            self._end(None)

    def _send_one(self, index: int) -> None:
        statement, parameters = self._statements[index]
        try:
            future = self._session.execute_async(statement, parameters, **self._options)
            _add_callbacks(future, index, self._on_success, self._on_error)
        except Exception as error:
            self._fail(error, index)

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
        with self._lock:
            self._outcomes[index] = outcome
            self._remaining -= 1
            over = self._remaining == 0
        if over:
            self._end(None)
        else:
            self.send(1)

    def _end(self, error: BaseException | None) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
        self._settle(error)

    def _settle_future(self, error: BaseException | None) -> None:
        # A running future cannot be cancelled any more, so setting its result cannot fail.
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
