"""Distributes the requests of a session over the event loops of its cluster (the setting `loops`).

A cluster has one event loop unless the application sets `loops`. The first loop can execute every
request. The threads of the other loops are called workers. They can execute only some requests, as
`cassandra.engine.workers` explains.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._error_copies import copy_of
from cassandra._imports import at_first_cluster
from cassandra._threads import get_ident

if TYPE_CHECKING:
    from cassandra.engine import happy_path
    from cassandra.engine.interfaces import RequestSession
    from cassandra.engine.loop import Inbox, LoopThread, wait_patiently
    from cassandra.engine.request import Request
    from cassandra.engine.session import EngineSession
else:
    at_first_cluster(__name__, happy_path="cassandra._impl", wait_patiently="cassandra.engine.loop")


class SessionLoops:
    """The event loops that execute the requests of one session.

    Each loop has a position: the first loop has 0, and the workers' loops have 1, 2 and so on.

    :param engine: the session's part on the first loop. Its `followers` are the parts on the
        workers' loops.
    :param first_thread: the thread of the first loop.
    """

    def __init__(self, engine: EngineSession, first_thread: LoopThread) -> None:
        self._engine = engine
        self._first_thread = first_thread
        self._threads = (first_thread, *(worker.thread for worker in engine.core.workers))
        self.idents = frozenset(thread.ident for thread in self._threads)
        """The identifiers of the threads of all loops.

        These threads must not wait for responses. After `shutdown`, other threads may get the same
        identifiers: see `is_current`.
        """
        # `_own.position` is the position of the loop that the current thread uses. Look up
        # `threading.local` only now, because gevent and eventlet may have replaced it.
        self._own = threading.local()
        # Counters that assign the loops in turn to threads, or to bursts. A burst consists of
        # requests that are started together.
        self._thread_numbers = itertools.count()
        self._burst_numbers = itertools.count()
        # True once a second thread has executed requests.
        self._has_several_threads = False

    def is_current(self) -> bool:
        """Return True if the caller runs in the thread of a loop."""
        return get_ident() in self.idents and any(thread.is_current() for thread in self._threads)

    def wait(self, wait: Callable[[float], bool], engine: RequestSession | None = None) -> None:
        """Wait for something that the loops do; see `wait_patiently`.

        :param engine: the session's part on the loop that does it; None for any loop.
        """
        # The first thread is that of `self._engine`, the others are those of its followers.
        parts = [self._engine, *self._engine.followers]
        threads = [
            thread
            for thread, part in zip(self._threads, parts, strict=False)
            if engine is None or part is engine
        ]
        wait_patiently(wait, threads or self._threads)

    def choose(self, request: Request) -> Inbox:
        """Return the inbox (request queue) of the loop that should execute a new request.

        All requests of a thread go to the same loop, except requests that only the first loop can
        execute.
        """
        followers = self._engine.followers
        if followers:
            position = self._position(len(followers) + 1)
            if position and followers[position - 1].take(request):
                return followers[position - 1].inbox
        return self._first_thread.inbox

    def _position(self, loop_count: int) -> int:
        """Return the position of the loop that executes the requests of the current thread."""
        position: int | None = getattr(self._own, "position", None)
        if position is None:
            position = self._own.position = self._position_of_thread()
        # Threads are numbered without a limit, so a thread's number may exceed the number of loops.
        return position % loop_count

    def _position_of_thread(self) -> int:
        # If this thread runs a loop, a callback makes the request. Keep the request on that loop.
        idents = [
            self._first_thread.ident,
            *(follower.core.thread.ident for follower in self._engine.followers),
        ]
        ident = get_ident()
        if ident in idents:
            return idents.index(ident)
        number = next(self._thread_numbers)
        if number > 0:
            self._has_several_threads = True
        return number

    def start_burst(self, requests: list[Request]) -> None:
        """Start requests together on one loop.

        If only one thread of the application executes requests, each call uses the next loop. If
        there are several threads, each thread always uses the same loop, as in `choose`: otherwise
        threads would often wait for each other. Requests that only the first loop can execute are
        always started on the first loop.
        """
        followers = self._engine.followers
        # If it is a worker's turn, start all requests on it that a worker can execute.
        if followers:
            position = self._position(len(followers) + 1)
            if not self._has_several_threads:
                position = next(self._burst_numbers) % (len(followers) + 1)
            if position:
                follower = followers[position - 1]
                taken: list[Request] = []
                rest: list[Request] = []
                for request in requests:
                    (taken if follower.take(request) else rest).append(request)
                if taken:
                    _put_together(taken, follower.inbox)
                requests = rest
        # Start the other requests on the first loop.
        if requests:
            _put_together(requests, self._first_thread.inbox)

    def start_page(self, request: Request) -> None:
        """Start a request for a further page, on the loop that has received the previous page.

        If the session's part on that loop is not ready, because it has lost a pool, the first loop
        executes the request. The first loop may still have connections to the host.
        """
        session: Any = request.session
        if session is not self._engine and session.is_ready:
            session.inbox.put(request)
        else:
            request.session = self._engine
            self._first_thread.inbox.put(request)

    def wake_queue_of(self, request: Request | None) -> happy_path.WakeQueue:
        """Return the queue that wakes the threads that wait for `request`.

        :param request: the request; None for any request of the first loop.
        """
        session: Any = self._engine if request is None else request.session
        wake_queue: happy_path.WakeQueue = session.core.wake_queue
        return wake_queue


def _put_together(requests: Sequence[Request], inbox: Inbox) -> None:
    """Put requests into an inbox, as one item."""
    inbox.put(_Burst(requests) if len(requests) > 1 else requests[0])


class _Burst:
    """Several requests that are one item of an inbox, and are started together."""

    __slots__ = ("_requests",)

    def __init__(self, requests: Sequence[Request]) -> None:
        self._requests = requests

    def start(self) -> None:
        """Start the requests. This runs on the event loop."""
        happy_path.start_all(self._requests)

    def fail(self, error: BaseException) -> None:
        """End the requests with `error`."""
        for request in self._requests:
            request.fail(copy_of(error))
