"""`Recorder`: a proxy between an application and a real node, which records their messages.

For each connection of the application, an `_ApplicationSide` opens a connection to the node
(`_NodeSide`). It forwards the messages in both directions, and parses them. We change some
responses of the node. We remove compression from SUPPORTED, because we cannot parse compressed
messages. We also replace other addresses, so that the application does not connect past the
recorder (see `cassandra.testing.replay.addresses`).

Exchanges are recorded in the order in which the application sent the requests. Logins are left out,
and so are requests that have no response when the recording ends.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

from cassandra.testing.fake.connection import METADATA_IDS, TABLET_VERSIONS
from cassandra.testing.fake.looping import Listening, NodeThread
from cassandra.testing.fake.primitives import Opcode, string
from cassandra.testing.fake.refusals import ErrorCode
from cassandra.testing.fake.requests import Request
from cassandra.testing.fake.segments import pack
from cassandra.testing.replay.addresses import with_own_address, without_other_ports
from cassandra.testing.replay.meaning import ANSWERED, Meaning, meaning_of
from cassandra.testing.replay.recording import Exchange, Recording
from cassandra.testing.replay.sniffing import (
    Envelope,
    Sniffer,
    answer_without_secrets,
    bytes_of,
    prepared_id,
    read_supported,
    supported_body,
    used_keyspace,
)
from cassandra.testing.wire import WireError


class Recorder:
    """Records what an application and a real node send each other.

    The application connects to `contact_points` and `port` of the recorder. Use the recorder as a
    context manager, or call `start`, and then `stop`, which writes the file. The recorder hides
    other nodes of the cluster and ScyllaDB's shard-aware port from the application, so that all
    requests pass through the recorder.

    Requests and responses must not be compressed, so the recorder also hides the node's compression
    algorithms: an application with ``compression="lz4"`` cannot connect to it.

    :param path: the file to write. An existing file is replaced.
    :param contact_point: the address of the real node.
    :param port: the port of the real node.
    :param mask_values: True writes digests instead of bound values. Values in results and in CQL
        are written unchanged.
    :param ssl_context: the TLS context for the node. The application connects to the recorder
        without TLS.
    :raises TypeError: if `contact_point` is not a string.

    .. versionadded:: 4.0
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        contact_point: str = "127.0.0.1",
        port: int = 9042,
        *,
        mask_values: bool = False,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        point: object = contact_point
        if not isinstance(point, str):
            raise TypeError(f"contact_point is one address, such as '127.0.0.1', but is {point!r}")
        self.path = path
        self.address = "127.0.0.1"
        self._port = 0
        self.is_masked = mask_values
        self.upstream = (contact_point, port)
        self.ssl_context = ssl_context
        self.texts: dict[bytes, str] = {}  # the CQL of prepared statements, by id
        self.supported: Mapping[str, list[str]] = {}
        self.protocol_version = 0
        self.faults: list[Exception] = []  # violations of the protocol; `stop` raises the first
        # Each item is a list [meaning of the request, response]. The response is None until it
        # arrives. An event is a list [None, event].
        self._entries: list[list[Any]] = []
        self._links: set[_ApplicationSide] = set()  # the open connections
        self._thread: NodeThread | None = None
        self._listener: Listening | None = None

    @property
    def port(self) -> int:
        """The port to connect to.

        :raises RuntimeError: if the recorder was not started yet.
        """
        if not self._port:
            raise RuntimeError("this Recorder is not running: write `with Recorder(...) as node:`")
        return self._port

    @property
    def contact_points(self) -> list[str]:
        """The address to connect to."""
        return [self.address]

    @property
    def is_replay(self) -> bool:
        """False, because a real node responds."""
        return False

    def start(self) -> Recorder:
        """Start to listen on a free port.

        :raises RuntimeError: if the recorder is already running.
        :raises OSError: if the address is not available. The recorder can be started again.
        """
        if self._thread is not None:
            raise RuntimeError(f"the recorder of {self.path} is running already")
        thread = NodeThread("cassandra-recorder")
        try:
            # Port 0 lets the system choose a free port.
            listener = thread.bound_socket(self.address, 0)
        except BaseException:
            thread.stop()
            raise
        self._thread, self._listener = thread, listener
        self._port = listener.getsockname()[1]
        thread.call(thread.listen, listener, lambda: _ApplicationSide(self, thread.loop), None)
        return self

    def stop(self) -> Recording:
        """Close all connections, write the file, and return the recording.

        :raises RuntimeError: if the recorder is not running.
        :raises OSError: if the file cannot be written.
        :raises WireError: if the application or the node violated the protocol. Then no file is
            written.
        """
        recording = self._end()
        if self.faults:
            raise self.faults[0]
        recording.save(self.path)
        return recording

    def discard(self) -> None:
        """Close all connections without writing a file.

        :raises RuntimeError: if the recorder is not running.
        """
        self._end()

    def _end(self) -> Recording:
        """Close all connections, and return what was recorded."""
        thread, listener = self._thread, self._listener
        if thread is None or listener is None:
            raise RuntimeError(f"the recorder of {self.path} is not running")
        self._thread = None

        # asyncio's transports are not thread-safe, so close the connections in the recorder's
        # thread.
        def close() -> None:
            thread.stop_listening(listener)
            for link in list(self._links):
                link.abort()

        thread.call(close)
        thread.settle()
        thread.stop()
        # Leave out requests that got no response before the connections were closed.
        exchanges = [
            Exchange(meaning, *answer) for meaning, answer in self._entries if answer is not None
        ]
        return Recording(self.protocol_version, self.supported, exchanges, self.is_masked)

    def __enter__(self) -> Recorder:
        return self.start()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        # If the block has raised an exception, the recording is incomplete: do not write it.
        if error is None:
            self.stop()
        else:
            self.discard()

    # -- for its connections -----------------------------------------------------------------------

    def text_of(self, query_id: bytes) -> str | None:
        """Return the CQL of a prepared statement.

        :param query_id: the id that the node has assigned to the statement.
        """
        return self.texts.get(query_id)

    def add(self, meaning: Meaning) -> list[Any]:
        """Record a request.

        :param meaning: the meaning of the request.
        :returns: a list; the caller stores the response as the item 1 of this list.
        """
        entry = [meaning, None]
        self._entries.append(entry)
        return entry

    def add_event(self, envelope: Envelope) -> None:
        """Record an event.

        :param envelope: the event's message. The event is recorded once for each connection that
            gets it.
        """
        answer = (envelope.opcode, envelope.flags, envelope.body)
        self._entries.append([None, answer])


