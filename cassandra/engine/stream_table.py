"""The requests in flight on one connection: the Python twin of the compiled `StreamTable`.

It belongs to the happy path in `cassandra.engine.happy_path`, which hands the name on.

Theory of operation. The table belongs to the loop. One thing is shared: while nothing is in flight,
a thread of the program may write one request to the socket itself, instead of waking the loop for
it. Nothing in flight means that the servers have answered, and so received, all that was written;
the loop's transport holds nothing back. That request has a stream of its own, which the loop never
gives away, and a `FrameWriter` of its own.

A thread makes the frame first, and then takes `_claim` for as long as it writes. The loop takes it
before it writes, and before it closes the connection, so that a frame can neither be cut in two by
another one, nor go to a descriptor that is closed and belongs to another file by then. Threads
never wait for it: if it is taken they hand their request to the loop. The loop waits for a moment,
and then does something else first. No Python code runs in a compiled thread that has the claim: a
signal handler could wait for the loop, and the loop for the claim. The Python twin cannot promise
that, and leaves the requests of the main thread, where signal handlers run, to the loop.

Bytes that the socket does not take at once are left in `rest`, which the loop writes before all
else.
"""

from __future__ import annotations

import _socket
import logging
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._threads import Lock
from cassandra.engine.failures import as_exception
from cassandra.protocol.streams import MAX_STREAMS, StreamIds

if TYPE_CHECKING:
    import threading

    from cassandra.engine.connection import Connection, Responder
    from cassandra.protocol.frame import FrameWriter

__all__ = ["WRITE_HIGH_WATER", "StreamTable"]

log = logging.getLogger("cassandra.connection")

# Bytes that may wait for the end of a loop turn before senders are held back.
WRITE_HIGH_WATER = 1 << 20
# Seconds that the loop waits at most for a thread that is writing.
PATIENCE = 0.005

# The socket does not block anyway. A connection that was reset must not end the process.
_SEND_FLAGS: int = getattr(socket, "MSG_DONTWAIT", 0) | getattr(socket, "MSG_NOSIGNAL", 0)
_ORPHAN: Any = object()  # stands for the responder that has given up its answer


