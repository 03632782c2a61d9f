"""Many executions at a time over the future face, with bounded memory.

It works with any session whose `execute_async` returns something with `add_callbacks`. A callback
that fires at once, inside `add_callbacks`, never leads deeper into the stack: it only notes that
there is more to send, and the sending loop that is running goes on.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, overload

from cassandra._imports import at_first_cluster
from cassandra._lazy import lazy_names
from cassandra._threads import Lock, Waiter, at_home, new_user_thread, new_waiter
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
    """The part of a `ResponseFuture` that is used here. Futures of test sessions have it too."""

    @property
    def add_callbacks(self) -> Callable[..., object]:
        """Takes ``callback``, ``callback_args``, ``errback`` and ``errback_args``."""

    @property
    def clear_callbacks(self) -> Callable[[], object]:
        """Forgets the callbacks, and so the cycle of references through them."""


class ConcurrentSession(Protocol):
    """The part of a session that is used here."""

    @property
    def execute_async(self) -> Callable[..., CallbackFuture]:
        """Takes a statement, parameters, and options by keyword."""


class ExecutionResult(NamedTuple):
    """The outcome of one execution.

    :param success: False if the execution failed.
    :param result_or_exc: the `ResultSet`, or the error if it failed.
    """

    success: bool
    result_or_exc: Any


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
) -> list[ExecutionResult] | Generator[ExecutionResult, None, None]:
    """Execute (statement, parameters) pairs, and return their outcomes in the same order.

    :param session: a connected session.
    :param statements_and_parameters: an iterable of (statement, parameters) pairs; parameters may
        be None.
    :param concurrency: how many are in flight at most.
    :param raise_on_first_error: True raises the first error, after the requests in flight are over.
    :param results_generator: True returns a generator of outcomes. The first `concurrency`
        statements are sent by the call, more of them as outcomes are read, so neither the
        statements nor the results of a large load are ever all in memory. A generator that is
        closed or dropped has the rest sent in the background, unless an error has ended it.
    :param execution_profile: a profile or its name, for all executions.
    :param row_type: the class of the rows of all results, as for `Session.execute`.
    :returns: an `ExecutionResult` (success, result_or_exc) for each pair.
    :raises ValueError: if `concurrency` is not greater than 0.
    :raises TypeError: if rows cannot be made of `row_type`.
    """
    if concurrency <= 0:
        raise ValueError(f"concurrency must be greater than 0, but is {concurrency}")
    options = _options(execution_profile, row_type)
    run = _Run(session, statements_and_parameters, concurrency, raise_on_first_error, options)
    if not results_generator:
        run.be_patient()
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
    """Execute statements, and hand over their outcomes in order, so that none of them is kept.

    :param session: a connected session.
    :param statements: need not be waited for. If `take` raises, no more of them are sent.
    :param concurrency: how many are in flight at most.
    :param take: called with (success, result or error) of each.
    :param execution_profile: a profile or its name, for all executions.
    """
    options = _options(execution_profile, None)
    run = _Run(session, zip(statements, repeat(None)), concurrency, False, options)
    run.be_patient(are_ready=True)
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
) -> list[ExecutionResult] | Generator[ExecutionResult, None, None]:
    """Execute one statement with each of `parameters`, like `execute_concurrent`.

    :param session: a connected session.
    :param statement: a text, or a statement.
    :param parameters: for each execution its values, in a sequence or mapping.
    :param concurrency: how many are in flight at most.
    :param raise_on_first_error: True raises the first error, after the requests in flight are over.
    :param results_generator: True returns a generator of outcomes instead of a list.
    :param execution_profile: a profile or its name, for all executions.
    :param row_type: the class of the rows of all results, as for `Session.execute`.
    :returns: as `execute_concurrent`.
    :raises ValueError: if `concurrency` is not greater than 0.
    :raises TypeError: if rows cannot be made of `row_type`.
    """
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
    """One statement with each of `parameters`."""

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
        from cassandra.query.typed_rows import typed_rows  # only for programs that use it

        typed_rows(row_type)
        options["row_type"] = row_type
    return options


def _submit_of(session: ConcurrentSession) -> Any:
    """Return the session's `_submit_watched`.

    None if it has none, or a program has put another `execute_async` in place of its own: tracers
    wrap it on the class or on the session.
    """
    own = getattr(type(session), "_own_execute_async", None)
    if own is None or "execute_async" in vars(session):
        return None
    ours: Any = session
    return ours._submit_watched if type(ours).execute_async is own else None


class _Run:
    """One call: sends from the reader's thread, and takes completions from any thread."""

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
        # If the next one need not be waited for, they are handed to the loop together.
        given = statements.parameters if isinstance(statements, _Pairs) else statements
        self._most = concurrency if isinstance(given, (list, tuple)) else 1
        # More than the connections can carry would only wait in the driver, and take memory there.
        capacity = getattr(session, "request_capacity", 0)
        # A stand-in for a session may have anything there.
        if isinstance(capacity, int) and capacity > 0:
            concurrency = min(concurrency, capacity)
        self._fail_fast = fail_fast
        self._options = options
        self._profile = options.get("execution_profile")
        self._row_type = options.get("row_type")
        refuse = getattr(session, "_refuse_on_loop", None)
        # On the loop's own thread, waiting would stop the loop that has to answer.
        if refuse is not None:
            refuse(
                "execute_concurrent()", "execute_concurrent_async, or execute_async with callbacks"
            )
        # A stand-in for a session has no process of its own.
        self._refuse_in_child = getattr(session, "_refuse_in_child", None)
        self._submit = _submit_of(session)
        path = None
        # Past the future, too, if nothing is asked for that needs one.
        if self._submit is not None and not options:
            ours: Any = session
            path, self._put = ours._happy_path()
        self._collector = happy_path.Collector(concurrency, ExecutionResult, path)
        # What the reader waits for, at most one.
        self._waiters: deque[Waiter] = deque()
        # Not a method, which would hold this object, and so the session and the statements.
        self._collector.tell = partial(_wake_up, self._waiters)

    def be_patient(self, are_ready: bool = False) -> None:
        """Wait for many outcomes at a time: waking up for each takes longer than reading it.

        :param are_ready: True if statements need not be waited for.
        """
        self._collector.is_patient = True
        if are_ready:
            self._most = sys.maxsize

    def generator(self) -> Generator[Any, None, None]:
        """Send the first statements and yield None; then yield the outcomes in order."""
        try:
            self._fill()
            yield None
            yield from self.outcomes()
        except GeneratorExit:
            # Nobody reads on, but what was asked for is sent all the same.
            if not self._collector.is_exhausted:
                self._send_the_rest()
            raise

    def _send_the_rest(self) -> None:
        def send() -> None:
            try:
                for _, outcome in self.outcomes():
                    # Of an endless iterable, the end of the session is the end.
                    if isinstance(outcome, ConnectionShutdown):
                        return
            except Exception:
                log.exception("the statements of a generator that was dropped could not be read")

        # Up to Python 3.11 a thread that is started then never runs, and `start` waits for it.
        if sys.is_finalizing():
            return
        self._fail_fast = False
        try:
            if self._refuse_in_child is not None:
                self._refuse_in_child()  # the parent sends them
            new_user_thread(send, "cassandra-concurrent").start()
        except (ConnectionShutdown, RuntimeError):  # or the interpreter ends
            pass

    def outcomes(self) -> Iterator[ExecutionResult]:
        """Yield the outcomes in order, and send more while they are read.

        Another call goes on after those that this one was given.
        """
        collector = self._collector
        while True:
            collector.is_paused = self._fail_fast and collector.has_failed
            # First: a slow reader must not leave the servers idle.
            if collector.wants_more:
                self._fill()
            found = collector.take()
            if collector.has_failed and self._fail_fast:
                yield from self._up_to_failure(found)
            elif found:
                yield from found
            elif collector.is_over:
                return
            else:
                self._wait()

    def _up_to_failure(self, found: list[ExecutionResult]) -> Iterator[ExecutionResult]:
        """Yield outcomes up to the first error; raise it, once nothing is in flight."""
        collector = self._collector
        for position, outcome in enumerate(found, collector.given - len(found)):
            # The first one by its place, not by time: the same run fails with the same error.
            if not outcome[0]:
                collector.is_exhausted = True
                while not collector.is_over:
                    self._wait()
                    collector.take()
                try:
                    locate(outcome[1], f"row {position}")
                    raise outcome[1]
                finally:
                    # The error holds this frame and that of the caller, and would be held by them.
                    del outcome
                    found.clear()
            yield outcome
        if not found:
            self._wait()

    def _fill(self) -> None:
        fill(self._collector, self._statements, self._most, self._put_all, self._send)

    def _put_all(self, burst: list[Request]) -> None:
        self._put(_Burst(burst) if len(burst) > 1 else burst[0])

    def _send(self, statement: object, parameters: object, position: int) -> None:
        try:
            if self._submit is not None:
                # Rows stay undecoded until the reader reads them, in its own thread.
                self._submit(
                    statement, parameters, self._on_done, position, self._profile, self._row_type
                )
                return
            future = self._session.execute_async(statement, parameters, **self._options)
            _call_back(future, position, self._on_success, self._on_error)
        except Exception as error:
            self._collector.put(position, False, error)

    def _on_done(self, future: ResponseFuture, position: int) -> None:
        error = future.error
        if error is None:
            self._collector.put(position, True, future.result())
        else:
            self._collector.put(position, False, error)

    def _on_success(self, rows: object, future: CallbackFuture, position: int) -> None:
        # Ends the cycle of references from the future by its callback to itself.
        future.clear_callbacks()
        self._collector.put(position, True, _result_set(future, rows))

    def _on_error(self, error: BaseException, future: CallbackFuture, position: int) -> None:
        future.clear_callbacks()
        self._collector.put(position, False, error)

    def _wait(self) -> None:
        """Wait until there is something to read or to send."""
        collector = self._collector
        while not (collector.is_ready or collector.is_over):
            waiter = new_waiter()
            # It looks again after it has said that it waits; those who complete something look the
            # other way round.
            self._waiters.append(waiter)
            collector.is_awaited = True
            if not (collector.is_ready or collector.is_over):
                if self._refuse_in_child is not None:
                    self._refuse_in_child()
                waiter.acquire()


