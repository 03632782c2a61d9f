"""Frames: cuts a byte stream into envelopes, and joins envelopes into bytes.

See native_protocol_v5.spec, section 2. Theory of operation. `FrameReader` has two layers. The upper
one, `_envelopes`, takes any run of bytes and consumes all of it: complete envelopes go out, and an
incomplete header or body is kept. With protocol 3 and 4 (and 5 until the handshake is done) the
bytes from the network go straight there. With segments, the lower layer `_segments` first cuts the
stream into segments, checks both checksums, inflates, and hands each payload up. An incomplete
segment stays in the block that received it. A body is copied once, from the block into the bytes
object that is handed on. A large body that has begun is received in place: `get_buffer` offers the
room that is left in it.

Lengths are checked before memory is reserved for them. Every error is final: the stream has lost
its place, so the reader raises the same error again for all later bytes. The compiled twin is
``cassandra._accel.frame``.
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

Envelope = tuple[int, int, int, bytes, int]

ENVELOPE_HEADER_SIZE = 9
BLOCK_SIZE = 64 * 1024
# Room for a segment of the largest size, behind the bytes that were received with its head.
_LARGE_BLOCK_SIZE = MAX_PAYLOAD + LZ4_HEADER_SIZE + TRAILER_SIZE + BLOCK_SIZE
# The rest of a body is received in place from this size on; below it, one more copy is
# cheaper than one more read.
_IN_PLACE_FROM = 32 * 1024

_READABLE_VERSIONS = (3, 4, 5, 6)
_unpack = envelope_header.unpack_from
_pack = envelope_header.pack


class FrameReader:
    """Takes the bytes of one connection, in pieces of any size, and returns complete envelopes.

    All methods that take bytes raise `ProtocolError` (`CrcException` for a checksum), and go on
    raising it.

    :param version: version of the envelopes to come; 0 accepts every version that the driver can
        read.
    :param max_body: the largest body in bytes, compressed or not.
    :param requests: read requests, as a server does.
    """

    __slots__ = (
        "_block",
        "_body",
        "_compression",
        "_direction",
        "_end",
        "_error",
        "_filled",
        "_head",
        "_in_place",
        "_length",
        "_lz4",
        "_max_body",
        "_need",
        "_opened",
        "_segmented",
        "_start",
        "_version",
    )

    def __init__(self, version: int, max_body: int = MAX_BODY, *, requests: bool = False) -> None:
        self._version = version
        self._max_body = max_body
        self._direction = 0 if requests else HEADER_DIRECTION_TO_CLIENT
        self._compression: BodyCompression | None = None
        self._segmented = False
        self._lz4 = False
        self._error: ProtocolError | None = None
        # The upper layer: a header of which less than 9 bytes are there, or a body with `_filled`
        # bytes of it.
        self._head = b""
        self._body: bytearray | None = None
        self._length = 0  # of the whole body; `_body` grows with what has come
        self._filled = 0
        self._opened = (0, 0, 0, 0)  # stream, opcode, flags, version of `_body`
        # The lower layer: bytes that are received and not consumed lie in _block[_start:_end]; the
        # segment there has `_need` bytes.
        self._block: bytearray | None = None
        self._start = 0
        self._end = 0
        self._need = 0
        self._in_place = False

    def set_compression(self, algorithm: str | None) -> None:
        """Expect bodies (version 3 and 4) or segments (5) compressed with "lz4" or "snappy".

        :raises DependencyException: if the package is not installed.
        """
        self._compression = compression(algorithm) if algorithm is not None else None
        if self._segmented:
            self._use_segment_compression()

    def set_max_body(self, max_body: int) -> None:
        """Refuse larger bodies, in bytes, from the next header on."""
        self._max_body = max_body

    def enable_segments(self) -> None:
        """Read the stream as segments from the next byte on (section 2.3.1)."""
        # From here on the bytes are segments: compression moves from bodies to whole segments.
        self._segmented = True
        self._use_segment_compression()

    def _use_segment_compression(self) -> None:
        if self._compression is not None and self._compression.decompress_segment is None:
            raise ValueError(
                f"segments cannot be compressed with {self._compression.name}; "
                "protocol 5 has lz4 only"
            )
        self._lz4 = self._compression is not None
        self._need = 0

    def feed(self, data: bytes | bytearray | memoryview) -> list[Envelope]:
        """Take `data` and return the envelopes that it completes.

        :returns: (stream, opcode, flags, body, version) each.
        """
        out: list[Envelope] = []
        view = memoryview(data)
        try:
            self._raise_if_dead()
            # The memory that `get_buffer` offered is void now: `data` may complete the body it
            # belongs to.
            self._in_place = False
            if not self._segmented:
                self._envelopes(view, out)
            elif self._start == self._end:
                # Nothing is waiting: segments are read from `data` itself, and only the rest of an
                # incomplete one is copied.
                self._keep(view[self._segments(view, out) :])
            else:
                self._keep(view)
                self._take_segments(out)
        except ProtocolError as error:
            # The place in the stream is lost: no later byte can be trusted.
            self._error = error
            raise
        return out

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the memory that the transport may write to; then call `buffer_updated`."""
        body = self._body
        if not self._segmented:
            # The transport writes the rest of a large body where it belongs: no copy at all.
            if body is not None and self._length - self._filled >= _IN_PLACE_FROM:
                self._in_place = True
                return memoryview(self._reserve_body(_IN_PLACE_FROM))[self._filled :]
            if self._block is None:
                self._block = bytearray(BLOCK_SIZE)
            return memoryview(self._block)
        return memoryview(self._reserve(1))[self._end :]

    def buffer_updated(self, nbytes: int) -> list[Envelope]:
        """Take `nbytes` bytes in the memory of `get_buffer`; returns the complete envelopes."""
        out: list[Envelope] = []
        try:
            self._raise_if_dead()
            # A wrong count would hand on bytes of an earlier read as if the peer had sent them.
            if not 0 <= nbytes <= self._offered():
                raise ValueError(f"{nbytes} bytes cannot have been written to the buffer")
            if self._in_place:
                self._in_place = False
                self._filled += nbytes
                self._finish_body(out)
            elif self._block is not None and not self._segmented:
                self._envelopes(memoryview(self._block)[:nbytes], out)
            else:
                self._end += nbytes
                self._take_segments(out)
        except ProtocolError as error:
            self._error = error
            raise
        return out

    def _offered(self) -> int:
        """Return the room in the memory that `get_buffer` returned last, in bytes."""
        if self._in_place and self._body is not None:
            return len(self._body) - self._filled
        return len(self._block) - self._end if self._block is not None else 0

    def _raise_if_dead(self) -> None:
        if self._error is not None:
            raise self._error

    # -- segments ----------------------------------------------------------------------------------

    def _reserve(self, size: int) -> bytearray:
        """Return the block with room for `size` more bytes and for the segment that is begun."""
        block = self._block
        if block is None:
            block = self._block = bytearray(BLOCK_SIZE)
        pending = self._end - self._start
        if self._end + size <= len(block) and self._start + self._need <= len(block):
            return block
        # The whole segment has to lie in one piece, because its checksum is taken over one view.
        needed = max(pending + size, self._need)
        if needed <= len(block):
            block[:pending] = block[self._start : self._end]
        else:
            larger = bytearray(max(needed, _LARGE_BLOCK_SIZE))
            larger[:pending] = memoryview(block)[self._start : self._end]
            block = self._block = larger
        self._start, self._end = 0, pending
        return block

    def _keep(self, view: memoryview) -> None:
        if view:
            block = self._reserve(len(view))
            block[self._end : self._end + len(view)] = view
            self._end += len(view)

    def _take_segments(self, out: list[Envelope]) -> None:
        block = self._block
        assert block is not None
        if self._end - self._start < self._need:
            return
        self._start += self._segments(memoryview(block)[self._start : self._end], out)
        if self._start == self._end:
            self._start = self._end = 0
            # A large block is for one large segment; an idle connection must not keep its 200 KiB.
            if len(block) > BLOCK_SIZE:
                self._block = None

    def _segments(self, view: memoryview, out: list[Envelope]) -> int:
        """Hand up the payloads of complete segments in `view`; returns how many bytes they took."""
        lz4 = self._lz4
        header_size = LZ4_HEADER_SIZE if lz4 else HEADER_SIZE
        pos, end = 0, len(view)
        self._need = 0
        while end - pos >= header_size:
            size, plain_size, self_contained = decode_header(view, pos, lz4)
            stop = pos + header_size + size
            if stop + TRAILER_SIZE > end:
                self._need = stop + TRAILER_SIZE - pos
                break
            payload = view[pos + header_size : stop]
            check_payload(payload, int.from_bytes(view[stop : stop + TRAILER_SIZE], "little"))
            if plain_size:
                payload = self._inflate(payload, plain_size)
            # A self-contained segment holds whole envelopes and nothing else. An envelope that
            # crosses its edge means that the two sides disagree about the stream.
            if self_contained and (self._body is not None or self._head):
                raise ProtocolError("a self-contained segment came in the middle of an envelope")
            self._envelopes(payload, out)
            if self_contained and (self._body is not None or self._head):
                raise ProtocolError("a self-contained segment ends in the middle of an envelope")
            pos = stop + TRAILER_SIZE
        return pos

    def _inflate(self, payload: memoryview, plain_size: int) -> memoryview:
        algorithm = self._compression
        assert algorithm is not None
        assert algorithm.decompress_segment is not None
        return memoryview(algorithm.decompress_segment(payload, plain_size))

    # -- envelopes ---------------------------------------------------------------------------------

    def _envelopes(self, view: memoryview, out: list[Envelope]) -> None:
        """Consume all of `view`."""
        if self._body is not None or self._head:
            view = self._continue(view, out)
        pos, end = 0, len(view)
        while end - pos >= ENVELOPE_HEADER_SIZE:
            first, flags, stream, opcode, length = _unpack(view, pos)
            version = first & 0x7F
            if (
                # One test for the usual header; all others take the slow path, which names the
                # reason.
                # A reader of no version yet (0) must not take a message of version 0 for its own.
                not version
                or version != self._version
                or first != version | self._direction
                or not 0 <= length <= self._max_body
            ):
                self._check_header(bytes(view[pos : pos + ENVELOPE_HEADER_SIZE]))
            start = pos + ENVELOPE_HEADER_SIZE
            pos = start + length
            if pos > end:
                self._opened = (stream, opcode, flags, version)
                self._open(length)
                self._fill(view[start:])
                return
            body = bytes(view[start:pos])
            # From version 5 on segments are compressed, and the flag has no meaning.
            if flags & COMPRESSED_FLAG and version < 5:
                body = self._decompress(body)
                flags &= ~COMPRESSED_FLAG
            out.append((stream, opcode, flags, body, version))
        if pos < end:
            self._head = bytes(view[pos:])

    def _continue(self, view: memoryview, out: list[Envelope]) -> memoryview:
        """Complete the header or body in progress; returns the rest of `view`."""
        if self._head:
            missing = ENVELOPE_HEADER_SIZE - len(self._head)
            self._head += view[:missing]
            view = view[missing:]
            if len(self._head) < ENVELOPE_HEADER_SIZE:
                return view
            head, self._head = self._head, b""
            first, flags, stream, opcode, length = _unpack(head)
            self._check_header(head)
            self._opened = (stream, opcode, flags, first & 0x7F)
            self._open(length)
        size = min(self._length - self._filled, len(view))
        self._fill(view[:size])
        self._finish_body(out)
        return view[size:]

    def _open(self, length: int) -> None:
        """Begin a body. Its length is only a claim: memory is taken for the bytes that come."""
        self._body = bytearray(min(length, BLOCK_SIZE))
        self._length = length
        self._filled = 0

    def _fill(self, view: memoryview) -> None:
        size = len(view)
        self._reserve_body(size)[self._filled : self._filled + size] = view
        self._filled += size

    def _reserve_body(self, size: int) -> bytearray:
        """Return the body with room for `size` more bytes, which it has."""
        body = self._body
        assert body is not None
        if len(body) - self._filled < size:
            needed = max(self._filled + size, 2 * len(body))
            # Another one: the transport still has the memory that it has written to.
            larger = bytearray(min(needed, self._length))
            larger[: self._filled] = memoryview(body)[: self._filled]
            body = self._body = larger
        return body

    def _finish_body(self, out: list[Envelope]) -> None:
        if self._body is None or self._filled < self._length:
            return
        body = bytes(self._body)
        self._body = None
        stream, opcode, flags, version = self._opened
        if flags & COMPRESSED_FLAG and version < 5:
            body = self._decompress(body)
            flags &= ~COMPRESSED_FLAG
        out.append((stream, opcode, flags, body, version))

    def _decompress(self, body: bytes) -> bytes:
        if self._compression is None:
            raise ProtocolError(
                "a compressed body came over a connection that has agreed on no compression"
            )
        return self._compression.decompress_body(body, self._max_body)

    def _check_header(self, head: bytes) -> None:
        """Raise if an envelope's header is wrong."""
        first, _flags, _stream, opcode, length = _unpack(head)
        version = first & 0x7F
        if (
            first & HEADER_DIRECTION_TO_CLIENT != self._direction
            or version not in _READABLE_VERSIONS
        ):
            raise ProtocolError(
                "the peer does not speak the native protocol, "
                f"or not a version that is known here: its message begins {head!r}"
            )
        # A server that does not know the version of a STARTUP answers with an ERROR of its own
        # version.
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
    """Joins envelopes into one bytes object for each write to the network.

    :param version: version of the envelopes. Requests of a beta version get the flag that opts in.
    :param max_body: the largest body in bytes.
    :param responses: write responses, as a server does.
    """

    __slots__ = (
        "_compression", "_direction", "_done", "_max_body", "_parts", "_segmented", "_standing",
        "_version", "pending",
    )  # fmt: skip

    pending: int

    def __init__(self, version: int, max_body: int = MAX_BODY, *, responses: bool = False) -> None:
        self._version = version
        self._direction = HEADER_DIRECTION_TO_CLIENT if responses else 0
        self._standing = 0 if responses else standing_flags(version)
        self._max_body = max_body
        self._compression: BodyCompression | None = None
        self._segmented = False
        self._parts: list[bytes] = []
        self._done: list[bytes] = []  # joined before segments began
        self.pending = 0

    def set_compression(self, algorithm: str | None) -> None:
        """Compress bodies (version 3 and 4) or segments (5) with "lz4" or "snappy".

        :raises DependencyException: if the package is not installed.
        """
        self._compression = compression(algorithm) if algorithm is not None else None
        if self._segmented:
            self._check_compression()

    def enable_segments(self) -> None:
        """Write segments for all envelopes that are added from now on."""
        self._segmented = True
        self._check_compression()
        # Envelopes that were added before belong in front of the first segment, as they are.
        self._done.extend(self._parts)
        self._parts = []

    def _check_compression(self) -> None:
        if self._compression is not None and self._compression.compress_segment is None:
            raise ValueError(
                f"segments cannot be compressed with {self._compression.name}; "
                "protocol 5 has lz4 only"
            )

    def add(self, stream: int, opcode: int, flags: int, body: bytes) -> None:
        """Queue one envelope.

        :raises ValueError: for a body above the limit, or if stream, opcode or flags do not fit
            their fields. Nothing is queued then.
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
        # A server refuses a beta version if one envelope lacks the flag, so no caller may forget
        # it.
        flags |= self._standing
        if self._segmented:
            # Head and body in one piece: segments are cut at whole envelopes.
            head = _pack(self._version | self._direction, flags, stream, opcode, size)
            self._parts.append(head + body)
        else:
            algorithm = self._compression
            # Section 2.3.2: a STARTUP is never compressed; a compressed OPTIONS may come before it.
            if (
                algorithm is not None
                and size >= WORTH_COMPRESSING
                and opcode not in (STARTUP, OPTIONS)
                and self._version < 5
            ):
                packed = algorithm.compress_body(body)
                # The flag is set for each envelope alone, so one that does not shrink goes as it
                # is.
                if len(packed) < size:
                    body, size, flags = packed, len(packed), flags | COMPRESSED_FLAG
            self._parts.append(_pack(self._version | self._direction, flags, stream, opcode, size))
            self._parts.append(body)
        self.pending += ENVELOPE_HEADER_SIZE + size

    def take(self) -> bytes:
        """Return all bytes since the last `take`, ready for the network; b"" if there are none."""
        parts, self._parts = self._parts, []
        self.pending = 0
        if not self._segmented:
            return b"".join(parts)
        framed = encode_envelopes(parts, self._compression)
        if self._done:
            framed = b"".join([*self._done, framed])
            self._done = []
        return framed
