"""Many executions at a time, with bounded memory."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from cassandra.client.requests import Parameters, Query

__all__ = ["ExecutionResult", "PlacedResult", "as_completed", "in_turn"]


class ExecutionResult(NamedTuple):
    """The outcome of one execution: its result, or its error if `success` is false."""

    success: bool
    result_or_exc: Any


class PlacedResult(NamedTuple):
    """The outcome of one execution, and the position of its statement among all, from 0."""

    success: bool
    result_or_exc: Any
    position: int


class _Executor(Protocol):
    @property
    def execute(self) -> Callable[..., Any]: ...


async def in_turn(
    session: _Executor,
    statements_and_parameters: Iterable[tuple[Query, Parameters]],
    concurrency: int,
    raise_on_first_error: bool,
    options: dict[str, Any],
) -> AsyncIterator[ExecutionResult]:
    """Yield outcomes in the order of the statements."""
    under_way: deque[asyncio.Future[Any]] = deque()
    starting = _Starting(session, statements_and_parameters, concurrency, options)
    try:
        while True:
            under_way.extend(starting.up_to(concurrency - len(under_way)))
            if not under_way:
                return
            # The oldest first: outcomes come in the order of the statements.
            outcome = await _outcome(under_way.popleft())
            if raise_on_first_error and not outcome.success:
                raise outcome.result_or_exc
            yield outcome
    finally:
        _give_up(under_way)


async def as_completed(
    session: _Executor,
    statements_and_parameters: Iterable[tuple[Query, Parameters]],
    concurrency: int,
    raise_on_first_error: bool,
    options: dict[str, Any],
) -> AsyncIterator[PlacedResult]:
    """Yield outcomes as they come."""
    places: dict[asyncio.Future[Any], int] = {}
    starting = _Starting(session, statements_and_parameters, concurrency, options)
    position = 0
    try:
        while True:
            for future in starting.up_to(concurrency - len(places)):
                places[future] = position
                position += 1
            if not places:
                return
            done, _ = await asyncio.wait(places, return_when=asyncio.FIRST_COMPLETED)
            for future in done:
                success, outcome = await _outcome(future)
                # Taken out only now: if this iteration ends here, the rest is still cancelled.
                place = places.pop(future)
                if raise_on_first_error and not success:
                    raise outcome
                yield PlacedResult(success, outcome, place)
    finally:
        _give_up(places)


class _Starting:
    """Starts executions. Statements are taken only as they are started: they may be endless."""

    def __init__(
        self,
        session: _Executor,
        statements: Iterable[tuple[Query, Parameters]],
        concurrency: int,
        options: dict[str, Any],
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, but is {concurrency}")
        self._session = session
        self._statements = iter(statements)
        self._options = options

    def up_to(self, number: int) -> Iterator[asyncio.Future[Any]]:
        """Start so many more, or as many as there are."""
        for _ in range(number):
            try:
                statement, parameters = next(self._statements)
            except StopIteration:
                return
            yield self._start(statement, parameters)

    def _start(self, statement: Query, parameters: Parameters) -> asyncio.Future[Any]:
        # A mistake in the call becomes its outcome, like any other error.
        try:
            future: asyncio.Future[Any] = self._session.execute(
                statement, parameters, **self._options
            )
        except Exception as error:
            future = asyncio.get_running_loop().create_future()
            future.set_exception(error)
        return future


def _give_up(futures: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel executions whose outcomes nobody will read: the caller has stopped iterating."""
    for future in futures:
        future.cancel()
        if not future.cancelled():
            future.exception()  # looked at, or asyncio would log that nobody did


async def _outcome(future: asyncio.Future[Any]) -> ExecutionResult:
    try:
        return ExecutionResult(True, await future)
    except Exception as error:
        return ExecutionResult(False, error)
