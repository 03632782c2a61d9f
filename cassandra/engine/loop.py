"""The thread and event loop in which the engine runs for the blocking API.

With the asyncio API, the engine runs on the caller's own loop, and this module is not used.

User threads pass work to the loop through an `Inbox`, which is a deque. Only the first queued item
wakes the loop, which then starts all items. The thread that takes an item out of the deque starts
the item or, if the loop is closed, lets it fail. So each item is handled exactly once. When the
loop is closed, its thread lets the remaining items fail. An item that is put into the inbox later
fails in the thread that puts it there.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from contextvars import Context
from itertools import chain, starmap
from threading import TIMEOUT_MAX
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from cassandra._forks import renew_after_any_fork
from cassandra._imports import import_module
from cassandra._logs import Log
from cassandra._threads import Waiter, get_ident, new_thread, new_waiter, simulation
from cassandra.engine.environment import new_task
from cassandra.engine.failures import as_exception, call_on_loop, for_caller
from cassandra.engine.green import new_selector
from cassandra.errors import ConnectionShutdown, NoHostAvailable, OperationTimedOut, SessionShutdown

if TYPE_CHECKING:
    from cassandra.engine import happy_path
else:
    from cassandra._impl import happy_path

T = TypeVar("T")

log = Log("cassandra.connection")

# The inbox counts as idle if other threads have queued no work for this time.
IDLE_AFTER = 0.0001  # seconds

# When the thread ends, it cancels the remaining tasks in at most this many rounds. In each round,
# it waits at most LAST_ROUND seconds for the tasks to end.
LAST_ROUNDS = 3
LAST_ROUND = 1.0  # seconds

# A thread that waits without a limit asks the loop for a sign of life after each PATIENCE seconds.
# If the loop gives none in LAST_WAITS waits, it is blocked. There are several waits, because a
# suspension of the whole process ends one of them.
PATIENCE = 30.0  # seconds
LAST_WAITS = 6
LAST_WAIT = 5.0  # seconds

# The end of the message of an error about a blocked loop.
BLOCKED = (
    "the driver's event loop thread is blocked: by a callback, a policy or a listener that waits, "
    "or by a logging handler that executes requests while the thread waits for its lock"
)

NO_DRAIN = -1  # `Inbox._drain_count` never has this value

# The error messages of a call that was running when the loop was closed, and of work that is queued
# when the loop is closed already.
ENDED = "the cluster was shut down before the call was over"
SHUT_DOWN = "the session cannot be used any more: its cluster was shut down"


class Startable(Protocol):
    """A piece of work that user threads pass to the loop, for example a request."""

    def start(self) -> None:
        """Start the work. Called at most once, on the loop, if `fail` was not called before.

        Must not raise an error.
        """

    def fail(self, error: BaseException) -> None:
        """End the work with `error`.

        If the loop is closed, any thread may call this. After `start`, only the loop's thread may.
        """


class Inbox:
    """Receives work from other threads and starts it on the loop, in order of arrival."""

    __slots__ = (
        "_clock",
        "_closed",
        "_drain_count",
        "_is_settle_scheduled",
        "_loop",
        "_queue",
        "_quiet_since",
        "_scheduled_after",
        "is_quiet",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # The clock for IDLE_AFTER. Do not use uvloop's clock, whose resolution is only a
        # millisecond. In a simulation, use the simulated loop's clock, because the system's clock
        # does not follow it.
        self._clock = loop.time if hasattr(loop, "cassandra_environment") else monotonic
        self._closed: str | None = None  # why no more work is accepted; None if work is accepted
        self._queue: deque[Startable] = deque()
        # `_drain` starts the queued work on the loop. `_drain_count` is the number of its calls. A
        # further call is scheduled if `_scheduled_after` is the same number.
        self._drain_count = 0
        self._scheduled_after = NO_DRAIN
        # True if `_settle` is scheduled on the loop. It runs after the requests of the started work
        # were written.
        self._is_settle_scheduled = False
        self._quiet_since = 0.0  # the time of the last `_settle`
        self.is_quiet = True
        """False if work is queued or is not written to a socket yet, or if the loop is closed.

        If False, a user thread must not write to a socket, because it would overtake that work.
        """

    def put(self, work: Startable) -> None:
        """Queue `work`. Any thread may call this.

        If the loop is closed, the work fails with SessionShutdown, before or after this returns.
        """
        # Append before comparing the two counts. `_drain` increments `_drain_count` before it looks
        # into the queue. So either `_drain` finds this work, or the counts differ here and we
        # schedule another drain.
        self._queue.append(work)
        # Clear `is_quiet` after the append. The drain that handles the work is followed by
        # `_settle`, which sets `is_quiet` again.
        self.is_quiet = False
        drain_count = self._drain_count
        if self._scheduled_after == drain_count:
            return
        # Several threads may schedule a drain at the same time; the surplus drains find an empty
        # queue. So we may set `_scheduled_after` after the drain is scheduled. If we set it before,
        # a signal handler could interrupt this call in between, and wait for work that it or
        # another thread queues. No drain would start that work.
        try:
            closed = self._closed
            if closed is not None:
                raise RuntimeError(closed)
            self._schedule_drain()
        except RuntimeError:
            if self._closed is None and not self._loop.is_closed():
                # A signal handler has raised this error; see `except BaseException` below.
                self._schedule_drain()
                raise
            self._refuse_all()
            return
        except BaseException:
            # For example, KeyboardInterrupt before the scheduling. Schedule the drain before
            # raising, because the work may be the last that is queued.
            self._schedule_drain()
            raise
        self._scheduled_after = drain_count
        if self._closed is not None:
            # `close` may have run since, so the drain may never run.
            self._scheduled_after = NO_DRAIN
            self._refuse_all()

    def _schedule_drain(self) -> None:
        """Let the loop call `_drain`.

        :raises RuntimeError: if the loop is closed.
        """
        # The drain starts the work of several threads. So it must not run in the context (see
        # `contextvars`) of the thread that happens to wake the loop.
        Context().run(self._loop.call_soon_threadsafe, self._drain)

    def is_idle(self) -> bool:
        """Return True if the inbox got no work for IDLE_AFTER seconds. Any thread may call this.

        If False, requests come in quick succession, so that it is cheaper to let the loop write
        them together.
        """
        return self.is_quiet and self._clock() - self._quiet_since > IDLE_AFTER

    def close(self, reason: str = SHUT_DOWN) -> None:
        """Let all queued work and all later work fail with `reason`. Any thread may call this."""
        # Keep the first reason, which says why the loop has ended.
        self._closed = self._closed or reason
        self.is_quiet = False
        # No drain will run any more. Later calls of `put` must see that the loop is closed, so that
        # they let their work fail.
        self._scheduled_after = NO_DRAIN
        self._refuse_all()

    def abandon(self, reason: str) -> None:
        """Drop the queued work in a forked child, where no loop will run.

        The work does not fail here, because its callers wait in the parent process, and nobody in
        the child waits for it.
        """
        self._queue.clear()
        self._closed = reason
        self._scheduled_after = NO_DRAIN
        self.is_quiet = False

    def _refuse_all(self) -> None:
        """Let all queued work fail, because the loop is closed."""
        queue = self._queue
        while queue:
            try:
                work = queue.popleft()
            except IndexError:  # another thread has taken the last item
                return
            try:
                work.fail(SessionShutdown(self._closed or SHUT_DOWN))
            except BaseException:  # a callback has raised an error: continue with the other items
                log.exception("%r could not be told that the loop is closed", work)

    def _drain(self) -> None:
        """Start all queued work; runs on the loop."""
        # Increment the count first, so that work which is queued after the last `popleft` wakes the
        # loop again.
        self._drain_count += 1
        queue = self._queue
        while queue:
            try:
                work = queue.popleft()
            except IndexError:  # another thread has closed the inbox and taken the last item
                return
            try:
                work.start()
            except BaseException as error:  # the items that follow must start nevertheless
                log.exception("%r could not be started", work)
                work.fail(as_exception(error))
        if not self._is_settle_scheduled:
            self._is_settle_scheduled = True
            # `_settle` must run after the requests of this loop iteration were written. The write
            # was scheduled before, so it runs first.
            self._loop.call_soon(self._settle)

    def _settle(self) -> None:
        """Set `is_quiet`, unless more work is queued. Runs after the started work was written."""
        self._is_settle_scheduled = False
        self._quiet_since = self._clock()
        self.is_quiet = not self._queue and self._closed is None


class _Call(Generic[T]):
    """A coroutine that runs on the loop while another thread waits for its result.

    If the loop ends, the wait ends, too.
    """

    __slots__ = ("_calls", "_coroutine", "_error", "_over", "_task", "_value", "is_over")

    _value: T

    def __init__(self, coroutine: Coroutine[Any, Any, T], calls: set[_Call[Any]]) -> None:
        self.is_over = False
        self._over: Waiter = new_waiter()  # released at the end; the caller waits for it
        self._error: BaseException | None = None
        self._coroutine = coroutine
        self._calls = calls  # all running calls; only the loop's thread uses this set
        self._task: asyncio.Task[T] | None = None

    def start(self) -> None:
        self._calls.add(self)
        self._task = new_task(self._coroutine)
        self._task.add_done_callback(self._ended)

    def wait(self, timeout: float) -> bool:
        """Wait until the call has ended; return False if it has not ended in `timeout` seconds."""
        return self._over.acquire(timeout=min(timeout, TIMEOUT_MAX))

    def outcome(self) -> T:
        """Return the result, or raise the error. Must be called after the call has ended."""
        if self._error is not None:
            # The error's traceback will refer to this frame and thus to `self`. So `self` must not
            # refer to the error: that would be a reference cycle.
            error, self._error = self._error, None
            raise for_caller(error)
        return self._value

    def cancel(self) -> None:
        """Cancel the coroutine. Must be called on the loop."""
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
        """Pass the outcome of the task, which has ended, to the thread that waits."""
        self._calls.discard(self)
        # A caller that cancels the task has stopped waiting and does not read the outcome. So this
        # error reaches only a caller that still waits, because the cluster was shut down.
        if task.cancelled():
            self._end(ConnectionShutdown(ENDED))
        elif (error := task.exception()) is not None:
            self._end(error)
        else:
            self._value = task.result()
            self._end(None)

    def leave(self) -> None:
        """End the caller's wait, because the loop is closed although the task has not ended.

        This happens if the task has ignored its cancellation.
        """
        self._end(ConnectionShutdown(ENDED))


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Create the event loop of the engine's thread: uvloop's if it is installed, else asyncio's.

    In a simulation, create a simulated loop.

    :raises RuntimeError: under eventlet without uvloop.
    :raises NoHostAvailable: if there are no free file descriptors.
    """
    simulated = simulation()
    if simulated is not None:
        return simulated.new_event_loop()
    # An OSError with a number means that the process has no free file descriptors. Any other was
    # raised by a signal handler: TimeoutError, for example, is an OSError.
    try:
        _check_descriptors()
        # A loop has callbacks of its own, which keep the context (see `contextvars`) in which it
        # was made. That must not be the context of the caller, because the loop outlives it.
        loops: list[asyncio.AbstractEventLoop] = []
        made = starmap(_loop_maker(), [()])
        try:
            # A signal handler may raise after the call. uvloop's loops do not close themselves.
            Context().run(loops.extend, made)
            return loops[0]
        except BaseException:
            for loop in loops:
                loop.close()
            raise
    except OSError as error:
        if error.errno is None:
            raise
        raise NoHostAvailable(
            f"Unable to connect to any servers: the driver's event loop cannot be made: {error}", {}
        ) from error


