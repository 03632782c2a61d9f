"""Waiting for work that the end of the cluster may cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any, TypeVar

from cassandra.errors import ConnectionShutdown, OperationTimedOut

__all__ = ["outcome_of", "pools_opened"]

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
            f"{timeout} seconds (pool_wait_timeout)",
            timeout=timeout,
        )
