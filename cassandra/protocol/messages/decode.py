"""From an envelope to a message: the one entrance for responses."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

from cassandra.errors import DriverException, ProtocolError
from cassandra.protocol import opcodes
from cassandra.protocol.column_specs import ResultMetadata, UserTypes
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages.base import MessageType
from cassandra.protocol.messages.control import (
    AuthChallengeMessage,
    AuthenticateMessage,
    AuthSuccessMessage,
    ReadyMessage,
    SupportedMessage,
)
from cassandra.protocol.messages.errors import ErrorMessage
from cassandra.protocol.messages.events import EventMessage
from cassandra.protocol.messages.results import VOID_BODY, ResultMessage, read_result
from cassandra.protocol.opcodes import (
    CUSTOM_PAYLOAD_FLAG,
    OPCODE_NAMES,
    RESULT,
    RESULT_KIND_VOID,
    TRACING_FLAG,
    WARNING_FLAG,
)
from cassandra.protocol.primitives import Cursor

_new = object.__new__

_EXTRAS = TRACING_FLAG | WARNING_FLAG | CUSTOM_PAYLOAD_FLAG

_READERS: dict[int, Callable[[Cursor], MessageType]] = {
    opcodes.READY: ReadyMessage.decode,
    opcodes.AUTHENTICATE: AuthenticateMessage.decode,
    opcodes.SUPPORTED: SupportedMessage.decode,
    opcodes.EVENT: EventMessage.decode,
    opcodes.AUTH_CHALLENGE: AuthChallengeMessage.decode,
    opcodes.AUTH_SUCCESS: AuthSuccessMessage.decode,
}


def decode_response(
    opcode: int,
    flags: int,
    body: bytes,
    version: int,
    features: ProtocolFeatures | None = None,
    user_types: UserTypes | None = None,
    cached: ResultMetadata | None = None,
) -> Any:
    """Return the message in one envelope.

    Rows are not decoded. Bytes after a complete message are ignored (section 2.4).

    :param body: the decompressed body.
    :param version: protocol version of the envelope.
    :param features: the extensions of the connection.
    :param user_types: classes registered for UDTs, by keyspace and name.
    :param cached: the result metadata kept for the prepared statement that was executed.
    :raises ProtocolError: for a message that does not follow the specification.
    """
    try:
        # The usual case first: no trace, warning or payload in front of a result.
        if opcode == RESULT and not flags & _EXTRAS:
            if body == VOID_BODY:
                # The answer to most writes.
                message = _new(ResultMessage)
                message.kind = RESULT_KIND_VOID
                return message
            return read_result(body, 0, version, features, user_types, cached)
        return _decode(opcode, flags, body, version, features, user_types, cached)
    # First, because it is a DriverException too and already says what is wrong.
    except ProtocolError as error:
        raise ProtocolError(
            f"a malformed {OPCODE_NAMES.get(opcode, opcode)} message: {error}"
        ) from error
    except (
        struct.error,
        ValueError,
        TypeError,
        LookupError,
        OverflowError,
        DriverException,
    ) as error:
        # Whatever damaged bytes lead to must close the connection, not reach a caller as a bug.
        raise ProtocolError(
            f"a malformed {OPCODE_NAMES.get(opcode, opcode)} message: {type(error).__name__}: "
            f"{error}"
        ) from error


def read_extras(
    flags: int, body: bytes
) -> tuple[UUID | None, list[str] | None, dict[str, Any] | None, int]:
    """Return (trace id, warnings, custom payload) in front of a message, and where it begins."""
    trace_id = warnings = payload = None
    cursor = Cursor(body)
    # Section 4: [<tracing_id>][<warnings>][<custom_payload>]<message>
    if flags & TRACING_FLAG:
        trace_id = cursor.uuid()
    if flags & WARNING_FLAG:
        warnings = cursor.string_list()
    if flags & CUSTOM_PAYLOAD_FLAG:
        payload = cursor.bytes_map()
    return trace_id, warnings, payload, cursor.pos


def _decode(
    opcode: int,
    flags: int,
    body: bytes,
    version: int,
    features: ProtocolFeatures | None,
    user_types: UserTypes | None,
    cached: ResultMetadata | None,
) -> Any:
    trace_id, warnings, payload, pos = read_extras(flags, body)
    message: Any
    if opcode == RESULT:
        message = read_result(body, pos, version, features, user_types, cached)
    elif opcode == opcodes.ERROR:
        message = ErrorMessage.decode(Cursor(body, pos), version, features)
    else:
        reader = _READERS.get(opcode)
        if reader is None:
            raise ProtocolError(f"opcode {opcode} is not a response")
        message = reader(Cursor(body, pos))
    if flags & _EXTRAS:
        message.trace_id = trace_id
        message.warnings = warnings
        message.custom_payload = payload
    return message
