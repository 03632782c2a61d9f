"""Direct requests at the stream table: they are written one at a time, completely or handed on in
order, and never after the end of the connection.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra.protocol.opcodes import EXECUTE, MAX_BODY, RESULT
from cassandra.protocol.streams import MAX_STREAMS
from tests.conftest import Twins

HEADER = 9  # bytes

pytestmark = pytest.mark.skipif(not hasattr(socket, "MSG_DONTWAIT"), reason="not on Windows")


class Responder:
    def __init__(self) -> None:
        self.stream = -1
        self.answers: list[bytes] = []

    def on_response(self, connection: Any, opcode: int, flags: int, body: bytes) -> None:
        self.answers.append(body)


class Line:
    """A stream table with a socket whose other end the test reads."""

    version = peer_version = 4
    endpoint = "here:9042"

    def __init__(self, twins: Twins) -> None:
        self._twins = twins
        self.own, self.peer = socket.socketpair()
        self.own.setblocking(False)
        self.peer.settimeout(5)
        self.writer = twins.frame.FrameWriter(4)
        self.woken: list[tuple[Any, ...]] = []
        self.unsolicited: list[int] = []
        self.streams = twins.happy_path.StreamTable(self.writer, lambda call: call, self.flush)
        self.open()

    def open(self, writer: Any = None) -> None:
        writer = writer or self._twins.frame.FrameWriter(4)
        self.streams.open_direct(self.own, writer, self.wake, self.on_broken)
        self.streams.settled = True

    def flush(self) -> None:
        """Flush the table, as a connection does."""
        assert self.streams.acquire_write()
        rest, self.streams.rest = self.streams.rest, None
        data = (rest or b"") + self.writer.take()
        self.streams.settled = False
        self.streams.release_write()
        self.own.setblocking(True)
        self.own.sendall(data)

    def on_broken(self, number: int) -> None:
        raise AssertionError(number)

    def wake(self, call: Callable[..., Any], *args: Any) -> None:
        self.woken.append((call, *args))

    def on_unsolicited(self, stream: int, opcode: int, flags: int, body: bytes) -> None:
        self.unsolicited.append(stream)

    def answer(self, stream: int, body: bytes = b"answer") -> None:
        self.streams.dispatch(self, [(stream, RESULT, 0, body, 4)])

    def send(self, body: bytes = b"body") -> Responder:
        responder = self.try_to_send(body)
        assert responder is not None
        return responder

    def try_to_send(self, body: bytes = b"body") -> Responder | None:
        responder = Responder()
        history: list[Any] = []
        data = self.streams.frame(EXECUTE, 0, body)
        is_sent = data is not None and self.streams.send_directly(responder, data, history)
        assert history == [responder] * is_sent
        return responder if is_sent else None

    def received(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += self.peer.recv(size - len(data))
        return data

    def is_free(self) -> bool:
        """Return True if no thread holds the claim."""
        if not self.streams.acquire_write():
            return False
        self.streams.release_write()
        return True


@pytest.fixture
def line(twins: Twins) -> Iterator[Line]:
    line = Line(twins)
    yield line
    line.own.close()
    line.peer.close()


def frame(stream: int, body: bytes) -> bytes:
    return bytes((4, 0)) + stream.to_bytes(2, "big") + b"\x0a" + len(body).to_bytes(4, "big") + body


def test_a_request_is_written_and_its_answer_finds_it(line: Line) -> None:
    responder = line.send(b"body")
    stream = responder.stream
    assert line.received(HEADER + 4) == frame(stream, b"body")
    assert line.streams.in_flight == 1
    assert line.woken == []
    assert line.is_free()
    line.answer(stream)
    assert responder.answers == [b"answer"]
    assert line.streams.in_flight == 0
    assert line.send().stream == stream


def test_the_loop_never_gives_the_stream_away(line: Line) -> None:
    direct = line.send().stream
    streams = [line.streams.send(Responder(), EXECUTE, 0, b"") for _ in range(100)]
    assert direct not in streams
    assert len(set(streams)) == 100
    assert line.streams.in_flight == 101


def test_all_other_streams_can_be_taken(line: Line) -> None:
    streams = line.streams
    assert streams.limit == MAX_STREAMS - 1
    taken = {streams.send(Responder(), EXECUTE, 0, b"") for _ in range(MAX_STREAMS - 1)}
    assert len(taken) == MAX_STREAMS - 1
    assert -1 not in taken
    assert not streams.has_room
    assert streams.send(Responder(), EXECUTE, 0, b"") == -1


def test_the_limit_counts_both(line: Line) -> None:
    streams = line.streams
    streams.limit = 2
    line.send()
    assert streams.has_room
    assert streams.send(Responder(), EXECUTE, 0, b"") >= 0
    assert not streams.has_room
    assert streams.send(Responder(), EXECUTE, 0, b"") == -1
    assert streams.limit == 2


@pytest.mark.parametrize("reason", ["in flight", "direct", "paused", "closed", "unsettled", "held"])
def test_conditions_that_prevent_a_claim(line: Line, reason: str) -> None:
    streams = line.streams
    if reason == "in flight":
        streams.send(Responder(), EXECUTE, 0, b"")
    elif reason == "direct":
        line.send()
    elif reason == "held":
        assert streams.acquire_write()
    else:
        setattr(streams, "settled" if reason == "unsettled" else reason, reason != "unsettled")
    assert line.try_to_send() is None
    assert streams.is_idle == (reason == "held")
    if reason == "held":
        streams.release_write()
    assert line.is_free()


def test_without_a_socket_nothing_is_claimed(twins: Twins) -> None:
    writer = twins.frame.FrameWriter(4)
    streams = twins.happy_path.StreamTable(writer, lambda call: call, lambda: None)
    streams.settled = True
    assert streams.frame(EXECUTE, 0, b"") is None
    assert not streams.send_directly(Responder(), b"", [])
    assert not streams.could_settle
    assert streams.acquire_write()
    streams.release_write()


def test_a_table_can_settle_when_all_requests_are_answered(line: Line) -> None:
    streams = line.streams
    assert not streams.could_settle  # settled already
    stream = streams.send(Responder(), EXECUTE, 0, b"")
    streams.settled = False
    assert not streams.could_settle
    line.answer(stream)
    assert streams.could_settle
    streams.rest = b"of a frame"
    assert not streams.could_settle


def fill(line: Line) -> int:
    """Write until the socket's send buffer is full; return the number of bytes written."""
    taken = 0
    for size in (4096, 1):
        try:
            while True:
                taken += line.own.send(b"\0" * size)
        except BlockingIOError:
            pass
    return taken


