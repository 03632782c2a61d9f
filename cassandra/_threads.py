"""Real threads, and ways to wait for them, even if gevent or eventlet has patched `threading`.

After monkey patching, `threading` starts greenlets and creates locks for greenlets. The engine's
event loop waits in the kernel, so it needs a real thread. This module therefore provides

- `Lock` and `RLock`: real locks, for data that real threads and greenlets share. Hold them only
  briefly. If a greenlet holds such a lock while another greenlet of the same thread runs and waits
  for the lock, the thread waits for itself;
- `new_waiter`: a lock that a greenlet or thread waits for, and that any thread or greenlet
  releases. If a greenlet waits, only this greenlet is suspended, and its thread continues;
- `new_thread`, `get_ident`: real threads and their identities;
- `new_lock`, `new_user_thread`, `sleep`: the functions for the application's own threads or
  greenlets.

We cannot use the locks of gevent and eventlet. If only another thread can end a wait, gevent raises
an error about a deadlock, and eventlet's locks only work within one thread. So greenlets of gevent
are woken by a callback of their hub (gevent's event loop), those of eventlet through a pipe.

A simulation (see the testing package) runs threads one at a time, in virtual time. Inside its
threads, the functions of this module return the simulation's objects: see `Simulation`.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from cassandra._forks import renew_in_child

if TYPE_CHECKING:
    import asyncio
    import uuid


def green_library() -> str | None:
    """Return "gevent" or "eventlet" if it has patched this process's threads, otherwise None."""
    # Look into sys.modules and do not import the libraries: a library that is not imported cannot
    # have patched anything.
    monkey: Any = sys.modules.get("gevent.monkey")
    if monkey is not None and any(
        monkey.is_module_patched(name) for name in ("thread", "_thread", "threading")
    ):
        return "gevent"
    patcher: Any = sys.modules.get("eventlet.patcher")
    if patcher is not None and patcher.is_monkey_patched("thread"):
        return "eventlet"
    return None


def _unpatched(name: str) -> Any:
    """Return the object `name` of the module `_thread`, as it was before any patching."""
    library = green_library()
    if library == "gevent":
        return sys.modules["gevent.monkey"].get_original("_thread", name)
    if library == "eventlet":
        return getattr(sys.modules["eventlet.patcher"].original("_thread"), name)
    return getattr(sys.modules["_thread"], name)


# Look up these functions now, so that a later monkey patching does not affect them.
Lock: Callable[[], threading.Lock] = _unpatched("allocate_lock")
RLock: Callable[[], threading.RLock] = _unpatched("RLock")
get_ident: Callable[[], int] = _unpatched("get_ident")
_start: Callable[[Callable[[], None], tuple[()]], int] = _unpatched("start_new_thread")
_RealLock: type = type(Lock())

# The module "posix" or "nt", from which `os` takes its functions. eventlet patches only `os`. Its
# `os.read` and `os.write` run other greenlets first, and the calling greenlet can be killed there.
_system: Any = sys.modules[os.name]


class Waiter(Protocol):
    """A lock that is acquired to wait for an event, and released when the event happens."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Wait for `release`, at most `timeout` seconds; return False if `release` was not called.

        Each `release` wakes one waiting caller.
        """

    def release(self) -> None:
        """Wake one caller of `acquire`. If none waits, the next call of `acquire` returns at once.

        Any thread may call this method, which does not block.
        """


class Simulation(Protocol):
    """Runs threads one at a time in virtual time, and creates the locks that these wait for."""

    def is_current(self) -> bool:
        """Return True if the calling thread belongs to the simulation."""

    def new_waiter(self) -> Waiter:
        """Return the simulation's object for the function `new_waiter` of this module."""

    def new_lock(self) -> Any:
        """Return the simulation's object for the function `new_lock` of this module."""

    def new_thread(self, target: Callable[[], None], name: str) -> Any:
        """Return the simulation's object for the function `new_thread` of this module."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """Return a new event loop in the same virtual time."""

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass."""

    def time(self) -> float:
        """Return the virtual time, in seconds."""

    def wall_time_ns(self) -> int:
        """Return the wall clock: nanoseconds since the Unix epoch."""

    def new_id(self) -> uuid.UUID:
        """Return a random id."""


