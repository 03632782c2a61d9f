"""Segments: the outer frames of protocol version 5, with checksums.

See native_protocol_v5.spec, sections 2.1 and 2.2. A segment is a header, the header's CRC24, a
payload of at most 131,071 bytes, and the payload's CRC32. The payload consists of envelopes. The
integers of the header are little-endian, while the integers of envelopes are big-endian. The
compiled version of this module is in ``cassandra/_accel/frame_segments.pxi``.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from cassandra.errors import CrcException
from cassandra.protocol.compression import WORTH_COMPRESSING, BodyCompression

# The length of the payload has 17 bits in the header (section 2.1).
MAX_PAYLOAD = (1 << 17) - 1
# The initial value and the polynomial of the CRC24 of a header.
CRC24_INIT = 0x875060
CRC24_POLY = 0x1974F0B
HEADER_SIZE = 6  # 3 bytes for the length and flag, 3 for the CRC24
LZ4_HEADER_SIZE = 8  # 5 bytes for the two lengths and the flag, 3 for the CRC24
TRAILER_SIZE = 4  # the CRC32 of the payload

# The initial value for the CRC32 of a payload. Section 2.1 defines it as the CRC32 of these bytes.
CRC32_INITIAL = zlib.crc32(b"\xfa\x2d\x55\xca")

# The flag "self-contained" in the header of an uncompressed and of an LZ4 segment.
_SELF_CONTAINED = 1 << 17
_LZ4_SELF_CONTAINED = 1 << 34


def _crc24_table() -> tuple[int, ...]:
    """Return the CRC24 remainder of each byte, so that `crc24` can process whole bytes."""
    table = []
    for value in range(256):
        crc = value << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:  # a bit went beyond the 24 bits
                crc ^= CRC24_POLY
        table.append(crc & 0xFFFFFF)
    return tuple(table)


_CRC24 = _crc24_table()


def crc24(value: int, length: int) -> int:
    """Return the CRC24 of a header of `length` bytes, given as the little-endian number `value`."""
    crc = CRC24_INIT
    table = _CRC24
    # There are at most 5 bytes, so shifting the number is cheaper than making a bytes object.
    for _ in range(length):
        crc = ((crc << 8) & 0xFFFFFF) ^ table[(crc >> 16) ^ (value & 0xFF)]
        value >>= 8
    return crc


def crc32(data: bytes | bytearray | memoryview) -> int:
    """Return the CRC32 of a payload, with the initial value that section 2.1 requires."""
    return zlib.crc32(data, CRC32_INITIAL)


def encode_segment(payload: bytes, self_contained: bool) -> bytes:
    """Return an uncompressed segment with a payload of at most `MAX_PAYLOAD` bytes.

    :param self_contained: True if the payload consists of whole envelopes.
    """
    header = len(payload) | (_SELF_CONTAINED if self_contained else 0)
    return b"".join(
        (
            header.to_bytes(3, "little"),
            crc24(header, 3).to_bytes(3, "little"),
            payload,
            zlib.crc32(payload, CRC32_INITIAL).to_bytes(4, "little"),
        )
    )


def encode_lz4_segment(payload: bytes, self_contained: bool, algorithm: BodyCompression) -> bytes:
    """Return a segment in the format with LZ4 compression.

    If compression does not make the payload smaller, the payload is stored uncompressed, and the
    uncompressed length in the header is 0.
    """
    uncompressed_size = 0
    segment_payload = payload
    if len(payload) >= WORTH_COMPRESSING and algorithm.compress_segment is not None:
        compressed = algorithm.compress_segment(payload)
        # An uncompressed length of 0 means that the payload is not compressed (section 2.2). This
        # is necessary, because compression could make the largest payload too long for a segment.
        if len(compressed) < len(payload):
            segment_payload, uncompressed_size = compressed, len(payload)
    # Each of the two lengths has 17 bits.
    header = (
        len(segment_payload)
        | (uncompressed_size << 17)
        | (_LZ4_SELF_CONTAINED if self_contained else 0)
    )
    return b"".join(
        (
            header.to_bytes(5, "little"),
            crc24(header, 5).to_bytes(3, "little"),
            segment_payload,
            zlib.crc32(segment_payload, CRC32_INITIAL).to_bytes(4, "little"),
        )
    )


def decode_header(
    data: bytes | bytearray | memoryview, offset: int, lz4: bool
) -> tuple[int, int, bool]:
    """Return the fields of the segment header at `offset`.

    :returns: (size of the payload in the segment, size of the payload after decompression, is
        self-contained). The second size is 0 if the payload is not compressed.
    :raises CrcException: if the header's checksum is wrong.
    """
    length = 5 if lz4 else 3  # the length of the header without its checksum of 3 bytes
    header = int.from_bytes(data[offset : offset + length], "little")
    expected = int.from_bytes(data[offset + length : offset + length + 3], "little")
    # Check the header before its length is used: the length says where the next segment begins.
    actual = crc24(header, length)
    if actual != expected:
        raise CrcException(
            f"the header of a segment has the CRC24 {actual:06x}, its checksum says {expected:06x}"
        )
    if lz4:
        return (
            header & MAX_PAYLOAD,
            (header >> 17) & MAX_PAYLOAD,
            bool(header & _LZ4_SELF_CONTAINED),
        )
    return header & MAX_PAYLOAD, 0, bool(header & _SELF_CONTAINED)


def check_payload(payload: bytes | bytearray | memoryview, expected: int) -> None:
    """Raise `CrcException` if the payload's CRC32 is not `expected`."""
    actual = zlib.crc32(payload, CRC32_INITIAL)
    if actual != expected:
        raise CrcException(
            f"the payload of a segment ({len(payload)} bytes) has the CRC32 {actual:08x}, "
            f"its checksum says {expected:08x}"
        )


def encode_envelopes(envelopes: Sequence[bytes], algorithm: BodyCompression | None) -> bytes:
    """Return `envelopes`, in order, in as few segments as possible.

    Small envelopes share a self-contained segment. An envelope that is larger than a payload is cut
    into several segments, which are not self-contained and contain no other envelopes (section 1).
    """
    segments: list[bytes] = []
    next_segment: list[bytes] = []
    next_size = 0
    for envelope in envelopes:
        # If the envelope does not fit into the segment that is being filled, finish that segment.
        if next_size + len(envelope) > MAX_PAYLOAD and next_segment:
            segments.append(_encode(b"".join(next_segment), True, algorithm))
            next_segment, next_size = [], 0
        if len(envelope) > MAX_PAYLOAD:
            # The last part is not self-contained either, even if it is small: the reader needs the
            # flag to know that the segment continues an envelope.
            starts = range(0, len(envelope), MAX_PAYLOAD)
            segments.extend(
                _encode(envelope[start : start + MAX_PAYLOAD], False, algorithm) for start in starts
            )
        else:
            next_segment.append(envelope)
            next_size += len(envelope)
    if next_segment:
        segments.append(_encode(b"".join(next_segment), True, algorithm))
    return b"".join(segments)


def _encode(payload: bytes, self_contained: bool, algorithm: BodyCompression | None) -> bytes:
    if algorithm is None:
        return encode_segment(payload, self_contained)
    return encode_lz4_segment(payload, self_contained, algorithm)
