"""Functions that wait for other threads, and for other tasks of the loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

__all__ = ["WAIT", "cancelled_after", "until", "until_on_loop"]

# Seconds after which we give up. A test that passes never waits that long: the limit is for the
# slowest machine under load.
WAIT = 60.0
_PAUSE = 0.001


def until(
    condition: Callable[[], Any],
    seconds: float = WAIT,
    *,
    pause: float = _PAUSE,
    reason: Callable[[], str] = lambda: "",
) -> Any:
    """Wait until the condition is true, and return its result.

    Increase ``pause`` if the condition is expensive, for example because it queries another
    process. If the time is over, the error contains the result of ``reason``.
    """
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, (
            f"it did not come to that within {seconds} s {reason()}".rstrip()
        )
        time.sleep(pause)
    return result


async def until_on_loop(condition: Callable[[], Any], seconds: float = WAIT) -> Any:
    """Do the same while the loop runs."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f"it did not come to that within {seconds} s"
        await asyncio.sleep(_PAUSE)
    return result


async def cancelled_after(turns: int, begin: Callable[[], Awaitable[Any]]) -> bool:
    """Begin, and cancel after `turns` turns of the loop; return True if it ended before that."""

    async def begun() -> None:
        await begin()

    task = asyncio.ensure_future(begun())
    for _ in range(turns):
        await asyncio.sleep(0)
    was_over = task.done()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=WAIT)
    assert done
    if not task.cancelled():
        task.result()
    return was_over
