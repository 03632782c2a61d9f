"""Test `FrameReader` and `FrameWriter`, which read and write the frames of the protocol.

See native_protocol_v4.spec, section 2, and native_protocol_v5.spec, sections 2 and 2.4.
"""

from __future__ import annotations

import gc
import random
import re
import struct
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from lz4 import block

from cassandra.errors import CrcException, ProtocolError
from cassandra.protocol import compression
from cassandra.protocol.opcodes import (
    COMPRESSED_FLAG,
    ERROR,
    EVENT,
    HEADER_DIRECTION_TO_CLIENT,
    OPTIONS,
    QUERY,
    READY,
    RESULT,
    STARTUP,
    SUPPORTED,
    TRACING_FLAG,
    WARNING_FLAG,
)
from tests.conftest import Implementation
from tests.processes import WITH_TESTS, run_python
from tests.unit.protocol.test_segment import by_hand, lz4_by_hand
from tests.unit.protocol.wire import envelope

# Each message is (stream, opcode, flags, body, protocol version).
Messages = list[tuple[int, int, int, bytes, int]]

# Each entry is (protocol version, compression).
SETTINGS = [(3, None), (4, None), (4, "lz4"), (4, "snappy"), (5, None), (5, "lz4")]


def some_messages(version: int, sizes: Iterable[int] = (0, 1, 5, 9, 300, 700, 3000)) -> Messages:
    """Return messages whose bodies have about these sizes in bytes.

    A third of each body is random, and the remaining bytes can be compressed.
    """
    source = random.Random(1)
    return [
        (stream, RESULT, 0, source.randbytes(size // 3) + b"ab" * (size // 3), version)
        for stream, size in enumerate(sizes)
    ]


RESPONSE_V4 = HEADER_DIRECTION_TO_CLIENT | 4
RESPONSE_V5 = HEADER_DIRECTION_TO_CLIENT | 5


def writer_and_reader(
    implementation: Implementation,
    version: int,
    algorithm: str | None,
    use_segments: bool | None = None,
) -> tuple[Any, Any]:
    """Return a server's frame writer and a client's frame reader, as they are after the handshake.

    :param algorithm: the compression, or None.
    :param use_segments: whether messages are put into segments. None uses segments from version 5
        on.
    """
    writer = implementation.frame.FrameWriter(version, responses=True)
    reader = implementation.frame.FrameReader(version)
    if use_segments is None:
        use_segments = version >= 5
    for codec in (writer, reader):
        codec.set_compression(algorithm)
        if use_segments:
            codec.enable_segments()
    return writer, reader


def stream_of(
    implementation: Implementation, version: int, algorithm: str | None, messages: Messages
) -> tuple[bytes, Any]:
    """Return the bytes of all messages as a server sends them, and a reader for these bytes."""
    writer, reader = writer_and_reader(implementation, version, algorithm)
    for stream, opcode, flags, body, _ in messages:
        writer.add(stream=stream, opcode=opcode, flags=flags, body=body)
    return writer.take(), reader


def through_buffers(reader: Any, data: bytes, max_size: int) -> Messages:
    """Read `data` through the buffers of the reader, as asyncio's BufferedProtocol does.

    :param max_size: the maximum number of bytes to read at a time.
    :returns: the messages.
    """
    messages: Messages = []
    pos = 0
    while pos < len(data):
        # An argument of -1 requests a buffer of any size.
        buffer = reader.get_buffer(-1)
        size = min(len(buffer), max_size, len(data) - pos)
        assert size > 0
        buffer[:size] = data[pos : pos + size]
        pos += size
        messages += reader.buffer_updated(size)
    return messages


def feed_all(reader: Any, pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        reader.feed(piece)


def test_the_bytes_of_a_request(implementation: Implementation) -> None:
    """`take` returns the bytes of all requests that were added since the last call of `take`."""
    writer = implementation.frame.FrameWriter(4)
    assert writer.take() == b""
    writer.add(stream=258, opcode=QUERY, flags=TRACING_FLAG, body=b"body")
    # `pending`, the number of queued bytes, must count at least the bytes of the body.
    assert writer.pending >= 4
    writer.add(stream=-1, opcode=OPTIONS, flags=0, body=b"")
    # An envelope consists of version, flags, stream, opcode, length of the body, and the body.
    assert writer.take() == (
        b"\x04" + b"\x02" + b"\x01\x02" + b"\x07" + b"\x00\x00\x00\x04" + b"body"
        b"\x04" + b"\x00" + b"\xff\xff" + b"\x05" + b"\x00\x00\x00\x00"
    )
    assert writer.pending == 0
    assert writer.take() == b""


def test_a_response_is_read_from_bytes(implementation: Implementation) -> None:
    """A response is read as a tuple: (stream, opcode, flags, body, protocol version)."""
    reader = implementation.frame.FrameReader(4)
    data = (
        b"\x84" + b"\x08" + b"\x01\x02" + b"\x08" + b"\x00\x00\x00\x04" + b"body"
        b"\x84" + b"\x00" + b"\xff\xff" + b"\x0c" + b"\x00\x00\x00\x00"
    )
    assert reader.feed(data) == [
        (258, RESULT, WARNING_FLAG, b"body", 4),
        (-1, EVENT, 0, b"", 4),
    ]


def test_the_bytes_of_compressed_bodies(implementation: Implementation) -> None:
    """A body is compressed only if compression makes it shorter."""
    writer, _ = writer_and_reader(implementation, 4, "lz4")
    body = b"ab" * 1000
    # A compressed body consists of its original length (4 bytes) and the compressed bytes.
    packed = b"\x00\x00\x07\xd0" + block.compress(body, store_size=False)
    writer.add(stream=1, opcode=RESULT, flags=0, body=body)
    assert writer.take() == envelope(
        RESPONSE_V4, flags=COMPRESSED_FLAG, stream=1, opcode=RESULT, body=packed
    )
    # Small bodies, and bodies that compression does not shrink, are not compressed.
    writer.add(stream=1, opcode=RESULT, flags=0, body=b"small")
    assert writer.take() == envelope(RESPONSE_V4, flags=0, stream=1, opcode=RESULT, body=b"small")
    random_bytes = random.Random(2).randbytes(2000)
    writer.add(stream=1, opcode=RESULT, flags=0, body=random_bytes)
    assert writer.take() == envelope(
        RESPONSE_V4, flags=0, stream=1, opcode=RESULT, body=random_bytes
    )


@pytest.mark.parametrize("opcode", [STARTUP, OPTIONS])
def test_startup_and_options_are_never_compressed(
    implementation: Implementation, opcode: int
) -> None:
    """STARTUP and OPTIONS are never compressed: they are sent before compression is negotiated."""
    writer, _ = writer_and_reader(implementation, 4, "lz4")
    writer.add(stream=0, opcode=opcode, flags=0, body=b"ab" * 1000)
    assert writer.take() == envelope(
        RESPONSE_V4, flags=0, stream=0, opcode=opcode, body=b"ab" * 1000
    )


def test_the_bytes_of_segments(implementation: Implementation) -> None:
    """Several small messages must be put into one segment."""
    messages = some_messages(5, sizes=(3, 0))
    data, reader = stream_of(implementation, 5, None, messages)
    envelopes = [
        envelope(RESPONSE_V5, flags=flags, stream=stream, opcode=opcode, body=body)
        for stream, opcode, flags, body, _version in messages
    ]
    assert data == by_hand(b"".join(envelopes), self_contained=True)
    assert reader.feed(data) == messages


def test_segments_begin_after_messages_that_were_added_earlier(
    implementation: Implementation,
) -> None:
    """STARTUP is sent without a segment, because the server expects segments only after STARTUP."""
    writer = implementation.frame.FrameWriter(5)
    writer.add(stream=0, opcode=STARTUP, flags=0, body=b"startup")
    writer.enable_segments()
    writer.add(stream=1, opcode=QUERY, flags=0, body=b"query")
    assert writer.take() == envelope(
        5, flags=0, stream=0, opcode=STARTUP, body=b"startup"
    ) + by_hand(envelope(5, flags=0, stream=1, opcode=QUERY, body=b"query"), self_contained=True)


@pytest.mark.parametrize(("version", "algorithm"), SETTINGS)
def test_messages_are_read_however_the_bytes_are_split(
    implementation: Implementation, version: int, algorithm: str | None
) -> None:
    """Messages are read correctly, however their bytes are split into pieces.

    The bytes are passed to `feed`, or written into the buffers of the reader.
    """
    messages = some_messages(version, sizes=(0, 1, 9, 300, 20))
    data, _ = stream_of(implementation, version, algorithm, messages)
    # Split the bytes into two pieces, at each position.
    for cut in range(len(data) + 1):
        _, reader = writer_and_reader(implementation, version, algorithm)
        assert reader.feed(data[:cut]) + reader.feed(data[cut:]) == messages
        _, reader = writer_and_reader(implementation, version, algorithm)
        messages_read = through_buffers(reader, data[:cut], max_size=1 << 20)
        messages_read += through_buffers(reader, data[cut:], max_size=1 << 20)
        assert messages_read == messages
    # Split the bytes into pieces of the same size. A header has nine bytes.
    for step in (1, 2, 3, 7, 8, 9, 10, 13):
        _, reader = writer_and_reader(implementation, version, algorithm)
        messages_read = []
        for pos in range(0, len(data), step):
            messages_read += reader.feed(memoryview(data)[pos : pos + step])
        assert messages_read == messages
        _, reader = writer_and_reader(implementation, version, algorithm)
        assert through_buffers(reader, data, step) == messages


@pytest.mark.parametrize(("version", "algorithm"), SETTINGS)
@pytest.mark.parametrize("step", [1000, 65536, 100_000, 1 << 20])
def test_large_bodies(
    implementation: Implementation, version: int, algorithm: str | None, step: int
) -> None:
    """Large bodies, which arrive in pieces of `step` bytes, are read unchanged."""
    # A segment's payload has at most 131,071 bytes. A body of 131,062 bytes and its header of 9
    # bytes fill a segment completely.
    messages = some_messages(version, (40_000, 10, 131_071, 131_062, 400_000, 0, 70_000, 1_000_000))
    data, reader = stream_of(implementation, version, algorithm, messages)
    assert through_buffers(reader, data, step) == messages
    _, reader = writer_and_reader(implementation, version, algorithm)
    messages_read: Messages = []
    for pos in range(0, len(data), step):
        messages_read += reader.feed(data[pos : pos + step])
    assert messages_read == messages


def test_feed_and_buffers_may_alternate(implementation: Implementation) -> None:
    """A reader must accept some bytes of a message by `feed`, and others in its buffers."""
    messages = some_messages(4, sizes=(200_000, 50, 200_000))
    data, reader = stream_of(implementation, 4, None, messages)
    messages_read = reader.feed(data[:1000])
    messages_read += through_buffers(reader, data[1000:90_000], max_size=4096)
    messages_read += reader.feed(data[90_000:90_001])
    messages_read += through_buffers(reader, data[90_001:], max_size=1 << 20)
    assert messages_read == messages


def header_of_body(size: int) -> bytes:
    """Return the header of a response of version 4 whose body has this size in bytes."""
    without_size = envelope(RESPONSE_V4, flags=0, stream=1, opcode=RESULT, body=b"")[:5]
    return without_size + struct.pack(">i", size)


def test_the_buffer_has_the_size_of_a_large_body(implementation: Implementation) -> None:
    """After the header of a message has arrived, the reader offers a buffer for the whole body."""
    reader = implementation.frame.FrameReader(4)
    assert len(reader.get_buffer(-1)) == 65536
    reader.feed(header_of_body(1_000_000))
    # The compiled reader allocates the whole body at once, because the operating system provides
    # memory only when it is written to. The Python reader offers its usual buffer.
    assert len(reader.get_buffer(-1)) == (1_000_000 if implementation.name == "c" else 65536)


def test_a_buffer_outlives_its_reader(implementation: Implementation) -> None:
    """A buffer can still be written to after its reader was deleted, since it keeps its memory."""
    reader = implementation.frame.FrameReader(4)
    reader.feed(header_of_body(1_000_000))
    buffer = reader.get_buffer(-1)
    del reader
    gc.collect()
    buffer[:3] = b"abc"
    assert bytes(buffer[:3]) == b"abc"


def test_bodies_do_not_change_when_the_buffer_is_written_again(
    implementation: Implementation,
) -> None:
    """Writing to the reader's buffer again does not change a body, because bodies are copies."""
    reader = implementation.frame.FrameReader(4)
    first_response, second_response = (
        envelope(RESPONSE_V4, flags=0, stream=1, opcode=RESULT, body=body)
        for body in (b"first", b"XXXXX")
    )
    messages = through_buffers(reader, first_response, max_size=100)
    through_buffers(reader, second_response, max_size=100)
    assert messages == [(1, RESULT, 0, b"first", 4)]


def test_a_reader_of_version_0_accepts_any_version(implementation: Implementation) -> None:
    """A reader of version 0 accepts messages of any version."""
    reader = implementation.frame.FrameReader(0)
    versions = [3, 4, 5, 6]
    responses = [
        envelope(
            HEADER_DIRECTION_TO_CLIENT | version, flags=0, stream=0, opcode=SUPPORTED, body=b"x"
        )
        for version in versions
    ]
    messages = reader.feed(b"".join(responses))
    assert [version for *_, version in messages] == versions


def test_an_error_may_come_in_the_servers_own_version(implementation: Implementation) -> None:
    """An ERROR in another version than the client's is accepted; other responses are refused.

    A server that does not know the client's version responds with an ERROR in its own version.
    """
    reader = implementation.frame.FrameReader(5)
    response = envelope(RESPONSE_V4, flags=0, stream=0, opcode=ERROR, body=b"error")
    assert reader.feed(response) == [(0, ERROR, 0, b"error", 4)]
    reader = implementation.frame.FrameReader(5)
    with pytest.raises(ProtocolError, match=r"version 4 .*version 5"):
        reader.feed(envelope(RESPONSE_V4, flags=0, stream=0, opcode=READY, body=b""))


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"HTTP/1.1 400 Bad Request", "does not speak the native protocol.*HTTP"),
        (envelope(0x04, flags=0, stream=0, opcode=RESULT, body=b""), "does not speak"),
        (envelope(0x82, flags=0, stream=0, opcode=RESULT, body=b""), "does not speak"),
        (envelope(0xC1, flags=0, stream=0, opcode=RESULT, body=b""), "does not speak"),
        (b"\x84\x00\x00\x00\x08\x10\x00\x00\x01", "268435457 bytes; the limit is 268435456"),
        (b"\x84\x00\x00\x00\x08\xff\xff\xff\xff", "-1 bytes"),
        (
            envelope(RESPONSE_V4, flags=COMPRESSED_FLAG, stream=0, opcode=RESULT, body=b"abcdef"),
            "no compression",
        ),
    ],
)
@pytest.mark.parametrize("piece_size", [1, 100])
def test_bytes_that_are_not_a_frame(
    implementation: Implementation, data: bytes, match: str, piece_size: int
) -> None:
    """The error for bytes that are not a frame says why, also if the bytes arrive one by one."""
    reader = implementation.frame.FrameReader(4)
    with pytest.raises(ProtocolError, match=match):
        feed_all(reader, [data[pos : pos + piece_size] for pos in range(0, len(data), piece_size)])
    # After this error, the reader raises the same error for all later bytes.
    with pytest.raises(ProtocolError, match=match):
        reader.feed(envelope(RESPONSE_V4, flags=0, stream=0, opcode=RESULT, body=b""))
    with pytest.raises(ProtocolError, match=match):
        reader.buffer_updated(0)


