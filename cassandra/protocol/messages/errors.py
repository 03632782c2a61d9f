"""ERROR messages: a class for each error code of native_protocol_v5.spec, section 8.

Each class reads the fields that follow the error's message. The classes are also exceptions, so an
instance can be raised. If `cassandra.errors` has a public exception for the code, `to_exception`
returns an instance of that exception; otherwise it returns the object itself.
"""

from __future__ import annotations

from typing import Any, ClassVar

from cassandra import errors
from cassandra.errors import DriverException, ProtocolError, WriteType
from cassandra.protocol import opcodes
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages.base import MessageType, public, register_class
from cassandra.protocol.primitives import Cursor
from cassandra.versions import OperationType

# The class of each error message, by error code.
error_classes: dict[int, type[ErrorMessage]] = {}


@public
@register_class
class ErrorMessage(MessageType, DriverException):
    """An ERROR from the server.

    :param code: the error code.
    :param message: the server's error message.
    :param info: the further fields, usually as a dict; None if the code has no further fields.
    """

    opcode = opcodes.ERROR
    name = "ERROR"
    summary: ClassVar[str] = "Unknown"
    error_code: ClassVar[int | None] = None

    def __init__(self, code: int, message: str, info: object = None) -> None:
        DriverException.__init__(self, code, message, info)
        self.code = code
        self.message = message
        self.info: Any = info  # its type depends on the code

    def summary_msg(self) -> str:
        """Return one line with the code, the kind of error and the server's message."""
        return f'Error from server: code={self.code:04x} [{self.summary}] message="{self.message}"'

    def __str__(self) -> str:
        return f"<{self.summary_msg()}>"

    __repr__ = __str__

    def to_exception(self) -> Exception:
        """Return the exception that the driver raises to the application."""
        return self

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> object:
        """Read the fields after the error's message. Classes with such fields override this.

        :param cursor: a cursor after the error's message.
        :param protocol_version: the version of the connection.
        """
        return None

    @classmethod
    def decode(
        cls, cursor: Cursor, protocol_version: int, features: ProtocolFeatures | None = None
    ) -> ErrorMessage:
        """Decode an ERROR; return an instance of the class for the error's code.

        :param cursor: a cursor at the beginning of the body, which is the [int] code.
        :param protocol_version: the version of the connection.
        :param features: the extensions of the connection, or None.
        """
        code = cursor.int32()
        message = cursor.string()
        # Accept unknown codes: newer servers have more codes, and their message says what is wrong.
        error_class: type[ErrorMessage] | None = error_classes.get(code)
        if (
            features is not None
            and features.rate_limit_error is not None
            and code == features.rate_limit_error
        ):
            error_class = RateLimitReachedException
        # The further fields of an unknown code are unknown too, so ignore them.
        if error_class is None:
            return cls(code, message)
        return error_class(code, message, error_class.read_info(cursor, protocol_version))


