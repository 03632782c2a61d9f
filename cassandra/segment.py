"""Reads and writes segments of protocol version 5, for code that does its own framing.

This is the public API of `cassandra.protocol.segment`. Its buffers are binary files.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import BinaryIO

from cassandra._lazy import lazy_names
from cassandra.errors import CrcException, ProtocolError
from cassandra.protocol import segment
from cassandra.protocol.compression import BodyCompression
from cassandra.protocol.primitives import int32_pack
from cassandra.protocol.segment import CRC24_INIT, CRC24_POLY, CRC32_INITIAL

# The size in bytes of the checksum of a segment's header, and of the checksum of its payload
# (native_protocol_v5.spec, section 2.2).
CRC24_LENGTH = 3
CRC32_LENGTH = 4

__all__ = [
    "CRC24_INIT", "CRC24_LENGTH", "CRC24_POLY", "CRC32_INITIAL", "CRC32_LENGTH", "CrcException",
    "Segment", "SegmentCodec", "SegmentHeader", "compute_crc24", "compute_crc32", "int32_pack",
]  # fmt: skip


def compute_crc24(data: int, length: int) -> int:
    """Return the CRC24 of the low `length` bytes of `data`, least significant byte first.

    :param data: the bytes as one number.
    :param length: the number of bytes.
    """
    return segment.crc24(data, length)


def compute_crc32(data: bytes, value: int) -> int:
    """Return the CRC32 of `data`, continuing from `value` (`CRC32_INITIAL` for a payload).

    :param data: the bytes.
    :param value: the checksum of the preceding bytes.
    """
    return zlib.crc32(data, value)


class SegmentHeader:
    """The header of a segment: two lengths and a flag, which precede the payload.

    :param payload_length: the number of bytes on the wire.
    :param uncompressed_payload_length: the number of bytes after decompression. 0 if the payload of
        this segment is not compressed, -1 if the connection does not use compression.
    :param is_self_contained: True if the payload has complete envelopes.
    """

    __slots__ = ("is_self_contained", "payload_length", "uncompressed_payload_length")

    def __init__(
        self, payload_length: int, uncompressed_payload_length: int, is_self_contained: bool
    ) -> None:
        self.payload_length = payload_length
        self.uncompressed_payload_length = uncompressed_payload_length
        self.is_self_contained = is_self_contained

    @property
    def segment_length(self) -> int:
        """Bytes of the whole segment: header, payload and checksum."""
        head = (
            segment.HEADER_SIZE if self.uncompressed_payload_length < 0 else segment.LZ4_HEADER_SIZE
        )
        return head + self.payload_length + segment.TRAILER_SIZE


class Segment:
    """The content of a segment.

    :param payload: the bytes, decompressed.
    :param is_self_contained: True if the payload has complete envelopes.
    """

    MAX_PAYLOAD_LENGTH = segment.MAX_PAYLOAD

    __slots__ = ("is_self_contained", "payload")

    def __init__(self, payload: bytes, is_self_contained: bool) -> None:
        self.payload = payload
        self.is_self_contained = is_self_contained


class SegmentCodec:
    """Writes and reads segments. Pass both functions for compression, or neither.

    :param compressor: called with bytes; returns an LZ4 block.
    :param decompressor: called with an LZ4 block and the size of its content; returns the content.
    """

    def __init__(
        self,
        compressor: Callable[[bytes], bytes] | None = None,
        decompressor: Callable[[bytes, int], bytes] | None = None,
    ) -> None:
        self.compressor = compressor
        self.decompressor = decompressor
        self._algorithm: BodyCompression | None = None  # None for no compression
        if compressor is not None:
            # Only `compress_segment` is needed here; the other functions are never called.
            self._algorithm = BodyCompression(
                name="lz4",
                compress_body=compressor,
                decompress_body=_no_bodies,
                compress_segment=compressor,
                decompress_segment=None,
            )

    @property
    def compression(self) -> bool:
        """True if segments are compressed by LZ4."""
        return self.compressor is not None

    @property
    def header_length(self) -> int:
        """Bytes of a header without its checksum."""
        return 5 if self.compression else 3

    @property
    def header_length_with_crc(self) -> int:
        """Bytes of a header with its checksum."""
        return self.header_length + CRC24_LENGTH

    def encode(self, buffer: BinaryIO, msg: bytes) -> None:
        """Write the envelope `msg` to `buffer`, in several segments if necessary.

        :param buffer: a binary file.
        :param msg: header and body of a message.
        """
        buffer.write(segment.encode_envelopes([msg], self._algorithm))

    def decode_header(self, buffer: BinaryIO) -> SegmentHeader:
        """Read a header from `buffer`.

        :param buffer: a binary file, positioned at the beginning of a segment.
        :raises CrcException: if the header is damaged.
        """
        size = self.header_length_with_crc
        data = buffer.read(size)
        if len(data) < size:
            raise ProtocolError(f"a segment's header has {size} bytes, and {len(data)} are there")
        payload, plain, self_contained = segment.decode_header(data, 0, self.compression)
        return SegmentHeader(payload, plain if self.compression else -1, self_contained)

    def decode(self, buffer: BinaryIO, header: SegmentHeader) -> Segment:
        """Return the payload that follows `header`, decompressed.

        :param buffer: a binary file, positioned directly after the header.
        :param header: the result of `decode_header`.
        :raises CrcException: if the payload is damaged.
        """
        payload = buffer.read(header.payload_length)
        trailer = buffer.read(CRC32_LENGTH)
        if len(payload) < header.payload_length or len(trailer) < CRC32_LENGTH:
            raise ProtocolError(
                f"a segment's payload of {header.payload_length} bytes is cut short"
            )
        # Check the checksum before decompressing, because it covers the bytes on the wire.
        segment.check_payload(payload, int.from_bytes(trailer, "little"))
        if header.uncompressed_payload_length > 0:
            if self.decompressor is None:
                raise ProtocolError("a compressed segment, and no decompressor to read it")
            payload = self.decompressor(payload, header.uncompressed_payload_length)
        return Segment(payload, header.is_self_contained)


def _no_bodies(data: bytes, limit: int) -> bytes:
    """Raise ProtocolError. Takes the place of the function that decompresses a frame's body."""
    raise ProtocolError("a segment's codec reads no bodies")


for _public_class in (Segment, SegmentHeader, SegmentCodec):
    # Pickles and messages have the name of a class's module: set the public module.
    _public_class.__module__ = "cassandra.segment"
del _public_class

__getattr__ = lazy_names(__name__)
