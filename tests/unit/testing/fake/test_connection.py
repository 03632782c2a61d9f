"""`ServerConnection`, a fake node's side of a connection, with a recording transport and node."""

from __future__ import annotations

import asyncio
import socket
import struct
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.testing.fake.connection import ServerConnection
from cassandra.testing.fake.primitives import Opcode
from cassandra.testing.fake.segments import lz4_compress, pack
from cassandra.testing.wire import WireError

COMPRESSED = 0x01  # the flag of an envelope whose body is compressed


class Transport:
    """A transport that records written data, and calls that close it or pause its reading."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.calls: list[str] = []
        self.options: list[tuple[Any, ...]] = []
        self.reading = True
        self.closing = False

    def get_extra_info(self, name: str) -> Any:
        info = {"peername": ("10.0.0.9", 5), "sockname": ("10.0.0.1", 9042), "socket": self}
        return info[name]

    def setsockopt(self, *option: Any) -> None:
        self.options.append(option)

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.calls.append("close")

    def abort(self) -> None:
        self.calls.append("abort")

    def reset(self) -> None:
        self.calls.append("reset")

    def is_closing(self) -> bool:
        return self.closing

    def is_reading(self) -> bool:
        return self.reading

    def pause_reading(self) -> None:
        self.reading = False
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.reading = True
        self.calls.append("resume")


class Node:
    """A stand-in for the fake node that records its connections and their requests.

    `on_query` is called for each QUERY, and may respond to it.
    """

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.events: list[Any] = []
        self.on_query: Any = lambda connection, stream: None
        self.is_paused = False

    def connection_opened(self, connection: Any) -> None:
        self.events.append("opened")

    def connection_closed(self, connection: Any) -> None:
        self.events.append("closed")

    def on_malformed(self, connection: Any, error: WireError) -> None:
        self.events.append(str(error))

    def on_request(
        self, connection: Any, version: int, flags: int, stream: int, opcode: int, body: bytes
    ) -> None:
        """Record a request. Respond to STARTUP, and let the test respond to QUERY."""
        self.events.append((version, stream, Opcode(opcode).name, body))
        if opcode == Opcode.STARTUP:
            options = {"COMPRESSION": "lz4"} if body == b"lz4" else {}
            connection.send(stream, Opcode.READY, 0, b"")
            connection.start(SimpleNamespace(version=version, options=options))
        elif opcode == Opcode.QUERY:
            self.on_query(connection, stream)

    @property
    def requests(self) -> list[Any]:
        return [event for event in self.events if isinstance(event, tuple)]


class Served:
    """A client's connection that the stand-in node serves, with its transport."""

    def __init__(self) -> None:
        self.node = Node()
        self.transport = Transport()
        self.connection = ServerConnection(self.node)  # type: ignore[arg-type]
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]
        self.connection.version = 4  # a node sets the version of the first request

    def receive(self, *parts: bytes) -> None:
        """Let the connection receive bytes from the client, one part after the other."""
        for part in parts:
            self.connection.data_received(part)


@pytest.fixture
async def served() -> Served:
    """Return a connection that the stand-in node serves."""
    return Served()


def envelope(
    opcode: int, body: bytes = b"", stream: int = 1, version: int = 4, flags: int = 0
) -> bytes:
    """Return the bytes of a request envelope."""
    return (
        bytes([version, flags])
        + stream.to_bytes(2, "big", signed=True)
        + bytes([opcode])
        + len(body).to_bytes(4, "big", signed=True)
        + body
    )


def response(opcode: int, body: bytes = b"", stream: int = 1, version: int = 4) -> bytes:
    """Return the bytes of a response envelope, whose version has the bit 0x80."""
    return envelope(opcode, body, stream, 0x80 | version)


QUERY = envelope(Opcode.QUERY, b"abc")


