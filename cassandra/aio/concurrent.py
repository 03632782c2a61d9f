"""Executes many statements concurrently on asyncio, for `Session.execute_concurrent`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cassandra._failed_iterations import Failure
from cassandra._habits import advise_on_pairs
from cassandra._signals import raise_interruption
from cassandra.client.filling import fill
from cassandra.cqltypes.failures import locate
from cassandra.engine.environment import call_on
from cassandra.engine.mistakes import check_loop

if TYPE_CHECKING:
    from cassandra._truth_tests import UseCheck
    from cassandra.client.requests import Parameters, Query
    from cassandra.engine import happy_path
else:
    from cassandra._impl import happy_path

# After this many outcomes, let other tasks of the event loop run, even if no wait was necessary.
_MAX_OUTCOMES_WITHOUT_YIELD = 1000


class ExecutionResult(NamedTuple):
    """The outcome of one execution.

    :param success: True if the statement was executed, False if it failed.
    :param result_or_exc: the result, or the error if the statement failed.
    """

    success: bool
    result_or_exc: Any


class PlacedResult(NamedTuple):
    """The outcome of one execution, for calls with `in_order=False`.

    :param success: True if the statement was executed, False if it failed.
    :param result_or_exc: the result, or the error if the statement failed.
    :param position: the position of the statement, from 0.
    """

    success: bool
    result_or_exc: Any
    position: int


advise_on_pairs(ExecutionResult)
advise_on_pairs(PlacedResult)


class _Executor(Protocol):
    """The attributes of a session that this module uses."""

    _loop: asyncio.AbstractEventLoop

    @property
    def execute(self) -> Callable[..., Any]: ...


class _Outcomes(AsyncGenerator[Any, None]):
    """An asynchronous iterator that returns the outcomes one by one.

    After the iteration has failed, further use raises an error. A generator would only end, as if
    all statements had been executed.

    :param batches: yields lists of outcomes.
    :param loop: the session's loop, on which the outcomes must be read.
    :param iteration_check: warns if the object is dropped before anyone has iterated over it. It is
        deleted together with the object.
    """

    __slots__ = ("__weakref__", "_batch", "_batches", "_failure", "_iteration_check", "_loop")

    def __init__(
        self,
        batches: AsyncGenerator[list[Any], None],
        loop: asyncio.AbstractEventLoop,
        iteration_check: UseCheck,
    ) -> None:
        self._batches = batches
        self._loop = loop
        self._iteration_check = iteration_check
        # Iterates over the outcomes of the current batch that were not returned yet.
        self._batch: Iterator[Any] = iter(())
        self._failure = Failure()

    async def __anext__(self) -> Any:
        # This loop is the fastest way to get the next item without an exception at the end.
        for outcome in self._batch:
            return outcome
        return await self._first_of_next_batch()

    async def _first_of_next_batch(self) -> Any:
        """Return the first outcome of the next batch.

        :raises StopAsyncIteration: if there is no further outcome.
        :raises RuntimeError: if the running loop is not the session's.
        """
        self._iteration_check.is_used = True
        # Check the loop for each batch: the caller may have begun the iteration on the session's
        # loop, and continue it on another loop. If the session's loop has ended, asyncio has closed
        # `batches`, which would look like the end of the outcomes.
        check_loop(self._loop)
        if self._failure.error_name is not None:
            self._failure.raise_error()
        with self._failure:
            async for batch in self._batches:
                self._batch = iter(batch)
                for outcome in self._batch:
                    return outcome
        raise StopAsyncIteration

    async def asend(self, value: None) -> Any:
        return await self.__anext__()

    async def athrow(self, *error: Any) -> Any:
        self._batch = iter(())
        with self._failure:
            await self._batches.athrow(*error)

    async def aclose(self) -> None:
        """End the iteration, and cancel the executions that are still running."""
        self._batch = iter(())
        await self._batches.aclose()


def outcomes(
    session: _Executor,
    statements_and_parameters: Iterable[tuple[Query, Parameters]],
    concurrency: int,
    raise_on_first_error: bool,
    options: dict[str, Any],
    path: happy_path.HappyPath | None,
    in_order: bool,
    iteration_check: UseCheck,
) -> AsyncGenerator[Any, None]:
    """Execute statements, and return an asynchronous generator of their outcomes.

    `Session.execute_concurrent` documents most parameters.

    :param path: the session's happy path, which makes the requests of common statements; None if
        each statement must be executed by `execute`.
    :param in_order: False yields outcomes as they come, each with the position of its statement.
    :param iteration_check: warns if the generator is dropped before anyone has iterated over it.
    """
    return _Outcomes(
        _batches(
            session,
            statements_and_parameters,
            concurrency,
            raise_on_first_error,
            options,
            path,
            in_order,
        ),
        session._loop,
        iteration_check,
    )


async def _batches(
    session: _Executor,
    statements_and_parameters: Iterable[tuple[Query, Parameters]],
    concurrency: int,
    raise_on_first_error: bool,
    options: dict[str, Any],
    path: happy_path.HappyPath | None,
    in_order: bool,
) -> AsyncGenerator[list[Any], None]:
    """Execute statements, and yield their outcomes in batches.

    The parameters are those of `outcomes` with the same names.
    """
    outcome_class: type[Any] = ExecutionResult if in_order else PlacedResult
    collector = happy_path.Collector(concurrency, outcome_class, path, in_order)
    run = _Run(session, statements_and_parameters, concurrency, options, collector)
    batch: list[Any] = []
    failed = None
    delivered_at_last_yield = 0
    try:
        while True:
            # If an execution has failed and its error will be raised, send no more statements,
            # because they would only be cancelled.
            collector.is_paused = raise_on_first_error and collector.has_failed
            # Send more statements before yielding outcomes: the caller may be slow, and the servers
            # should not be idle during that time.
            if collector.wants_more:
                run.fill()
            batch = collector.take()
            if not batch:
                if collector.is_over:
                    return
                await run.wait()
            if collector.has_failed:
                raise_interruption(batch)
            if raise_on_first_error and collector.has_failed:
                # Find the first failed statement of the batch: the first item of an outcome is its
                # `success`.
                index = next((index for index, outcome in enumerate(batch) if not outcome[0]), None)
                if index is not None:
                    failed = batch[index]
                    yield batch[:index]
                    # Add the position of the failed statement to the error. `delivered` already
                    # includes this batch.
                    position = collector.delivered - len(batch) + index
                    locate(failed[1], f"row {position if in_order else failed.position}")
                    raise failed[1]
            if batch:
                yield batch
            # If executions end at once, for example in a closed session, nothing above suspends
            # this coroutine. So let other tasks run from time to time.
            if collector.delivered - delivered_at_last_yield >= _MAX_OUTCOMES_WITHOUT_YIELD:
                delivered_at_last_yield = collector.delivered
                await asyncio.sleep(0)
    finally:
        run.give_up()
        # Delete these variables, because they may refer to an error. The error's traceback refers
        # to this frame, so they would form a reference cycle.
        del batch, failed


class _Run:
    """Starts the executions of one call of `execute_concurrent`.

    A statement is taken from the iterator only when it is about to be started, because the iterator
    may be endless.
    """

    def __init__(
        self,
        session: _Executor,
        statements: Iterable[tuple[Query, Parameters]],
        concurrency: int,
        options: dict[str, Any],
        collector: happy_path.Collector,
    ) -> None:
        self._session = session
        self._statements = iter(statements)
        self._concurrency = concurrency
        self._options = options
        self._collector = collector
        # The futures of executions that the happy path does not handle, by the position of the
        # statement.
        self._futures: dict[int, asyncio.Future[Any]] = {}
        self._loop = session._loop
        # The future that `wait` is waiting for; None before the first wait.
        self._wakeup: asyncio.Future[None] | None = None
        collector.notify_reader = self._wake_up

    def fill(self) -> None:
        """Start as many executions as the collector allows."""
        start_all = happy_path.start_all
        fill(self._collector, self._statements, self._concurrency, start_all, self._start)

    def _start(self, statement: Any, parameters: Any, position: int) -> None:
        """Start a statement that the happy path does not handle.

        :param position: the statement's position. The collector stores the outcome under this
            position.
        """
        # If the call of `execute` itself raises an error, that error becomes the outcome of the
        # statement, like an error of the execution.
        try:
            # If a tracing library has replaced `execute` by a coroutine function, the call returns
            # a coroutine. `ensure_future` makes a task of it.
            future = asyncio.ensure_future(
                self._session.execute(statement, parameters, **self._options)
            )
        except Exception as error:
            self._collector.put(position, False, error)
        else:
            self._futures[position] = future
            future.add_done_callback(partial(self._on_done, position))

    def _on_done(self, position: int, future: asyncio.Future[Any]) -> None:
        """Called when the execution at `position` is over: store its outcome.

        After `give_up`, nobody wants the outcome, so it is dropped.
        """
        # If the position is not in the dict, `give_up` has emptied the dict.
        if self._futures.pop(position, None) is None:
            _retrieve_error(future)
            return
        if future.cancelled():
            self._collector.put(position, False, asyncio.CancelledError())
        elif (error := future.exception()) is not None:
            self._collector.put(position, False, error)
        else:
            self._collector.put(position, True, future.result())

    async def wait(self) -> None:
        """Wait until there are outcomes to read, or statements to send."""
        collector = self._collector
        if not collector.is_ready:
            self._wakeup = self._loop.create_future()
            # With `is_awaited` set, the collector calls `_wake_up` once, as soon as it is ready.
            collector.is_awaited = True
            await self._wakeup

    def _wake_up(self) -> None:
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_result(None)

    def give_up(self) -> None:
        """Cancel all executions, because the caller has stopped iterating."""
        # Only the session's loop may end requests. If it is closed, there is nothing to end.
        call_on(self._loop, self._cancel_all)

    def _cancel_all(self) -> None:
        self._collector.notify_reader = None
        for request in self._collector.pending():
            request.cancel()
        futures, self._futures = self._futures, {}
        for future in futures.values():
            # `cancel` returns False if the future is already done. Read its error here, because
            # nobody else will.
            if not future.cancel():
                _retrieve_error(future)


def _retrieve_error(future: asyncio.Future[Any]) -> None:
    """Read the error of a finished future. Otherwise asyncio would log it as never retrieved."""
    if not future.cancelled():
        future.exception()
