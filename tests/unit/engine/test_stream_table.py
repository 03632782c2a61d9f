"""`StreamTable`: threads write requests directly to the socket, without the event loop.

Only one thread writes at a time: a thread must hold the write lock, which is called the claim. The
loop writes what the socket did not accept, in order. Nothing is written after the end of the
connection.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from cassandra.protocol.opcodes import EXECUTE, MAX_BODY, RESULT
from cassandra.protocol.streams import MAX_STREAMS
from tests.conftest import Implementation

HEADER_SIZE = 9  # bytes in the header of a frame

pytestmark = pytest.mark.skipif(not hasattr(socket, "MSG_DONTWAIT"), reason="not on Windows")


class RecordingResponder:
    """A responder that records the bodies of its responses. The stream table sets `stream`."""

    def __init__(self) -> None:
        self.stream = -1
        self.answers: list[bytes] = []

    def on_response(self, connection: Any, opcode: int, flags: int, body: bytes) -> None:
        self.answers.append(body)


class SocketConnection:
    """A fake connection with a stream table and a real socket.

    The test reads the socket's other end.
    """

    version = peer_version = 4
    endpoint = "here:9042"

    def __init__(self, implementation: Implementation) -> None:
        self._implementation = implementation
        self.own_socket, self.peer_socket = socket.socketpair()
        self.own_socket.setblocking(False)
        self.peer_socket.settimeout(5)
        self.writer = implementation.frame.FrameWriter(4)
        self.wakeups: list[tuple[Any, ...]] = []
        self.unsolicited: list[int] = []
        self.streams = implementation.happy_path.StreamTable(
            self.writer, lambda call: call, self.flush
        )
        self.open()

    def open(self, writer: Any = None) -> None:
        """Allow threads to write to the socket directly."""
        writer = writer or self._implementation.frame.FrameWriter(4)
        self.streams.open_direct(self.own_socket, writer, self.wake, self.on_broken)
        # A connection sets this flag when the loop has nothing left to write.
        self.streams.settled = True

    def flush(self) -> None:
        """Write what the table has left for the loop, like a connection."""
        assert self.streams.acquire_write()
        rest, self.streams.rest = self.streams.rest, None
        data = (rest or b"") + self.writer.take()
        self.streams.settled = False
        self.streams.release_write()
        self.own_socket.setblocking(True)
        self.own_socket.sendall(data)

    def on_broken(self, error_number: int) -> None:
        """Fail the test: no write may fail here.

        A real connection calls this on the loop, with the error number of a failed write.
        """
        raise AssertionError(error_number)

    def wake(self, call: Callable[..., Any], *args: Any) -> None:
        """Record a function that the loop would call."""
        self.wakeups.append((call, *args))

    def on_unsolicited(self, stream: int, opcode: int, flags: int, body: bytes) -> None:
        self.unsolicited.append(stream)

    def answer(self, stream: int, body: bytes = b"answer") -> None:
        """Let the table dispatch a RESULT of version 4 on this stream."""
        self.streams.dispatch(self, [(stream, RESULT, 0, body, 4)])

    def send(self, body: bytes = b"body") -> RecordingResponder:
        """Send a request directly, which must succeed, and return its responder."""
        responder = self.try_to_send(body)
        assert responder is not None
        return responder

    def try_to_send(self, body: bytes = b"body") -> RecordingResponder | None:
        """Send a request directly, and return its responder. Return None if the table refuses."""
        responder = RecordingResponder()
        history: list[Any] = []
        data = self.streams.frame(EXECUTE, 0, body)
        is_sent = data is not None and self.streams.send_directly(responder, data, history)
        # The request's history must have an entry only if the request was sent.
        assert history == ([responder] if is_sent else [])
        return responder if is_sent else None

    def received(self, size: int) -> bytes:
        """Return the next `size` bytes that the peer receives."""
        data = b""
        while len(data) < size:
            data += self.peer_socket.recv(size - len(data))
        return data

    def is_free(self) -> bool:
        """Return True if no thread holds the claim, that is, the write lock."""
        if not self.streams.acquire_write():
            return False
        self.streams.release_write()
        return True


def send_by_loop(connection: SocketConnection, responder: Any = None, body: bytes = b"") -> int:
    """Let the loop send a request, and return its stream, or -1 if no stream is free."""
    responder = responder or RecordingResponder()
    stream: int = connection.streams.send(responder, EXECUTE, flags=0, body=body)
    return stream


@pytest.fixture
def connection(implementation: Implementation) -> Iterator[SocketConnection]:
    connection = SocketConnection(implementation)
    yield connection
    connection.own_socket.close()
    connection.peer_socket.close()


def execute_frame(stream: int, body: bytes) -> bytes:
    """Return an encoded EXECUTE of version 4: version, flags, stream, opcode, length, body."""
    return bytes((4, 0)) + stream.to_bytes(2, "big") + b"\x0a" + len(body).to_bytes(4, "big") + body


def test_a_direct_request_is_written_and_answered(connection: SocketConnection) -> None:
    """A thread writes a request to the socket itself, without waking the loop.

    The response frees the stream.
    """
    responder = connection.send(b"body")
    stream = responder.stream
    assert connection.received(HEADER_SIZE + len(b"body")) == execute_frame(stream, b"body")
    assert connection.streams.in_flight == 1
    # The loop was not woken.
    assert connection.wakeups == []
    assert connection.is_free()
    connection.answer(stream)
    assert responder.answers == [b"answer"]
    assert connection.streams.in_flight == 0
    assert connection.send().stream == stream


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_does_not_write(connection: SocketConnection) -> None:
    """If a signal handler forks between `frame` and the write, the child does not write.

    The child must not use the parent's connection.
    """
    data = connection.streams.frame(EXECUTE, 0, b"body")
    child = os.fork()
    if child == 0:
        try:
            is_sent = connection.streams.send_directly(RecordingResponder(), data, [])
        except BaseException:
            is_sent = True
        os._exit(is_sent)
    assert os.waitpid(child, 0)[1] == 0
    assert connection.send() is not None


def test_the_loop_does_not_use_the_stream_of_direct_requests(connection: SocketConnection) -> None:
    """One stream is reserved for requests that threads write themselves.

    So the loop and a thread never use the same stream.
    """
    direct_stream = connection.send().stream
    loop_streams = [send_by_loop(connection) for _ in range(100)]
    assert direct_stream not in loop_streams
    assert len(set(loop_streams)) == 100
    assert connection.streams.in_flight == 101


def test_the_loop_can_use_all_other_streams(connection: SocketConnection) -> None:
    """The loop can use all streams of the protocol but the one that is reserved for threads."""
    streams = connection.streams
    assert streams.limit == MAX_STREAMS - 1
    used_streams = {send_by_loop(connection) for _ in range(MAX_STREAMS - 1)}
    assert len(used_streams) == MAX_STREAMS - 1
    assert -1 not in used_streams
    assert not streams.has_room
    assert send_by_loop(connection) == -1


def test_the_limit_includes_direct_requests(connection: SocketConnection) -> None:
    """Direct requests count towards `limit`, like requests of the loop.

    At the limit, sending returns -1 instead of a stream.
    """
    streams = connection.streams
    streams.limit = 2
    connection.send()
    assert streams.has_room
    assert send_by_loop(connection) >= 0
    assert not streams.has_room
    assert send_by_loop(connection) == -1
    assert streams.limit == 2


@pytest.mark.parametrize("reason", ["in flight", "direct", "paused", "closed", "unsettled", "held"])
def test_conditions_that_prevent_a_claim(connection: SocketConnection, reason: str) -> None:
    """A thread may not write to the socket if something else is being sent, or must be sent first.

    :param reason: "held" means that another thread holds the claim (the write lock). "direct" means
        that another thread's request is in flight. "unsettled" means that the loop may still have
        bytes to write.
    """
    streams = connection.streams
    if reason == "in flight":
        send_by_loop(connection)
    elif reason == "direct":
        connection.send()
    elif reason == "held":
        assert streams.acquire_write()
    elif reason == "unsettled":
        streams.settled = False
    else:  # "paused" or "closed"
        setattr(streams, reason, True)
    assert connection.try_to_send() is None
    # The table is idle (ready for direct writes) even while another thread holds the claim.
    assert streams.is_idle == (reason == "held")
    if reason == "held":
        streams.release_write()
    assert connection.is_free()


def test_requests_are_written_in_an_empty_context(implementation: Implementation) -> None:
    """The loop does not write in the context of the request that it was scheduled for.

    It writes the requests of other callers, too.
    """
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    values: list[str] = []

    async def send() -> None:
        variable.set("set")
        streams = implementation.happy_path.StreamTable(
            implementation.frame.FrameWriter(4),
            asyncio.get_running_loop().call_soon,
            lambda: values.append(variable.get()),
        )
        streams.send(RecordingResponder(), EXECUTE, 0, b"")
        await asyncio.sleep(0)

    asyncio.run(send())
    assert values == ["unset"]


def test_without_a_socket_nothing_is_written_directly(implementation: Implementation) -> None:
    """A table without a socket refuses the requests of threads, but its write lock works."""
    writer = implementation.frame.FrameWriter(4)
    streams = implementation.happy_path.StreamTable(writer, lambda call: call, lambda: None)
    streams.settled = True
    assert streams.frame(EXECUTE, 0, b"") is None
    assert not streams.send_directly(RecordingResponder(), b"", [])
    assert not streams.could_settle
    assert streams.acquire_write()
    streams.release_write()


def test_a_table_can_settle_when_all_requests_are_answered(connection: SocketConnection) -> None:
    """`could_settle` is True if nothing is in flight and no bytes wait to be written.

    The connection may then allow threads to write directly again.
    """
    streams = connection.streams
    # The table is already settled.
    assert not streams.could_settle
    stream = send_by_loop(connection)
    streams.settled = False
    assert not streams.could_settle
    connection.answer(stream)
    assert streams.could_settle
    streams.rest = b"of a frame"
    assert not streams.could_settle


def fill_send_buffer(connection: SocketConnection) -> int:
    """Fill the socket's send buffer, and return the number of bytes written."""
    byte_count = 0
    # Write large pieces first, and then single bytes, until not even one byte fits.
    for size in (4096, 1):
        try:
            while True:
                byte_count += connection.own_socket.send(b"\0" * size)
        except BlockingIOError:
            pass
    return byte_count


