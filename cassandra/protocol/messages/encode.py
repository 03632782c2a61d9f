"""Encodes a request's message object into the opcode, flags and body of an envelope.

The engine usually encodes requests without a message object. This module is for message objects
that an application has created or changed, and for objects of the application's message classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassandra.protocol.extras import request_extras
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages.base import MessageType


def takes_features(method: Callable[..., Any]) -> bool:
    """Return True if a handler's method has the parameter `protocol_features`.

    Handlers that were written for other drivers may lack this parameter.
    """
    code = getattr(getattr(method, "__func__", method), "__code__", None)
    return code is not None and "protocol_features" in code.co_varnames[: code.co_argcount]


def encode_request(
    message: MessageType,
    version: int,
    features: ProtocolFeatures | None = None,
    allow_beta: bool = False,
) -> tuple[int, int, bytes]:
    """Return (opcode, flags, body) of a request. The body is not compressed yet.

    If the message has a custom payload, the returned body begins with it.
    """
    flags, extras = request_extras(version, message.tracing, message.custom_payload, allow_beta)
    body = message.body(version, features)
    return message.opcode, flags, extras + body if extras else body
