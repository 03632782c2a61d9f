"""ERROR: a class for each code of native_protocol_v5.spec, section 8.

The classes hold the fields that follow the message. An error message is also an exception, so it
can be raised as it is; `to_exception` returns the public class of `cassandra.errors` if there is
one.
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

error_classes: dict[int, type[ErrorMessage]] = {}


@public
@register_class
class ErrorMessage(MessageType, DriverException):
    """An ERROR.

    :param code: the code as it was sent.
    :param message: the server's text.
    :param info: the fields of this kind of error as a dict, or None.
    """

    opcode = opcodes.ERROR
    name = "ERROR"
    summary: ClassVar[str] = "Unknown"
    error_code: ClassVar[int | None] = None

    def __init__(self, code: int, message: str, info: object = None) -> None:
        DriverException.__init__(self, code, message, info)
        self.code = code
        self.message = message
        self.info: Any = info  # its form depends on the code

    def summary_msg(self) -> str:
        """Return one line: code, kind and the server's text."""
        return f'Error from server: code={self.code:04x} [{self.summary}] message="{self.message}"'

    def __str__(self) -> str:
        return f"<{self.summary_msg()}>"

    __repr__ = __str__

    def to_exception(self) -> Exception:
        """Return the exception for the caller of the request."""
        return self

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> Any:
        """Read the fields after the message; classes with such fields override this.

        :param cursor: the reader of the body, behind the message.
        :param protocol_version: the version of the connection.
        """
        return None

    @classmethod
    def decode(
        cls, cursor: Cursor, protocol_version: int, features: ProtocolFeatures | None = None
    ) -> ErrorMessage:
        """Return the error at `cursor`, as an instance of the class of its code.

        :param cursor: the reader of the body, at its [int] code.
        :param protocol_version: the version of the connection.
        :param features: the extensions of the connection; None for none.
        """
        code = cursor.int32()
        message = cursor.string()
        # An unknown code is not damage: newer servers have more codes, and their text is enough.
        error_class: type[ErrorMessage] | None = error_classes.get(code)
        if (
            features is not None
            and features.rate_limit_error is not None
            and code == features.rate_limit_error
        ):
            error_class = RateLimitReachedException
        # No class, no fields: bytes behind the message are ignored, since their form is not known.
        if error_class is None:
            return cls(code, message)
        return error_class(code, message, error_class.read_info(cursor, protocol_version))


