"""The engine's loop: the caller's own for asyncio, one daemon thread with a loop for the blocking and future faces.

User threads hand work to the loop through an inbox: a deque, and one wake-up for however much is queued when the loop gets
to it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

log = logging.getLogger("cassandra.connection")


class Startable(Protocol):
    """Work for the loop."""

    def start(self) -> None:
        """Called once on the loop; must not raise."""


class Inbox:
    """Work from other threads, started on the loop in the order of arrival."""

    __slots__ = ("_abandoned", "_armed", "_loop", "_queue")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._abandoned: str | None = None
        self._queue: deque[Startable] = deque()
        self._armed = False

    def put(self, work: Startable) -> None:
        """Queue `work`; any thread. RuntimeError where the loop is closed."""
        self._queue.append(work)
        # Two threads may both find it unarmed: a second drain finds an empty queue and costs nothing else.
        if not self._armed:
            if self._abandoned is not None:
                self._queue.clear()
                raise RuntimeError(self._abandoned)
            self._armed = True
            try:
                self._loop.call_soon_threadsafe(self._drain)
            except RuntimeError:  # the loop is closed: nothing may wait in here
                self._armed = False
                self._queue.clear()
                raise

    def abandon(self, reason: str) -> None:
        """In a forked child, where no loop will ever run: each `put` raises RuntimeError with `reason`."""
        self._abandoned = reason
        self._armed = False

    @property
    def abandoned(self) -> bool:
        """Whether this is the child's copy of an inbox whose loop runs in the parent."""
        return self._abandoned is not None

    def _drain(self) -> None:
        # Unarmed first: what is appended after the last popleft finds it unarmed and wakes the loop again.
        self._armed = False
        queue = self._queue
        while queue:
            queue.popleft().start()


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's loop where it is installed, else asyncio's."""
    try:
        import uvloop
    except ImportError:
        return asyncio.SelectorEventLoop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


class LoopThread:
    """A daemon thread that runs one event loop, from `start` until `stop`."""

    def __init__(self, name: str, make_loop: Callable[[], asyncio.AbstractEventLoop] = new_event_loop) -> None:
        self.loop = make_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._stopped = False
        self._abandoned: str | None = None

    @property
    def ident(self) -> int | None:
        """The thread's identity, for checks that a blocking call does not come from the loop itself."""
        return self._thread.ident

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def is_current(self) -> bool:
        """Whether the caller runs in this thread."""
        return threading.get_ident() == self._thread.ident

    def run(self, coroutine: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run `coroutine` on the loop and wait for its result; TimeoutError after `timeout` seconds, when it is cancelled."""
        if self.is_current():
            coroutine.close()
            raise RuntimeError("a blocking call was made from the driver's own event loop; use the asynchronous form")
        if self._abandoned is not None:
            coroutine.close()
            raise RuntimeError(self._abandoned)
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        except RuntimeError:
            coroutine.close()
            raise
        try:
            return future.result(timeout)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise TimeoutError(f"no end within {timeout} seconds") from None
        except BaseException:
            future.cancel()
            raise

    def abandon(self, reason: str) -> None:
        """In a forked child: the thread does not exist here, and each `run` raises RuntimeError with `reason`."""
        self._abandoned = reason
        self._stopped = True

    def stop(self, timeout: float = 5.0) -> None:
        """Stop the loop, close it and wait for the thread's end, at most `timeout` seconds."""
        if self._stopped:
            return
        self._stopped = True
        if not self._thread.is_alive():
            self.loop.close()
            return
        self.loop.call_soon_threadsafe(self.loop.stop)
        if not self.is_current():
            self._thread.join(timeout)
            if self._thread.is_alive():
                log.warning("the driver's event loop did not stop within %s seconds", timeout)

    def stop_after(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run `coroutine`, then stop, without waiting for either: for finalizers, which run in any thread."""

        async def end() -> None:
            try:
                await coroutine
            finally:
                self.loop.stop()

        if self._stopped or self._abandoned is not None:
            coroutine.close()
            return
        self._stopped = True
        self.loop.call_soon_threadsafe(lambda: asyncio.ensure_future(end()))

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            while not self._run_until_stopped():
                pass
        finally:
            self._finish()

    def _run_until_stopped(self) -> bool:
        try:
            self.loop.run_forever()
        except BaseException:
            # A program's listener or policy called sys.exit(), say. Loops let that through, and everybody who waits would wait for ever.
            log.exception("the driver's event loop was to be ended by an exception: it goes on")
            return self._stopped  # the loop forgets that it was to stop where that came in the same turn
        return True

    def _finish(self) -> None:
        """Cancel what still runs, so that no task is destroyed while it is pending, then close the loop."""
        loop = self.loop
        try:
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(asyncio.wait(tasks, timeout=1.0))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            loop.close()