def _wake_up(waiters: deque[Waiter]) -> None:
    """Let the reader go on."""
    while waiters:
        try:
            waiter = waiters.popleft()
        except IndexError:  # another completion was quicker
            return
        waiter.release()


def _call_back(
    future: CallbackFuture,
    place: int,
    on_success: Callable[..., object],
    on_error: Callable[..., object],
) -> None:
    """Have one of both called when `future` completes, with it and the place of its statement."""
    arguments = (future, place)
    future.add_callbacks(
        callback=on_success, callback_args=arguments, errback=on_error, errback_args=arguments
    )


class _Burst:
    """Requests that the loop starts together."""

    __slots__ = ("_requests",)

    def __init__(self, requests: list[Request]) -> None:
        self._requests = requests

    def start(self) -> None:
        """Start them, on the loop."""
        happy_path.start_all(self._requests)

    def fail(self, error: BaseException) -> None:
        """End them with `error`."""
        for request in self._requests:
            request.fail(error)


def _result_set(future: CallbackFuture, rows: object) -> Any:
    """Return the result of an execution, also of a stand-in for a future."""
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

    The statements are taken from the iterable at once. Cancelling the future ends the sending;
    requests in flight are not recalled. The parameters are those of `execute_concurrent`.

    :param session: a connected session.
    :param statements_and_parameters: an iterable of (statement, parameters) pairs; parameters may
        be None.
    :param concurrency: how many are in flight at most.
    :param raise_on_first_error: True makes the first error the future's.
    :param execution_profile: an `ExecutionProfile`, or the name of one.
    :param row_type: the class to make rows of, as in `Session.execute`; None for the row factory's
        rows.
    :returns: a future of the list of outcomes, in the order of the statements.
    """
    if concurrency <= 0:
        raise ValueError(f"concurrency must be greater than 0, but is {concurrency}")
    options = _options(execution_profile, row_type)
    run = _UnwatchedRun(session, list(statements_and_parameters), raise_on_first_error, options)
    run.send(concurrency)
    return run.future


class _UnwatchedRun:
    """One call that nobody waits in: each completion sends the next statement, in its thread."""

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
        # Completions come in any thread, and take their turn here; nothing is called with it held.
        self._lock = Lock()
        self._settle = at_home(self._settle_future)
        self._outcomes: list[Any] = [None] * len(statements)
        self._next = 0
        self._left = len(statements)
        self._room = 0
        self._sending = False
        self._ended = False

    def send(self, room: int) -> None:
        """Send `room` more. A completion inside a sending loop leaves the sending to that loop."""
        with self._lock:
            self._room += room
            if self._sending:
                return
            self._sending = True
        while True:
            with self._lock:
                if (
                    self._room == 0
                    or self._next == len(self._statements)
                    or self._ended
                    or self.future.cancelled()
                ):
                    self._sending = False
                    break
                self._room -= 1
                place = self._next
                self._next += 1
            self._send_one(place)
        # No completion will come that could end it.
        if not self._statements:
            self._end(None)

    def _send_one(self, place: int) -> None:
        statement, parameters = self._statements[place]
        try:
            future = self._session.execute_async(statement, parameters, **self._options)
            _call_back(future, place, self._on_success, self._on_error)
        except Exception as error:
            self._fail(error, place)

    def _on_success(self, rows: object, future: CallbackFuture, place: int) -> None:
        future.clear_callbacks()
        self._complete(place, ExecutionResult(True, _result_set(future, rows)))

    def _on_error(self, error: BaseException, future: CallbackFuture, place: int) -> None:
        future.clear_callbacks()
        self._fail(error, place)

    def _fail(self, error: BaseException, place: int) -> None:
        if self._fail_fast:
            locate(error, f"row {place}")
            self._end(error)
        self._complete(place, ExecutionResult(False, error))

    def _complete(self, place: int, outcome: ExecutionResult) -> None:
        with self._lock:
            self._outcomes[place] = outcome
            self._left -= 1
            over = self._left == 0
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
        # A running future cannot be cancelled any more, so setting its outcome cannot fail.
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
