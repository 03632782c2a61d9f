"""A relay between a driver and a node that records the driver's requests as strings.

Section numbers in this module refer to native_protocol_v5.spec.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType

CONSISTENCIES = [
    "ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "SERIAL",
    "LOCAL_SERIAL", "LOCAL_ONE",
]  # fmt: skip
# Flags of the <query_parameters> (section 4.1.4).
WITH_VALUES, WITH_PAGE_SIZE, WITH_PAGING_STATE, WITH_SERIAL = 0x01, 0x04, 0x08, 0x10
WITH_TIMESTAMP, WITH_NAMES, WITH_KEYSPACE = 0x20, 0x40, 0x80
# Flags of an envelope (section 2.4.1.2).
TRACING, CUSTOM_PAYLOAD, WARNING = 0x02, 0x04, 0x08
SEGMENT_HEADER_SIZE, CHECKSUM_SIZE = 6, 4  # of a segment without compression (section 2.2)
STARTUP, READY, AUTHENTICATE, SUPPORTED = 0x01, 0x02, 0x03, 0x06
QUERY, RESULT, PREPARE, EXECUTE, BATCH = 0x07, 0x08, 0x09, 0x0A, 0x0D
PREPARED = 4  # kind of a RESULT
HEADER = struct.Struct(">BBhBi")  # of an envelope: version, flags, stream, opcode, size of the body
SEGMENTS_SINCE = 5  # the version of the protocol that introduced segments
# Queries that drivers send by themselves, not for the program. They are not recorded.
OWN = re.compile(
    r"^\s*USE\b|\bsystem\.(local|peers|peers_v2|client_routes)\b|\bsystem_(virtual_)?schema\.|"
    r"\bsystem_traces\.",
    re.I,
)
# A write timestamp that is within so many seconds of the current time was made by the driver, and
# not by the program.
NEAR = 3600


class Fields:
    """Reads the fields of a message body, one after the other.

    The methods are named after the notations of section 3, such as [string].
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.offset = 0

    def number(self, form: str) -> int:
        """Return a number in a format of `struct`, such as ">H"."""
        (value,) = struct.unpack_from(form, self.data, self.offset)
        self.offset += struct.calcsize(form)
        return int(value)

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        self.offset += count
        return self.data[self.offset - count : self.offset]

    def string(self) -> str:
        """Return a [string]."""
        return self.take(self.number(">H")).decode()

    def long_string(self) -> str:
        """Return a [long string]."""
        return self.take(self.number(">i")).decode()

    def value(self) -> str:
        """Return a [value] as a string: "null", "unset" or its bytes in hexadecimal."""
        size = self.number(">i")
        return {-1: "null", -2: "unset"}.get(size) or f"0x{self.take(size).hex()}"

    def payload(self) -> list[str]:
        """Return the keys of a [bytes map]."""
        keys = []
        for _ in range(self.number(">H")):
            keys.append(self.string())
            self.value()
        return keys


@dataclass
class Frames:
    """Splits the bytes of one direction of a connection into envelopes.

    - `is_segmented`: True if envelopes are inside segments, as in version 5 after the handshake.
    - `raw`: received bytes that are not decoded yet.
    - `inner`: bytes from segments that are not decoded yet.
    """

    is_segmented: bool = False
    raw: bytearray = field(default_factory=bytearray)
    inner: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> None:
        """Add bytes that were received."""
        self.raw += data

    def envelopes(self) -> Iterator[tuple[int, int, int, int, bytes, bytes]]:
        """Yield each complete envelope as (version, flags, stream, opcode, body, all bytes)."""
        while True:
            if self.is_segmented:
                self._unpack()
            source = self.inner if self.is_segmented else self.raw
            if len(source) < HEADER.size:
                return
            version, flags, stream, opcode, size = HEADER.unpack_from(source)
            if len(source) < HEADER.size + size:
                return
            envelope = bytes(source[: HEADER.size + size])
            del source[: HEADER.size + size]
            # The highest bit of a response's version marks the direction, so remove it.
            yield version & 0x7F, flags, stream, opcode, envelope[HEADER.size :], envelope

    def _unpack(self) -> None:
        """Move the payloads of complete segments from `raw` to `inner`."""
        # A segment (section 2.2) has a header of 3 bytes, the header's checksum of 3 bytes, the
        # payload, and the payload's checksum of 4 bytes.
        while len(self.raw) >= SEGMENT_HEADER_SIZE:
            # The lowest 17 bits are the length of the payload.
            size = int.from_bytes(self.raw[:3], "little") & 0x1FFFF
            end = SEGMENT_HEADER_SIZE + size
            if len(self.raw) < end + CHECKSUM_SIZE:
                return
            self.inner += self.raw[SEGMENT_HEADER_SIZE:end]
            del self.raw[: end + CHECKSUM_SIZE]