class _NodeSide(asyncio.Protocol):
    """The recorder's connection to the node.

    This class passes the node's bytes to the `_ApplicationSide` that has opened the connection.
    """

    def __init__(self, application_side: _ApplicationSide) -> None:
        self._application_side = application_side

    def data_received(self, data: bytes) -> None:
        self._application_side.on_node_data(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._application_side.close()


class _ApplicationSide(asyncio.Protocol):
    """The recorder's side of a connection from the application.

    This class forwards the bytes of both directions, and parses them.
    """

    def __init__(self, recorder: Recorder, loop: asyncio.AbstractEventLoop) -> None:
        self._recorder = recorder
        self._loop = loop
        self._transport: asyncio.Transport | None = None  # the connection to the application
        self._node: asyncio.Transport | None = None  # the connection to the node
        self._connecting: asyncio.Task[None] | None = None  # the task that connects to the node
        # The bytes that the application has sent before we were connected to the node.
        self._unsent: list[bytes] = []
        # One parser for the bytes from the application, and one for the bytes from the node.
        self._requests, self._answers = Sniffer(), Sniffer()
        # Maps a stream id to the request in flight on this stream, and the request's entry in the
        # recording. The entry is None if the request is not recorded.
        self._in_flight: dict[int, tuple[Request, list[Any] | None]] = {}
        self._keyspace: str | None = None
        self._failure: str | None = None  # why the node cannot be reached
        self._options: Mapping[str, str] = {}

    # -- attributes that `Request` needs -----------------------------------------------------------

    @property
    def node(self) -> SimpleNamespace:
        """Stands in for the `FakeNode` of a connection.

        This object only has the method `text_of`, which returns the CQL of prepared statements.
        """
        return SimpleNamespace(text_of=self._recorder.text_of)

    @property
    def has_metadata_ids(self) -> bool:
        """True if EXECUTE has the id of the result columns: in version 5, or by an extension."""
        return self._requests.is_framed or METADATA_IDS in self._options

    @property
    def has_tablet_versions(self) -> bool:
        """True if EXECUTE ends with a byte of the tablet's version, an extension of ScyllaDB."""
        return TABLET_VERSIONS in self._options

    # -- bytes -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._recorder._links.add(self)
        self._connecting = self._loop.create_task(self._connect())

    async def _connect(self) -> None:
        """Connect to the node, and forward the bytes that the application has sent so far."""
        host, port = self._recorder.upstream
        try:
            node, _ = await self._loop.create_connection(
                lambda: _NodeSide(self), host, port, ssl=self._recorder.ssl_context
            )
        except OSError as error:
            # Respond with the reason. If we only closed the connection, the driver's error would
            # suggest that the node expects TLS.
            self._failure = f"the node to record, {host}:{port}, cannot be reached: {error}"
            self._refuse_requests()
            return
        self._node = node
        node.writelines(self._unsent)
        self._unsent.clear()

    def data_received(self, data: bytes) -> None:
        """Forward bytes of the application to the node, and record the requests in them."""
        if self._node is None:
            self._unsent.append(data)
        else:
            self._node.write(data)
        self._parse_with(self._read_requests, data)
        if self._failure is not None:
            self._refuse_requests()

    def _refuse_requests(self) -> None:
        """Respond to all requests that the node cannot be reached, and close the connection."""
        if not self._in_flight:
            return  # `data_received` calls this method again for the first request
        body = int(ErrorCode.SERVER_ERROR).to_bytes(4, "big") + string(self._failure or "")
        for stream, (request, _) in self._in_flight.items():
            answer = Envelope(request.version, 0, stream, Opcode.ERROR, body)
            self._write(bytes_of(answer))
        self._in_flight.clear()
        self.close()

    def on_node_data(self, data: bytes) -> None:
        """Called when bytes from the node arrive."""
        self._parse_with(self._read_answers, data)

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _parse_with(self, read: Any, data: bytes) -> None:
        """Parse bytes by calling `read`.

        If the bytes violate the protocol, close both connections. `Recorder.stop` raises the error
        later.
        """
        try:
            read(data)
        except (WireError, UnicodeDecodeError) as error:
            self._recorder.faults.append(error)
            self.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Called when the application has disconnected: close the connection to the node."""
        self._recorder._links.discard(self)
        if self._connecting is not None:
            self._connecting.cancel()
        if self._node is not None:
            self._node.close()

    def close(self) -> None:
        """Close the connection to the application after everything is written."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close both connections immediately."""
        if self._connecting is not None:
            self._connecting.cancel()
        for transport in (self._transport, self._node):
            if transport is not None:
                transport.abort()

    # -- parsing -----------------------------------------------------------------------------------

    def _read_requests(self, data: bytes) -> None:
        """Parse the requests in bytes from the application, and record them."""
        self._requests.feed(data)
        while (envelope := self._requests.next()) is not None:
            version, flags, stream, opcode, body = envelope
            connection: Any = self  # stands in for a `ServerConnection`
            request = Request(connection, version, flags, stream, opcode, body, 0)
            entry = None
            if opcode == Opcode.STARTUP:
                request.parse()
                self._options = request.options
            elif opcode in ANSWERED:
                request.parse()
                self._recorder.protocol_version = version
                entry = self._recorder.add(
                    meaning_of(request, self._keyspace, self._recorder.is_masked)
                )
            self._in_flight[stream] = (request, entry)

    def _read_answers(self, data: bytes) -> None:
        """Parse the responses in bytes from the node, and forward them."""
        self._answers.feed(data)
        envelopes: list[bytes] = []  # messages that are forwarded together, and so share a frame
        was_framed = self._answers.is_framed
        while (envelope := self._answers.next()) is not None:
            if envelope.opcode == Opcode.SUPPORTED:
                # Remove compression from the options, because we could not parse compressed
                # messages.
                options = without_other_ports(read_supported(envelope.body))
                self._recorder.supported = options = {**options, "COMPRESSION": []}
                envelope = envelope._replace(body=supported_body(options))
            answer = with_own_address(
                (envelope.opcode, envelope.flags, envelope.body),
                self._recorder.address,
                self._recorder.port,
            )
            version, _, stream = envelope[:3]
            forwarded = Envelope(version, answer[1], stream, answer[0], answer[2])
            if was_framed:
                envelopes.append(bytes_of(forwarded))
            else:
                self._write(bytes_of(forwarded))
            self._on_answer(envelope)
            # Frames begin after this message. `_on_answer` has already parsed the bytes after it.
            if not was_framed and self._answers.is_framed:
                return
        if envelopes:
            self._write(pack(envelopes, compressed=False))

    def _on_answer(self, envelope: Envelope) -> None:
        """Record the response to a request; note frames, the keyspace and prepared statements."""
        if envelope.opcode == Opcode.EVENT:
            self._recorder.add_event(envelope)
            return
        # If no request waits on the response's stream, the response is forwarded, but not recorded.
        request, entry = self._in_flight.pop(envelope.stream, (None, None))
        if request is None:
            return
        answer = (envelope.opcode, envelope.flags, envelope.body)
        starts_session = envelope.opcode in (Opcode.READY, Opcode.AUTHENTICATE)
        if request.opcode == Opcode.STARTUP and request.version >= 5 and starts_session:
            # After the response to STARTUP, version 5 has frames in both directions
            # (native_protocol_v5.spec, section 2.3.1).
            self._requests.begin_frames()
            rest = self._answers.begin_frames()
            if rest:
                self._read_answers(rest)
        if entry is None:
            return
        entry[1] = answer
        for text in request.queries:
            entry[1] = answer_without_secrets(entry[1], text)
        if request.opcode == Opcode.PREPARE:
            query_id = prepared_id(*answer)
            if query_id is not None and request.query is not None:
                self._recorder.texts[query_id] = request.query
        self._keyspace = used_keyspace(*answer) or self._keyspace


Recorder.__module__ = "cassandra.testing"