def test_the_limit_can_be_set(implementation: Implementation) -> None:
    """`max_body` limits the size of a body in bytes."""
    reader = implementation.frame.FrameReader(4, max_body=10)
    ten_bytes, eleven_bytes = (
        envelope(RESPONSE_V4, flags=0, stream=0, opcode=RESULT, body=bytes(size))
        for size in (10, 11)
    )
    assert len(reader.feed(ten_bytes)) == 1
    with pytest.raises(ProtocolError, match="11 bytes; the limit is 10"):
        reader.feed(eleven_bytes)


def test_a_request_of_300_mb_is_refused_before_anything_is_queued(
    implementation: Implementation,
) -> None:
    """A request that is too large is refused, and requests that were added before are still sent.

    A stream id outside of signed 16 bits is refused, too.
    """
    writer = implementation.frame.FrameWriter(4)
    writer.add(stream=0, opcode=QUERY, flags=0, body=b"before")
    with pytest.raises(ValueError, match=r"QUERY .*314572800 bytes; the limit is 268435456"):
        writer.add(stream=1, opcode=QUERY, flags=0, body=bytes(300 << 20))
    assert writer.take() == envelope(4, flags=0, stream=0, opcode=QUERY, body=b"before")
    with pytest.raises(ValueError, match="stream 32768"):
        writer.add(stream=32768, opcode=QUERY, flags=0, body=b"")
    assert writer.take() == b""


