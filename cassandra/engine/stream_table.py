"""The requests in flight on a connection: the Python version of the compiled `StreamTable`.

Use the class that `cassandra.engine.happy_path` exports: the compiled version if it is in use, else
the Python version in this module.

Only the loop uses the table, with one exception: while nothing is in flight, a user thread may
write one request to the socket itself, without waking the loop. Such a request is called a direct
request. If nothing is in flight, the server has responded to everything that we wrote, so the
loop's transport has nothing left to write. A direct request uses a reserved stream id, which the
loop never assigns to its own requests, and its own `FrameWriter`.

A user thread first builds the frame, and then holds the write lock (`_write_lock`) while it writes.
The loop takes the lock before it writes, and before it closes the connection. So the bytes of two
frames are never mixed, and no frame is written to a descriptor that was closed and now belongs to
another file. User threads never wait for the lock: if it is taken, they pass their request to the
loop. The loop waits briefly, and tries again later.

In the compiled version, no Python code runs while a thread holds the lock. Otherwise a signal
handler could interrupt the thread and wait for the loop, while the loop waits for the lock. The
Python version cannot prevent that. So it leaves requests of the main thread, where signal handlers
run, to the loop.

If the socket does not accept all bytes of a direct request, the remaining bytes are stored in
`rest`, and the loop writes them before anything else.

A thread that sends one direct request after the other, and waits for each response, can also read
the responses itself. Then the loop's thread need not be woken at all. That works as follows:

- After some such requests in a row, the loop lends the reading: it pauses its transport, and from
  then on only threads of direct requests read (`lend`). If the thread of a direct request does not
  wait for the response, the loop sends that request instead.
- Before a thread sends, it checks whether bytes have come. If so, they are not a response: for
  example, the server has closed the connection. The thread then sends nothing, and lets the loop
  read again.
- A thread that has read a simple response to its request (VOID or rows) ends the request. It leaves
  everything else, such as errors, events and late responses, to the loop.
- The loop ends the loan before it sends something itself, when the connection is closed, and when
  no thread has read a response for a short time (`LENT_CHECK` of `Connection`). That time limits
  how long a response can stay unread if a thread is interrupted between sending and reading.
  `Connection.take_over` is the only way to end a loan. It handles what threads have left.

Only the compiled version lends the reading, and only if Python has a GIL and the connection does
not use Snappy. From reading bytes until the stream is free, it runs no Python code, so that neither
the loop nor a signal can interrupt it. Observers, throttlers, callbacks and the methods of tracing
libraries are called on the loop. So the loop also reads the responses to requests with any of
these.
"""

from __future__ import annotations

import _socket
import socket
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any

from cassandra import _forks
from cassandra._logs import Log
from cassandra._threads import Lock
from cassandra.engine.failures import as_exception, call_on_loop
from cassandra.protocol.streams import MAX_STREAMS, StreamIds

if TYPE_CHECKING:
    import threading

    from cassandra.engine.connection import Connection, Responder
    from cassandra.protocol.frame import FrameReader, FrameWriter

log = Log("cassandra.connection")

# No further requests are sent on a connection while more bytes than this wait to be written.
WRITE_HIGH_WATER = 1 << 20
# The loop waits at most this long for the write lock while a user thread holds it.
PATIENCE = 0.005  # seconds

# The flags make `send` return at once instead of waiting, and suppress the signal SIGPIPE if the
# peer has reset the connection.
_SEND_FLAGS: int = getattr(socket, "MSG_DONTWAIT", 0) | getattr(socket, "MSG_NOSIGNAL", 0)
# Stands for the number of written bytes if an exception has interrupted a write. It is far below
# all negative error numbers.
_UNKNOWN = -(1 << 31)
_ORPHAN: Any = object()  # replaces a responder that no longer waits for its response


