"""The engine's loop: the caller's own loop for asyncio; for the blocking API, a daemon thread with
a loop.

User threads pass work to the loop through an inbox: a deque, and one wake-up for everything that is
queued until the loop reacts. Each piece of work is either started or refused, exactly once, by the
thread that takes it out of the deque. When the loop is closed, its thread refuses the remaining
work as its last act; work queued later is refused by the caller that finds the loop closed.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Coroutine
from threading import TIMEOUT_MAX
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from cassandra._imports import import_module
from cassandra._threads import Waiter, get_ident, new_thread, new_waiter, simulation
from cassandra.engine.failures import as_exception, for_caller
from cassandra.engine.green import new_selector
from cassandra.errors import ConnectionShutdown, NoHostAvailable, SessionShutdown

if TYPE_CHECKING:
    from cassandra.engine import happy_path
else:
    from cassandra._impl import happy_path

T = TypeVar("T")

log = logging.getLogger("cassandra.connection")

IDLE_AFTER = 0.0001  # seconds without work from other threads

ENDED = "the cluster was shut down before the call was over"
SHUT_DOWN = "the session cannot be used any more: its cluster was shut down"


class Startable(Protocol):
    """A piece of work for the loop."""

    def start(self) -> None:
        """Called once on the loop, unless `fail` was called; must not raise."""

    def fail(self, error: BaseException) -> None:
        """End with `error`. Any thread may call it if the loop is closed; after `start`, only the
        loop's thread may.
        """


class Inbox:
    """Work from other threads, started on the loop in order of arrival."""

    __slots__ = (
        "_armed",
        "_clock",
        "_closed",
        "_loop",
        "_queue",
        "_quiet_since",
        "_settling",
        "is_quiet",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # uvloop's clock has millisecond resolution, so we use our own; a simulation has only its
        # loop's.
        self._clock = loop.time if hasattr(loop, "cassandra_environment") else monotonic
        self._closed: str | None = None
        self._queue: deque[Startable] = deque()
        self._armed = False
        self._settling = False
        self._quiet_since = 0.0
        self.is_quiet = True
        """False while work is queued, or was started in this loop turn and may not be written yet:
        a thread that wrote directly would overtake it. False also when the loop is closed.
        """

    def put(self, work: Startable) -> None:
        """Queue `work`; any thread. If the loop is closed, the work fails with ConnectionShutdown,
        before or after this returns.
        """
        # Append before reading the flag: `_drain` clears the flag before it looks into the queue.
        self._queue.append(work)
        # Clear this after the append: the drain that follows will set it again.
        self.is_quiet = False
        # Two threads may both find it unarmed; the second drain then finds an empty queue.
        if not self._armed:
            self._armed = True
            try:
                if self._closed is not None:
                    raise RuntimeError(self._closed)
                self._loop.call_soon_threadsafe(self._drain)
            except RuntimeError:
                # Disarm first, then empty: a caller that found it armed has queued its work before
                # that.
                self._armed = False
                self._refuse_all()
            except BaseException:
                # KeyboardInterrupt, for example. Everything queued from now on relies on this
                # drain.
                self._loop.call_soon_threadsafe(self._drain)
                raise

    def is_idle(self) -> bool:
        """Return True if the inbox was unused for a moment; any thread.

        If not, requests come in quick succession, and it is cheaper to write them together.
        """
        return self.is_quiet and self._clock() - self._quiet_since > IDLE_AFTER

    def close(self, reason: str = SHUT_DOWN) -> None:
        """Refuse all queued work, and all later work, with `reason`; any thread."""
        # Keep the first reason, which says why the loop has ended.
        self._closed = self._closed or reason
        self.is_quiet = False
        # Disarm, so that later calls of `put` refuse their work: no drain will run.
        self._armed = False
        self._refuse_all()

    def abandon(self, reason: str) -> None:
        """Empty the inbox in a forked child, where no loop will run.

        The queued work belongs to the parent: nobody waits for it here.
        """
        self._queue.clear()
        self._closed = reason
        self._armed = False
        self.is_quiet = False

    def _refuse_all(self) -> None:
        queue = self._queue
        while queue:
            try:
                work = queue.popleft()
            except IndexError:  # another thread was quicker
                return
            try:
                work.fail(SessionShutdown(self._closed or SHUT_DOWN))
            except BaseException:  # raised by a callback: go on with the others
                log.exception("%r could not be told that the loop is closed", work)

    def _drain(self) -> None:
        # Disarm first: work that is appended after the last popleft then wakes the loop again.
        self._armed = False
        queue = self._queue
        while queue:
            try:
                work = queue.popleft()
            except IndexError:  # a thread that has closed the inbox was quicker
                return
            try:
                work.start()
            except BaseException as error:  # do not let it stop the work behind it
                log.exception("%r could not be started", work)
                work.fail(as_exception(error))
        if not self._settling:
            self._settling = True
            # Settle after the writes of this turn.
            self._loop.call_soon(self._settle)

    def _settle(self) -> None:
        self._settling = False
        self._quiet_since = self._clock()
        self.is_quiet = not self._queue and self._closed is None


class _Call(Generic[T]):
    """A coroutine that another thread waits for. Ends with its loop at the latest."""

    __slots__ = ("_calls", "_coroutine", "_error", "_over", "_task", "_value", "is_over")

    _value: T

    def __init__(self, coroutine: Coroutine[Any, Any, T], calls: set[_Call[Any]]) -> None:
        self.is_over = False
        self._over: Waiter = new_waiter()
        self._error: BaseException | None = None
        self._coroutine = coroutine
        self._calls = calls  # the running calls; used by the loop's thread only
        self._task: asyncio.Task[T] | None = None

    def start(self) -> None:
        self._calls.add(self)
        self._task = asyncio.ensure_future(self._coroutine)
        self._task.add_done_callback(self._ended)

    def wait(self, timeout: float | None) -> bool:
        """Wait for the end; return False if it does not come within `timeout` seconds."""
        return self._over.acquire(timeout=-1 if timeout is None else min(timeout, TIMEOUT_MAX))

    def outcome(self) -> T:
        """Return the result, or raise the error; must be called after the end."""
        if self._error is not None:
            # Drop our reference, since the traceback refers to this frame: that would be a cycle.
            error, self._error = self._error, None
            raise for_caller(error)
        return self._value

    def cancel(self) -> None:
        """Cancel the coroutine, because nobody waits for it; on the loop."""
        if self._task is not None:
            self._task.cancel()

    def fail(self, error: BaseException) -> None:
        self._coroutine.close()
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        if not self.is_over:
            self._error = error
            self.is_over = True
            self._over.release()

    def _ended(self, task: asyncio.Task[T]) -> None:
        self._calls.discard(self)
        # Only the end of the cluster leads here: a waiting caller cancels after it has stopped
        # waiting.
        if task.cancelled():
            self._end(ConnectionShutdown(ENDED))
        elif (error := task.exception()) is not None:
            self._end(error)
        else:
            self._value = task.result()
            self._end(None)

    def leave(self) -> None:
        """End the wait: the loop is closed, and the task has ignored its cancellation."""
        self._end(ConnectionShutdown(ENDED))


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Make an event loop: uvloop's if installed, else asyncio's; in a simulation, a simulated loop.

    :raises RuntimeError: under eventlet without uvloop.
    :raises NoHostAvailable: if there are no free file descriptors.
    """
    simulated = simulation()
    if simulated is not None:
        loop: asyncio.AbstractEventLoop = simulated.new_event_loop()
        return loop
    try:
        _check_descriptors()
        return _new_event_loop()
    except OSError as error:
        raise NoHostAvailable(
            f"Unable to connect to any servers: the driver's event loop cannot be made: {error}", {}
        ) from error