def parameters(fields: Fields, version: int) -> list[str]:
    """Return the <query_parameters> (section 4.1.4) as strings."""
    words = [f"cl={consistency(fields)}"]
    flags = fields.number(">I" if version >= 5 else ">B")
    if flags & WITH_VALUES:
        words.append(f"values={values(fields, bool(flags & WITH_NAMES))}")
    if flags & WITH_PAGE_SIZE:
        words.append(f"page={fields.number('>i')}")
    if flags & WITH_PAGING_STATE:
        fields.value()
        words.append("paging_state")
    return words + last_parameters(fields, flags)


def last_parameters(fields: Fields, flags: int) -> list[str]:
    """Return the <query_parameters> after the flags and values as strings.

    These fields begin with the serial consistency. A BATCH ends with the same fields.
    """
    words = []
    if flags & WITH_SERIAL:
        words.append(f"serial={consistency(fields)}")
    if flags & WITH_TIMESTAMP:
        words.append(f"timestamp={timestamp(fields.number('>q'))}")
    if flags & WITH_KEYSPACE:
        words.append(f"keyspace={fields.string()}")
    return words


def consistency(fields: Fields) -> str:
    """Return the name of a [consistency]."""
    number = fields.number(">H")
    return CONSISTENCIES[number] if number < len(CONSISTENCIES) else str(number)


def timestamp(microseconds: int) -> str:
    """Return a write timestamp as a string, and "now" for a timestamp that the driver made.

    The driver's timestamps differ in each run, so they cannot be compared.

    :param microseconds: since 1970.
    """
    return "now" if abs(microseconds / 1e6 - time.time()) < NEAR else str(microseconds)


def values(fields: Fields, are_named: bool) -> str:
    """Return the bound values as a string."""
    texts = []
    for _ in range(fields.number(">H")):
        name = f"{fields.string()}:" if are_named else ""
        texts.append(name + fields.value())
    return f"[{', '.join(texts)}]"


class Requests:
    """Turns the requests of one connection into strings.

    `prepared` has the CQL of prepared statements, by id.
    """

    def __init__(self) -> None:
        self.prepared: dict[bytes, str] = {}
        self._preparing: dict[int, str] = {}

    def read(self, version: int, flags: int, stream: int, opcode: int, body: bytes) -> str | None:
        """Return a request as a string: its kind and parameters, "|", and the CQL.

        :returns: None for a request that the driver sends by itself.
        """
        fields = Fields(body)
        words = ["traced"] if flags & TRACING else []
        if flags & CUSTOM_PAYLOAD:
            words.append(f"payload={fields.payload()}")
        if opcode == QUERY:
            query = fields.long_string()
            words += parameters(fields, version)
        elif opcode == EXECUTE:
            query = self._prepared(fields)
            if version >= 5:
                fields.take(fields.number(">H"))  # skip the id of the result metadata
            words += parameters(fields, version)
        elif opcode == PREPARE:
            query = self._preparing[stream] = fields.long_string()
            if version >= 5 and fields.number(">I") & 0x01:  # the flag With_keyspace
                words.append(f"keyspace={fields.string()}")
        elif opcode == BATCH:
            query = self._batch(fields, version, words)
        else:
            return None
        name = {QUERY: "QUERY", EXECUTE: "EXECUTE", PREPARE: "PREPARE", BATCH: "BATCH"}[opcode]
        return None if OWN.search(query) else " ".join([name, *words, "|", query])

    def _prepared(self, fields: Fields) -> str:
        """Read the id of a prepared statement, and return its CQL; "?" if the id is unknown."""
        return self.prepared.get(fields.take(fields.number(">H")), "?")

    def _batch(self, fields: Fields, version: int, words: list[str]) -> str:
        """Return the statements of a BATCH as a string, and add its type and options to `words`."""
        words.append(("LOGGED", "UNLOGGED", "COUNTER")[fields.number(">B")])
        statements = []
        for _ in range(fields.number(">H")):
            # The kind of a statement: 0 for CQL, 1 for the id of a prepared statement.
            query = self._prepared(fields) if fields.number(">B") else fields.long_string()
            statements.append(f"{query} {values(fields, are_named=False)}")
        words.append(f"cl={consistency(fields)}")
        words += last_parameters(fields, fields.number(">I" if version >= 5 else ">B"))
        return "; ".join(statements)

    def note_response(self, flags: int, stream: int, opcode: int, body: bytes) -> None:
        """If a response answers a PREPARE, store the CQL of the statement by the statement's id."""
        query = self._preparing.pop(stream, None)
        if query is None or opcode != RESULT:
            return
        fields = Fields(body)
        # Skip the tracing id, warnings and custom payload, as the flags say.
        if flags & TRACING:
            fields.take(16)
        if flags & WARNING:
            for _ in range(fields.number(">H")):
                fields.string()
        if flags & CUSTOM_PAYLOAD:
            fields.payload()
        if fields.number(">i") == PREPARED:
            self.prepared[fields.take(fields.number(">H"))] = query


