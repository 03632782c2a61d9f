"""Many executions at a time, with bounded memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cassandra.client.filling import fill
from cassandra.cqltypes.failures import locate

if TYPE_CHECKING:
    from cassandra.client.requests import Parameters, Query
    from cassandra.engine import happy_path
else:
    from cassandra._impl import happy_path

__all__ = ["ExecutionResult", "PlacedResult", "outcomes"]

# Outcomes after which other tasks have a turn.
_MOST_WITHOUT_REST = 1000


class ExecutionResult(NamedTuple):
    """The outcome of one execution.

    :param success: False if the execution failed.
    :param result_or_exc: the result, or the error if it failed.
    """

    success: bool
    result_or_exc: Any


class PlacedResult(NamedTuple):
    """The outcome of one execution, of those that are given as they come.

    :param success: False if the execution failed.
    :param result_or_exc: the result, or the error if it failed.
    :param position: that of its statement among all, from 0.
    """

    success: bool
    result_or_exc: Any
    position: int


class _Executor(Protocol):
    @property
    def execute(self) -> Callable[..., Any]: ...


async def outcomes(
    session: _Executor,
    statements_and_parameters: Iterable[tuple[Query, Parameters]],
    concurrency: int,
    raise_on_first_error: bool,
    options: dict[str, Any],
    path: happy_path.HappyPath | None,
    in_order: bool,
) -> AsyncGenerator[Any, None]:
    """Yield outcomes.

    :param path: of the session; None if each statement goes through `execute`.
    :param in_order: False yields them as they come, each with its position.
    """
    kind: type[Any] = ExecutionResult if in_order else PlacedResult
    collector = happy_path.Collector(concurrency, kind, path, in_order)
    run = _Run(session, statements_and_parameters, concurrency, options, collector)
    found: list[Any] = []
    outcome = None
    rested = 0
    try:
        while True:
            # What follows the error would be given up.
            collector.is_paused = raise_on_first_error and collector.has_failed
            # First: a slow reader must not leave the servers idle.
            if collector.wants_more:
                run.fill()
            found = collector.take()
            if not found:
                if collector.is_over:
                    return
                await run.wait()
            for place, outcome in enumerate(found, collector.given - len(found)):
                if not outcome[0] and raise_on_first_error:
                    locate(outcome[1], f"row {place if in_order else outcome.position}")
                    raise outcome[1]
                yield outcome
            # What ends at once, in a session that was shut down say, is never waited for.
            if collector.given - rested >= _MOST_WITHOUT_REST:
                rested = collector.given
                await asyncio.sleep(0)
    finally:
        run.give_up()
        # An error that is raised here holds this frame, and would be held by it.
        del found, outcome


class _Run:
    """Starts executions. Statements are taken only as they are started: they may be endless."""

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
        # Those off the happy path, by their positions.
        self._futures: dict[int, asyncio.Future[Any]] = {}
        self._loop = asyncio.get_running_loop()
        self._waits: asyncio.Future[None] | None = None
        collector.tell = self._wake_up

    def fill(self) -> None:
        """Start as many as there is room for."""
        start_all = happy_path.start_all
        fill(self._collector, self._statements, self._concurrency, start_all, self._start)

    def _start(self, statement: Any, parameters: Any, position: int) -> None:
        # A mistake in the call becomes its outcome, like any other error.
        try:
            # A tracer's wrapper may be a coroutine function.
            future = asyncio.ensure_future(
                self._session.execute(statement, parameters, **self._options)
            )
        except Exception as error:
            self._collector.put(position, False, error)
        else:
            self._futures[position] = future
            future.add_done_callback(partial(self._on_done, position))

    def _on_done(self, position: int, future: asyncio.Future[Any]) -> None:
        if self._futures.pop(position, None) is None:  # the reader has given up meanwhile
            _look_at(future)
            return
        if future.cancelled():
            self._collector.put(position, False, asyncio.CancelledError())
        elif (error := future.exception()) is not None:
            self._collector.put(position, False, error)
        else:
            self._collector.put(position, True, future.result())

    async def wait(self) -> None:
        """Wait until there is something to read or to send."""
        collector = self._collector
        if not collector.is_ready:
            self._waits = self._loop.create_future()
            collector.is_awaited = True
            await self._waits

    def _wake_up(self) -> None:
        if self._waits is not None and not self._waits.done():
            self._waits.set_result(None)

    def give_up(self) -> None:
        """Cancel executions whose outcomes nobody will read: the caller has stopped iterating."""
        self._collector.tell = None
        for request in self._collector.pending():
            request.cancel()
        futures, self._futures = self._futures, {}
        for future in futures.values():
            if not future.cancel():
                _look_at(future)


def _look_at(future: asyncio.Future[Any]) -> None:
    """See the error of a future that is done, or asyncio would log that nobody did."""
    if not future.cancelled():
        future.exception()
