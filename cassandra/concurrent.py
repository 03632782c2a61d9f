"""Many executions at a time over the future face, with bounded memory.

It works with any session whose `execute_async` returns something with `add_callbacks`. A callback
that fires at once, inside `add_callbacks`, never leads deeper into the stack: it only notes that
there is more to send, and the sending loop that is running goes on.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cassandra._impl import flight
from cassandra._lazy import lazy_names
from cassandra._threads import Lock, Waiter, at_home, new_waiter
from cassandra.cluster.response_future import ResponseFuture
from cassandra.cluster.result_set import ResultSet, result_of
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT
from cassandra.errors import ConnectionShutdown

if TYPE_CHECKING:
    from cassandra.engine.request import Request
    from cassandra.query.prepared import PreparedStatement
    from cassandra.query.statement import Statement

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
    """The outcome of one execution: its `ResultSet`, or its error if `success` is False."""

    success: bool
    result_or_exc: Any


def execute_concurrent(
    session: ConcurrentSession,
    statements_and_parameters: Iterable[tuple[Any, Any]],
    concurrency: int = 100,
    raise_on_first_error: bool = True,
    results_generator: bool = False,
    execution_profile: object = None,
    row_type: type | None = None,
) -> list[ExecutionResult] | Iterator[ExecutionResult]:
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
        return list(run.outcomes())
    outcomes = run.generator()
    next(outcomes)
    return outcomes


def execute_concurrent_with_args(
    session: ConcurrentSession,
    statement: str | Statement | PreparedStatement,
    parameters: Iterable[Any],
    *args: Any,
    **kwargs: Any,
) -> list[ExecutionResult] | Iterator[ExecutionResult]:
    """Execute one statement with each of `parameters`, like `execute_concurrent`.

    :param session: a connected session.
    :param statement: a text, or a statement.
    :param parameters: for each execution its values, in a sequence or mapping.
    :param args: further arguments of `execute_concurrent`.
    :param kwargs: further keywords of `execute_concurrent`.
    :returns: as `execute_concurrent`.
    """
    return execute_concurrent(session, _Pairs(statement, parameters), *args, **kwargs)


class _Pairs:
    """One statement with each of `parameters`."""

    __slots__ = ("_statement", "parameters")

    def __init__(self, statement: object, parameters: Iterable[Any]) -> None:
        self._statement = statement
        self.parameters = parameters

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return zip(repeat(self._statement), self.parameters, strict=False)


def _options(execution_profile: object, row_type: type | None) -> dict[str, Any]:
    """Return the options for `Session.execute_async`; raise TypeError for a wrong `row_type`."""
    options = {}
    if execution_profile is not None:
        options["execution_profile"] = execution_profile
    if row_type is not None:
        from cassandra.query.typed_rows import typed_rows  # only for programs that use it

        typed_rows(row_type)
        options["row_type"] = row_type
    return options


def _submit_of(session: ConcurrentSession) -> Any:
    """Return the session's `submit_watched`.

    None if it has none, or a program has put another `execute_async` in place of its own: tracers
    wrap it on the class or on the session.
    """
    own = getattr(type(session), "own_execute_async", None)
    if own is None or "execute_async" in vars(session):
        return None
    ours: Any = session
    return ours.submit_watched if type(ours).execute_async is own else None


# Past the constructor of the named tuple, which is Python code.
_outcome: Any = tuple.__new__


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
        self._are_at_hand = isinstance(given, (list, tuple))
        # More than the connections can carry would only wait in the driver, and take memory there.
        capacity = getattr(session, "request_capacity", 0)
        # A stand-in for a session may have anything there.
        self._concurrency = min(
            concurrency, capacity if isinstance(capacity, int) and capacity > 0 else concurrency
        )
        self._fail_fast = fail_fast
        self._options = options
        self._profile = options.get("execution_profile")
        self._row_type = options.get("row_type")
        refuse = getattr(session, "refuse_on_loop", None)
        # On the loop's own thread, waiting would stop the loop that has to answer.
        if refuse is not None:
            refuse(
                "execute_concurrent()", "execute_concurrent_async, or execute_async with callbacks"
            )
        self._submit = _submit_of(session)
        # Past the future, too, if nothing is asked for that needs one.
        self._usual: Any = None
        if self._submit is not None and not options:
            ours: Any = session
            self._usual, self._put = ours.usual_way()
            self._default = ours.get_execution_profile(EXEC_PROFILE_DEFAULT)
        # What the reader waits for, at most one.
        self._waiters: deque[Waiter] = deque()
        # Filled by completions (append is atomic), emptied by the reader.
        self._completed: deque[tuple[int, ExecutionResult]] = deque()
        self._over = _completion(session, self._completed, self._waiters)
        # Outcomes that came before an earlier one.
        self._ready: dict[int, ExecutionResult] = {}
        self._position = 0
        self._sent = 0
        self._under_way = 0
        self._exhausted = False

    def generator(self) -> Iterator[Any]:
        """Send the first statements and yield None; then yield the outcomes in order."""
        try:
            self._fill(0)
            yield None
            yield from self.outcomes()
        except GeneratorExit:
            # Nobody reads on, but what was asked for is sent all the same.
            if not self._exhausted:
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

        self._fail_fast = False
        try:
            threading.Thread(target=send, name="cassandra-concurrent", daemon=True).start()
        except RuntimeError:  # the interpreter ends
            pass

    def outcomes(self) -> Iterator[ExecutionResult]:
        """Yield the outcomes in order, and send more while they are read.

        Another call goes on after the last outcome of this one.
        """
        completed = self._completed
        ready = self._ready
        position = self._position
        failed: BaseException | None = None
        half = self._concurrency // 2
        # Left by an earlier call.
        if position in ready:
            completed.appendleft((position, ready.pop(position)))
            self._under_way += 1
        try:
            while True:
                if failed is None:
                    self._fill(position)
                if self._under_way == 0 and (failed is not None or position == self._sent):
                    if failed is not None:
                        raise failed
                    return
                if not completed:
                    self._wait()
                while completed:
                    place, outcome = completed.popleft()
                    self._under_way -= 1
                    if place != position:
                        ready[place] = outcome
                        continue
                    while True:
                        position += 1
                        if not outcome[0] and self._fail_fast:
                            # The first one by its place, not by time: the same run fails with the
                            # same error.
                            failed = failed or outcome[1]
                        elif failed is None:
                            yield outcome
                        if not ready or position not in ready:
                            break
                        outcome = ready.pop(position)
                    # More is sent once for all outcomes that were there; but a slow reader must not
                    # leave the servers idle.
                    if self._under_way <= half and failed is None:
                        self._fill(position)
        finally:
            self._position = position

    def _fill(self, position: int) -> None:
        """Send as many as there is room for.

        Outcomes that wait for an earlier one count too, so that the concurrency bounds memory.
        """
        burst: list[Request] | None = [] if self._are_at_hand else None
        try:
            while (
                self._under_way < self._concurrency
                and self._sent - position < 2 * self._concurrency
                and not self._exhausted
                and self._send_next(burst)
            ):
                pass
        finally:
            if burst:
                self._put(_Burst(burst))

    def _send_next(self, burst: list[Request] | None) -> bool:
        try:
            statement, parameters = next(self._statements)
        except StopIteration:
            self._exhausted = True
            return False
        position = self._sent
        self._sent = position + 1
        # Counted before it is sent: its completion may come before the call returns.
        self._under_way += 1
        try:
            if self._usual is not None:
                request = self._usual(
                    statement,
                    parameters,
                    partial(self._over, position, self._default.row_factory),
                )
                if request is not None:
                    if burst is None:
                        self._put(request)
                    else:
                        burst.append(request)
                    return True
            if self._submit is not None:
                # Rows stay undecoded until the reader reads them, in its own thread.
                self._submit(
                    statement, parameters, self._on_done, position, self._profile, self._row_type
                )
                return True
            future = self._session.execute_async(statement, parameters, **self._options)
            _call_back(future, position, self._on_success, self._on_error)
        except Exception as error:
            self._complete(position, ExecutionResult(False, error))
        return True

    def _on_done(self, future: ResponseFuture, position: int) -> None:
        error = future.error
        self._complete(
            position,
            _outcome(ExecutionResult, (True, future.result()) if error is None else (False, error)),
        )

    def _on_success(self, rows: object, future: CallbackFuture, position: int) -> None:
        # Ends the cycle of references from the future by its callback to itself.
        future.clear_callbacks()
        self._complete(position, ExecutionResult(True, _result_set(future, rows)))

    def _on_error(self, error: BaseException, future: object, position: int) -> None:
        self._complete(position, ExecutionResult(False, error))

    def _complete(self, position: int, outcome: ExecutionResult) -> None:
        self._completed.append((position, outcome))
        if self._waiters:
            _wake_up(self._waiters)

    def _wait(self) -> None:
        """Wait until something has completed."""
        while not self._completed:
            waiter = new_waiter()
            # Both are atomic, and it looks for outcomes after it has said that it waits; those who
            # complete something look the other way round.
            self._waiters.append(waiter)
            if not self._completed:
                waiter.acquire()


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


def _wake_up(waiters: deque[Waiter]) -> None:
    """Let the reader go on: something has completed."""
    while waiters:
        try:
            waiter = waiters.popleft()
        except IndexError:  # another completion was quicker
            return
        waiter.release()


def _completion(
    session: Any, completed: deque[tuple[int, ExecutionResult]], waiters: deque[Waiter]
) -> Callable[[int, Callable[..., Any], Request], None]:
    """Return what is called for each request that is over, without a future of it."""

    def over(position: int, row_factory: Callable[..., Any], request: Request) -> None:
        error = request.error
        outcome = (
            (True, result_of(session, request, row_factory)) if error is None else (False, error)
        )
        completed.append((position, _outcome(ExecutionResult, outcome)))
        if waiters:
            _wake_up(waiters)

    return over


class _Burst:
    """Requests that the loop starts together."""

    __slots__ = ("_requests",)

    def __init__(self, requests: list[Request]) -> None:
        self._requests = requests

    def start(self) -> None:
        """Start them, on the loop."""
        flight.start_all(self._requests)

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
    execution_profile: object = None,
    row_type: type | None = None,
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
            self._on_error(error, None, place)

    def _on_success(self, rows: object, future: CallbackFuture, place: int) -> None:
        future.clear_callbacks()
        self._complete(place, ExecutionResult(True, _result_set(future, rows)))

    def _on_error(self, error: BaseException, future: object, place: int) -> None:
        if self._fail_fast:
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
        "cassandra.concurrent_executors",
    ),
)