class StreamTable:
    """The requests in flight on a connection, by stream, and the frames that wait to be written.

    A stream is free again when its response has come. If nobody waits for the response any more,
    the request is called an orphan until then.

    :param call_soon: the loop's ``call_soon``.
    :param flush: the loop calls this once for all frames that were queued in a loop iteration.
    """

    __slots__ = (
        "_call_soon",
        "_direct_stream",
        "_direct_writer",
        "_directs",
        "_flush",
        "_forks_when_opened",
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
        self.armed: Any = None  # the handle of the scheduled flush; None without one
        self.closed = False
        self.paused = False  # True if the transport has paused its senders
        self.orphans = 0
        # Incremented before the connection's keyspace may change. A user thread compares the epoch
        # to check that the keyspace that it has read is still current.
        self.keyspace_epoch = 0
        self._call_soon = call_soon
        self._flush = flush
        # For each stream in use, the responder that waits for the response; None for an orphan. A
        # direct request (one that a user thread has written) is in `_directs` instead.
        self._responders: dict[int, Any] = {}
        self._ids = StreamIds()  # the free stream ids
        self._limit = MAX_STREAMS
        # True if the socket has accepted all bytes that the loop has written. User threads may then
        # write, provided that no request is in flight.
        self.settled = False
        # The bytes of a frame that are still to be sent, because a user thread could write only its
        # beginning; None if there are none.
        self.rest: bytes | None = None
        # A thread holds `_write_lock` while it writes to the socket, and `_framing` while it builds
        # the frame of a direct request. Both are None until `open_direct`.
        self._write_lock: threading.Lock | None = None
        self._framing: threading.Lock | None = None
        # The number of forks of this process when `open_direct` was called; another number means
        # that this is a forked child.
        self._forks_when_opened = -1
        # The responder of the direct request in flight, if there is one, by the reserved stream. We
        # use a dict because `pop` is atomic: if two threads pop the responder, only one of them
        # gets it.
        self._directs: dict[int, Any] = {}
        # `open_direct` sets these attributes; see its parameters. `_direct_stream` is the stream
        # that is reserved for direct requests; -1 if no stream is reserved.
        self._direct_stream = -1
        self._direct_writer: FrameWriter | None = None
        self._socket: _socket.socket | None = None
        self._wake: Callable[..., Any] | None = None
        self._on_broken: Callable[[int], None] | None = None

    @property
    def in_flight(self) -> int:
        """The number of streams in use, including the streams of orphans."""
        return len(self._responders) + len(self._directs)

    @property
    def limit(self) -> int:
        """The maximum number of streams in use at the same time."""
        return self._limit

    @limit.setter
    def limit(self, limit: int) -> None:
        if not 0 < limit <= MAX_STREAMS:
            raise ValueError(f"{limit} streams; a connection has 1 to {MAX_STREAMS}")
        self._limit = limit
        # `open_direct` takes an id from `_ids` and never gives it back: it is the stream of direct
        # requests. So allow `_ids` to assign one id more than the limit.
        self._ids.limit = min(limit + 1, MAX_STREAMS) if self._direct_stream >= 0 else limit

    @property
    def has_room(self) -> bool:
        """True if a request may be sent now.

        The connection must be open and not paused, have a free stream, and few bytes may wait to
        be written.

        Bytes that wait for the end of this loop iteration count, too: the transport does not have
        them yet, so it cannot pause senders because of them.
        """
        return (
            not (self.closed or self.paused)
            and len(self._responders) + len(self._directs) < self._limit
            and self.writer.pending < WRITE_HIGH_WATER
        )

    def send(self, responder: Responder, opcode: int, flags: int, body: bytes) -> int:
        """Queue one request, to be written at the end of this loop iteration.

        :returns: the stream of the request; -1 if no stream is free.
        :raises ValueError: if the body exceeds the protocol's limit; nothing was queued then.
        """
        # If a stream is reserved for direct requests, `_ids` can assign one id more than the limit
        # (see the setter of `limit`), so check the limit here.
        if self._direct_stream >= 0 and self.in_flight >= self._limit:
            return -1
        stream = self._ids.take()
        if stream < 0:
            return -1
        try:
            self.writer.add(stream, opcode, flags, body)
        except BaseException:
            # Nothing was queued, so no response will free the stream: free it here.
            self._ids.give_back(stream)
            raise
        self._responders[stream] = responder
        # One flush writes everything that this loop iteration queues. So it must not run in the
        # context (see `contextvars`) of one of the requests.
        if self.armed is None:
            self.armed = Context().run(self._call_soon, self._flush)
        return stream

    def abandon(self, stream: int, responder: Responder) -> bool:
        """Stop waiting for the response on `stream`, which becomes an orphan.

        :returns: False if `responder` was not waiting on that stream.
        """
        # Keep the entry, but without its responder. If the entry were removed, a late response
        # would seem to be on an unknown stream, and the connection would be closed.
        if self._directs.get(stream) is responder:
            self._directs[stream] = _ORPHAN
        elif self._responders.get(stream) is responder:
            self._responders[stream] = None
        else:
            return False
        self.orphans += 1
        return True

    def waiting(self) -> list[Any]:
        """Return the responders that wait for responses. Must be called on the loop."""
        responders = [responder for responder in self._responders.values() if responder is not None]
        # Add the responder of the direct request in flight, if there is one.
        direct_responder = self._directs.get(self._direct_stream)
        if direct_responder is not None and direct_responder is not _ORPHAN:
            responders.append(direct_responder)
        return responders

    def orphan_ids(self) -> set[int]:
        """Return the streams of orphans, whose responses nobody waits for any more."""
        # Copy, because the loop may change the table while a user thread reads it.
        orphans = {
            stream for stream, responder in self._responders.copy().items() if responder is None
        }
        if self._directs.get(self._direct_stream) is _ORPHAN:
            orphans.add(self._direct_stream)
        return orphans

    def dispatch(self, connection: Connection, envelopes: list[Any]) -> None:
        """Pass each of `envelopes`, which come from `FrameReader`, to its responder.

        A message without a request goes to ``connection.on_unsolicited(stream, opcode, flags,
        body)``, which may close the connection.
        """
        responders = self._responders
        give_back = self._ids.give_back
        for stream, opcode, flags, body, version in envelopes:
            # Store the server's version for the handshake: the response to STARTUP may have another
            # version than our request.
            if version != connection.version:
                connection.peer_version = version
            # Free the stream before calling the responder, which may send another request on it.
            if stream in responders:
                responder = responders.pop(stream)
                give_back(stream)
                # `abandon` replaces the responder of an orphan by None.
                if responder is None:
                    responder = _ORPHAN
            else:
                responder = self._directs.pop(stream, None)
            if responder is _ORPHAN:
                self.orphans -= 1
            elif responder is not None:
                try:
                    responder.on_response(connection, opcode, flags, body)
                except BaseException as error:  # the error concerns only this response
                    log.exception("an answer of %s could not be processed", connection.endpoint)
                    failure = as_exception(error)
                    request = getattr(responder, "request", None)
                    if request is not None:
                        request.fail(failure)
            else:
                connection.on_unsolicited(stream, opcode, flags, body)
            # `close` has notified all responders, so nobody waits for the remaining responses.
            if self.closed:
                return

    def take_all(self) -> list[Any]:
        """Remove and return all responders that still wait, because the connection closes."""
        responders, self._responders = self._responders, {}
        direct_responder = self._directs.pop(self._direct_stream, None)
        # Responses to orphans cannot come any more, either.
        self.orphans = 0
        remaining = [responder for responder in responders.values() if responder is not None]
        if direct_responder is not None and direct_responder is not _ORPHAN:
            remaining.append(direct_responder)
        return remaining

    # -- direct requests ---------------------------------------------------------------------------

    def open_direct(
        self,
        own_socket: _socket.socket,
        writer: FrameWriter,
        wake: Callable[..., Any],
        on_broken: Callable[[int], None],
    ) -> None:
        """Allow direct requests. Must be called on the loop, before any request is sent.

        :param own_socket: a non-blocking socket object for the connection; the table closes it.
        :param writer: builds the frames of direct requests.
        :param wake: the loop's ``call_soon_threadsafe``.
        :param on_broken: called on the loop if a thread failed to write a frame completely, so that
            nothing more can be written. Its argument is the error number; 0 if the thread was
            interrupted.
        """
        stream = self._ids.take()
        # If no stream can be reserved, there are no direct requests.
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
        self._forks_when_opened = _forks.forks

    @property
    def could_settle(self) -> bool:
        """True if no request is in flight, but `settled` is False.

        `Connection` then sets `settled`, so that user threads may write, if its transport has sent
        all bytes.
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
        """True if a user thread may probably write a request now.

        The thread can be certain only when it holds the write lock.
        """
        return self.settled and not (
            self.closed or self.paused or self._responders or self._directs
        )

    def frame(self, opcode: int, flags: int, body: bytes) -> bytes | None:
        """Build the frame for `send_directly`. Any thread may call this.

        :returns: the bytes; None if another thread is building a frame.
        :raises ValueError: if the body exceeds the protocol's limit.
        """
        framing, writer = self._framing, self._direct_writer
        if framing is None or writer is None or not framing.acquire(False):
            return None
        try:
            # Discard the bytes of an earlier frame, which are left if a signal handler has raised
            # an error while a thread built that frame.
            if writer.pending:
                writer.take()
            writer.add(self._direct_stream, opcode, flags, body)
            return writer.take()
        finally:
            framing.release()

    def send_directly(
        self, responder: Any, data: bytes, history: list[Any], epoch: int | None = None
    ) -> bool:
        """Write `data`, the bytes of `frame`, if no request is in flight. Any thread may call this.

        Before writing, `responder.stream` is set, and the responder is added to `history`. If the
        socket does not accept all bytes, the loop writes the rest.

        :param history: the attempts of the request.
        :param epoch: the value of `keyspace_epoch` before the connection's keyspace was read; None
            if the request does not depend on the keyspace.
        :returns: False if nothing was written, so that the loop must send the request.
        """
        lock = self._write_lock
        if lock is None or not self.settled or not lock.acquire(False):
            return False
        written = 0
        try:
            if (
                not self.is_idle
                or self._socket is None
                # In a forked child, the connection belongs to the parent.
                or self._forks_when_opened != _forks.forks
                or (epoch is not None and epoch != self.keyspace_epoch)
            ):
                # Nothing was written. Set `data` to b"", so that `finally` sees no missing bytes
                # and does not involve the loop.
                data = b""
                return False
            # If an exception ends this method from here on, we do not know how many bytes were
            # written.
            written = _UNKNOWN
            responder.stream = self._direct_stream
            history.append(responder)
            self._directs[self._direct_stream] = responder
            # Check `closed` again, although we hold the lock: `close` waits for the lock only
            # briefly. So the loop may have closed the connection since `is_idle`, before the
            # responder was stored. If the loop closes the connection later, it finds the responder
            # in `_directs` and notifies it.
            if self.closed and self._directs.pop(self._direct_stream, None) is responder:
                responder.stream = -1
                history.remove(responder)
                # Nothing was written. Let `finally` see no missing bytes, so that it does not
                # involve the loop.
                written = len(data)
                return False
            written = self._write(data)
            return True
        finally:
            # If a part of the frame is missing, or an error occurred, the loop must handle that.
            if written != len(data):
                self._leave_rest(data, written)
            self.release_write()

    def _write(self, data: bytes) -> int:
        """Write `data` to the socket without waiting.

        :returns: the number of bytes that the socket has accepted, the negative error number, or
            `_UNKNOWN`.
        """
        assert self._socket is not None
        try:
            return self._socket.send(data, _SEND_FLAGS)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError as error:
            return -error.errno if error.errno else _UNKNOWN

    def _leave_rest(self, data: bytes, written: int) -> None:
        """Let the loop write the rest of `data`, or close the connection after an error.

        :param written: the number of bytes that were written, a negative error number, or
            `_UNKNOWN`.
        """
        assert self._wake is not None
        self.settled = False
        # Ignore the results of `call_on_loop`: it returns False if the loop is closed, and then the
        # requests in flight have ended already.
        if written < 0:
            call_on_loop(self._wake, (self._on_broken, 0 if written == _UNKNOWN else -written))
        else:
            self.rest = data[written:]
            call_on_loop(self._wake, (self._flush,))

    # -- responses that user threads read, not the event loop --------------------------------------

    @property
    def is_lent(self) -> bool:
        """True while user threads read the responses instead of the loop.

        Always False in this pure Python version.
        """
        return False

    @property
    def is_lendable(self) -> bool:
        """True if the loop should let user threads read the responses.

        That helps if threads send one direct request after another, and wait for each response.
        Always False in this pure Python version.
        """
        return False

    @property
    def answers_read(self) -> int:
        """The number of responses that user threads have read."""
        return 0

    def lend(self, owner: Connection, reader: FrameReader) -> bool:
        """Let the threads of direct requests read the responses from the socket.

        Each of these threads has written its request itself, and waits for the response. The loop
        reads again after `take_back`. Must be called on the loop, while nothing else reads.

        Only the compiled version lets threads read. This pure Python version does nothing, so that
        the loop continues to read.

        :param owner: the connection. Its `take_over` is called on the loop if a thread has read
            something that the loop must handle, and before a request is sent on the loop. Its
            `take_over_answer` is called on the loop with a response whose thread cannot end the
            request.
        :param reader: the connection's frame reader, which does not use Snappy.
        :returns: False if the loop must continue to read, for example because a direct request is
            in flight whose thread does not read. The pure Python version always returns False.
        """
        return False

    def take_back(self) -> bool:
        """Let the loop read again.

        If a thread waits for the bytes of its response, wake the thread. From then on it waits
        until the loop has read the response.

        :returns: False if a thread is using the frame reader at this moment. That thread calls
            ``owner.take_over`` afterwards; the loop must not read before that.
        """
        return True

    def take_passed_on(self) -> tuple[list[Any], BaseException | None]:
        """Remove and return what threads have read and left to the loop.

        If the peer has closed the connection, also read everything that it sent before.

        :returns: the envelopes, and the reason why no more can be read: EOFError at the end of the
            stream, OSError if the connection broke, ProtocolError if a frame was malformed; None if
            reading can continue.
        """
        return [], None

    def acquire_write(self) -> bool:
        """Take the write lock, so that user threads cannot write. Must be called on the loop.

        :returns: False if a thread holds the lock for longer than PATIENCE.
        """
        return self._write_lock is None or self._write_lock.acquire(timeout=PATIENCE)

    def release_write(self) -> None:
        """Release the write lock."""
        lock = self._write_lock
        if lock is None:
            return
        lock.release()
        # If the connection was closed, close our socket. Check `closed` after releasing the lock.
        # Either this thread sees `closed` here, or the loop sets `closed` later, then gets the
        # lock, and closes the socket itself.
        if self.closed and self._socket is not None and lock.acquire(False):
            own_socket, self._socket = self._socket, None
            lock.release()
            if own_socket is not None:
                own_socket.close()
