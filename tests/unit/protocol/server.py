"""A server for tests of the protocol's handshake.

The server is a state machine like the client, `ProtocolConnection`. Tests pass the client's bytes
to the server, and the server's bytes to the client.
"""

from __future__ import annotations

from typing import Any

from cassandra.protocol import opcodes
from tests.unit.protocol.wire import int32, string, string_multimap, value

# The options of the server's SUPPORTED message.
OPTIONS = {
    "CQL_VERSION": ["3.4.7"],
    "COMPRESSION": ["snappy", "lz4"],
    "PROTOCOL_VERSIONS": ["3/v3", "4/v4", "5/v5", "6/v6-beta"],
}


# error codes (native_protocol_v5.spec, section 8)
PROTOCOL_ERROR = 0x000A
# The protocol's error code for a refused login.
BAD_CREDENTIALS = 0x0100

# This keyspace name is so long that a message with it is compressed, if compression was negotiated.
LONG_NAME = string("ks" * 500)


class Server:
    """A server that supports the protocol versions in `versions`.

    :param challenges: the number of challenges during a login; None if no login is required.
    :param options: changes of the options in SUPPORTED.
    """

    def __init__(
        self,
        implementation: Any,
        versions: tuple[int, ...] = (3, 4, 5),
        challenges: int | None = None,
        options: dict[str, list[str]] | None = None,
    ) -> None:
        self._frame = implementation.frame
        self.versions = versions
        self.challenges = challenges
        self.options = {**OPTIONS, **(options or {})}
        self.tokens: list[bytes] = []
        self.startup: dict[str, str] = {}
        # With version 0, the reader accepts requests of any version.
        self.reader = implementation.frame.FrameReader(0, requests=True)
        self.writer = implementation.frame.FrameWriter(max(versions), responses=True)

    def receive(self, data: bytes) -> bytes:
        """Read the bytes of requests, and return the bytes of the responses."""
        out = b""
        for stream, opcode, _flags, body, version in self.reader.feed(data):
            if version not in self.versions:
                message = (
                    f"Invalid or unsupported protocol version ({version}); "
                    "supported versions are (3/v3, 4/v4, 5/v5)"
                )
                self.writer.add(stream, opcodes.ERROR, 0, int32(PROTOCOL_ERROR) + string(message))
                out += self.writer.take()
                continue
            # OPTIONS is the first request. From then on, the server uses the version of this
            # request.
            if opcode == opcodes.OPTIONS:
                self.writer = self._frame.FrameWriter(version, responses=True)
            out += self._answer(stream, opcode, body, version)
        return out

    def _answer(self, stream: int, opcode: int, body: bytes, version: int) -> bytes:
        """Return the bytes of the response to one request."""
        if opcode == opcodes.OPTIONS:
            self.writer.add(stream, opcodes.SUPPORTED, 0, string_multimap(self.options))
            return bytes(self.writer.take())
        if opcode == opcodes.STARTUP:
            return self._on_startup(stream, body, version)
        if opcode == opcodes.AUTH_RESPONSE:
            return self._on_token(stream, body)
        # Respond to any other request with SET_KEYSPACE.
        self.writer.add(
            stream, opcodes.RESULT, 0, int32(opcodes.RESULT_KIND_SET_KEYSPACE) + LONG_NAME
        )
        return bytes(self.writer.take())

    def _on_startup(self, stream: int, body: bytes, version: int) -> bytes:
        """Respond to STARTUP, and then use the compression and segments that it negotiates."""
        self.startup = read_map(body)
        compression = self.startup.get("COMPRESSION")
        for codec in (self.reader, self.writer):
            codec.set_compression(compression)
        if self.challenges is None:
            self.writer.add(stream, opcodes.READY, 0, b"")
        else:
            self.writer.add(stream, opcodes.AUTHENTICATE, 0, string("org.example.Authenticator"))
        answer = bytes(self.writer.take())
        # The response to STARTUP is the last message without segments.
        if version >= 5:
            self.reader.enable_segments()
            self.writer.enable_segments()
        return answer

    def _on_token(self, stream: int, body: bytes) -> bytes:
        """Respond to a token with an error, with another challenge, or with success."""
        # Skip the length of the token, which takes four bytes.
        token = body[4:]
        self.tokens.append(token)
        if token == b"wrong":
            self.writer.add(
                stream,
                opcodes.ERROR,
                0,
                int32(BAD_CREDENTIALS) + string("Provided username and/or password are incorrect"),
            )
        elif self.challenges:
            self.challenges -= 1
            self.writer.add(stream, opcodes.AUTH_CHALLENGE, 0, value(b"challenge"))
        else:
            self.writer.add(stream, opcodes.AUTH_SUCCESS, 0, value(b"welcome"))
        return bytes(self.writer.take())


def read_map(body: bytes) -> dict[str, str]:
    """Return the contents of a [string map] as a dict (native_protocol_v5.spec, section 3)."""
    items: list[str] = []
    pos = 2
    while pos < len(body):
        size = int.from_bytes(body[pos : pos + 2], "big")
        items.append(body[pos + 2 : pos + 2 + size].decode())
        pos += 2 + size
    assert len(items) == 2 * int.from_bytes(body[:2], "big")
    return dict(zip(items[::2], items[1::2], strict=True))
