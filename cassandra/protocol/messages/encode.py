"""From a message object to an envelope's opcode, flags and body.

Requests that a program has changed or subclassed go this way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassandra.protocol.extras import request_extras
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages.base import MessageType


def takes_features(method: Callable[..., Any]) -> bool:
    """Return True if a handler's method has the parameter `protocol_features`.

    Handlers of programs that were written for other drivers do not have it.
    """
    code = getattr(getattr(method, "__func__", method), "__code__", None)
    return code is not None and "protocol_features" in code.co_varnames[: code.co_argcount]


def encode_request(
    message: MessageType,
    version: int,
    features: ProtocolFeatures | None = None,
    allow_beta: bool = False,
) -> tuple[int, int, bytes]:
    """Return (opcode, flags, body) of a request.

    The custom payload stands in front of the body, which is neither compressed nor framed.
    """
    flags, extras = request_extras(version, message.tracing, message.custom_payload, allow_beta)
    body = message.body(version, features)
    return message.opcode, flags, extras + body if extras else body
