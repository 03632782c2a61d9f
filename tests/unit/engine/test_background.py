"""Tests of `Background`, which runs tasks of the engine that no caller awaits."""

from __future__ import annotations

import asyncio
import gc
from contextvars import ContextVar

import pytest

from cassandra.engine.background import Background
from cassandra.errors import DriverException
from tests.unit.engine.partners import run_loop_turns
from tests.unit.loops import start_at_once


async def forever() -> None:
    """Wait without end."""
    await asyncio.Event().wait()


async def fail(error: Exception) -> None:
    """Raise the error."""
    raise error


async def test_a_task_without_other_references_runs_to_its_end() -> None:
    """A task that nobody refers to runs to its end, because `Background` refers to it.

    An event loop refers to its tasks only weakly, so the garbage collector could free them.
    """
    background = Background()
    is_finished = asyncio.Event()

    async def work() -> None:
        await asyncio.sleep(0)
        gc.collect()
        is_finished.set()

    background.spawn(work())
    await asyncio.wait_for(is_finished.wait(), timeout=5)


async def test_only_unexpected_errors_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Only unexpected errors of tasks are logged.

    Errors of servers and networks are handled elsewhere. Other errors are bugs that no caller would
    see.
    """
    background = Background()
    for error in (DriverException("refused"), OSError("lost"), ZeroDivisionError("mistake")):
        background.spawn(fail(error))
    await run_loop_turns()
    assert [record.getMessage() for record in caplog.records] == [
        "a task of the engine failed: ZeroDivisionError('mistake')"
    ]


async def test_close_also_cancels_tasks_started_during_it() -> None:
    """`close` also cancels a task that another task starts while it is cancelled.

    A task may start another task in its `finally` block.
    """
    background = Background()
    started_tasks: list[asyncio.Task[None]] = []

    async def start_another_at_the_end() -> None:
        try:
            await forever()
        finally:
            started_tasks.append(background.spawn(forever()))

    closing_task = background.spawn(start_another_at_the_end())
    await run_loop_turns()
    await background.close()
    assert closing_task.cancelled()
    assert [task.cancelled() for task in started_tasks] == [True]


async def test_after_close_new_tasks_are_cancelled() -> None:
    """`spawn` still returns a task after `close`, but the task is cancelled."""
    background = Background()
    await background.close()
    task = background.spawn(forever())
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_background_task_may_close_the_background() -> None:
    """A background task may call `close`, which neither cancels this task nor waits for it."""
    background = Background()
    other = background.spawn(forever())
    await asyncio.wait_for(background.spawn(background.close()), timeout=5)
    assert other.cancelled()


async def test_a_task_begins_after_spawn_has_returned() -> None:
    """A task does not begin before `spawn` has returned, even if the loop starts tasks at once.

    `asyncio.eager_task_factory` starts them at once.
    """
    asyncio.get_running_loop().set_task_factory(start_at_once)
    background = Background()
    events: list[str] = []

    async def work() -> None:
        events.append("task")

    task = background.spawn(work())
    events.append("spawned")
    await task
    assert events == ["spawned", "task"]


@pytest.mark.parametrize("starts_at_once", [False, True])
async def test_tasks_run_in_an_empty_context(starts_at_once: bool) -> None:
    """A task does not run in the context of the code that spawns it, which it outlives."""
    if starts_at_once:
        asyncio.get_running_loop().set_task_factory(start_at_once)
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    variable.set("set")

    async def work() -> str:
        return variable.get()

    assert await Background().spawn(work()) == "unset"
    assert variable.get() == "set"