_simulation: Simulation | None = None  # the simulation that `run_simulation` has set


def simulation() -> Simulation | None:
    """Return the simulation that runs the calling thread, or None."""
    running = _simulation
    return running if running is not None and running.is_current() else None


def run_simulation(running: Simulation | None) -> None:
    """Make `running` the simulation of this process, until the function is called with None.

    :param running: the simulation; None to end it.
    :raises RuntimeError: if another simulation is running.
    """
    global _simulation
    if running is not None and _simulation is not None:
        raise RuntimeError("another simulation with threads is running in this process")
    _simulation = running


def waits_by_waiters() -> bool:
    """Return True if the calling thread must use `new_waiter` to wait.

    Greenlets or a simulation may run in the thread, and a wait in the kernel would block them.
    """
    return green_library() is not None or simulation() is not None


def new_lock() -> threading.Lock:
    """Return a lock for the application's threads or greenlets.

    Unlike a `Lock`, it may be held while a thread or greenlet waits for something else.
    """
    simulated = simulation()
    lock: threading.Lock = threading.Lock() if simulated is None else simulated.new_lock()
    # Look at the type first, which is faster than `green_library`.
    if simulated is not None or type(lock) is _RealLock or green_library() is None:
        return lock
    # The lock of gevent or eventlet does not always wake a greenlet of another thread.
    green_lock: Any = _GreenLock(_wait_point_class())
    return green_lock  # type: ignore[no-any-return]  # it has the methods that callers use


def new_reentrant_lock() -> threading.RLock:
    """Return a lock like that of `new_lock`, which its owner may acquire again.

    If a thread or greenlet that does not own the lock calls `release`, this raises RuntimeError. So
    the lock itself decides who owns it. A local variable cannot: the exception of a signal handler
    may be raised after `acquire` has returned and before the variable is set, and then nobody would
    release the lock. Where ``with lock`` is not enough, use the lock as follows, without any other
    call between `try` and `acquire`, or between `finally` and `release`::

        try:
            if lock.acquire(timeout=1):
                ...
        finally:
            try:
                lock.release()
            except RuntimeError:  # not acquired
                pass
    """
    simulated = simulation()
    lock: Any  # all three have the methods that callers use
    if simulated is not None:
        # A simulation interrupts no thread, so nothing acquires this lock a second time.
        lock = simulated.new_lock()
    else:
        lock = RLock() if green_library() is None else _GreenRLock(_wait_point_class())
    return lock  # type: ignore[no-any-return]


def sleep(seconds: float) -> None:
    """Let the calling thread or greenlet sleep.

    :param seconds: the time to sleep; virtual time in a simulation.
    """
    simulated = simulation()
    if simulated is None:
        time.sleep(seconds)
    else:
        simulated.sleep(seconds)


def new_waiter() -> Waiter:
    """Return a lock that the caller, a thread or a greenlet, can wait for."""
    simulated = simulation()
    if simulated is not None:
        return simulated.new_waiter()
    if green_library() is not None:
        _note_main_thread()
        return _GreenWaiter(_wait_point_class())
    waiter = Lock()
    # Acquire the lock now, so that the caller's `acquire` waits until another thread releases it.
    waiter.acquire()
    return waiter


