"""The thread that runs fake nodes: it has an event loop, with the listening sockets of the nodes.

All nodes of a cluster run on the same thread. For tests in virtual time,
`cassandra.testing.simulation` has a subclass that runs the nodes without a thread and without
sockets.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import socket
import ssl
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Listening(Protocol):
    """A bound socket, or a bound port of the simulated network."""

    def getsockname(self) -> tuple[Any, ...]:
        """Return (IP address, port)."""

    def close(self) -> None:
        """Close the socket, so that its address and port are free again."""


class NodeThread:
    """Runs an asyncio event loop from its creation until `stop`.

    Other threads run functions on the loop by `call` and `post`. The attribute `number` is a
    function that returns the number of the next request. All nodes that run on the thread share
    this sequence of numbers.
    """

    is_simulated = False
    """True if `wait_for` and `wait_until` wait in virtual time."""

    def __init__(self, name: str) -> None:
        # Do not use `asyncio.new_event_loop`: the test may have set another event loop policy.
        self.loop: asyncio.AbstractEventLoop = asyncio.SelectorEventLoop()
        self.number = itertools.count().__next__
        self._posted: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()  # see `post`
        self._is_drain_scheduled = False
        # Maps a listening socket to the tasks that set up its new connections.
        self._accepting: dict[Listening, set[asyncio.Task[Any]]] = {}
        # Python 3.14 may start a thread in a copy of the starter's context, which the thread would
        # keep.
        arguments: dict[str, Any] = {"context": Context()} if sys.version_info >= (3, 14) else {}
        self._thread = threading.Thread(target=self._run, name=name, daemon=True, **arguments)
        self._thread.start()

    def _run(self) -> None:
        """Run the event loop until it is stopped. This is the function of the thread."""
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            asyncio.set_event_loop(None)
            self.loop.close()

    def rename(self, name: str) -> None:
        """Set the name of the thread, as shown in lists of threads.

        :param name: the new name.
        """
        self._thread.name = name

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Run ``function(*args)`` on the event loop, and return its result or raise its error.

        In the loop's own thread, the function is called immediately.
        """
        # In the loop's own thread, waiting below would block the loop, and so never end.
        if threading.get_ident() == self._thread.ident:
            return function(*args)
        done = threading.Event()
        outcome: list[Any] = []

        def work() -> None:
            """Call the function on the loop, and wake up the waiting thread."""
            try:
                outcome.append((True, function(*args)))
            except BaseException as error:  # the caller's thread raises the error instead
                outcome.append((False, error))
            done.set()

        self.loop.call_soon_threadsafe(work)
        done.wait()
        succeeded, value = outcome[0]
        if not succeeded:
            raise value
        result: T = value
        return result

    def wait_for(self, predicate: Callable[[], T], timeout: float) -> T:
        """Wait in virtual time until the predicate is true, and return the predicate's value.

        Only `SimulatedThread` implements this.

        :param timeout: the maximum wait, in virtual seconds.
        """
        raise NotImplementedError("only a simulated thread has virtual time")

    async def wait_until(self, predicate: Callable[[], Any], timeout: float) -> None:
        """Wait like `wait_for`, in a coroutine. Only `SimulatedThread` implements this.

        :param timeout: the maximum wait, in virtual seconds.
        """
        raise NotImplementedError("only a simulated thread has virtual time")

    # -- sockets -----------------------------------------------------------------------------------

    def bound_socket(self, address: str, port: int) -> Listening:
        """Return a socket that is bound to an address and port, but does not listen.

        :raises OSError: if the address or the port is not available.
        """
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((address, port))
        except BaseException:
            sock.close()
            raise
        return sock

    def listen(
        self,
        listener: Listening,
        make_protocol: Callable[[], asyncio.Protocol],
        tls: ssl.SSLContext | None,
    ) -> None:
        """Accept connections on a bound socket. Must be called on the thread of the event loop.

        :param make_protocol: called to create the protocol of each connection.
        :param tls: the TLS context of the connections; None for no TLS.
        """
        assert isinstance(listener, socket.socket)
        listener.setblocking(False)
        listener.listen(1024)
        self._accepting[listener] = set()
        self.loop.add_reader(listener, self._accept, listener, make_protocol, tls)

    def stop_listening(self, listener: Listening) -> None:
        """Close a listening socket.

        Must be called on the event loop. Open connections stay open.
        """
        assert isinstance(listener, socket.socket)
        self.loop.remove_reader(listener)
        listener.close()
        for task in self._accepting.pop(listener, ()):
            task.cancel()

    def _accept(
        self,
        listener: socket.socket,
        make_protocol: Callable[[], asyncio.Protocol],
        tls: ssl.SSLContext | None,
    ) -> None:
        """Called by the loop when clients have connected: accept the new connections."""
        # Accept at most 64 connections at a time, so that many new connections do not delay the
        # open connections.
        for _ in range(64):
            try:
                sock, _peer = listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            sock.setblocking(False)
            # Set up the connection in a task, because the TLS handshake takes time.
            connecting = self.loop.connect_accepted_socket(make_protocol, sock, ssl=tls)
            task = self.loop.create_task(connecting)
            accepting = self._accepting[listener]
            accepting.add(task)
            task.add_done_callback(functools.partial(self._adopted, accepting, sock))

    def _adopted(
        self, accepting: set[asyncio.Task[Any]], sock: socket.socket, task: asyncio.Task[Any]
    ) -> None:
        """Called when the task that sets up a new connection has ended: clean up if it failed."""
        accepting.discard(task)
        # The set-up fails if the node was stopped, the client has disconnected, or TLS failed. In
        # these cases nobody else closes the socket.
        if task.cancelled() or task.exception() is not None:
            sock.close()

    # -- work --------------------------------------------------------------------------------------

    def post(self, function: Callable[..., Any], *args: Any) -> None:
        """Run ``function(*args)`` on the event loop soon.

        If several calls are posted before the loop runs them, the loop is woken up only once.
        """
        self._posted.append((function, args))
        # `_drain` clears this flag before it empties the queue. If the flag is set, `_drain` has
        # not emptied the queue yet, and will also make this call. So only schedule `_drain` if it
        # is not set.
        if not self._is_drain_scheduled:
            self._is_drain_scheduled = True
            self.loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        """Make all calls that `post` has queued."""
        self._is_drain_scheduled = False
        posted = self._posted
        while posted:
            function, args = posted.popleft()
            function(*args)

    def settle(self) -> None:
        """Let the event loop run until all closed transports have closed their sockets."""
        # A transport closes its socket only some iterations of the loop after `close` was called.
        # Each `call` below takes at least one iteration.
        for _ in range(5):
            self.call(lambda: None)

    def stop(self) -> None:
        """Stop the event loop and wait for the thread."""
        self.settle()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
