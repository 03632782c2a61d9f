"""A minimal client for tests of the fake node: it uses sockets and bytes, and no code of the
driver.

The sections named here are those of native_protocol_v5.spec.
"""

from __future__ import annotations

import socket
import zlib
from typing import Any

from cassandra.testing.fake import FakeNode

STARTUP_BODY = bytes.fromhex("0001 000b") + b"CQL_VERSION" + bytes.fromhex("0005") + b"3.0.0"
CRC32_SEED = bytes.fromhex("fa2d55ca")


def envelope(version: int, opcode: int, body: bytes, stream: int = 0, flags: int = 0) -> bytes:
    """Return a request envelope (section 2.4)."""
    return (
        bytes((version, flags))
        + stream.to_bytes(2, "big")
        + bytes((opcode,))
        + len(body).to_bytes(4, "big")
        + body
    )


def query(text: str, version: int, stream: int = 0) -> bytes:
    """Return a QUERY at consistency ONE, without parameters (section 4.1.4)."""
    data = text.encode()
    flags = b"\0\0\0\0" if version >= 5 else b"\0"
    return envelope(version, 0x07, len(data).to_bytes(4, "big") + data + b"\0\1" + flags, stream)


class RawClient:
    """A connected socket with exact reads."""

    def __init__(self, node: FakeNode) -> None:
        self._socket = socket.create_connection((node.address, node.port), timeout=5)

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *args: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read(self, count: int) -> bytes:
        """Read exactly `count` bytes; fewer if the peer closes before."""
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                break
            data += part
        return data

    def at_end(self) -> bool:
        """Return True if the peer has closed the connection in an orderly way."""
        return self._socket.recv(1) == b""

    def envelope(self) -> tuple[int, int, int, int, bytes]:
        """Return (version byte, flags, stream, opcode, body) of the next bare envelope."""
        header = self.read(9)
        assert len(header) == 9
        stream = int.from_bytes(header[2:4], "big", signed=True)
        return (
            header[0],
            header[1],
            stream,
            header[4],
            self.read(int.from_bytes(header[5:9], "big")),
        )

    def ask(self, data: bytes) -> tuple[int, int, int, int, bytes]:
        """Send a request, and return the next envelope."""
        self.send(data)
        return self.envelope()

    def start(self, version: int, body: bytes = STARTUP_BODY) -> None:
        """Send STARTUP, and expect READY."""
        assert self.ask(envelope(version, 0x01, body))[3] == 0x02

    def segment(self) -> bytes:
        """Return the payload of the next uncompressed segment (section 2.1).

        Only the CRC32 is checked here; the tests of `segments` check the CRC24.
        """
        header = self.read(6)
        length = int.from_bytes(header[:3], "little") & 0x1FFFF
        payload = self.read(length)
        assert zlib.crc32(payload, zlib.crc32(CRC32_SEED)) == int.from_bytes(self.read(4), "little")
        return payload

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)