def test_the_loop_writes_bytes_that_a_full_socket_refused(connection: SocketConnection) -> None:
    """If the socket is full, the thread leaves the frame in `rest` and wakes the loop.

    The loop writes the frame.
    """
    filler_size = fill_send_buffer(connection)
    responder = connection.send(b"body")
    assert connection.wakeups == [(connection.flush,)]
    assert connection.streams.rest == execute_frame(responder.stream, b"body")
    assert not connection.streams.settled
    connection.received(filler_size)
    connection.flush()
    assert connection.received(HEADER_SIZE + len(b"body")) == execute_frame(
        responder.stream, b"body"
    )


def test_the_rest_of_a_frame_is_written_first(connection: SocketConnection) -> None:
    """If the socket accepts only a part of a frame, no other frame is written before the rest."""
    connection.own_socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    body = os.urandom(1 << 20)  # far more than the send buffer can hold
    responder = connection.send(body)
    rest = connection.streams.rest
    assert 0 < len(rest) < HEADER_SIZE + len(body)
    assert connection.try_to_send() is None
    later_stream = send_by_loop(connection, body=b"later")
    # Flush in another thread, because the send buffer is full until this test reads from the peer.
    thread = threading.Thread(target=connection.flush)
    thread.start()
    expected = execute_frame(responder.stream, body) + execute_frame(later_stream, b"later")
    assert connection.received(len(expected)) == expected
    thread.join()
    assert connection.streams.rest is None


