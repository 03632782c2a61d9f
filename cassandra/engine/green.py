"""Replacements for selectors and thread pools if gevent or eventlet has patched the process."""

from __future__ import annotations

import asyncio
import selectors
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from cassandra._threads import green_library, new_thread

T = TypeVar("T")


def new_selector() -> selectors.BaseSelector | None:
    """Return an unpatched selector, which waits in the kernel, or None if `selectors` is unpatched.

    None lets asyncio create its default selector.

    :raises RuntimeError: under eventlet, where the original selectors are not available.
    """
    # gevent keeps the original selectors. eventlet does not.
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


async def run_in_thread(on_end: Callable[[], object], function: Callable[..., T], *args: Any) -> T:
    """Call `function` in a new real thread, and return its result.

    We use no thread pool of `concurrent.futures`, for two reasons. At its exit, the interpreter
    waits for the threads of such a pool, even if user code blocks them forever. And if threads are
    patched, the pool would start greenlets.

    :param on_end: called on the loop when `function` has ended, even if this wait was cancelled.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def set_outcome(result: Any, error: BaseException | None) -> None:
        on_end()
        if outcome.done():  # the caller was cancelled
            return
        if error is None:
            outcome.set_result(result)
        else:
            outcome.set_exception(error)

    def call_and_report() -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            result = function(*args)
        except StopIteration as caught:
            # A future cannot have this error: the caller would wait forever.
            error = RuntimeError("a function that the driver has called raised StopIteration")
            error.__cause__ = caught
        except BaseException as caught:
            # Pass the error to the caller that awaits the result.
            error = caught
        try:
            loop.call_soon_threadsafe(set_outcome, result, error)
        except RuntimeError:  # the loop was closed during the call
            pass

    try:
        new_thread(call_and_report, "cassandra-blocking").start()
    except BaseException:  # for example, the system allows no more threads
        on_end()
        raise
    return await outcome
