"""Parses the messages between an application and a node, which must not be compressed."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cassandra.testing.fake.primitives import BodyReader, Opcode, WireError, string, string_list
from cassandra.testing.fake.requests import CUSTOM_PAYLOAD, TRACING
from cassandra.testing.fake.segments import SegmentReader

_HEADER = struct.Struct(">BBhBi")
_WARNING = 0x08  # a flag of an envelope
# Kinds of a RESULT (native_protocol_v5.spec, section 4.2.5).
_SET_KEYSPACE, _PREPARED = 3, 4

# The opcode, the header flags, and the body of a response.
Answer = tuple[int, int, bytes]


class Envelope(NamedTuple):
    """A message, from the application or from the node.

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
        """Expect frames around all further messages.

        :returns: the bytes that have arrived, but were not parsed yet. The caller must `feed` them
            again if they have frames.
        """
        self._segments = SegmentReader(compressed=False)
        rest, self._buffer = self._buffer, b""
        return rest

    def feed(self, data: bytes) -> None:
        """Add bytes, in chunks of any size.

        :raises WireError: if a checksum or a length is wrong.
        """
        self._buffer += data if self._segments is None else self._segments.feed(data)

    def next(self) -> Envelope | None:
        """Return the next message; None if it is not complete yet."""
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
    """Return the bytes of a message from a node, without a frame."""
    version, flags, stream, opcode, body = envelope
    return _HEADER.pack(version | 0x80, flags, stream, opcode, len(body)) + body


def read_supported(body: bytes) -> dict[str, list[str]]:
    """Return the options of a SUPPORTED message."""
    reader = BodyReader(body)
    return {reader.string(): reader.string_list() for _ in range(reader.short())}


def supported_body(options: Mapping[str, Sequence[str]]) -> bytes:
    """Return the body of a SUPPORTED message with these options."""
    parts = [len(options).to_bytes(2, "big")]
    for name, values in options.items():
        parts += (string(name), string_list(values))
    return b"".join(parts)


def result_start(flags: int, body: bytes) -> tuple[int, BodyReader]:
    """Return (kind, reader) for a RESULT. The reader is positioned after the kind."""
    reader = BodyReader(body)
    if flags & TRACING:
        reader.take(16)
    if flags & _WARNING:
        reader.string_list()
    if flags & CUSTOM_PAYLOAD:
        reader.bytes_map()
    return reader.int32(), reader


def prepared_id(opcode: int, flags: int, body: bytes) -> bytes | None:
    """Return the statement id in the response to PREPARE; None for any other response."""
    if opcode != Opcode.RESULT:
        return None
    kind, reader = result_start(flags, body)
    return reader.take(reader.short()) if kind == _PREPARED else None


def used_keyspace(opcode: int, flags: int, body: bytes) -> str | None:
    """Return the keyspace in the response to USE; None for any other response."""
    if opcode != Opcode.RESULT:
        return None
    kind, reader = result_start(flags, body)
    return reader.string() if kind == _SET_KEYSPACE else None
