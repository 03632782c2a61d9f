"""One connection: an asyncio BufferedProtocol over the sans-IO frame reader and writer.

Requests of one loop turn are joined into one write. A request that is abandoned (client timeout,
cancellation) leaves an orphan: its stream id is not reused until the late answer has come. When the
connection closes, every request in flight fails at once with the cause. All methods run on the
engine's loop.
"""

from __future__ import annotations

import _socket
import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from cassandra.engine.compat_names import CompatConnection
from cassandra.engine.failures import as_exception
from cassandra.engine.keyspace_gate import depends_on_keyspace
from cassandra.errors import ConnectionException, ConnectionShutdown, ProtocolError
from cassandra.protocol.expected import check_answer
from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.messages.events import GRACEFUL_DISCONNECT
from cassandra.protocol.opcodes import EVENT, MAX_BODY, OPCODE_NAMES, RESULT
from cassandra.util.intervals import OncePerInterval

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.events import WakeQueue
    from cassandra.engine.keyspace_gate import KeyspaceGate
    from cassandra.engine.stream_table import WRITE_HIGH_WATER, StreamTable
    from cassandra.engine.tls import Handshake
    from cassandra.protocol import frame
    from cassandra.protocol.features import ProtocolFeatures
    from cassandra.protocol.frame import FrameReader, FrameWriter

    METADATA_IDS: int
    TABLET_VERSIONS: int
else:
    from cassandra._impl import bases, frame, happy_path

    # Bytes that the transport may hold before senders are held back.
    WRITE_HIGH_WATER = happy_path.WRITE_HIGH_WATER
    StreamTable = happy_path.StreamTable
    METADATA_IDS = happy_path.METADATA_IDS
    TABLET_VERSIONS = happy_path.TABLET_VERSIONS

log = logging.getLogger("cassandra.connection")

# The stream of events pushed by the server: no request can use it (native_protocol_v5.spec, EVENT).
EVENT_STREAM = -1
# Limit during the handshake, whose longest messages are the tokens of a login.
HANDSHAKE_MAX_BODY = 256 << 10  # bytes

# A read of this many bytes shows that the peer is alive, even if no answer is complete.
LARGE_PART = 512

COMPLAINT_INTERVAL = 60.0  # seconds between log lines about events that cannot be read

LONGEST_HOLD = 1.0  # seconds that another thread may hold the write lock; then we close
HOLD_INTERVAL = 0.001  # seconds between checks of that lock
SEGMENTS = "segments"

# The body of an EVENT begins with its type, a [string].
_GRACEFUL_DISCONNECT = len(GRACEFUL_DISCONNECT).to_bytes(2, "big") + GRACEFUL_DISCONNECT.encode()


