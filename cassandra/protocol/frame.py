"""Frames: `FrameReader` splits a byte stream into envelopes, `FrameWriter` joins envelopes.

An envelope is a header and a body, that is, one message (native_protocol_v5.spec, section 2).

Theory of operation. `FrameReader` has two layers. The upper layer, `_read_envelopes`, accepts any
piece of the stream and consumes all of it. It returns the complete envelopes, and keeps an
incomplete header or body for the next call. With protocol versions 3 and 4, and with version 5
until the end of the handshake, it gets the bytes as they come from the network. After that, version
5 uses segments. The lower layer, `_read_segments`, splits the stream into segments, checks both
checksums of each segment, decompresses the payload and passes it to the upper layer. An incomplete
segment stays in the receive buffer (`_block`) until the rest arrives.

Each body is copied once: from the receive buffer to the bytes object that `FrameReader` returns.
But if a large body is incomplete, `get_buffer` returns the free part of that body's memory, so
the transport writes the rest of the body where it belongs.

The reader checks each length before it allocates memory for it. Every error is final: after an
error we do not know where the next envelope begins, so the reader raises the same error for all
later bytes. The compiled version of this module is ``cassandra._accel.frame``.
"""

from __future__ import annotations

from cassandra.errors import ProtocolError
from cassandra.protocol.compression import WORTH_COMPRESSING, BodyCompression, compression
from cassandra.protocol.extras import standing_flags
from cassandra.protocol.opcodes import (
    COMPRESSED_FLAG,
    ERROR,
    HEADER_DIRECTION_TO_CLIENT,
    MAX_BODY,
    OPCODE_NAMES,
    OPTIONS,
    STARTUP,
)
from cassandra.protocol.primitives import envelope_header
from cassandra.protocol.segment import (
    HEADER_SIZE,
    LZ4_HEADER_SIZE,
    MAX_PAYLOAD,
    TRAILER_SIZE,
    check_payload,
    decode_header,
    encode_envelopes,
)

# (stream, opcode, flags, body, protocol version)
Envelope = tuple[int, int, int, bytes, int]

ENVELOPE_HEADER_SIZE = 9
BLOCK_SIZE = 64 * 1024  # the usual size of the receive buffer in bytes
# The size of a large block in bytes: enough for a segment of the maximum size, and for a block of
# bytes that is received after it.
_LARGE_BLOCK_SIZE = MAX_PAYLOAD + LZ4_HEADER_SIZE + TRAILER_SIZE + BLOCK_SIZE
# The transport writes directly to the memory of a body if at least this number of the body's bytes
# is missing. If fewer are missing, copying them is cheaper than an extra read.
_IN_PLACE_FROM = 32 * 1024

_READABLE_VERSIONS = (3, 4, 5, 6)  # the protocol versions that the driver can read
_unpack_header = envelope_header.unpack_from
_pack_header = envelope_header.pack