class GreenEvent:
    """An event that is set once, for all greenlets that wait for it."""

    __slots__ = ("_is_set", "_waiter")

    def __init__(self) -> None:
        self._is_set = False
        self._waiter = new_waiter()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the event is set, at most `seconds`. Return False if it is not set in time."""
        try:
            return self._waiter.acquire(timeout=-1 if seconds is None else seconds)
        finally:
            # Let the next waiting greenlet acquire it, too. Do that also after an exception: this
            # greenlet may have acquired the waiter before a signal handler raised the exception.
            if self._is_set:
                self._waiter.release()

    def set(self) -> None:
        """Wake all greenlets. A second call does nothing."""
        if not self._is_set:
            self._is_set = True
            self._waiter.release()

    # `set` itself does not run other greenlets: they run when their hub switches to them.
    set_soon = set


class _WaitPoint(Protocol):
    """Suspends one greenlet until a thread wakes it."""

    def wait(self, seconds: float | None) -> bool:
        """Suspend the greenlet until `wake` is called; return False after `seconds`."""

    def wake(self) -> None:
        """Wake the greenlet. Any thread may call this, even before the greenlet calls `wait`."""

    def close(self) -> None:
        """Release the resources after the wait. A call of `wake` may still follow."""


class _GreenWaiter:
    """A `Waiter` for greenlets, which may run in several threads."""

    __slots__ = ("_guard", "_is_free", "_new_wait_point", "_parked")

    def __init__(self, new_wait_point: Callable[[], _WaitPoint]) -> None:
        self._new_wait_point = new_wait_point
        self._guard = Lock()  # protects the two attributes below
        # True if `release` was called while nobody waited: the next `acquire` returns at once.
        self._is_free = False
        self._parked: deque[_WaitPoint] = deque()  # the wait points of waiting callers, in order

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._take():
            return True
        if not blocking or timeout == 0:
            return False
        # Create the wait point before taking the guard: creating it may switch to another greenlet,
        # which must not happen while the guard is held.
        wait_point = self._new_wait_point()
        try:
            with self._guard:
                # Check again while we hold the guard: `release` may have been called since `_take`.
                # If the waiter is free, take it, and do not wait.
                is_free, self._is_free = self._is_free, False
                if not is_free:
                    self._parked.append(wait_point)
            return is_free or self._wait(wait_point, timeout if timeout > 0 else None)
        finally:
            wait_point.close()

    def _take(self) -> bool:
        with self._guard:
            is_free, self._is_free = self._is_free, False
        return is_free

    def _wait(self, wait_point: _WaitPoint, seconds: float | None) -> bool:
        """Wait until `release` chooses this wait point; return False if the time is over before."""
        try:
            has_come = wait_point.wait(seconds)
        except BaseException:
            # For example, the greenlet was killed. If `release` has already chosen this greenlet,
            # its wake-up would be lost, so pass the wake-up to the next waiting greenlet. Do not
            # wait here for the wake-up that comes, because the greenlet may be killed again.
            if not self._leave(wait_point):
                self.release()
            raise
        # If the time is over, `release` may have chosen this wait point just now.
        return has_come or not self._leave(wait_point)

    def _leave(self, wait_point: _WaitPoint) -> bool:
        """Stop waiting. Return False if `release` has already chosen this wait point to wake it."""
        with self._guard:
            if wait_point in self._parked:
                self._parked.remove(wait_point)
                return True
        return False

    def release(self) -> None:
        with self._guard:
            if not self._parked:
                self._is_free = True
                return
            wait_point = self._parked.popleft()
        # Wake the greenlet after releasing the guard: waking may write to a pipe, and the guard
        # must be held only briefly.
        wait_point.wake()


class _GreenLock(_GreenWaiter):
    """A lock for greenlets, which may run in several threads."""

    __slots__ = ()

    def __init__(self, new_wait_point: Callable[[], _WaitPoint]) -> None:
        super().__init__(new_wait_point)
        self._is_free = True

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


class _GreenRLock(_GreenLock):
    """A `_GreenLock` that its owner, a greenlet, may acquire again."""

    __slots__ = ("_depth", "_owner")

    def __init__(self, new_wait_point: Callable[[], _WaitPoint]) -> None:
        super().__init__(new_wait_point)
        self._owner: Any = None  # the greenlet that owns the lock
        self._depth = 0  # how many times the owner has acquired the lock

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        current = sys.modules["greenlet"].getcurrent()
        if self._owner is not current:
            if not super().acquire(blocking, timeout):
                return False
            self._owner = current
        self._depth += 1
        return True

    def release(self) -> None:
        if self._owner is not sys.modules["greenlet"].getcurrent():
            raise RuntimeError("release of a lock that the current greenlet does not own")
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
            super().release()


class _GeventWaitPoint:
    """Suspends a greenlet of gevent until a thread wakes it."""

    __slots__ = ("_call_soon", "_turn", "_watcher")

    def __init__(self) -> None:
        hub = sys.modules["gevent.hub"]
        self._turn = hub.Waiter()  # gevent's object that suspends the greenlet
        loop = hub.get_hub().loop
        # Unlike the watcher, the loop may be used after `close`.
        self._call_soon = loop.run_callback_threadsafe
        # Start a watcher before the wait: if the hub has no active watcher, gevent takes the wait
        # for a deadlock. No other thread uses the watcher.
        self._watcher = loop.async_()
        self._watcher.start(self._turn.switch, True)

    def wait(self, seconds: float | None) -> bool:
        # with_timeout returns None if the time has passed.
        return bool(sys.modules["gevent"].with_timeout(seconds, self._turn.get, timeout_value=None))

    def close(self) -> None:
        self._watcher.stop()
        self._watcher.close()

    def wake(self) -> None:
        self._call_soon(self._turn.switch, True)


class _EventletWaitPoint:
    """Suspends a greenlet of eventlet until a thread wakes it."""

    __slots__ = ("_event", "_mailbox")

    def __init__(self) -> None:
        self._event = sys.modules["eventlet"].Event()
        self._mailbox = _mailbox()

    def wait(self, seconds: float | None) -> bool:
        return bool(self._event.wait(seconds))  # None if the time has passed

    def close(self) -> None:
        pass

    def wake(self) -> None:
        self._mailbox.put(self._event)


def _wait_point_class() -> Callable[[], _WaitPoint]:
    """Return the class of wait points for the library that has patched threads."""
    return _GeventWaitPoint if green_library() == "gevent" else _EventletWaitPoint


class _Mailbox:
    """Delivers events that other threads send to the eventlet greenlets of one thread.

    A greenlet of that thread reads a pipe, and then sends the events.
    """

    def __init__(self) -> None:
        self.hub = sys.modules["eventlet.hubs"].get_hub()
        self._events: deque[Any] = deque()  # the events that were not delivered yet
        self._is_signalled = False  # True if there is a byte in the pipe
        self._guard = Lock()  # protects the pipe from being closed during a write
        self._out, self._in = os.pipe()
        # A read must not block the thread, even if the hub reports a byte that is not there.
        os.set_blocking(self._out, False)
        self._identity = self._identity_now()
        self._reader = sys.modules["eventlet"].spawn(self._deliver)

    def put(self, event: Any) -> None:
        """Deliver `event`. Any thread may call this."""
        # Add the event before reading the flag. `_deliver` clears the flag before it reads events,
        # so either it finds this event, or we see the flag unset and write a byte.
        self._events.append(event)
        # One byte wakes the reader, however many events there are. Usually the reader is signalled
        # already, and no lock is needed.
        if not self._is_signalled:
            # Check again with the lock: two threads may have seen the flag unset.
            with self._guard:
                if not self._is_signalled:
                    self._is_signalled = True
                    _system.write(self._in, b"\0")

    def close(self) -> None:
        """Close the pipe, because the thread has ended and nobody reads the pipe any more.

        Calls that the thread has not made yet are made in a greenlet of another thread (see
        `_spawn_at_home`).
        """
        with self._guard:
            # Set the flag, so that `put` does not write any more: another file may get the
            # descriptor.
            self._is_signalled = True
            if self._identity_now() == self._identity:
                os.close(self._out)
                os.close(self._in)
        while self._events:
            event = self._events.popleft()
            if isinstance(event, _MailedCall):
                _spawn_at_home(event.call)

    def _identity_now(self) -> list[tuple[int, int]]:
        """Return the identities of the files at the two descriptors; fewer if one is closed.

        A program that becomes a daemon closes all descriptors, and opens files that get them.
        """
        identity = []
        for descriptor in (self._out, self._in):
            with suppress(OSError):
                status = os.fstat(descriptor)
                identity.append((status.st_dev, status.st_ino))
        return identity

    def renew_pipe(self) -> bool:
        """Replace the pipe, which belongs to the parent. Called in a forked child.

        :returns: False if the pipe was closed, so that the mailbox cannot be used any more.
        :raises OSError: if there are no free descriptors.
        """
        if self._identity_now() != self._identity:
            return False
        self._guard = Lock()
        # The parent makes the calls. But a waiter may have been chosen to get a lock just now.
        self._events = deque(event for event in self._events if not isinstance(event, _MailedCall))
        pipe = os.pipe()
        os.set_blocking(pipe[0], False)
        # Keep the numbers of the descriptors. The epoll object of the hub is still shared with the
        # parent: if the reader unregistered a pipe with other numbers there, it would unregister
        # that of the parent.
        for new, old in zip(pipe, (self._out, self._in), strict=True):
            os.dup2(new, old, inheritable=False)
            os.close(new)
        self._identity = self._identity_now()
        # The parent's byte is not in the new pipe, and the hub does not wait for the new pipe yet.
        # So let the reader run once.
        self._is_signalled = False
        self.hub.schedule_call_global(0, self._reader.switch)
        return True

    def _deliver(self) -> None:
        """Send the events to their greenlets, forever.

        This runs in a greenlet of the receiving thread.
        """
        hubs = sys.modules["eventlet.hubs"]
        while True:
            # Other greenlets run until the pipe has a byte.
            hubs.trampoline(self._out, read=True)
            with suppress(BlockingIOError):
                _system.read(self._out, 65536)
            # Clear the flag before reading events: for an event that comes later, `put` then writes
            # a byte again.
            self._is_signalled = False
            while self._events:
                self._events.popleft().send(True)


# The mailbox of each thread, by its identity. When a thread has ended, Python may give its identity
# to another thread.
_mailboxes: dict[int, _Mailbox] = {}


def _mailbox() -> _Mailbox:
    """Return the mailbox of the current thread; create it if necessary."""
    ident = get_ident()
    mailbox = _mailboxes.get(ident)
    # Each thread has its own hub. If the mailbox has another hub, it belongs to a thread that has
    # ended, and whose identity this thread has got.
    if mailbox is None or mailbox.hub is not sys.modules["eventlet.hubs"].get_hub():
        if mailbox is not None:
            mailbox.close()
        mailbox = _mailboxes[ident] = _Mailbox()
    return mailbox


@renew_in_child
def _renew_mailboxes() -> None:
    """Separate the mailboxes of a forked child from those of its parent.

    The greenlets of the parent, which read the pipes, go on in the child. If they read a byte of
    the parent, the parent would not wake up.
    """
    for ident, mailbox in list(_mailboxes.items()):
        is_usable = False
        with suppress(OSError):
            is_usable = mailbox.renew_pipe()
        if not is_usable:
            del _mailboxes[ident]


def in_own_greenlet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that schedules `function` in a new greenlet of the current thread.

    Any thread may call the returned function, which does not wait. If threads are not patched, this
    returns `function` itself. Use this for callbacks of an application with greenlets, which
    expects its callbacks to run in greenlets, too.

    The current thread may be a native thread of the application that is not running in a greenlet,
    such as a worker of gevent's threadpool or eventlet's tpool. Such a thread runs greenlets only
    while it waits, so perhaps never again. In that case, `function` runs in a greenlet of another
    thread: see `_spawn_at_home`.

    :param function: called with the arguments of the returned function.
    """
    global _spawn_in_main
    # The driver's own real threads have no greenlets, so call the function directly.
    if green_library() is None or get_ident() in _real_threads:
        return function
    spawn: Callable[[Callable[[], Any]], None]
    if get_ident() == _main_ident:
        # Create the function again, because the application may have destroyed the hub that the
        # previous function uses.
        spawn = _spawn_in_main = _new_spawn()
    else:
        spawn = _SpawnInThread() if _is_in_greenlet() else _spawn_at_home
    return lambda *args, **kwargs: spawn(partial(function, *args, **kwargs))


