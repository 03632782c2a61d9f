"""The throttler serves callers in turn, so each request has its caller."""

from __future__ import annotations

import asyncio
import threading

from cassandra.engine.callers import current_caller


async def test_a_task_is_one_caller_and_each_task_another_one() -> None:
    async def ask() -> object:
        first = current_caller()
        await asyncio.sleep(0)
        assert current_caller() == first
        return first

    # The futures exist in sequence, so each may be at the previous address.
    callers = [await asyncio.ensure_future(ask()) for _ in range(50)]
    assert len(set(callers)) == 50


def test_a_thread_is_a_caller() -> None:
    callers: list[object] = []
    thread = threading.Thread(target=lambda: callers.append(current_caller()))
    thread.start()
    thread.join(10)
    assert callers != [current_caller()]
    assert current_caller() == current_caller()
