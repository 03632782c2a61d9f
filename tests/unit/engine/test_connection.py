"""One connection: the requests that the engine itself sends on it, and messages that no correct
server sends.
"""

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
)
from cassandra.protocol.opcodes import ERROR, EVENT, OPTIONS, QUERY, READY, RESULT, SUPPORTED
from cassandra.testing.fake import FakeNode, Opcode, garbage, rows
from tests.unit.engine.faults import exception_of


def connection_without_transport(
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[Connection, list[FutureResponder]]:
    """Return a connection without a transport, and a list of the responders of its requests."""
    responders: list[FutureResponder] = []
    send = Connection.send

    def send_and_record(
        self: Connection, responder: Any, opcode: int, flags: int, body: bytes
    ) -> int:
        responders.append(responder)
        return send(self, responder, opcode, flags, body)

    monkeypatch.setattr(Connection, "send", send_and_record)
    return Connection(DefaultEndPoint("127.0.0.1"), 5, asyncio.get_running_loop()), responders


async def test_a_cancellation_in_the_turn_of_the_answer_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection, responders = connection_without_transport(monkeypatch)
    requesting = asyncio.ensure_future(connection.request(OPTIONS, b"", 5.0))
    # Let the request be sent.
    await asyncio.sleep(0)
    # The answer is there, but the task is cancelled before it has run again.
    responders[0].on_response(connection, SUPPORTED, 0, b"\0\0")
    requesting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await requesting


async def test_a_timeout_leaves_an_orphaned_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    connection, responders = connection_without_transport(monkeypatch)
    with pytest.raises(asyncio.TimeoutError):
        await connection.request(OPTIONS, b"", 0.001)
    assert connection.in_flight == connection.orphans == 1
    responders[0].on_response(connection, SUPPORTED, 0, b"\0\0")  # too late, so ignored


async def test_malformed_events_are_logged_once_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection = Connection(DefaultEndPoint("127.0.0.1"), 5, asyncio.get_running_loop())

    def raise_error(opcode: int, flags: int, body: bytes) -> None:
        raise ValueError("no such event")

    connection.on_event = raise_error
    # The engine must not flood the log, so it logs only the first of many such messages.
    for _ in range(1000):
        connection.on_unsolicited(-1, EVENT, 0, b"\xff" * 100)
    (record,) = caplog.records
    assert "ValueError: no such event" in record.getMessage()
    assert "\n" not in record.getMessage()
    assert record.exc_info is None
    assert not connection.closed


@pytest.mark.parametrize("opcode", [SUPPORTED, READY])
async def test_a_large_message_during_the_handshake_is_refused(opcode: int) -> None:
    # The header of a response of version 5: version, flags, stream (2 bytes), opcode, and a length
    # of 255 MiB.
    header_start = bytes((0x85, 0, 0, 0, opcode))
    huge_message = garbage(header_start + (255 << 20).to_bytes(4, "big") + bytes(100))
    with FakeNode() as node:
        node.prime(Opcode.OPTIONS if opcode == SUPPORTED else Opcode.STARTUP, huge_message)
        async with aio.Cluster([node.address], port=node.port) as cluster:
            failure = await exception_of(cluster.connect())
        assert isinstance(failure, NoHostAvailable)
        assert f"claims a body of {255 << 20} bytes; the limit is {HANDSHAKE_MAX_BODY}" in str(
            failure
        )


async def test_large_messages_are_read_after_the_handshake() -> None:
    with FakeNode() as node:
        node.prime("SELECT v FROM t", rows([("v", "blob")], [(bytes(4 * HANDSHAKE_MAX_BODY),)]))
        async with aio.Cluster([node.address], port=node.port, compression=False) as cluster:
            session = await cluster.connect()
            assert len((await session.execute("SELECT v FROM t")).one().v) == 4 * HANDSHAKE_MAX_BODY


async def test_a_peer_that_drips_is_silent_and_one_in_a_large_answer_is_not() -> None:
    """A peer that sends a few bytes at a time counts as silent; one that sends a large part of an
    answer does not.
    """
    connection = Connection(DefaultEndPoint("127.0.0.1"), 4, asyncio.get_running_loop())

    def receive(data: bytes) -> None:
        connection.get_buffer(-1)[: len(data)] = data
        connection.buffer_updated(len(data))

    # Send the header of an event (opcode 0c on stream -1), then its body in four large parts.
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

OPTIONS_FRAME = bytes.fromhex("04 00 0000 05 00000000")  # on stream 0
SUPPORTED_FRAME = bytes.fromhex("84 00 0000 06 00000002 0000")  # its answer, with no options
DRAIN_BODY = len("GRACEFUL_DISCONNECT").to_bytes(2, "big") + b"GRACEFUL_DISCONNECT"


class FakeSocket:
    """Fake socket that records its options."""

    def __init__(self, family: int = socket.AF_INET) -> None:
        self.family = family
        self.options: list[tuple[Any, ...]] = []

    def setsockopt(self, *option: Any) -> None:
        self.options.append(option)


class FakeTransport:
    """Fake transport that records what is written to it, and how it is closed."""

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


class Recorder:
    """Responder that records its answer, and the loss of its connection."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes]] = []
        self.losses: list[Exception] = []

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        self.answers.append((opcode, body))

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        self.losses.append(error)


class Wired:
    """A connection on a fake transport, and a list of the notifications that it has sent to its
    owner.
    """

    def __init__(self, version: int = 4, sock: Any = None, **attributes: Any) -> None:
        loop = asyncio.get_running_loop()
        self.connection: Any = Connection(DefaultEndPoint("127.0.0.1"), version, loop)
        for name, value in attributes.items():
            setattr(self.connection, name, value)
        self.transport = FakeTransport(sock)
        self.notified: list[Any] = []
        note = self.notified.append
        self.connection.on_room = lambda connection: note("room")
        self.connection.on_closed = lambda connection, error: note(("closed", error))
        self.connection.on_made = lambda connection: note("made")
        self.connection.on_lost = lambda connection: note("lost")
        self.connection.on_orphan = lambda connection: note("orphan")
        self.connection.on_draining = lambda connection: note("draining")

    def open(self) -> Wired:
        transport: Any = self.transport
        self.connection.connection_made(transport)
        self.notified.clear()
        return self

    def send(self) -> Recorder:
        """Send an OPTIONS request, and return its responder."""
        recorder = Recorder()
        self.connection.send(recorder, OPTIONS, 0, b"")
        return recorder

    def receive(self, data: bytes) -> None:
        self.connection.get_buffer(-1)[: len(data)] = data
        self.connection.buffer_updated(len(data))

    def error(self) -> Exception:
        error: Exception | None = self.connection.close_error
        assert error is not None
        return error


async def test_requests_of_one_loop_turn_are_written_together_and_answered() -> None:
    wired = Wired().open()
    first, second = wired.send(), wired.send()
    assert wired.transport.written == b""
    # Let the loop write the frames.
    await asyncio.sleep(0)
    # The first is on stream 0, the second on stream 1: the third and fourth byte.
    assert wired.transport.written == OPTIONS_FRAME + OPTIONS_FRAME.replace(
        b"\4\0\0\0", b"\4\0\0\1"
    )
    assert wired.connection.in_flight == 2
    assert not wired.connection.received_anything
    wired.connection.last_activity = 0.0
    wired.receive(SUPPORTED_FRAME)
    assert (first.answers, second.answers) == ([(SUPPORTED, b"\0\0")], [])
    assert wired.connection.in_flight == 1
    assert wired.connection.received_anything
    assert wired.connection.last_activity > 0.0
    assert wired.notified == ["room"]


async def test_before_the_transport_is_connected_requests_wait() -> None:
    wired = Wired()
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
    keepalive = (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    wired = Wired(sock=FakeSocket(family), sockopts=[keepalive])
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
    wired = Wired().open()
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


async def test_more_bytes_than_the_limit_hold_senders_back_until_they_are_written() -> None:
    wired = Wired().open()
    wired.connection.send(Recorder(), QUERY, 0, bytes(WRITE_HIGH_WATER))
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
    wired = Wired().open()
    recorder = Recorder()
    stream = wired.connection.send(recorder, OPTIONS, 0, b"")
    wired.connection.abandon(stream, recorder)
    wired.connection.abandon(stream, recorder)
    assert wired.notified == ["orphan"]
    assert (wired.connection.in_flight, wired.connection.orphans) == (1, 1)
    wired.receive(SUPPORTED_FRAME)
    assert recorder.answers == []
    assert (wired.connection.in_flight, wired.connection.orphans) == (0, 0)


@pytest.mark.parametrize("outcome", ["answer", "late answer", "timeout"])
async def test_the_outcome_of_an_own_request(outcome: str) -> None:
    wired = Wired().open()
    timeout = None if outcome == "answer" else 0.001 if outcome == "timeout" else 60.0
    requesting = asyncio.ensure_future(wired.connection.request(OPTIONS, b"", timeout))
    # Let the request be sent.
    await asyncio.sleep(0)
    if outcome == "timeout":
        with pytest.raises(asyncio.TimeoutError):
            await requesting
        assert wired.connection.orphans == 1
        return
    wired.receive(SUPPORTED_FRAME)
    assert await requesting == (SUPPORTED, 0, b"\0\0")
    assert wired.connection.in_flight == wired.connection.orphans == 0


# -- messages that a peer may not send -------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ("84 00 0007 06 00000002 0000", "answered on stream 7, on which nothing was asked"),
        ("84 00 ffff 06 00000002 0000", "sent a SUPPORTED message as an event"),
        ("84 00 fffe 0c 00000002 0000", "answered on stream -2, on which nothing was asked"),
        # the server sends a request
        ("04 00 0000 06 00000002 0000", "the peer does not speak the native protocol"),
    ],
)
async def test_a_peer_that_breaks_the_protocol_is_disconnected(frame: str, message: str) -> None:
    wired = Wired().open()
    waiting = wired.send()
    wired.receive(bytes.fromhex(frame))
    assert isinstance(wired.error(), ProtocolError)
    assert message in str(wired.error())
    assert wired.connection.closed
    assert wired.transport.ends == ["abort"]
    (loss,) = waiting.losses
    assert isinstance(loss, ConnectionShutdown)
    assert loss.__cause__ is wired.error()


async def test_an_event_is_passed_on() -> None:
    wired = Wired().open()
    events: list[Any] = []
    wired.connection.on_event = lambda *event: events.append(event)
    wired.receive(bytes.fromhex("84 00 ffff 0c 00000002 abcd"))
    assert events == [(EVENT, 0, b"\xab\xcd")]
    assert not wired.connection.closed


async def test_without_a_listener_events_are_ignored() -> None:
    wired = Wired().open()
    wired.receive(bytes.fromhex("84 00 ffff 0c 00000002 abcd"))
    assert not wired.connection.closed


@pytest.mark.simulated
async def test_after_a_while_further_malformed_events_are_logged_with_their_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection = Connection(DefaultEndPoint("127.0.0.1"), 5, asyncio.get_running_loop())

    def raises(opcode: int, flags: int, body: bytes) -> None:
        raise ValueError("no such event")

    connection.on_event = raises
    for _ in range(3):
        connection.on_unsolicited(-1, EVENT, 0, b"\xff")
    await asyncio.sleep(COMPLAINT_INTERVAL + 1)
    connection.on_unsolicited(-1, EVENT, 0, b"\xff")
    assert ["(0 more" in record.getMessage() for record in caplog.records] == [True, False]
    assert "(2 more since" in caplog.records[1].getMessage()


# -- the end ---------------------------------------------------------------------------------------


async def test_a_connection_that_is_closed_on_purpose_sends_what_is_buffered() -> None:
    wired = Wired().open()
    waiting = wired.send()
    wired.connection.close()
    wired.connection.close(ValueError("later"))
    assert wired.transport.ends == ["close"]
    assert wired.notified == [("closed", None)]
    (loss,) = waiting.losses
    assert isinstance(loss, ConnectionShutdown)
    assert str(loss) == "connection to 127.0.0.1:9042 is closed"
    assert wired.connection.in_flight == 0
    # Now the loop would write the request, if the connection were open.
    await asyncio.sleep(0)
    assert wired.transport.written == b""
    with pytest.raises(ConnectionShutdown, match="is closed"):
        wired.send()
    assert repr(wired.connection) == "<Connection to 127.0.0.1:9042: closed>"


async def test_a_connection_that_is_closed_because_of_an_error_is_aborted() -> None:
    wired = Wired().open()
    waiting = wired.send()
    error = ConnectionException("gone")
    wired.connection.close(error)
    assert wired.transport.ends == ["abort"]
    assert wired.notified == [("closed", error)]
    assert waiting.losses == [error]
    assert wired.connection.refusal() is error


async def test_a_responder_that_fails_does_not_keep_others_from_being_notified(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wired = Wired().open()
    failures: list[Exception] = []

    class Failing(Recorder):
        request = SimpleNamespace(fail=failures.append)

        def on_connection_lost(self, connection: Connection, error: Exception) -> None:
            raise ZeroDivisionError

    wired.connection.send(Failing(), OPTIONS, 0, b"")
    waiting = wired.send()
    wired.connection.close()
    assert len(waiting.losses) == 1
    assert [type(failure) for failure in failures] == [ZeroDivisionError]
    assert "could not be told that its connection is lost" in caplog.text
    assert wired.notified == [("closed", None)]


@pytest.mark.parametrize(
    ("received", "cause", "answered_before", "message"),
    [
        (
            False,
            None,
            False,
            "was closed by the server before it said anything: does it expect TLS on this port?",
        ),
        (False, None, True, "was closed by the server before it said anything"),
        (True, None, False, "was closed by the server"),
        (
            False,
            OSError("reset"),
            False,
            "broke: reset: does it expect TLS on this port?",
        ),
        (True, OSError("reset"), False, "broke: reset"),
    ],
)
async def test_the_reason_of_a_lost_connection(
    received: bool, cause: Exception | None, answered_before: bool, message: str
) -> None:
    wired = Wired(answered_before=answered_before).open()
    if received:
        wired.send()
        wired.receive(SUPPORTED_FRAME)
    wired.notified.clear()
    wired.connection.connection_lost(cause)
    assert str(wired.error()) == f"connection to 127.0.0.1:9042 {message}"
    assert isinstance(wired.error(), ConnectionException)
    assert wired.error().__cause__ is cause
    assert wired.notified == ["lost", ("closed", wired.error())]


@pytest.mark.parametrize("received", [False, True])
async def test_a_rejected_certificate_is_named_only_before_the_first_answer(received: bool) -> None:
    tls = SimpleNamespace(reason=lambda error: "the certificate was rejected")
    wired = Wired(tls=tls).open()
    if received:
        wired.send()
        wired.receive(SUPPORTED_FRAME)
    wired.connection.connection_lost(OSError("reset"))
    reason = "reset" if received else "the certificate was rejected"
    assert str(wired.error()) == f"connection to 127.0.0.1:9042 broke: {reason}"


async def test_a_half_open_connection_is_closed() -> None:
    assert Wired().open().connection.eof_received() is False


async def test_abort_closes_the_socket_without_a_notification() -> None:
    wired = Wired()
    wired.connection.abort()  # nothing is connected yet
    wired.open().connection.abort()
    assert wired.transport.ends == ["abort"]
    assert wired.notified == []


@pytest.mark.parametrize("abandoned", [False, True])
async def test_an_idle_connection_is_closed_and_a_busy_one_is_not(abandoned: bool) -> None:
    wired = Wired().open()
    recorder = Recorder()
    stream = wired.connection.send(recorder, OPTIONS, 0, b"")
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
    wired = Wired().open()
    reasons: list[str] = []
    wired.connection.on_given_up = lambda connection, why: reasons.append(why)
    assert wired.connection.is_open_to_requests
    wired.connection.give_up("a USE was abandoned")
    wired.connection.give_up("again")
    assert reasons == ["a USE was abandoned"]
    assert not wired.connection.closed
    assert not wired.connection.is_open_to_requests
    wired.connection.close()
    assert not wired.connection.is_open_to_requests


async def test_a_connection_without_a_pool_that_is_given_up_is_closed() -> None:
    wired = Wired().open()
    wired.connection.give_up("a USE was abandoned")
    assert str(wired.error()) == "connection to 127.0.0.1:9042: a USE was abandoned"


async def test_only_the_first_announcement_of_the_end_is_notified() -> None:
    wired = Wired().open()
    wired.connection.start_draining()
    wired.connection.start_draining()
    assert wired.notified == ["draining"]
    assert not wired.connection.is_open_to_requests
    refusal = str(wired.connection.refusal())
    assert "its server will close it soon (GRACEFUL_DISCONNECT)" in refusal
    closed = Wired().open()
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
    wired = Wired(features=features).open()
    events: list[Any] = []
    wired.connection.on_event = lambda *event: events.append(event)
    head = bytes.fromhex("84 00 ffff 0c") + len(DRAIN_BODY).to_bytes(4, "big")
    wired.receive(head + DRAIN_BODY)
    assert wired.connection.is_draining is drains
    assert len(events) == (not drains)


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
    wired = Wired().open()
    features: Any = SimpleNamespace(use_metadata_id=True)
    assert wired.connection.wire_format == 4
    wired.connection.use_features(features)
    assert wired.connection.features is features
    assert wired.connection.wire_format == 4 | METADATA_IDS


async def test_an_error_of_the_server_is_returned_and_a_malformed_answer_closes() -> None:
    wired = Wired().open()
    body = bytes.fromhex("00000000 0004") + b"oops"  # code 0, a server error
    answer = read_answer(
        wired.connection, OPTIONS, statement=None, opcode=ERROR, flags=0, body=body
    )
    assert "oops" in str(answer)
    assert not wired.connection.closed
    with pytest.raises(ProtocolError):
        read_answer(
            wired.connection, OPTIONS, statement=None, opcode=RESULT, flags=0, body=b"\0\0\0\1"
        )
    assert wired.connection.closed
    assert isinstance(wired.error(), ProtocolError)


# -- user threads that write -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "reason"), [(0, "a request was written in part"), (errno.EPIPE, "Broken pipe")]
)
async def test_a_thread_that_fails_to_write_breaks_the_connection(number: int, reason: str) -> None:
    wired = Wired().open()
    wired.connection._on_broken(number)
    assert str(wired.error()) == f"connection to 127.0.0.1:9042 broke: {reason}"


@pytest.mark.simulated
async def test_while_a_thread_writes_requests_wait_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Each attempt to get the lock takes a few milliseconds of real time, so make only a few.
    monkeypatch.setattr(connection_module, "HOLD_INTERVAL", LONGEST_HOLD / 4)
    wired = Wired().open()
    streams = wired.connection.streams
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
        # The stream table keeps the first stream for threads that write directly.
        assert wired.transport.written == bytes.fromhex("04 00 0001 05 00000000")
        # The wait of a later request is measured anew.
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
