"""Decides which requests of a load or scan are repeated after an error, and when."""

from __future__ import annotations

from cassandra.errors import (
    AuthenticationFailed,
    ConnectionBusy,
    ConnectionException,
    FunctionFailure,
    NoConnectionsAvailable,
    NoHostAvailable,
    OperationTimedOut,
    RateLimitReached,
    RequestExecutionException,
    RequestThrottled,
    RequestValidationException,
    SessionShutdown,
)
from cassandra.protocol.messages.errors import ServerError

__all__ = ["RETRIES", "delay_before_retry", "may_pass"]

RETRIES = 10  # how often one request is repeated
LONGEST_DELAY = 5.0  # seconds

# Errors after which the same request may succeed, except for the subclasses in _LASTING.
_PASSING = (
    ConnectionBusy,
    ConnectionException,
    NoConnectionsAvailable,
    NoHostAvailable,
    OperationTimedOut,
    RequestExecutionException,
    RequestThrottled,
    ServerError,
)
_LASTING = (AuthenticationFailed, FunctionFailure, RequestValidationException, SessionShutdown)


def may_pass(error: BaseException) -> bool:
    """Return True if the same request may succeed later.

    :param error: the error of the last attempt.
    """
    # RateLimitReached means "too many requests", so it may pass. It is a RequestValidationException
    # for compatibility only.
    if isinstance(error, RateLimitReached):
        return True
    return isinstance(error, _PASSING) and not isinstance(error, _LASTING)


def delay_before_retry(error: BaseException, attempts: int) -> float | None:
    """Return the seconds to wait before a request is repeated; None if it should not be.

    :param error: the error of the last attempt.
    :param attempts: how often the request has failed.
    """
    if attempts > RETRIES or not may_pass(error):
        return None
    return float(min(0.01 * 4**attempts, LONGEST_DELAY))