class StreamTable:
    """The requests in flight on one connection, by stream, and the frames of this loop turn.

    A stream is free again when its answer has come, even if nobody waits for it: such an orphan
    keeps its stream until then.

    :param call_soon: the loop's.
    :param flush: called by the loop once for all frames that one loop turn has queued.
    """

    __slots__ = (
        "_call_soon",
        "_claim",
        "_direct_stream",
        "_direct_writer",
        "_directs",
        "_flush",
        "_framing",
        "_ids",
        "_limit",
        "_on_broken",
        "_responders",
        "_socket",
        "_wake",
        "armed",
        "closed",
        "keyspace_epoch",
        "orphans",
        "paused",
        "rest",
        "settled",
        "writer",
    )

    def __init__(
        self, writer: FrameWriter, call_soon: Callable[..., Any], flush: Callable[[], None]
    ) -> None:
        self.writer = writer
        self.armed: Any = None  # the handle of the flush that is to come
        self.closed = False
        self.paused = False  # the transport holds its senders back
        self.orphans = 0
        # Another number each time that the keyspace of the connection may change.
        self.keyspace_epoch = 0
        self._call_soon = call_soon
        self._flush = flush
        self._responders: dict[int, Any] = {}
        self._ids = StreamIds()
        self._limit = MAX_STREAMS
        self.settled = False  # threads may write, as soon as nothing is in flight
        self.rest: bytes | None = None  # of what a thread has written in part
        self._claim: threading.Lock | None = None
        self._framing: threading.Lock | None = None
        # What waits for the answer on the stream of direct requests, by that stream. To take it
        # away is one step: two threads never both have it.
        self._directs: dict[int, Any] = {}
        self._direct_stream = -1
        self._direct_writer: FrameWriter | None = None
        self._socket: _socket.socket | None = None
        self._wake: Callable[..., Any] | None = None
        self._on_broken: Callable[[int], None] | None = None

    @property
    def in_flight(self) -> int:
        """Streams in use: of requests that wait for their answers, and of orphans."""
        return len(self._responders) + len(self._directs)

    @property
    def limit(self) -> int:
        """The greatest number of streams at a time."""
        return self._limit

    @limit.setter
    def limit(self, limit: int) -> None:
        if not 0 < limit <= MAX_STREAMS:
            raise ValueError(f"{limit} streams; a connection has 1 to {MAX_STREAMS}")
        self._limit = limit
        # One more than may be in flight: that of direct requests is taken all the time.
        self._ids.limit = min(limit + 1, MAX_STREAMS) if self._direct_stream >= 0 else limit

    @property
    def has_room(self) -> bool:
        """True if a request may be sent now: open, not held back, with a free stream.

        Requests that wait for the end of this loop turn count too: the transport can hold nobody
        back before it has seen it.
        """
        return (
            not (self.closed or self.paused)
            and len(self._responders) + len(self._directs) < self._limit
            and self.writer.pending < WRITE_HIGH_WATER
        )

    def send(self, responder: Responder, opcode: int, flags: int, body: bytes) -> int:
        """Queue one request for the end of this loop turn.

        :returns: its stream; -1 if no stream is free.
        :raises ValueError: if the body is over the protocol's limit; then nothing was queued.
        """
        # `_ids` has one stream more than the limit then, which is that of direct requests.
        if self._direct_stream >= 0 and self.in_flight >= self._limit:
            return -1
        stream = self._ids.take()
        if stream < 0:
            return -1
        try:
            self.writer.add(stream, opcode, flags, body)
        except BaseException:
            # Nothing was queued, so no answer would ever free the stream.
            self._ids.give_back(stream)
            raise
        self._responders[stream] = responder
        # One write for all that this turn of the loop queues.
        if self.armed is None:
            self.armed = self._call_soon(self._flush)
        return stream

    def abandon(self, stream: int, responder: Responder) -> bool:
        """Give up the answer on `stream`; return False if `responder` did not wait for it."""
        # The place stays: a late answer without one would close the connection.
        if self._directs.get(stream) is responder:
            self._directs[stream] = _ORPHAN
        elif self._responders.get(stream) is responder:
            self._responders[stream] = None
        else:
            return False
        self.orphans += 1
        return True

    def waiting(self) -> list[Any]:
        """Return the responders that wait for answers; on the loop."""
        waiting = [responder for responder in self._responders.values() if responder is not None]
        direct = self._directs.get(self._direct_stream)
        if direct is not None and direct is not _ORPHAN:
            waiting.append(direct)
        return waiting

    def orphan_ids(self) -> set[int]:
        """Return the streams whose answers nobody waits for any more."""
        # A copy: the loop may change the table while a thread of the program looks.
        found = {stream for stream, one in self._responders.copy().items() if one is None}
        if self._directs.get(self._direct_stream) is _ORPHAN:
            found.add(self._direct_stream)
        return found

    def dispatch(self, connection: Connection, envelopes: list[Any]) -> None:
        """Give each of `envelopes`, as `FrameReader` makes them, to the responder that it answers.

        An answer that nobody asked for goes to ``connection.on_unsolicited(stream, opcode, flags,
        body)``, which may close the connection.
        """
        responders = self._responders
        give_back = self._ids.give_back
        for stream, opcode, flags, body, version in envelopes:
            # The handshake looks at it: the answer to a STARTUP may be of another version.
            if version != connection.version:
                connection.peer_version = version
            # Free before the responder is called: it may send again, and needs a stream for that.
            if stream in responders:
                responder = responders.pop(stream)
                give_back(stream)
                if responder is None:
                    responder = _ORPHAN
            else:
                responder = self._directs.pop(stream, None)
            if responder is _ORPHAN:
                self.orphans -= 1
            elif responder is not None:
                try:
                    responder.on_response(connection, opcode, flags, body)
                except BaseException as error:  # the answers behind it are for others
                    log.exception("an answer of %s could not be processed", connection.endpoint)
                    failure = as_exception(error)
                    request = getattr(responder, "request", None)
                    if request is not None:
                        request.fail(failure)
            else:
                connection.on_unsolicited(stream, opcode, flags, body)
            # `close` has told all that waited: what follows answers nobody.
            if self.closed:
                return

    def take_all(self) -> list[Any]:
        """The responders that still wait, which the table forgets: the connection is closed."""
        responders, self._responders = self._responders, {}
        direct = self._directs.pop(self._direct_stream, None)
        # Their answers cannot come any more.
        self.orphans = 0
        waiting = [responder for responder in responders.values() if responder is not None]
        if direct is not None and direct is not _ORPHAN:
            waiting.append(direct)
        return waiting

    # -- direct requests ---------------------------------------------------------------------------

    def open_direct(
        self,
        own_socket: _socket.socket,
        writer: FrameWriter,
        wake: Callable[..., Any],
        on_broken: Callable[[int], None],
    ) -> None:
        """Let other threads write while nothing is in flight. On the loop, before the first one.

        :param own_socket: of the connection, that does not block; the table closes it.
        :param writer: makes the frames of direct requests.
        :param wake: the loop's ``call_soon_threadsafe``.
        :param on_broken: called on the loop with the error's number, 0 if it is not known, if the
            socket took a part of a frame perhaps, and no more can be written.
        """
        stream = self._ids.take()
        if stream < 0:
            own_socket.close()
            return
        self._direct_stream = stream
        self.limit = min(self._limit, MAX_STREAMS - 1)
        self._socket = own_socket
        self._direct_writer = writer
        self._wake = wake
        self._on_broken = on_broken
        self._framing = Lock()
        self._claim = Lock()

    @property
    def could_settle(self) -> bool:
        """True if nothing is in flight, and `settled` says no.

        The loop then looks if its transport still has something to write, and sets it.
        """
        return (
            not self.settled
            and self._claim is not None
            and not self._responders
            and not self._directs
            and self.rest is None
        )

    @property
    def is_idle(self) -> bool:
        """True if a thread may write a request now, as far as can be told without the claim."""
        return self.settled and not (
            self.closed or self.paused or self._responders or self._directs
        )

    def frame(self, opcode: int, flags: int, body: bytes) -> bytes | None:
        """Return the bytes that `send_directly` writes; any thread. None if another one is making
        its own.

        :raises ValueError: if the body is over the protocol's limit.
        """
        framing, writer = self._framing, self._direct_writer
        if framing is None or writer is None or not framing.acquire(False):
            return None
        try:
            if writer.pending:  # left by an exception of a signal handler
                writer.take()
            writer.add(self._direct_stream, opcode, flags, body)
            return writer.take()
        finally:
            framing.release()

    def send_directly(
        self, responder: Any, data: bytes, history: list[Any], epoch: int | None = None
    ) -> bool:
        """Write the bytes of `frame`, if nothing is in flight; any thread.

        `responder.stream` is set first, and the responder is added to `history`. The loop writes
        the bytes that the socket does not take.

        :param epoch: the `keyspace_epoch` by which the keyspace of the connection was looked at;
            None if it does not matter.
        :returns: False if the request is the loop's to send: then nothing was changed.
        """
        claim = self._claim
        if claim is None or not self.settled or not claim.acquire(False):
            return False
        written = 0
        try:
            if (
                not self.is_idle
                or self._socket is None
                or (epoch is not None and epoch != self.keyspace_epoch)
            ):
                data = b""
                return False
            # Not known, if an exception comes from here on.
            written = -1
            responder.stream = self._direct_stream
            history.append(responder)
            self._directs[self._direct_stream] = responder
            # The loop does not wait for long. If it closes the connection later, it finds the
            # responder.
            if self.closed and self._directs.pop(self._direct_stream, None) is responder:
                responder.stream = -1
                history.remove(responder)
                written = len(data)
                return False
            written = self._write(data)
            return True
        finally:
            if written != len(data):
                self._leave_rest(data, written)
            self.release_write()

    def _write(self, data: bytes) -> int:
        """Return how many bytes the socket has taken; a negative number is an error's."""
        assert self._socket is not None
        try:
            return self._socket.send(data, _SEND_FLAGS)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError as error:
            return -(error.errno or 1)

    def _leave_rest(self, data: bytes, written: int) -> None:
        assert self._wake is not None
        self.settled = False
        try:
            if written < 0:
                self._wake(self._on_broken, -written if written < -1 else 0)
            else:
                self.rest = data[written:]
                self._wake(self._flush)
        except RuntimeError:  # the loop is closed, which ends the requests in flight
            pass

    def acquire_write(self) -> bool:
        """Keep other threads from writing until `release_write`; on the loop.

        Returns False if a thread does not finish soon.
        """
        return self._claim is None or self._claim.acquire(timeout=PATIENCE)

    def release_write(self) -> None:
        """Let other threads write again."""
        claim = self._claim
        if claim is None:
            return
        claim.release()
        # After the release: either this thread sees that the connection was closed, or the loop,
        # which closes it, gets the claim.
        if self.closed and self._socket is not None and claim.acquire(False):
            own_socket, self._socket = self._socket, None
            claim.release()
            if own_socket is not None:
                own_socket.close()
