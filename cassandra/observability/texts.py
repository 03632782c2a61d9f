"""Descriptions of statements and errors that are safe for logs and traces.

People who read logs and spans may have no right to read the data. So a description of a statement
has no values. A server's error message may repeat parts of the statement, even a password. So a
description of an error has only its class, the server's code, and its fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from cassandra._bounded import Bounded
from cassandra._patterns import pattern
from cassandra.consistency import consistency_value_to_name
from cassandra.cqltypes.failures import EncodeTypeError, EncodeValueError
from cassandra.errors import (
    AlreadyExists,
    AuthenticationFailed,
    ConfigurationException,
    ConnectionBusy,
    ConnectionException,
    FunctionFailure,
    InvalidRequest,
    MissingParameter,
    NoConnectionsAvailable,
    NoHostAvailable,
    OperationTimedOut,
    QueryExhausted,
    RateLimitReached,
    ReadFailure,
    ReadTimeout,
    RequestExecutionException,
    RequestThrottled,
    RequestValidationException,
    Unauthorized,
    Unavailable,
    UnsupportedOperation,
    WriteFailure,
    WriteTimeout,
    WriteType,
)
from cassandra.protocol.messages.errors import (
    ErrorMessage,
    InvalidPagingState,
    PreparedQueryNotFound,
)
from cassandra.util.cql_text import stored_name
from cassandra.util.secret_texts import without_secrets, without_values

__all__ = [
    "Shape", "code_of", "error_text", "is_invalid", "shape_of",
]  # fmt: skip

# Matches a name, with or without double quotes.
_NAME = r'(?:"(?:[^"]|"")+"|\w+)'

# Matches the beginning of a statement, up to and including its table. The keyword before the table
# depends on the type of the statement.
_TABLE = rf"""
    ^\W*(?:BEGIN\s.*?\bBATCH\b.*?\b)?
    (?:
        (?P<into> INSERT\s+INTO\s+ )
      | (?P<update> UPDATE\s+ )
      | (?P<from> (?:SELECT|DELETE)\b.*?\bFROM\s+ )
      | (?P<truncate> TRUNCATE\s+(?:TABLE\s+|COLUMNFAMILY\s+)? )
      | (?P<schema> (?:CREATE|ALTER|DROP)\s+(?:TABLE|COLUMNFAMILY|MATERIALIZED\s+VIEW)\s+
                    (?:IF\s+(?:NOT\s+)?EXISTS\s+)? )
    )
    (?P<keyspace>{_NAME}\s*\.\s*)?(?P<table>{_NAME})
    """

_table = pattern(_TABLE, re.VERBOSE | re.DOTALL | re.IGNORECASE)


class Shape(NamedTuple):
    """A description of a statement: its operation, its table, and its CQL without values.

    :param operation: the first word of the statement, in capitals; BATCH for a batch.
    :param keyspace: the keyspace that the CQL names, or None.
    :param table: the table that the CQL names, or None.
    :param text: the CQL, with ? in place of literals.
    """

    operation: str
    keyspace: str | None
    table: str | None
    text: str

    @property
    def summary(self) -> str:
        """The operation and the table. It serves as a name for similar statements."""
        if self.table is None:
            return self.operation
        return f"{self.operation} {self.keyspace + '.' if self.keyspace else ''}{self.table}"


def shape_of(text: str, has_markers: bool = False) -> Shape:
    """Return the description of a statement, from a cache.

    :param text: the CQL.
    :param has_markers: True for a prepared statement. Its CQL is shown with its literals, but
        without secrets.
    """
    shape = _shapes.get((text, has_markers))
    if shape is None:
        shape = _make_shape(text, has_markers)
        # The last argument is an estimate of the memory in bytes. The CQL may have megabytes, and
        # the shape contains copies of it.
        shape = _shapes.keep((text, has_markers), shape, 1000 + 3 * len(text))
    return shape


_shapes: Bounded[tuple[str, bool], Shape] = Bounded(1000, 1 << 23)  # at most 8 MiB


def _make_shape(text: str, has_markers: bool) -> Shape:
    """Make the description of a statement that `shape_of` returns and caches."""
    text_without_values = without_values(text)
    words = text_without_values.split(None, 1)
    operation = words[0].upper().rstrip(";") if words else ""
    # A batch that is written in CQL begins with BEGIN BATCH.
    if operation == "BEGIN":
        operation = "BATCH"
    match = _table.match(text_without_values)
    keyspace = table = None
    if match is not None:
        table = stored_name(match["table"].strip())
        if match["keyspace"]:
            keyspace = stored_name(match["keyspace"].strip().rstrip(".").rstrip())
    shown_text = without_secrets(text) if has_markers else text_without_values
    return Shape(operation, keyspace, table, shown_text)


# -- errors ----------------------------------------------------------------------------------------

# Exceptions for errors of the server that do not derive from ErrorMessage. Each has its code
# (native_protocol_v5.spec, section 8).
_CODES: tuple[tuple[type[BaseException], str], ...] = (
    (Unavailable, "0x1000"),
    (WriteTimeout, "0x1100"),
    (ReadTimeout, "0x1200"),
    (ReadFailure, "0x1300"),
    (FunctionFailure, "0x1400"),
    (WriteFailure, "0x1500"),
    (Unauthorized, "0x2100"),
    (AlreadyExists, "0x2400"),
    (ConfigurationException, "0x2300"),
    (InvalidRequest, "0x2200"),
    (AuthenticationFailed, "0x0100"),
)
# Errors whose message is a server's message, or contains one. It may repeat values, so it is not
# shown.
_SERVER_ERRORS = (
    ErrorMessage,
    RequestExecutionException,
    RequestValidationException,
    AuthenticationFailed,
)
# Errors whose message was written by the driver, and is only about hosts and connections. It is
# shown.
_DRIVER_ERRORS = (
    ConnectionBusy,
    ConnectionException,
    NoConnectionsAvailable,
    QueryExhausted,
    RequestThrottled,
    UnsupportedOperation,
)
# The attributes of errors that a description shows. They contain no values of the statement.
_ERROR_FIELDS = (
    *("consistency", "required_replicas", "alive_replicas"),
    *("required_responses", "received_responses", "failures", "data_retrieved", "write_type"),
    *("keyspace", "table", "function", "op_type", "rejected_by_coordinator"),
    *("last_host", "timeout", "in_flight"),
)
_MAX_HOSTS = 5  # maximum number of hosts in the description of an error
_MAX_ERROR_LENGTH = 500  # maximum number of characters of a description


def code_of(error: BaseException) -> str | None:
    """Return the server's error code for an error, such as "0x1200".

    :param error: the error.
    :returns: None if the error does not come from a server, or has no fixed code.
    """
    if isinstance(error, ErrorMessage):
        # The protocol sends the code as a signed [int]; show it without a sign.
        return f"0x{error.code & 0xFFFFFFFF:04x}"
    if isinstance(error, RateLimitReached):
        return None  # an extension of the protocol, without a fixed code
    return next((code for cls, code in _CODES if isinstance(error, cls)), None)


# Errors that show a mistake in the request: in its CQL, its values or its page token. A plain
# ValueError or TypeError is not in this list: the driver checks arguments before a request starts,
# so such an error during a request comes from a bug in a policy, protocol handler or codec.
_MISTAKES = (
    RequestValidationException,
    InvalidPagingState,
    MissingParameter,
    EncodeTypeError,
    EncodeValueError,
)
# Subclasses of the classes in `_MISTAKES` that do not show a mistake in the request.
_NO_MISTAKES = (PreparedQueryNotFound, RateLimitReached)


def is_invalid(error: BaseException) -> bool:
    """Return True if an error shows that the request itself was invalid.

    Invalid requests have wrong CQL, values or page tokens, use tables that do not exist, or lack a
    permission. Such a request fails again if it is repeated. Return False if the server, the
    network, a limit of the client, or a bug in a policy or protocol handler has caused the error. A
    plain ValueError or TypeError does not show that a request was invalid.

    :param error: the error of a request.
    """
    return isinstance(error, _MISTAKES) and not isinstance(error, _NO_MISTAKES)


def error_text(error: BaseException) -> str:
    """Return a one-line description of an error, without values of the statement.

    Messages from the server are left out, because they may repeat parts of the statement. Messages
    of errors that come from neither the server nor the driver are left out, too.

    :param error: the error of a request.
    """
    description = f"{type(error).__name__}: {_describe_details(error)}".rstrip(": ")
    return (
        description
        if len(description) <= _MAX_ERROR_LENGTH
        else f"{description[: _MAX_ERROR_LENGTH - 3]}..."
    )


def _describe_details(error: BaseException) -> str:
    """Return the part of `error_text` after the error's class; "" if there is none."""
    if isinstance(error, NoHostAvailable):
        return _describe_host_errors(error)
    if isinstance(error, (*_SERVER_ERRORS, OperationTimedOut)):
        # `summary` is the name that the protocol gives the error. It is not a message from the
        # server.
        parts = [error.summary] if isinstance(error, ErrorMessage) else []
        code = code_of(error)
        if code is not None:
            parts.append(f"code={code}")
        for name in _ERROR_FIELDS:
            value = getattr(error, name, None)
            if value is not None:
                parts.append(f"{name}={_field_value(name, value)}")
        if isinstance(error, OperationTimedOut) and error.last_host is None and error.errors:
            # Nothing was sent, so the errors are strings from the driver, which contain no values.
            reasons = [f"{host}: {why}" for host, why in list(error.errors.items())[:_MAX_HOSTS]]
            parts.append("; ".join(reasons))
        return ", ".join(parts)
    if isinstance(error, OSError):
        return error.strerror or ""
    return str(error).split("\n", 1)[0] if isinstance(error, _DRIVER_ERRORS) else ""


def _describe_host_errors(error: NoHostAvailable) -> str:
    """Describe the error of each host in a NoHostAvailable."""
    errors: Any = error.errors
    if not isinstance(errors, Mapping) or not errors:
        # No host has an error, so the driver has written the message. It contains nothing from a
        # server and can be shown.
        return str(error.args[0]).split("\n", 1)[0] if error.args else ""
    descriptions = [
        f"{host}: {error_text(error) if isinstance(error, BaseException) else type(error).__name__}"
        for host, error in list(errors.items())[:_MAX_HOSTS]
    ]
    return "; ".join(descriptions) + ("; ..." if len(errors) > _MAX_HOSTS else "")


def _field_value(name: str, value: object) -> object:
    """Return the value of an error's field. A number of an enumeration is replaced by its name."""
    if name == "consistency":
        return consistency_value_to_name(value)  # type: ignore[arg-type]
    if name == "write_type":
        return WriteType.value_to_name.get(value, value)  # type: ignore[call-overload]
    return value
