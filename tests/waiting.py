"""Waiting for what other threads, and other tasks of the loop, are about to do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

__all__ = ["WAIT", "cancelled_after", "until", "until_on_loop"]

# Seconds after which we give up what should have come. A test that passes never waits that long: it
# is for the slowest machine, with other work on it.
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

    A condition that asks another process may be asked less often, by ``pause``; ``reason`` is
    called if time is over, for what it knows of the cause.
    """
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, (
            f"it did not come to that within {seconds} s {reason()}".rstrip()
        )
        time.sleep(pause)
    return found


async def until_on_loop(condition: Callable[[], Any], seconds: float = WAIT) -> Any:
    """Do the same while the loop runs."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"it did not come to that within {seconds} s"
        await asyncio.sleep(_PAUSE)
    return found


async def cancelled_after(turns: int, begin: Callable[[], Awaitable[Any]]) -> bool:
    """Begin, cancel after so many turns, and wait; return True if it was over before that."""

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