async def test_a_connection_has_both_addresses(served: Served) -> None:
    """A connection knows the client's address and its own port; its repr shows its state."""
    assert served.node.events == ["opened"]
    assert served.connection.peer == ("10.0.0.9", 5)
    assert served.connection.local_port == 9042
    assert served.transport.options == [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
    assert repr(served.connection).endswith("not started>")
    served.receive(envelope(Opcode.STARTUP))
    assert repr(served.connection).endswith(": v4>")
    served.connection.connection_lost(None)
    assert served.node.events[-1] == "closed"
    assert repr(served.connection).endswith(": ended>")


@pytest.mark.parametrize("size", [1, 5, 9, 11, 100])
async def test_requests_are_split_at_any_byte(served: Served, size: int) -> None:
    """Three requests that arrive in pieces of `size` bytes are decoded one by one."""
    data = QUERY + envelope(Opcode.OPTIONS, stream=2) + envelope(Opcode.PREPARE, b"d", stream=3)
    served.receive(*(data[start : start + size] for start in range(0, len(data), size)))
    assert served.node.requests == [
        (4, 1, "QUERY", b"abc"),
        (4, 2, "OPTIONS", b""),
        (4, 3, "PREPARE", b"d"),
    ]


async def test_responses_to_requests_of_one_read_are_written_together(served: Served) -> None:
    """Responses to the requests of one read are written with a single call.

    Raw bytes follow the queued responses.
    """
    served.node.on_query = lambda connection, stream: connection.send(
        stream, Opcode.READY, 0, bytes([stream])
    )
    served.receive(QUERY + envelope(Opcode.QUERY, stream=2))
    responses = [response(Opcode.READY, bytes([stream]), stream) for stream in (1, 2)]
    assert served.transport.written == [b"".join(responses)]
    # Responses that are sent outside of a read are written at the end of the event loop's
    # iteration.
    for stream in (3, 4):
        served.connection.send(stream, Opcode.READY, 0, b"")
    assert len(served.transport.written) == 1
    await asyncio.sleep(0)
    assert served.transport.written[1:] == [
        response(Opcode.READY, stream=3) + response(Opcode.READY, stream=4)
    ]
    served.connection.send(5, Opcode.READY, 0, b"")
    served.connection.write_raw(b"raw")
    assert served.transport.written[2:] == [response(Opcode.READY, stream=5), b"raw"]


@pytest.mark.parametrize("size", [9, 16, 100])
async def test_frames_follow_startup_of_version_5(served: Served, size: int) -> None:
    """In version 5, the connection reads and writes segments after STARTUP.

    :param size: the number of bytes that arrive first: STARTUP has 9, and a segment follows.
    """
    queries = [envelope(Opcode.QUERY, b"abc", stream, 5) for stream in (1, 2)]
    framed = pack(queries, False)
    served.node.on_query = lambda connection, stream: connection.send(stream, Opcode.READY, 0, b"")
    served.connection.version = 5
    # The first segment may arrive in the same read as STARTUP.
    data = envelope(Opcode.STARTUP, version=5) + framed
    served.receive(data[:size], data[size:])
    assert served.node.requests == [
        (5, 1, "STARTUP", b""),
        (5, 1, "QUERY", b"abc"),
        (5, 2, "QUERY", b"abc"),
    ]
    ready = response(Opcode.READY, version=5)
    # The response to STARTUP is not in a segment.
    assert served.transport.written == [
        ready,
        pack([ready, response(Opcode.READY, stream=2, version=5)], False),
    ]
    assert served.connection.wire_bytes(1, Opcode.READY, 0, b"") == pack([ready], False)
    assert served.connection.has_metadata_ids


async def test_bodies_are_compressed_in_version_4(served: Served) -> None:
    """If STARTUP names lz4, each body of a request or response is compressed separately."""
    # The fake node only looks for the name of the algorithm in the body.
    served.receive(envelope(Opcode.STARTUP, b"lz4"))
    body = b"x" * 100
    block = len(body).to_bytes(4, "big") + lz4_compress(body)
    served.receive(envelope(Opcode.QUERY, block, flags=COMPRESSED))
    assert served.node.requests[-1] == (4, 1, "QUERY", body)
    expected = envelope(Opcode.RESULT, block, 1, 0x84, COMPRESSED)
    assert served.connection.wire_bytes(1, Opcode.RESULT, 0, body) == expected
    # An empty body is not compressed.
    assert served.connection.wire_bytes(1, Opcode.READY, 0, b"") == response(Opcode.READY)
    assert served.connection.options == {"COMPRESSION": "lz4"}
    assert not served.connection.has_metadata_ids
    assert not served.connection.has_tablet_versions


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (envelope(Opcode.QUERY)[:5] + b"\xff\xff\xff\xff", "with a body of -1 bytes"),
        (envelope(Opcode.QUERY)[:5] + (256 << 20).to_bytes(4, "big"), None),
        (
            envelope(Opcode.QUERY)[:5] + ((256 << 20) + 1).to_bytes(4, "big"),
            f"with a body of {(256 << 20) + 1} bytes",
        ),
        (envelope(Opcode.QUERY, flags=COMPRESSED), "on a connection without compression"),
        (response(Opcode.QUERY), "version 0x84 and opcode 0x07 is not a request"),
        (envelope(Opcode.READY), "version 0x04 and opcode 0x02 is not a request"),
        (envelope(0x04), "version 0x04 and opcode 0x04 is not a request"),
    ],
)
async def test_bytes_that_are_no_request(served: Served, data: bytes, message: str | None) -> None:
    """For bytes that are no request, the connection reports to the node what is wrong.

    It reports nothing while the rest of a body of the longest allowed size may still follow.
    """
    served.receive(data)
    first_event, *errors = served.node.events
    assert first_event == "opened"
    if message is None:
        assert errors == []
    else:
        (error,) = errors
        assert message in error


