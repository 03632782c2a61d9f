"""The errors of queries and writes, and `check_applied`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cassandra.client.ignored_errors import ignored_error
from cassandra.cqlengine.errors import CQLEngineException
from cassandra.cqltypes.failures import EncodeTypeError, EncodeValueError, add_note
from cassandra.errors import RateLimitReached, RequestThrottled, RequestValidationException


class QueryException(CQLEngineException):
    """A query has filters or other arguments that are not allowed."""


class DoesNotExist(QueryException):
    """`get` found no row."""


class MultipleObjectsReturned(QueryException):
    """`get` found more than one row."""


class IfNotExistsWithCounterColumn(CQLEngineException):
    """IF NOT EXISTS was used on a table with counters."""


class IfExistsWithCounterColumn(CQLEngineException):
    """IF EXISTS was used on a table with counters."""


class LWTException(CQLEngineException):
    """Raised if a lightweight transaction was not applied.

    :param existing: the row in the server's response, by column name: "[applied]" and, depending on
        the statement, the existing values.
    """

    def __init__(self, existing: dict[str, Any]) -> None:
        super().__init__("LWT Query was not applied")
        self.existing = existing
        add_note(self, "(the attribute `existing` of this error has the values in the table)")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.existing,), vars(self)


# The condition of the write does not hold, a server has refused the statement before executing it,
# a value could not be encoded, or the request was not sent.
_NOTHING_WRITTEN = (
    LWTException,
    RequestValidationException,
    EncodeTypeError,
    EncodeValueError,
    RequestThrottled,
)


def has_written_nothing(error: BaseException) -> bool:
    """Return True if servers have certainly not executed a write that has failed with `error`."""
    # RateLimitReached is a RequestValidationException only for compatibility: each replica counts
    # the writes by itself, so some replicas may have accepted the write that others have rejected.
    return isinstance(error, _NOTHING_WRITTEN) and not isinstance(error, RateLimitReached)


def check_applied(result: Any) -> None:
    """Raise `LWTException` if `result` belongs to a lightweight transaction that was not applied.

    If the transaction has failed and the retry policy has decided to ignore the error, raise the
    error: nobody knows whether the transaction was applied.

    :param result: a result whose rows are dicts.
    """
    names = getattr(result, "column_names", None) or ()
    # Only the result of a conditional write has the column "[applied]".
    if "[applied]" not in names:
        error = ignored_error(result)
        if error is not None:
            raise error
        return
    if result.was_applied:
        return
    # The result has the row that did not meet the condition.
    existing = result.one()
    if existing is None:
        raise LWTException({"[applied]": False})
    # Usually the row is a dict. Concurrent executions on cassandra.aio use the session's row
    # factory, which may make tuples.
    pairs = existing if isinstance(existing, Mapping) else zip(names, existing, strict=True)
    raise LWTException(dict(pairs))


for _class in list(vars().values()):
    if isinstance(_class, type) and _class.__module__ == __name__:
        _class.__module__ = "cassandra.cqlengine.query"
del _class
