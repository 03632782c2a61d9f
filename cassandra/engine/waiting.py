"""Waiting for work that the end of the cluster may cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection
from typing import Any, TypeVar

from cassandra.errors import ConnectionShutdown, OperationTimedOut

__all__ = ["outcome_of", "pools_opened", "together"]

T = TypeVar("T")


async def outcome_of(work: asyncio.Future[T]) -> T:
    """Wait for what several callers may share. The caller's cancellation leaves `work` alone, and
    is CancelledError.

    :raises ConnectionShutdown: if `work` was cancelled, which only the end of the cluster does.
    """
    # Not `await work`: that would pass the caller's cancellation on to it.
    await asyncio.wait({work})
    if work.cancelled():
        raise ConnectionShutdown("the cluster was shut down before the call was over")
    return work.result()


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
            f"{timeout} seconds",
            timeout=timeout,
        )


async def together(*work: Awaitable[T]) -> list[T]:
    """Wait for several at the same time, and return their results in their order.

    Unlike with `asyncio.gather`, nothing goes on after the first error or a cancellation, and
    nothing is left whose error nobody has asked for: asyncio would log that.

    :param work: coroutines that have not begun.
    :raises Exception: an error of one of them; the others are cancelled, and have ended.
    """
    tasks = [asyncio.ensure_future(one) for one in work]
    for task in tasks:
        task.add_done_callback(_take_note)
    try:
        if tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        running = [task for task in tasks if not task.done()]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
    # The one that failed, before those that were cancelled for it.
    for task in tasks:
        if not task.cancelled() and task.exception() is not None:
            task.result()
    return [task.result() for task in tasks]


def _take_note(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()