@pytest.mark.parametrize("algorithm", ["lz4", "snappy"])
def test_compressed_bodies_that_are_garbage_or_claim_a_wrong_size_are_refused(
    implementation: Implementation, algorithm: str
) -> None:
    """A body that is not compressed correctly raises ProtocolError, also if it claims gigabytes."""
    # The size of the decompressed body comes first: four bytes for lz4, a varint for snappy.
    bad_bodies = {
        "lz4": [b"\xff\xff\xff\xff" + bytes(20), b"\x0f\xff\xff\xff" + bytes(20), b"\x00"],
        "snappy": [
            b"\xff\xff\xff\xff\x0f" + bytes(20),
            b"\xff\xff\xff\x7f" + bytes(20),
            b"\xff" * 8,
        ],
    }
    for body in [*bad_bodies[algorithm], b"", b"garbage that is no block"]:
        _, reader = writer_and_reader(implementation, 4, algorithm)
        with pytest.raises(ProtocolError):
            reader.feed(
                envelope(RESPONSE_V4, flags=COMPRESSED_FLAG, stream=0, opcode=RESULT, body=body)
            )


def test_a_body_that_decompresses_beyond_the_limit_is_refused(
    implementation: Implementation,
) -> None:
    """A small body that decompresses beyond the limit is refused (a "decompression bomb").

    Ten million zero bytes are compressed to a small body.
    """
    # A compressed body consists of its original length and the compressed bytes.
    bomb = struct.pack(">i", 10_000_000) + block.compress(bytes(10_000_000), store_size=False)
    reader = implementation.frame.FrameReader(4, max_body=1_000_000)
    reader.set_compression("lz4")
    with pytest.raises(ProtocolError, match="10000000 bytes, more than the limit"):
        reader.feed(
            envelope(RESPONSE_V4, flags=COMPRESSED_FLAG, stream=0, opcode=RESULT, body=bomb)
        )


