"""The kinds of event loops for tests of shutdowns, forks and timeouts.

They are the loop of asyncio and, if it is installed, the one of uvloop.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Coroutine
from typing import Any, TypeVar

from cassandra.engine.loop import new_event_loop

T = TypeVar("T")

LOOPS = ["asyncio", "uvloop"] if importlib.util.find_spec("uvloop") is not None else ["asyncio"]


class Loops:
    """One kind of event loop, "asyncio" or "uvloop", which both APIs use."""

    def __init__(self, name: str) -> None:
        self.name = name

    def make(self) -> asyncio.AbstractEventLoop:
        """Return a new event loop, which is a loop of asyncio or of uvloop."""
        return new_event_loop()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run `coroutine` on a new loop, like an application."""
        return run_on(self.make(), coroutine)


def run_on(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T]) -> T:
    """Run `coroutine` on `loop`, and then close `loop`."""
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
