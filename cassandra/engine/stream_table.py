"""The requests in flight on a connection: the Python twin of the compiled `StreamTable`.

It belongs to the happy path in `cassandra.engine.happy_path`, which exports the name.

The table belongs to the loop, with one exception: while nothing is in flight, a user thread may
write one request to the socket itself, without waking the loop. If nothing is in flight, the server
has answered, and so received, everything we wrote, and the loop's transport has nothing left to
write. A direct request uses a reserved stream, which the loop never assigns, and a `FrameWriter` of
its own.

A thread first builds the frame, and then holds the write lock (`_write_lock`) while it writes. The
loop takes the lock before it writes, and before it closes the connection. So no frame can be
interrupted by another one, or be written to a descriptor that was closed and reused for another
file. Threads never wait for the lock: if it is taken, they pass their request to the loop. The loop
waits briefly, and then does something else first. In the compiled twin, no Python code runs while a
thread holds the lock: a signal handler could wait for the loop, and the loop for the lock. The
Python twin cannot guarantee that, and leaves requests of the main thread, where signal handlers
run, to the loop.

Bytes that the socket does not accept at once are stored in `rest`, which the loop writes first.
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

# Senders are paused if more bytes than this wait for the end of the loop turn.
WRITE_HIGH_WATER = 1 << 20
# Seconds that the loop waits at most for a thread that is writing.
PATIENCE = 0.005

# Never block, and do not raise SIGPIPE on a connection that was reset.
_SEND_FLAGS: int = getattr(socket, "MSG_DONTWAIT", 0) | getattr(socket, "MSG_NOSIGNAL", 0)
_ORPHAN: Any = object()  # replaces a responder that gave up its answer


class StreamTable:
    """The requests in flight on a connection, by stream, and the frames of this loop turn.

    A stream is free again once its answer has come, even if nobody waits for it any more. Such a
    request is an orphan until then.

    :param call_soon: the loop's method.
    :param flush: called by the loop once for all frames that were queued in a loop turn.
    """

    __slots__ = (
        "_call_soon",
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
        "_write_lock",
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
        self.armed: Any = None  # the handle of the scheduled flush
        self.closed = False
        self.paused = False  # the transport has paused its senders
        self.orphans = 0
        # Incremented each time that the keyspace of the connection may change.
        self.keyspace_epoch = 0
        self._call_soon = call_soon
        self._flush = flush
        self._responders: dict[int, Any] = {}
        self._ids = StreamIds()
        self._limit = MAX_STREAMS
        self.settled = False  # threads may write when nothing is in flight
        self.rest: bytes | None = None  # the unsent part of a thread's frame
        self._write_lock: threading.Lock | None = None
        self._framing: threading.Lock | None = None
        # The responder of the direct request, by the reserved stream. A dict, because pop is
        # atomic: two threads never both get the responder.
        self._directs: dict[int, Any] = {}
        self._direct_stream = -1
        self._direct_writer: FrameWriter | None = None
        self._socket: _socket.socket | None = None
        self._wake: Callable[..., Any] | None = None
        self._on_broken: Callable[[int], None] | None = None

    @property
    def in_flight(self) -> int:
        """Streams in use, including those of orphans."""
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
        # One id more than the limit, because the stream of direct requests is always reserved.
        self._ids.limit = min(limit + 1, MAX_STREAMS) if self._direct_stream >= 0 else limit

    @property
    def has_room(self) -> bool:
        """True if a request may be sent now: open, not paused, with a free stream.

        Bytes that wait for the end of this loop turn count too: the transport cannot pause senders
        before it has seen them.
        """
        return (
            not (self.closed or self.paused)
            and len(self._responders) + len(self._directs) < self._limit
            and self.writer.pending < WRITE_HIGH_WATER
        )

    def send(self, responder: Responder, opcode: int, flags: int, body: bytes) -> int:
        """Queue one request, to be written at the end of this loop turn.

        :returns: its stream; -1 if no stream is free.
        :raises ValueError: if the body exceeds the protocol's limit; nothing was queued then.
        """
        # `_ids` has one id more than the limit, for direct requests, so check the limit here.
        if self._direct_stream >= 0 and self.in_flight >= self._limit:
            return -1
        stream = self._ids.take()
        if stream < 0:
            return -1
        try:
            self.writer.add(stream, opcode, flags, body)
        except BaseException:
            # Nothing was queued, so no answer would free the stream.
            self._ids.give_back(stream)
            raise
        self._responders[stream] = responder
        # One flush writes everything that this loop turn queues.
        if self.armed is None:
            self.armed = self._call_soon(self._flush)
        return stream

    def abandon(self, stream: int, responder: Responder) -> bool:
        """Give up the answer on `stream`; return False if `responder` did not wait for it."""
        # Keep the entry: a late answer to an unknown stream would close the connection.
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
        # Copy, because the loop may change the table while a user thread reads it.
        orphans = {
            stream for stream, responder in self._responders.copy().items() if responder is None
        }
        if self._directs.get(self._direct_stream) is _ORPHAN:
            orphans.add(self._direct_stream)
        return orphans

    def dispatch(self, connection: Connection, envelopes: list[Any]) -> None:
        """Pass each of `envelopes`, as `FrameReader` returns them, to its responder.

        A message without a request goes to ``connection.on_unsolicited(stream, opcode, flags,
        body)``, which may close the connection.
        """
        responders = self._responders
        give_back = self._ids.give_back
        for stream, opcode, flags, body, version in envelopes:
            # For the handshake: the answer to a STARTUP may have another version.
            if version != connection.version:
                connection.peer_version = version
            # Free the stream before the call: the responder may send again, and need it.
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
                except BaseException as error:  # go on with the other answers
                    log.exception("an answer of %s could not be processed", connection.endpoint)
                    failure = as_exception(error)
                    request = getattr(responder, "request", None)
                    if request is not None:
                        request.fail(failure)
            else:
                connection.on_unsolicited(stream, opcode, flags, body)
            # `close` has notified all responders, so nobody waits for the remaining answers.
            if self.closed:
                return

    def take_all(self) -> list[Any]:
        """Remove and return the responders that still wait: the connection is closed."""
        responders, self._responders = self._responders, {}
        direct = self._directs.pop(self._direct_stream, None)
        # The answers of orphans cannot come any more.
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
        """Let other threads write while nothing is in flight. Called on the loop, before any
        request.

        :param own_socket: a non-blocking socket of the connection; the table closes it.
        :param writer: makes the frames of direct requests.
        :param wake: the loop's ``call_soon_threadsafe``.
        :param on_broken: called on the loop, with the error number or 0 if unknown, when the socket
            may have taken a part of a frame and no more can be written.
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
        self._write_lock = Lock()

    @property
    def could_settle(self) -> bool:
        """True if nothing is in flight, but `settled` is not set.

        The loop then sets it, if its transport has nothing left to write.
        """
        return (
            not self.settled
            and self._write_lock is not None
            and not self._responders
            and not self._directs
            and self.rest is None
        )

    @property
    def is_idle(self) -> bool:
        """True if a thread may write a request now, as far as one can tell without the lock."""
        return self.settled and not (
            self.closed or self.paused or self._responders or self._directs
        )

    def frame(self, opcode: int, flags: int, body: bytes) -> bytes | None:
        """Return the bytes for `send_directly`; any thread. Returns None if another thread is
        already building a frame.

        :raises ValueError: if the body exceeds the protocol's limit.
        """
        framing, writer = self._framing, self._direct_writer
        if framing is None or writer is None or not framing.acquire(False):
            return None
        try:
            if writer.pending:  # left behind when a signal handler raised
                writer.take()
            writer.add(self._direct_stream, opcode, flags, body)
            return writer.take()
        finally:
            framing.release()

    def send_directly(
        self, responder: Any, data: bytes, history: list[Any], epoch: int | None = None
    ) -> bool:
        """Write the bytes of `frame`, if nothing is in flight; any thread.

        `responder.stream` is set first, and the responder is added to `history`. If the socket does
        not take all bytes, the loop writes the rest.

        :param epoch: the `keyspace_epoch` at which the connection's keyspace was read; None if the
            keyspace does not matter.
        :returns: False if the loop must send the request; nothing was changed then.
        """
        lock = self._write_lock
        if lock is None or not self.settled or not lock.acquire(False):
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
            # From here on, an exception leaves the number of written bytes unknown.
            written = -1
            responder.stream = self._direct_stream
            history.append(responder)
            self._directs[self._direct_stream] = responder
            # The loop waits only briefly, and may have closed the connection. If it closes it
            # later, it will find the responder.
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
        """Return how many bytes the socket has taken; a negative error number after an error."""
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
        """Take the write lock, to keep other threads from writing; on the loop.

        Returns False if a thread holds the lock for too long.
        """
        return self._write_lock is None or self._write_lock.acquire(timeout=PATIENCE)

    def release_write(self) -> None:
        """Release the write lock."""
        lock = self._write_lock
        if lock is None:
            return
        lock.release()
        # Check after the release: either this thread sees that the connection was closed, or the
        # loop, which closes it, gets the lock.
        if self.closed and self._socket is not None and lock.acquire(False):
            own_socket, self._socket = self._socket, None
            lock.release()
            if own_socket is not None:
                own_socket.close()
