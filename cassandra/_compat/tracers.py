"""Completes a `ResponseFuture` for tracing libraries that wrap its methods.

As in cassandra-driver, these methods are `_set_final_result` and `_set_final_exception`; see
`cassandra.cluster.final_hooks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._logs import Log
from cassandra.cluster.unread_errors import shown_statement
from cassandra.engine.failures import failure_of

if TYPE_CHECKING:
    from cassandra.cluster.response_future import ResponseFuture

log = Log("cassandra.cluster")


def set_final_result(self: ResponseFuture, response: Any) -> None:
    """Complete the future with the rows of a page, or None if the result has no rows.

    If the wrapper passes other rows than the rows of the response, the future gets those rows.
    """
    if self._done:
        return
    # Use the rows that the wrapper has passed instead of the rows from `finish_wrapped`.
    if response is not self._handed_rows:
        self._replaced_message = self._response
        self._response = response
    self._complete(None)


def set_final_exception(self: ResponseFuture, response: BaseException) -> None:
    """Complete the future with an error."""
    if self._done:
        return
    self._error = response
    self._complete(None)


def finish_wrapped(future: ResponseFuture) -> None:
    """Complete `future` by calling its own methods, which a tracing library has wrapped.

    The request completes even if the wrapper raises an error, or does not call the wrapped method.
    """
    error = future._error
    # `_handed_rows` has the rows that the wrapper gets. `set_final_result` compares them with its
    # argument, to see whether the wrapper has passed other rows.
    future._handed_rows = None
    if error is None:
        try:
            # As in cassandra-driver, the wrapper gets the rows. Decoding them may raise an error,
            # which then is the outcome.
            future._handed_rows = future._rows(future._response)
        except BaseException as failure:
            error = future._error = failure_of(failure)
    try:
        if error is None:
            future._set_final_result(future._handed_rows)
        else:
            future._set_final_exception(error)
    # Only log an error of the wrapper. Raised here, the error would end the event loop's thread, so
    # all other requests would fail, too.
    except BaseException:
        log.exception("a wrapper of the completion of %s failed", shown_statement(future.query))
    # If the wrapper has not called the wrapped method, complete the future here.
    if not future._done:
        future._complete(None)
