"""Functions that wait for tasks and coroutines of the engine.

Closing the cluster cancels these tasks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine
from contextvars import Context, copy_context
from typing import Any, TypeVar

from cassandra._error_copies import copy_of
from cassandra.engine.environment import new_task
from cassandra.engine.failures import for_caller
from cassandra.errors import ConnectionShutdown, OperationTimedOut

T = TypeVar("T")

# If a time limit ends this many seconds too late, the loop was blocked, or the process did not run.
_LATE = 0.1
_MOST_EXTENSIONS = 3  # how often such a time limit is extended, so that it ends at last


async def outcome_of(work: asyncio.Future[T]) -> T:
    """Wait for a task for which other callers may wait, too; return its result or raise its error.

    If one caller is cancelled, that does not cancel `work`.

    :raises ConnectionShutdown: if `work` was cancelled, which happens only when the cluster is
        closed.
    """
    # Do not use `await work`: a cancellation of this caller would also cancel the shared task.
    await asyncio.wait({work})
    if work.cancelled():
        raise ConnectionShutdown("the cluster was shut down before the call was over")
    error = work.exception()
    if error is not None:
        raise for_caller(copy_of(error))
    return work.result()


class Closing:
    """Runs the closing of an engine once, in a separate task for which all callers wait."""

    __slots__ = ("_task",)

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    async def run(
        self, close: Callable[[], Coroutine[Any, Any, None]], context: Context | None = None
    ) -> None:
        """Call `close` if no earlier call of `run` has called it, and wait until it has completed.

        If a caller is cancelled, the closing continues.

        :param close: a coroutine function that closes everything.
        :param context: the context (see `contextvars`) in which `close` calls observers; None for
            the caller's.
        """
        if self._task is None:
            if context is None:
                context = copy_context()
            self._task = new_task(close(), context=context)
        await outcome_of(self._task)


async def within(
    seconds: float | None, work: Coroutine[Any, Any, T], *, skips_pauses: bool = False
) -> T:
    """Run a coroutine with a time limit.

    We do not use `asyncio.wait_for`: before Python 3.12 it swallows a cancellation of the caller
    that comes together with the result, so that the caller would continue.

    :param seconds: the time limit; None for no limit.
    :param work: the coroutine. It is cancelled if it is not done in time, or if the caller is
        cancelled. If the caller is cancelled, the result may be lost. So `work` must not return an
        object that has to be closed.
    :param skips_pauses: True if time in which the loop was blocked does not count, because the peer
        may have answered long ago. The limit is then extended by this time, by `seconds` at most,
        and up to three times.
    :returns: the result of `work`, even if `work` completes while it is being cancelled after the
        time limit.
    :raises asyncio.TimeoutError: after the time limit.
    """
    if seconds is None:
        return await work
    task = new_task(work)
    task.add_done_callback(_retrieve_error)
    clock = asyncio.get_running_loop().time
    time_left = max(seconds, 0)
    try:
        for _ in range(1 + _MOST_EXTENSIONS):
            end = clock() + time_left
            await asyncio.wait({task}, timeout=time_left)
            lateness = clock() - end
            if task.done() or lateness < _LATE or not skips_pauses:
                break
            time_left = min(lateness, seconds)
    finally:
        # After the time limit or a cancellation, wait until the task has really ended.
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    # `work` may have completed while it was being cancelled: then return its result.
    if task.cancelled():
        raise asyncio.TimeoutError
    return task.result()


def _retrieve_error(task: asyncio.Task[Any]) -> None:
    """Read the error of `task`, so that asyncio does not log it as never retrieved.

    If the caller was cancelled, nobody else reads the error.
    """
    if not task.cancelled():
        task.exception()


async def together(*parts: Coroutine[Any, Any, T]) -> list[T]:
    """Run all `parts` concurrently, and return their results in order.

    If a part fails, or the caller is cancelled, all other parts are cancelled, and this function
    waits until they have ended.

    :raises Exception: the error of the first part that failed.
    """
    tasks = [new_task(part) for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        # Wait for all tasks. This also retrieves every error; otherwise asyncio would log the
        # errors.
        await asyncio.gather(*tasks, return_exceptions=True)
    # If a task has failed, `finally` has cancelled the other tasks. These are not in `done`, so the
    # filter leaves them out, and we raise the error and not their cancellation.
    failed = [task for task in tasks if task in done and (task.cancelled() or task.exception())]
    # If a task failed, its `result` raises the error.
    return [task.result() for task in failed or tasks]


async def pools_opened(
    opening: Collection[asyncio.Future[Any]], timeout: float | None, profile: object
) -> None:
    """Wait for the tasks that open the pools of a new execution profile.

    :param timeout: seconds to wait; None for no limit.
    :param profile: the name of the profile, for the message.
    :raises OperationTimedOut: if some tasks have not ended in time. They continue nevertheless.
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
