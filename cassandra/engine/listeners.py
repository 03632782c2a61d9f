"""Notifies load balancing policies and the application's listeners about events of hosts.

Policies are called on the engine's loop, where query plans are made. So are the listeners of
`cassandra.aio`, which may use objects of the application's loop. Listeners of a blocking `Cluster`
may block and execute statements, so they are called in a thread of their own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from cassandra._forks import renewed
from cassandra._logs import Log
from cassandra._threads import Lock, start_user_thread
from cassandra.engine.failures import reraise_on_loop
from cassandra.util.intervals import OncePerInterval

if TYPE_CHECKING:
    from cassandra.metadata.host import Host
    from cassandra.policies.balancing import LoadBalancingPolicy, PolicyCluster

log = Log("cassandra.cluster")

# A call on the loop that takes longer than this is logged.
SLOW = 0.1  # seconds
# If a call in the listeners' thread takes longer than this while other events wait, the call is
# logged.
LATE = 10.0  # seconds
_LOG_INTERVAL = 10.0  # seconds between log lines about slow calls
# The maximum number of events that wait for the listeners' thread. Older events are dropped.
MOST_WAITING = 10_000
# `Cluster.connect` waits at most this long until listeners know the hosts.
INTRODUCTION_WAIT = 10.0  # seconds
# `Cluster.shutdown` waits at most this long until listeners have got the last events.
LAST_WAIT = 0.2  # seconds


class Listeners:
    """Passes host events to listeners. An error in one listener does not affect other listeners.

    :param after: called on the loop after each event, which may have changed the policies'
        distances.
    :param clock: returns the time in seconds, and never goes back.
    """

    __slots__ = (
        "_clock", "_introduced", "_on_notified", "_slow_calls", "_thread", "policies",
        "user_listeners",
    )  # fmt: skip

    def __init__(self, after: Callable[[], None], clock: Callable[[], float]) -> None:
        self.policies: list[Any] = []
        self.user_listeners: Sequence[Any] = ()
        # The hosts for which `introduce` has called `on_add`, and no other event was reported yet.
        self._introduced: set[Host] = set()
        self._on_notified = after
        self._clock = clock
        self._slow_calls = OncePerInterval(_LOG_INTERVAL, clock)  # limits the log lines
        # Calls the application's listeners. None if they are called on the loop.
        self._thread: _ListenerThread | None = None

    def use_thread(self, loop: asyncio.AbstractEventLoop) -> None:
        """Call the application's listeners in a thread of their own from now on.

        :param loop: the engine's loop.
        """
        self._thread = _ListenerThread(loop, self._clock)

    def notify(self, event: str, host: Host) -> None:
        """Notify all listeners; `event` is a method of `HostStateListener`, such as "on_up"."""
        # Notify the policies first: a listener may send requests, which use the policies' query
        # plans. Iterate over a copy: a listener may register or remove listeners.
        self._notify(tuple(self.policies), event, host)
        is_known = host in self._introduced
        self._introduced.discard(host)
        # If `is_known`, the application got `on_add` for this host at connect. Do not call `on_up`
        # as well, because applications that count hosts would count the host twice.
        if not (is_known and event == "on_up"):
            self._notify_application(event, host)
        self._on_notified()

    def introduce(self, hosts: Sequence[Host]) -> None:
        """Call the application's `on_add` listeners for the hosts that exist when it connects."""
        self._introduced.update(hosts)
        for host in hosts:
            self._notify_application("on_add", host)
        self._on_notified()

    async def introduced(self) -> None:
        """Wait until listeners have been called for all events until now.

        Applications expect that their listeners know the hosts when `connect` returns. The wait
        ends after INTRODUCTION_WAIT seconds.
        """
        if self._thread is not None and not await self._thread.settled(INTRODUCTION_WAIT):
            log.warning(
                "connect() does not wait any longer for the application's listeners: %s",
                self._thread.state(),
            )

    def notify_policies(self, event: str, host: Host) -> None:
        """Notify the load balancing policies only."""
        self._notify(tuple(self.policies), event, host)
        self._on_notified()

    def populate(
        self, policy: LoadBalancingPolicy, cluster: PolicyCluster, hosts: Sequence[Host]
    ) -> None:
        """Pass the current hosts to a load balancing policy, and notify it of later events."""
        policy.populate(cluster, hosts)
        for host in hosts:
            if host.is_up is False:
                self._notify((policy,), "on_down", host)
                self._on_notified()
        # Add the policy to the list last, because it cannot handle events before `populate`.
        self.policies.append(policy)

    async def close(self) -> None:
        """Report the last events to the application, unless its listeners take long."""
        if self._thread is not None:
            await self._thread.settled(LAST_WAIT)
            self._thread.close()

    def _notify(self, listeners: Sequence[Any], event: str, host: Host) -> None:
        """Call the method `event` of each listener on the loop."""
        for listener in listeners:
            started = self._clock()
            try:
                getattr(listener, event)(host)
            except BaseException as error:  # one listener has failed: notify the others
                log.exception("%s failed", _display(listener, event, host))
                reraise_on_loop(error)
            seconds = self._clock() - started
            if seconds > SLOW and self._slow_calls.is_due():
                log.warning(
                    "%s took %.3f s, in which the event loop could do nothing else: no requests, "
                    "and no timeouts",
                    _display(listener, event, host),
                    seconds,
                )

    def _notify_application(self, event: str, host: Host) -> None:
        """Call the application's listeners, or let their thread do it."""
        listeners = tuple(self.user_listeners)
        if self._thread is None:
            self._notify(listeners, event, host)
        elif listeners:
            self._thread.put(partial(self._notify_in_thread, self._thread, listeners, event, host))

    def _notify_in_thread(
        self, thread: _ListenerThread, listeners: Sequence[Any], event: str, host: Host
    ) -> None:
        """Call the method `event` of each listener. This runs in the listeners' thread."""
        for listener in listeners:
            # Skip the listener if the application has removed it since the event.
            if any(listener is other for other in tuple(self.user_listeners)):
                thread.call(listener, event, host)
        # A listener may have changed the distances of a policy, so call `_on_notified` on the loop.
        thread.call_on_loop(self._on_notified)


