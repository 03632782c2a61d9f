"""Many executions at a time, with bounded memory, in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from cassandra.client.requests import Parameters, Query

__all__ = ["ExecutionResult", "execute_concurrent"]


class ExecutionResult(NamedTuple):
    """The outcome of one execution: its result, or its error if `success` is false."""

    success: bool
    result_or_exc: Any


class _Executor(Protocol):
    @property
    def execute(self) -> Callable[..., Any]: ...


async def execute_concurrent(
    session: _Executor,
    statements_and_parameters: Iterable[tuple[Query, Parameters]],
    concurrency: int,
    raise_on_first_error: bool,
    row_type: type[Any] | None = None,
) -> AsyncIterator[ExecutionResult]:
    """See `cassandra.aio.Session.execute_concurrent`."""
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, but is {concurrency}")
    under_way: deque[asyncio.Future[Any]] = deque()
    statements = iter(statements_and_parameters)
    options = {} if row_type is None else {"row_type": row_type}
    try:
        while True:
            # Taken from the iterable only when there is a free place: it may be endless.
            while len(under_way) < concurrency:
                try:
                    statement, parameters = next(statements)
                except StopIteration:
                    break
                under_way.append(_start(session, statement, parameters, options))
            if not under_way:
                return
            # The oldest first: outcomes come in the order of the statements.
            outcome = await _outcome(under_way.popleft())
            if raise_on_first_error and not outcome.success:
                raise outcome.result_or_exc
            yield outcome
    finally:
        for future in under_way:
            # Also if the caller stops iterating: nobody will read these outcomes.
            future.cancel()


def _start(
    session: _Executor, statement: Query, parameters: Parameters, options: dict[str, Any]
) -> asyncio.Future[Any]:
    """Start an execution. A mistake in the call becomes its outcome, like any other error."""
    try:
        future: asyncio.Future[Any] = session.execute(statement, parameters, **options)
    except Exception as error:
        future = asyncio.get_running_loop().create_future()
        future.set_exception(error)
    return future


async def _outcome(future: asyncio.Future[Any]) -> ExecutionResult:
    try:
        return ExecutionResult(True, await future)
    except Exception as error:
        return ExecutionResult(False, error)
