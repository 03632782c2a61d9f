"""Tasks of the engine that nobody waits for, all of which end with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from cassandra.engine.environment import InsertionOrdered
from cassandra.errors import DriverException

__all__ = ["Background", "Spawn"]

log = logging.getLogger("cassandra.cluster")

T = TypeVar("T")

ROUNDS = 3  # what ends may start something once more
PATIENCE = 1.0  # seconds that cancelled tasks get in each round


class Spawn(Protocol):
    """Runs a coroutine in the background, at the longest until the engine is closed."""

    def __call__(self, coroutine: Coroutine[Any, Any, T], /) -> asyncio.Task[T]: ...


class Background:
    """Starts tasks, and ends them when it is closed."""

    __slots__ = ("_closed", "_tasks")

    def __init__(self) -> None:
        self._closed = False
        self._tasks: InsertionOrdered[asyncio.Task[Any]] = InsertionOrdered()

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `coroutine`, at the longest until `close`."""
        task: asyncio.Task[T] = asyncio.ensure_future(coroutine)
        # A task in any case: a coroutine that is dropped would be warned of, and the caller wants a
        # task.
        if self._closed:
            task.cancel()
        # The loop holds its tasks weakly: without this reference one could be collected while it
        # runs.
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        # To read the error also keeps asyncio from logging it as never retrieved.
        error = None if task.cancelled() else task.exception()
        # Errors of servers and networks are for the callers that wait for the task, if there are
        # any left.
        if error is not None and not isinstance(error, (DriverException, OSError)):
            log.error("a task of the engine failed: %r", error, exc_info=error)

    async def close(self) -> None:
        """Cancel all tasks and wait for their end; those that they start are cancelled too."""
        # Before the first cancellation: what a task starts while it ends is cancelled, too.
        self._closed = True
        for _ in range(ROUNDS):
            # Not the task that closes: it would cancel itself and wait for its own end.
            running = [
                task
                for task in self._tasks
                if not task.done() and task is not asyncio.current_task()
            ]
            if not running:
                return
            for task in running:
                task.cancel()
            await asyncio.wait(running, timeout=PATIENCE)
