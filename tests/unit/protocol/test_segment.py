"""Test segments, which are the outer frames of protocol version 5, and their checksums."""

from __future__ import annotations

import random
import zlib
from typing import Any

import pytest
from lz4 import block

from cassandra.errors import CrcException
from cassandra.protocol import segment
from cassandra.protocol.compression import compression
from cassandra.protocol.opcodes import HEADER_DIRECTION_TO_CLIENT, RESULT
from tests.conftest import Implementation
from tests.unit.protocol.wire import envelope

# protocol version 5 in the first byte of a response
RESPONSE_V5 = HEADER_DIRECTION_TO_CLIENT | 5
# This is the number of bytes of an envelope before its body.
HEADER_SIZE = 9
# This is the maximum number of bytes of a segment's payload, whose length has 17 bits.
LARGEST_PAYLOAD = 131_071


def crc24_by_the_book(data: bytes) -> int:
    """Compute the CRC24 bit by bit.

    native_protocol_v5.spec defines the initial value 0x875060 and the polynomial 0x1974F0B.
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
    """Compute the CRC32 of a payload; the specification puts four fixed bytes in front of it."""
    return zlib.crc32(b"\xfa\x2d\x55\xca" + payload)


def by_hand(payload: bytes, self_contained: bool) -> bytes:
    """Return the bytes of an uncompressed segment, built without the code under test.

    :param self_contained: True if the payload has only complete envelopes.
    """
    head = (len(payload) | (self_contained << 17)).to_bytes(3, "little")
    crc24 = crc24_by_the_book(head).to_bytes(3, "little")
    return head + crc24 + payload + crc32_by_the_book(payload).to_bytes(4, "little")


def lz4_by_hand(stored: bytes, plain_size: int, self_contained: bool) -> bytes:
    """Return the bytes of a segment with LZ4, built without the code under test.

    :param stored: the payload as it is stored in the segment.
    :param plain_size: the size before compression; 0 if `stored` is not compressed.
    :param self_contained: True if the payload has only complete envelopes.
    """
    header = (len(stored) | (plain_size << 17) | (self_contained << 34)).to_bytes(5, "little")
    crc24 = crc24_by_the_book(header).to_bytes(3, "little")
    return header + crc24 + stored + crc32_by_the_book(stored).to_bytes(4, "little")


@pytest.mark.parametrize(
    ("value", "length"),
    [(0, 3), (1, 3), (0x1FFFF, 3), (0x20000, 3), (0x7FFFFFFFF, 5), (0x123456789, 5)],
)
def test_crc24(value: int, length: int) -> None:
    """The driver's function `crc24` returns the same as a simple bit-by-bit computation."""
    assert segment.crc24(value, length) == crc24_by_the_book(value.to_bytes(length, "little"))


def test_crc32() -> None:
    """The driver's function `crc32` returns the same as `zlib.crc32` for the specified bytes."""
    assert segment.crc32(b"payload") == crc32_by_the_book(b"payload")
    assert segment.crc32(b"") == crc32_by_the_book(b"")


@pytest.mark.parametrize("payload", [b"", b"x", b"y" * LARGEST_PAYLOAD])
@pytest.mark.parametrize("self_contained", [True, False])
def test_uncompressed_segment(payload: bytes, self_contained: bool) -> None:
    """A segment must be encoded to the expected bytes, and its header be decoded."""
    encoded = segment.encode_segment(payload, self_contained)
    assert encoded == by_hand(payload, self_contained)
    assert segment.decode_header(encoded, offset=0, lz4=False) == (len(payload), 0, self_contained)


def test_lz4_segments() -> None:
    """With LZ4, a small payload is stored uncompressed, and a large payload is compressed."""
    lz4 = compression("lz4")
    small, large = b"small", b"ab" * 5000
    assert segment.encode_lz4_segment(small, self_contained=True, algorithm=lz4) == lz4_by_hand(
        small, plain_size=0, self_contained=True
    )
    compressed = block.compress(large, store_size=False)
    encoded = segment.encode_lz4_segment(large, self_contained=False, algorithm=lz4)
    assert encoded == lz4_by_hand(compressed, plain_size=10000, self_contained=False)
    assert segment.decode_header(encoded, offset=0, lz4=True) == (len(compressed), 10000, False)


