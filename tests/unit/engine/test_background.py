"""`Background`, which runs tasks of the engine that no caller awaits."""

from __future__ import annotations

import asyncio
import gc

import pytest

from cassandra.engine.background import Background
from cassandra.errors import DriverException
from tests.unit.engine.partners import run_loop_turns


async def forever() -> None:
    await asyncio.Event().wait()


async def fail(error: Exception) -> None:
    raise error


async def test_a_task_without_other_references_runs_to_its_end() -> None:
    background, done = Background(), asyncio.Event()

    async def work() -> None:
        await asyncio.sleep(0)
        gc.collect()
        done.set()

    background.spawn(work())
    await asyncio.wait_for(done.wait(), 5)


async def test_only_unexpected_errors_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    background = Background()
    for error in (DriverException("refused"), OSError("lost"), ZeroDivisionError("a mistake")):
        background.spawn(fail(error))
    await run_loop_turns()
    assert [record.getMessage() for record in caplog.records] == [
        "a task of the engine failed: ZeroDivisionError('a mistake')"
    ]


async def test_close_also_cancels_tasks_started_during_it() -> None:
    background = Background()
    started: list[asyncio.Task[None]] = []

    async def start_another_at_the_end() -> None:
        try:
            await forever()
        finally:
            started.append(background.spawn(forever()))

    first = background.spawn(start_another_at_the_end())
    await run_loop_turns()
    await background.close()
    assert first.cancelled()
    assert [task.cancelled() for task in started] == [True]


async def test_after_close_new_tasks_are_cancelled() -> None:
    background = Background()
    await background.close()
    task = background.spawn(forever())
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_background_task_may_close_the_background() -> None:
    background = Background()
    other = background.spawn(forever())
    await asyncio.wait_for(background.spawn(background.close()), 5)
    assert other.cancelled()
