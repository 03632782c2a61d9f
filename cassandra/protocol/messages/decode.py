"""Decodes responses: `decode_response` turns an envelope's fields into a message object."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

from cassandra.errors import DriverException, ProtocolError, UnknownContent
from cassandra.protocol import opcodes
from cassandra.protocol.column_specs import ResultMetadata, UserTypes
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages import control, events
from cassandra.protocol.messages.base import MessageType, messages_of
from cassandra.protocol.messages.errors import ErrorMessage
from cassandra.protocol.messages.results import VOID_BODY, ResultMessage, read_result, rows_result
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

# The flags that announce fields before the message: see `read_extras`.
_EXTRAS = TRACING_FLAG | WARNING_FLAG | CUSTOM_PAYLOAD_FLAG

# Maps the opcodes of all responses except RESULT and ERROR to the `decode` method of their message
# class.
_READERS: dict[int, Callable[[Cursor], MessageType]] = {
    message.opcode: message.decode
    for module in (control, events)
    for message in messages_of(module)
    if hasattr(message, "decode")
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
    """Return the message in an envelope.

    The rows of a result are not decoded yet. Bytes after the message are ignored, as
    native_protocol_v5.spec, section 2.4, requires.

    :param opcode: the envelope's opcode.
    :param flags: the flags of the envelope's header.
    :param body: the decompressed body.
    :param version: the protocol version of the envelope.
    :param features: the extensions of the connection.
    :param user_types: classes registered for UDTs, by keyspace and name.
    :param cached: the result metadata that the client has for the executed prepared statement.
    :raises UnknownContent: if the message has something that this driver does not know.
    :raises ProtocolError: if the message does not follow the specification.
    """
    try:
        # The usual case is a result without a trace id, warnings or payload.
        if opcode == RESULT and not flags & _EXTRAS:
            if body == VOID_BODY:
                # Most writes get this response: create it without parsing anything.
                message = _new(ResultMessage)
                message.kind = RESULT_KIND_VOID
                return message
            if cached is not None:
                # The usual response to a prepared statement: rows with the metadata that is cached,
                # or without metadata.
                rows_pos = cached.rows_at(body, 0, user_types)
                if rows_pos:  # 0 means that the metadata of the response differs
                    return rows_result(cached, body, rows_pos)
            return read_result(body, 0, version, features, user_types, cached)
        return _decode_with_extras(opcode, flags, body, version, features, user_types, cached)
    except UnknownContent as error:
        raise UnknownContent(
            f"this driver does not know a part of a {OPCODE_NAMES.get(opcode, opcode)} message: "
            f"{error}"
        ) from error
    # Handle ProtocolError before DriverException, its base class. The message of a ProtocolError is
    # clear without the name of the class.
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
        # Damaged bytes may cause any of these errors. Convert them to ProtocolError, which closes
        # the connection: otherwise callers would take them for bugs of the driver.
        raise ProtocolError(
            f"a malformed {OPCODE_NAMES.get(opcode, opcode)} message: {type(error).__name__}: "
            f"{error}"
        ) from error


def read_extras(
    flags: int, body: bytes
) -> tuple[UUID | None, list[str] | None, dict[str, Any] | None, int]:
    """Read the optional fields before the message in `body`.

    :returns: (trace id, warnings, custom payload, offset of the message). A field is None if
        `flags` does not announce it.
    """
    trace_id = warnings = payload = None
    cursor = Cursor(body)
    # native_protocol_v5.spec, section 4: [<tracing_id>][<warnings>][<custom_payload>]<message>
    if flags & TRACING_FLAG:
        trace_id = cursor.uuid()
    if flags & WARNING_FLAG:
        warnings = cursor.string_list()
    if flags & CUSTOM_PAYLOAD_FLAG:
        payload = cursor.bytes_map()
    return trace_id, warnings, payload, cursor.pos


def _decode_with_extras(
    opcode: int,
    flags: int,
    body: bytes,
    version: int,
    features: ProtocolFeatures | None,
    user_types: UserTypes | None,
    cached: ResultMetadata | None,
) -> Any:
    """Decode a message that is not a RESULT, or that has a trace id, warnings or a payload."""
    # Read the tracing id, warnings and custom payload, which precede the message.
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
    # Set these fields as attributes of the message.
    if flags & _EXTRAS:
        message.trace_id = trace_id
        message.warnings = warnings
        message.custom_payload = payload
    return message
