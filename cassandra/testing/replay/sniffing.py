"""Parses the uncompressed messages between an application and a node."""

from __future__ import annotations

import struct
from typing import NamedTuple

from cassandra.testing.fake.primitives import BodyReader, Opcode, WireError, string, string_list
from cassandra.testing.fake.requests import CUSTOM_PAYLOAD, TRACING
from cassandra.testing.fake.segments import SegmentReader

__all__ = [
    "Envelope",
    "Sniffer",
    "bytes_of",
    "prepared_id",
    "read_supported",
    "used_keyspace",
    "without_compression",
]

_HEADER = struct.Struct(">BBhBi")
_WARNING = 0x08
_SET_KEYSPACE, _PREPARED = 3, 4  # native_protocol_v5.spec 4.2.5


class Envelope(NamedTuple):
    """A message in either direction.

    :param version: the protocol version, without the direction bit.
    :param flags: the header flags.
    :param stream: the stream id.
    :param opcode: the opcode.
    :param body: the body of the message.
    """

    version: int
    flags: int
    stream: int
    opcode: int
    body: bytes


class Sniffer:
    """Splits the bytes of one direction into messages."""

    def __init__(self) -> None:
        self._segments: SegmentReader | None = None
        self._buffer = b""

    @property
    def is_framed(self) -> bool:
        """True if messages are in frames, as in version 5."""
        return self._segments is not None

    def begin_frames(self) -> bytes:
        """Expect frames from now on.

        :returns: the bytes that have arrived and are not yet parsed.
        """
        self._segments = SegmentReader(False)
        rest, self._buffer = self._buffer, b""
        return rest

    def feed(self, data: bytes) -> None:
        """Add bytes, in chunks of any size.

        :raises WireError: if a checksum or a length is wrong.
        """
        self._buffer += data if self._segments is None else self._segments.feed(data)

    def next(self) -> Envelope | None:
        """Return the next complete message, or None."""
        if len(self._buffer) < _HEADER.size:
            return None
        version, flags, stream, opcode, length = _HEADER.unpack_from(self._buffer)
        end = _HEADER.size + length
        if length < 0:
            raise WireError(f"an envelope with a body of {length} bytes")
        if len(self._buffer) < end:
            return None
        body = self._buffer[_HEADER.size : end]
        self._buffer = self._buffer[end:]
        return Envelope(version & 0x7F, flags, stream, opcode, body)


def bytes_of(envelope: Envelope) -> bytes:
    """Return a message from a node as bytes without a frame."""
    version, flags, stream, opcode, body = envelope
    return _HEADER.pack(version | 0x80, flags, stream, opcode, len(body)) + body


def read_supported(body: bytes) -> dict[str, list[str]]:
    """Return the options of a SUPPORTED message."""
    reader = BodyReader(body)
    return {reader.string(): reader.string_list() for _ in range(reader.short())}


def without_compression(body: bytes) -> bytes:
    """Return the body of SUPPORTED without compression, because we could not read compressed
    messages.
    """
    options = {**read_supported(body), "COMPRESSION": []}
    parts = [len(options).to_bytes(2, "big")]
    for name, values in options.items():
        parts += (string(name), string_list(values))
    return b"".join(parts)


def result_start(flags: int, body: bytes) -> tuple[int, BodyReader]:
    """Return the kind of a RESULT, and a reader positioned after it."""
    reader = BodyReader(body)
    if flags & TRACING:
        reader.take(16)
    if flags & _WARNING:
        reader.string_list()
    if flags & CUSTOM_PAYLOAD:
        reader.bytes_map()
    return reader.int32(), reader


def prepared_id(opcode: int, flags: int, body: bytes) -> bytes | None:
    """Return the statement id in the response to PREPARE, or None for an error."""
    if opcode != Opcode.RESULT:
        return None
    kind, reader = result_start(flags, body)
    return reader.take(reader.short()) if kind == _PREPARED else None


def used_keyspace(opcode: int, flags: int, body: bytes) -> str | None:
    """Return the keyspace in the response to USE, or None for another response."""
    if opcode != Opcode.RESULT:
        return None
    kind, reader = result_start(flags, body)
    return reader.string() if kind == _SET_KEYSPACE else None
