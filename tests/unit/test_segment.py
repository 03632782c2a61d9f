"""Tests of `cassandra.segment`, the public codec of segments.

Segments are the outer frames of protocol version 5. Applications that build frames use this codec.
"""

from __future__ import annotations

from io import BytesIO

import pytest

from cassandra import segment as public
from cassandra.errors import ProtocolError
from cassandra.protocol.compression import compression
from tests.unit.protocol.test_segment import by_hand, crc24_by_the_book, crc32_by_the_book


def test_the_public_codec() -> None:
    """The public `SegmentCodec` must encode and decode segments, and refuse truncated segments."""
    codec = public.SegmentCodec()
    target = BytesIO()
    codec.encode(target, b"message")
    assert target.getvalue() == by_hand(b"message", True)
    target.seek(0)
    header = codec.decode_header(target)
    assert header.payload_length == 7
    # The payload is not compressed.
    assert header.uncompressed_payload_length == -1
    assert header.is_self_contained
    assert header.segment_length == len(target.getvalue())
    decoded = codec.decode(target, header)
    assert (decoded.payload, decoded.is_self_contained) == (b"message", True)
    with pytest.raises(ProtocolError, match="has 6 bytes, and 2 are there"):
        codec.decode_header(BytesIO(b"\x00\x00"))
    with pytest.raises(ProtocolError, match="cut short"):
        codec.decode(BytesIO(b"mess"), header)


def test_the_public_codec_with_lz4() -> None:
    """Large payloads must be compressed and decompressed."""
    lz4 = compression("lz4")
    assert lz4.compress_segment is not None
    codec = public.SegmentCodec(lz4.compress_segment, lz4.decompress_segment)
    target = BytesIO()
    codec.encode(target, b"ab" * 5000)
    target.seek(0)
    header = codec.decode_header(target)
    assert header.uncompressed_payload_length == 10000
    assert codec.decode(target, header).payload == b"ab" * 5000


def test_checksums_have_the_parameters_of_other_drivers() -> None:
    # The function of cassandra-driver gets the bytes as one little-endian number.
    assert public.compute_crc24(0x20003, 3) == crc24_by_the_book(b"\x03\x00\x02")
    assert public.compute_crc32(b"x", public.CRC32_INITIAL) == crc32_by_the_book(b"x")
