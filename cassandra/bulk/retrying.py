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
)
from cassandra.protocol.messages.errors import PreparedQueryNotFound, ServerError

RETRIES = 10  # how often one request is repeated
LONGEST_DELAY = 5.0  # seconds

# Errors after which the same request may succeed, except for the subclasses in _LASTING.
_PASSING = (
    ConnectionBusy, ConnectionException, NoConnectionsAvailable, NoHostAvailable, OperationTimedOut,
    RequestExecutionException, RequestThrottled, ServerError,
)  # fmt: skip
_LASTING = (
    AuthenticationFailed,
    FunctionFailure,
    ProtocolVersionUnsupported,
    RequestValidationException,
    SessionShutdown,
)
# Subclasses of those in _LASTING that may pass all the same:
# * The server could not read its table of passwords.
# * The server has forgotten a statement right after it was prepared, because its cache of prepared
#   statements is too small for all of its clients.
# * "Too many requests" is a RequestValidationException for compatibility only.
_PASSING_SUBCLASSES = (LoginNotChecked, PreparedQueryNotFound, RateLimitReached)

# The begin of the message of an Unauthorized error if the server could not read its table of
# permissions.
_PERMISSIONS_UNREAD = "Unable to perform authorization"

# Failure codes of a replica's read that would come again if the read was repeated: too many
# tombstones, too much data, too many indexes. See native_protocol_v5.spec, section 9, Read_failure,
# and the class RequestFailureReason of Cassandra.
_LASTING_READ_CODES = frozenset({1, 4, 7})

# Parts of the messages with which servers reject a row's values, although the code of the error is
# that of an internal error or of a failed write. Cassandra sends the name of a Java exception, for
# example for a null in a list. ScyllaDB sends the text of a C++ exception, for example for a key of
# more than 64 KB.
_DATA_ERROR = re.compile(
    r"NullPointerException|MarshalException|NumberFormatException|BufferUnderflowException"
    r"|BufferOverflowException|IndexOutOfBoundsException|IllegalArgumentException"
    r"|ClassCastException|ArithmeticException|DateTimeException"
    r"|marshal(?:ing|ling)? error|(?:key|Key|value|Value) (?:size )?too large"
    r"|[Mm]utation of \S+(?: bytes)? is too large|oversized mutation"
)


def _server_errors(error: BaseException) -> list[BaseException]:
    """Return the server errors in an error: those of each host for `NoHostAvailable`, otherwise the
    error itself. Other errors, such as timeouts, are left out.
    """
    if isinstance(error, NoHostAvailable) and isinstance(error.errors, Mapping) and error.errors:
        errors = error.errors.values()
    else:
        errors = [error]  # type: ignore[assignment]
    return [each for each in errors if isinstance(each, (ServerError, ReadFailure, WriteFailure))]


def _fails_for_its_data(error: BaseException) -> bool:
    """Return True if `error` is a failed read that each replica rejected because of the stored data
    (too many tombstones, for example).
    """
    codes = error.error_code_map if isinstance(error, ReadFailure) else None
    return bool(codes) and _LASTING_READ_CODES.issuperset(codes.values())  # type: ignore[union-attr]


def is_data_error(error: BaseException) -> bool:
    """Return True if a server reported an error because of a row's values, or because of the stored
    data that it had to read.

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

    Some servers reject a value by an error that has no details. For example, ScyllaDB answers a
    write failure if the value of an indexed column is too large.

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


def delay_before_retry(error: BaseException, attempts: int) -> float | None:
    """Return the seconds to wait before a request is repeated; None if it should not be repeated.

    :param error: the error of the last attempt.
    :param attempts: how often the request has failed.
    """
    if attempts > RETRIES or not may_pass(error) or is_data_error(error):
        return None
    # 0.04, 0.16, 0.64 and 2.56 seconds, then LONGEST_DELAY.
    return float(min(0.01 * 4**attempts, LONGEST_DELAY))