def test_after_an_early_answer_the_rest_is_written_first(connection: SocketConnection) -> None:
    """After an early response, the rest of the request's frame is written before other frames.

    Here, the server responds before it has read the whole frame.
    """
    connection.own_socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    responder = connection.send(b"x" * (1 << 20))
    # The server has read only the header of the large request, and already responds.
    connection.answer(responder.stream)
    assert connection.streams.in_flight == 0
    assert connection.try_to_send() is None
    assert not connection.streams.could_settle


def test_an_error_of_the_socket_is_reported_to_the_loop(connection: SocketConnection) -> None:
    """If a thread's write fails, the loop gets the error, with which it closes the connection.

    The thread gets no error.
    """
    connection.peer_socket.close()
    connection.send()
    assert connection.wakeups == [(connection.on_broken, errno.EPIPE)]
    assert connection.is_free()
    assert connection.try_to_send() is None


def test_a_closed_loop_is_not_notified(connection: SocketConnection) -> None:
    """If a write fails after the loop was closed, the thread gets no error."""

    def raise_closed(*args: Any) -> None:
        raise RuntimeError("the loop is closed")

    connection.wake = raise_closed  # type: ignore[assignment]
    # Create a new table, because a table keeps the `wake` from the time of its creation.
    connection.streams = type(connection.streams)(
        connection.writer, lambda call: call, connection.flush
    )
    connection.open()
    connection.peer_socket.close()
    connection.send()
    assert connection.is_free()


