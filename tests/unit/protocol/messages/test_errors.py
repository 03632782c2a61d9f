"""ERROR responses are decoded to messages, whose class depends on the protocol's error code."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import errors
from cassandra.errors import WriteType
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages import errors as error_messages
from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.opcodes import ERROR
from cassandra.versions import OperationType
from tests.unit.protocol.wire import byte, int32, short, string, string_list

# The consistency level LOCAL_QUORUM (6), the number of responses, and the number of required
# responses.
RESPONSES = short(6) + int32(1) + int32(2)
# The reasons why two replicas failed: the address of each replica, and a code.
REASONS = (
    int32(2)
    + byte(4)
    + b"\x7f\x00\x00\x01"
    + short(1)
    + byte(16)
    + bytes(15)
    + b"\x01"
    + short(0x1234)
)


# For each error: its code, the protocol version, the fields after the message, the name of its
# class, its `info`, and the exception that `to_exception` returns (None if it returns the message
# itself).
ERRORS: list[tuple[int, int, bytes, str, Any, Any]] = [
    (0x0000, 4, b"", "ServerError", None, None),
    (0x000A, 4, b"", "ProtocolException", None, None),
    (0x0100, 4, b"", "BadCredentials", None, errors.AuthenticationFailed),
    (0x1000, 4, RESPONSES, "UnavailableErrorMessage",
     {"consistency": 6, "required_replicas": 1, "alive_replicas": 2}, errors.Unavailable),
    (0x1001, 4, b"", "OverloadedErrorMessage", None, None),
    (0x1002, 4, b"", "IsBootstrappingErrorMessage", None, None),
    (0x1003, 4, b"", "TruncateError", None, None),
    (0x1100, 4, RESPONSES + string("BATCH_LOG"), "WriteTimeoutErrorMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2,
     "write_type": WriteType.BATCH_LOG},
     errors.WriteTimeout),
    (0x1100, 5, RESPONSES + string("CAS") + short(3), "WriteTimeoutErrorMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2,
     "write_type": WriteType.CAS, "contentions": 3},
     errors.WriteTimeout),
    (0x1100, 5, RESPONSES + string("NEWER"), "WriteTimeoutErrorMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2, "write_type": "NEWER"},
     errors.WriteTimeout),
    (0x1200, 4, RESPONSES + byte(1), "ReadTimeoutErrorMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2, "data_retrieved": True},
     errors.ReadTimeout),
    (0x1300, 4, RESPONSES + int32(3) + byte(0), "ReadFailureMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2, "failures": 3,
     "data_retrieved": False},
     errors.ReadFailure),
    (0x1300, 5, RESPONSES + REASONS + byte(0), "ReadFailureMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2, "failures": 2,
     "data_retrieved": False,
      "error_code_map": {"127.0.0.1": 1, "::1": 0x1234}}, errors.ReadFailure),
    (0x1400, 4, string("k") + string("f") + string_list(["int"]), "FunctionFailureMessage",
     {"keyspace": "k", "function": "f", "arg_types": ["int"]}, errors.FunctionFailure),
    (0x1500, 4, RESPONSES + int32(3) + string("SIMPLE"), "WriteFailureMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2, "failures": 3,
     "write_type": 0},
     errors.WriteFailure),
    (0x1500, 5, RESPONSES + REASONS + string("VIEW"), "WriteFailureMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2, "failures": 2,
     "write_type": 6,
      "error_code_map": {"127.0.0.1": 1, "::1": 0x1234}}, errors.WriteFailure),
    (0x1600, 4, b"", "CDCWriteException", None, errors.CDCWriteFailure),
    (0x1700, 5, RESPONSES, "CASWriteUnknownMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2},
     errors.RequestExecutionException),
    (0x2000, 4, b"", "SyntaxException", None, errors.RequestValidationException),
    (0x2100, 4, b"", "UnauthorizedErrorMessage", None, errors.Unauthorized),
    (0x2200, 4, b"", "InvalidRequestException", None, errors.InvalidRequest),
    (0x2300, 4, b"", "ConfigurationException", None, errors.ConfigurationException),
    (0x2400, 4, string("k") + string("t"), "AlreadyExistsException",
    {"keyspace": "k", "table": "t"}, errors.AlreadyExists),
    (0x2400, 4, string("k") + string(""), "AlreadyExistsException",
    {"keyspace": "k", "table": ""}, errors.AlreadyExists),
    (0x2500, 4, short(2) + b"id", "PreparedQueryNotFound", b"id", None),
    (0x7777, 4, b"", "ErrorMessage", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("code", "version", "fields_bytes", "name", "info", "exception"), ERRORS)
def test_errors(
    code: int, version: int, fields_bytes: bytes, name: str, info: Any, exception: Any
) -> None:
    """An error code determines the message's class, its fields, and the exception to raise."""
    message = decode_response(
        ERROR, flags=0, body=int32(code) + string("why") + fields_bytes, version=version
    )
    assert type(message).__name__ == name
    assert type(message).__module__ == "cassandra.protocol"
    assert message.code == code
    assert message.message == "why"
    assert message.info == info
    summary = f'Error from server: code={code:04x} [{message.summary}] message="why"'
    assert message.summary_msg() == summary
    raised = message.to_exception()
    # If an error code has no separate exception class, the message itself is raised.
    if exception is None:
        assert raised is message
        return
    assert isinstance(raised, exception)
    # If the exception is not the message, it has an attribute for each item of `info`. Only the
    # number of contentions has none.
    if raised is not message and info is not None:
        attributes = {key: getattr(raised, key) for key in info if key != "contentions"}
        assert {**info, **attributes} == info


@pytest.mark.parametrize("code", [0x0000, 0x1600, 0x2000, 0x2300])
def test_some_error_messages_are_raised_themselves(code: int) -> None:
    """Error messages of these codes are exceptions, and `to_exception` returns them unchanged."""
    message = decode_response(ERROR, flags=0, body=int32(code) + string("why"), version=4)
    assert message.to_exception() is message
    assert isinstance(message, errors.DriverException)


def test_rate_limit_errors_have_the_negotiated_code() -> None:
    """Rate limit errors of ScyllaDB are decoded by the code that SUPPORTED has announced.

    Without this code, the error is an unknown error.
    """
    features = ProtocolFeatures(rate_limit_error=0x4321)
    body = int32(0x4321) + string("slow down") + byte(1) + byte(1)
    message = decode_response(ERROR, flags=0, body=body, version=4, features=features)
    assert message.info == {"op_type": OperationType.Write, "rejected_by_coordinator": True}
    assert isinstance(message.to_exception(), errors.RateLimitReached)
    assert type(decode_response(ERROR, flags=0, body=body, version=4)).__name__ == "ErrorMessage"


def test_every_error_class_is_registered() -> None:
    """`error_classes` has a class for each error code in ERRORS, except the unknown code 0x7777."""
    assert set(error_messages.error_classes) >= {code for code, *_ in ERRORS if code != 0x7777}
