"""Waiting for work that the end of the cluster may cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Coroutine
from typing import Any, TypeVar

from cassandra.engine.failures import for_caller
from cassandra.errors import ConnectionShutdown, OperationTimedOut

__all__ = ["outcome_of", "pools_opened", "together", "within"]

T = TypeVar("T")


async def outcome_of(work: asyncio.Future[T]) -> T:
    """Wait for a task that several callers may share.

    The cancellation of one caller does not cancel `work`; the caller gets CancelledError.

    :raises ConnectionShutdown: if `work` was cancelled, which only the end of the cluster does.
    """
    # `await work` would pass the caller's cancellation on to the task.
    await asyncio.wait({work})
    if work.cancelled():
        raise ConnectionShutdown("the cluster was shut down before the call was over")
    error = work.exception()
    if error is not None:
        raise for_caller(error)
    return work.result()


async def within(seconds: float | None, work: Coroutine[Any, Any, T]) -> T:
    """Run `work` for at most `seconds`.

    We do not use `asyncio.wait_for`: before Python 3.12 it swallows a cancellation of the caller
    that comes together with the outcome, and the caller would go on.

    :param seconds: None for no limit.
    :param work: cancelled if it is not done in time, or if the caller is cancelled.
    :returns: the result, even if it comes while `work` is being cancelled after the time limit. The
        result of a cancelled caller is dropped, so `work` must not return objects that must be
        closed.
    :raises asyncio.TimeoutError: after the time limit.
    """
    if seconds is None:
        return await work
    task = asyncio.ensure_future(work)
    task.add_done_callback(_look_at_error)
    try:
        await asyncio.wait({task}, timeout=max(seconds, 0))
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    if task.cancelled():
        raise asyncio.TimeoutError
    return task.result()


def _look_at_error(task: asyncio.Task[Any]) -> None:
    """Retrieve the error, so that asyncio does not report it if nobody waits any more."""
    if not task.cancelled():
        task.exception()


async def together(*parts: Awaitable[T]) -> list[T]:
    """Await all `parts` concurrently, and return their results.

    If one fails, or the caller is cancelled, the others are cancelled and awaited. So none of them
    goes on, and every error is retrieved.

    :raises Exception: the error of the first part that failed.
    """
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        # This retrieves every error, including those of parts that failed while being cancelled.
        await asyncio.gather(*tasks, return_exceptions=True)
    failed = [task for task in tasks if task in ended and (task.cancelled() or task.exception())]
    return [task.result() for task in failed or tasks]


async def pools_opened(
    opening: Collection[asyncio.Future[Any]], timeout: float | None, profile: object
) -> None:
    """Wait for the tasks that open the pools of a new execution profile.

    :param timeout: seconds; None for no limit.
    :raises OperationTimedOut: if some are not done in time. They go on.
    """
    if not opening:
        return
    _, pending = await asyncio.wait(opening, timeout=timeout)
    if pending:
        raise OperationTimedOut(
            f"not all connection pools of the profile {profile!r} were open within "
            f"{timeout} seconds (pool_wait_timeout)",
            timeout=timeout,
        )
