"""Tasks of the engine whose outcome nobody awaits."""

from __future__ import annotations

import asyncio
import gc

import pytest

from cassandra.engine.background import Background
from cassandra.errors import DriverException
from tests.unit.engine.partners import turns


async def forever() -> None:
    await asyncio.Event().wait()


async def fail(error: Exception) -> None:
    raise error


async def test_a_task_runs_though_nobody_holds_it() -> None:
    background, done = Background(), asyncio.Event()

    async def work() -> None:
        await asyncio.sleep(0)
        gc.collect()
        done.set()

    background.spawn(work())
    await asyncio.wait_for(done.wait(), 5)


async def test_only_errors_that_are_mistakes_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    background = Background()
    for error in (DriverException("refused"), OSError("lost"), ZeroDivisionError("a mistake")):
        background.spawn(fail(error))
    await turns()
    assert [record.getMessage() for record in caplog.records] == [
        "a task of the engine failed: ZeroDivisionError('a mistake')"
    ]


async def test_close_cancels_all_and_what_they_start() -> None:
    background = Background()
    started: list[asyncio.Task[None]] = []

    async def stubborn() -> None:
        try:
            await forever()
        finally:
            started.append(background.spawn(forever()))

    first = background.spawn(stubborn())
    await turns()
    await background.close()
    assert first.cancelled()
    assert [task.cancelled() for task in started] == [True]


async def test_after_close_nothing_begins() -> None:
    background = Background()
    await background.close()
    task = background.spawn(forever())
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_task_may_close_its_own() -> None:
    background = Background()
    other = background.spawn(forever())
    await asyncio.wait_for(background.spawn(background.close()), 5)
    assert other.cancelled()
