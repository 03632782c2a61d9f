"""Answers that come late, come twice, come in pieces, or never come."""

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
    "Held",
    "Hold",
    "close",
    "corrupted",
    "delay",
    "dribble",
    "duplicate",
    "garbage",
    "half_frame",
    "hold",
    "on_stream",
    "out_of_order",
    "raw",
    "reset",
    "silence",
]


class _Silence(Answer):
    __slots__ = ()

    def perform(self, request: Request) -> None:
        pass


_SILENCE = _Silence()


def silence() -> Answer:
    """Return an answer that never comes."""
    return _SILENCE


class _Delay(Answer):
    __slots__ = ("_answer", "_seconds")

    def __init__(self, seconds: float, answer: Answer) -> None:
        self._seconds = seconds
        self._answer = answer

    def perform(self, request: Request) -> None:
        # Not a sleep: one delayed answer must not hold back those of other requests.
        request.connection.loop.call_later(self._seconds, self._answer.perform, request)


def delay(seconds: float, answer: Answerable) -> Answer:
    """Return `answer` after `seconds`. Tests that must not depend on time use `hold`.

    :param seconds: how long it waits.
    :param answer: the answer.
    """
    return _Delay(seconds, as_answer(answer))


class Held:
    """One request whose answer is held back. `released` is True once it was answered.

    :param request: the request.
    :param default: the answer for a `release` without one.
    """

    __slots__ = ("_default", "released", "request")

    def __init__(self, request: Request, default: Answer) -> None:
        self.request = request
        self._default = default
        self.released = False

    def release(self, answer: Answerable | None = None) -> None:
        """Answer it now. Any thread may call it.

        :param answer: None for the hold's own answer.
        :raises RuntimeError: if it was answered already.
        """
        # On the node's thread: transports of asyncio may be used from there alone.
        self.request.connection.node.post(self._chosen(answer).perform, self.request)

    def _chosen(self, answer: Answerable | None) -> Answer:
        if self.released:
            raise RuntimeError(f"{self.request!r} was answered already")
        self.released = True
        return self._default if answer is None else as_answer(answer)

    @staticmethod
    def release_together(held: Sequence[Held], answer: Answerable | None = None) -> None:
        """Answer all of `held`, which are requests to one node.

        The answers are written together.

        :param held: the requests.
        :param answer: None for each hold's own answer.
        """
        chosen = [(one._chosen(answer), one.request) for one in held]

        def work() -> None:
            for kind, request in chosen:
                kind.perform(request)

        if held:
            held[0].request.connection.node.post(work)


class Hold(Answer):
    """Holds answers back until they are released, in the order in which requests arrive.

    :param default: the answer for a `release` without one.
    """

    def __init__(self, default: Answer) -> None:
        self._default = default
        self._held: deque[Held] = deque()
        self._arrived = threading.Condition()
        self._open = False

    def perform(self, request: Request) -> None:
        with self._arrived:
            if not self._open:
                self._held.append(Held(request, self._default))
                self._arrived.notify_all()
                return
        self._default.perform(request)

    @property
    def held(self) -> list[Held]:
        """The requests that wait now, the oldest one first."""
        with self._arrived:
            return list(self._held)

    def wait(self, count: int = 1, timeout: float = 30.0) -> list[Held]:
        """Wait until `count` requests are held, and return all that are.

        :param count: how many requests.
        :param timeout: seconds.
        :raises AssertionError: after `timeout` seconds.
        """
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self._held) >= count, timeout):
                raise AssertionError(
                    f"{len(self._held)} requests were held back within {timeout} s, not {count}"
                )
            return list(self._held)

    def take(self, count: int = 1, timeout: float = 30.0) -> list[Held]:
        """Wait for `count` requests, and take them out of the hold: the caller releases them.

        :param count: how many requests.
        :param timeout: seconds.
        """
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self._held) >= count, timeout):
                raise AssertionError(
                    f"{len(self._held)} requests were held back within {timeout} s, not {count}"
                )
            return [self._held.popleft() for _ in range(count)]

    def release(self, answer: Answerable | None = None, timeout: float = 30.0) -> None:
        """Wait for a request to be held, and answer the oldest one.

        :param answer: None takes the hold's own answer.
        :param timeout: seconds.
        """
        self.take(1, timeout)[0].release(answer)

    def release_all(self, answer: Answerable | None = None) -> None:
        """Answer all that wait now, node by node in one go.

        :param answer: None for the hold's own answer.
        """
        with self._arrived:
            # The test may have released some of them by hand.
            held, self._held = [one for one in self._held if not one.released], deque()
        for node in {one.request.connection.node for one in held}:
            Held.release_together(
                [one for one in held if one.request.connection.node is node], answer
            )

    def open(self) -> None:
        """Answer all that wait, and hold nothing back from now on."""
        with self._arrived:
            # Under the lock: a request that arrives now is either in the queue, or answered at
            # once.
            self._open = True
        self.release_all()


def hold(answer: Answerable | None = None) -> Hold:
    """Return an answer that is held back.

    :param answer: sent by `release` if that gets no other answer. Default: a Void result.
    """
    return Hold(void() if answer is None else as_answer(answer))


class _Ending(Answer):
    __slots__ = ("_reset",)

    def __init__(self, reset: bool) -> None:
        self._reset = reset

    def perform(self, request: Request) -> None:
        request.connection.end(self._reset)