def _is_in_greenlet() -> bool:
    """Return True if the caller is a greenlet that the current thread's hub has started.

    The hub then runs at least until that greenlet ends.
    """
    current = sys.modules["greenlet"].getcurrent()
    if green_library() == "eventlet":
        return current.parent is not None
    # A worker of gevent's threadpool is also a greenlet, but no hub is among its parents.
    while current is not None and not isinstance(current, sys.modules["gevent.hub"].Hub):
        current = current.parent
    return current is not None


def _new_spawn() -> Callable[[Callable[[], Any]], None]:
    """Return a function that starts a call in a new greenlet of the current thread.

    Any thread may call the returned function.
    """
    if green_library() == "eventlet":
        mailbox = _mailbox()
        return lambda call: mailbox.put(_MailedCall(call))
    return _gevent_spawn(sys.modules["gevent"].get_hub())


def _gevent_spawn(hub: Any) -> Callable[[Callable[[], Any]], None]:
    call_soon = hub.loop.run_callback_threadsafe
    spawn = sys.modules["gevent"].spawn
    return lambda call: call_soon(spawn, call)


class _MailedCall:
    """A call that can be put into a `_Mailbox` like an event, because it has the method `send`."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call

    def send(self, value: object) -> None:
        sys.modules["eventlet"].spawn(self.call)


class _SpawnInThread:
    """Starts calls in greenlets of the thread that creates this object.

    When that thread has ended, the calls are started by `_spawn_at_home`.
    """

    def __init__(self) -> None:
        self._ident = get_ident()
        self._spawn = _new_spawn()

    def __call__(self, call: Callable[[], Any]) -> None:
        if self._ident in sys._current_frames():
            try:
                self._spawn(call)
                return
            except Exception:  # the thread has ended, and another one has got its identity
                pass
        _spawn_at_home(call)


# Some calls do not belong to a thread that runs greenlets. They run in greenlets of the main
# thread, or else of a helper thread that the driver starts for them. For these two threads,
# `_spawn_in_main` and `_spawn_in_helper` are the functions that `_new_spawn` returned there; None
# before that.
_spawn_in_main: Callable[[Callable[[], Any]], None] | None = None
_spawn_in_helper: Callable[[Callable[[], Any]], None] | None = None
_starting_helper = Lock()  # held while the driver's thread is started

# The helper thread only runs greenlets, so its own loop sleeps for this many seconds at a time.
_HELPER_SLEEP = 3600


def _find_main_ident() -> int | None:
    """Return the identity of the main thread, in the form that `get_ident` uses."""
    # If threads are patched, the identities in `threading` are those of greenlets, and differ from
    # the identities that `get_ident` returns. If the current greenlet is the main one, `get_ident`
    # returns the identity of the main thread.
    if threading.get_ident() == threading.main_thread().ident:
        return get_ident()
    if green_library() == "gevent":
        ident: int = sys.modules["gevent.hub"].MAIN_THREAD_IDENT
        return ident
    return threading.main_thread().ident


_main_ident = _find_main_ident()


@renew_in_child
def _forget_threads() -> None:
    """Forget the parent's threads: the thread that has forked is the main thread of the child."""
    global _spawn_in_main, _spawn_in_helper, _starting_helper, _main_ident
    _spawn_in_main = _spawn_in_helper = None
    _starting_helper = Lock()
    _main_ident = get_ident()
    # The child's new threads may get the identities of the parent's threads.
    for ident in list(_real_threads):
        if ident != _main_ident:
            del _real_threads[ident]


