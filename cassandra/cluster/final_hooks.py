"""Completion methods of `ResponseFuture` that tracers wrap on an instance.

A tracer sets ``future._set_final_result`` to a wrapper of what it found there. Futures that nobody
wraps, nearly all, never look at these methods.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any

from cassandra.engine.failures import failure_of

if TYPE_CHECKING:
    from cassandra.cluster.response_future import ResponseFuture

__all__ = ["FinalMethod", "finish_wrapped", "set_final_exception", "set_final_result"]

log = logging.getLogger("cassandra.cluster")


class FinalMethod:
    """A method that is called only if an instance has another one in its place."""

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, future: ResponseFuture | None, owner: type | None = None) -> Any:
        if future is None:
            return self._function
        wrapped = (future._hooks or {}).get(self._name)
        return wrapped if wrapped is not None else MethodType(self._function, future)

    def __set__(self, future: ResponseFuture, function: Callable[..., Any]) -> None:
        future._hooks = {**(future._hooks or {}), self._name: function}

    def __delete__(self, future: ResponseFuture) -> None:
        hooks = {name: hook for name, hook in (future._hooks or {}).items() if name != self._name}
        future._hooks = hooks or None


def set_final_result(self: ResponseFuture, response: Any) -> None:
    """Complete the future with the rows of a page; None if the result does not have rows.

    Other rows than those of the answer take their place.
    """
    if self._done:
        return
    if response is not self._handed_rows:
        message = self._response
        self._col_names = getattr(message, "column_names", None)
        self._col_types = getattr(message, "column_types", None)
        self._response = response
    self._complete(None)


def set_final_exception(self: ResponseFuture, response: BaseException) -> None:
    """Complete the future with an error."""
    if self._done:
        return
    self._error = response
    self._complete(None)


def finish_wrapped(future: ResponseFuture) -> None:
    """Complete `future` by its own methods, which a tracer has wrapped.

    The request completes even if the wrapper fails, or does not call what it wraps.
    """
    error = future._error
    future._handed_rows = None
    if error is None:
        try:
            future._handed_rows = future._rows(future._response)
        except BaseException as fault:
            error = future._error = failure_of(fault)
    try:
        if error is None:
            future._set_final_result(future._handed_rows)
        else:
            future._set_final_exception(error)
    except BaseException:  # would end the loop's thread, and all other requests with it
        log.exception("a wrapper of the completion of %r failed", future)
    if not future._done:
        future._complete(None)
