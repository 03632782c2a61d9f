"""The flags of an envelope, and the bytes before a request's body that they announce.

This is the one place that writes either (native_protocol_v5.spec, sections 2.4.1.2 for flags, and 3
for [bytes map] and [bytes]).
"""

from __future__ import annotations

from collections.abc import Mapping

from cassandra.errors import UnsupportedOperation
from cassandra.protocol.opcodes import CUSTOM_PAYLOAD_FLAG, TRACING_FLAG, USE_BETA_FLAG
from cassandra.protocol.primitives import NULL_VALUE, int32_pack, uint16_pack
from cassandra.versions import ProtocolVersion

__all__ = ["Payload", "bytes_map", "check_payload", "request_extras", "standing_flags"]

MOST = 0xFFFF  # entries of a map, and bytes of a key: both have an unsigned [short] in front
LONGEST_VALUE = 0x7FFFFFFF  # bytes

Payload = Mapping[str, bytes | bytearray | memoryview | None]


def standing_flags(version: int) -> int:
    """Return the flags of every request on a connection of this version.

    Servers refuse a beta version unless each envelope opts in to it.
    """
    return USE_BETA_FLAG if version in ProtocolVersion.BETA_VERSIONS else 0


def bytes_map(payload: Payload) -> bytes:
    """Return `payload` as a [bytes map], the form of a custom payload.

    None becomes null, a [bytes] of length -1.

    :raises TypeError: if it is not a mapping of str to bytes or None.
    :raises ValueError: for more than 65,535 entries, a key of more than 65,535 bytes or a value of
        more than 2 GiB.
    """
    _check_size(payload)
    parts = [uint16_pack(len(payload))]
    for key, value in payload.items():
        name = _key(key)
        parts += (uint16_pack(len(name)), name)
        if value is None:
            parts.append(NULL_VALUE)
        else:
            size = _value_size(key, value)
            parts += (int32_pack(size), value if isinstance(value, bytes) else bytes(value))
    return b"".join(parts)


def check_payload(payload: Payload) -> None:
    """Raise the errors of `bytes_map`, but in the call that `payload` is given to."""
    _check_size(payload)
    for key, value in payload.items():
        # Keys and values are checked in the caller's thread, where the traceback still helps.
        _key(key)
        if value is not None:
            _value_size(key, value)


def request_extras(
    version: int, tracing: bool, payload: Payload | None, allow_beta: bool
) -> tuple[int, bytes]:
    """Return the flags of a request, and the bytes that stand before its body.

    :param tracing: ask the server to trace the request.
    :param payload: the custom payload, if any.
    :param allow_beta: opt in to a beta version.
    :raises UnsupportedOperation: for a payload before version 4.
    """
    flags = TRACING_FLAG if tracing else 0
    if allow_beta:
        flags |= standing_flags(version)
    # An empty map is left out: version 3 has no room for it, and it says nothing.
    if not payload:
        return flags, b""
    if version < 4:
        raise UnsupportedOperation(
            "a custom payload needs protocol version 4 or higher; "
            f"the connection speaks version {version}"
        )
    return flags | CUSTOM_PAYLOAD_FLAG, bytes_map(payload)


def _check_size(payload: object) -> None:
    if not isinstance(payload, Mapping):
        raise TypeError(
            f"a custom payload is a mapping of str to bytes, not {type(payload).__name__}"
        )
    if len(payload) > MOST:
        raise ValueError(
            f"a custom payload of {len(payload)} entries; the protocol has room for {MOST}"
        )


def _key(key: object) -> bytes:
    if not isinstance(key, (str, bytes)):
        raise TypeError(f"a custom payload's keys are str, not {type(key).__name__}: {key!r}")
    name = key if isinstance(key, bytes) else key.encode()
    if len(name) > MOST:
        raise ValueError(
            f"a custom payload key of {len(name)} bytes; the protocol has room for {MOST}: "
            f"{key[:40]!r}..."
        )
    return name


def _value_size(key: str, value: object) -> int:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"custom payload {key[:40]!r} has a value of type {type(value).__name__}; "
            "it has to be bytes or None"
        )
    # len() of a memoryview counts its items, which may be wider than a byte.
    size = value.nbytes if isinstance(value, memoryview) else len(value)
    if size > LONGEST_VALUE:
        raise ValueError(
            f"custom payload {key[:40]!r} has {size} bytes; "
            f"the protocol has room for {LONGEST_VALUE}"
        )
    return size
