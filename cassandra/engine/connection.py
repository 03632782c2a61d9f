"""One connection to a node: an asyncio BufferedProtocol with a frame reader and a frame writer.

The connection passes received bytes to the frame reader, and sends the bytes that the frame writer
has encoded. The reader and the writer do no I/O themselves.

Requests of one loop iteration are joined into one write. If a caller abandons a request (client
timeout, cancellation), the request becomes an orphan: its stream id is not reused until the late
response has come. When the connection closes, every request in flight fails at once with the cause.
All methods run on the engine's loop.
"""

from __future__ import annotations

import _socket
import asyncio
import os
import socket
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from cassandra._error_copies import copy_of
from cassandra._logs import Log
from cassandra.engine.compat_names import CompatConnection
from cassandra.engine.failures import as_exception
from cassandra.engine.keyspace_gate import depends_on_keyspace
from cassandra.engine.output_progress import NO_OUTPUT, OutputState, output_state
from cassandra.errors import ConnectionException, ConnectionShutdown, ProtocolError, UnknownContent
from cassandra.protocol.expected import check_answer
from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.messages.events import GRACEFUL_DISCONNECT
from cassandra.protocol.opcodes import EVENT, MAX_BODY, OPCODE_NAMES, RESULT
from cassandra.util.intervals import OncePerInterval

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.engine.attempts import Attempt
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

    # While more than WRITE_HIGH_WATER bytes wait to be written, `has_room` is False and no requests
    # are sent.
    WRITE_HIGH_WATER = happy_path.WRITE_HIGH_WATER
    StreamTable = happy_path.StreamTable
    METADATA_IDS = happy_path.METADATA_IDS
    TABLET_VERSIONS = happy_path.TABLET_VERSIONS

log = Log("cassandra.connection")

# The stream id of events that the server pushes. No request uses it (native_protocol_v5.spec,
# section 4.2.6, EVENT).
EVENT_STREAM = -1
# The longest message body, in bytes, that is accepted during the handshake. Handshake messages are
# short; the longest handshake messages contain authentication tokens.
HANDSHAKE_MAX_BODY = 256 << 10

# A read of at least this many bytes counts as activity of the peer, even if it completes no
# response. The heartbeat checks connections without activity.
LARGE_PART = 512  # bytes

# A TLS connection that we close waits this long for the peer to end its stream, too. Cassandra
# often does not do so.
GOODBYE_TIMEOUT = 0.5  # seconds

COMPLAINT_INTERVAL = 60.0  # seconds between warnings about events that we failed to process

# How often the loop checks whether user threads still read the responses of a connection, if they
# read them instead of the loop (see `StreamTable.lend`).
LENT_CHECK = 0.05  # seconds

# If a user thread holds a connection's write lock for longer than this, the engine closes the
# connection.
LONGEST_HOLD = 1.0  # seconds
HOLD_INTERVAL = 0.001  # seconds between attempts to get the write lock
SEGMENTS = "segments"  # the entry for `use_segments` in `Connection._frame_options`

# Ports of nodes that are not for clients.
_OTHER_PORTS: dict[Any, str] = {
    7000: "for the other nodes",
    7001: "for the other nodes",
    7199: "for JMX",
    9160: "for Thrift",
}
# The body of an EVENT begins with its type, a [string].
_GRACEFUL_DISCONNECT = len(GRACEFUL_DISCONNECT).to_bytes(2, "big") + GRACEFUL_DISCONNECT.encode()


