"""Waiting for work that the end of the cluster may cancel."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from cassandra.errors import ConnectionShutdown

__all__ = ["outcome_of"]

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