def test_small_envelopes_share_a_segment_and_large_ones_are_split() -> None:
    """Small envelopes share a segment; an envelope larger than a segment gets separate segments.

    The second argument of `encode_envelopes` is the compression; None means no compression.
    """
    encode = segment.encode_envelopes
    assert encode([b"one", b"two", b"three"], None) == by_hand(b"onetwothree", self_contained=True)
    # The large envelope has 262,144 bytes, and a segment at most 131,071. So it needs three
    # segments.
    large = bytes(range(256)) * 1024
    assert encode([b"one", large, b"two"], None) == (
        by_hand(b"one", self_contained=True)
        + by_hand(large[:LARGEST_PAYLOAD], self_contained=False)
        + by_hand(large[LARGEST_PAYLOAD : 2 * LARGEST_PAYLOAD], self_contained=False)
        + by_hand(large[2 * LARGEST_PAYLOAD :], self_contained=False)
        + by_hand(b"two", self_contained=True)
    )
    # An envelope of exactly the largest size fits into one segment, but shares it with no other.
    full = b"f" * LARGEST_PAYLOAD
    assert encode([full, b"x"], None) == by_hand(full, self_contained=True) + by_hand(
        b"x", self_contained=True
    )
    assert encode([b"x", full], None) == by_hand(b"x", self_contained=True) + by_hand(
        full, self_contained=True
    )
    assert encode([], None) == b""


