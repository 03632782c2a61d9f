"""Encodes the flags of a request's envelope, and the custom payload that precedes its body.

See native_protocol_v5.spec, section 2.4.1.2 for the flags, and section 3 for [bytes map] and
[bytes].
"""

from __future__ import annotations

from collections.abc import Mapping

from cassandra.errors import UnsupportedOperation
from cassandra.protocol.opcodes import CUSTOM_PAYLOAD_FLAG, TRACING_FLAG, USE_BETA_FLAG
from cassandra.protocol.primitives import NULL_VALUE, int32_pack, uint16_pack
from cassandra.versions import ProtocolVersion

# The maximum number of entries of a map, and of bytes of a key: each has a [short] for its size.
MAX_SHORT = 0xFFFF
MAX_VALUE_SIZE = 0x7FFFFFFF  # the maximum number of bytes of a value, whose length is an [int]

Payload = Mapping[str, bytes | bytearray | memoryview | None]


def standing_flags(version: int) -> int:
    """Return the flags that every request of this protocol version must have.

    For a beta version this is USE_BETA, because servers reject an envelope without it.
    """
    return USE_BETA_FLAG if version in ProtocolVersion.BETA_VERSIONS else 0


def bytes_map(payload: Payload) -> bytes:
    """Encode a custom payload as a [bytes map].

    A value of None becomes a null (a [bytes] of length -1).

    :raises TypeError: if `payload` is not a mapping of str to bytes or None.
    :raises ValueError: for more than 65,535 entries, a key of more than 65,535 bytes or a value of
        more than 2 GiB.
    """
    _check_mapping(payload)
    parts = [uint16_pack(len(payload))]
    for key, value in payload.items():
        name = _encoded_key(key)
        parts += (uint16_pack(len(name)), name)
        if value is None:
            parts.append(NULL_VALUE)
        else:
            size = _checked_value_size(key, value)
            parts += (int32_pack(size), value if isinstance(value, bytes) else bytes(value))
    return b"".join(parts)


def check_payload(payload: Payload) -> None:
    """Raise the errors of `bytes_map` without encoding the payload.

    This is called in the application's thread, so the traceback shows where the payload came from.
    """
    _check_mapping(payload)
    for key, value in payload.items():
        _encoded_key(key)
        if value is not None:
            _checked_value_size(key, value)


def request_extras(
    version: int, tracing: bool, payload: Payload | None, allow_beta: bool
) -> tuple[int, bytes]:
    """Return (flags, bytes) of a request; the bytes are its custom payload, for before the body.

    :param version: protocol version of the connection.
    :param tracing: ask the server to trace the request.
    :param payload: the custom payload, or None.
    :param allow_beta: set the flag that a beta version requires.
    :raises UnsupportedOperation: for a payload before version 4.
    """
    flags = TRACING_FLAG if tracing else 0
    if allow_beta:
        flags |= standing_flags(version)
    # Leave out an empty payload: it has no meaning, and version 3 has no custom payload.
    if not payload:
        return flags, b""
    if version < 4:
        raise UnsupportedOperation(
            "a custom payload needs protocol version 4 or higher; "
            f"the connection speaks version {version}"
        )
    return flags | CUSTOM_PAYLOAD_FLAG, bytes_map(payload)


def _check_mapping(payload: object) -> None:
    """Raise an error if `payload` is not a mapping, or has too many entries."""
    if not isinstance(payload, Mapping):
        advice = (
            "; values are of execute: session.execute(prepared, values)"
            if isinstance(payload, (tuple, list))
            else ""
        )
        raise TypeError(
            f"a custom payload is a mapping of str to bytes, not {type(payload).__name__}{advice}"
        )
    if len(payload) > MAX_SHORT:
        raise ValueError(
            f"a custom payload of {len(payload)} entries; the protocol has room for {MAX_SHORT}"
        )


def _encoded_key(key: object) -> bytes:
    """Return the bytes of a payload's key; raise an error if it is no string or too long."""
    if not isinstance(key, (str, bytes)):
        raise TypeError(f"a custom payload's keys are str, not {type(key).__name__}: {key!r}")
    name = key if isinstance(key, bytes) else key.encode()
    if len(name) > MAX_SHORT:
        raise ValueError(
            f"a custom payload key of {len(name)} bytes; the protocol has room for {MAX_SHORT}: "
            f"{key[:40]!r}..."
        )
    return name


def _checked_value_size(key: str, value: object) -> int:
    """Return the size of a value in bytes; raise an error if it is not bytes or too large."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"custom payload {key[:40]!r} has a value of type {type(value).__name__}; "
            "it has to be bytes or None"
        )
    # len() of a memoryview counts items, which may have more than one byte each.
    size = value.nbytes if isinstance(value, memoryview) else len(value)
    if size > MAX_VALUE_SIZE:
        raise ValueError(
            f"custom payload {key[:40]!r} has {size} bytes; "
            f"the protocol has room for {MAX_VALUE_SIZE}"
        )
    return size