def test_the_loop_writes_bytes_that_a_full_socket_refused(line: Line) -> None:
    taken = fill(line)
    responder = line.send(b"body")
    assert line.woken == [(line.flush,)]
    assert line.streams.rest == frame(responder.stream, b"body")
    assert not line.streams.settled
    line.received(taken)
    line.flush()
    assert line.received(HEADER + 4) == frame(responder.stream, b"body")


def test_the_rest_of_a_frame_is_written_first(line: Line) -> None:
    line.own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    body = os.urandom(1 << 20)
    responder = line.send(body)
    rest = line.streams.rest
    assert 0 < len(rest) < HEADER + len(body)
    assert line.try_to_send() is None
    later = line.streams.send(Responder(), EXECUTE, 0, b"later")
    thread = threading.Thread(target=line.flush)
    thread.start()
    expected = frame(responder.stream, body) + frame(later, b"later")
    assert line.received(len(expected)) == expected
    thread.join()
    assert line.streams.rest is None


def test_an_early_answer_does_not_let_another_one_in(line: Line) -> None:
    line.own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    responder = line.send(b"x" * (1 << 20))
    line.answer(responder.stream)  # the server refuses the header, having read only that
    assert line.streams.in_flight == 0
    assert line.try_to_send() is None
    assert not line.streams.could_settle


def test_an_error_is_told_to_the_loop(line: Line) -> None:
    line.peer.close()
    line.send()
    assert line.woken == [(line.on_broken, errno.EPIPE)]
    assert line.is_free()
    assert line.try_to_send() is None


def test_a_closed_loop_is_not_notified(line: Line) -> None:
    def wake(*args: Any) -> None:
        raise RuntimeError("the loop is closed")

    line.wake = wake  # type: ignore[assignment]
    line.streams = type(line.streams)(line.writer, lambda call: call, line.flush)
    line.open()
    line.peer.close()
    line.send()
    assert line.is_free()


def test_a_body_that_is_too_large_writes_nothing(line: Line) -> None:
    with pytest.raises(ValueError, match="limit"):
        line.streams.frame(EXECUTE, 0, bytes(MAX_BODY + 1))
    assert line.streams.in_flight == 0
    assert line.is_free()
    stream = line.send(b"next").stream
    assert line.received(HEADER + 4) == frame(stream, b"next")


class InterruptedWriter:
    """Fake `FrameWriter`; during its compression a signal handler raises, once."""

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


