"""Logs the errors of executions whose futures the application never read.

An application that calls `Session.execute_async` and drops the future would otherwise never notice
that its write failed.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from cassandra._imports import Deferred
from cassandra._logs import Log

if TYPE_CHECKING:
    from cassandra.observability import texts
    from cassandra.util import intervals, secret_texts
else:
    texts = Deferred("cassandra.observability.texts")
    intervals = Deferred("cassandra.util.intervals")
    secret_texts = Deferred("cassandra.util.secret_texts")

log = Log("cassandra.cluster")

# Errors of the same class are logged only once in this interval: if a cluster is down, all
# executions fail with the same error.
INTERVAL = 60.0  # seconds


@functools.cache
def _lines() -> intervals.OncePerKey:
    """Return the object that allows one log line per INTERVAL for each class of errors."""
    return intervals.OncePerKey(INTERVAL, 50, 50 * 100)


class Unread:
    """Base of objects that call `log` when they are deleted, unless `is_read` was set before.

    Each object stands for something that the application should read: an error (`UnreadError`), or
    the further pages of a result (`UnreadPages`).
    """

    __slots__ = ("is_read",)

    def __init__(self) -> None:
        self.is_read = False

    def log(self) -> None:
        """Log that the application has not read an error or the further pages of a result."""
        raise NotImplementedError

    def __del__(self) -> None:
        # Log nothing while the interpreter exits: modules may be gone, and requests in flight fail
        # only because their cluster is shut down.
        if not self.is_read and not sys.is_finalizing():
            self.log()


def shown_statement(query: Any) -> Any:
    """Return a statement or CQL string without its values, for log lines: values may be secret.

    :param query: the statement or CQL string of an execution.
    """
    query_string = getattr(query, "query_string", query)
    return (
        secret_texts.without_values(query_string) if isinstance(query_string, str) else query_string
    )


class UnreadError(Unread):
    """Logs the error of a failed execution when it is deleted, unless `is_read` was set before.

    Only the future of a failed execution has such an object. A finalizer of the future itself would
    slow down every execution.

    :param error: the error.
    :param query: the statement or CQL string of the execution.
    """

    __slots__ = ("_error", "_query")

    def __init__(self, error: BaseException, query: Any) -> None:
        super().__init__()
        self._error = error
        self._query = query

    def log(self) -> None:
        """Log the error, unless an error of the same class was logged within INTERVAL seconds."""
        _log(self._error, self._query)


def _log(error: BaseException, query: Any) -> None:
    """Log an error, unless an error of the same class was logged within INTERVAL seconds."""
    # `missed` is the number of errors of this class that were not logged since the last log line;
    # None if this error must not be logged either.
    name = type(error).__name__
    missed = _lines().missed(name)
    if missed is None:
        return
    repeats = f" ({missed} more of this class since the last of these lines)" if missed else ""
    log.warning(
        "the error of an execution was never retrieved: call result() of the future, or "
        "add_errback(). %s: %s; the statement was %s%s",
        name,
        error,
        shown_statement(query),
        repeats,
    )