def test_a_body_that_is_too_large_writes_nothing(connection: SocketConnection) -> None:
    """A body above MAX_BODY raises ValueError and uses no stream.

    The next request can be sent.
    """
    with pytest.raises(ValueError, match="limit"):
        connection.streams.frame(EXECUTE, 0, bytes(MAX_BODY + 1))
    assert connection.streams.in_flight == 0
    assert connection.is_free()
    stream = connection.send(b"next").stream
    assert connection.received(HEADER_SIZE + len(b"next")) == execute_frame(stream, b"next")


class InterruptedWriter:
    """A fake `FrameWriter` whose first `take` raises KeyboardInterrupt, like a signal handler."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._is_interrupted = True
        self.add = writer.add

    @property
    def pending(self) -> int:
        count: int = self._writer.pending
        return count

    def take(self) -> Any:
        if self._is_interrupted:
            self._is_interrupted = False
            raise KeyboardInterrupt
        return self._writer.take()


def test_an_interrupted_frame_is_not_sent_with_the_next_one(connection: SocketConnection) -> None:
    """If a signal interrupts the encoding of a frame, this frame is dropped.

    It must not be sent together with the next frame.
    """
    connection.open(InterruptedWriter(connection._implementation.frame.FrameWriter(4)))
    with pytest.raises(KeyboardInterrupt):
        connection.send(b"interrupted")
    stream = connection.send(b"next").stream
    assert connection.received(HEADER_SIZE + len(b"next")) == execute_frame(stream, b"next")


def test_an_abandoned_stream_is_used_until_the_answer(connection: SocketConnection) -> None:
    """After a thread's request was abandoned, its stream stays in use until its late response.

    Only the responder of the request can abandon it, once. No other thread may write a request
    itself during this time.
    """
    responder = connection.send()
    assert not connection.streams.abandon(responder.stream, RecordingResponder())
    assert connection.streams.abandon(responder.stream, responder)
    assert connection.streams.in_flight == 1
    assert connection.streams.orphans == 1
    assert connection.try_to_send() is None
    assert not connection.streams.abandon(responder.stream, responder)
    connection.answer(responder.stream)
    assert responder.answers == []
    assert connection.streams.in_flight == 0
    assert connection.streams.orphans == 0
    assert connection.streams.is_idle


def test_a_second_answer_is_unsolicited(connection: SocketConnection) -> None:
    stream = connection.send().stream
    connection.answer(stream)
    connection.answer(stream)
    assert connection.unsolicited == [stream]


def test_take_all_includes_the_direct_request(connection: SocketConnection) -> None:
    responder, other = connection.send(), RecordingResponder()
    send_by_loop(connection, other)
    assert set(connection.streams.take_all()) == {responder, other}
    assert connection.streams.take_all() == []


def test_take_all_does_not_include_orphans(connection: SocketConnection) -> None:
    responder = connection.send()
    connection.streams.abandon(responder.stream, responder)
    assert connection.streams.take_all() == []


def test_a_thread_that_holds_the_claim_closes_the_socket(connection: SocketConnection) -> None:
    """If the connection is closed while a thread holds the claim, the thread closes the socket.

    The claim is the write lock. The thread closes the socket when it releases the claim.
    """
    assert connection.streams.acquire_write()
    connection.streams.closed = True
    # The loop cannot take the claim (the write lock), so it does not close the socket.
    assert not connection.streams.acquire_write()
    assert connection.own_socket.fileno() >= 0
    connection.streams.release_write()
    assert connection.own_socket.fileno() == -1
    assert connection.peer_socket.recv(1) == b""
    assert connection.try_to_send() is None


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Let Python switch threads often, because the threads wait for each other in busy loops."""
    interval_before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval_before)


