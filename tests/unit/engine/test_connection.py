"""`Connection`: the engine's own requests, and messages that no correct server sends."""

from __future__ import annotations

import _socket
import asyncio
import errno
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import aio
from cassandra.engine import connection as connection_module
from cassandra.engine.connection import (
    COMPLAINT_INTERVAL,
    HANDSHAKE_MAX_BODY,
    LARGE_PART,
    LONGEST_HOLD,
    METADATA_IDS,
    TABLET_VERSIONS,
    Connection,
    FutureResponder,
    read_answer,
    wire_format_of,
)
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.engine.stream_table import WRITE_HIGH_WATER
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    NoHostAvailable,
    ProtocolError,
    UnknownContent,
)
from cassandra.protocol.opcodes import ERROR, EVENT, OPTIONS, QUERY, READY, RESULT, SUPPORTED
from cassandra.testing.fake import FakeNode, Opcode, garbage, rows
from tests.unit.engine.faults import exception_of


def connection_without_transport(
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[Connection, list[FutureResponder]]:
    """Return a connection without a transport, and a list.

    The list collects the responders of the connection's requests.
    """
    responders: list[FutureResponder] = []
    send = Connection.send

    def send_and_record(
        self: Connection, responder: Any, opcode: int, flags: int, body: bytes
    ) -> int:
        responders.append(responder)
        return send(self, responder, opcode, flags, body)

    monkeypatch.setattr(Connection, "send", send_and_record)
    return new_connection(version=5), responders


def new_connection(version: int) -> Connection:
    """Return a connection that has no transport yet."""
    return Connection(DefaultEndPoint("127.0.0.1"), version, asyncio.get_running_loop())


async def test_a_cancellation_in_the_turn_of_the_answer_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a task is cancelled after its response came but before it runs again, it is cancelled.

    The response must not hide the cancellation.
    """
    connection, responders = connection_without_transport(monkeypatch)
    requesting = asyncio.ensure_future(connection.request(OPTIONS, b"", timeout=5.0))
    # Let the request be sent.
    await asyncio.sleep(0)
    # The response has come, but the task is cancelled before it runs again.
    responders[0].on_response(connection, SUPPORTED, 0, b"\0\0")
    requesting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await requesting


async def test_a_response_that_the_loop_reads_after_the_timer_is_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When the time of a request is over, the loop reads once more before the request fails.

    If the loop did not run for a while, the response may wait in the socket, and uvloop calls its
    timers before it reads.
    """
    connection, responders = connection_without_transport(monkeypatch)
    requesting = asyncio.ensure_future(connection.request(OPTIONS, b"", timeout=5.0))
    # Let the request be sent.
    await asyncio.sleep(0)
    responders[0].on_timeout()
    # The loop reads at the end of this iteration, when the callbacks have been called.
    await asyncio.sleep(0)
    responders[0].on_response(connection, SUPPORTED, 0, b"\0\0")
    assert await requesting == (SUPPORTED, 0, b"\0\0")


async def test_a_timeout_leaves_an_orphaned_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that times out keeps its stream as an orphan.

    Its response may still come.
    """
    connection, responders = connection_without_transport(monkeypatch)
    with pytest.raises(asyncio.TimeoutError):
        await connection.request(OPTIONS, b"", timeout=0.001)
    assert connection.in_flight == 1
    assert connection.orphans == 1
    responders[0].on_response(connection, SUPPORTED, 0, b"\0\0")  # this late response is ignored


async def test_malformed_events_are_logged_once_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Of many malformed events, only the first is logged, in one line.

    Otherwise, a peer could flood the log.
    """
    connection = new_connection(version=5)

    def reject_event(opcode: int, flags: int, body: bytes) -> None:
        raise ValueError("no such event")

    connection.on_event = reject_event
    # Events have the stream -1.
    for _ in range(1000):
        connection.on_unsolicited(-1, EVENT, 0, b"\xff" * 100)
    (record,) = caplog.records
    assert "ValueError: no such event" in record.getMessage()
    assert "\n" not in record.getMessage()
    assert record.exc_info is None
    assert not connection.closed


@pytest.mark.parametrize("opcode", [SUPPORTED, READY])
async def test_a_large_message_during_the_handshake_is_refused(opcode: int) -> None:
    """A message that claims a large body during the handshake closes the connection.

    A peer that is not authenticated yet must not make the driver allocate a large buffer.
    """
    claimed_length = 255 << 20  # 255 MiB
    # These are the fields of a version 5 response header: version, flags, stream (2 bytes), opcode,
    # length.
    header = bytes((0x85, 0, 0, 0, opcode)) + claimed_length.to_bytes(4, "big")
    huge_message = garbage(header + bytes(100))
    with FakeNode() as node:
        node.prime(Opcode.OPTIONS if opcode == SUPPORTED else Opcode.STARTUP, huge_message)
        async with aio.Cluster([node.address], port=node.port) as cluster:
            failure = await exception_of(cluster.connect())
        assert isinstance(failure, NoHostAvailable)
        expected = f"claims a body of {claimed_length} bytes; the limit is {HANDSHAKE_MAX_BODY}"
        assert expected in str(failure)


async def test_large_messages_are_read_after_the_handshake() -> None:
    """After the handshake, responses may be larger than HANDSHAKE_MAX_BODY."""
    with FakeNode() as node:
        blob = bytes(4 * HANDSHAKE_MAX_BODY)
        node.prime("SELECT v FROM t", rows([("v", "blob")], [(blob,)]))
        async with aio.Cluster([node.address], port=node.port, compression=False) as cluster:
            session = await cluster.connect()
            result = await session.execute("SELECT v FROM t")
            assert result.one().v == blob


async def test_only_large_parts_of_an_unfinished_message_count_as_activity() -> None:
    """A large part of an unfinished message counts as activity, but a few bytes do not.

    Otherwise, a peer that sends a few bytes at a time could keep a connection from counting as
    silent.
    """
    connection = new_connection(version=4)

    def receive(data: bytes) -> None:
        connection.get_buffer(-1)[: len(data)] = data
        connection.buffer_updated(len(data))

    # Send the header of an event (opcode 0c on stream -1) byte by byte. Its body would have four
    # large parts.
    header = bytes.fromhex("84 00 ffff 0c") + (LARGE_PART * 4).to_bytes(4, "big")
    connection.last_activity = 0.0
    for byte in header:
        receive(bytes((byte,)))
    for _ in range(100):
        receive(b"x")
    assert connection.last_activity == 0.0
    receive(b"x" * LARGE_PART)
    assert connection.last_activity > 0.0


# -- on a fake transport ---------------------------------------------------------------------------

# Frames in hex: version, flags, stream, opcode, and the length of the body.
OPTIONS_FRAME = bytes.fromhex("04 00 0000 05 00000000")  # the request uses stream 0
OPTIONS_FRAME_ON_STREAM_1 = bytes.fromhex("04 00 0001 05 00000000")
EVENT_FRAME = bytes.fromhex("84 00 ffff 0c 00000002 abcd")  # an event with the body ab cd
# This is the response on stream 0, without options.
SUPPORTED_FRAME = bytes.fromhex("84 00 0000 06 00000002 0000")
# The body of a GRACEFUL_DISCONNECT event has only its name, a string after its length in 2 bytes.
DRAIN_BODY = len("GRACEFUL_DISCONNECT").to_bytes(2, "big") + b"GRACEFUL_DISCONNECT"


class FakeSocket:
    """A fake socket that records the options that are set."""

    def __init__(self, family: int = socket.AF_INET) -> None:
        self.family = family
        self.options: list[tuple[Any, ...]] = []

    def setsockopt(self, *option: Any) -> None:
        self.options.append(option)


class FakeTransport:
    """A fake transport that records what is written to it, and how it is closed."""

    def __init__(self, sock: Any = None) -> None:
        self.sock = sock
        self.written = b""
        self.buffered = 0
        self.high = 0
        self.ends: list[str] = []

    def get_extra_info(self, name: str) -> Any:
        assert name == "socket"
        return self.sock

    def set_write_buffer_limits(self, high: int) -> None:
        self.high = high

    def get_write_buffer_size(self) -> int:
        return self.buffered

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.ends.append("close")

    def abort(self) -> None:
        self.ends.append("abort")


class RecordingResponder:
    """A responder that records its responses and the losses of its connection."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes]] = []
        self.losses: list[Exception] = []

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        self.answers.append((opcode, body))

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        self.losses.append(error)


class WiredConnection:
    """A connection on a fake transport, which records the notifications to its owner.

    `notified` lists the callbacks that the connection has called, for example "room" for
    `on_room`.

    :param sock: the socket of the transport. None means that it has none.
    :param attributes: attributes to set on the connection.
    """

    def __init__(self, version: int = 4, sock: Any = None, **attributes: Any) -> None:
        loop = asyncio.get_running_loop()
        self.connection: Any = Connection(DefaultEndPoint("127.0.0.1"), version, loop)
        for name, value in attributes.items():
            setattr(self.connection, name, value)
        self.transport = FakeTransport(sock)
        self.notified: list[Any] = []
        notify = self.notified.append
        self.connection.on_room = lambda connection: notify("room")
        self.connection.on_closed = lambda connection, error: notify(("closed", error))
        self.connection.on_made = lambda connection: notify("made")
        self.connection.on_lost = lambda connection: notify("lost")
        self.connection.on_orphan = lambda connection: notify("orphan")
        self.connection.on_draining = lambda connection: notify("draining")

    def open(self) -> WiredConnection:
        """Connect the transport, and forget the notifications that this causes."""
        transport: Any = self.transport
        self.connection.connection_made(transport)
        self.notified.clear()
        return self

    def send(self) -> RecordingResponder:
        """Send an OPTIONS request, and return its responder."""
        recorder = RecordingResponder()
        self.connection.send(recorder, OPTIONS, flags=0, body=b"")
        return recorder

    def receive(self, data: bytes) -> None:
        """Pass these bytes to the connection, as if they came from the peer."""
        self.connection.get_buffer(-1)[: len(data)] = data
        self.connection.buffer_updated(len(data))

    def error(self) -> Exception:
        """Return the error with which the connection was closed."""
        error: Exception | None = self.connection.close_error
        assert error is not None
        return error


async def test_requests_of_one_loop_turn_are_written_together_and_answered() -> None:
    """`send` queues requests, and the loop writes all requests of an iteration together."""
    wired = WiredConnection().open()
    first, second = wired.send(), wired.send()
    assert wired.transport.written == b""
    # Let the loop write the two frames.
    await asyncio.sleep(0)
    assert wired.transport.written == OPTIONS_FRAME + OPTIONS_FRAME_ON_STREAM_1
    assert wired.connection.in_flight == 2
    assert not wired.connection.received_anything
    wired.connection.last_activity = 0.0
    wired.receive(SUPPORTED_FRAME)
    assert first.answers == [(SUPPORTED, b"\0\0")]
    assert second.answers == []
    assert wired.connection.in_flight == 1
    assert wired.connection.received_anything
    assert wired.connection.last_activity > 0.0
    assert wired.notified == ["room"]


async def test_before_the_transport_is_connected_requests_wait() -> None:
    """A request that is sent before the transport is connected is written when it is connected."""
    wired = WiredConnection()
    assert not wired.connection.is_connected
    wired.send()
    await asyncio.sleep(0)
    wired.open()
    assert wired.connection.is_connected
    wired.send()
    await asyncio.sleep(0)
    assert wired.transport.written.startswith(OPTIONS_FRAME)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6, socket.AF_UNIX])
async def test_the_sockets_options_are_set(family: int) -> None:
    """The driver sets TCP_NODELAY (but not on Unix sockets), and then the application's options."""
    keepalive = (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    wired = WiredConnection(sock=FakeSocket(family), sockopts=[keepalive])
    transport: Any = wired.transport
    wired.connection.last_activity = 0.0
    wired.connection.connection_made(transport)
    no_delay = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    is_tcp = family != socket.AF_UNIX
    assert wired.transport.sock.options == ([no_delay, keepalive] if is_tcp else [keepalive])
    assert wired.transport.high == WRITE_HIGH_WATER
    assert wired.notified == ["made"]
    assert wired.connection.last_activity > 0.0


async def test_room_depends_on_the_transport_and_the_streams() -> None:
    """`has_room` is True if the transport accepts writes and a stream is free."""
    wired = WiredConnection().open()
    connection = wired.connection
    connection.set_stream_limit(1)
    assert connection.stream_limit == 1
    assert connection.has_room
    connection.pause_writing()
    assert not connection.has_room
    assert wired.notified == []
    connection.resume_writing()
    assert connection.has_room
    assert wired.notified == ["room"]
    wired.send()
    assert not connection.has_room


async def test_a_connection_with_many_unwritten_bytes_has_no_room() -> None:
    """With more than WRITE_HIGH_WATER unwritten bytes, `has_room` is False.

    When the bytes are written, the connection notifies its owner. A connection whose `has_room`
    stayed True does not notify its owner.
    """
    wired = WiredConnection().open()
    wired.connection.send(RecordingResponder(), QUERY, flags=0, body=bytes(WRITE_HIGH_WATER))
    assert not wired.connection.has_room
    # Let the loop write the bytes.
    await asyncio.sleep(0)
    assert wired.notified == ["room"]
    assert wired.connection.has_room
    assert len(wired.transport.written) > WRITE_HIGH_WATER
    wired.notified.clear()
    wired.send()
    await asyncio.sleep(0)
    assert wired.notified == []


async def test_an_answer_of_an_abandoned_request_frees_its_stream() -> None:
    """The late response of an abandoned request is dropped, and its stream is free again."""
    wired = WiredConnection().open()
    recorder = RecordingResponder()
    stream = wired.connection.send(recorder, OPTIONS, flags=0, body=b"")
    wired.connection.abandon(stream, recorder)
    wired.connection.abandon(stream, recorder)  # The second call does nothing.
    assert wired.notified == ["orphan"]
    assert wired.connection.in_flight == 1
    assert wired.connection.orphans == 1
    wired.receive(SUPPORTED_FRAME)
    assert recorder.answers == []
    assert wired.connection.in_flight == 0
    assert wired.connection.orphans == 0


@pytest.mark.parametrize("timeout", [None, 60.0])
async def test_request_returns_the_answer(timeout: float | None) -> None:
    """`Connection.request` returns the response as (opcode, flags, body), and frees the stream."""
    wired = WiredConnection().open()
    requesting = asyncio.ensure_future(wired.connection.request(OPTIONS, b"", timeout))
    # Let the request be sent.
    await asyncio.sleep(0)
    wired.receive(SUPPORTED_FRAME)
    assert await requesting == (SUPPORTED, 0, b"\0\0")
    assert wired.connection.in_flight == 0
    assert wired.connection.orphans == 0


# -- messages that a peer may not send -------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ("84 00 0007 06 00000002 0000", "answered on stream 7, on which nothing was asked"),
        ("84 00 ffff 06 00000002 0000", "sent a SUPPORTED message as an event"),
        ("84 00 fffe 0c 00000002 0000", "answered on stream -2, on which nothing was asked"),
        # The peer sends a request instead of a response.
        ("04 00 0000 06 00000002 0000", "the peer does not speak the native protocol"),
    ],
)
async def test_a_peer_that_breaks_the_protocol_is_disconnected(frame: str, message: str) -> None:
    """A message that the protocol does not allow closes the connection with a ProtocolError.

    The peer sends a frame on an unused stream, a response as an event, or a request.

    :param frame: version, flags, stream, opcode, length and body in hex.
    :param message: a part of the expected error's message.
    """
    wired = WiredConnection().open()
    pending = wired.send()
    wired.receive(bytes.fromhex(frame))
    assert isinstance(wired.error(), ProtocolError)
    assert message in str(wired.error())
    assert wired.connection.closed
    assert wired.transport.ends == ["abort"]
    (loss,) = pending.losses
    assert isinstance(loss, ConnectionShutdown)
    assert loss.__cause__ is wired.error()


