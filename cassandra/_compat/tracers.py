"""The completion of a `ResponseFuture` if a tracer has wrapped its completion methods.

See `cassandra.cluster.final_hooks`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from cassandra.engine.failures import failure_of

if TYPE_CHECKING:
    from cassandra.cluster.response_future import ResponseFuture

__all__ = ["finish_wrapped", "set_final_exception", "set_final_result"]

log = logging.getLogger("cassandra.cluster")


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

    The request completes even if the wrapper fails, or does not call the method that it wraps.
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