class FrameReader:
    """Splits the bytes of one connection, in pieces of any size, into complete envelopes.

    All methods that accept bytes raise `ProtocolError` for bad data (`CrcException`, a subclass,
    for a wrong checksum). After the first error, they raise the same error for each call.

    :param version: the protocol version of the envelopes; 0 accepts every version that the driver
        can read.
    :param max_body: the maximum size of a body in bytes, before and after decompression.
    :param requests: True reads requests, as a server does; False reads responses.
    """

    __slots__ = (
        "_block", "_body", "_body_filled", "_body_size", "_compression", "_direction", "_error",
        "_max_body", "_open_header", "_partial_header", "_pending_end", "_pending_start",
        "_segment_size", "_segmented", "_transport_fills_body", "_uses_lz4_segments", "_version",
    )  # fmt: skip

    def __init__(self, version: int, max_body: int = MAX_BODY, *, requests: bool = False) -> None:
        self._version = version
        self._max_body = max_body
        self._direction = 0 if requests else HEADER_DIRECTION_TO_CLIENT
        self._compression: BodyCompression | None = None
        self._segmented = False  # True after `enable_segments`
        self._uses_lz4_segments = False
        self._error: ProtocolError | None = None  # the first error, which every later call raises
        # State of the upper layer: either `_partial_header` has the first bytes of an incomplete
        # header, or `_body` is an incomplete body, of which `_body_filled` bytes have arrived.
        self._partial_header = b""
        self._body: bytearray | None = None
        self._body_size = 0  # the size in the header; `_body` may still be shorter
        self._body_filled = 0
        self._open_header = (0, 0, 0, 0)  # stream, opcode, flags, version of `_body`
        # State of the lower layer: `_block[_pending_start:_pending_end]` are the bytes that were
        # received but not consumed yet. They are the beginning of a segment. `_segment_size` is the
        # size of the whole segment in bytes, or 0 if it is not known yet.
        self._block: bytearray | None = None
        self._pending_start = 0
        self._pending_end = 0
        self._segment_size = 0
        # True if `get_buffer` has returned memory of `_body`.
        self._transport_fills_body = False

    def set_compression(self, algorithm: str | None) -> None:
        """Expect bodies (version 3 and 4) or segments (5) to be compressed with "lz4" or "snappy".

        :raises DependencyException: if the package is not installed.
        """
        self._compression = compression(algorithm) if algorithm is not None else None
        if self._segmented:
            self._use_segment_compression()

    def set_max_body(self, max_body: int) -> None:
        """Set the maximum size of a body, in bytes, for all headers that are read from now on."""
        self._max_body = max_body

    def enable_segments(self) -> None:
        """Read the stream as segments from the next byte on (native_protocol_v5.spec, 2.3.1).

        If compression is set, it applies to segments from now on, and no longer to bodies.
        """
        self._segmented = True
        self._use_segment_compression()

    def _use_segment_compression(self) -> None:
        """Use the chosen compression for segments; raise ValueError for snappy.

        The protocol allows snappy for bodies only.
        """
        if self._compression is not None and self._compression.decompress_segment is None:
            raise ValueError(
                f"segments cannot be compressed with {self._compression.name}; "
                "protocol 5 has lz4 only"
            )
        self._uses_lz4_segments = self._compression is not None
        # The format of segment headers may have changed, so the size must be read again.
        self._segment_size = 0

    def feed(self, data: bytes | bytearray | memoryview) -> list[Envelope]:
        """Read the next bytes of the stream; return the envelopes that they complete.

        :returns: a tuple (stream, opcode, flags, body, version) for each envelope.
        """
        out: list[Envelope] = []
        view = memoryview(data)
        try:
            self._raise_if_dead()
            # A transport may have got memory for the rest of a body from `get_buffer`. This memory
            # is no longer valid, because `data` may complete the body.
            self._transport_fills_body = False
            if not self._segmented:
                self._read_envelopes(view, out)
            elif self._pending_start == self._pending_end:
                # No bytes are left over from earlier calls. So read the segments in `data` without
                # copying them, and copy only an incomplete segment at the end.
                self._keep_pending(view[self._read_segments(view, out) :])
            else:
                self._keep_pending(view)
                self._read_pending_segments(out)
        except ProtocolError as error:
            # We do not know where the next envelope begins, so all later calls must fail, too.
            self._error = error
            raise
        return out

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return memory into which the transport can write received bytes.

        After the transport has written, it must call `buffer_updated`. Both are methods of
        `asyncio.BufferedProtocol`; `sizehint` is not used.
        """
        body = self._body
        if not self._segmented:
            # Let the transport write the rest of a large body directly to the body's memory.
            if body is not None and self._body_size - self._body_filled >= _IN_PLACE_FROM:
                self._transport_fills_body = True
                return memoryview(self._reserve_body(_IN_PLACE_FROM))[self._body_filled :]
            if self._block is None:
                self._block = bytearray(BLOCK_SIZE)
            return memoryview(self._block)
        return memoryview(self._reserve(1))[self._pending_end :]

    def buffer_updated(self, nbytes: int) -> list[Envelope]:
        """Read the `nbytes` bytes that the transport has written to the memory of `get_buffer`.

        :returns: the envelopes that these bytes complete, as from `feed`.
        """
        out: list[Envelope] = []
        try:
            self._raise_if_dead()
            # Refuse a wrong count: with a count that is too large, bytes of an earlier read would
            # be taken for new bytes.
            if not 0 <= nbytes <= self._offered_size():
                raise ValueError(f"{nbytes} bytes cannot have been written to the buffer")
            # What the bytes are depends on the memory that `get_buffer` has returned: the rest of a
            # body, a piece of a stream of envelopes, or a piece of a stream of segments.
            if self._transport_fills_body:
                self._transport_fills_body = False
                self._body_filled += nbytes
                self._finish_body_if_complete(out)
            elif self._block is not None and not self._segmented:
                self._read_envelopes(memoryview(self._block)[:nbytes], out)
            else:
                self._pending_end += nbytes
                self._read_pending_segments(out)
        except ProtocolError as error:
            self._error = error
            raise
        return out

    def _offered_size(self) -> int:
        """Return the size in bytes of the memory that the last `get_buffer` returned."""
        if self._transport_fills_body and self._body is not None:
            return len(self._body) - self._body_filled
        return len(self._block) - self._pending_end if self._block is not None else 0

    def _raise_if_dead(self) -> None:
        if self._error is not None:
            raise self._error

    # -- segments ----------------------------------------------------------------------------------

    def _reserve(self, size: int) -> bytearray:
        """Return `_block`, with space for `size` more bytes and for the whole pending segment."""
        block = self._block
        if block is None:
            block = self._block = bytearray(BLOCK_SIZE)
        start, end = self._pending_start, self._pending_end
        pending = end - start
        if end + size <= len(block) and start + self._segment_size <= len(block):
            return block
        # The bytes of a segment must be contiguous, because its checksum is computed over one view.
        # So move the pending bytes to the start of the block, or to a larger block.
        needed = max(pending + size, self._segment_size)
        if needed <= len(block):
            block[:pending] = block[start:end]
        else:
            larger = bytearray(max(needed, _LARGE_BLOCK_SIZE))
            larger[:pending] = memoryview(block)[start:end]
            block = self._block = larger
        self._pending_start, self._pending_end = 0, pending
        return block

    def _keep_pending(self, view: memoryview) -> None:
        """Append the bytes of an incomplete segment to `_block`."""
        if view:
            block = self._reserve(len(view))
            block[self._pending_end : self._pending_end + len(view)] = view
            self._pending_end += len(view)

    def _read_pending_segments(self, out: list[Envelope]) -> None:
        """Read the complete segments in `_block`, if there are any."""
        block = self._block
        assert block is not None
        if self._pending_end - self._pending_start < self._segment_size:
            return
        self._pending_start += self._read_segments(
            memoryview(block)[self._pending_start : self._pending_end], out
        )
        if self._pending_start == self._pending_end:
            self._pending_start = self._pending_end = 0
            # Free a large block (about 200 KiB), so that the connection does not keep it while it
            # is idle.
            if len(block) > BLOCK_SIZE:
                self._block = None

    def _read_segments(self, view: memoryview, out: list[Envelope]) -> int:
        """Pass the payloads of all complete segments in `view` to the upper layer.

        :returns: the size of these segments in bytes. If an incomplete segment follows, its size is
            stored in `_segment_size`.
        """
        lz4 = self._uses_lz4_segments
        header_size = LZ4_HEADER_SIZE if lz4 else HEADER_SIZE
        pos, end = 0, len(view)
        self._segment_size = 0
        while end - pos >= header_size:
            # `plain_size` is the size after decompression; 0 if the segment is not compressed.
            size, plain_size, self_contained = decode_header(view, pos, lz4)
            stop = pos + header_size + size
            if stop + TRAILER_SIZE > end:
                self._segment_size = stop + TRAILER_SIZE - pos
                break
            payload = view[pos + header_size : stop]
            check_payload(payload, int.from_bytes(view[stop : stop + TRAILER_SIZE], "little"))
            if plain_size:
                payload = self._inflate(payload, plain_size)
            # A self-contained segment consists of whole envelopes. If an envelope begins before the
            # segment or ends after it, client and server disagree about the stream.
            if self_contained and (self._body is not None or self._partial_header):
                raise ProtocolError("a self-contained segment came in the middle of an envelope")
            self._read_envelopes(payload, out)
            if self_contained and (self._body is not None or self._partial_header):
                raise ProtocolError("a self-contained segment ends in the middle of an envelope")
            pos = stop + TRAILER_SIZE
        return pos

    def _inflate(self, payload: memoryview, plain_size: int) -> memoryview:
        algorithm = self._compression
        assert algorithm is not None
        assert algorithm.decompress_segment is not None
        return memoryview(algorithm.decompress_segment(payload, plain_size))

    # -- envelopes ---------------------------------------------------------------------------------

    def _read_envelopes(self, view: memoryview, out: list[Envelope]) -> None:
        """Read all of `view`: append complete envelopes to `out`, and keep an incomplete one."""
        if self._body is not None or self._partial_header:
            view = self._continue_envelope(view, out)
        pos, end = 0, len(view)
        while end - pos >= ENVELOPE_HEADER_SIZE:
            first, flags, stream, opcode, length = _unpack_header(view, pos)
            version = first & 0x7F  # the highest bit of the first byte is the direction
            if (
                # Almost every header passes this quick check. `_check_header` decides about the
                # other headers, and its error says what is wrong. `not version` refuses version 0,
                # which is invalid: otherwise a reader that accepts any version (its `_version` is
                # 0) would accept it.
                not version
                or version != self._version
                or first != version | self._direction
                or not 0 <= length <= self._max_body
            ):
                self._check_header(bytes(view[pos : pos + ENVELOPE_HEADER_SIZE]))
            start = pos + ENVELOPE_HEADER_SIZE
            pos = start + length
            if pos > end:
                self._open_header = (stream, opcode, flags, version)
                self._start_body(length)
                self._append_to_body(view[start:])
                return
            body = bytes(view[start:pos])
            # From version 5 on, the flag has no meaning, because segments are compressed instead.
            if flags & COMPRESSED_FLAG and version < 5:
                body = self._decompress(body)
                flags &= ~COMPRESSED_FLAG
            out.append((stream, opcode, flags, body, version))
        if pos < end:
            self._partial_header = bytes(view[pos:])

    def _continue_envelope(self, view: memoryview, out: list[Envelope]) -> memoryview:
        """Complete the header or body that an earlier call has begun; return the rest of `view`."""
        # First, complete the header, and start the body.
        if self._partial_header:
            missing = ENVELOPE_HEADER_SIZE - len(self._partial_header)
            self._partial_header += view[:missing]
            view = view[missing:]
            if len(self._partial_header) < ENVELOPE_HEADER_SIZE:
                return view
            head, self._partial_header = self._partial_header, b""
            first, flags, stream, opcode, length = _unpack_header(head)
            self._check_header(head)
            # The highest bit of the first byte is the direction, the other bits are the version.
            self._open_header = (stream, opcode, flags, first & 0x7F)
            self._start_body(length)
        # Then add the bytes that belong to this body. The rest belongs to the next envelope.
        size = min(self._body_size - self._body_filled, len(view))
        self._append_to_body(view[:size])
        self._finish_body_if_complete(out)
        return view[size:]

    def _start_body(self, length: int) -> None:
        """Start a body of `length` bytes.

        The peer may claim a false length. So allocate at most one block now, and more memory only
        as bytes arrive.
        """
        self._body = bytearray(min(length, BLOCK_SIZE))
        self._body_size = length
        self._body_filled = 0

    def _append_to_body(self, view: memoryview) -> None:
        size = len(view)
        self._reserve_body(size)[self._body_filled : self._body_filled + size] = view
        self._body_filled += size

    def _reserve_body(self, size: int) -> bytearray:
        """Return `_body`; enlarge it first if it has no space for `size` more bytes."""
        body = self._body
        assert body is not None
        if len(body) - self._body_filled < size:
            needed = max(self._body_filled + size, 2 * len(body))
            # Allocate a new object: a bytearray cannot grow while the transport has a view of it.
            larger = bytearray(min(needed, self._body_size))
            larger[: self._body_filled] = memoryview(body)[: self._body_filled]
            body = self._body = larger
        return body

    def _finish_body_if_complete(self, out: list[Envelope]) -> None:
        """Append the envelope of `_body` to `out` if the body is complete."""
        if self._body is None or self._body_filled < self._body_size:
            return
        body = bytes(self._body)
        self._body = None
        stream, opcode, flags, version = self._open_header
        # From version 5 on, the flag has no meaning, because segments are compressed instead.
        if flags & COMPRESSED_FLAG and version < 5:
            body = self._decompress(body)
            flags &= ~COMPRESSED_FLAG
        out.append((stream, opcode, flags, body, version))

    def _decompress(self, body: bytes) -> bytes:
        """Return the decompressed body; raise ProtocolError if no compression was agreed on."""
        if self._compression is None:
            raise ProtocolError(
                "a compressed body came over a connection that has agreed on no compression"
            )
        return self._compression.decompress_body(body, self._max_body)

    def _check_header(self, head: bytes) -> None:
        """Raise `ProtocolError` if an envelope's header is not valid on this connection."""
        first, _flags, _stream, opcode, length = _unpack_header(head)
        version = first & 0x7F  # the highest bit of the first byte is the direction
        if (
            first & HEADER_DIRECTION_TO_CLIENT != self._direction
            or version not in _READABLE_VERSIONS
        ):
            raise ProtocolError(
                "the peer does not speak the native protocol, "
                f"or not a version that is known here: its message begins {head!r}"
            )
        # Another version is allowed in one case: a server that does not speak the version of our
        # STARTUP responds with an ERROR in a version that it speaks.
        if self._version not in (0, version) and (opcode != ERROR or self._segmented):
            raise ProtocolError(
                f"a message of protocol version {version} came over a connection of version "
                f"{self._version} "
                f"({OPCODE_NAMES.get(opcode, opcode)})"
            )
        if not 0 <= length <= self._max_body:
            raise ProtocolError(
                f"a message claims a body of {length} bytes; the limit is {self._max_body}"
            )


