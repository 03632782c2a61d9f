"""After an error, a load or scan decides whether to retry, and how long to wait before a retry."""

from __future__ import annotations

import pytest

from cassandra.bulk.retrying import (
    RETRIES,
    delay_before_retry,
    is_data_error,
    is_outage,
    may_be_data_error,
    may_have_been_executed,
    may_pass,
)
from cassandra.errors import (
    AuthenticationFailed,
    ConnectionException,
    FunctionFailure,
    InvalidRequest,
    LoginNotChecked,
    LoginRefused,
    NoHostAvailable,
    OperationTimedOut,
    ProtocolVersionUnsupported,
    RateLimitReached,
    ReadFailure,
    RequestThrottled,
    SessionShutdown,
    Unauthorized,
    Unavailable,
    WriteFailure,
    WriteTimeout,
    refused_everywhere,
)
from cassandra.protocol.messages.errors import (
    OverloadedErrorMessage,
    PreparedQueryNotFound,
    ServerError,
)


def test_the_delay_before_a_retry_is_none_for_permanent_errors() -> None:
    """`delay_before_retry` returns seconds that grow with each attempt, or None for no retry.

    There is no retry after RETRIES attempts, and none after a permanent error.
    """
    assert delay_before_retry(OperationTimedOut(), 1) == 0.04
    assert delay_before_retry(NoHostAvailable("none", errors={}), RETRIES) == 5.0
    assert delay_before_retry(NoHostAvailable("none", errors={}), RETRIES + 1) is None
    for error in (InvalidRequest("no"), SessionShutdown("over"), AuthenticationFailed("no")):
        assert delay_before_retry(error, 1) is None
    assert delay_before_retry(FunctionFailure("f", "k", "f", arg_types=[]), 1) is None
    assert delay_before_retry(KeyError(), 1) is None


@pytest.mark.parametrize(
    ("error", "is_temporary"),
    [
        (RateLimitReached(), True),
        (RequestThrottled("full"), True),
        (ServerError(0, "bug", info=None), True),
        (OverloadedErrorMessage(0x1001, "busy", info=None), True),
        (LoginNotChecked("cannot read the table of passwords"), True),
        (PreparedQueryNotFound(0x2500, "unknown id", info=b"id"), True),
        (Unauthorized("Unable to perform authorization of permissions: timed out"), True),
        (LoginRefused("no", {}), False),
        (ProtocolVersionUnsupported("127.0.0.1", 4), False),
        (
            Unauthorized("User u has no MODIFY permission on <table k.t> or any of its parents"),
            False,
        ),
        (ValueError(), False),
        (KeyboardInterrupt(), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_overload_may_pass_and_refusals_do_not(error: BaseException, is_temporary: bool) -> None:
    """`may_pass` returns True if the same request may succeed later."""
    assert may_pass(error) is is_temporary


@pytest.mark.parametrize(
    "message",
    [
        'java.lang.NullPointerException: Cannot invoke "ByteBuffer.remaining()"',
        "org.apache.cassandra.serializers.MarshalException: Expected 4 or 0 byte int (3)",
        "java.lang.IllegalArgumentException: Mutation of 17.000MiB is too large",
        "java.nio.BufferUnderflowException",
        "marshaling error: read_simple_exactly - size mismatch (expected 4, got 1)",
        "Key size too large: 65542 > 65535",
        "Value too large, 131072 > 65535",
        "Mutation of 16777318 bytes is too large for the maximum size of 16777216",
        "Rejected an oversized mutation (50233/49152) for keyspace: k",
    ],
)
def test_messages_of_servers_that_reject_a_value(message: str) -> None:
    """A server error whose message is about a value is a data error, so there is no retry.

    The message may belong to the error itself, or to the error of one of the hosts that were tried.
    """
    server_error = ServerError(0, message)
    assert is_data_error(server_error)
    assert is_data_error(WriteFailure(message))
    assert is_data_error(refused_everywhere("no host is left", {"a": server_error}, server_error))
    assert is_data_error(NoHostAvailable("no host is left", {"a": OSError(), "b": server_error}))
    # An overloaded server may accept the value later, even if its message mentions the value.
    assert not is_data_error(OverloadedErrorMessage(0x1001, message, info=None))
    assert delay_before_retry(server_error, 1) is None


# Codes of the reasons why a replica failed, which Cassandra sends with a READ_FAILURE.
TOMBSTONES, READ_SIZE, TIMEOUT = 1, 4, 2


@pytest.mark.parametrize(
    ("code_by_replica", "repeats"),
    [
        ({"127.0.0.1": TOMBSTONES}, False),
        ({"127.0.0.1": TOMBSTONES, "127.0.0.2": READ_SIZE}, False),
        ({"127.0.0.1": TOMBSTONES, "127.0.0.2": TIMEOUT}, True),
        ({}, True),
        (None, True),  # Read failures of protocol version 4 have no codes.
    ],
)
def test_a_read_that_each_replica_rejects_is_not_repeated(
    code_by_replica: dict[str, int] | None, repeats: bool
) -> None:
    """A read is not repeated if each replica rejects it, and repeated if a replica timed out.

    Too many tombstones stay too many, but a replica that timed out may respond later.
    """
    failure = ReadFailure("failed", error_code_map=code_by_replica)
    assert is_data_error(failure) is not repeats
    assert (delay_before_retry(failure, 1) is not None) is repeats


def test_errors_without_details_may_be_about_a_value() -> None:
    """`may_be_data_error` is also True for errors that do not say whether a value is the reason."""
    for error in (ServerError(0, "java.lang.RuntimeException"), WriteFailure("1 failure")):
        assert not is_data_error(error)
        assert may_be_data_error(error)
        assert may_be_data_error(refused_everywhere("no host is left", {"a": error}, error))
    assert may_be_data_error(InvalidRequest("no"))
    for temporary_error in (
        WriteTimeout("late"),
        NoHostAvailable("none", errors={}),
        OperationTimedOut(),
    ):
        assert not may_be_data_error(temporary_error)


def test_requests_that_may_have_been_executed() -> None:
    """A request without an answer may have been executed; a request that was refused was not."""
    lost = ConnectionException("lost")
    for error in (lost, OperationTimedOut(), WriteTimeout("late"), WriteFailure("1 failure")):
        assert may_have_been_executed(error)
    assert may_have_been_executed(NoHostAvailable("none", {"a": OSError(), "b": lost}))
    for refusal in (
        InvalidRequest("no"),
        Unavailable("too few replicas"),
        NoHostAvailable("none", {"a": OSError(), "b": Unavailable("too few replicas")}),
        NoHostAvailable("the query plan is empty", errors={}),
    ):
        assert not may_have_been_executed(refusal)
    not_sent = NoHostAvailable("none", {"a": ConnectionException("no open connection to a")})
    not_sent._was_sent = False
    assert not may_have_been_executed(not_sent)


def test_an_outage_is_that_no_server_answers() -> None:
    """`is_outage` is True if all hosts that were tried have lost their connections."""
    lost = ConnectionException("lost")
    assert is_outage(NoHostAvailable("every host is down", {"a": lost, "b": OSError()}))
    assert is_outage(NoHostAvailable("the query plan is empty", errors={}))
    server_error = ServerError(0, "busy")
    for error in (
        None,
        lost,
        OperationTimedOut(),
        Unavailable("too few replicas"),
        SessionShutdown("over"),
        refused_everywhere("no host is left", {"a": server_error}, server_error),
        NoHostAvailable("no host is left", {"a": lost, "b": server_error}),
    ):
        assert not is_outage(error)
