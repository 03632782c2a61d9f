"""Runs the background tasks of an engine, and cancels them when the engine is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from cassandra._logs import Log
from cassandra.engine.environment import InsertionOrdered, new_task
from cassandra.errors import DriverException

log = Log("cassandra.cluster")

T = TypeVar("T")

# `close` cancels the running tasks at most this many times, because a task may start others while
# it ends.
ROUNDS = 3
# In each round, `close` waits at most this long for cancelled tasks.
PATIENCE = 1.0  # seconds


class Spawn(Protocol):
    """Runs a coroutine in the background until it ends or the engine is closed."""

    def __call__(self, coroutine: Coroutine[Any, Any, T], /) -> asyncio.Task[T]: ...


class Background:
    """Starts background tasks, and cancels them in `close`.

    :param loop: the loop of the tasks, which need not be running when a task is started; None for
        the loop that is running then.
    """

    __slots__ = ("_closed", "_loop", "_tasks")

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._closed = False
        self._loop = loop
        self._tasks: InsertionOrdered[asyncio.Task[Any]] = InsertionOrdered()

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `coroutine` as a task until it ends, or until `close`.

        The coroutine does not begin before `spawn` has returned.
        """
        task = new_task(coroutine, self._loop)
        # After `close`, make the task nevertheless and cancel it at once. The caller expects a
        # task, and if the coroutine were never awaited, Python would warn.
        if self._closed:
            task.cancel()
        # Keep a reference: asyncio has only weak references to tasks, so a running task could be
        # garbage collected.
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        """Called when a task has ended: log its error if it is a programming error."""
        self._tasks.discard(task)
        # Read the error: otherwise asyncio would log it as never retrieved.
        error = None if task.cancelled() else task.exception()
        # Log only programming errors. Errors of servers and networks are handled by the code that
        # awaits the task.
        if error is not None and not isinstance(error, (DriverException, OSError)):
            log.error("a task of the engine failed: %r", error, exc_info=error)

    async def close(self) -> None:
        """Cancel all tasks and wait until they end, including tasks started while they end."""
        # Set `_closed` before cancelling, so that tasks which are started from now on are
        # cancelled, too.
        self._closed = True
        # A cancelled task may start others while it ends, so several rounds are needed.
        for _ in range(ROUNDS):
            # Skip the task that runs `close`: it would cancel itself and wait for its own end.
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