async def test_an_event_is_passed_on() -> None:
    """An EVENT, which has the stream -1, is passed to `on_event` as (opcode, flags, body)."""
    wired = WiredConnection().open()
    events: list[Any] = []
    wired.connection.on_event = lambda *event: events.append(event)
    wired.receive(EVENT_FRAME)
    assert events == [(EVENT, 0, b"\xab\xcd")]
    assert not wired.connection.closed


async def test_without_a_listener_events_are_ignored() -> None:
    """An event on a connection whose `on_event` is not set does not close the connection."""
    wired = WiredConnection().open()
    wired.receive(EVENT_FRAME)
    assert not wired.connection.closed


@pytest.mark.simulated
async def test_after_a_while_further_malformed_events_are_logged_with_their_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Malformed events are logged at most once per COMPLAINT_INTERVAL seconds.

    The message has the number of malformed events that were not logged.
    """
    connection = new_connection(version=5)

    def reject_event(opcode: int, flags: int, body: bytes) -> None:
        raise ValueError("no such event")

    connection.on_event = reject_event
    for _ in range(3):
        connection.on_unsolicited(-1, EVENT, 0, b"\xff")
    await asyncio.sleep(COMPLAINT_INTERVAL + 1)
    connection.on_unsolicited(-1, EVENT, 0, b"\xff")
    first_message, second_message = (record.getMessage() for record in caplog.records)
    assert "(0 more" in first_message
    assert "(2 more since" in second_message


# -- the end ---------------------------------------------------------------------------------------


async def test_a_connection_that_is_closed_on_purpose_is_not_aborted() -> None:
    """`close` without an error lets the transport write its buffer before it closes.

    Requests in flight fail. Only the first call of `close` has an effect.
    """
    wired = WiredConnection().open()
    pending = wired.send()
    wired.connection.close()
    wired.connection.close(ValueError("too late"))
    assert wired.transport.ends == ["close"]
    assert wired.notified == [("closed", None)]
    (loss,) = pending.losses
    assert isinstance(loss, ConnectionShutdown)
    assert str(loss) == "connection to 127.0.0.1:9042 is closed"
    assert wired.connection.in_flight == 0
    # An open connection would write the request now.
    await asyncio.sleep(0)
    assert wired.transport.written == b""
    with pytest.raises(ConnectionShutdown, match="is closed"):
        wired.send()
    assert repr(wired.connection) == "<Connection to 127.0.0.1:9042: closed>"


async def test_a_connection_that_is_closed_because_of_an_error_is_aborted() -> None:
    """`close` with an error aborts the transport, and requests in flight fail with this error."""
    wired = WiredConnection().open()
    pending = wired.send()
    error = ConnectionException("gone")
    wired.connection.close(error)
    assert wired.transport.ends == ["abort"]
    assert wired.notified == [("closed", error)]
    assert [repr(loss) for loss in pending.losses] == [repr(error)]
    assert repr(wired.connection.refusal()) == repr(error)


async def test_a_responder_that_fails_does_not_keep_others_from_being_notified(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """When a connection is lost, an error in one responder does not affect the other responders.

    The other responders are still notified. The request of the failing responder fails with its
    error.
    """
    wired = WiredConnection().open()
    failures: list[Exception] = []

    class FailingResponder(RecordingResponder):
        request = SimpleNamespace(fail=failures.append)

        def on_connection_lost(self, connection: Connection, error: Exception) -> None:
            raise ZeroDivisionError

    # Send one request with the failing responder and one with an ordinary responder, and close the
    # connection.
    wired.connection.send(FailingResponder(), OPTIONS, flags=0, body=b"")
    pending = wired.send()
    wired.connection.close()
    assert len(pending.losses) == 1
    assert [type(failure) for failure in failures] == [ZeroDivisionError]
    assert "could not be told that its connection is lost" in caplog.text
    assert wired.notified == [("closed", None)]


@pytest.mark.parametrize(
    ("has_received", "cause", "answered_before", "message"),
    [
        pytest.param(
            False,
            None,
            False,
            "was closed by the server before it said anything: does it expect TLS on this port?",
            id="closed at once",
        ),
        pytest.param(
            False,
            None,
            True,
            "was closed by the server before it said anything",
            id="closed at once, but answered before",
        ),
        pytest.param(True, None, False, "was closed by the server", id="closed later"),
        pytest.param(
            False,
            OSError("reset"),
            False,
            "broke: reset: does it expect TLS on this port?",
            id="reset at once",
        ),
        pytest.param(True, OSError("reset"), False, "broke: reset", id="reset later"),
    ],
)
async def test_the_reason_of_a_lost_connection(
    has_received: bool, cause: Exception | None, answered_before: bool, message: str
) -> None:
    """The error says how the connection ended, and asks about TLS if that may be the reason.

    :param has_received: whether the server has sent anything on this connection.
    :param cause: the error of the socket. None means that the server closed the connection.
    :param answered_before: whether an earlier connection to this server got a response, so that TLS
        cannot be the reason.
    :param message: the expected end of the error's message.
    """
    wired = WiredConnection(answered_before=answered_before).open()
    if has_received:
        wired.send()
        wired.receive(SUPPORTED_FRAME)
    wired.notified.clear()
    wired.connection.connection_lost(cause)
    assert str(wired.error()) == f"connection to 127.0.0.1:9042 {message}"
    assert isinstance(wired.error(), ConnectionException)
    assert wired.error().__cause__ is cause
    assert wired.notified == ["lost", ("closed", wired.error())]


async def test_a_port_for_other_purposes_is_named() -> None:
    """The port between nodes closes connections of clients."""
    wired = WiredConnection(endpoint=DefaultEndPoint("127.0.0.1", 7000)).open()
    wired.notified.clear()
    wired.connection.connection_lost(None)
    assert "port 7000 is for the other nodes; clients use 9042" in str(wired.error())


@pytest.mark.parametrize("has_received", [False, True])
async def test_a_rejected_certificate_is_named_only_before_the_first_answer(
    has_received: bool,
) -> None:
    """The error names a rejected certificate only if the connection was lost before any response.

    A server that rejects a certificate closes the connection before it responds.
    """
    tls = SimpleNamespace(reason=lambda error: "the certificate was rejected")
    wired = WiredConnection(tls=tls).open()
    if has_received:
        wired.send()
        wired.receive(SUPPORTED_FRAME)
    wired.connection.connection_lost(OSError("reset"))
    reason = "reset" if has_received else "the certificate was rejected"
    assert str(wired.error()) == f"connection to 127.0.0.1:9042 broke: {reason}"


async def test_a_half_open_connection_is_closed() -> None:
    """If the peer closes its sending side, `eof_received` returns False.

    Therefore, asyncio closes the transport.
    """
    assert WiredConnection().open().connection.eof_received() is False


async def test_abort_closes_the_socket_without_a_notification() -> None:
    """`abort` closes the transport at once, if there is one, and notifies nobody."""
    wired = WiredConnection()
    wired.connection.abort()  # there is no transport yet
    wired.open().connection.abort()
    assert wired.transport.ends == ["abort"]
    assert wired.notified == []


@pytest.mark.parametrize("abandoned", [False, True])
async def test_an_idle_connection_is_closed_and_a_busy_one_is_not(abandoned: bool) -> None:
    """`close_if_idle` closes a connection unless a caller waits for a response on it.

    Abandoned requests do not count.
    """
    wired = WiredConnection().open()
    recorder = RecordingResponder()
    stream = wired.connection.send(recorder, OPTIONS, flags=0, body=b"")
    if abandoned:
        wired.connection.abandon(stream, recorder)
    wired.connection.close_if_idle()
    assert wired.connection.closed is abandoned
    if not abandoned:
        wired.receive(SUPPORTED_FRAME)
        wired.connection.close_if_idle()
    assert wired.connection.closed


# -- connections that take no further requests -----------------------------------------------------


async def test_a_connection_of_a_pool_that_is_given_up_stays_open() -> None:
    """A connection that is given up takes no more requests.

    Its pool decides when to close it.
    """
    wired = WiredConnection().open()
    reasons: list[str] = []
    wired.connection.on_given_up = lambda connection, reason: reasons.append(reason)
    assert wired.connection.is_open_to_requests
    wired.connection.give_up("a USE was abandoned")
    wired.connection.give_up("again")
    assert reasons == ["a USE was abandoned"]
    assert not wired.connection.closed
    assert not wired.connection.is_open_to_requests
    wired.connection.close()
    assert not wired.connection.is_open_to_requests


async def test_a_connection_without_a_pool_that_is_given_up_is_closed() -> None:
    """Without a pool, which would close the connection later, `give_up` closes it at once."""
    wired = WiredConnection().open()
    wired.connection.give_up("a USE was abandoned")
    assert str(wired.error()) == "connection to 127.0.0.1:9042: a USE was abandoned"


async def test_only_the_first_announcement_of_the_end_is_notified() -> None:
    """`start_draining` notifies the owner once, and does nothing on a closed connection."""
    wired = WiredConnection().open()
    wired.connection.start_draining()
    wired.connection.start_draining()
    assert wired.notified == ["draining"]
    assert not wired.connection.is_open_to_requests
    refusal = str(wired.connection.refusal())
    assert "its server will close it soon (GRACEFUL_DISCONNECT)" in refusal
    closed = WiredConnection().open()
    closed.connection.close()
    closed.connection.start_draining()
    assert not closed.connection.is_draining


@pytest.mark.parametrize(
    ("features", "drains"),
    [
        (None, False),
        (SimpleNamespace(graceful_disconnect=False), False),
        (SimpleNamespace(graceful_disconnect=True), True),
    ],
)
async def test_the_announcement_counts_only_if_it_was_registered_for(
    features: Any, drains: bool
) -> None:
    """A GRACEFUL_DISCONNECT event makes the connection drain only if the extension is in use.

    Otherwise, the event is passed on like any other event.
    """
    wired = WiredConnection(features=features).open()
    events: list[Any] = []
    wired.connection.on_event = lambda *event: events.append(event)
    header = bytes.fromhex("84 00 ffff 0c") + len(DRAIN_BODY).to_bytes(4, "big")
    wired.receive(header + DRAIN_BODY)
    assert wired.connection.is_draining is drains
    assert len(events) == (0 if drains else 1)


# -- formats ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "features", "expected"),
    [
        (4, None, 4),
        (5, None, 5 | METADATA_IDS),
        (4, SimpleNamespace(use_metadata_id=True), 4 | METADATA_IDS),
        (4, SimpleNamespace(tablets_routing_v2=True), 4 | TABLET_VERSIONS),
        (
            4,
            SimpleNamespace(use_metadata_id=True, tablets_routing_v2=True),
            4 | METADATA_IDS | TABLET_VERSIONS,
        ),
        (4, SimpleNamespace(use_metadata_id=False, tablets_routing_v2=False), 4),
    ],
)
def test_the_wire_format_has_a_flag_for_each_extension(
    version: int, features: Any, expected: int
) -> None:
    assert wire_format_of(version, features) == expected


async def test_extensions_change_the_connections_wire_format() -> None:
    """`use_features` sets the extensions, and the wire format that follows from them."""
    wired = WiredConnection().open()
    features: Any = SimpleNamespace(use_metadata_id=True)
    assert wired.connection.wire_format == 4
    wired.connection.use_features(features)
    assert wired.connection.features is features
    assert wired.connection.wire_format == 4 | METADATA_IDS


async def test_an_error_of_the_server_is_returned_and_a_malformed_answer_closes() -> None:
    """`read_answer` returns an ERROR as a message.

    If the body of a message is malformed, it closes the connection and raises ProtocolError. If the
    message is only newer than the driver, the connection stays open.
    """
    wired = WiredConnection().open()
    body = bytes.fromhex("00000000 0004") + b"oops"  # error code 0, a server error
    answer = read_answer(
        wired.connection, OPTIONS, statement=None, opcode=ERROR, flags=0, body=body
    )
    assert "oops" in str(answer)
    with pytest.raises(UnknownContent):
        read_answer(
            wired.connection, OPTIONS, statement=None, opcode=RESULT, flags=0, body=b"\0\0\0\x09"
        )
    assert not wired.connection.closed
    with pytest.raises(ProtocolError):
        read_answer(
            wired.connection, OPTIONS, statement=None, opcode=RESULT, flags=0, body=b"\0\0\0\1"
        )
    assert wired.connection.closed
    assert isinstance(wired.error(), ProtocolError)


# -- user threads that write -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error_number", "reason"), [(0, "a request was written in part"), (errno.EPIPE, "Broken pipe")]
)
async def test_a_thread_that_fails_to_write_breaks_the_connection(
    error_number: int, reason: str
) -> None:
    """If a user thread fails to write, the connection is closed, and the error has the reason.

    :param error_number: the `errno` of the write; 0 if only a part was written.
    :param reason: the expected reason in the error.
    """
    wired = WiredConnection().open()
    wired.connection._on_broken(error_number)
    assert str(wired.error()) == f"connection to 127.0.0.1:9042 broke: {reason}"


@pytest.mark.simulated
async def test_while_a_thread_writes_requests_wait_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While a thread holds the write lock, the loop waits for at most LONGEST_HOLD seconds.

    Then it closes the connection.
    """
    # Each attempt to take the lock needs some milliseconds of real time, so let the loop make few
    # attempts.
    monkeypatch.setattr(connection_module, "HOLD_INTERVAL", LONGEST_HOLD / 4)
    wired = WiredConnection().open()
    streams = wired.connection.streams
    # Allow threads to write to this socket directly.
    own, peer = _socket.socketpair()
    wake = asyncio.get_running_loop().call_soon_threadsafe
    module: Any = connection_module
    writer = module.frame.FrameWriter(4)
    streams.open_direct(own, writer, wake, wired.connection._on_broken)
    try:
        assert streams.acquire_write()
        wired.send()
        await asyncio.sleep(LONGEST_HOLD / 2)
        assert wired.transport.written == b""
        streams.release_write()
        await asyncio.sleep(LONGEST_HOLD / 2)
        # Stream 0 is reserved for threads that write directly.
        assert wired.transport.written == OPTIONS_FRAME_ON_STREAM_1
        # For a later request, the time starts from zero again.
        assert streams.acquire_write()
        wired.send()
        await asyncio.sleep(LONGEST_HOLD * 0.9)
        assert not wired.connection.closed
        await asyncio.sleep(LONGEST_HOLD * 0.4)
        reason = "a thread that writes was interrupted, and does not go on"
        assert reason in str(wired.error())
        streams.release_write()
    finally:
        own.close()
        peer.close()
