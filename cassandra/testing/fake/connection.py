"""One client connection, as seen by the node.

`ServerConnection` splits the client's bytes into envelopes (a header and a body), and passes each
request to the node. Responses that are ready at the same time are written together. On a version 5
connection, all bytes after the response to STARTUP have frames around the envelopes, in both
directions (native_protocol_v5.spec, section 2.3.1).
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from cassandra.testing.fake.primitives import RESPONSES, Opcode
from cassandra.testing.fake.requests import Request
from cassandra.testing.fake.segments import SegmentReader, lz4_compress, lz4_decompress, pack
from cassandra.testing.wire import WireError

if TYPE_CHECKING:
    from cassandra.testing.fake.node import FakeNode

# The header of an envelope: version, flags, stream, opcode and length of the body.
_HEADER = struct.Struct(">BBhBi")
_HEADER_LENGTH = 9
_COMPRESSED = 0x01  # a flag of an envelope
_LONGEST_BODY = 256 << 20  # bytes: the limit in native_protocol_v5.spec, section 2.4.1.5
_REQUEST_OPCODES = frozenset(Opcode) - RESPONSES


# Extensions of ScyllaDB (docs/dev/protocol-extensions.md). The node offers them in SUPPORTED, and
# the client chooses them in STARTUP.
METADATA_IDS = "SCYLLA_USE_METADATA_ID"
TABLET_VERSIONS = "TABLETS_ROUTING_V2_EXPERIMENTAL_V2"


class ServerConnection(asyncio.Protocol):
    """The node's side of one connection.

    `version` is the protocol version of STARTUP, or of the last request before STARTUP; 0 before
    the first request. `compression` is the compression that STARTUP chose; None for no compression.
    """

    def __init__(self, node: FakeNode) -> None:
        self.node = node
        self.loop = node.loop
        self.version = 0
        self.compression: str | None = None
        self.started = False  # True after STARTUP, which sets the version and compression
        self.ready = False  # True after READY or AUTH_SUCCESS, when any request is allowed
        self.event_types: Sequence[str] = ()
        self.options: Mapping[str, str] = {}  # the options of STARTUP
        self.keyspace: str | None = None
        self.peer: tuple[str, int] | None = None  # the client's address and port
        self.local_port = 0
        self.shard = 0  # the shard of a ScyllaDB node that serves this connection
        self._transport: asyncio.Transport | None = None
        self._segments: SegmentReader | None = None  # parser of frames; None without frames
        self._framed = False  # True if envelopes are in frames
        self._hanging = False  # True after `hang`: nothing is handled or sent any more
        self._ended = False  # True after `end`, `abort`, or the end of the transport
        self._buffer = b""  # received bytes of an incomplete envelope
        self._out: list[bytes] = []  # envelopes to write
        self._flushing = False  # True if `flush` will be called soon, so `send` only queues

    # -- begin and end -----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a connection that a client has opened."""
        self._transport = cast(asyncio.Transport, transport)
        sock = transport.get_extra_info("socket")
        if sock is not None:
            # Without TCP_NODELAY, a small response could wait until the client acknowledges an
            # earlier response.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peer = transport.get_extra_info("peername")
        self.local_port = transport.get_extra_info("sockname")[1] if self.peer else 0
        self.node.connection_opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._ended = True
        self.node.connection_closed(self)

    def hang(self) -> None:
        """Keep the connection open, but respond to nothing from now on."""
        self.flush()
        self._hanging = True

    def end(self, reset: bool = False) -> None:
        """Close the connection.

        :param reset: True closes it at once by RST, and drops unwritten bytes. False sends all
            bytes first, and then FIN.
        """
        if self._ended or self._transport is None:
            return
        if reset:
            # With SO_LINGER set to zero seconds, close() sends RST.
            sock = self._transport.get_extra_info("socket")
            if sock is not None:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._ended = True
            # A transport without a socket (in a simulation) has a method `reset`.
            getattr(self._transport, "reset", self._transport.abort)()
        else:
            self.flush()
            self._ended = True
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once. Unwritten bytes are dropped."""
        if self._transport is not None:
            self._ended = True
            self._transport.abort()

    def pause_reading(self) -> None:
        """Stop reading, so that the client's bytes stay in the socket's buffer."""
        if (
            self._transport is not None
            and not self._transport.is_closing()
            and self._transport.is_reading()
        ):
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading after `pause_reading`."""
        if (
            self._transport is not None
            and not self._transport.is_closing()
            and not self._transport.is_reading()
        ):
            self._transport.resume_reading()

    # -- receiving ---------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Called by asyncio: handle all requests in `data`, and write their responses together."""
        # After the connection has ended, asyncio may still deliver bytes that it read before.
        if self._hanging or self._ended:
            return
        # While `_flushing` is True, `send` only queues responses. All responses to the requests in
        # `data` are then written together, at the end of this method.
        self._flushing = True
        try:
            self._receive(data)
        except WireError as error:
            self.node.on_malformed(self, error)
        finally:
            self._flushing = False
            self.flush()

    def _receive(self, data: bytes) -> None:
        """Split the received bytes into envelopes, and handle each."""
        segments = self._segments
        if segments is not None:
            data = segments.feed(data)
        if self._buffer:
            data = self._buffer + data
            self._buffer = b""
        position, end = 0, len(data)
        while end - position >= _HEADER_LENGTH:
            version, flags, stream, opcode, length = _HEADER.unpack_from(data, position)
            start = position + _HEADER_LENGTH
            if not 0 <= length <= _LONGEST_BODY:
                raise WireError(f"an envelope with a body of {length} bytes")
            # Leave an incomplete envelope in the buffer. When more bytes arrive, we parse its
            # header again, because that is simpler than storing the parsed header.
            if end - start < length:
                break
            position = start + length
            self._on_envelope(version, flags, stream, opcode, data[start:position])
            # If the response has closed the connection, the remaining requests are lost, as on a
            # real server.
            if self._ended or self._hanging:
                return
            if segments is not self._segments:
                # If this request was STARTUP, the connection now has a `SegmentReader`, because the
                # bytes after STARTUP have frames around them.
                segments = self._segments
                assert segments is not None
                data = segments.feed(data[position:])
                position, end = 0, len(data)
        self._buffer = data[position:]

    def _on_envelope(self, version: int, flags: int, stream: int, opcode: int, body: bytes) -> None:
        """Decompress the body of a request, and pass the request to the node."""
        if flags & _COMPRESSED and not self._framed:
            if self.compression != "lz4":
                raise WireError("a compressed body on a connection without compression")
            # Up to version 4, bodies are compressed, and the uncompressed size precedes the LZ4
            # block. Version 5 compresses frames instead.
            body = lz4_decompress(body[4:], int.from_bytes(body[:4], "big"))
        if opcode not in _REQUEST_OPCODES or version & 0x80:
            raise WireError(
                f"an envelope of version 0x{version:02x} and opcode 0x{opcode:02x} is not a request"
            )
        self.node.on_request(self, version, flags, stream, opcode, body)

    def start(self, request: Request) -> None:
        """Begin to use the version and the compression that a STARTUP has chosen.

        The next bytes in both directions use them. The response to STARTUP does not.
        """
        # The response to STARTUP has no frame (section 2.3.1), so write it before frames are
        # enabled.
        self.flush()
        self.started = True
        self.version = request.version
        self.options = request.options
        self.compression = request.options.get("COMPRESSION")
        if request.version >= 5:
            self._framed = True
            self._segments = SegmentReader(self.compression == "lz4")

    @property
    def has_metadata_ids(self) -> bool:
        """True if PREPARED and EXECUTE carry the id of the result columns.

        They carry the id in version 5, and if the client uses ScyllaDB's extension.
        """
        return self.version >= 5 or METADATA_IDS in self.options

    @property
    def has_tablet_versions(self) -> bool:
        """True if EXECUTE ends with a byte of the tablet's version, an extension of ScyllaDB."""
        return TABLET_VERSIONS in self.options

    # -- sending -----------------------------------------------------------------------------------

    def send(self, stream: int, opcode: int, flags: int, body: bytes) -> None:
        """Queue one message, which will be written in this iteration of the event loop."""
        self.send_envelope(self._envelope(stream, opcode, flags, body))

    def send_envelope(self, envelope: bytes) -> None:
        """Queue bytes that a test sends instead of an envelope. In version 5, they get a frame."""
        if self._ended or self._hanging:
            return
        self._out.append(envelope)
        if not self._flushing:
            self._flushing = True
            # Responses that are queued in one iteration of the event loop are written together.
            # They share a frame if the version has frames.
            self.loop.call_soon(self._flush_later)

    def _flush_later(self) -> None:
        self._flushing = False
        self.flush()

    def flush(self) -> None:
        """Write all queued bytes. If the node is paused, they stay queued until it resumes."""
        out = self._out
        if out and self._transport is not None and not self._ended and not self.node.is_paused:
            self._out = []
            is_compressed = self.compression == "lz4"
            self._transport.write(pack(out, is_compressed) if self._framed else b"".join(out))

    def write_raw(self, data: bytes) -> None:
        """Write bytes unchanged, after all queued bytes."""
        if self.node.is_paused:
            self.node.post(self.write_raw, data)
            return
        self.flush()
        if self._transport is not None and not self._ended and not self._hanging:
            self._transport.write(data)

    def wire_bytes(self, stream: int, opcode: int, flags: int, body: bytes) -> bytes:
        """Return a message as it would be sent, including its frame."""
        envelope = self._envelope(stream, opcode, flags, body)
        return pack([envelope], self.compression == "lz4") if self._framed else envelope

    def _envelope(self, stream: int, opcode: int, flags: int, body: bytes) -> bytes:
        """Return the envelope of a response: a header, and the body, compressed if necessary."""
        version = self.version
        # Since version 5, the frames around envelopes are compressed instead of the bodies.
        compresses_bodies = self.compression == "lz4" and not self._framed and version < 5
        if compresses_bodies and body and self.started:
            body = len(body).to_bytes(4, "big") + lz4_compress(body)
            flags |= _COMPRESSED
        return _HEADER.pack(0x80 | version, flags, stream, opcode, len(body)) + body

    def __repr__(self) -> str:
        state = "ended" if self._ended else f"v{self.version}" if self.started else "not started"
        return f"<ServerConnection from {self.peer}: {state}>"