def test_an_lz4_body_shorter_than_its_header_claims_is_refused(
    implementation: Implementation,
) -> None:
    """An LZ4 body is refused if its decompressed size differs from the size at its beginning."""
    body = struct.pack(">i", 100) + block.compress(b"x" * 50, store_size=False)
    _, reader = writer_and_reader(implementation, 4, "lz4")
    with pytest.raises(
        ProtocolError, match=r"50 bytes, but its header says 100|cannot be decompressed"
    ):
        reader.feed(
            envelope(RESPONSE_V4, flags=COMPRESSED_FLAG, stream=0, opcode=RESULT, body=body)
        )


def lz4_bodies(random_numbers: random.Random) -> Iterator[bytes]:
    """Yield LZ4 bodies: the decompressed size, then an LZ4 block.

    Most bodies are damaged.
    """
    for _ in range(1000):
        size = random_numbers.choice((1, 4, 11, 12, 13, 40, 300, 3000))
        # Compress random bytes, a repeated string, or a mix of two letters.
        plain = random_numbers.choice(
            (
                random_numbers.randbytes(size),
                random_numbers.randbytes(random_numbers.randrange(1, 20)) * size,
                bytes(random_numbers.choices(b"ab", k=size)),
            )
        )
        data = bytearray(block.compress(plain, store_size=False))
        claimed_size = len(plain)
        # Damage the body up to three times: change a byte, cut off the end, claim another size, or
        # append bytes.
        for _ in range(random_numbers.randrange(4)):
            damage = random_numbers.random()
            if damage < 0.5 and data:
                position = random_numbers.randrange(len(data))
                data[position] = random_numbers.choice((0, 1, 15, 16, 240, 255))
            elif damage < 0.7:
                del data[random_numbers.randrange(len(data) + 1) :]
            elif damage < 0.9:
                claimed_size = max(0, claimed_size + random_numbers.randrange(-3, 4))
            else:
                data += random_numbers.randbytes(random_numbers.randrange(1, 4))
        yield struct.pack(">i", claimed_size) + data


