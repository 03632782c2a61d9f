"""Segments: the checksummed outer frames of protocol 5 (native_protocol_v5.spec, 2.1 and 2.2).

A segment is a header, the header's CRC24, a payload of at most 131,071 bytes and the payload's
CRC32. The header's integers are little-endian; the envelopes inside stay big-endian. The compiled
frames have the same in C (``cassandra/_accel/frame_segments.pxi``).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from cassandra.errors import CrcException
from cassandra.protocol.compression import WORTH_COMPRESSING, BodyCompression

# The length field has 17 bits (section 2.1): a longer payload would spill into the next field.
MAX_PAYLOAD = (1 << 17) - 1
CRC24_INIT = 0x875060
CRC24_POLY = 0x1974F0B
HEADER_SIZE = 6  # 3 bytes of lengths and flag, 3 of CRC24
LZ4_HEADER_SIZE = 8  # 5 and 3
TRAILER_SIZE = 4

# The CRC32 of a payload goes on from the checksum of these four bytes.
CRC32_INITIAL = zlib.crc32(b"\xfa\x2d\x55\xca")

_SELF_CONTAINED = 1 << 17
_LZ4_SELF_CONTAINED = 1 << 34


def _crc24_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        crc = value << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= CRC24_POLY
        table.append(crc & 0xFFFFFF)
    return tuple(table)


_CRC24 = _crc24_table()


def crc24(value: int, length: int) -> int:
    """Return the CRC24 of the low `length` bytes of `value`, least significant byte first."""
    crc = CRC24_INIT
    table = _CRC24
    # Byte by byte over an int: at most 5 bytes, so building a bytes object would cost more.
    for _ in range(length):
        crc = ((crc << 8) & 0xFFFFFF) ^ table[(crc >> 16) ^ (value & 0xFF)]
        value >>= 8
    return crc


def crc32(data: bytes | bytearray | memoryview) -> int:
    """Return the CRC32 of a payload, with the seed of section 2.1."""
    return zlib.crc32(data, CRC32_INITIAL)


def encode_segment(payload: bytes, self_contained: bool) -> bytes:
    """Return one uncompressed segment of at most `MAX_PAYLOAD` bytes."""
    head = len(payload) | (_SELF_CONTAINED if self_contained else 0)
    return b"".join(
        (
            head.to_bytes(3, "little"),
            crc24(head, 3).to_bytes(3, "little"),
            payload,
            zlib.crc32(payload, CRC32_INITIAL).to_bytes(4, "little"),
        )
    )


def encode_lz4_segment(payload: bytes, self_contained: bool, algorithm: BodyCompression) -> bytes:
    """Return one segment of the LZ4 format.

    A payload that does not shrink is stored as it is, with an uncompressed length of 0.
    """
    size = 0
    stored = payload
    if len(payload) >= WORTH_COMPRESSING and algorithm.compress_segment is not None:
        packed = algorithm.compress_segment(payload)
        # An uncompressed length of 0 says "stored as it is" (section 2.2). Without this way out, a
        # payload of the largest size that grows would not fit the length field.
        if len(packed) < len(payload):
            stored, size = packed, len(payload)
    head = len(stored) | (size << 17) | (_LZ4_SELF_CONTAINED if self_contained else 0)
    return b"".join(
        (
            head.to_bytes(5, "little"),
            crc24(head, 5).to_bytes(3, "little"),
            stored,
            zlib.crc32(stored, CRC32_INITIAL).to_bytes(4, "little"),
        )
    )


def decode_header(
    data: bytes | bytearray | memoryview, offset: int, lz4: bool
) -> tuple[int, int, bool]:
    """Return the fields of a segment's header.

    :returns: bytes of the payload on the wire; its uncompressed bytes, or 0 if it is stored as it
        is; and True if the segment is self-contained.
    :raises CrcException: if the header is damaged.
    """
    length = 5 if lz4 else 3
    head = int.from_bytes(data[offset : offset + length], "little")
    expected = int.from_bytes(data[offset + length : offset + length + 3], "little")
    # Checked before the length is used: a wrong length would cut the stream at the wrong place.
    actual = crc24(head, length)
    if actual != expected:
        raise CrcException(
            f"the header of a segment has the CRC24 {actual:06x}, its checksum says {expected:06x}"
        )
    if lz4:
        return head & MAX_PAYLOAD, (head >> 17) & MAX_PAYLOAD, bool(head & _LZ4_SELF_CONTAINED)
    return head & MAX_PAYLOAD, 0, bool(head & _SELF_CONTAINED)


def check_payload(payload: bytes | bytearray | memoryview, expected: int) -> None:
    """Raise `CrcException` if the payload's CRC32 is not `expected`."""
    actual = zlib.crc32(payload, CRC32_INITIAL)
    if actual != expected:
        raise CrcException(
            f"the payload of a segment ({len(payload)} bytes) has the CRC32 {actual:08x}, "
            f"its checksum says {expected:08x}"
        )


def encode_envelopes(envelopes: Sequence[bytes], algorithm: BodyCompression | None) -> bytes:
    """Return all `envelopes`, in order, in as few segments as they fit.

    Small ones share a self-contained segment. One that is larger than a payload is cut into
    segments that are not self-contained, which it does not share with others (section 1).
    """
    parts: list[bytes] = []
    waiting: list[bytes] = []
    size = 0
    for envelope in envelopes:
        # An envelope that is not cut must not cross the edge of a segment.
        if size + len(envelope) > MAX_PAYLOAD and waiting:
            parts.append(_encode(b"".join(waiting), True, algorithm))
            waiting, size = [], 0
        # The last piece is not self-contained either, even if it is small: the reader tells by the
        # flag alone that it goes on with an envelope.
        if len(envelope) > MAX_PAYLOAD:
            starts = range(0, len(envelope), MAX_PAYLOAD)
            parts.extend(
                _encode(envelope[start : start + MAX_PAYLOAD], False, algorithm) for start in starts
            )
        else:
            waiting.append(envelope)
            size += len(envelope)
    if waiting:
        parts.append(_encode(b"".join(waiting), True, algorithm))
    return b"".join(parts)


def _encode(payload: bytes, self_contained: bool, algorithm: BodyCompression | None) -> bytes:
    if algorithm is None:
        return encode_segment(payload, self_contained)
    return encode_lz4_segment(payload, self_contained, algorithm)
