"""`current_caller` returns who makes a call, so that the throttler can serve callers in turn."""

from __future__ import annotations

import asyncio
import threading

from cassandra.engine.callers import current_caller


async def test_each_task_is_one_caller() -> None:
    """A task stays the same caller, and differs from earlier tasks that had the same memory
    address.
    """

    async def caller_of_task() -> object:
        caller = current_caller()
        await asyncio.sleep(0)
        assert current_caller() == caller
        return caller

    # The tasks run one after another, so a task may have the memory address of an earlier one.
    callers = [await asyncio.ensure_future(caller_of_task()) for _ in range(50)]
    assert len(set(callers)) == 50


def test_each_thread_is_one_caller() -> None:
    """Without a running event loop, the caller is the thread: another thread is another caller."""
    callers: list[object] = []
    thread = threading.Thread(target=lambda: callers.append(current_caller()))
    thread.start()
    thread.join(timeout=10)
    assert callers != [current_caller()]
    # This thread stays the same caller.
    assert current_caller() == current_caller()
