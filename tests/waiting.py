"""Functions that wait until other threads or tasks have made a condition true."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

# A wait fails after this many seconds. A test that passes never waits that long, even on a slow
# machine under load.
WAIT = 60.0
_PAUSE = 0.001


def until(
    condition: Callable[[], Any],
    seconds: float = WAIT,
    *,
    pause: float = _PAUSE,
    reason: Callable[[], str] = lambda: "",
) -> Any:
    """Wait until `condition` returns a true value, and return that value.

    :param seconds: after this time, the function raises an AssertionError.
    :param pause: seconds between two calls of `condition`. Increase it if a call is expensive, for
        example because it sends a query to another process.
    :param reason: is called when the time is over. The error contains its result.
    """
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, (
            f"it did not come to that within {seconds} s {reason()}".rstrip()
        )
        time.sleep(pause)
    return result


async def until_on_loop(condition: Callable[[], Any], seconds: float = WAIT) -> Any:
    """Wait until `condition` returns a true value, and return that value.

    Unlike `until`, this coroutine lets the event loop run other tasks while it waits.

    :param seconds: after this time, the coroutine raises an AssertionError.
    """
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f"it did not come to that within {seconds} s"
        await asyncio.sleep(_PAUSE)
    return result


async def result_of(outcome: Any) -> Any:
    """Return the result of a call of the blocking or the asyncio API.

    :param outcome: what the call returned. An awaitable is awaited, any other value is the result.
    """
    return await outcome if inspect.isawaitable(outcome) else outcome


async def cancelled_after(turns: int, begin: Callable[[], Awaitable[Any]]) -> bool:
    """Await the result of `begin` in a task, and cancel the task after `turns` loop iterations.

    Wait until the task has ended. If it raised an error, raise that error.

    :param begin: starts an operation, and returns an awaitable of its result.
    :returns: True if the task had ended before it was cancelled.
    """

    async def await_result() -> None:
        await begin()

    task = asyncio.ensure_future(await_result())
    for _ in range(turns):
        await asyncio.sleep(0)
    had_ended = task.done()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=WAIT)
    assert done
    # If the task raised an error, `result` raises it.
    if not task.cancelled():
        task.result()
    return had_ended
