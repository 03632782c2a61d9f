"""Real threads, and waiting for them, also if gevent or eventlet has replaced Python's threads.

Under full monkey patching, `threading` starts greenlets and makes locks for them. The engine's loop
waits in the kernel, and needs a real thread. So this module gives

- `Lock` and `RLock`: real locks. They are for data that threads of both kinds touch, and are held
  for an instant: no greenlet may be switched with one held, or its thread would wait for itself;
- `new_waiter`: a lock that one greenlet or thread waits for and a thread of any kind ends. It parks
  the greenlet, and its thread goes on;
- `new_thread`, `get_ident`: real threads and their identities;
- `new_lock`, `new_user_thread`, `sleep`: what the application's own threads or greenlets have.

The locks of these libraries are not for this: gevent takes a wait that only another thread can end
for a deadlock, and eventlet's work within one thread. So greenlets of gevent are woken by a watcher
of their hub, and those of eventlet through a pipe.

A simulation, which the testing package has, replaces all of them for the threads that it runs, one
at a time and in virtual time: see `Simulation`.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from cassandra._forks import renew_in_child

if TYPE_CHECKING:
    import uuid

__all__ = [
    "GreenEvent",
    "Lock",
    "RLock",
    "Simulation",
    "Waiter",
    "at_home",
    "get_ident",
    "green_library",
    "monotonic",
    "new_lock",
    "new_thread",
    "new_user_thread",
    "new_waiter",
    "run_simulation",
    "simulation",
    "sleep",
    "waits_by_waiters",
]


def green_library() -> str | None:
    """Return "gevent" or "eventlet" if it has replaced this process's threads, else None."""
    # Looked up, not imported: what the process has not imported cannot have patched it.
    monkey: Any = sys.modules.get("gevent.monkey")
    if monkey is not None and any(
        monkey.is_module_patched(name) for name in ("thread", "_thread", "threading")
    ):
        return "gevent"
    patcher: Any = sys.modules.get("eventlet.patcher")
    if patcher is not None and patcher.is_monkey_patched("thread"):
        return "eventlet"
    return None


def _real(name: str) -> Any:
    """Return the object that `_thread` had under this name before it was patched."""
    library = green_library()
    if library == "gevent":
        return sys.modules["gevent.monkey"].get_original("_thread", name)
    if library == "eventlet":
        return getattr(sys.modules["eventlet.patcher"].original("_thread"), name)
    return getattr(sys.modules["_thread"], name)


# Taken now: a patch that comes later leaves these alone.
Lock: Callable[[], threading.Lock] = _real("allocate_lock")
RLock: Callable[[], threading.RLock] = _real("RLock")
get_ident: Callable[[], int] = _real("get_ident")
_start: Callable[[Callable[[], None], tuple[()]], int] = _real("start_new_thread")


class Waiter(Protocol):
    """Waiting for one event: a lock that is held until then."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Wait for `release`, at most `timeout` seconds; return False if it is late.

        One waiting caller goes on for each `release`.
        """

    def release(self) -> None:
        """Let one caller of `acquire` go on, or the next one; any thread, does not wait."""


class Simulation(Protocol):
    """Threads that take turns in virtual time, with all at which they wait."""

    def is_current(self) -> bool:
        """Return True if the calling thread is one of the simulation's."""

    def new_waiter(self) -> Waiter:
        """Do as the function of this name."""

    def new_lock(self) -> Any:
        """Do as the function of this name."""

    def new_thread(self, target: Callable[[], None], name: str) -> Any:
        """Do as the function of this name."""

    def new_event_loop(self) -> Any:
        """Return a new loop in the same virtual time."""

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass."""

    def time(self) -> float:
        """Return the virtual time, in seconds."""

    def new_id(self) -> uuid.UUID:
        """Return a random id."""


_simulation: Simulation | None = None


def simulation() -> Simulation | None:
    """Return the simulation that runs the calling thread; None if no simulation does."""
    running = _simulation
    return running if running is not None and running.is_current() else None


def run_simulation(running: Simulation | None) -> None:
    """Have a simulation run its threads from now on.

    :param running: None ends it.
    :raises RuntimeError: if another one is running.
    """
    global _simulation
    if running is not None and _simulation is not None:
        raise RuntimeError("another simulation with threads is running in this process")
    _simulation = running


def waits_by_waiters() -> bool:
    """Return True if the calling thread must wait by `new_waiter`, not in the kernel."""
    return green_library() is not None or simulation() is not None


def new_lock() -> threading.Lock:
    """Return a lock that the application's threads or greenlets may hold while they wait."""
    simulated = simulation()
    return threading.Lock() if simulated is None else simulated.new_lock()


def sleep(seconds: float) -> None:
    """Let the calling thread or greenlet sleep.

    :param seconds: of virtual time in a simulation.
    """
    simulated = simulation()
    if simulated is None:
        time.sleep(seconds)
    else:
        simulated.sleep(seconds)


def monotonic() -> float:
    """Return seconds by a clock that never goes back, virtual ones in a simulation."""
    simulated = simulation()
    return time.monotonic() if simulated is None else simulated.time()