class ErrorMessageSubclass(type):
    """Metaclass of the error classes: registers each class with a code in `error_classes`."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        # Look into the namespace, because `cls.error_code` would also find the code of a base
        # class. An application's subclass must not replace its base class in `error_classes`.
        if namespace.get("error_code") is not None:
            error_classes[namespace["error_code"]] = cls  # type: ignore[assignment]


class ErrorMessageSub(ErrorMessage, metaclass=ErrorMessageSubclass):
    """Base of the error classes, which are registered in `error_classes` under their code."""


class RequestExecutionException(ErrorMessageSub, errors.RequestExecutionException):
    """The server failed while it executed the request."""


class RequestValidationException(ErrorMessageSub, errors.RequestValidationException):
    """The server rejected the request as invalid, and did not execute it."""


class ServerError(ErrorMessageSub):
    """The server had an internal error that it did not expect."""

    summary = "Server error"
    error_code = 0x0000


class ProtocolException(ErrorMessageSub):
    """The server says that one of our messages violates the protocol."""

    summary = "Protocol error"
    error_code = 0x000A

    @property
    def is_beta_protocol_error(self) -> bool:
        """True if the protocol version is a beta, and our message lacked the flag USE_BETA."""
        # The protocol has no code for this error, so look at the server's message.
        return "USE_BETA flag is unset" in str(self.message)

    def to_exception(self) -> Exception:
        # Web services send paging states to their clients, which may send back anything. So the
        # error for an invalid paging state has its own class, which the application can catch.
        if "paging state" in str(self.message).lower():
            return InvalidPagingState(self.code, self.message, self.info)
        return self


class InvalidPagingState(ProtocolException, ValueError):
    """The server cannot read the paging state of a request, because it was changed or truncated.

    This is also a ValueError, because paging states usually come from an application's client. If
    you pass the paging state of another query, the server may not notice.
    """


class BadCredentials(ErrorMessageSub):
    """The login failed."""

    summary = "Bad credentials"
    error_code = 0x0100

    def to_exception(self) -> Exception:
        return errors.AuthenticationFailed(self.summary_msg())


class UnavailableErrorMessage(RequestExecutionException):
    """Too few replicas are alive for the consistency level."""

    summary = "Unavailable exception"
    error_code = 0x1000

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> dict[str, Any]:
        return {
            "consistency": cursor.short(),
            "required_replicas": cursor.int32(),
            "alive_replicas": cursor.int32(),
        }

    def to_exception(self) -> Exception:
        return errors.Unavailable(self.summary_msg(), **self.info)


class OverloadedErrorMessage(RequestExecutionException):
    """The coordinator is overloaded."""

    summary = "Coordinator node overloaded"
    error_code = 0x1001


class IsBootstrappingErrorMessage(RequestExecutionException):
    """The coordinator is bootstrapping."""

    summary = "Coordinator node is bootstrapping"
    error_code = 0x1002


class TruncateError(RequestExecutionException):
    """A TRUNCATE failed."""

    summary = "Error during truncate"
    error_code = 0x1003


def _read_response_counts(cursor: Cursor) -> dict[str, Any]:
    """Read the fields at the beginning of timeout and failure errors; return them by name."""
    return {
        "consistency": cursor.short(),
        "received_responses": cursor.int32(),
        "required_responses": cursor.int32(),
    }


def _read_failures(cursor: Cursor, protocol_version: int) -> dict[str, Any]:
    """Read the fields at the beginning of ReadFailure and WriteFailure.

    Before version 5, these fields end with the number of failed replicas. Since version 5, the
    address of each failed replica and the reason follow (native_protocol_v5.spec, section 8).
    """
    info = _read_response_counts(cursor)
    info["failures"] = cursor.int32()
    if protocol_version >= 5:
        count = info["failures"]
        # Each replica takes at least 7 bytes: the address's size (1), the address (4), the code
        # (2).
        if count < 0 or count * 7 > len(cursor.data) - cursor.pos:
            raise ProtocolError(f"a map of {count} failure reasons is longer than the message")
        reasons = {}
        for _ in range(count):
            address = cursor.inet_address()
            reasons[address] = cursor.short()
        info["error_code_map"] = reasons
    return info


def _write_type(text: str) -> int | str:
    # If the driver does not know the server's write type, keep the name of the write type.
    return WriteType.name_to_value.get(text, text)


class WriteTimeoutErrorMessage(RequestExecutionException):
    """Too few replicas responded to a write in time."""

    summary = "Coordinator node timed out waiting for replica nodes' responses"
    error_code = 0x1100

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> dict[str, Any]:
        info = _read_response_counts(cursor)
        info["write_type"] = _write_type(cursor.string())
        if (
            protocol_version >= 5
            and info["write_type"] == WriteType.CAS
            # Some servers may leave out this field. Accept that, and do not raise a protocol error.
            and len(cursor.data) - cursor.pos >= 2  # bytes of a [short]
        ):
            info["contentions"] = cursor.short()
        return info

    def to_exception(self) -> Exception:
        return errors.WriteTimeout(self.summary_msg(), **self.info)


class ReadTimeoutErrorMessage(RequestExecutionException):
    """Too few replicas responded to a read in time."""

    summary = "Coordinator node timed out waiting for replica nodes' responses"
    error_code = 0x1200

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> dict[str, Any]:
        return {**_read_response_counts(cursor), "data_retrieved": bool(cursor.byte())}

    def to_exception(self) -> Exception:
        return errors.ReadTimeout(self.summary_msg(), **self.info)


class ReadFailureMessage(RequestExecutionException):
    """A read failed on a replica."""

    summary = "Replica(s) failed to execute read"
    error_code = 0x1300

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> dict[str, Any]:
        return {**_read_failures(cursor, protocol_version), "data_retrieved": bool(cursor.byte())}

    def to_exception(self) -> Exception:
        return errors.ReadFailure(self.summary_msg(), **self.info)


class FunctionFailureMessage(RequestExecutionException):
    """A user-defined function failed."""

    summary = "User Defined Function failure"
    error_code = 0x1400

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> dict[str, Any]:
        return {
            "keyspace": cursor.name(),
            "function": cursor.name(),
            "arg_types": cursor.name_list(),
        }

    def to_exception(self) -> Exception:
        return errors.FunctionFailure(self.summary_msg(), **self.info)


class WriteFailureMessage(RequestExecutionException):
    """A write failed on a replica."""

    summary = "Replica(s) failed to execute write"
    error_code = 0x1500

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> dict[str, Any]:
        return {
            **_read_failures(cursor, protocol_version),
            "write_type": _write_type(cursor.string()),
        }

    def to_exception(self) -> Exception:
        return errors.WriteFailure(self.summary_msg(), **self.info)


class CDCWriteException(RequestExecutionException, errors.CDCWriteFailure):
    """A write failed because the space for change data capture (CDC) is full.

    The driver raises this class itself. Applications may catch it by this name or as
    `cassandra.errors.CDCWriteFailure`.
    """

    summary = "Failed to execute write due to CDC space exhaustion."
    error_code = 0x1600


class CASWriteUnknownMessage(RequestExecutionException):
    """A lightweight transaction met contention, and it is unknown whether it was applied."""

    summary = "CAS write result unknown"
    error_code = 0x1700

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> dict[str, Any]:
        return _read_response_counts(cursor)


class SyntaxException(RequestValidationException):
    """The statement has a syntax error."""

    summary = "Syntax error in CQL query"
    error_code = 0x2000


class UnauthorizedErrorMessage(RequestValidationException):
    """The user's role lacks the permission for the request."""

    summary = "Unauthorized"
    error_code = 0x2100

    def to_exception(self) -> Exception:
        return errors.Unauthorized(self.summary_msg())


