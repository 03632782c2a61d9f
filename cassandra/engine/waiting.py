"""Waiting for work that the end of the cluster may cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection
from typing import Any, TypeVar

from cassandra.errors import ConnectionShutdown, OperationTimedOut

__all__ = ["outcome_of", "pools_opened", "together"]

T = TypeVar("T")


async def outcome_of(work: asyncio.Future[T]) -> T:
    """Wait for a task that several callers may share. The caller's cancellation leaves `work`
    alone, and is CancelledError.

    :raises ConnectionShutdown: if `work` was cancelled, which only the end of the cluster does.
    """
    # Not `await work`: that would pass the caller's cancellation on to it.
    await asyncio.wait({work})
    if work.cancelled():
        raise ConnectionShutdown("the cluster was shut down before the call was over")
    return work.result()


async def together(*parts: Awaitable[T]) -> list[T]:
    """Await all of `parts` side by side, and return their results.

    If one fails, or the caller is cancelled, the others are cancelled and waited for: nothing of
    them goes on, and no error is left that nobody has looked at.

    :raises Exception: the error of the first part that failed.
    """
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        # Looks at each error, also at those of parts that failed while they were cancelled.
        await asyncio.gather(*tasks, return_exceptions=True)
    failed = [task for task in tasks if task in ended and (task.cancelled() or task.exception())]
    return [task.result() for task in failed or tasks]


async def pools_opened(
    opening: Collection[asyncio.Future[Any]], timeout: float | None, profile: object
) -> None:
    """Wait for the tasks that open the pools of a new execution profile.

    :param timeout: seconds; None for no limit.
    :raises OperationTimedOut: if some are not done by then. They go on.
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