class ErrorMessageSubclass(type):
    """Metaclass of the error classes: registers those with a code in `error_classes`."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        # From the namespace, not by attribute: a subclass of a program must not take its base's
        # code.
        if namespace.get("error_code") is not None:
            error_classes[namespace["error_code"]] = cls  # type: ignore[assignment]


class ErrorMessageSub(ErrorMessage, metaclass=ErrorMessageSubclass):
    """Base of the error classes with a code of their own."""


class RequestExecutionException(ErrorMessageSub, errors.RequestExecutionException):
    """The server tried the request and failed."""


class RequestValidationException(ErrorMessageSub, errors.RequestValidationException):
    """The server refused the request as not valid."""


class ServerError(ErrorMessageSub):
    """Something unexpected happened in the server."""

    summary = "Server error"
    error_code = 0x0000


class ProtocolException(ErrorMessageSub):
    """The server considers one of our messages a breach of the protocol."""

    summary = "Protocol error"
    error_code = 0x000A

    @property
    def is_beta_protocol_error(self) -> bool:
        """True if the protocol version is a beta that the client did not opt in to."""
        # The protocol has no code of its own for it: only the text of the server tells.
        return "USE_BETA flag is unset" in str(self.message)

    def to_exception(self) -> Exception:
        # Web services hand the paging state out, and get back whatever a client makes of it.
        if "paging state" in str(self.message).lower():
            return InvalidPagingState(self.code, self.message, self.info)
        return self


class InvalidPagingState(ProtocolException, ValueError):
    """The server cannot read the paging state of a request: it was changed, or cut off.

    It is a ValueError, since such a text mostly comes from a client of the program's. The server
    does not notice a paging state of another query.
    """


class BadCredentials(ErrorMessageSub):
    """The login failed."""

    summary = "Bad credentials"
    error_code = 0x0100

    def to_exception(self) -> Exception:
        return errors.AuthenticationFailed(self.summary_msg())


class UnavailableErrorMessage(RequestExecutionException):
    """Too few live replicas."""

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


def _read_responses(cursor: Cursor) -> dict[str, Any]:
    # The keys are names of parameters: `to_exception` hands `info` on to the public classes.
    return {
        "consistency": cursor.short(),
        "received_responses": cursor.int32(),
        "required_responses": cursor.int32(),
    }


def _read_failures(cursor: Cursor, protocol_version: int) -> dict[str, Any]:
    """Read the common beginning of both failures.

    It is a count before version 5, and the reason of each replica since (section 9 of v5).
    """
    info = _read_responses(cursor)
    info["failures"] = cursor.int32()
    if protocol_version >= 5:
        count = info["failures"]
        # An entry takes 7 bytes at least: the address's size, 4 bytes of it, the code.
        if count < 0 or count * 7 > len(cursor.data) - cursor.pos:
            raise ProtocolError(f"a map of {count} failure reasons is longer than the message")
        reasons = {}
        for _ in range(count):
            address = cursor.inet_address()
            reasons[address] = cursor.short()
        info["error_code_map"] = reasons
    return info


def _write_type(text: str) -> Any:
    # A kind of write that is newer than this driver stays as it came.
    return WriteType.name_to_value.get(text, text)


class WriteTimeoutErrorMessage(RequestExecutionException):
    """Replicas did not answer a write in time."""

    summary = "Coordinator node timed out waiting for replica nodes' responses"
    error_code = 0x1100

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> dict[str, Any]:
        info = _read_responses(cursor)
        info["write_type"] = _write_type(cursor.string())
        if (
            protocol_version >= 5
            and info["write_type"] == WriteType.CAS
            # A server that leaves the field out must not turn a timeout into a protocol error.
            and len(cursor.data) - cursor.pos >= 2
        ):
            info["contentions"] = cursor.short()
        return info

    def to_exception(self) -> Exception:
        return errors.WriteTimeout(self.summary_msg(), **self.info)


class ReadTimeoutErrorMessage(RequestExecutionException):
    """Replicas did not answer a read in time."""

    summary = "Coordinator node timed out waiting for replica nodes' responses"
    error_code = 0x1200

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> dict[str, Any]:
        return {**_read_responses(cursor), "data_retrieved": bool(cursor.byte())}

    def to_exception(self) -> Exception:
        return errors.ReadTimeout(self.summary_msg(), **self.info)


class ReadFailureMessage(RequestExecutionException):
    """Replicas failed a read."""

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
    """Replicas failed a write."""

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
    """The change-data-capture space is full.

    Raised as it is, so that programs catch it by the name of either module.
    """

    summary = "Failed to execute write due to CDC space exhaustion."
    error_code = 0x1600


class CASWriteUnknownMessage(RequestExecutionException):
    """A contended lightweight transaction may or may not complete."""

    summary = "CAS write result unknown"
    error_code = 0x1700

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> dict[str, Any]:
        return _read_responses(cursor)


class SyntaxException(RequestValidationException):
    """The statement has a syntax error."""

    summary = "Syntax error in CQL query"
    error_code = 0x2000


class UnauthorizedErrorMessage(RequestValidationException):
    """The role may not do this."""

    summary = "Unauthorized"
    error_code = 0x2100

    def to_exception(self) -> Exception:
        return errors.Unauthorized(self.summary_msg())


class InvalidRequestException(RequestValidationException):
    """The statement is well formed, but invalid."""

    summary = "Invalid query"
    error_code = 0x2200

    def to_exception(self) -> Exception:
        return errors.InvalidRequest(self.summary_msg())


class ConfigurationException(RequestValidationException, errors.ConfigurationException):
    """The server cannot do this as it is configured.

    Raised as it is, so that programs catch it by the name of either module.
    """

    summary = "Query invalid because of configuration issue"
    error_code = 0x2300


class AlreadyExistsException(ConfigurationException):
    """The keyspace or table exists."""

    summary = "Item already exists"
    error_code = 0x2400

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> dict[str, Any]:
        # For a keyspace the table is an empty string (section 8).
        return {"keyspace": cursor.name(), "table": cursor.name()}

    def to_exception(self) -> Exception:
        return errors.AlreadyExists(**self.info)


class PreparedQueryNotFound(RequestValidationException):
    """The host does not know the statement's id (`info`, bytes): prepare it again."""

    summary = "Matching prepared statement not found on this node"
    error_code = 0x2500

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> bytes:
        return cursor.short_bytes()


class ClientWriteError(RequestExecutionException):
    """A write by a client of DSE failed."""

    summary = "Client write failure."
    error_code = 0x8000


class RateLimitReachedException(RequestExecutionException):
    """ScyllaDB's rate limit; its code is agreed on with each connection."""

    summary = "Rate limit was exceeded for a partition affected by the request"

    @classmethod
    def read_info(cls, cursor: Cursor, protocol_version: int) -> dict[str, Any]:
        op_type: Any = cursor.byte()
        try:
            op_type = OperationType(op_type)
        except ValueError:
            pass  # a kind that is newer than this driver stays a number
        return {"op_type": op_type, "rejected_by_coordinator": cursor.byte() != 0}

    def to_exception(self) -> Exception:
        return errors.RateLimitReached(**self.info)


class NotSupportedError(Exception):
    """Something that this driver or server cannot do."""


class InternalError(Exception):
    """A state that should not be possible."""


for _public_class in list(vars().values()):
    if (
        isinstance(_public_class, type)
        and issubclass(_public_class, (Exception, type))
        and _public_class.__module__ == __name__
    ):
        public(_public_class)
del _public_class
