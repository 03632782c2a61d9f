"""From a message object to an envelope's opcode, flags and body: the way of requests that somebody may have changed or subclassed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cassandra.errors import UnsupportedOperation
from cassandra.protocol.messages.base import MessageType
from cassandra.protocol.opcodes import CUSTOM_PAYLOAD_FLAG, TRACING_FLAG, USE_BETA_FLAG
from cassandra.protocol.primitives import NULL_VALUE, int32_pack, uint16_pack
from cassandra.versions import ProtocolVersion


def bytes_map_body(payload: Mapping[str, bytes | None]) -> bytes:
    """A [bytes map]: the form of a custom payload."""
    parts = [uint16_pack(len(payload))]
    for key, value in payload.items():
        name = key.encode()
        if len(name) > 0xFFFF:
            raise ValueError(f"a custom payload key of {len(name)} bytes; the protocol has room for 65535")
        parts.append(uint16_pack(len(name)) + name)
        parts.append(NULL_VALUE if value is None else int32_pack(len(value)) + value)
    return b"".join(parts)


def envelope_extras(
    version: int, tracing: bool, payload: Mapping[str, Any] | None, allow_beta: bool
) -> tuple[int, bytes]:
    """(flags, what stands in front of a request's body) for tracing and a custom payload."""
    flags = TRACING_FLAG if tracing else 0
    if allow_beta and version in ProtocolVersion.BETA_VERSIONS:
        flags |= USE_BETA_FLAG
    if not payload:
        return flags, b""
    if version < 4:
        raise UnsupportedOperation(
            f"a custom payload needs protocol version 4 or higher; the connection speaks version {version}"
        )
    return flags | CUSTOM_PAYLOAD_FLAG, bytes_map_body(payload)


def encode_request(
    message: MessageType, version: int, features: Any = None, allow_beta: bool = False
) -> tuple[int, int, bytes]:
    """(opcode, flags, body) of a request; the body has the custom payload in front, and is neither compressed nor framed."""
    flags, extras = envelope_extras(version, message.tracing, message.custom_payload, allow_beta)
    body = message.body(version, features)
    return message.opcode, flags, extras + body if extras else body