class _ListenerThread:
    """Calls functions one after the other, in a thread or greenlet of the application.

    The thread is started for a function if none is running, and ends when no function waits.

    :param loop: the engine's loop.
    :param clock: returns the time in seconds, and never goes back.
    """

    __slots__ = (
        "__weakref__", "_clock", "_current", "_guard", "_is_running", "_late", "_loop", "_started",
        "_waiting",
    )  # fmt: skip

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float]) -> None:
        self._loop = loop
        self._clock = clock
        self._late = OncePerInterval(_LOG_INTERVAL, clock)  # limits log lines about late events
        # The functions to call. A listener that hangs must not fill the memory. If too many
        # functions wait, drop the oldest, so that the listeners get the latest states of hosts.
        self._waiting: deque[Callable[[], object]] = deque(maxlen=MOST_WAITING)
        self._current = ""  # describes the call of a listener that is running
        self._started = 0.0  # when that call has started
        self._renew_locks()
        renewed(self)  # a forked child process also calls `_renew_locks`

    def _renew_locks(self) -> None:
        """Create a new lock; in a forked child, the thread does not exist."""
        # Use the system's lock even if gevent or eventlet has patched `threading`: the loop runs in
        # a real thread. Nobody waits for anything else while holding the lock.
        self._guard = Lock()  # protects `_is_running`
        self._is_running = False  # True if the thread exists, or is being started

    def put(self, function: Callable[[], object]) -> None:
        """Let the thread call `function`, which must not raise. This runs on the loop."""
        with self._guard:
            self._waiting.append(function)
            is_running, self._is_running = self._is_running, True
        if is_running:
            self._log_if_late()
            return
        try:
            start_user_thread(self._run, "cassandra-listeners")
        except Exception:  # for example, the system allows no more threads
            self._is_running = False
            # The functions wait until the next event starts the thread.
            log.exception("no thread can be started for the listeners of host events")

    def _log_if_late(self) -> None:
        if self._current and self._clock() - self._started > LATE and self._late.is_due():
            log.warning("the application's listeners are late: %s", self.state())

    def state(self) -> str:
        """Return which listener is running, and how many functions wait, for log messages."""
        seconds = self._clock() - self._started
        running = self._current or "no listener"
        return f"{running} has been running for {seconds:.0f} s, {len(self._waiting)} events wait"

    def _run(self) -> None:
        """Call the functions until none waits. This runs in the thread."""
        while True:
            with self._guard:
                if not self._waiting:
                    self._is_running = False
                    return
                function = self._waiting.popleft()
            function()

    def call(self, listener: Any, event: str, host: Host) -> None:
        """Call the method `event` of a listener, and log its error. This runs in the thread."""
        display = _display(listener, event, host)
        self._started = self._clock()
        self._current = display
        try:
            getattr(listener, event)(host)
        except BaseException:
            # Also log SystemExit and the like, which would end only this thread, and with it the
            # notification of the other listeners.
            log.exception("%s failed", display)
        finally:
            self._current = ""

    def call_on_loop(self, function: Callable[[], object]) -> None:
        """Call `function` on the loop; do nothing if the loop is closed."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function)

    async def settled(self, timeout: float) -> bool:
        """Wait until the functions that wait now have been called.

        :returns: False if they have not been called after `timeout` seconds.
        """
        if not self._is_running:
            return True
        done = asyncio.Event()
        self.put(partial(self.call_on_loop, done.set))
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(done.wait(), timeout)
        return done.is_set()

    def close(self) -> None:
        """Forget the functions that were not called yet."""
        with self._guard:  # the thread may be about to take a function
            self._waiting.clear()


def _display(listener: object, event: str, host: Host) -> str:
    """Return the call of a listener, for log messages."""
    return f"{type(listener).__name__}.{event}({host})"