@pytest.mark.parametrize("seed", range(4))
def test_lz4_blocks_are_read_as_the_package_reads_them(
    implementation: Implementation, seed: int
) -> None:
    """The compiled reader decompresses LZ4 blocks to the same bytes or errors as the package `lz4`.

    The compiled reader does not use this package, but its own code.
    """
    decompress = compression.compression("lz4").decompress_body
    good = bad = 0
    for body in lz4_bodies(random.Random(seed)):
        _, reader = writer_and_reader(implementation, 4, "lz4")
        frame = envelope(RESPONSE_V4, flags=COMPRESSED_FLAG, stream=0, opcode=RESULT, body=body)
        try:
            plain = decompress(body, 1 << 20)
        except ProtocolError as error:
            bad += 1
            with pytest.raises(ProtocolError, match=re.escape(str(error))):
                reader.feed(frame)
        else:
            good += 1
            assert reader.feed(frame) == [(0, RESULT, 0, plain, 4)]
    # The comparison is of use only if there were enough valid and enough damaged bodies.
    assert good > 200
    assert bad > 200


def test_the_compression_flag_is_ignored_in_version_5(implementation: Implementation) -> None:
    """In version 5, a message's compression flag is ignored, because segments are compressed."""
    _, reader = writer_and_reader(implementation, version=5, algorithm=None)
    data = by_hand(
        envelope(RESPONSE_V5, flags=COMPRESSED_FLAG, stream=0, opcode=RESULT, body=b"plain"),
        self_contained=True,
    )
    assert reader.feed(data) == [(0, RESULT, COMPRESSED_FLAG, b"plain", 5)]