_DESCRIPTORS = 6  # at least as many as a loop needs


def _check_descriptors() -> None:
    """Raise OSError if a loop would run out of descriptors: it could not be closed halfway."""
    taken: list[int] = []
    try:
        while len(taken) < _DESCRIPTORS:
            taken += os.pipe()
    finally:
        for descriptor in taken:
            os.close(descriptor)


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        uvloop = import_module("uvloop")
    except (ImportError, RuntimeError):  # RuntimeError: the interpreter is ending
        return asyncio.SelectorEventLoop(new_selector())
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


class LoopThread:
    """A daemon thread that runs one event loop, from `start` until `stop`."""

    def __init__(
        self, name: str, make_loop: Callable[[], asyncio.AbstractEventLoop] = new_event_loop
    ) -> None:
        self.loop = make_loop()
        self.inbox = Inbox(self.loop)
        self.wake_queue = happy_path.WakeQueue()
        self._calls: set[_Call[Any]] = set()
        # A daemon thread: an application that forgets shutdown() must be able to exit.
        self._thread = new_thread(self._run, name)
        self._stopped = False
        self._abandoned: str | None = None

    @property
    def ident(self) -> int | None:
        """The thread's identifier, used to refuse blocking calls from the loop's thread."""
        return self._thread.ident

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def is_current(self) -> bool:
        """Return True if the caller runs in this thread."""
        return get_ident() == self._thread.ident

    def run(self, coroutine: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run `coroutine` on the loop and wait for its result.

        :raises TimeoutError: after `timeout` seconds; the coroutine is then cancelled.
        :raises ConnectionShutdown: if the loop is closed, or ends before the coroutine does.
        :raises RuntimeError: in the loop's own thread.
        """
        if self.is_current():
            coroutine.close()
            raise RuntimeError(
                "a blocking call was made from the driver's own event loop; "
                "use the asynchronous form"
            )
        call = _Call(coroutine, self._calls)
        self.inbox.put(call)
        try:
            is_over = call.wait(timeout)
        except BaseException:
            # KeyboardInterrupt, for example: the coroutine must not go on without its caller.
            self._give_up(call)
            raise
        if is_over or call.is_over:
            return call.outcome()
        self._give_up(call)
        raise TimeoutError(f"no end within {timeout} seconds")

    def cancel_calls(self) -> None:
        """End each running `run` with ConnectionShutdown; any thread."""
        try:
            self.loop.call_soon_threadsafe(self._cancel_calls)
        except RuntimeError:  # the loop is closed: nothing runs
            pass

    def _cancel_calls(self) -> None:
        for call in list(self._calls):
            call.cancel()

    def _give_up(self, call: _Call[Any]) -> None:
        try:
            self.loop.call_soon_threadsafe(call.cancel)
        except RuntimeError:  # the loop was closed, which has ended the call
            pass

    def abandon(self, reason: str) -> None:
        """Disable this object in a forked child, where the thread does not exist: each `run` raises
        ConnectionShutdown with `reason`.
        """
        self.inbox.abandon(reason)
        self._calls.clear()
        self._abandoned = reason
        self._stopped = True

    def refuse_in_child(self) -> None:
        """Raise ConnectionShutdown in a forked child: requests in flight at the fork end in the
        parent only.
        """
        if self._abandoned is not None:
            raise ConnectionShutdown(self._abandoned)

    def stop(self, timeout: float = 5.0) -> None:
        """Stop the loop, close it and wait for the thread's end, at most `timeout` seconds."""
        if self._stopped:
            # `stop_after` may have stopped it, without waiting.
            if self._abandoned is None and self._thread.is_alive() and not self.is_current():
                self._thread.join(timeout)
            return
        self._stopped = True
        # A thread that was never started cannot close its loop.
        if not self._thread.is_alive():
            self.loop.close()
            self.inbox.close()
            return
        try:
            self.loop.call_soon_threadsafe(self.loop.stop)
        except RuntimeError:  # closed already: the thread is about to end
            pass
        # A thread cannot wait for its own end.
        if not self.is_current():
            self._thread.join(timeout)
            if self._thread.is_alive():
                log.warning("the driver's event loop did not stop within %s seconds", timeout)
                self.inbox.close()  # the loop is blocked: fail waiting callers now

    def stop_after(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run `coroutine`, then stop, without waiting for either. For finalizers, which run in any
        thread.
        """

        async def end() -> None:
            try:
                await coroutine
            finally:
                # Stop even if the coroutine fails: nothing else would stop the thread.
                self.loop.stop()

        if self._stopped or self._abandoned is not None:
            coroutine.close()
            return
        self._stopped = True
        try:
            self.loop.call_soon_threadsafe(lambda: asyncio.ensure_future(end()))
        except RuntimeError:  # closed already
            coroutine.close()

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
            # User code called sys.exit(), for example. Loops propagate that, and callers would wait
            # for ever.
            log.exception("the driver's event loop was to be ended by an exception: it goes on")
            # The loop forgets a stop that was requested in the same turn as the exception.
            return self._stopped
        return True

    def _run_out(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run `coroutine` to its end, even if exceptions leave the loop."""
        task = self.loop.create_task(coroutine)
        while not task.done():
            try:
                self.loop.run_until_complete(task)
            except BaseException:
                log.exception("an exception left the driver's event loop while it was closed")

    def _finish(self) -> None:
        """Cancel remaining tasks, so that none is destroyed while pending, then close the loop."""
        loop = self.loop
        try:
            # Repeat, because queued work may start now.
            for _ in range(3):
                tasks = asyncio.all_tasks(loop)
                if not tasks:
                    break
                for task in tasks:
                    task.cancel()
                self._run_out(asyncio.wait(tasks, timeout=1.0))
            self._run_out(loop.shutdown_asyncgens())
            self._run_out(loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            loop.close()
            # Close the inbox last, when nothing can be scheduled any more.
            self.inbox.close()
            for call in list(self._calls):
                call.leave()