class FrameWriter:
    """Queues envelopes, and joins them into one bytes object for each write to the network.

    `pending` is the number of queued bytes.

    :param version: the protocol version of the envelopes. Requests of a beta version get the flag
        USE_BETA, which servers require.
    :param max_body: the maximum size of a body in bytes.
    :param responses: True writes responses, as a server does; False writes requests.
    """

    __slots__ = (
        "_compression",
        "_direction",
        "_flags_of_version",
        "_max_body",
        "_parts",
        "_segmented",
        "_unsegmented_parts",
        "_version",
        "pending",
    )  # fmt: skip

    pending: int

    def __init__(self, version: int, max_body: int = MAX_BODY, *, responses: bool = False) -> None:
        self._version = version
        self._direction = HEADER_DIRECTION_TO_CLIENT if responses else 0
        self._flags_of_version = 0 if responses else standing_flags(version)
        self._max_body = max_body
        self._compression: BodyCompression | None = None
        self._segmented = False  # True after `enable_segments`
        self._parts: list[bytes] = []  # the queued envelopes
        self._unsegmented_parts: list[
            bytes
        ] = []  # queued before `enable_segments`, so not put into segments
        self.pending = 0

    def set_compression(self, algorithm: str | None) -> None:
        """Compress bodies (version 3 and 4) or segments (5) with "lz4" or "snappy".

        :raises DependencyException: if the package is not installed.
        """
        self._compression = compression(algorithm) if algorithm is not None else None
        if self._segmented:
            self._check_compression()

    def enable_segments(self) -> None:
        """Put all envelopes that are added from now on into segments."""
        self._segmented = True
        self._check_compression()
        # Envelopes that are already queued are sent before the first segment, unchanged.
        self._unsegmented_parts.extend(self._parts)
        self._parts = []

    def _check_compression(self) -> None:
        """Raise ValueError if the connection's compression cannot be used for segments."""
        if self._compression is not None and self._compression.compress_segment is None:
            raise ValueError(
                f"segments cannot be compressed with {self._compression.name}; "
                "protocol 5 has lz4 only"
            )

    def add(self, stream: int, opcode: int, flags: int, body: bytes) -> None:
        """Queue one envelope.

        :raises ValueError: if the body is larger than the limit, or if stream, opcode or flags do
            not fit their fields. Then the envelope is not queued.
        """
        if not isinstance(body, bytes):
            raise TypeError(f"a body is {body!r} ({type(body).__name__}); it has to be bytes")
        size = len(body)
        if size > self._max_body:
            raise ValueError(
                f"the body of a {OPCODE_NAMES.get(opcode, opcode)} message has {size} bytes; "
                f"the limit is {self._max_body}"
            )
        if not -0x8000 <= stream <= 0x7FFF:
            raise ValueError(f"stream {stream} is not a signed number of 16 bits")
        if not (0 <= opcode <= 0xFF and 0 <= flags <= 0xFF):
            raise ValueError(f"opcode {opcode} and flags {flags} are not numbers of 8 bits")
        # With a beta version, servers require USE_BETA in every envelope. Set the flag here, so
        # that no caller can forget it.
        flags |= self._flags_of_version
        if self._segmented:
            # Append header and body as one item, because `encode_envelopes` packs whole items into
            # segments.
            header = _pack_header(self._version | self._direction, flags, stream, opcode, size)
            self._parts.append(header + body)
        else:
            algorithm = self._compression
            # STARTUP must not be compressed (native_protocol_v5.spec, section 2.3.2), because it
            # sets up the compression. OPTIONS must not be compressed either: the server may get it
            # before STARTUP.
            if (
                algorithm is not None
                and size >= WORTH_COMPRESSING
                and opcode not in (STARTUP, OPTIONS)
                and self._version < 5
            ):
                compressed = algorithm.compress_body(body)
                # If compression does not make the body smaller, send it uncompressed. The flag in
                # each envelope says whether the body is compressed.
                if len(compressed) < size:
                    body, size, flags = compressed, len(compressed), flags | COMPRESSED_FLAG
            self._parts.append(
                _pack_header(self._version | self._direction, flags, stream, opcode, size)
            )
            self._parts.append(body)
        self.pending += ENVELOPE_HEADER_SIZE + size

    def take(self) -> bytes:
        """Return all queued envelopes as bytes for the network, and empty the queue.

        :returns: b"" if no envelope was added since the last call.
        """
        parts, self._parts = self._parts, []
        self.pending = 0
        if not self._segmented:
            return b"".join(parts)
        segments = encode_envelopes(parts, self._compression)
        # Envelopes that were queued before `enable_segments` go first, and not in segments.
        if self._unsegmented_parts:
            segments = b"".join([*self._unsegmented_parts, segments])
            self._unsegmented_parts = []
        return segments