class InvalidRequestException(RequestValidationException):
    """The statement has no syntax error, but is invalid."""

    summary = "Invalid query"
    error_code = 0x2200

    def to_exception(self) -> Exception:
        return errors.InvalidRequest(self.summary_msg())


class ConfigurationException(RequestValidationException, errors.ConfigurationException):
    """The server's configuration does not allow the request.

    The driver raises this class itself. Applications may catch it by this name or as
    `cassandra.errors.ConfigurationException`.
    """

    summary = "Query invalid because of configuration issue"
    error_code = 0x2300


class AlreadyExistsException(ConfigurationException):
    """The keyspace or table to create already exists."""

    summary = "Item already exists"
    error_code = 0x2400

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> dict[str, Any]:
        # If the keyspace already exists, the table is an empty string (section 8).
        return {"keyspace": cursor.name(), "table": cursor.name()}

    def to_exception(self) -> Exception:
        return errors.AlreadyExists(**self.info)


class PreparedQueryNotFound(RequestValidationException):
    """The host does not know a prepared statement, so the statement must be prepared again.

    `info` is the statement's id (bytes).
    """

    summary = "Matching prepared statement not found on this node"
    error_code = 0x2500

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> bytes:
        return cursor.short_bytes()


class ClientWriteError(RequestExecutionException):
    """A write of a client failed; only DataStax Enterprise (DSE) has this error code."""

    summary = "Client write failure."
    error_code = 0x8000


class RateLimitReachedException(RequestExecutionException):
    """The request exceeded ScyllaDB's rate limit for a partition.

    This class has no `error_code`, because each server chooses the code and sends it in SUPPORTED.
    """

    summary = "Rate limit was exceeded for a partition affected by the request"

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> dict[str, Any]:
        op_type: Any = cursor.byte()
        try:
            op_type = OperationType(op_type)
        except ValueError:
            pass  # the driver does not know this type, so keep its number
        return {"op_type": op_type, "rejected_by_coordinator": cursor.byte() != 0}

    def to_exception(self) -> Exception:
        return errors.RateLimitReached(**self.info)


class NotSupportedError(Exception):
    """The driver or server does not support a feature. Exists for applications that import it."""


class InternalError(Exception):
    """The driver is in an impossible state. Exists for applications that import this class."""


for _public_class in list(vars().values()):
    if (
        isinstance(_public_class, type)
        and issubclass(_public_class, (Exception, type))
        and _public_class.__module__ == __name__
    ):
        public(_public_class)
del _public_class