def new_waiter() -> Waiter:
    """Return a lock that the caller, a thread or a greenlet, may wait for."""
    simulated = simulation()
    if simulated is not None:
        return simulated.new_waiter()
    library = green_library()
    if library is not None:
        return _GreenWaiter(_GeventPlace if library == "gevent" else _EventletPlace)
    waiter = Lock()
    waiter.acquire()
    return waiter


class GreenEvent:
    """Is set once, for all greenlets that wait at it."""

    __slots__ = ("_is_set", "_waiter")

    def __init__(self) -> None:
        self._is_set = False
        self._waiter = new_waiter()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is set, at most `seconds`; return False if it is not."""
        if not self._waiter.acquire(timeout=-1 if seconds is None else seconds):
            return False
        self._waiter.release()  # the next one may go on as well
        return True

    def set(self) -> None:
        """Let all greenlets go on; a second call does nothing."""
        if not self._is_set:
            self._is_set = True
            self._waiter.release()

    set_soon = set  # greenlets go on when their hub comes to them


class _Place(Protocol):
    """The place where one greenlet waits."""

    def wait(self, seconds: float | None) -> bool:
        """Park the greenlet until `wake`, or return False after `seconds`."""

    def wake(self) -> None:
        """Have the greenlet go on; any thread, also before `wait`."""

    def close(self) -> None:
        """Nothing waits here any more; not before a `wake` that is under way."""


class _GreenWaiter:
    """Parks greenlets, in any number of threads."""

    __slots__ = ("_guard", "_is_free", "_new_place", "_parked")

    def __init__(self, new_place: Callable[[], _Place]) -> None:
        self._new_place = new_place
        self._guard = Lock()
        self._is_free = False
        self._parked: deque[_Place] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._take():
            return True
        if not blocking or timeout == 0:
            return False
        # Outside the guard: no greenlet may be switched with it held.
        place = self._new_place()
        try:
            with self._guard:
                # Again, in one step with the parking: `release` may have come since `_take`.
                is_free, self._is_free = self._is_free, False
                if not is_free:
                    self._parked.append(place)
            return is_free or self._wait(place, timeout if timeout > 0 else None)
        finally:
            place.close()

    def _take(self) -> bool:
        with self._guard:
            is_free, self._is_free = self._is_free, False
        return is_free

    def _wait(self, place: _Place, seconds: float | None) -> bool:
        try:
            has_come = place.wait(seconds)
        except BaseException:  # the greenlet is killed, say: the turn is another one's
            if not self._leave(place):
                place.wait(None)
                self.release()
            raise
        if not has_come and not self._leave(place):
            has_come = place.wait(None)  # `release` is about to wake it
        return has_come

    def _leave(self, place: _Place) -> bool:
        """Park no longer; return False if `release` was quicker."""
        with self._guard:
            if place in self._parked:
                self._parked.remove(place)
                return True
        return False

    def release(self) -> None:
        with self._guard:
            if not self._parked:
                self._is_free = True
                return
            place = self._parked.popleft()
        # After the guard, which is held for an instant only: waking writes to a pipe, perhaps.
        place.wake()


class _GeventPlace:
    """The place where a greenlet of gevent waits."""

    __slots__ = ("_turn", "_watcher")

    def __init__(self) -> None:
        hub = sys.modules["gevent.hub"]
        self._turn = hub.Waiter()
        # As long as it is there, the hub knows that something may come.
        self._watcher = hub.get_hub().loop.async_()
        self._watcher.start(self._turn.switch, True)

    def wait(self, seconds: float | None) -> bool:
        # None is returned if the time is over.
        return bool(sys.modules["gevent"].with_timeout(seconds, self._turn.get, timeout_value=None))

    def close(self) -> None:
        self._watcher.stop()
        self._watcher.close()

    def wake(self) -> None:
        self._watcher.send()


class _EventletPlace:
    """The place where a greenlet of eventlet waits."""

    __slots__ = ("_event", "_mailbox")

    def __init__(self) -> None:
        self._event = sys.modules["eventlet"].Event()
        self._mailbox = _mailbox()

    def wait(self, seconds: float | None) -> bool:
        return bool(self._event.wait(seconds))  # None if it comes late

    def close(self) -> None:
        pass

    def wake(self) -> None:
        self._mailbox.put(self._event)


class _Mailbox:
    """Events that the greenlets of one thread wait for, sent on by a greenlet of that thread."""

    def __init__(self) -> None:
        self.hub = sys.modules["eventlet.hubs"].get_hub()
        self._events: deque[Any] = deque()
        self._is_told = False  # there is a byte in the pipe
        self._guard = Lock()  # of the pipe, against its end
        self._out, self._in = os.pipe()
        sys.modules["eventlet"].spawn(self._deliver)

    def put(self, event: Any) -> None:
        """Have `event` sent; any thread."""
        # Before the flag is read: `_deliver` clears the flag before it looks for events.
        self._events.append(event)
        if not self._is_told:
            with self._guard:
                if not self._is_told:
                    self._is_told = True
                    os.write(self._in, b"\0")

    def close(self) -> None:
        """Close the pipe: the thread has ended, and nobody reads it any more."""
        with self._guard:
            # So that `put` does not write: the number of the pipe may be another file's by then.
            self._is_told = True
            os.close(self._out)
            os.close(self._in)

    def _deliver(self) -> None:
        hubs = sys.modules["eventlet.hubs"]
        while True:
            hubs.trampoline(self._out, read=True)
            os.read(self._out, 65536)
            # Before the events: one that is added from here on puts a byte into the pipe again.
            self._is_told = False
            while self._events:
                self._events.popleft().send(True)


# By the identity of the thread, which the next thread may have when that one has ended.
_mailboxes: dict[int, _Mailbox] = {}


def _mailbox() -> _Mailbox:
    ident = get_ident()
    found = _mailboxes.get(ident)
    # Each thread has a hub of its own.
    if found is None or found.hub is not sys.modules["eventlet.hubs"].get_hub():
        if found is not None:
            found.close()
        found = _mailboxes[ident] = _Mailbox()
    return found


# The parent reads the same pipes.
renew_in_child(_mailboxes.clear)


def at_home(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that has `function` called in this thread, by a greenlet of its own.

    Any thread may call it, and does not wait. If threads are real, it is `function` itself. This is
    for functions of the program, which expects them among its greenlets.

    :param function: takes the arguments of the returned function.
    """
    library = green_library()
    if library is None or get_ident() in _real_threads:
        return function
    if library == "eventlet":
        mailbox = _mailbox()
        return lambda *args, **kwargs: mailbox.put(_Errand(function, args, kwargs))
    gevent = sys.modules["gevent"]
    call_soon = gevent.get_hub().loop.run_callback_threadsafe
    return lambda *args, **kwargs: call_soon(partial(gevent.spawn, function, *args, **kwargs))


