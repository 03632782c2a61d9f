"""From a message object to an envelope's opcode, flags and body: the way of requests that somebody
may have changed or subclassed.
"""

from __future__ import annotations

from typing import Any

from cassandra.protocol.extras import request_extras
from cassandra.protocol.messages.base import MessageType


def encode_request(
    message: MessageType, version: int, features: Any = None, allow_beta: bool = False
) -> tuple[int, int, bytes]:
    """(opcode, flags, body) of a request; the body has the custom payload in front, and is neither
    compressed nor framed.
    """
    flags, extras = request_extras(version, message.tracing, message.custom_payload, allow_beta)
    body = message.body(version, features)
    return message.opcode, flags, extras + body if extras else body