def without_compression(body: bytes) -> bytes:
    """Return the body of SUPPORTED without its compression algorithms.

    Drivers then do not compress their requests, and the recorder can read them.
    """
    fields = Fields(body)
    content = b""
    count = fields.number(">H")
    for _ in range(count):
        name = fields.string()
        options = [fields.string() for _ in range(fields.number(">H"))]
        if name == "COMPRESSION":
            options = []
        content += string(name) + struct.pack(">H", len(options)) + b"".join(map(string, options))
    return struct.pack(">H", count) + content


def string(text: str) -> bytes:
    """Encode a [string]."""
    return struct.pack(">H", len(text.encode())) + text.encode()


class Recorder:
    """Listens at `port` for a driver, relays its bytes to the node, and records its requests.

    The recorder listens at 127.0.0.1. It also listens at the node's address if that is another
    loopback address, because some drivers connect to the address in `system.local`. `host` is the
    address for the programs.

    :param target: address and port of the node.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._requests_seen: list[str] = []
        self._lock = threading.Lock()
        self._prepared: dict[bytes, str] = {}  # the CQL of prepared statements, by id
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.host = target[0] if target[0].startswith("127.") else "127.0.0.1"
        self.port = 0

    def __enter__(self) -> Recorder:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _start(self) -> None:
        self._servers = [await asyncio.start_server(self._accept, "127.0.0.1", 0)]
        self.port = self._servers[0].sockets[0].getsockname()[1]
        if self.host != "127.0.0.1":
            self._servers.append(await asyncio.start_server(self._accept, self.host, self.port))

    async def _stop(self) -> None:
        """Stop accepting connections, and cancel the tasks of the open connections."""
        for server in self._servers:
            server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def take_requests(self) -> list[str]:
        """Return the requests since the last call."""
        with self._lock:
            requests, self._requests_seen = self._requests_seen, []
        return requests

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay one connection of the driver until either side closes it."""
        requests = Requests()
        requests.prepared = self._prepared  # shared by all connections to the node
        with contextlib.suppress(OSError, asyncio.CancelledError):
            node_reader, node_writer = await asyncio.open_connection(*self._target)
            client, node = Frames(), Frames()
            try:
                await asyncio.gather(
                    self._requests(reader, node_writer, client, requests),
                    self._answers(node_reader, writer, node, requests),
                )
            finally:
                node_writer.transport.abort()
        writer.transport.abort()

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        frames: Frames,
        requests: Requests,
    ) -> None:
        """Relay the driver's bytes to the node unchanged, and record the requests in them."""
        while data := await reader.read(1 << 16):
            frames.feed(data)
            for version, flags, stream, opcode, body, _ in frames.envelopes():
                try:
                    statement = requests.read(version, flags, stream, opcode, body)
                except (struct.error, IndexError, UnicodeDecodeError) as error:
                    statement = f"a request that cannot be read: {error}"
                if statement is not None:
                    with self._lock:
                        self._requests_seen.append(statement)
                # From now on, the driver sends segments.
                if opcode == STARTUP and version >= SEGMENTS_SINCE:
                    frames.is_segmented = True
            writer.write(data)
            await writer.drain()
        writer.close()

    async def _answers(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        frames: Frames,
        requests: Requests,
    ) -> None:
        """Relay the node's bytes to the driver, without compression in SUPPORTED.

        Segments are relayed unchanged. Until the connection uses segments, envelopes are relayed
        one by one.
        """
        while data := await reader.read(1 << 16):
            was_segmented = frames.is_segmented
            frames.feed(data)
            relayed = bytearray(data if was_segmented else b"")
            for version, flags, stream, opcode, body, envelope in frames.envelopes():
                requests.note_response(flags, stream, opcode, body)
                if opcode in (READY, AUTHENTICATE) and version >= SEGMENTS_SINCE:
                    frames.is_segmented = True
                if not was_segmented:
                    if opcode == SUPPORTED:
                        body = without_compression(body)
                        # The size of the body is in the last 4 bytes of the header.
                        envelope = envelope[: HEADER.size - 4] + struct.pack(">i", len(body)) + body
                    relayed += envelope
            writer.write(bytes(relayed))
            await writer.drain()
        writer.close()
