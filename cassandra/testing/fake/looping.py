"""The thread that nodes run on: one event loop, for one node or for all nodes of a cluster."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["NodeThread"]

T = TypeVar("T")


class NodeThread:
    """Runs an asyncio loop from its making until `stop`.

    Other threads hand it work by `call` and `post`. `number` counts the requests of all its nodes.
    """

    def __init__(self, name: str) -> None:
        # Not the policy's loop: a test may have installed another kind, and that is not tested
        # here.
        self.loop = asyncio.SelectorEventLoop()
        self.number = itertools.count().__next__
        self._posted: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()
        self._armed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            asyncio.set_event_loop(None)
            self.loop.close()

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Run ``function(*args)`` on the loop, and return or raise its outcome.

        In the loop's own thread it runs at once.
        """
        # Waiting for itself would never end.
        if threading.get_ident() == self._thread.ident:
            return function(*args)
        done = threading.Event()
        outcome: list[Any] = []

        def work() -> None:
            try:
                outcome.append((True, function(*args)))
            except BaseException as error:  # raised in the caller's thread instead
                outcome.append((False, error))
            done.set()

        self.loop.call_soon_threadsafe(work)
        done.wait()
        succeeded, value = outcome[0]
        if not succeeded:
            raise value
        result: T = value
        return result

    def post(self, function: Callable[..., Any], *args: Any) -> None:
        """Run ``function(*args)`` on the loop soon. Many posts cost one wake-up."""
        self._posted.append((function, args))
        # The flag is cleared before the queue is emptied, so that no post is left behind.
        if not self._armed:
            self._armed = True
            self.loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        self._armed = False
        posted = self._posted
        while posted:
            function, args = posted.popleft()
            function(*args)

    def settle(self) -> None:
        """Let the loop close everything that it was told to close."""
        # A transport closes its socket some turns later; each call is at least one turn.
        for _ in range(5):
            self.call(lambda: None)

    def stop(self) -> None:
        """End the loop and wait for the thread."""
        self.settle()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
