"""The frames that protocol version 5 puts around envelopes (native_protocol_v5.spec, section 2).

The checksums are computed here and not by the driver's code, so that tests find errors in the
driver's code.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from cassandra.testing.wire import WireError

try:
    import lz4.block as lz4
except ImportError:  # pragma: no cover - nodes then do not offer compression
    lz4 = None

HAVE_LZ4 = lz4 is not None
MAX_PAYLOAD = (1 << 17) - 1  # bytes
# The parameters of the checksums of headers (CRC24) and payloads (CRC32), from section 2.
_CRC24_START, _CRC24_POLYNOMIAL = 0x875060, 0x1974F0B
_CRC32_START = zlib.crc32(b"\xfa\x2d\x55\xca")


def crc24(data: bytes) -> int:
    """Return the checksum of a frame's header.

    In the frame, the checksum is in little-endian order.
    """
    crc = _CRC24_START
    # The checksum is computed bit by bit on purpose. The driver's implementation uses a table, so
    # that both implementations are independent.
    for byte in data:
        crc ^= byte << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= _CRC24_POLYNOMIAL
    return crc


def lz4_compress(data: bytes) -> bytes:
    """Return an LZ4 block without a length prefix."""
    compressed: bytes = lz4.compress(data, store_size=False)
    return compressed


def lz4_decompress(data: bytes, size: int) -> bytes:
    """Decompress an LZ4 block; raise WireError if the result does not have `size` bytes."""
    try:
        plain: bytes = lz4.decompress(data, uncompressed_size=size)
    except lz4.LZ4BlockError as error:
        raise WireError(f"{len(data)} bytes are not an LZ4 block: {error}") from error
    if len(plain) != size:
        raise WireError(f"an LZ4 block has {len(plain)} bytes, but {size} were announced")
    return plain


def encode_segment(payload: bytes, self_contained: bool, compressed: bool) -> bytes:
    """Return one frame around `payload` (sections 2.1 and 2.2).

    :param payload: at most `MAX_PAYLOAD` bytes.
    :param self_contained: True if the payload consists of whole envelopes.
    :param compressed: True if the connection uses LZ4.
    """
    if compressed:
        block = lz4_compress(payload)
        size = len(payload)
        if len(block) >= size:
            # The uncompressed length 0 means that the payload is not compressed.
            block, size = payload, 0
        # The header has two lengths of 17 bits (compressed, then uncompressed) and the flag
        # "self-contained", in little-endian order.
        fields = (len(block) | size << 17 | self_contained << 34).to_bytes(5, "little")
    else:
        block = payload
        fields = (len(payload) | self_contained << 17).to_bytes(3, "little")
    trailer = zlib.crc32(block, _CRC32_START).to_bytes(4, "little")
    return fields + crc24(fields).to_bytes(3, "little") + block + trailer


def pack(envelopes: Sequence[bytes], compressed: bool) -> bytes:
    """Return frames around `envelopes`.

    Small envelopes share a frame. A large envelope is split into several frames, which are not
    self-contained.
    """
    frames: list[bytes] = []
    shared_envelopes: list[bytes] = []
    shared_size = 0
    for envelope in envelopes:
        # Complete the shared frame if it has no space for this envelope.
        if shared_size + len(envelope) > MAX_PAYLOAD and shared_envelopes:
            frames.append(
                encode_segment(
                    b"".join(shared_envelopes), self_contained=True, compressed=compressed
                )
            )
            shared_envelopes, shared_size = [], 0
        # Split an envelope that is too large for one frame.
        if len(envelope) > MAX_PAYLOAD:
            frames += [
                encode_segment(
                    envelope[start : start + MAX_PAYLOAD],
                    self_contained=False,
                    compressed=compressed,
                )
                for start in range(0, len(envelope), MAX_PAYLOAD)
            ]
        else:
            shared_envelopes.append(envelope)
            shared_size += len(envelope)
    # Complete the last shared frame.
    if shared_envelopes:
        frames.append(
            encode_segment(b"".join(shared_envelopes), self_contained=True, compressed=compressed)
        )
    return b"".join(frames)


class SegmentReader:
    """Extracts the payloads of frames from received bytes."""

    __slots__ = ("_buffer", "_compressed", "_header_length")

    def __init__(self, compressed: bool) -> None:
        self._compressed = compressed
        self._header_length = 8 if compressed else 6  # 5 or 3 bytes of fields, 3 bytes of CRC24
        self._buffer = b""  # the bytes of a frame that is not complete yet

    def feed(self, data: bytes) -> bytes:
        """Add received bytes; return the payloads of all frames that are now complete.

        :raises WireError: for a wrong checksum or length.
        """
        # Copying the buffer each time is slow for large frames, but tests send small requests.
        buffer = self._buffer + data if self._buffer else data
        payloads: list[bytes] = []
        position, end, header_length = 0, len(buffer), self._header_length
        while end - position >= header_length:
            header = buffer[position : position + header_length]
            length, uncompressed_size = self._lengths(header)
            start = position + header_length
            if end - start < length + 4:  # the CRC32 follows the payload
                break
            block = buffer[start : start + length]
            position = start + length + 4
            if zlib.crc32(block, _CRC32_START) != int.from_bytes(
                buffer[start + length : position], "little"
            ):
                raise WireError("the CRC32 of a frame's payload does not match")
            payloads.append(
                lz4_decompress(block, uncompressed_size) if uncompressed_size else block
            )
        self._buffer = buffer[position:]
        return payloads[0] if len(payloads) == 1 else b"".join(payloads)

    def _lengths(self, header: bytes) -> tuple[int, int]:
        """Return (length on the wire, length after decompression).

        The second length is 0 without LZ4.
        """
        fields, checksum = header[:-3], int.from_bytes(header[-3:], "little")
        if crc24(fields) != checksum:
            raise WireError(f"the CRC24 of a frame's header does not match: {header.hex()}")
        number = int.from_bytes(fields, "little")
        length = number & MAX_PAYLOAD  # 17 bits
        # Only frames on a compressed connection have the length after decompression.
        uncompressed_length = number >> 17 & MAX_PAYLOAD if self._compressed else 0
        return length, uncompressed_length