def _note_main_thread() -> None:
    """If the current thread is the main thread, remember how to start greenlets in it."""
    global _spawn_in_main
    if _spawn_in_main is None and get_ident() == _main_ident:
        _spawn_in_main = _new_spawn()


def _spawn_at_home(call: Callable[[], Any]) -> None:
    """Start a call in a greenlet of the main thread.

    If we do not know how to start greenlets in the main thread, because it has not used the driver,
    start the greenlet in the helper thread. If no greenlet can be started, make the call here, so
    that no call is lost.
    """
    for find in (_main_spawn, _helper_spawn):
        # Ignore errors here: for example, the application has destroyed the hub, or no thread can
        # be started. We cannot log them, because log records are written in greenlets that this
        # function starts, so the record would come back to this function.
        with suppress(Exception):
            spawn = find()
            if spawn is not None:
                spawn(call)
                return
    call()


def _main_spawn() -> Callable[[Callable[[], Any]], None] | None:
    """Return a function that starts a call in a greenlet of the main thread, or None."""
    global _spawn_in_main
    # If the main thread has not used the driver yet, look for its gevent hub. gevent has no list of
    # its hubs, so search all objects. Do that only until the helper thread has been started.
    if _spawn_in_main is None and _spawn_in_helper is None and green_library() == "gevent":
        hub_class = sys.modules["gevent.hub"].Hub
        for found in gc.get_objects():
            # Do not call `isinstance`: it evaluates the lazy objects of web frameworks.
            is_hub = issubclass(type(found), hub_class)
            if is_hub and found.loop and found.thread_ident == _main_ident:
                _spawn_in_main = _gevent_spawn(found)
                break
    return _spawn_in_main


