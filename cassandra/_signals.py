"""Tells errors of the application's signal handlers from other errors.

Job queues limit the time of a job by a signal handler that raises an exception. Python calls the
handler between any two instructions of the main thread, so the exception may come out of any code,
also out of a row or a converter of the application. Where the driver would take such an exception
for the failure of one row or one statement, it has to raise it instead.
"""

from __future__ import annotations

import signal
import types
from collections.abc import Iterable
from typing import Any

try:
    # `signal.getsignal` also looks for an enum member for each handler, which takes long, and many
    # rows may fail.
    from _signal import getsignal  # type: ignore[import-not-found]
except ImportError:  # another interpreter than CPython
    from signal import getsignal


def is_from_signal_handler(error: BaseException) -> bool:
    """Return True if a signal handler of the application has raised `error`.

    False if the handler is not written in Python.
    """
    traceback = error.__traceback__
    # Errors that servers report were often never raised.
    if traceback is None:
        return False
    handlers = {
        _code_of(handler)
        for number in range(1, signal.NSIG)
        if not isinstance(handler := getsignal(number), (int, types.NoneType))
    }
    while traceback is not None:
        if traceback.tb_frame.f_code in handlers:
            return True
        traceback = traceback.tb_next
    return False


def raise_interruption(outcomes: Iterable[tuple[Any, ...]]) -> None:
    """Raise the error of a signal handler that was taken for the outcome of a statement.

    :param outcomes: tuples that begin with (True, result) or (False, error).
    """
    for outcome in outcomes:
        if not outcome[0] and is_from_signal_handler(outcome[1]):
            raise outcome[1]


def _code_of(handler: Any) -> types.CodeType | None:
    """Return the code of a signal handler, or None if it has none."""
    # A handler may be a partial of a method of an object with `__call__`, and so on.
    for _ in range(10):
        if isinstance(handler, types.FunctionType):
            return handler.__code__
        if isinstance(handler, types.MethodType):
            handler = handler.__func__
        elif hasattr(handler, "func"):
            handler = handler.func  # a functools.partial
        else:
            calls = (vars(base).get("__call__") for base in type(handler).__mro__)
            handler = next(filter(None, calls), None)
    return None