def second_socket(sock: Any) -> _socket.socket:
    """Return a second socket object for the same connection, with its own descriptor."""
    # The transport may close its descriptor at any time; the number may then be another file's.
    descriptor = os.dup(sock.fileno())
    try:
        # Use the system's socket class even if greenlets have patched `socket`: a patched socket
        # would be closed by a hub that never runs in the engine's thread.
        duplicate = _socket.socket(sock.family, sock.type, sock.proto, descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    duplicate.setblocking(False)
    return duplicate


def wire_format_of(version: int, features: ProtocolFeatures | None) -> int:
    """Return the wire format, which decides how requests are rendered: the protocol version, and
    flags for the extensions that change a request's layout.
    """
    extensions = 0
    if version >= 5 or getattr(features, "use_metadata_id", False):
        extensions |= METADATA_IDS
    if getattr(features, "tablets_routing_v2", False):
        extensions |= TABLET_VERSIONS
    return version | extensions


def read_answer(
    connection: Connection,
    request_opcode: int,
    statement: str | None,
    opcode: int,
    flags: int,
    body: bytes,
) -> Any:
    """Decode the answer to one of the engine's internal requests; an ERROR is returned as well.

    :param request_opcode: the opcode of the request.
    :param statement: the CQL of the request if it is a QUERY.
    :raises ProtocolError: if the answer is malformed or does not fit the request; the connection is
        closed then.
    """
    try:
        response = decode_response(opcode, flags, body, connection.version, connection.features)
        kind = response.kind if opcode == RESULT else None
        check_answer(request_opcode, statement, opcode, kind, connection.endpoint)
    except ProtocolError as error:
        # After a malformed answer, nothing on this connection can be trusted.
        connection.close(error)
        raise
    return response


class Responder(Protocol):
    """An object that waits for the answer on a stream."""

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        """Called with the answer; its stream is free already."""

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        """Called when the connection is lost before the answer."""


class FutureResponder:
    """Resolves an asyncio future with the (opcode, flags, body) of an answer; for the control
    connection and other internal requests.
    """

    __slots__ = ("future", "stream")

    def __init__(self, future: asyncio.Future[tuple[int, int, bytes]]) -> None:
        self.future = future
        self.stream = -1

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        # The caller may have been cancelled in this loop turn, and then the future is done.
        if not self.future.done():
            self.future.set_result((opcode, flags, body))

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    def on_timeout(self) -> None:
        """Called when the time limit passes."""
        if not self.future.done():
            self.future.set_exception(asyncio.TimeoutError())


class Connection(CompatConnection, bases.ConnectionBase, asyncio.BufferedProtocol):
    """An open connection.

    `on_closed` is called once with the cause; `on_event` with the body of each EVENT.

    :param endpoint: the node's end point.
    :param version: the native protocol version to speak.
    :param loop: the loop that the connection belongs to.
    :param sockopts: tuples of arguments for ``socket.setsockopt``; None sets no options.
    """

    __slots__ = (
        "_agreed",
        "_complaints",
        "_held_up_since",
        "_loop",
        "_reader",
        "_received",
        "_transport",
        "_writer",
        "answered_before",
        "close_error",
        "closed",
        "endpoint",
        "features",
        "gate",
        "is_control_connection",
        "is_draining",
        "is_given_up",
        "is_reached",
        "keyspace",
        "last_activity",
        "left_text_behind",
        "on_closed",
        "on_draining",
        "on_event",
        "on_given_up",
        "on_lost",
        "on_made",
        "on_orphan",
        "on_room",
        "peer_version",
        "sockopts",
        "tls",
        "wake_queue",
    )

    def __init__(
        self,
        endpoint: EndPoint,
        version: int,
        loop: asyncio.AbstractEventLoop,
        sockopts: Sequence[tuple[Any, ...]] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.version = version
        self.peer_version = version
        self.features: ProtocolFeatures | None = None
        self.wire_format = wire_format_of(version, None)
        self.keyspace: str | None = None
        self.gate: KeyspaceGate | None = None  # set while the keyspace changes
        # True if abandoned requests that depend on the connection's keyspace may yet be executed.
        self.left_text_behind = False
        self.is_given_up = False
        self.is_draining = False  # the server will close it soon: no new requests
        self.sockopts = sockopts
        self.closed = False
        self.close_error: Exception | None = None
        self.tls: Handshake | None = None
        self.is_control_connection = False
        self.answered_before = False  # True if other connections to the host were opened
        self.is_reached = False  # the TCP connection is open; TLS may be outstanding
        self.last_activity = 0.0
        self.on_closed: Callable[[Connection, Exception | None], None] | None = None
        self.on_draining: Callable[[Connection], None] | None = None
        self.on_made: Callable[[Connection], None] | None = None
        self.on_lost: Callable[[Connection], None] | None = None
        self.on_event: Callable[[int, int, bytes], None] | None = None
        self.on_room: Callable[[Connection], None] | None = None
        self.on_orphan: Callable[[Connection], None] | None = None
        self.on_given_up: Callable[[Connection, str], None] | None = None
        self.wake_queue: WakeQueue | None = None  # of user threads that wait for answers
        self._loop = loop
        self._reader: FrameReader = frame.FrameReader(0, HANDSHAKE_MAX_BODY)
        self._writer: FrameWriter = frame.FrameWriter(version)
        self.streams = StreamTable(self._writer, loop.call_soon, self._flush)
        self._agreed: list[str | None] = []  # compression and segments, for the second writer
        # since when another thread has held the write lock
        self._held_up_since: float | None = None
        self._received = False
        self._complaints: OncePerInterval | None = None
        self._transport: asyncio.Transport | None = None

    # -- state -------------------------------------------------------------------------------------

    @property
    def in_flight(self) -> int:
        """Streams in use, including those of orphans."""
        return self.streams.in_flight

    @property
    def orphans(self) -> int:
        """Abandoned requests whose answers have not come yet."""
        return self.streams.orphans

    @property
    def has_room(self) -> bool:
        """True if a request may be sent now: open, with a free stream, and not throttled."""
        return self.streams.has_room

    @property
    def is_open_to_requests(self) -> bool:
        """True unless the connection is closed, given up, or draining."""
        return not (self.closed or self.is_given_up or self.is_draining)

    @property
    def is_connected(self) -> bool:
        """True if the transport was ever connected."""
        return self._transport is not None

    @property
    def received_anything(self) -> bool:
        """True if a complete answer has ever come."""
        return self._received

    @property
    def stream_limit(self) -> int:
        """The greatest number of streams at a time."""
        return self.streams.limit

    def set_stream_limit(self, limit: int) -> None:
        """Use at most `limit` streams.

        :param limit: 1 to 32,768.
        """
        self.streams.limit = limit

    # -- sending -----------------------------------------------------------------------------------

    def send(self, responder: Responder, opcode: int, flags: int, body: bytes) -> int:
        """Queue one request, to be written at the end of this loop turn, and return its stream.

        The caller has checked `has_room`. If an error is raised, nothing was queued.

        :param responder: the object whose ``on_response`` receives the answer.
        :param opcode: the message's opcode.
        :param flags: the header's flags.
        :param body: the body, not compressed.
        :raises ConnectionShutdown: if the connection is closed.
        :raises ValueError: if the body exceeds the protocol's limit.
        """
        stream = -1 if self.closed else self.streams.send(responder, opcode, flags, body)
        if stream < 0:
            raise self.refusal()
        return stream

    def refusal(self) -> Exception:
        """Return an error that says why nothing can be sent: closed, draining, or no free
        stream.
        """
        if self.closed:
            return self._shutdown_error()
        if self.is_draining:
            reason = "takes no new requests: its server will close it soon (GRACEFUL_DISCONNECT)"
        elif self.is_given_up:
            reason = "is being replaced"
        else:
            reason = "has no free stream"
        return ConnectionShutdown(f"connection to {self.endpoint} {reason}", self.endpoint)

    def _flush(self) -> None:
        streams = self.streams
        # Disarm first: requests that `on_room` sends below need another flush.
        streams.armed = None
        if self._transport is None or self.closed:
            return
        if not streams.acquire_write():
            self._flush_later()
            return
        self._held_up_since = None
        try:
            data = self._writer.take()
            rest = streams.rest
            if rest is not None:  # the rest of a frame that was sent in part
                streams.rest = None
                data = rest + data
            if data:
                # User threads may write again only once all these bytes are sent.
                # `buffer_updated` checks that later.
                streams.settled = False
                self._transport.write(data)
        finally:
            streams.release_write()
        # We held senders back, not the transport, so `resume_writing` will not wake them.
        if not streams.paused and self.on_room is not None and len(data) >= WRITE_HIGH_WATER:
            self.on_room(self)

    def _flush_later(self) -> None:
        """Try again shortly: another thread holds the write lock, perhaps interrupted by a
        signal.
        """
        now = self._loop.time()
        if self._held_up_since is None:
            self._held_up_since = now
        if now - self._held_up_since < LONGEST_HOLD:
            self.streams.armed = self._loop.call_later(HOLD_INTERVAL, self._flush)
        else:
            # We cannot wait longer: a signal handler may have interrupted the thread, and wait for
            # this loop.
            reason = "a thread that writes was interrupted, and does not go on"
            self.close(
                ConnectionException(f"connection to {self.endpoint}: {reason}", self.endpoint)
            )

    def write_directly(self) -> None:
        """Let other threads write to the socket while nothing is in flight.

        Must be called before other threads get the connection. Does nothing where direct writes are
        impossible, for example with TLS.
        """
        transport = self._transport
        if transport is None or self.closed or self.tls is not None or sys.platform == "win32":
            return
        sock = transport.get_extra_info("socket")
        if sock is None:
            return
        try:
            own_socket = second_socket(sock)
        except OSError as error:  # no free descriptor
            log.debug("%r is written to by its loop only: %s", self, error)
            return
        writer: FrameWriter = frame.FrameWriter(self.version)
        for algorithm in self._agreed:
            if algorithm == SEGMENTS:
                writer.enable_segments()
            else:
                writer.set_compression(algorithm)
        streams = self.streams
        streams.open_direct(own_socket, writer, self._loop.call_soon_threadsafe, self._on_broken)
        streams.settled = streams.could_settle and not transport.get_write_buffer_size()

    def _on_broken(self, number: int) -> None:
        """Called if a thread failed to write, or was interrupted with a frame sent in part."""
        why = os.strerror(number) if number else "a request was written in part"
        self.close(
            ConnectionException(f"connection to {self.endpoint} broke: {why}", self.endpoint)
        )

    def close_if_idle(self) -> None:
        """Close, unless a caller waits for a request in flight."""
        # Hold the write lock, so that no thread can write between the check and the close.
        is_held = self.streams.acquire_write()
        try:
            is_idle = self.in_flight == self.orphans
            self.streams.settled = False
        finally:
            if is_held:
                self.streams.release_write()
        if is_idle:
            self.close()

    async def request(
        self, opcode: int, body: bytes, timeout: float | None, flags: int = 0
    ) -> tuple[int, int, bytes]:
        """Send one request and wait for its (opcode, flags, body).

        :param opcode: the message's opcode.
        :param body: the body, not compressed.
        :param timeout: seconds.
        :param flags: the header's flags.
        :param flags: the header's flags.
        :raises TimeoutError: after `timeout` seconds.
        """
        responder = FutureResponder(self._loop.create_future())
        responder.stream = self.send(responder, opcode, flags, body)
        # We avoid asyncio.wait_for: before Python 3.12 it swallows a cancellation that comes
        # together with the answer, and a loop over many requests (pages, for example) would never
        # end.
        timer = (
            self._loop.call_later(timeout, responder.on_timeout) if timeout is not None else None
        )
        try:
            return await responder.future
        except (asyncio.TimeoutError, asyncio.CancelledError):
            # The answer may still come, so the stream must not be reused yet.
            self.abandon(responder.stream, responder)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def abandon(self, stream: int, responder: Responder) -> None:
        """Give up the answer on `stream`; the stream stays taken until the answer comes.

        :param stream: the number of the stream.
        :param responder: the responder that was passed to `send`.
        """
        if not self.streams.abandon(stream, responder):
            return
        request = getattr(responder, "request", None)
        if request is not None and request.request_body.is_use:
            # The server executes the USE although nobody reads the answer.
            self.give_up("a USE on it was abandoned")
        elif depends_on_keyspace(self, responder):
            self.left_text_behind = True
        if self.gate is not None:
            self.gate.notify()
        if self.on_orphan is not None:
            self.on_orphan(self)

    def give_up(self, why: str) -> None:
        """Take no further requests, because the connection's keyspace is no longer certain.

        Prepared statements in flight are still answered. The connection's pool replaces it; a
        connection without a pool is closed.

        :param why: the reason; it completes a sentence that begins with the connection.
        """
        if self.is_given_up or self.closed:
            return
        self.is_given_up = True
        if self.on_given_up is not None:
            self.on_given_up(self, why)
        else:
            self.close(ConnectionException(f"connection to {self.endpoint}: {why}", self.endpoint))
        if self.gate is not None:
            self.gate.notify()

    def start_draining(self) -> None:
        """Take no further requests, because the server will close the connection soon (CEP-59).

        Requests in flight are still answered. Repeated calls do nothing: a server may send its
        event twice.
        """
        if self.is_draining or self.closed:
            return
        self.is_draining = True
        if self.on_draining is not None:
            self.on_draining(self)
        if self.gate is not None:
            self.gate.notify()

    def pause_writing(self) -> None:
        self.streams.paused = True

    def resume_writing(self) -> None:
        self.streams.paused = False
        # Requests wait in the pool, which must be notified.
        if self.on_room is not None:
            self.on_room(self)

    # -- receiving ---------------------------------------------------------------------------------

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._reader.get_buffer(sizehint)

    def buffer_updated(self, nbytes: int) -> None:
        wake_queue = self.wake_queue
        if wake_queue is None:
            self._take_bytes(nbytes)
            return
        wake_queue.is_gathering = True
        try:
            self._take_bytes(nbytes)
        finally:
            wake_queue.wake()

    def _take_bytes(self, nbytes: int) -> None:
        try:
            envelopes = self._reader.buffer_updated(nbytes)
        except Exception as error:  # every malformed frame ends the connection, with its cause
            self.close(
                error
                if isinstance(error, ProtocolError)
                else ProtocolError(f"{self.endpoint}: {error}")
            )
            return
        if envelopes:
            self._received = True
            streams = self.streams
            streams.dispatch(self, envelopes)
            # An answer may have closed the connection; nothing may be sent then.
            if self.closed:
                return
            # A server may answer a request before it has received all of its bytes.
            if (
                not streams.settled
                and streams.could_settle
                and self._transport is not None
                and not self._transport.get_write_buffer_size()
            ):
                streams.settled = True
        # A large part of an incomplete answer is activity too. A peer that drips single bytes is
        # not active: it may be stuck, and only the heartbeat would find out.
        if envelopes or nbytes >= LARGE_PART:
            self.last_activity = self._loop.time()
        if self.gate is not None:
            self.gate.notify()
        if self.on_room is not None:
            self.on_room(self)

    def on_unsolicited(self, stream: int, opcode: int, flags: int, body: bytes) -> None:
        """Handle a message on a stream without a request: an event, or a protocol violation.

        :param stream: the number of the stream; events have -1.
        :param opcode: the message's opcode.
        :param flags: the header's flags.
        :param body: the body, decompressed.
        """
        if stream == EVENT_STREAM and opcode != EVENT:
            name = OPCODE_NAMES.get(opcode, opcode)
            self.close(ProtocolError(f"{self.endpoint} sent a {name} message as an event"))
        elif stream != EVENT_STREAM:
            # The two sides disagree about streams: answers may reach the wrong requests.
            self.close(
                ProtocolError(
                    f"{self.endpoint} answered on stream {stream}, on which nothing was asked"
                )
            )
        elif self._announces_close(body):
            self.start_draining()
        elif self.on_event is not None:
            try:
                self.on_event(opcode, flags, body)
            except Exception as error:
                self._complain(opcode, body, error)

    def _announces_close(self, body: bytes) -> bool:
        """Return True if an event is the GRACEFUL_DISCONNECT that this connection
        registered for.
        """
        features = self.features
        return (
            features is not None
            and features.graceful_disconnect
            and body.startswith(_GRACEFUL_DISCONNECT)
        )

    def _complain(self, opcode: int, body: bytes, error: Exception) -> None:
        """Log that an event could not be processed, at most once per interval."""
        if self._complaints is None:
            self._complaints = OncePerInterval(COMPLAINT_INTERVAL, self._loop.time)
        missed = self._complaints.missed
        if self._complaints.is_due():
            log.warning(
                "an event of %s could not be processed (%d more since the last such line): "
                "%s: %s (opcode %d, %d bytes)",
                self.endpoint, missed, type(error).__name__, error, opcode, len(body),
            )  # fmt: skip
        log.debug("the event was %r", body[:200], exc_info=error)

    # -- the transport's life ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self.on_made is not None:
            self.on_made(self)
        # asyncio's default limit, 64 KiB, would pause senders after a few frames.
        self._transport.set_write_buffer_limits(high=WRITE_HIGH_WATER)
        sock = transport.get_extra_info("socket")
        # Frames of one loop turn are joined already, so Nagle's algorithm would only delay them.
        # Sockets of other families reject the option.
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A simulated transport has no socket.
        if sock is not None:
            for option in self.sockopts or ():
                sock.setsockopt(*option)
        self.last_activity = self._loop.time()

    def eof_received(self) -> bool:
        return False  # close the transport: a half-open connection is useless

    def connection_lost(self, exc: Exception | None) -> None:
        if self.on_lost is not None:
            self.on_lost(self)
        reason = "was closed by the server"
        if exc is not None:
            # With TLS 1.3, a server refuses the client's certificate only after the handshake.
            why = self.tls.reason(exc) if self.tls is not None and not self._received else None
            reason = f"broke: {why or exc}"
        elif not self._received:
            reason += " before it said anything"
        # A host that has answered before does not expect TLS: it stops, or is overloaded.
        if not self._received and self.tls is None and not self.answered_before:
            reason += ": does it expect TLS on this port?"
        error = ConnectionException(f"connection to {self.endpoint} {reason}", self.endpoint)
        error.__cause__ = exc
        self.close(error)

    def close(self, error: Exception | None = None) -> None:
        """Close at once; every request in flight fails with `error`. Repeated calls do nothing.

        :param error: the cause; None if the driver closes the connection on purpose.
        """
        if self.closed:
            return
        streams = self.streams
        is_held = streams.acquire_write()
        # Set this first: the responders below must find the connection closed.
        self.closed = True
        self.close_error = error
        streams.closed = True
        # The thread that held the write lock may have released it before it could see `closed`.
        if is_held or streams.acquire_write():
            streams.release_write()
        if streams.armed is not None:
            streams.armed.cancel()
            streams.armed = None
        if self._transport is not None:
            if error is None:
                self._transport.close()
            else:
                # A graceful close would first send the rest, and wait for a peer that does not
                # read.
                self._transport.abort()
        responders = streams.take_all()
        if responders:
            cause = self._shutdown_error()
            for responder in responders:
                try:
                    responder.on_connection_lost(self, cause)
                except BaseException as fault:
                    # An error in one request's own code must not keep the others from being
                    # notified.
                    log.exception(
                        "a request on %s could not be told that its connection is lost",
                        self.endpoint,
                    )
                    failure = as_exception(fault)
                    request = getattr(responder, "request", None)
                    if request is not None:
                        request.fail(failure)
        if self.gate is not None:
            self.gate.notify()
        if self.on_closed is not None:
            self.on_closed(self, error)

    def abort(self) -> None:
        """Drop the transport, instead of waiting for the peer to acknowledge `close`."""
        if self._transport is not None:
            self._transport.abort()

    def _shutdown_error(self) -> Exception:
        if isinstance(self.close_error, ConnectionException):
            return self.close_error
        if self.close_error is None:
            return ConnectionShutdown(f"connection to {self.endpoint} is closed", self.endpoint)
        error = ConnectionShutdown(
            f"connection to {self.endpoint} was closed: {self.close_error}", self.endpoint
        )
        error.__cause__ = self.close_error
        return error

    def use_features(self, features: ProtocolFeatures) -> None:
        """Called at the end of the handshake with the protocol extensions that both sides speak.

        :param features: the extensions that both sides speak.
        """
        self.features = features
        # The peer has shown that it speaks the protocol: lift the handshake's limit.
        self._reader.set_max_body(MAX_BODY)
        self.wire_format = wire_format_of(self.version, features)

    # -- set by the handshake ----------------------------------------------------------------------

    def use_compression(self, algorithm: str | None) -> None:
        """Compress frames from the next one on ("lz4", "snappy").

        :param algorithm: the algorithm's name; None for no compression.
        """
        self._reader.set_compression(algorithm)
        self._writer.set_compression(algorithm)
        self._agreed.append(algorithm)

    def use_segments(self) -> None:
        """Use checksummed segments from the next byte on, in both directions
        (native_protocol_v5.spec, section 2.1).
        """
        self._reader.enable_segments()
        self._writer.enable_segments()
        self._agreed.append(SEGMENTS)

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"v{self.version}, {self.in_flight} in flight"
        return f"<Connection to {self.endpoint}: {state}>"
