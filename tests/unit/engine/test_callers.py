"""`current_caller`, which identifies who makes a call, so that the throttler can be fair."""

from __future__ import annotations

import asyncio
import threading

from cassandra.engine.callers import current_caller


async def test_each_task_is_one_caller() -> None:
    """A task is always the same caller, and never the same caller as another task."""

    async def caller_of_task() -> object:
        caller = current_caller()
        await asyncio.sleep(0)
        assert current_caller() == caller
        return caller

    # The tasks run one after another, so a task may get the memory address of an earlier task.
    callers = [await asyncio.ensure_future(caller_of_task()) for _ in range(50)]
    assert len(set(callers)) == 50


def test_each_thread_is_one_caller() -> None:
    """Without a running event loop, the caller is the thread.

    Another thread is another caller.
    """
    callers: list[object] = []
    thread = threading.Thread(target=lambda: callers.append(current_caller()))
    thread.start()
    thread.join(timeout=10)
    assert callers != [current_caller()]
    # Two calls in the same thread have the same caller.
    assert current_caller() == current_caller()
