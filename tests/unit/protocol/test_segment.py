"""Segments: native_protocol_v5.spec, sections 2.1 and 2.2."""

from __future__ import annotations

import zlib
from io import BytesIO

import pytest
from lz4 import block

from cassandra import segment as public
from cassandra.errors import CrcException, ProtocolError
from cassandra.protocol.compression import compression
from tests.conftest import Twins


def crc24_by_the_book(data: bytes) -> int:
    """Bit by bit, as the specification's parameters say: initial value 0x875060, polynomial
    0x1974F0B.
    """
    crc = 0x875060
    for byte in data:
        crc ^= byte << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1974F0B
    return crc & 0xFFFFFF


def crc32_by_the_book(payload: bytes) -> int:
    return zlib.crc32(b"\xfa\x2d\x55\xca" + payload)


def by_hand(payload: bytes, self_contained: bool) -> bytes:
    head = (len(payload) | (self_contained << 17)).to_bytes(3, "little")
    crc24 = crc24_by_the_book(head).to_bytes(3, "little")
    return head + crc24 + payload + crc32_by_the_book(payload).to_bytes(4, "little")


def lz4_by_hand(stored: bytes, plain_size: int, self_contained: bool) -> bytes:
    head = (len(stored) | (plain_size << 17) | (self_contained << 34)).to_bytes(5, "little")
    crc24 = crc24_by_the_book(head).to_bytes(3, "little")
    return head + crc24 + stored + crc32_by_the_book(stored).to_bytes(4, "little")


@pytest.mark.parametrize(
    ("value", "length"),
    [(0, 3), (1, 3), (0x1FFFF, 3), (0x20000, 3), (0x7FFFFFFFF, 5), (0x123456789, 5)],
)
def test_crc24(twins: Twins, value: int, length: int) -> None:
    assert twins.segment.crc24(value, length) == crc24_by_the_book(value.to_bytes(length, "little"))


def test_crc32(twins: Twins) -> None:
    assert twins.segment.crc32(b"payload") == crc32_by_the_book(b"payload")
    assert twins.segment.crc32(b"") == crc32_by_the_book(b"")


@pytest.mark.parametrize("payload", [b"", b"x", b"y" * 131071])
@pytest.mark.parametrize("self_contained", [True, False])
def test_uncompressed_segment(twins: Twins, payload: bytes, self_contained: bool) -> None:
    encoded = twins.segment.encode_segment(payload, self_contained)
    assert encoded == by_hand(payload, self_contained)
    assert twins.segment.decode_header(encoded, 0, False) == (len(payload), 0, self_contained)


def test_lz4_segments(twins: Twins) -> None:
    segment, lz4 = twins.segment, compression("lz4")
    small, large = b"small", b"ab" * 5000
    assert segment.encode_lz4_segment(small, True, lz4) == lz4_by_hand(small, 0, True)
    packed = block.compress(large, store_size=False)
    encoded = segment.encode_lz4_segment(large, False, lz4)
    assert encoded == lz4_by_hand(packed, 10000, False)
    assert segment.decode_header(encoded, 0, True) == (len(packed), 10000, False)


def test_small_envelopes_share_a_segment_and_large_ones_are_cut(twins: Twins) -> None:
    encode = twins.segment.encode_envelopes
    assert encode([b"one", b"two", b"three"], None) == by_hand(b"onetwothree", True)
    large = bytes(range(256)) * 1024
    assert encode([b"one", large, b"two"], None) == (
        by_hand(b"one", True)
        + by_hand(large[:131071], False)
        + by_hand(large[131071:262142], False)
        + by_hand(large[262142:], False)
        + by_hand(b"two", True)
    )
    full = b"f" * 131071
    assert encode([full, b"x"], None) == by_hand(full, True) + by_hand(b"x", True)
    assert encode([b"x", full], None) == by_hand(b"x", True) + by_hand(full, True)
    assert encode([], None) == b""


@pytest.mark.parametrize("lz4", [False, True])
def test_every_flipped_bit_of_a_header_is_found(twins: Twins, lz4: bool) -> None:
    whole = lz4_by_hand(b"payload", 0, True) if lz4 else by_hand(b"payload", True)
    for bit in range((8 if lz4 else 6) * 8):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << (bit % 8)
        with pytest.raises(CrcException, match="header"):
            twins.segment.decode_header(bytes(damaged), 0, lz4)


def test_a_damaged_payload_is_found(twins: Twins) -> None:
    twins.segment.check_payload(b"payload", crc32_by_the_book(b"payload"))
    with pytest.raises(CrcException, match="payload"):
        twins.segment.check_payload(b"paXload", crc32_by_the_book(b"payload"))


def test_the_public_codec() -> None:
    codec = public.SegmentCodec()
    target = BytesIO()
    codec.encode(target, b"message")
    assert target.getvalue() == by_hand(b"message", True)
    target.seek(0)
    header = codec.decode_header(target)
    assert (
        header.payload_length,
        header.uncompressed_payload_length,
        header.is_self_contained,
    ) == (7, -1, True)
    assert header.segment_length == len(target.getvalue())
    segment = codec.decode(target, header)
    assert (segment.payload, segment.is_self_contained) == (b"message", True)
    with pytest.raises(ProtocolError, match="has 6 bytes, and 2 are there"):
        codec.decode_header(BytesIO(b"\x00\x00"))
    with pytest.raises(ProtocolError, match="cut short"):
        codec.decode(BytesIO(b"mess"), header)


def test_the_public_codec_with_lz4() -> None:
    lz4 = compression("lz4")
    assert lz4.compress_segment is not None
    codec = public.SegmentCodec(lz4.compress_segment, lz4.decompress_segment)
    target = BytesIO()
    codec.encode(target, b"ab" * 5000)
    target.seek(0)
    header = codec.decode_header(target)
    assert header.uncompressed_payload_length == 10000
    assert codec.decode(target, header).payload == b"ab" * 5000
    assert public.compute_crc24(0x20003, 3) == crc24_by_the_book(b"\x03\x00\x02")
    assert public.compute_crc32(b"x", public.CRC32_INITIAL) == crc32_by_the_book(b"x")
