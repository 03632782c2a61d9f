"""Answers with a fault: a response that is late, incomplete, damaged, repeated, or never sent.

Each public function returns an `Answer`, which you pass to `FakeNode.prime`. The classes implement
these answers.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cassandra.testing.fake.answers import Answer, Answerable, as_answer, void

if TYPE_CHECKING:
    from cassandra.testing.fake.connection import ServerConnection
    from cassandra.testing.fake.requests import Request

__all__ = [
    "Held", "Hold", "close", "corrupted", "delay", "dribble", "duplicate", "garbage", "half_frame",
    "hold", "on_stream", "out_of_order", "raw", "reset", "silence",
]  # fmt: skip


class _Silence(Answer):
    """An answer that sends nothing."""

    __slots__ = ()

    @property
    def is_fault(self) -> bool:
        return True

    def perform(self, request: Request) -> None:
        pass


_SILENCE = _Silence()


def silence() -> Answer:
    """Return an answer that sends nothing: the client never gets a response."""
    return _SILENCE


class _Delay(Answer):
    """The answer that `delay` returns: sends another answer some seconds after the request."""

    __slots__ = ("_answer", "_seconds")

    def __init__(self, seconds: float, answer: Answer) -> None:
        self._seconds = seconds
        self._answer = answer

    @property
    def is_fault(self) -> bool:
        return self._answer.is_fault

    def perform(self, request: Request) -> None:
        # Use `call_later`: a sleep would also delay the responses to other requests.
        connection = request.connection
        connection.loop.call_later(self._seconds, connection.node.perform, self._answer, request)


def delay(seconds: float, answer: Answerable) -> Answer:
    """Return an answer that is sent `seconds` after the request.

    A test that must not depend on time should use `hold`.

    :param seconds: the delay in seconds.
    :param answer: the answer to send after the delay.
    """
    first: object = seconds
    if isinstance(first, Answer):
        raise TypeError("the seconds come first: write delay(seconds, answer)")
    if isinstance(first, bool) or not isinstance(first, (int, float)):
        raise TypeError(f"a delay must be a number of seconds, but is {first!r}")
    return _Delay(seconds, as_answer(answer))


class Held:
    """A request that a `Hold` has not answered yet. The test answers it by `release`.

    The attribute `released` is True after that.

    :param request: the request that waits.
    :param default: the answer that `release` sends by default.
    :param hold: the `Hold` whose queue has the request; None for none.
    """

    __slots__ = ("_default", "released", "request", "waits_in")

    def __init__(self, request: Request, default: Answer, hold: Hold | None = None) -> None:
        self.request = request
        # The `Hold` whose queue has this request; None if the request was taken from the queue.
        self.waits_in = hold
        self._default = default
        self.released = False

    def release(self, answer: Answerable | None = None) -> None:
        """Respond to the request now. You may call this from any thread.

        :param answer: the answer to send; None for the default of the `Hold`.
        :raises RuntimeError: if the request was already released.
        """
        # Respond on the node's thread, because asyncio transports are not thread-safe.
        node = self.request.connection.node
        node.post(node.perform, self._chosen(answer), self.request)

    def _chosen(self, answer: Answerable | None) -> Answer:
        """Set `released`, and return the answer to send."""
        if self.released:
            raise RuntimeError(f"{self.request!r} was answered already")
        self.released = True
        if self.waits_in is not None:
            self.waits_in.has_released = True
        return self._default if answer is None else as_answer(answer)

    @staticmethod
    def release_together(holds: Sequence[Held], answer: Answerable | None = None) -> None:
        """Respond to several requests to the same node, in one write per connection.

        :param holds: the held requests. All must have been sent to the same node.
        :param answer: the answer to send; None for the default of each `Hold`.
        """
        pairs = [(hold._chosen(answer), hold.request) for hold in holds]

        def work() -> None:
            for chosen_answer, request in pairs:
                request.connection.node.perform(chosen_answer, request)

        if holds:
            holds[0].request.connection.node.post(work)


class Hold(Answer):
    """The answer that `hold` returns: lets requests wait until the test releases them.

    :param default: the answer that `release` sends by default.
    """

    def __init__(self, default: Answer) -> None:
        self._default = default
        self._held: deque[Held] = deque()  # the requests that wait, the oldest first
        self._arrived = threading.Condition()  # guards all fields; notified when a request arrives
        self._open = False  # True after `open`: requests are no longer held
        self.has_released = False  # True if the queue has requests that were released

    @property
    def is_fault(self) -> bool:
        return self._default.is_fault

    def perform(self, request: Request) -> None:
        """Hold the request back. If `open` was called, send the default answer instead."""
        with self._arrived:
            if not self._open:
                self._held.append(Held(request, self._default, self))
                self._arrived.notify_all()
                return
        self._default.perform(request)

    @property
    def held(self) -> list[Held]:
        """The requests that wait now, in the order of their arrival."""
        with self._arrived:
            self._forget_released()
            return list(self._held)

    def _forget_released(self) -> None:
        """Remove those requests from the queue that the test has answered by `Held.release`."""
        if self.has_released:
            # Clear the flag before the search, because a release during the search sets it again.
            self.has_released = False
            self._held = deque(hold for hold in self._held if not hold.released)

    def _has(self, count: int) -> bool:
        """Return True if at least `count` requests wait now."""
        self._forget_released()
        return len(self._held) >= count

    def wait(self, count: int = 1, timeout: float = 30.0) -> list[Held]:
        """Wait until `count` requests are held, and return all held requests.

        :param count: how many requests to wait for.
        :param timeout: the maximum wait, in seconds.
        :raises AssertionError: if fewer requests are held after `timeout` seconds.
        """
        with self._arrived:
            if not self._arrived.wait_for(lambda: self._has(count), timeout):
                raise AssertionError(
                    f"{len(self._held)} requests were held back within {timeout} s, not {count}"
                )
            return list(self._held)

    def take(self, count: int = 1, timeout: float = 30.0) -> list[Held]:
        """Wait for `count` requests, and remove them from the hold. The caller must release them.

        :param count: how many requests to wait for and remove.
        :param timeout: the maximum wait, in seconds.
        """
        with self._arrived:
            if not self._arrived.wait_for(lambda: self._has(count), timeout):
                raise AssertionError(
                    f"{len(self._held)} requests were held back within {timeout} s, not {count}"
                )
            taken = [self._held.popleft() for _ in range(count)]
            for hold in taken:
                hold.waits_in = None
            return taken

    def release(self, answer: Answerable | None = None, timeout: float = 30.0) -> None:
        """Wait until a request is held, and respond to the oldest held request.

        :param answer: the answer to send; None for the default of the `Hold`.
        :param timeout: the maximum wait, in seconds.
        """
        self.take(1, timeout)[0].release(answer)

    def release_all(self, answer: Answerable | None = None) -> None:
        """Respond to all held requests, in one write per connection.

        :param answer: the answer to send; None for the default of the `Hold`.
        """
        with self._arrived:
            self._forget_released()
            holds, self._held = list(self._held), deque()
            for hold in holds:
                hold.waits_in = None
        for node in {hold.request.connection.node for hold in holds}:
            Held.release_together(
                [hold for hold in holds if hold.request.connection.node is node], answer
            )

    def open(self) -> None:
        """Respond to all held requests, and answer later requests at once with the default."""
        with self._arrived:
            # Set the flag under the lock, because a request may arrive at the same time. Either
            # this request is in the queue already, and is released below, or `perform` sees the
            # flag and responds at once.
            self._open = True
        self.release_all()


def hold(answer: Answerable | None = None) -> Hold:
    """Return an answer that lets requests wait until you release them; see the methods of `Hold`.

    :param answer: the answer that `release` sends by default. None means a Void result.
    """
    return Hold(void() if answer is None else as_answer(answer))


class _Ending(Answer):
    """The answer that `close` and `reset` return: ends the connection without a response."""

    __slots__ = ("_reset",)

    def __init__(self, reset: bool) -> None:
        self._reset = reset

    @property
    def is_fault(self) -> bool:
        return True

    def perform(self, request: Request) -> None:
        request.connection.end(self._reset)


def close() -> Answer:
    """Return an answer that closes the connection (FIN), and sends no response."""
    return _Ending(reset=False)


def reset() -> Answer:
    """Return an answer that aborts the connection (RST), and sends no response."""
    return _Ending(reset=True)


class _HalfFrame(Answer):
    """The answer that `half_frame` returns: sends only the beginning of a response."""

    __slots__ = ("_answer", "_cut", "_then")

    def __init__(self, answer: Answer, cut: int, then: str) -> None:
        self._answer = answer
        self._cut = cut
        self._then = then

    @property
    def is_fault(self) -> bool:
        return True

    def perform(self, request: Request) -> None:
        """Send the first `_cut` bytes of the response, and then hang or close the connection."""
        connection = request.connection
        frame = connection.wire_bytes(request.stream, *self._answer.envelope(request))
        connection.write_raw(frame[: self._cut])
        if self._then == "hang":
            connection.hang()
        else:
            connection.end(self._then == "reset")


def half_frame(answer: Answerable, cut: int, then: str = "close") -> Answer:
    """Return an answer that sends only the beginning of a response, then breaks the connection.

    :param answer: the answer whose response is cut; it must be a single message.
    :param cut: the number of bytes to send. A negative number omits that many bytes at the end.
    :param then: what happens to the connection: "close" (FIN), "reset" (RST) or "hang" (the
        connection stays open, but silent).
    :raises ValueError: if `then` has another value.
    """
    if then not in ("close", "reset", "hang"):
        raise ValueError(f"then is 'close', 'reset' or 'hang', not {then!r}")
    return _HalfFrame(as_answer(answer), cut, then)


class _Corrupted(Answer):
    """The answer that `corrupted` returns: sends a response with one flipped bit."""

    __slots__ = ("_answer", "_index")

    def __init__(self, answer: Answer, index: int) -> None:
        self._answer = answer
        self._index = index

    @property
    def is_fault(self) -> bool:
        return True

    def perform(self, request: Request) -> None:
        connection = request.connection
        damaged = bytearray(connection.wire_bytes(request.stream, *self._answer.envelope(request)))
        # Flip one bit, which every CRC detects.
        damaged[self._index] ^= 0x01
        connection.write_raw(bytes(damaged))


def corrupted(answer: Answerable, at: int = -5) -> Answer:
    """Return an answer that sends a response with one flipped bit.

    By default, the bit is in the last byte of the frame's payload, just before the CRC32 that
    protects the payload.

    :param answer: the answer to damage; it must be a single message.
    :param at: the index of the byte whose lowest bit is flipped; negative indexes count from the
        end.
    """
    return _Corrupted(as_answer(answer), at)


class _Bytes(Answer):
    """The answer that `garbage` and `raw` return: sends fixed bytes instead of a response."""

    __slots__ = ("_data", "_framed")

    def __init__(self, data: bytes, framed: bool) -> None:
        self._data = data
        self._framed = framed

    @property
    def is_fault(self) -> bool:
        return True

    def perform(self, request: Request) -> None:
        if self._framed:
            request.connection.send_envelope(self._data)
        else:
            request.connection.write_raw(self._data)


def garbage(data: bytes = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n") -> Answer:
    """Return an answer that writes bytes directly to the socket, without a frame.

    :param data: the bytes.
    """
    return _Bytes(data, framed=False)


def raw(data: bytes) -> Answer:
    """Return an answer that sends these bytes instead of a response's envelope.

    In version 5, the bytes are inside a valid frame.

    :param data: the bytes.
    """
    return _Bytes(data, framed=True)


class _Dribble(Answer):
    """The answer that `dribble` returns: sends a response in small pieces."""

    __slots__ = ("_answer", "_size")

    def __init__(self, answer: Answer, size: int) -> None:
        self._answer = answer
        self._size = size

    @property
    def is_fault(self) -> bool:
        return self._answer.is_fault

    def perform(self, request: Request) -> None:
        connection = request.connection
        frame = connection.wire_bytes(request.stream, *self._answer.envelope(request))
        self._next(connection, frame, 0)

    def _next(self, connection: ServerConnection, frame: bytes, start: int) -> None:
        """Send the piece of `frame` that begins at `start`, and schedule the next piece."""
        end = start + self._size
        connection.write_raw(frame[start:end])
        if end < len(frame):
            # Write the next piece in the next iteration of the event loop, so that the client can
            # read this piece separately.
            connection.loop.call_soon(self._next, connection, frame, end)


def dribble(answer: Answerable, size: int = 1) -> Answer:
    """Return an answer that sends its response in pieces of `size` bytes.

    Until the last piece is sent, the connection must not send anything else.

    :param answer: the answer to send; it must be a single message.
    :param size: the number of bytes in a piece.
    """
    return _Dribble(as_answer(answer), size)


class _OnStream(Answer):
    """The answer that `on_stream` returns: sends a response with another stream id."""

    __slots__ = ("_answer", "_stream")

    def __init__(self, answer: Answer, stream: int) -> None:
        self._answer = answer
        self._stream = stream

    @property
    def is_fault(self) -> bool:
        return True

    def perform(self, request: Request) -> None:
        request.connection.send(self._stream, *self._answer.envelope(request))


def on_stream(answer: Answerable, stream: int) -> Answer:
    """Return an answer that is sent with a stream id that is not the request's stream id.

    :param answer: the answer to send; it must be a single message.
    :param stream: the stream id to send it on.
    """
    return _OnStream(as_answer(answer), stream)


class _Duplicate(Answer):
    """The answer that `duplicate` returns: sends a response several times."""

    __slots__ = ("_answer", "_times")

    def __init__(self, answer: Answer, times: int) -> None:
        self._answer = answer
        self._times = times

    @property
    def is_fault(self) -> bool:
        return self._answer.is_fault

    def perform(self, request: Request) -> None:
        for _ in range(self._times):
            self._answer.perform(request)


def duplicate(answer: Answerable, times: int = 2) -> Answer:
    """Return an answer that is sent several times for one request.

    :param answer: the answer to send.
    :param times: how many times to send the answer.
    """
    return _Duplicate(as_answer(answer), times)


class _OutOfOrder(Answer):
    """The answer that `out_of_order` returns: answers each group of requests in reverse order."""

    __slots__ = ("_answer", "_count", "_waiting")

    def __init__(self, answer: Answer, count: int) -> None:
        self._answer = answer
        self._count = count
        self._waiting: list[Request] = []  # the requests of the group that is not complete yet

    @property
    def is_fault(self) -> bool:
        return self._answer.is_fault

    def perform(self, request: Request) -> None:
        """Let the request wait; if its group is complete, answer the group in reverse order."""
        self._waiting.append(request)
        if len(self._waiting) >= self._count:
            # Take the list before answering, so that requests that arrive in the meantime form a
            # new group.
            waiting, self._waiting = self._waiting, []
            for waiting_request in reversed(waiting):
                request.connection.node.perform(self._answer, waiting_request)


def out_of_order(answer: Answerable, count: int = 2) -> Answer:
    """Return an answer that waits for `count` requests, and responds to them in reverse order.

    :param answer: the answer to send to each request.
    :param count: the number of requests in a group.
    """
    return _OutOfOrder(as_answer(answer), count)