@pytest.mark.parametrize("lz4", [False, True])
def test_every_flipped_bit_of_a_header_is_found(lz4: bool) -> None:
    """The CRC24 of a segment's header detects each flipped bit of the header.

    With the CRC24, the header has 8 bytes with LZ4, and 6 bytes without compression.
    """
    if lz4:
        encoded, header_size = lz4_by_hand(b"payload", plain_size=0, self_contained=True), 8
    else:
        encoded, header_size = by_hand(b"payload", self_contained=True), 6
    for bit in range(header_size * 8):
        damaged = bytearray(encoded)
        damaged[bit // 8] ^= 1 << (bit % 8)
        with pytest.raises(CrcException, match="header"):
            segment.decode_header(bytes(damaged), 0, lz4)


def test_a_damaged_payload_is_found() -> None:
    """The CRC32 of a segment's payload detects a changed byte."""
    segment.check_payload(b"payload", crc32_by_the_book(b"payload"))
    with pytest.raises(CrcException, match="payload"):
        segment.check_payload(b"paXload", crc32_by_the_book(b"payload"))


# These bytes cannot be compressed.
NOISE = random.Random(7).randbytes(600)


def writer_of(implementation: Implementation, algorithm: str | None) -> Any:
    """Return a server's frame writer that uses segments with this compression."""
    writer = implementation.frame.FrameWriter(5, responses=True)
    writer.set_compression(algorithm)
    writer.enable_segments()
    return writer


def reader_of(implementation: Implementation, algorithm: str | None) -> Any:
    """Return a client's frame reader that expects segments with this compression."""
    reader = implementation.frame.FrameReader(5)
    reader.set_compression(algorithm)
    reader.enable_segments()
    return reader


def message(size: int) -> bytes:
    """Return an envelope whose body has `size` bytes."""
    return envelope(
        RESPONSE_V5,
        flags=0,
        stream=1,
        opcode=RESULT,
        body=bytes(range(256)) * (size // 256) + b"x" * (size % 256),
    )


# A body of 131,062 bytes and its header fill a segment completely.
@pytest.mark.parametrize("size", [0, 1, 5, 255, 256, 511, 512, 65535, 131061, 131062])
def test_frames_in_one_segment(implementation: Implementation, size: int) -> None:
    """A frame that fits into one segment is written as one segment, and can be read.

    :param size: the size of the frame's body in bytes.
    """
    frame = message(size)
    for algorithm in (None, "lz4"):
        writer = writer_of(implementation, algorithm)
        writer.add(stream=1, opcode=RESULT, flags=0, body=frame[HEADER_SIZE:])
        assert writer.take() == expected_segment(frame, self_contained=True, algorithm=algorithm)
        reader = reader_of(implementation, algorithm)
        assert reader.feed(expected_segment(frame, self_contained=True, algorithm=algorithm)) == [
            (1, RESULT, 0, frame[HEADER_SIZE:], 5)
        ]


# With the header, a body of 131,062 bytes fills one segment, and a body of 262,133 bytes fills two.
@pytest.mark.parametrize("size", [131063, 131064, 262132, 262133, 262134, 400_000])
@pytest.mark.parametrize("algorithm", [None, "lz4"])
def test_large_frames_are_split_into_segments_of_their_own(
    implementation: Implementation, size: int, algorithm: str | None
) -> None:
    """A large frame must share no segment with the small frames before and after it."""
    large, small = message(size), message(3)
    writer = writer_of(implementation, algorithm)
    for frame in (small, large, small, small):
        writer.add(stream=1, opcode=RESULT, flags=0, body=frame[HEADER_SIZE:])
    # The two small frames after the large frame share a segment.
    large_segments = [
        expected_segment(
            large[start : start + LARGEST_PAYLOAD], self_contained=False, algorithm=algorithm
        )
        for start in range(0, len(large), LARGEST_PAYLOAD)
    ]
    first_segment = expected_segment(small, self_contained=True, algorithm=algorithm)
    last_segment = expected_segment(small + small, self_contained=True, algorithm=algorithm)
    expected = first_segment + b"".join(large_segments) + last_segment
    assert writer.take() == expected
    messages = reader_of(implementation, algorithm).feed(expected)
    body_sizes = [len(body) for _stream, _opcode, _flags, body, _version in messages]
    assert body_sizes == [3, size, 3, 3]


def test_frames_that_exactly_fill_a_segment_share_it(implementation: Implementation) -> None:
    """Frames that fill a segment exactly are put into the same segment."""
    small = message(100)
    rest = message(LARGEST_PAYLOAD - len(small) - HEADER_SIZE)
    writer = writer_of(implementation, algorithm=None)
    for frame in (small, rest, small):
        writer.add(stream=1, opcode=RESULT, flags=0, body=frame[HEADER_SIZE:])
    assert writer.take() == by_hand(small + rest, self_contained=True) + by_hand(
        small, self_contained=True
    )


def test_frames_that_do_not_shrink_are_stored_uncompressed(implementation: Implementation) -> None:
    """A payload that compression does not shrink is stored uncompressed.

    The segment's header says so with a plain size of 0.
    """
    writer = writer_of(implementation, "lz4")
    writer.add(stream=1, opcode=RESULT, flags=0, body=NOISE)
    assert writer.take() == lz4_by_hand(
        envelope(RESPONSE_V5, flags=0, stream=1, opcode=RESULT, body=NOISE),
        plain_size=0,
        self_contained=True,
    )


def expected_segment(payload: bytes, self_contained: bool, algorithm: str | None) -> bytes:
    """Return the bytes of one segment according to the specification.

    With LZ4, a payload of 512 bytes or more is compressed if this makes the payload shorter.

    :param self_contained: True if the payload has only complete envelopes.
    :param algorithm: "lz4", or None for no compression.
    """
    if algorithm is None:
        return by_hand(payload, self_contained)
    compressed = block.compress(payload, store_size=False) if len(payload) >= 512 else payload
    if len(compressed) < len(payload):
        return lz4_by_hand(compressed, len(payload), self_contained)
    return lz4_by_hand(payload, 0, self_contained)


@pytest.mark.parametrize("algorithm", [None, "lz4"])
def test_every_flipped_bit_of_a_header_is_detected_by_the_reader(
    implementation: Implementation, algorithm: str | None
) -> None:
    """The reader detects each flipped bit of a segment's header, by its checksum."""
    encoded = expected_segment(message(4), self_contained=True, algorithm=algorithm)
    # The header, including its CRC24, has 8 bytes with LZ4, and 6 bytes without compression.
    header_size = 8 if algorithm else 6
    for bit in range(header_size * 8):
        damaged = bytearray(encoded)
        damaged[bit // 8] ^= 1 << (bit % 8)
        with pytest.raises(CrcException, match="header of a segment has the CRC24"):
            reader_of(implementation, algorithm).feed(bytes(damaged))


@pytest.mark.parametrize("algorithm", [None, "lz4"])
def test_a_damaged_payload_is_found_by_the_reader(
    implementation: Implementation, algorithm: str | None
) -> None:
    """The reader detects a flipped bit of a segment's payload, by its checksum."""
    damaged = bytearray(expected_segment(message(4), self_contained=True, algorithm=algorithm))
    # The CRC32 takes the last four bytes, so this byte belongs to the payload.
    damaged[-6] ^= 1
    with pytest.raises(CrcException, match=r"payload of a segment \(13 bytes\) has the CRC32"):
        reader_of(implementation, algorithm).feed(bytes(damaged))