_STANDARD_ERROR = 2  # the highest descriptor of the standard streams
_LOOP_DESCRIPTORS = 6  # the maximum number of file descriptors that an event loop opens


def _check_descriptors() -> None:
    """Raise OSError if there are too few free file descriptors for an event loop.

    Check this in advance, because a loop whose creation fails halfway cannot be closed.
    """
    descriptors: list[int] = []
    # The iterators run within `extend` and `any`, which call no signal handler. So its exception
    # leaves no descriptor open.
    opened = chain.from_iterable(starmap(os.pipe, [()] * (_LOOP_DESCRIPTORS // 2)))
    closed = map(os.close, descriptors)
    try:
        descriptors.extend(opened)
    finally:
        any(closed)  # `os.close` returns None, so this closes all


def _loop_maker() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return a function that makes an event loop."""
    try:
        uvloop = import_module("uvloop")
    except (ImportError, RuntimeError):  # RuntimeError: the interpreter is ending
        return lambda: asyncio.SelectorEventLoop(new_selector())
    _fill_standard_descriptors()
    # Not `uvloop.new_event_loop`, which is written in Python: a signal handler may interrupt it.
    make: Callable[[], asyncio.AbstractEventLoop] = uvloop.Loop
    return make


def _is_closed(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return True
    return False


def _fill_standard_descriptors() -> None:
    """Open the null device as standard input, output or error if the process has closed them.

    The next file that a process opens gets the lowest free descriptor. If uvloop closes a socket
    with the descriptor 0, 1 or 2, it aborts the process. Also, output of the application would go
    into the socket.
    """
    # A process in a jail or a sandbox may have no null device.
    with suppress(OSError):
        for descriptor in range(_STANDARD_ERROR + 1):
            if _is_closed(descriptor):
                os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor


def wait_patiently(wait: Callable[[float], bool], threads: Iterable[LoopThread]) -> None:
    """Wait for something that the loops of `threads` do, as long as none of these is blocked.

    :param wait: waits at most some seconds; returns False if there is a need to wait longer.
    :raises OperationTimedOut: if something blocks one of the threads for many seconds.
    """
    while not wait(PATIENCE):
        for thread in threads:
            try:
                thread.refuse_if_blocked()
            except OperationTimedOut:
                # Another loop may have done it meanwhile.
                if wait(0.0):
                    return
                raise


class NoEnd(TimeoutError):
    """A coroutine of `LoopThread.run` did not end in time.

    The class distinguishes this from the TimeoutError that a signal handler may raise.
    """


def needs_daemon_threads(error: RuntimeError) -> RuntimeError:
    """Return the error for `error`, with which Python has refused a daemon thread."""
    return RuntimeError(
        "the blocking API (cassandra.cluster) runs its event loop in a daemon thread, and "
        f"{error}: use cassandra.aio here"
    )


class LoopThread:
    """A daemon thread that runs one event loop, from `start` until `stop`.

    A signal handler may raise an exception in each of the methods. `stop` and `stop_after` may then
    be called again.
    """

    def __init__(
        self, name: str, make_loop: Callable[[], asyncio.AbstractEventLoop] = new_event_loop
    ) -> None:
        # The thread takes the entry before it runs the loop, or `stop` takes it first. We cannot
        # ask the thread: if `start` was interrupted, the thread may begin later.
        self._right_to_run = [None]
        self.loop = make_loop()
        self.inbox = Inbox(self.loop)
        self.wake_queue = happy_path.WakeQueue()
        self._calls: set[_Call[Any]] = set()  # the calls of `run` that are still running
        # Use a daemon thread, so that an application that forgets `shutdown` can exit.
        try:
            self._thread = new_thread(self._run, name)
        except RuntimeError as error:
            raise needs_daemon_threads(error) from None
        # The identifier of the thread while it runs. The thread itself removes it: after its end,
        # another thread may get the same identifier, and `Thread.is_alive` may still return True
        # while a thread is in `Thread.join`.
        self._running_ident: int | None = None
        self._stopped = False  # True once `stop` or `stop_after` was called
        # True once the loop was asked to stop, or was closed. `_stopped` is set earlier. The two
        # may differ, because a signal handler may raise an exception in between.
        self._is_ending = False
        self._abandoned: str | None = None  # set in a forked child: why it cannot use the loop

    @property
    def ident(self) -> int | None:
        """The thread's identifier; None before `start`."""
        return self._thread.ident

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def __del__(self) -> None:
        # If a signal handler has raised an exception in the constructor, or before the caller got
        # this object, nobody else closes the loop. uvloop's loops do not close their descriptors
        # themselves.
        loop = getattr(self, "loop", None)
        if loop is not None and self._claim():
            loop.close()

    def _claim(self) -> bool:
        """Return True only to the first caller, who must run or close the loop."""
        try:
            self._right_to_run.pop()
        except IndexError:
            return False
        return True

    @property
    def is_ending(self) -> bool:
        """True if the loop was asked to stop, is closed, or is unusable in a forked child."""
        return self._is_ending

    def is_current(self) -> bool:
        """Return True if the caller runs in this thread."""
        if get_ident() != self._running_ident:
            return False
        # In a child that was forked by C code, a new thread may have got this identifier.
        renew_after_any_fork()
        return self._running_ident is not None

    def refuse_blocking(self) -> None:
        """Raise RuntimeError if the caller runs in this thread, for example in a callback.

        A blocking call in this thread would block the loop for ever.
        """
        if self.is_current():
            raise RuntimeError(
                "a blocking call was made from the driver's own event loop; "
                "use the asynchronous form"
            )

    def refuse_if_blocked(self) -> None:
        """Raise OperationTimedOut if something blocks the thread for many seconds.

        In a forked child, raise ConnectionShutdown.
        """
        renew_after_any_fork()
        self.refuse_in_child()
        sign_of_life = new_waiter()
        if not call_on_loop(self.loop.call_soon_threadsafe, (sign_of_life.release,)):
            return  # the loop is closed, which ends all waits
        for _ in range(LAST_WAITS):
            if sign_of_life.acquire(timeout=LAST_WAIT):
                return
        raise OperationTimedOut(BLOCKED)

    def run(self, coroutine: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run `coroutine` on the loop and wait for its result.

        :param timeout: seconds to wait for the result; None for no limit, as long as the loop runs.
        :raises TimeoutError: after `timeout` seconds; the coroutine is then cancelled.
        :raises OperationTimedOut: if `timeout` is None, and the thread is blocked.
        :raises ConnectionShutdown: if the loop is closed, or ends before the coroutine does; in a
            forked child.
        :raises RuntimeError: in the loop's own thread.
        """
        try:
            self.refuse_blocking()
        except RuntimeError:
            coroutine.close()
            raise
        call = _Call(coroutine, self._calls)
        self.inbox.put(call)
        try:
            if timeout is None:
                wait_patiently(call.wait, [self])
                is_over = True
            else:
                is_over = call.wait(timeout)
        except BaseException:
            # For example, KeyboardInterrupt: the coroutine must not continue, because nobody waits
            # for it.
            self._give_up(call)
            raise
        # The call may have ended between the timeout and this check.
        if is_over or call.is_over:
            return call.outcome()
        renew_after_any_fork()
        self.refuse_in_child()
        self._give_up(call)
        raise NoEnd(f"no end within {timeout} seconds")

    def cancel_calls(self) -> None:
        """Let each running call of `run` raise ConnectionShutdown. Any thread may call this."""
        # If the loop is closed, no call is running, so the returned False can be ignored.
        call_on_loop(self.loop.call_soon_threadsafe, (self._cancel_calls,))

    def _cancel_calls(self) -> None:
        for call in list(self._calls):
            call.cancel()

    def _give_up(self, call: _Call[Any]) -> None:
        """Cancel a call for which the caller does not wait any more."""
        # If the loop is closed, the call has ended already.
        call_on_loop(self.loop.call_soon_threadsafe, (call.cancel,))

    def abandon(self, reason: str) -> None:
        """Disable this object in a forked child, where the thread does not exist.

        Each later call of `run` fails with `reason`.
        """
        self.inbox.abandon(reason)
        self._calls.clear()
        self._abandoned = reason
        self._running_ident = None  # a new thread of the child may get this identifier
        self._stopped = self._is_ending = True
        self._claim()  # the parent's thread may not have run yet: do not close its loop here

    def refuse_in_child(self) -> None:
        """Raise ConnectionShutdown in a forked child.

        Requests that were in flight at the fork end in the parent only. A caller that waited for
        such a request in the child would wait for ever.
        """
        if self._abandoned is not None:
            raise ConnectionShutdown(self._abandoned)

    def stop(self, timeout: float = 5.0) -> None:
        """Stop and close the loop, and wait at most `timeout` seconds for the end of the thread."""
        if self._is_ending:
            # `stop_after` may have stopped the loop without waiting for the thread.
            if self._abandoned is None and self._thread.is_alive() and not self.is_current():
                self._thread.join(timeout)
            return
        self._stopped = True
        if self.close_unused():
            return
        # The thread closes the loop when it ends. If the loop is closed already, the thread is
        # about to end, so the returned False can be ignored.
        call_on_loop(self.loop.call_soon_threadsafe, (self.loop.stop,))
        self._is_ending = True
        # A thread cannot wait for its own end.
        if not self.is_current():
            self._thread.join(timeout)
            if self._thread.is_alive():
                log.warning("the driver's event loop did not stop within %s seconds", timeout)
                # The loop is blocked. Let queued work fail now, because callers wait for it.
                self.inbox.close()

    def close_unused(self) -> bool:
        """Close the loop unless the thread runs it, or has run it; return True if it was unused."""
        if not self._claim():
            return False
        self._stopped = True
        self.loop.close()
        self.inbox.close()
        self._is_ending = True
        return True

    def stop_after(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run `coroutine` and then stop the loop, but return at once.

        Finalizers call this, which may run in any thread and must not block.
        """

        async def run_and_stop() -> None:
            try:
                await coroutine
            finally:
                # Stop even if the coroutine fails: nothing else would stop the thread.
                self.loop.stop()

        if self._is_ending:
            # Nothing will run the coroutine. Close it; otherwise Python would warn that it was
            # never awaited.
            coroutine.close()
            return
        self._stopped = True
        if self.close_unused():
            coroutine.close()
            return
        try:
            self.loop.call_soon_threadsafe(lambda: new_task(run_and_stop()))
        except RuntimeError:  # the loop is closed already
            coroutine.close()
        self._is_ending = True

    def _run(self) -> None:
        if not self._claim():  # `stop` was called first, and has closed the loop
            return
        self._running_ident = get_ident()
        asyncio.set_event_loop(self.loop)
        try:
            while not self._run_until_stopped():
                pass
        finally:
            try:
                self._finish()
            finally:
                self._running_ident = None

    def _run_until_stopped(self) -> bool:
        """Run the loop until `stop` is called.

        :returns: False if an exception of user code has ended the loop, so that it must be run
            again.
        """
        try:
            self.loop.run_forever()
        except BaseException:
            # For example, user code has called sys.exit(), which ends `run_forever`. Run the loop
            # again; otherwise callers would wait for ever.
            log.exception("the driver's event loop was to be ended by an exception: it goes on")
            # If `stop` was called in the same loop iteration, the exception has discarded that
            # request to stop: do not run the loop again.
            return self._stopped
        return True

    def _run_to_end(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run `coroutine` to its end, even if user code raises exceptions that stop the loop."""
        task = self.loop.create_task(coroutine)
        while not task.done():
            try:
                self.loop.run_until_complete(task)
            except BaseException:
                log.exception("an exception left the driver's event loop while it was closed")

    def _finish(self) -> None:
        """Cancel the remaining tasks, and close the loop.

        Without the cancellation, asyncio would warn about pending tasks.
        """
        loop = self.loop
        try:
            # Several rounds are needed, because work that is still in the inbox may start new
            # tasks. The number of rounds is limited, because tasks may ignore their cancellation.
            for _ in range(LAST_ROUNDS):
                tasks = asyncio.all_tasks(loop)
                if not tasks:
                    break
                for task in tasks:
                    task.cancel()
                self._run_to_end(asyncio.wait(tasks, timeout=LAST_ROUND))
            self._run_to_end(loop.shutdown_asyncgens())
            self._run_to_end(loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            loop.close()
            # Close the inbox last. The loop is closed now, so no thread can schedule a drain, and
            # all work that is left or comes later fails.
            self.inbox.close()
            # The tasks of the remaining calls have ignored their cancellation: end the wait of
            # their callers.
            for call in list(self._calls):
                call.leave()