@pytest.mark.usefixtures("quick_switches")
@pytest.mark.parametrize("rounds", [60, pytest.param(300, marks=pytest.mark.long)])
@pytest.mark.slow
def test_threads_write_one_at_a_time(connection: SocketConnection, rounds: int) -> None:
    """Frames of four threads arrive complete, and each request gets its response."""
    sent_count = 0
    stop = threading.Event()
    lock = threading.Lock()

    def send_until_stopped() -> None:
        """Write requests until `stop` is set, and count the requests that were sent."""
        nonlocal sent_count
        while not stop.is_set():
            if connection.try_to_send() is not None:
                with lock:
                    sent_count += 1

    threads = [threading.Thread(target=send_until_stopped) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(rounds):
        header = connection.received(HEADER_SIZE)
        version, _flags, stream, opcode, length = struct.unpack(">BBHBI", header)
        assert version == 4
        assert opcode == EXECUTE
        connection.received(length)
        connection.answer(stream)
    stop.set()
    for thread in threads:
        thread.join()
    # Another request may have been sent before the threads stopped.
    assert sent_count - rounds in (0, 1)
    assert connection.unsolicited == []


class InterruptedSocket:
    """A socket whose `send` raises KeyboardInterrupt, either before or after writing."""

    def __init__(self, real_socket: socket.socket, has_written: bool) -> None:
        self._real_socket = real_socket
        self._has_written = has_written

    def fileno(self) -> int:
        return self._real_socket.fileno()

    def send(self, data: bytes, flags: int) -> int:
        if self._has_written:
            self._real_socket.send(data, flags)
        raise KeyboardInterrupt


class RefusingSocket:
    """A socket whose `send` fails, as if a firewall refused the packet."""

    def __init__(self, error: OSError) -> None:
        self._error = error

    def fileno(self) -> int:
        return -1

    def send(self, data: bytes, flags: int) -> int:
        raise self._error


@pytest.mark.parametrize(
    ("error", "reported"),
    [
        (PermissionError(errno.EPERM, "not permitted"), errno.EPERM),
        (OSError("an error without a number"), 0),
    ],
)
def test_a_refused_write_reports_its_error_number(
    connection: SocketConnection, error: OSError, reported: int
) -> None:
    """EPERM, whose number is 1, is reported like each other error.

    The loop gets 0 if the error has no number.
    """
    if connection._implementation.name == "c":
        pytest.skip("the compiled version calls send() of the C library")
    connection.streams._socket = RefusingSocket(error)
    connection.send()
    assert connection.wakeups == [(connection.on_broken, reported)]


@pytest.mark.parametrize("has_written", [False, True])
def test_an_interrupted_write_closes_the_connection(
    connection: SocketConnection, has_written: bool
) -> None:
    """In the pure Python version, a direct write that is interrupted closes the connection.

    The compiled version cannot be interrupted while it writes.
    """
    if connection._implementation.name == "c":
        pytest.skip("a compiled write cannot be interrupted")
    connection.streams._socket = InterruptedSocket(connection.own_socket, has_written)
    responder = RecordingResponder()
    data = connection.streams.frame(EXECUTE, 0, b"body")
    with pytest.raises(KeyboardInterrupt):
        connection.streams.send_directly(responder, data, [])
    # It is not known how many bytes were written, so the loop must close the connection.
    assert connection.wakeups == [(connection.on_broken, 0)]
    assert connection.is_free()
    assert connection.streams.take_all() == [responder]


def test_a_request_is_not_lost_if_the_connection_closes_meanwhile(
    connection: SocketConnection,
) -> None:
    """If the connection closes while a thread sends a request, `send_directly` returns False.

    The request is not lost, because the caller can send it on another connection.
    """

    class ClosingResponder(RecordingResponder):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            # Close the connection exactly when the request gets its stream.
            if name == "stream" and value >= 0:
                connection.streams.closed = True
                assert connection.streams.take_all() == []

    history: list[Any] = []
    responder = ClosingResponder()
    data = connection.streams.frame(EXECUTE, 0, b"body")
    assert not connection.streams.send_directly(responder, data, history)
    assert responder.stream == -1
    assert history == []
    assert connection.streams.in_flight == 0
    assert connection.is_free()
    assert connection.own_socket.fileno() == -1
    assert connection.peer_socket.recv(1) == b""
