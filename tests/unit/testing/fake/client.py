"""A minimal client for tests of the fake node, which uses no code of the driver.

The section numbers refer to native_protocol_v5.spec.
"""

from __future__ import annotations

import socket
import zlib
from typing import Any, NamedTuple

from cassandra.testing.fake import FakeNode, Opcode
from cassandra.testing.fake.segments import encode_segment

# the body of a STARTUP with the option CQL_VERSION=3.0.0 (section 4.1.1)
STARTUP_BODY = bytes.fromhex("0001 000b") + b"CQL_VERSION" + bytes.fromhex("0005") + b"3.0.0"
# the bytes that the CRC32 of a payload covers before the payload (section 2.1)
CRC32_SEED = bytes.fromhex("fa2d55ca")


class Envelope(NamedTuple):
    """An envelope that the node has sent. In `version`, the bit 0x80 marks a response."""

    version: int
    flags: int
    stream: int
    opcode: int
    body: bytes


def envelope(version: int, opcode: int, body: bytes, stream: int = 0, flags: int = 0) -> bytes:
    """Return the bytes of a request envelope (section 2.4)."""
    return (
        bytes((version, flags))
        + stream.to_bytes(2, "big")
        + bytes((opcode,))
        + len(body).to_bytes(4, "big")
        + body
    )


def query(text: str, version: int, stream: int = 0) -> bytes:
    """Return a QUERY with consistency ONE and no parameters (section 4.1.4)."""
    data = text.encode()
    consistency = b"\0\1"
    flags = b"\0\0\0\0" if version >= 5 else b"\0"
    body = len(data).to_bytes(4, "big") + data + consistency + flags
    return envelope(version, Opcode.QUERY, body, stream)


def in_segment(envelopes: bytes) -> bytes:
    """Return complete envelopes in one uncompressed segment, as a version 5 client sends them."""
    return encode_segment(envelopes, self_contained=True, compressed=False)


class RawClient:
    """A connected client socket that can read an exact number of bytes."""

    def __init__(self, node: FakeNode) -> None:
        self._socket = socket.create_connection((node.address, node.port), timeout=5)

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *args: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read(self, count: int) -> bytes:
        """Read exactly `count` bytes, or fewer if the node closes the connection."""
        data = b""
        while len(data) < count:
            received = self._socket.recv(count - len(data))
            if not received:
                break
            data += received
        return data

    def at_end(self) -> bool:
        """Return True if the node has closed the connection in an orderly way."""
        return self._socket.recv(1) == b""

    def envelope(self) -> Envelope:
        """Read the next envelope of a connection without segments."""
        header = self.read(9)
        assert len(header) == 9
        stream = int.from_bytes(header[2:4], "big", signed=True)
        body = self.read(int.from_bytes(header[5:9], "big"))
        return Envelope(header[0], header[1], stream, header[4], body)

    def ask(self, data: bytes) -> Envelope:
        """Send a request, and return the next envelope that arrives."""
        self.send(data)
        return self.envelope()

    def start(self, version: int, body: bytes = STARTUP_BODY) -> None:
        """Send STARTUP, and expect READY."""
        assert self.ask(envelope(version, Opcode.STARTUP, body)).opcode == Opcode.READY

    def segment(self) -> bytes:
        """Read the next segment, which must be uncompressed, and return its payload (section 2.1).

        Only the CRC32 is checked here; tests/unit/testing/fake/test_segments.py checks the CRC24.
        """
        header = self.read(6)
        length = int.from_bytes(header[:3], "little") & 0x1FFFF
        payload = self.read(length)
        assert zlib.crc32(payload, zlib.crc32(CRC32_SEED)) == int.from_bytes(self.read(4), "little")
        return payload

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


def ask(client: RawClient, text: str, stream: int = 0) -> Envelope:
    """Send a QUERY of version 4, and return the response."""
    return client.ask(query(text, 4, stream))