def test_every_flipped_bit_of_a_segment_is_detected(implementation: Implementation) -> None:
    """Any flipped bit of a segment raises CrcException.

    A segment has a checksum for its header and another for its payload.
    """
    segment = by_hand(
        envelope(RESPONSE_V5, flags=0, stream=0, opcode=RESULT, body=b"body"), self_contained=True
    )
    for bit in range(len(segment) * 8):
        damaged = bytearray(segment)
        damaged[bit // 8] ^= 1 << (bit % 8)
        _, reader = writer_and_reader(implementation, version=5, algorithm=None)
        with pytest.raises(CrcException):
            reader.feed(bytes(damaged))


@pytest.mark.parametrize(
    ("segments", "match"),
    [
        (
            [
                by_hand(
                    envelope(RESPONSE_V5, flags=0, stream=0, opcode=RESULT, body=b"body")[:-1],
                    self_contained=True,
                )
            ],
            "ends in the middle",
        ),
        ([by_hand(b"\x85\x00", self_contained=True)], "ends in the middle"),
        (
            [
                by_hand(
                    envelope(RESPONSE_V5, flags=0, stream=0, opcode=RESULT, body=b"body")[:-1],
                    self_contained=False,
                ),
                by_hand(b"y", self_contained=True),
            ],
            "came in the middle",
        ),
        (
            [by_hand(b"\x85\x00", self_contained=False), by_hand(b"\x00\x00", self_contained=True)],
            "came in the middle",
        ),
        (
            [
                by_hand(
                    envelope(RESPONSE_V4, flags=0, stream=0, opcode=0, body=b""),
                    self_contained=True,
                )
            ],
            "version 4",
        ),
    ],
)
def test_segments_that_contradict_their_envelopes(
    implementation: Implementation, segments: list[bytes], match: str
) -> None:
    """Segments whose boundaries contradict their messages are refused.

    A self-contained segment must contain only complete messages, and must not interrupt a message
    that began in an earlier segment.
    """
    _, reader = writer_and_reader(implementation, version=5, algorithm=None)
    with pytest.raises(ProtocolError, match=match):
        feed_all(reader, segments)


def test_an_envelope_may_be_cut_anywhere_by_segments(implementation: Implementation) -> None:
    """An envelope may be divided between two segments at any position.

    A self-contained segment with the same envelope follows, and must be read, too.
    """
    frame = envelope(RESPONSE_V5, flags=0, stream=3, opcode=RESULT, body=b"0123456789")
    for cut in range(1, len(frame)):
        _, reader = writer_and_reader(implementation, version=5, algorithm=None)
        data = (
            by_hand(frame[:cut], self_contained=False)
            + by_hand(frame[cut:], self_contained=False)
            + by_hand(frame, self_contained=True)
        )
        assert reader.feed(data) == [(3, RESULT, 0, b"0123456789", 5)] * 2


@pytest.mark.parametrize(
    ("compressed", "plain_size"),
    [(b"no block at all", 1000), (block.compress(b"x" * 50, store_size=False), 60), (b"", 5)],
)
def test_a_segment_with_a_damaged_payload_is_refused(
    implementation: Implementation, compressed: bytes, plain_size: int
) -> None:
    """A segment is refused if its payload is not an LZ4 block, or has another size than claimed."""
    _, reader = writer_and_reader(implementation, 5, "lz4")
    with pytest.raises(ProtocolError, match="LZ4"):
        reader.feed(lz4_by_hand(compressed, plain_size, self_contained=True))


def test_snappy_is_not_for_segments(implementation: Implementation) -> None:
    """Segments refuse snappy, because they can only be compressed with LZ4.

    An unknown algorithm ("zip") is always refused.
    """
    for codec_class in (implementation.frame.FrameReader, implementation.frame.FrameWriter):
        codec = codec_class(5)
        codec.set_compression("snappy")
        with pytest.raises(ValueError, match="snappy"):
            codec.enable_segments()
        with pytest.raises(ValueError, match="zip"):
            codec.set_compression("zip")


@pytest.mark.parametrize("size", [-1, 1 << 20])
@pytest.mark.parametrize("use_segments", [False, True])
def test_reporting_more_bytes_than_the_buffer_holds_is_refused(
    implementation: Implementation, size: int, use_segments: bool
) -> None:
    """`buffer_updated` refuses more bytes than the buffer holds.

    Its argument is the number of bytes that the event loop has written to the buffer.
    """
    reader = implementation.frame.FrameReader(5)
    if use_segments:
        reader.enable_segments()
    # There is no buffer yet.
    with pytest.raises(ValueError, match="cannot have been written"):
        reader.buffer_updated(1)
    reader.get_buffer(-1)
    with pytest.raises(ValueError, match="cannot have been written"):
        reader.buffer_updated(size)


def test_values_that_do_not_fit_a_header_queue_no_bytes(implementation: Implementation) -> None:
    """An opcode or flags beyond one byte are refused, and nothing is queued."""
    writer = implementation.frame.FrameWriter(4)
    for opcode, flags in ((256, 0), (-1, 0), (7, 256), (7, -1)):
        with pytest.raises(ValueError, match="8 bits"):
            writer.add(stream=1, opcode=opcode, flags=flags, body=b"")
    # A bytearray is refused, because the caller could change it before it is sent.
    with pytest.raises(TypeError, match="a body is"):
        writer.add(stream=1, opcode=QUERY, flags=0, body=bytearray(b"x"))
    assert writer.pending == 0
    assert writer.take() == b""


def test_requests_can_be_read_as_well(implementation: Implementation) -> None:
    """A reader with requests=True, which is for servers, reads requests and refuses responses."""
    reader = implementation.frame.FrameReader(0, requests=True)
    request = envelope(4, flags=0, stream=5, opcode=QUERY, body=b"query")
    assert reader.feed(request) == [(5, QUERY, 0, b"query", 4)]
    with pytest.raises(ProtocolError):
        reader.feed(envelope(RESPONSE_V4, flags=0, stream=5, opcode=RESULT, body=b""))


@pytest.mark.parametrize(("version", "algorithm"), SETTINGS)
def test_mutated_streams(
    implementation: Implementation, version: int, algorithm: str | None
) -> None:
    """Damaged bytes only raise ProtocolError; the reader neither crashes nor hangs.

    Up to four random bytes are changed. tests/fuzz tries millions of such streams.
    """
    data, _ = stream_of(implementation, version, algorithm, some_messages(version))
    rng = random.Random(version)
    piece_size = 777
    for _stream in range(300):
        damaged = bytearray(data)
        for _byte in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        _, reader = writer_and_reader(implementation, version, algorithm)
        starts = range(0, len(damaged), piece_size)
        try:
            feed_all(reader, [bytes(damaged[start : start + piece_size]) for start in starts])
        except ProtocolError:
            pass


def test_a_message_of_version_0_is_refused_however_it_is_split(
    implementation: Implementation,
) -> None:
    """A reader of version 0 accepts any version of the protocol, but 0 is not a valid version."""
    frame = bytes((0x80, 0, 0, 0, 2, 0, 0, 0, 0))
    for cut in (0, 1, 8):
        reader = implementation.frame.FrameReader(0)
        reader.feed(frame[:cut])
        with pytest.raises(ProtocolError, match="does not speak the native protocol"):
            reader.feed(frame[cut:])


@pytest.mark.parametrize("by_buffers", [False, True])
def test_a_claimed_body_takes_memory_as_it_comes(
    implementation: Implementation, by_buffers: bool
) -> None:
    """A reader's memory grows with the bytes that arrive, not with the length in a header."""
    # Measure in another process, because the peak memory of a process never decreases. The header
    # claims a body of 0x0f000000 bytes (240 MiB), so four readers that allocated it at once would
    # take almost 1 GiB.
    code = f"""if True:
        import resource
        from tests.conftest import Implementation
        readers = [Implementation({implementation.name!r}).frame.FrameReader(4) for _ in range(4)]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for reader in readers:
            reader.set_max_body(1 << 28)
            start = bytes.fromhex("84000001080f00000078")
            if {by_buffers}:
                for step in (start, bytes(100_000)):
                    while step:
                        buffer = reader.get_buffer(-1)
                        size = min(len(buffer), len(step))
                        buffer[:size] = step[:size]
                        step = step[size:]
                        assert reader.buffer_updated(size) == []
            else:
                assert reader.feed(start) == []
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
    """
    process = run_python(code, WITH_TESTS)
    assert process.stdout, process.stderr
    # This limit is in MiB.
    assert int(process.stdout) < 20


@pytest.mark.parametrize("step", [1_000, 70_000, 1 << 20])
def test_large_bodies_are_read_in_steps(implementation: Implementation, step: int) -> None:
    """Bodies larger than the reader's buffer of 65,536 bytes are read into buffers that grow.

    :param step: the number of bytes that arrive at a time.
    """
    messages = some_messages(4, (65_536, 65_537, 131_072, 300_000, 1_000_003, 5))
    data, reader = stream_of(implementation, 4, None, messages)
    assert through_buffers(reader, data, step) == messages
    messages_read: Messages = []
    for offset in range(0, len(data), step):
        messages_read += reader.feed(data[offset : offset + step])
    assert messages_read == messages


def test_a_compressor_may_use_the_writer(
    implementation: Implementation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compressor may add a message to the frame writer that calls the compressor.

    No bytes are lost, and no freed memory is read.
    """
    lz4 = compression.compression("lz4")
    assert lz4.compress_segment is not None
    late_body = bytes(200_000)
    is_first_call = True

    def compress(data: bytes) -> bytes:
        nonlocal is_first_call
        # Add the second message while the writer compresses the first message.
        if is_first_call:
            is_first_call = False
            writer.add(stream=2, opcode=RESULT, flags=0, body=late_body)
        assert lz4.compress_segment is not None
        return lz4.compress_segment(data)

    monkeypatch.setitem(compression._instances, "lz4", lz4._replace(compress_segment=compress))
    writer, reader = writer_and_reader(implementation, 5, "lz4")
    first_body = bytes(range(256)) * 200
    writer.add(stream=1, opcode=RESULT, flags=0, body=first_body)
    messages_read = reader.feed(writer.take())
    # The first `take` may have left the second message in the writer.
    messages_read += reader.feed(writer.take())
    assert [received_message[:4] for received_message in messages_read] == [
        (1, RESULT, 0, first_body),
        (2, RESULT, 0, late_body),
    ]
