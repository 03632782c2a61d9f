"""Substitutes for parts of the engine if gevent or eventlet has patched the process's threads."""

from __future__ import annotations

import asyncio
import selectors
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from cassandra._threads import green_library, new_thread

__all__ = ["new_selector", "run_in_thread"]

T = TypeVar("T")


def new_selector() -> selectors.BaseSelector | None:
    """Return a selector that waits in the kernel; None if the `selectors` module is not patched.

    :raises RuntimeError: under eventlet, which hides the original selectors.
    """
    monkey: Any = sys.modules.get("gevent.monkey")
    if monkey is not None and monkey.is_module_patched("selectors"):
        selector: selectors.BaseSelector = monkey.get_original("selectors", "DefaultSelector")()
        return selector
    if green_library() == "eventlet":
        raise RuntimeError(
            "eventlet has replaced this process's threads and selectors (monkey patching), and the "
            "driver's event loop needs real ones: install uvloop, which has its own"
        )
    return None


async def run_in_thread(function: Callable[..., T], *args: Any) -> T:
    """Call `function` in a new native thread, and return its result.

    Needed where threads are patched: pools of `concurrent.futures` would start greenlets.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if outcome.done():  # cancelled: nobody waits for it
            return
        if error is None:
            outcome.set_result(result)
        else:
            outcome.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = function(*args)
        except BaseException as caught:
            # Raise it where the result is awaited: nobody looks at errors of this thread.
            error = caught
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:  # the loop was closed during the call
            pass

    new_thread(run, "cassandra-blocking").start()
    return await outcome