def close() -> Answer:
    """End the connection in an orderly way (FIN), with no answer."""
    return _Ending(False)


def reset() -> Answer:
    """Tear the connection down (RST)."""
    return _Ending(True)


class _HalfFrame(Answer):
    __slots__ = ("_answer", "_cut", "_then")

    def __init__(self, answer: Answer, cut: int, then: str) -> None:
        self._answer = answer
        self._cut = cut
        self._then = then

    def perform(self, request: Request) -> None:
        connection = request.connection
        whole = connection.wire_bytes(request.stream, *self._answer.envelope(request))
        connection.write_raw(whole[: self._cut])
        if self._then == "hang":
            connection.hang()
        else:
            connection.end(self._then == "reset")


def half_frame(answer: Answerable, cut: int, then: str = "close") -> Answer:
    """Return a part of an answer, after which the connection ends.

    :param answer: the answer.
    :param cut: how many bytes are sent. A negative number leaves so many bytes off.
    :param then: "close" (FIN), "reset" (RST) or "hang".
    :raises ValueError: if `then` is something else.
    """
    if then not in ("close", "reset", "hang"):
        raise ValueError(f"then is 'close', 'reset' or 'hang', not {then!r}")
    return _HalfFrame(as_answer(answer), cut, then)


class _Corrupted(Answer):
    __slots__ = ("_answer", "_at")

    def __init__(self, answer: Answer, at: int) -> None:
        self._answer = answer
        self._at = at

    def perform(self, request: Request) -> None:
        connection = request.connection
        damaged = bytearray(connection.wire_bytes(request.stream, *self._answer.envelope(request)))
        # One bit: every CRC detects that.
        damaged[self._at] ^= 0x01
        connection.write_raw(bytes(damaged))


def corrupted(answer: Answerable, at: int = -5) -> Answer:
    """Return an answer with one bit flipped in byte `at` of its frame.

    The default is the last byte that a CRC32 protects.

    :param answer: the answer.
    :param at: the place of the byte; a negative one counts from the end.
    """
    return _Corrupted(as_answer(answer), at)


class _Bytes(Answer):
    __slots__ = ("_data", "_framed")

    def __init__(self, data: bytes, framed: bool) -> None:
        self._data = data
        self._framed = framed

    def perform(self, request: Request) -> None:
        if self._framed:
            request.connection.send_envelope(self._data)
        else:
            request.connection.write_raw(self._data)


def garbage(data: bytes = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n") -> Answer:
    """Return bytes that go straight into the socket.

    :param data: the bytes.
    """
    return _Bytes(data, False)


def raw(data: bytes) -> Answer:
    """Return bytes in the place of an envelope: version 5 has a proper frame around them.

    :param data: the bytes.
    """
    return _Bytes(data, True)


class _Dribble(Answer):
    __slots__ = ("_answer", "_size")

    def __init__(self, answer: Answer, size: int) -> None:
        self._answer = answer
        self._size = size

    def perform(self, request: Request) -> None:
        connection = request.connection
        whole = connection.wire_bytes(request.stream, *self._answer.envelope(request))
        self._next(connection, whole, 0)

    def _next(self, connection: ServerConnection, whole: bytes, start: int) -> None:
        end = start + self._size
        connection.write_raw(whole[start:end])
        if end < len(whole):
            # Another turn of the loop is another write, which the client may read by itself.
            connection.loop.call_soon(self._next, connection, whole, end)


def dribble(answer: Answerable, size: int = 1) -> Answer:
    """Return an answer in pieces of `size` bytes. The connection must send nothing else then.

    :param answer: the answer.
    :param size: bytes.
    """
    return _Dribble(as_answer(answer), size)


class _OnStream(Answer):
    __slots__ = ("_answer", "_stream")

    def __init__(self, answer: Answer, stream: int) -> None:
        self._answer = answer
        self._stream = stream

    def perform(self, request: Request) -> None:
        request.connection.send(self._stream, *self._answer.envelope(request))


def on_stream(answer: Answerable, stream: int) -> Answer:
    """Return an answer on another stream than the request's.

    :param answer: the answer.
    :param stream: the number of the stream.
    """
    return _OnStream(as_answer(answer), stream)


class _Duplicate(Answer):
    __slots__ = ("_answer", "_times")

    def __init__(self, answer: Answer, times: int) -> None:
        self._answer = answer
        self._times = times

    def perform(self, request: Request) -> None:
        for _ in range(self._times):
            self._answer.perform(request)


def duplicate(answer: Answerable, times: int = 2) -> Answer:
    """Return the same answer more than once.

    :param answer: the answer.
    :param times: how often it is sent.
    """
    return _Duplicate(as_answer(answer), times)


class _OutOfOrder(Answer):
    __slots__ = ("_answer", "_count", "_waiting")

    def __init__(self, answer: Answer, count: int) -> None:
        self._answer = answer
        self._count = count
        self._waiting: list[Request] = []

    def perform(self, request: Request) -> None:
        self._waiting.append(request)
        if len(self._waiting) >= self._count:
            # Replaced first: a request that comes in meanwhile belongs to the next group.
            waiting, self._waiting = self._waiting, []
            for one in reversed(waiting):
                self._answer.perform(one)


def out_of_order(answer: Answerable, count: int = 2) -> Answer:
    """Return an answer that waits for `count` requests, then answers the last one first.

    :param answer: the answer to each.
    :param count: how many requests.
    """
    return _OutOfOrder(as_answer(answer), count)