@pytest.mark.parametrize("is_reset", [False, True])
async def test_the_node_ends_a_connection(served: Served, is_reset: bool) -> None:
    """A closed connection first writes queued responses; a reset connection drops them.

    After either, the connection ignores requests and sends nothing.
    """
    served.connection.send(1, Opcode.READY, 0, b"")
    for _ in range(2):
        served.connection.end(is_reset)
    expected_writes = [] if is_reset else [response(Opcode.READY)]
    assert served.transport.written == expected_writes
    assert served.transport.calls == (["reset"] if is_reset else ["close"])
    # A linger time of 0 makes the system send RST.
    lingering = (socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert served.transport.options[1:] == ([lingering] if is_reset else [])
    served.receive(QUERY)
    served.connection.send(2, Opcode.READY, 0, b"")
    served.connection.write_raw(b"raw")
    await asyncio.sleep(0)
    assert served.node.requests == []
    assert served.transport.written == expected_writes


async def test_an_aborted_connection_writes_nothing_more(served: Served) -> None:
    """After `abort`, queued responses are dropped."""
    served.connection.send(1, Opcode.READY, 0, b"")
    served.connection.abort()
    served.connection.flush()
    await asyncio.sleep(0)
    assert served.transport.calls == ["abort"]
    assert served.transport.written == []


async def test_a_connection_that_hangs_answers_nothing(served: Served) -> None:
    """A hanging connection writes what was queued before, stays open, and answers nothing."""
    # This response is queued until the end of the event loop's iteration.
    served.connection.send(1, Opcode.READY, 0, b"")
    served.connection.hang()
    assert served.transport.written == [response(Opcode.READY)]
    served.receive(QUERY)
    served.connection.send(2, Opcode.READY, 0, b"")
    served.connection.write_raw(b"raw")
    await asyncio.sleep(0)
    assert served.node.requests == []
    assert len(served.transport.written) == 1
    assert served.transport.calls == []


async def test_requests_behind_the_last_one_are_lost(served: Served) -> None:
    """If a request ends the connection, the node does not see later requests of the same read."""
    served.node.on_query = lambda connection, stream: connection.end()
    served.receive(QUERY + QUERY)
    assert len(served.node.requests) == 1


async def test_reading_is_paused_and_resumed_once(served: Served) -> None:
    """Pausing twice calls the transport once, and a closing transport is not touched."""
    for _ in range(2):
        served.connection.pause_reading()
    for _ in range(2):
        served.connection.resume_reading()
    assert served.transport.calls == ["pause", "resume"]
    served.transport.closing = True
    served.connection.pause_reading()
    served.transport.reading = False
    served.connection.resume_reading()
    assert served.transport.calls == ["pause", "resume"]