class _Errand:
    """A call among the events of a `_Mailbox`."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._call = partial(function, *args, **kwargs)

    def send(self, value: object) -> None:
        sys.modules["eventlet"].spawn(self._call)


# Threads without greenlets, by identity: what hands a call to the thread that made each.
_real_threads: dict[int | None, Callable[..., Any]] = {}


class _LogAtHome(logging.Filter):
    """Has records of real threads written by greenlets.

    The locks of handlers are those of greenlets: two threads that want one would wait forever.
    """

    def __init__(self, write: Callable[[logging.LogRecord], None]) -> None:
        super().__init__()
        self._write = write

    def filter(self, record: logging.LogRecord) -> bool:
        call_at_home = _real_threads.get(get_ident())
        if call_at_home is None:
            return True
        call_at_home(self._write, record)
        return False


def _log_at_home() -> None:
    """Have greenlets write the log of this package and of asyncio."""
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if (
            isinstance(logger, logging.Logger)
            and name.partition(".")[0] in ("cassandra", "asyncio")
            and not any(isinstance(one, _LogAtHome) for one in logger.filters)
        ):
            logger.addFilter(_LogAtHome(logger.callHandlers))


def _call(function: Callable[..., Any], *args: Any) -> None:
    function(*args)


class RealThread:
    """A thread of the real kind, with the methods of `threading.Thread` that this package uses."""

    def __init__(self, target: Callable[[], None]) -> None:
        self._target = target
        self._is_alive = False
        self._started, self._over = new_waiter(), new_waiter()
        self._call_at_home = _real_threads.get(get_ident()) or at_home(_call)
        self.ident: int | None = None
        _log_at_home()

    def start(self) -> None:
        """Start it."""
        self._is_alive = True
        _start(self._run, ())
        # Until `ident` is known, as `threading.Thread.start` does.
        self._started.acquire()

    def _run(self) -> None:
        self.ident = get_ident()
        # Before anything is logged in this thread: `_LogAtHome` looks it up.
        _real_threads[self.ident] = self._call_at_home
        self._started.release()
        try:
            self._target()
        finally:
            self._is_alive = False
            # The next thread may get the same identity, and may be one of greenlets.
            _real_threads.pop(self.ident, None)
            self._over.release()

    def is_alive(self) -> bool:
        """Return True from `start` until the target has returned."""
        return self._is_alive

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end, at most `timeout` seconds."""
        if self._over.acquire(timeout=-1 if timeout is None else timeout):
            self._over.release()  # the next caller may go on as well


def new_thread(target: Callable[[], None], name: str) -> threading.Thread | RealThread:
    """Return a real thread, a daemon, that is yet to be started."""
    simulated = simulation()
    if simulated is not None:
        thread: threading.Thread = simulated.new_thread(target, name)
        return thread
    if green_library() is None:
        return threading.Thread(target=target, name=name, daemon=True)
    # A daemon as well: nothing joins threads that `_thread` has started when the process ends.
    return RealThread(target)


def new_user_thread(target: Callable[[], None], name: str) -> threading.Thread:
    """Return a thread, or a greenlet, as the application would make it; a daemon."""
    simulated = simulation()
    if simulated is not None:
        thread: threading.Thread = simulated.new_thread(target, name)
        return thread
    return threading.Thread(target=target, name=name, daemon=True)
