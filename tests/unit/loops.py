"""The kinds of event loops for tests of shutdowns, forks and timeouts.

They are the loop of asyncio and, if it is installed, the one of uvloop.
"""

from __future__ import annotations

import asyncio
import importlib.util
import types
from collections.abc import Coroutine, Generator
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


class _EndedTask(asyncio.Future[Any]):
    """Stands for a task whose first step was its last."""

    def set_name(self, name: object) -> None:
        """Do nothing. Loops of Python 3.13.0 name each task."""


def start_at_once(
    loop: asyncio.AbstractEventLoop, coroutine: Any, **settings: Any
) -> asyncio.Future[Any]:
    """Make a task that has already run its first step, as ``asyncio.eager_task_factory`` does.

    This task factory works with each version of Python, and with uvloop.
    """
    if not loop.is_running():
        return asyncio.Task(coroutine, loop=loop, **settings)
    try:
        awaited = coroutine.send(None)
    except StopIteration as end:
        future = _EndedTask(loop=loop)
        future.set_result(end.value)
        return future
    except BaseException as error:
        future = _EndedTask(loop=loop)
        future.set_exception(error)
        return future
    return asyncio.Task(_rest_of(coroutine, awaited), loop=loop, **settings)


async def _rest_of(coroutine: Coroutine[Any, Any, T], awaited: Any) -> T:
    """Run the rest of a coroutine whose first step awaits `awaited`."""
    return await _further_steps(coroutine, awaited)


@types.coroutine
def _further_steps(coroutine: Coroutine[Any, Any, T], awaited: Any) -> Generator[Any, Any, T]:
    while True:
        try:
            try:
                value = yield awaited
            except BaseException as error:
                awaited = coroutine.throw(error)
            else:
                awaited = coroutine.send(value)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
