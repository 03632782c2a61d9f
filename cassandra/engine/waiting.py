"""Waiting for work that the end of the cluster may cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any, TypeVar

from cassandra.errors import ConnectionShutdown

__all__ = ["all_done", "outcome_of"]

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


async def all_done(tasks: Collection[asyncio.Future[Any]], timeout: float | None) -> bool:
    """Wait until all `tasks` are done, at most `timeout` seconds; return False if some are not."""
    if not tasks:
        return True
    _, pending = await asyncio.wait(tasks, timeout=timeout)
    return not pending