def second_socket(sock: Any) -> _socket.socket:
    """Return a second socket object for the same connection, with its own descriptor."""
    # The copy needs its own descriptor: the transport may close the original at any time, and the
    # system may then give the same number to another file.
    descriptor = os.dup(sock.fileno())
    try:
        # Use the system's socket class even if gevent or eventlet has patched `socket`: a patched
        # socket is closed by the library's hub, and no hub runs in the engine's thread.
        duplicate = _socket.socket(sock.family, sock.type, sock.proto, descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    duplicate.setblocking(False)
    return duplicate


def wire_format_of(version: int, features: ProtocolFeatures | None) -> int:
    """Return the protocol version, plus a flag for each extension that changes the request layout.

    A request that was rendered (encoded) once can be sent on all connections with the same wire
    format.
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
    """Decode the response to one of the engine's internal requests.

    An ERROR message is returned, not raised.

    :param request_opcode: the opcode of the request.
    :param statement: the CQL of the request if it is a QUERY.
    :raises UnknownContent: if the response has something that this driver does not know.
    :raises ProtocolError: if the response is malformed or does not fit the request; the connection
        is closed then.
    """
    try:
        response = decode_response(opcode, flags, body, connection.version, connection.features)
        kind = response.kind if opcode == RESULT else None
        check_answer(request_opcode, statement, opcode, kind, connection.endpoint)
    except UnknownContent:
        raise
    except ProtocolError as error:
        # After a malformed response, nothing on this connection can be trusted.
        connection.close(error)
        raise
    return response


class Responder(Protocol):
    """An object that waits for the response on a stream."""

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        """Called with the response. Its stream has been freed and may be used again."""

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        """Called when the connection is lost before the response has come."""


class FutureResponder:
    """Sets the (opcode, flags, body) of a response as the result of an asyncio future.

    The driver's internal requests use it, for example those of the control connection.
    """

    __slots__ = ("future", "stream")

    def __init__(self, future: asyncio.Future[tuple[int, int, bytes]]) -> None:
        self.future = future
        self.stream = -1

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        # The future is done already if the caller was cancelled in this loop iteration.
        if not self.future.done():
            self.future.set_result((opcode, flags, body))

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    def on_timeout(self) -> None:
        """Called when the request's time limit has passed: fail with TimeoutError soon.

        If the loop did not run for a while, the response may wait in the socket, because uvloop
        calls its timers before it reads. So let the loop read first, which takes two iterations.
        """
        loop = self.future.get_loop()
        loop.call_soon(loop.call_soon, self._time_out)

    def _time_out(self) -> None:
        if not self.future.done():
            self.future.set_exception(asyncio.TimeoutError())


class Connection(CompatConnection, bases.ConnectionBase, asyncio.BufferedProtocol):
    """A connection to a node.

    The owner (a pool or the control connection) sets the callbacks. `on_closed` is called once with
    the connection and the cause. `on_event` is called with the opcode, flags and body of each EVENT
    message.

    :param endpoint: the node's end point.
    :param version: the native protocol version to speak.
    :param loop: the loop that the connection belongs to.
    :param sockopts: tuples of arguments for ``socket.setsockopt``; None sets no options.
    """

    __slots__ = (
        "__weakref__",
        "_complaints",
        "_frame_options",
        "_goodbye",
        "_held_up_since",
        "_is_lost",
        "_lent_check",
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
        "ip_address",
        "is_at_other_address",
        "is_control_connection",
        "is_draining",
        "is_given_up",
        "is_reached",
        "keyspace",
        "last_activity",
        "left_text_behind",
        "missing_tables",
        "on_closed",
        "on_draining",
        "on_event",
        "on_given_up",
        "on_lost",
        "on_made",
        "on_orphan",
        "on_room",
        "peer_version",
        "port_hint",
        "prepares",
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
        # The protocol version of the server's last message. Only the response to STARTUP may have
        # another version than `version`.
        self.peer_version = version
        # The protocol extensions that both sides support; None until the end of the handshake.
        self.features: ProtocolFeatures | None = None
        self.wire_format = wire_format_of(version, None)
        # The PREPAREs of requests whose statements the server did not know, by CQL and keyspace;
        # see `reprepare`.
        self.prepares: dict[tuple[str, str | None], Any] = {}
        # The keyspace that the last USE on this connection has set; None before the first USE.
        self.keyspace: str | None = None
        # The task that holds requests until the connection is in their keyspace; None if no request
        # waits. `notify` lets the task check again: after a response, or if this connection takes
        # no more requests.
        self.gate: KeyspaceGate | None = None
        # True if a caller has abandoned a request with unqualified table names. The server may
        # execute that request later, so the keyspace of this connection must not change.
        self.left_text_behind = False
        # True if we do not know for certain in which keyspace the connection is. The connection
        # then takes no new requests.
        self.is_given_up = False
        # The names of optional schema tables that the node does not have; see `SchemaReader`.
        self.missing_tables: frozenset[str] = frozenset()
        # True if the server has announced (by GRACEFUL_DISCONNECT) that it will close the
        # connection soon. The connection then takes no new requests.
        self.is_draining = False
        self.sockopts = sockopts
        self.closed = False
        self.close_error: Exception | None = None  # None if the driver has closed it on purpose
        self.tls: Handshake | None = None  # None without TLS
        self.is_control_connection = False
        self.answered_before = False  # True if earlier connections to the host were answered
        # Returns a hint for the error message if the connection may have used a port with TLS
        # without TLS, or the other way round; "" if there is no hint.
        self.port_hint: Callable[[], str] = str
        # The IP address of the server, once TCP is connected; None for a Unix socket.
        self.ip_address: str | None = None
        # True if the host name of the end point also has the address at which its node was reached
        # before. This connection may have reached another node.
        self.is_at_other_address = False
        self._is_lost = False  # True once the transport has closed
        # The end of the wait for the peer; see GOODBYE_TIMEOUT.
        self._goodbye: asyncio.TimerHandle | None = None
        self.is_reached = False  # True once TCP is connected; the TLS handshake may still run
        # The loop's time when bytes that count as activity were last received; see `LARGE_PART`.
        self.last_activity = 0.0
        # Callbacks of the owner, which is a pool or the control connection; None if the owner does
        # not need them.
        # `on_made` and `on_lost` are called when the transport is connected, and when it is closed.
        # `on_draining` is called when the server has announced that it will close the connection.
        # `on_room` is called when streams may have become free, `on_orphan` when a request was
        # abandoned. `give_up` calls `on_given_up` with the reason. The docstring of the class
        # explains `on_closed` and `on_event`.
        self.on_closed: Callable[[Connection, Exception | None], None] | None = None
        self.on_draining: Callable[[Connection], None] | None = None
        self.on_made: Callable[[Connection], None] | None = None
        self.on_lost: Callable[[Connection], None] | None = None
        self.on_event: Callable[[int, int, bytes], None] | None = None
        self.on_room: Callable[[Connection], None] | None = None
        self.on_orphan: Callable[[Connection], None] | None = None
        self.on_given_up: Callable[[Connection, str], None] | None = None
        # Wakes user threads that wait for responses; None if no user threads wait, as in the
        # asyncio API.
        self.wake_queue: WakeQueue | None = None
        self._loop = loop
        self._reader: FrameReader = frame.FrameReader(0, HANDSHAKE_MAX_BODY)
        self._writer: FrameWriter = frame.FrameWriter(version)
        self.streams = StreamTable(self._writer, loop.call_soon, self._flush)
        # The calls of `use_compression` and `use_segments` in their order: the name of an algorithm
        # (None for no compression), or SEGMENTS. `write_directly` applies them to its own frame
        # writer.
        self._frame_options: list[str | None] = []
        # The loop's time when `_flush` first failed to get the write lock, because another thread
        # holds it; None since `_flush` got the lock.
        self._held_up_since: float | None = None
        # The timer of `_check_lent`. Set while reading is lent, which means that user threads
        # instead of the loop read the responses; else None.
        self._lent_check: asyncio.TimerHandle | None = None
        self._received = False  # True if the peer has sent at least one complete message
        # Limits warnings about events that we failed to process; None before the first warning.
        self._complaints: OncePerInterval | None = None
        self._transport: asyncio.Transport | None = None  # None until it is connected

    # -- state -------------------------------------------------------------------------------------

    @property
    def in_flight(self) -> int:
        """The number of streams in use, including the streams of orphans."""
        return self.streams.in_flight

    @property
    def orphans(self) -> int:
        """The number of abandoned requests whose responses have not come yet."""
        return self.streams.orphans

    @property
    def has_room(self) -> bool:
        """True if a request may be sent now.

        The connection must be open, have a free stream, and not wait for the socket to become
        writable.
        """
        return self.streams.has_room

    @property
    def is_open_to_requests(self) -> bool:
        """True if the connection is not closed, not given up and not draining."""
        return not (self.closed or self.is_given_up or self.is_draining)

    @property
    def is_connected(self) -> bool:
        """True if the transport was ever connected."""
        return self._transport is not None

    @property
    def output(self) -> OutputState:
        """How much of what was sent has arrived."""
        return NO_OUTPUT if self._transport is None else output_state(self._transport)

    @property
    def received_anything(self) -> bool:
        """True if the peer has sent at least one complete message."""
        return self._received

    @property
    def stream_limit(self) -> int:
        """The maximum number of streams in use at the same time."""
        return self.streams.limit

    def set_stream_limit(self, limit: int) -> None:
        """Use at most `limit` streams.

        :param limit: 1 to 32,768.
        """
        self.streams.limit = limit

    # -- sending -----------------------------------------------------------------------------------

    def send(self, responder: Responder, opcode: int, flags: int, body: bytes) -> int:
        """Queue one request and return its stream.

        The request is written at the end of this loop iteration. The caller must have checked
        `has_room`. If an error is raised, nothing was queued.

        :param responder: the object whose ``on_response`` receives the response.
        :param opcode: the message's opcode.
        :param flags: the header's flags.
        :param body: the body, not compressed.
        :raises ConnectionShutdown: if the connection is closed.
        :raises ValueError: if the body exceeds the protocol's limit.
        """
        # `streams.send` returns -1 if the request cannot be sent.
        stream = -1 if self.closed else self.streams.send(responder, opcode, flags, body)
        if stream < 0:
            raise self.refusal()
        return stream

    def refusal(self) -> Exception:
        """Return an error that says why the connection takes no request.

        The connection may be closed, draining or given up, or have no free stream.
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
        """Write all queued requests.

        Runs once at the end of a loop iteration in which requests were queued.
        """
        streams = self.streams
        # Clear `armed`, the handle of this scheduled call, first: requests that `on_room` sends
        # below must schedule another flush.
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
            # If a user thread has written only the beginning of a frame, write the rest of that
            # frame first.
            if rest is not None:
                streams.rest = None
                data = rest + data
            if data:
                # Until the transport has sent all these bytes, user threads must not write to the
                # socket. `_take_bytes` checks later whether they were sent, and sets `settled`
                # again.
                streams.settled = False
                self._transport.write(data)
        finally:
            streams.release_write()
        # While WRITE_HIGH_WATER bytes are queued, `has_room` is False, so requests may wait in the
        # pool. The transport does not know that limit and will not call `resume_writing`, so notify
        # the pool here.
        if not streams.paused and self.on_room is not None and len(data) >= WRITE_HIGH_WATER:
            self.on_room(self)

    def _flush_later(self) -> None:
        """Schedule another flush, because another thread holds the write lock.

        That thread may have been interrupted by a signal handler. If it holds the lock for longer
        than LONGEST_HOLD, the connection is closed.
        """
        now = self._loop.time()
        if self._held_up_since is None:
            self._held_up_since = now
        if now - self._held_up_since < LONGEST_HOLD:
            self.streams.armed = self._loop.call_later(HOLD_INTERVAL, self._flush)
        else:
            # Do not wait longer: the signal handler may itself be waiting for this loop (a
            # deadlock).
            reason = "a thread that writes was interrupted, and does not go on"
            self.close(
                ConnectionException(f"connection to {self.endpoint}: {reason}", self.endpoint)
            )

    def write_directly(self) -> None:
        """Let user threads write to the socket themselves while no request is in flight.

        Must be called before other threads can see the connection. Does nothing if direct writes
        are impossible, for example with TLS.
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
        # User threads need their own frame writer, with the same compression and segments.
        writer: FrameWriter = frame.FrameWriter(self.version)
        for algorithm in self._frame_options:
            if algorithm == SEGMENTS:
                writer.enable_segments()
            else:
                writer.set_compression(algorithm)
        streams = self.streams
        streams.open_direct(own_socket, writer, self._loop.call_soon_threadsafe, self._on_broken)
        # User threads may write at once if no request is in flight and the transport has sent all
        # bytes.
        streams.settled = streams.could_settle and not transport.get_write_buffer_size()

    def _on_broken(self, error_number: int) -> None:
        """Close the connection after a user thread's write failed or wrote only a part of a frame.

        :param error_number: the errno of the failed write; 0 if the thread was interrupted.
        """
        reason = os.strerror(error_number) if error_number else "a request was written in part"
        self.close(
            ConnectionException(f"connection to {self.endpoint} broke: {reason}", self.endpoint)
        )

    def close_if_idle(self) -> None:
        """Close the connection if no request is in flight (orphans do not count)."""
        # While we hold the write lock, no user thread can send a request. With `settled` False, no
        # thread writes to the socket itself after we release the lock. So no request can be sent
        # between the check and the close.
        has_write_lock = self.streams.acquire_write()
        try:
            is_idle = self.in_flight == self.orphans
            self.streams.settled = False
        finally:
            if has_write_lock:
                self.streams.release_write()
        if is_idle:
            self.close()

    async def request(
        self, opcode: int, body: bytes, timeout: float | None, flags: int = 0
    ) -> tuple[int, int, bytes]:
        """Send one request, wait for its response, and return the response's (opcode, flags, body).

        :param opcode: the message's opcode.
        :param body: the body, not compressed.
        :param timeout: seconds to wait for the response; None for no limit.
        :param flags: the header's flags.
        :raises TimeoutError: after `timeout` seconds.
        """
        responder = FutureResponder(self._loop.create_future())
        responder.stream = self.send(responder, opcode, flags, body)
        # Do not use asyncio.wait_for: before Python 3.12 it swallows a cancellation that comes
        # together with the response. A cancelled caller that sends many requests in a loop, for
        # example for pages, would then continue.
        timer = (
            self._loop.call_later(timeout, responder.on_timeout) if timeout is not None else None
        )
        try:
            return await responder.future
        except (asyncio.TimeoutError, asyncio.CancelledError):
            # The response may still come, so the stream must not be reused yet.
            self.abandon(responder.stream, responder)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def abandon(self, stream: int, responder: Responder) -> None:
        """Stop waiting for the response on `stream`.

        The stream stays in use until the response comes.

        :param stream: the number of the stream.
        :param responder: the responder that was passed to `send`.
        """
        if not self.streams.abandon(stream, responder):
            return
        request = getattr(responder, "request", None)
        if request is not None and request.request_body.is_use:
            # The server may execute the USE later, and we would not see the response.
            self.give_up("a USE on it was abandoned")
        elif depends_on_keyspace(self, responder):
            # The server may still execute the request, and looks up its table names only then, in
            # the current keyspace. See `left_text_behind`.
            self.left_text_behind = True
        if self.gate is not None:
            self.gate.notify()
        if self.on_orphan is not None:
            self.on_orphan(self)

    def give_up(self, why: str) -> None:
        """Take no further requests, because the connection's keyspace is no longer certain.

        Requests in flight are still answered. The pool replaces the connection; a connection
        without a pool is closed.

        :param why: the reason, as the end of the message "connection to <end point>: ...".
        """
        if self.is_given_up or self.closed:
            return
        self.is_given_up = True
        if self.on_given_up is not None:
            self.on_given_up(self, why)
        else:
            self.close(ConnectionException(f"connection to {self.endpoint}: {why}", self.endpoint))
        # The requests that wait for a keyspace must now use another connection.
        if self.gate is not None:
            self.gate.notify()

    def start_draining(self) -> None:
        """Take no further requests, because the server will close the connection soon.

        The server has announced this with the event GRACEFUL_DISCONNECT of Cassandra's CEP-59.

        Requests in flight are still answered. Repeated calls do nothing, because a server may send
        its event twice.
        """
        if self.is_draining or self.closed:
            return
        self.is_draining = True
        if self.on_draining is not None:
            self.on_draining(self)
        # The requests that wait for a keyspace must now use another connection.
        if self.gate is not None:
            self.gate.notify()

    def pause_writing(self) -> None:
        self.streams.paused = True

    def resume_writing(self) -> None:
        self.streams.paused = False
        # Notify the pool, where requests wait for a connection that can send them.
        if self.on_room is not None:
            self.on_room(self)

    # -- receiving ---------------------------------------------------------------------------------

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._reader.get_buffer(sizehint)

    def buffer_updated(self, nbytes: int) -> None:
        """Process bytes that asyncio has received into the buffer of the frame reader."""
        wake_queue = self.wake_queue
        if wake_queue is None:
            self._take_bytes(nbytes)
            return
        # Collect the threads to wake while responses are dispatched, and wake them together.
        wake_queue.is_gathering = True
        try:
            self._take_bytes(nbytes)
            # Let user threads read from the socket, if possible. Do that now, before a woken
            # thread can send its next request.
            if self.streams.is_lendable:
                self._lend_reading()
        finally:
            wake_queue.wake()

    def _take_bytes(self, nbytes: int) -> None:
        """Dispatch the responses in the received bytes, and let waiting requests use freed streams.

        :param nbytes: the number of bytes that were received into the reader's buffer.
        """
        try:
            envelopes = self._reader.buffer_updated(nbytes)
        except Exception as error:
            self.close_malformed(error)
            return
        if envelopes:
            self._received = True
            streams = self.streams
            streams.dispatch(self, envelopes)
            # The handling of a response may have closed the connection.
            if self.closed:
                return
            # User threads may write again if no request is in flight and the transport has sent all
            # bytes. Check the bytes, too: a server may respond to a request before it has received
            # all of it.
            if (
                not streams.settled
                and streams.could_settle
                and self._transport is not None
                and not self._transport.get_write_buffer_size()
            ):
                streams.settled = True
        # A large part of an incomplete response counts as activity. Single bytes do not: a peer
        # that sends them may be stuck, and the heartbeat must then detect that.
        if envelopes or nbytes >= LARGE_PART:
            self.last_activity = self._loop.time()
        # The responses may have freed streams, so let the gate and the pool send the requests that
        # wait there. We do not call `_notify_waiting`, because a call for each read would cost too
        # much.
        if self.gate is not None:
            self.gate.notify()
        if self.on_room is not None:
            self.on_room(self)

    def close_malformed(self, error: BaseException) -> None:
        """Close the connection, because the frame reader has received a malformed frame.

        :param error: the reader's error.
        """
        self.close(
            error
            if isinstance(error, ProtocolError)
            else ProtocolError(f"{self.endpoint}: {error}")
        )

    # -- responses that user threads read (see the module stream_table) ----------------------------

    def _lend_reading(self) -> None:
        """Let user threads read the responses themselves, if that is possible now.

        Only a thread that has written its request to the socket itself (a *direct request*) reads.
        """
        transport = self._transport
        if transport is None or self.closed or self.gate is not None or transport.is_closing():
            return
        # Python code decompresses Snappy, and a signal handler may interrupt Python code. User
        # threads must not be interrupted while they read (see the module `stream_table`).
        if "snappy" in self._frame_options:
            return
        transport.pause_reading()
        if self.streams.lend(self, self._reader):
            self._check_lent_later()
        else:
            transport.resume_reading()

    def _check_lent_later(self) -> None:
        self._lent_check = self._loop.call_later(
            LENT_CHECK, self._check_lent, self.streams.answers_read
        )

    def _check_lent(self, answers_before: int) -> None:
        """Let the loop read again if no user thread has read a response since the last check.

        :param answers_before: the number of responses that threads had read at the last check.
        """
        # Repeat this check until the loop reads again; `take_over` cancels the timer.
        self._check_lent_later()
        if self.streams.answers_read == answers_before:
            self.take_over()
        else:
            self.last_activity = self._loop.time()
            # Threads that read responses do not notify the pool that a stream is free. That is not
            # urgent: there were free streams before, because the thread's request was the only one
            # in flight.
            self._notify_waiting()

    def take_over(self) -> None:
        """Let the loop read again if user threads read now, and do the work that they left to it.

        Must be called on the loop. If the peer has closed the connection, `closed` is True
        afterwards.
        """
        streams = self.streams
        # `_lent_check` is None if the loop reads already. `take_back` fails if a user thread is
        # using the frame reader at this moment; that thread will call this method itself.
        if self._lent_check is None or not streams.take_back():
            return
        self._lent_check.cancel()
        self._lent_check = None
        envelopes, error = streams.take_passed_on()
        if error is None and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
        if envelopes:
            self.last_activity = self._loop.time()
            streams.dispatch(self, envelopes)
        if isinstance(error, (EOFError, OSError)):
            self.close(self._lost_error(error if isinstance(error, OSError) else None))
        elif error is not None:
            self.close_malformed(error)
        if not self.closed:
            self._notify_waiting()

    def take_over_answer(self, attempt: Attempt, body: bytes) -> None:
        """Handle a response that a user thread has read from the socket but could not decode.

        Must be called on the loop.

        :param attempt: the attempt of the request; its stream has been freed already.
        :param body: the body of the RESULT, without flags.
        """
        request: Any = attempt.request
        try:
            attempt.on_response(self, RESULT, 0, body)
        except BaseException as error:
            log.exception("an answer of %s could not be processed", self.endpoint)
            if request is not None:
                request.fail(as_exception(error))

    def _notify_waiting(self) -> None:
        """Notify the gate and the pool, where requests wait, that responses have come."""
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
            # The server and we disagree about streams, so later responses might reach the wrong
            # requests.
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
        """Return True if `body` is a GRACEFUL_DISCONNECT event, and we registered for it."""
        features = self.features
        return (
            features is not None
            and features.graceful_disconnect
            and body.startswith(_GRACEFUL_DISCONNECT)
        )

    def _complain(self, opcode: int, body: bytes, error: Exception) -> None:
        """Log that an event could not be processed, at most once per COMPLAINT_INTERVAL."""
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

    # -- opening and closing -----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set the options of the socket. asyncio calls this when the transport is connected."""
        self._transport = cast(asyncio.Transport, transport)
        if self.on_made is not None:
            self.on_made(self)
        # asyncio's default limit of 64 KiB would pause senders after a few frames.
        self._transport.set_write_buffer_limits(high=WRITE_HIGH_WATER)
        sock = transport.get_extra_info("socket")
        self.last_activity = self._loop.time()
        # Frames of one loop iteration are joined already, so Nagle's algorithm would only delay
        # them. Sockets of other families, such as Unix sockets, reject TCP_NODELAY.
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A simulated transport has no socket.
        if sock is not None:
            self._set_options(sock)

    def _set_options(self, sock: socket.socket) -> None:
        """Set the options of `sockopts`; close the connection if the system refuses one."""
        for option in self.sockopts or ():
            # Do not raise the error. asyncio would only log it, and uvloop would never read.
            try:
                sock.setsockopt(*option)
            except Exception as cause:
                reason = getattr(cause, "strerror", None) or cause
                error = ConnectionException(
                    f"the socket option {option!r} cannot be set: {reason} (Cluster.sockopts)",
                    self.endpoint,
                )
                error.__cause__ = cause
                self.close(error)
                return

    def eof_received(self) -> bool:
        # False lets asyncio close the transport. A half-closed connection is of no use to the
        # driver.
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the requests in flight with the likely reason. asyncio calls this after a close.

        :param exc: the error; None after a normal close.
        """
        self._is_lost = True
        if self._goodbye is not None:
            self._goodbye.cancel()
            self._goodbye = None
        if self.on_lost is not None:
            self.on_lost(self)
        self.close(self._lost_error(exc))

    def _lost_error(self, exc: Exception | None) -> ConnectionException:
        """Return the error for a connection that the peer has closed or that broke.

        :param exc: the error of the socket; None if the peer closed the socket normally.
        """
        reason = "was closed by the server"
        if exc is not None:
            # With TLS 1.3, a server rejects the client's certificate only after the handshake, so
            # this may be a TLS error.
            why = self.tls.reason(exc) if self.tls is not None and not self._received else None
            reason = f"broke: {why or exc}"
        elif not self._received:
            reason += " before it said anything"
        # If this host has responded on unencrypted connections before, do not suspect missing TLS:
        # the host is probably stopping or overloaded.
        if not self._received and self.tls is None and not self.answered_before:
            purpose = _OTHER_PORTS.get(getattr(self.endpoint, "port", None))
            reason += (
                f": does it expect TLS on this port?{self.port_hint()}"
                if purpose is None
                else f": port {self.endpoint.port} is {purpose}; clients use 9042"
            )
        # Some servers require a client certificate, and close the connection without a TLS alert if
        # there is none.
        if exc is None and not self._received and self.tls is not None and not self.answered_before:
            reason += ": does it expect a client certificate (ssl_context.load_cert_chain)?"
        error = ConnectionException(f"connection to {self.endpoint} {reason}", self.endpoint)
        error.__cause__ = exc
        return error

    def close(self, error: Exception | None = None) -> None:
        """Close at once. Every request in flight fails with `error`. Repeated calls do nothing.

        :param error: the cause; None if the driver closes the connection on purpose.
        """
        if self.closed:
            return
        streams = self.streams
        has_write_lock = streams.acquire_write()
        # Set `closed` first: the responders that are called below must see that the connection is
        # closed.
        self.closed = True
        self.close_error = error
        streams.closed = True
        # `release_write` closes the second socket, on which user threads write, if `closed` is set.
        # If a user thread holds the write lock now, its own `release_write` closes the socket. If
        # it has just released the lock without seeing `closed`, acquire and release the lock here.
        if has_write_lock or streams.acquire_write():
            streams.release_write()
        if streams.armed is not None:
            streams.armed.cancel()
            streams.armed = None
        # If a user thread waits for bytes on the socket, let it notice that the connection ends.
        streams.take_back()
        if self._lent_check is not None:
            self._lent_check.cancel()
            self._lent_check = None
        if self._transport is not None:
            if error is None:
                self._transport.close()
                if self.tls is not None:
                    # The loop's limit of 30 seconds would keep many sockets.
                    self._goodbye = self._loop.call_later(GOODBYE_TIMEOUT, self.abort)
            else:
                # `close` would first send the bytes that are still buffered, and would wait forever
                # for a peer that does not read.
                self.abort()
        responders = streams.take_all()
        if responders:
            for responder in responders:
                try:
                    responder.on_connection_lost(self, self._shutdown_error())
                except BaseException as fault:
                    # If one request's code raises an error, the other requests must nevertheless be
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
        """Close the socket at once and discard the bytes that wait to be sent.

        `close` without an error lets the transport send these bytes first, which may take for ever
        if the peer does not read.
        """
        # Some versions of asyncio cannot abort a TLS transport that is closed already.
        if self._transport is not None and not self._is_lost:
            self._transport.abort()

    def _shutdown_error(self) -> Exception:
        """Return the error of requests on this closed connection, with the cause of the closing."""
        if isinstance(self.close_error, ConnectionException):
            return copy_of(self.close_error)
        if self.close_error is None:
            return ConnectionShutdown(f"connection to {self.endpoint} is closed", self.endpoint)
        # An error of another class, such as ProtocolError, becomes the cause of a
        # ConnectionShutdown, so that callers need to catch only connection errors.
        message = f"connection to {self.endpoint} was closed: {self.close_error}"
        if isinstance(self.close_error, ProtocolError) and self.features is None:
            message += "; is that the port of CQL (native_transport_port, usually 9042)?"
        error = ConnectionShutdown(message, self.endpoint)
        error.__cause__ = self.close_error
        return error

    def use_features(self, features: ProtocolFeatures) -> None:
        """Use these protocol extensions from now on. Called at the end of the handshake.

        :param features: the extensions that both sides support.
        """
        self.features = features
        # The peer has completed the handshake, so accept bodies of any size that the protocol
        # allows.
        self._reader.set_max_body(MAX_BODY)
        self.wire_format = wire_format_of(self.version, features)

    # -- set by the handshake ----------------------------------------------------------------------

    def use_compression(self, algorithm: str | None) -> None:
        """Compress all further frames with `algorithm`.

        :param algorithm: "lz4" or "snappy"; None for no compression.
        """
        self._reader.set_compression(algorithm)
        self._writer.set_compression(algorithm)
        self._frame_options.append(algorithm)

    def use_segments(self) -> None:
        """Use checksummed segments from the next byte on, in both directions.

        See native_protocol_v5.spec, section 2.1.
        """
        self._reader.enable_segments()
        self._writer.enable_segments()
        self._frame_options.append(SEGMENTS)

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"v{self.version}, {self.in_flight} in flight"
        return f"<Connection to {self.endpoint}: {state}>"