def _helper_spawn() -> Callable[[Callable[[], Any]], None] | None:
    """Return a function that starts a call in a greenlet of the helper thread.

    Start the thread if it is not running. None if its greenlets cannot be started.
    """
    global _spawn_in_helper
    with _starting_helper:
        if _spawn_in_helper is None:
            is_ready = Lock()
            is_ready.acquire()
            _start(partial(_run_helper, is_ready), ())
            is_ready.acquire()
    return _spawn_in_helper


def _run_helper(is_ready: threading.Lock) -> None:
    """Run greenlets in the helper thread, for ever.

    Python does not wait for this thread when it exits.
    """
    global _spawn_in_helper
    try:
        _spawn_in_helper = _new_spawn()
    finally:
        is_ready.release()
    while True:
        sys.modules[green_library() or ""].sleep(_HELPER_SLEEP)


# For each real thread of the driver, by its identity: a function that runs a call in a greenlet of
# the thread that created the real thread.
_real_threads: dict[int | None, Callable[..., Any]] = {}


class _LogInGreenlet(logging.Filter):
    """Passes log records of real threads to a greenlet, which writes them.

    The locks of log handlers are patched for greenlets. If two real threads waited for such a lock,
    they would wait forever.
    """

    def __init__(self, write: Callable[[logging.LogRecord], None]) -> None:
        super().__init__()
        self._write = write

    def filter(self, record: logging.LogRecord) -> bool:
        call_in_greenlet = _real_threads.get(get_ident())
        if call_in_greenlet is None:
            return True
        call_in_greenlet(self._write, record)
        return False