def test_a_frame_that_was_interrupted_is_not_sent_with_the_next_one(line: Line) -> None:
    line.open(InterruptedWriter(line._twins.frame.FrameWriter(4)))
    with pytest.raises(KeyboardInterrupt):
        line.send(b"first")
    stream = line.send(b"next").stream
    assert line.received(HEADER + 4) == frame(stream, b"next")


def test_a_stream_that_is_given_up_stays_taken(line: Line) -> None:
    responder = line.send()
    assert not line.streams.abandon(responder.stream, Responder())
    assert line.streams.abandon(responder.stream, responder)
    assert (line.streams.in_flight, line.streams.orphans) == (1, 1)
    assert line.try_to_send() is None
    assert not line.streams.abandon(responder.stream, responder)
    line.answer(responder.stream)
    assert responder.answers == []
    assert (line.streams.in_flight, line.streams.orphans) == (0, 0)
    assert line.streams.is_idle


def test_an_answer_that_nobody_asked_for(line: Line) -> None:
    stream = line.send().stream
    line.answer(stream)
    line.answer(stream)
    assert line.unsolicited == [stream]


def test_the_end_tells_it_too(line: Line) -> None:
    responder, other = line.send(), Responder()
    line.streams.send(other, EXECUTE, 0, b"")
    assert set(line.streams.take_all()) == {responder, other}
    assert line.streams.take_all() == []


def test_an_orphan_is_not_told_of_the_end(line: Line) -> None:
    responder = line.send()
    line.streams.abandon(responder.stream, responder)
    assert line.streams.take_all() == []


def test_the_socket_is_closed_when_the_claim_is_given_back(line: Line) -> None:
    assert line.streams.acquire_write()
    line.streams.closed = True
    # The loop does not wait long, so the thread closes the socket.
    assert not line.streams.acquire_write()
    assert line.own.fileno() >= 0
    line.streams.release_write()
    assert line.own.fileno() == -1
    assert line.peer.recv(1) == b""
    assert line.try_to_send() is None


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Make threads switch often, because they spin."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("quick_switches")
@pytest.mark.slow
def test_threads_write_one_at_a_time(line: Line) -> None:
    """Frames of many threads arrive complete, and each gets its answer."""
    rounds, sent, stop = 300, [0], threading.Event()
    lock = threading.Lock()

    def work() -> None:
        while not stop.is_set():
            if line.try_to_send() is not None:
                with lock:
                    sent[0] += 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(rounds):
        head = line.received(HEADER)
        assert (head[0], head[4]) == (4, 10)
        line.received(int.from_bytes(head[5:], "big"))
        line.answer(int.from_bytes(head[2:4], "big"))
    stop.set()
    for thread in threads:
        thread.join()
    assert sent[0] - rounds in (0, 1)
    assert line.unsolicited == []


class Interrupting:
    """A socket at which a signal handler raises an exception, before or after the write."""

    def __init__(self, real: socket.socket, after: bool) -> None:
        self._real = real
        self._after = after

    def fileno(self) -> int:
        return self._real.fileno()

    def send(self, data: bytes, flags: int) -> int:
        if self._after:
            self._real.send(data, flags)
        raise KeyboardInterrupt


@pytest.mark.parametrize("after", [False, True])
def test_an_interrupted_write_closes_the_connection(line: Line, after: bool) -> None:
    """An interrupted write of the Python twin closes the connection; the compiled twin cannot be
    interrupted.
    """
    if line._twins.impl == "c":
        pytest.skip("a compiled write cannot be interrupted")
    line.streams._socket = Interrupting(line.own, after)
    responder = Responder()
    data = line.streams.frame(EXECUTE, 0, b"body")
    with pytest.raises(KeyboardInterrupt):
        line.streams.send_directly(responder, data, [])
    assert line.woken == [(line.on_broken, 0)]
    assert line.is_free()
    assert line.streams.take_all() == [responder]


def test_a_connection_that_closes_under_a_late_thread_loses_no_request(line: Line) -> None:
    """No request is lost if the connection closes while a thread holds the claim but has not yet
    named its request.
    """

    class Late(Responder):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "stream" and value >= 0:
                line.streams.closed = True
                assert line.streams.take_all() == []

    history: list[Any] = []
    responder = Late()
    data = line.streams.frame(EXECUTE, 0, b"body")
    assert not line.streams.send_directly(responder, data, history)
    assert (responder.stream, history, line.streams.in_flight) == (-1, [], 0)
    assert line.is_free()
    assert line.own.fileno() == -1
    assert line.peer.recv(1) == b""
