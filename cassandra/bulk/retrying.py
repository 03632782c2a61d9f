"""Decides which requests of a load or scan are repeated after an error, and when."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cassandra.errors import (
    AuthenticationFailed,
    ConnectionBusy,
    ConnectionException,
    FunctionFailure,
    LoginNotChecked,
    NoConnectionsAvailable,
    NoHostAvailable,
    OperationTimedOut,
    ProtocolVersionUnsupported,
    RateLimitReached,
    ReadFailure,
    RequestExecutionException,
    RequestThrottled,
    RequestValidationException,
    SessionShutdown,
    Unauthorized,
    WriteFailure,
    WriteTimeout,
)
from cassandra.protocol.messages.errors import (
    CASWriteUnknownMessage,
    PreparedQueryNotFound,
    ServerError,
)

RETRIES = 10  # how often a single request is repeated at most
LONGEST_DELAY = 5.0  # the maximum number of seconds before a request is repeated

# Classes of errors after which the same request may succeed. Their subclasses in _LASTING are
# exceptions.
_PASSING = (
    ConnectionBusy, ConnectionException, NoConnectionsAvailable, NoHostAvailable, OperationTimedOut,
    RequestExecutionException, RequestThrottled, ServerError,
)  # fmt: skip
# Errors after which the same request would fail again.
_LASTING = (
    AuthenticationFailed,
    FunctionFailure,
    ProtocolVersionUnsupported,
    RequestValidationException,
    SessionShutdown,
)
# Subclasses of the classes in _LASTING after which the same request may succeed nevertheless:
# * LoginNotChecked: the server could not read its table of passwords.
# * PreparedQueryNotFound: the server has forgotten a statement right after it was prepared, because
#   its cache of prepared statements is too small for all of its clients.
# * RateLimitReached: "too many requests" is a RequestValidationException for compatibility only.
_PASSING_SUBCLASSES = (LoginNotChecked, PreparedQueryNotFound, RateLimitReached)

# Errors after which a server may have executed the request, or may still execute it. Some of their
# subclasses are in _LASTING.
_UNKNOWN_OUTCOME = (
    CASWriteUnknownMessage, ConnectionException, OperationTimedOut, ServerError, WriteFailure,
    WriteTimeout,
)  # fmt: skip

# The beginning of the message of an Unauthorized error if the server could not read its table of
# permissions.
_PERMISSIONS_UNREAD = "Unable to perform authorization"

# Codes with which a replica reports that a read has failed, and would fail again: too many
# tombstones, too much data, too many indexes. See native_protocol_v5.spec, section 8, Read_failure,
# and the class RequestFailureReason of Cassandra.
_LASTING_READ_CODES = frozenset({1, 4, 7})

# Parts of the messages with which servers reject the values of a row. The error code is no help: it
# also stands for internal errors or failed writes. Cassandra sends the name of a Java exception,
# for example for a null in a list. ScyllaDB sends the message of a C++ exception, for example for a
# key of more than 64 KB.
_DATA_ERROR = re.compile(
    r"NullPointerException|MarshalException|NumberFormatException|BufferUnderflowException"
    r"|BufferOverflowException|IndexOutOfBoundsException|IllegalArgumentException"
    r"|ClassCastException|ArithmeticException|DateTimeException"
    r"|marshal(?:ing|ling)? error|(?:key|Key|value|Value) (?:size )?too large"
    r"|[Mm]utation of \S+(?: bytes)? is too large|oversized mutation"
)


def _server_errors(error: BaseException) -> list[BaseException]:
    """Return the errors of servers that an error consists of.

    For `NoHostAvailable`, these are the errors of the hosts; otherwise it is the error itself.
    Errors that do not come from a server, such as timeouts, are left out.
    """
    if isinstance(error, NoHostAvailable) and isinstance(error.errors, Mapping) and error.errors:
        errors = error.errors.values()
    else:
        errors = [error]  # type: ignore[assignment]
    return [each for each in errors if isinstance(each, (ServerError, ReadFailure, WriteFailure))]


def _fails_for_its_data(error: BaseException) -> bool:
    """Return True for a failed read that every replica rejected because of the stored data.

    For example, there were too many tombstones.
    """
    codes = error.error_code_map if isinstance(error, ReadFailure) else None
    return bool(codes) and _LASTING_READ_CODES.issuperset(codes.values())  # type: ignore[union-attr]


def is_data_error(error: BaseException) -> bool:
    """Return True if a row's values, or the stored data that a server had to read, caused an error.

    The code of such an error may also mean a temporary fault, but repeating the request does not
    help.

    :param error: the error of the last attempt.
    """
    return any(
        _DATA_ERROR.search(str(each)) is not None or _fails_for_its_data(each)
        for each in _server_errors(error)
    )


def is_outage(error: BaseException | None) -> bool:
    """Return True if no server could be reached, so that the error says nothing about the row.

    :param error: the error of the last attempt; None for no error.
    """
    return (
        isinstance(error, NoHostAvailable)
        and not isinstance(error, (RequestExecutionException, SessionShutdown))
        and not _server_errors(error)
    )


def may_be_data_error(error: BaseException) -> bool:
    """Return True if the values of a row may have caused the error.

    Some servers reject a value with an error that has no details. For example, ScyllaDB responds
    with a write failure if the value of an indexed column is too large.

    :param error: the error of the last attempt.
    """
    return not may_pass(error) or bool(_server_errors(error))


def may_pass(error: BaseException) -> bool:
    """Return True if the same request may succeed later.

    :param error: the error of the last attempt.
    """
    if isinstance(error, _PASSING_SUBCLASSES):
        return True
    if isinstance(error, Unauthorized):
        return _PERMISSIONS_UNREAD in str(error)
    return isinstance(error, _PASSING) and not isinstance(error, _LASTING)


def may_have_been_executed(error: BaseException) -> bool:
    """Return True if a server may have executed the request in spite of its error.

    :param error: the error of the request. For `NoHostAvailable`, the errors of the hosts count.
    """
    if isinstance(error, NoHostAvailable) and isinstance(error.errors, Mapping) and error.errors:
        return error._was_sent and any(map(may_have_been_executed, error.errors.values()))
    return isinstance(error, _UNKNOWN_OUTCOME) and not isinstance(error, _LASTING)


def delay_before_retry(error: BaseException, attempts: int) -> float | None:
    """Return the seconds to wait before a request is repeated; None if it should not be repeated.

    :param error: the error of the last attempt.
    :param attempts: the number of attempts that have failed.
    """
    if attempts > RETRIES or not may_pass(error) or is_data_error(error):
        return None
    # The delays are 0.04, 0.16, 0.64 and 2.56 seconds, then always LONGEST_DELAY.
    return float(min(0.01 * 4**attempts, LONGEST_DELAY))