def _log_in_greenlets() -> None:
    """Add a `_LogInGreenlet` to each logger of this package and of asyncio, unless it has one."""
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if (
            isinstance(logger, logging.Logger)
            and name.partition(".")[0] in ("cassandra", "asyncio")
            and not any(isinstance(log_filter, _LogInGreenlet) for log_filter in logger.filters)
        ):
            logger.addFilter(_LogInGreenlet(logger.callHandlers))


def _call(function: Callable[..., Any], *args: Any) -> None:
    function(*args)


class RealThread:
    """A real thread, with the methods of `threading.Thread` that this package uses."""

    def __init__(self, target: Callable[[], None]) -> None:
        self._target = target
        self._is_alive = False
        self._started, self._over = new_waiter(), new_waiter()
        # A function that runs a call in a greenlet of the current thread. If the current thread is
        # a real thread of the driver, which has no greenlets, the call runs in a greenlet of the
        # thread that has created the real thread.
        self._call_in_greenlet = _real_threads.get(get_ident()) or in_own_greenlet(_call)
        self.ident: int | None = None
        _log_in_greenlets()

    def start(self) -> None:
        """Start the thread."""
        self._is_alive = True
        _start(self._run, ())
        # Wait until the new thread has set `ident`, as `threading.Thread.start` does.
        self._started.acquire()

    def _run(self) -> None:
        """Run the target in the new thread."""
        self.ident = get_ident()
        # Register the thread before it logs anything, because `_LogInGreenlet` looks here.
        _real_threads[self.ident] = self._call_in_greenlet
        self._started.release()
        try:
            self._target()
        finally:
            self._is_alive = False
            # Remove the thread, because another thread, which may have greenlets, may get the same
            # identity.
            _real_threads.pop(self.ident, None)
            self._over.release()

    def is_alive(self) -> bool:
        """Return True from `start` until the target has returned."""
        return self._is_alive

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end of the thread, at most `timeout` seconds."""
        try:
            self._over.acquire(timeout=-1 if timeout is None else timeout)
        finally:
            if not self._is_alive:
                self._over.release()  # let the next caller pass, too; see `GreenEvent.wait`


# Threads take the argument `context` from Python 3.14 on.
_THREADS_TAKE_CONTEXTS = sys.version_info >= (3, 14)


def daemon_thread(target: Callable[..., object], name: str, *args: object) -> threading.Thread:
    """Return a daemon thread that is not started yet, and that begins in an empty context.

    The option ``thread_inherit_context`` of Python, which free-threaded builds switch on, starts a
    thread in a copy of its starter's context. A thread of the driver lives much longer than, for
    example, the web request that has started it, and would keep the values of that request.

    :param target: the function that the thread calls.
    :param name: the name of the thread.
    :param args: the arguments of `target`.
    :raises RuntimeError: if the interpreter allows no daemon threads.
    """
    return _in_empty_context(target=target, args=args, name=name, daemon=True)


def _in_empty_context(**arguments: Any) -> threading.Thread:
    """Return a thread with these arguments, which begins in an empty context."""
    if _THREADS_TAKE_CONTEXTS:
        arguments["context"] = Context()
    return threading.Thread(**arguments)


def _brief_thread(
    make_thread: Callable[..., threading.Thread], target: Callable[[], None], name: str
) -> threading.Thread:
    """Return a daemon thread; a thread that is no daemon if there are no daemon threads.

    Isolated sub-interpreters (of `concurrent.interpreters`) have none. They wait for the thread at
    their end, so it must end by itself.

    :param make_thread: has the arguments of `threading.Thread`.
    """
    try:
        return make_thread(target=target, name=name, daemon=True)
    except RuntimeError:
        return make_thread(target=target, name=name, daemon=False)


def new_thread(
    target: Callable[[], None], name: str, is_brief: bool = False
) -> threading.Thread | RealThread:
    """Return a real daemon thread that is not started yet. It begins in an empty context.

    :param target: the function that the thread calls.
    :param name: the name of the thread.
    :param is_brief: True if the thread ends by itself; see `_brief_thread`.
    :raises RuntimeError: if the interpreter allows no daemon threads, and `is_brief` is False.
    """
    simulated = simulation()
    if simulated is not None:
        thread: threading.Thread = simulated.new_thread(target, name)
        return thread
    if green_library() is None:
        if is_brief:
            return _brief_thread(_in_empty_context, target, name)
        return daemon_thread(target, name)
    # This thread is like a daemon: at exit, Python does not wait for threads that were started
    # through `_thread`.
    return RealThread(target)


def new_user_thread(target: Callable[[], None], name: str) -> threading.Thread:
    """Return a daemon thread that is not started yet.

    The thread is a greenlet if gevent or eventlet has patched threads, and a simulated thread in a
    simulation. It ends with the work for which it was started. So it may inherit the context of its
    starter: see `daemon_thread`.
    """
    simulated = simulation()
    if simulated is not None:
        thread: threading.Thread = simulated.new_thread(target, name)
        return thread
    return _brief_thread(threading.Thread, target, name)


def start_user_thread(target: Callable[[], None], name: str) -> None:
    """Call a function of the application in a new daemon thread.

    If gevent or eventlet has patched threads, this is a new greenlet. Unlike `new_user_thread`, the
    driver's own real threads may call this function: the greenlet then belongs to the thread that
    has created the real thread.

    :param target: the function.
    :param name: the name of the thread.
    """
    call_in_greenlet = _real_threads.get(get_ident())
    if call_in_greenlet is None:
        new_user_thread(target, name).start()
    else:
        call_in_greenlet(target)
