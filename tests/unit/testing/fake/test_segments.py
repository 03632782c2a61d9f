"""The segments that the fake node writes, compared with bytes written by hand."""

from __future__ import annotations

import zlib

import pytest

from cassandra.testing.fake import segments
from cassandra.testing.wire import WireError


def crc24_by_bits(data: bytes) -> int:
    """Compute the CRC24 of native_protocol_v5.spec, section 2.1, bit by bit."""
    crc = 0x875060
    for bit in (byte >> position & 1 for byte in data for position in range(7, -1, -1)):
        top = crc >> 23 ^ bit
        crc = (crc << 1 & 0xFFFFFF) ^ (0x974F0B if top & 1 else 0)
    return crc


@pytest.mark.parametrize(
    "data", [b"\0\0\0", b"\1\2\3", b"\xff\xff\x03", b"\x0d\0\2", b"\1\2\3\4\5"]
)
def test_crc24(data: bytes) -> None:
    """The table-driven CRC24 of the fake node equals the CRC24 computed bit by bit."""
    assert segments.crc24(data) == crc24_by_bits(data)


def test_a_segment_without_compression() -> None:
    """A segment has the bytes of the specification, and can be read in pieces."""
    payload = b"hello, frame!"
    fields = bytes.fromhex("0d0002")  # 13 bytes, self-contained: bit 17
    trailer = zlib.crc32(payload, zlib.crc32(bytes.fromhex("fa2d55ca"))).to_bytes(4, "little")
    segment = fields + crc24_by_bits(fields).to_bytes(3, "little") + payload + trailer
    assert segments.encode_segment(payload, self_contained=True, compressed=False) == segment
    reader = segments.SegmentReader(False)
    assert reader.feed(segment[:3]) == b""
    assert reader.feed(segment[3:-1]) == b""
    assert reader.feed(segment[-1:] + segment) == payload + payload


@pytest.mark.skipif(not segments.HAVE_LZ4, reason="needs lz4")
def test_a_segment_with_compression() -> None:
    """A segment is compressed if that makes the payload shorter, and can be read again."""
    payload = b"a" * 1000
    segment = segments.encode_segment(payload, self_contained=True, compressed=True)
    header = int.from_bytes(segment[:5], "little")
    compressed_length = header & 0x1FFFF
    uncompressed_length = header >> 17 & 0x1FFFF
    is_self_contained = header >> 34
    # The segment has a header of 8 bytes, and a CRC32 of 4 bytes.
    assert compressed_length == len(segment) - 8 - 4
    assert compressed_length < 100
    assert uncompressed_length == 1000
    assert is_self_contained == 1
    assert int.from_bytes(segment[5:8], "little") == crc24_by_bits(segment[:5])
    assert segments.SegmentReader(True).feed(segment) == payload
    # If LZ4 does not shrink a payload, the payload is stored unchanged, with an uncompressed length
    # of 0.
    stored = segments.encode_segment(b"xyz", self_contained=True, compressed=True)
    # The header has the length 3, the uncompressed length 0, and bit 34: the segment is
    # self-contained.
    assert stored[:5] == bytes.fromhex("0300000004")
    assert stored[8:11] == b"xyz"
    assert segments.SegmentReader(True).feed(stored) == b"xyz"


@pytest.mark.parametrize("position", [0, 4, 6, -1])
def test_damaged_frames_are_noticed(position: int) -> None:
    """A changed bit in the header, its CRC24, the payload or its CRC32 raises an error."""
    segment = segments.encode_segment(b"payload", self_contained=True, compressed=False)
    damaged = bytearray(segment)
    damaged[position] ^= 1
    with pytest.raises(WireError, match="CRC"):
        segments.SegmentReader(compressed=False).feed(bytes(damaged) + bytes(100))


def test_envelopes_are_packed_and_cut() -> None:
    """Small envelopes share a segment, and a large one is cut into several segments."""
    small, large = b"s" * 10, b"l" * (segments.MAX_PAYLOAD + 5)
    data = segments.pack([small, small, large, small], compressed=False)
    # (length, whether the segment has whole envelopes)
    written_segments = []
    while data:
        fields = int.from_bytes(data[:3], "little")
        length, is_self_contained = fields & 0x1FFFF, fields >> 17
        written_segments.append((length, is_self_contained))
        # Skip the header, the payload and the CRC32.
        data = data[6 + length + 4 :]
    assert written_segments == [(20, 1), (131_071, 0), (5, 0), (10, 1)]
