"""Many executions at a time over the future face, with bounded memory.

Works with any session whose `execute_async` returns something with `add_callbacks`. A callback that
fires at once, inside `add_callbacks`, never leads deeper into the stack: it only says that there is
more to send, and the sending loop that runs goes on.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple

from cassandra._lazy import lazy_names

__all__ = [
    "ExecutionResult",
    "execute_concurrent",
    "execute_concurrent_async",
    "execute_concurrent_with_args",
]


class ExecutionResult(NamedTuple):
    """The outcome of one execution: its `ResultSet`, or, where `success` is false, its error."""

    success: bool
    result_or_exc: Any


def execute_concurrent(
    session: Any,
    statements_and_parameters: Iterable[tuple[Any, Any]],
    concurrency: int = 100,
    raise_on_first_error: bool = True,
    results_generator: bool = False,
    execution_profile: Any = None,
    row_type: Any = None,
) -> list[ExecutionResult] | Iterator[ExecutionResult]:
    """Execute (statement, parameters) pairs, at most `concurrency` at a time; the outcomes in the
    order of the statements.

    With `raise_on_first_error` the first error is raised, after what is under way is over. With
    `results_generator` the outcomes come from an iterator as they are there, and statements are
    taken as outcomes are read: neither the statements nor the results of a large load are ever all
    in memory. Each outcome is an `ExecutionResult` (success, result_or_exc). row_type: the class to
    make the rows of all results of, as in `Session.execute`; TypeError where rows cannot be made of
    it.
    """
    if concurrency <= 0:
        raise ValueError(f"concurrency must be greater than 0, but is {concurrency}")
    options = _options(execution_profile, row_type)
    run = _Run(session, statements_and_parameters, concurrency, raise_on_first_error, options)
    return run.results() if results_generator else list(run.results())


def execute_concurrent_with_args(
    session: Any, statement: Any, parameters: Iterable[Any], *args: Any, **kwargs: Any
) -> list[ExecutionResult] | Iterator[ExecutionResult]:
    """`execute_concurrent` of one statement with each of `parameters`."""
    return execute_concurrent(
        session, ((statement, values) for values in parameters), *args, **kwargs
    )


def _options(execution_profile: Any, row_type: Any) -> dict[str, Any]:
    """What `Session.execute_async` is called with beside statement and parameters; TypeError for a
    class that is no `row_type`.
    """
    options = {}
    if execution_profile is not None:
        options["execution_profile"] = execution_profile
    if row_type is not None:
        from cassandra.query.typed_rows import typed_rows  # for those who use it

        typed_rows(row_type)
        options["row_type"] = row_type
    return options


def _submit_of(session: Any) -> Any:
    """`Session.submit_watched`, where no program has put another `execute_async` in the place of
    the session's own.
    """
    own = getattr(type(session), "execute_async", None)
    is_own = getattr(
        own, "__module__", ""
    ) == "cassandra.cluster.session" and "execute_async" not in vars(session)
    return session.submit_watched if is_own else None


_outcome: Any = tuple.__new__  # without the Python code of a named tuple's own


class _Run:
    """One call: sends from the reader's thread, and takes completions from whichever thread they
    come in.
    """

    def __init__(
        self,
        session: Any,
        statements: Iterable[tuple[Any, Any]],
        concurrency: int,
        fail_fast: bool,
        options: dict[str, Any],
    ) -> None:
        self._session = session
        self._statements = iter(statements)
        # Beyond what the connections can carry, requests would only wait in the driver, and take
        # memory there.
        self._concurrency = min(concurrency, getattr(session, "request_capacity", 0) or concurrency)
        self._fail_fast = fail_fast
        self._options = options
        self._profile = options.get("execution_profile")
        self._row_type = options.get("row_type")
        refuse = getattr(session, "refuse_on_loop", None)
        if refuse is not None:
            refuse(
                "execute_concurrent()", "execute_concurrent_async, or execute_async with callbacks"
            )
        self._submit = _submit_of(session)
        self._condition = threading.Condition(threading.Lock())
        self._wants_wake_up = False
        # Filled by completions (append is atomic), emptied by the reader.
        self._completed: deque[tuple[int, ExecutionResult]] = deque()
        self._sent = 0
        self._under_way = 0
        self._exhausted = False

    def results(self) -> Iterator[ExecutionResult]:
        """The outcomes in order; sends as it is read."""
        completed = self._completed
        ready: dict[int, ExecutionResult] = {}  # came before an earlier one
        position = 0
        failed: BaseException | None = None
        half = self._concurrency // 2
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
                        failed = failed or outcome[1]
                    elif failed is None:
                        yield outcome
                    if not ready or position not in ready:
                        break
                    outcome = ready.pop(position)
                # More is sent once for all outcomes that were there; but a reader who is slow must
                # not leave the servers idle.
                if self._under_way <= half and failed is None:
                    self._fill(position)

    def _fill(self, position: int) -> None:
        """Send as many as there is room for. Outcomes that wait for an earlier one count too:
        memory is bounded by the concurrency.
        """
        while (
            self._under_way < self._concurrency
            and self._sent - position < 2 * self._concurrency
            and not self._exhausted
            and self._send_next()
        ):
            pass

    def _send_next(self) -> bool:
        try:
            statement, parameters = next(self._statements)
        except StopIteration:
            self._exhausted = True
            return False
        position = self._sent
        self._sent = position + 1
        self._under_way += 1
        try:
            if (
                self._submit is not None
            ):  # rows stay undecoded until somebody reads them, in the reader's thread
                self._submit(
                    statement, parameters, self._on_done, position, self._profile, self._row_type
                )
                return True
            future = self._session.execute_async(statement, parameters, **self._options)
            arguments = (future, position)
            future.add_callbacks(
                callback=self._on_success,
                callback_args=arguments,
                errback=self._on_error,
                errback_args=arguments,
            )
        except Exception as error:
            self._complete(position, ExecutionResult(False, error))
        return True

    def _on_done(self, future: Any, position: int) -> None:
        error = future.error
        self._complete(
            position,
            _outcome(ExecutionResult, (True, future.result()) if error is None else (False, error)),
        )

    def _on_success(self, rows: Any, future: Any, position: int) -> None:
        future.clear_callbacks()
        self._complete(position, ExecutionResult(True, _result_set(future, rows)))

    def _on_error(self, error: Any, future: Any, position: int) -> None:
        self._complete(position, ExecutionResult(False, error))

    def _complete(self, position: int, outcome: ExecutionResult) -> None:
        self._completed.append((position, outcome))
        if self._wants_wake_up:
            with self._condition:
                self._condition.notify()

    def _wait(self) -> None:
        """Wait until something has completed."""
        with self._condition:
            self._wants_wake_up = True
            while not self._completed:
                self._condition.wait()
            self._wants_wake_up = False


def _result_set(future: Any, rows: Any) -> Any:
    """What the execution's result is; `ResultSet` of the cluster module is not imported, sessions
    of tests have their own.
    """
    result = getattr(future, "result", None)
    return result() if result is not None else rows


def execute_concurrent_async(
    session: Any,
    statements_and_parameters: Iterable[tuple[Any, Any]],
    concurrency: int = 100,
    raise_on_first_error: bool = False,
    execution_profile: Any = None,
    row_type: Any = None,
) -> Future[list[ExecutionResult]]:
    """`execute_concurrent` that does not wait: a `concurrent.futures.Future` of the list of
    outcomes, in the order of the statements.

    The statements are taken from the iterable at once. row_type: as of `execute_concurrent`. With
    `raise_on_first_error` the first error is the future's. Cancelling the future ends the sending;
    what is under way is not recalled.
    """
    if concurrency <= 0:
        raise ValueError(f"concurrency must be greater than 0, but is {concurrency}")
    options = _options(execution_profile, row_type)
    run = _UnwatchedRun(session, list(statements_and_parameters), raise_on_first_error, options)
    run.send(concurrency)
    return run.future


class _UnwatchedRun:
    """One call that nobody waits in: each completion sends the next statement, from whichever
    thread it comes in.
    """

    def __init__(
        self,
        session: Any,
        statements: list[tuple[Any, Any]],
        fail_fast: bool,
        options: dict[str, Any],
    ) -> None:
        self.future: Future[list[ExecutionResult]] = Future()
        self._session = session
        self._statements = statements
        self._fail_fast = fail_fast
        self._options = options
        self._lock = threading.Lock()
        self._outcomes: list[Any] = [None] * len(statements)
        self._next = 0
        self._left = len(statements)
        self._room = 0
        self._sending = False
        self._ended = False

    def send(self, room: int) -> None:
        """There is room for so many more. A completion inside of a sending loop leaves it to that
        loop.
        """
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
        if not self._statements:
            self._end(None)

    def _send_one(self, place: int) -> None:
        statement, parameters = self._statements[place]
        try:
            future = self._session.execute_async(statement, parameters, **self._options)
            arguments = (future, place)
            future.add_callbacks(
                callback=self._on_success,
                callback_args=arguments,
                errback=self._on_error,
                errback_args=arguments,
            )
        except Exception as error:
            self._on_error(error, None, place)

    def _on_success(self, rows: Any, future: Any, place: int) -> None:
        future.clear_callbacks()
        self._complete(place, ExecutionResult(True, _result_set(future, rows)))

    def _on_error(self, error: Any, future: Any, place: int) -> None:
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
        # Once running it can be cancelled no more, so that setting its outcome cannot fail.
        if not self.future.set_running_or_notify_cancel():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(self._outcomes)


__getattr__ = lazy_names(__name__)
