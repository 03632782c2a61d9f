"""Notifies the observers of requests.

Observers are latency-aware policies, metrics, and the application's observers.

`Observers` is a base class of the engine's core and has the cluster's observers. A `Hook` is one
method of one observer; `Hooks` contains the hooks to call for each event. A session has one `Hooks`
object for its own observers and the cluster's observers. If there are no observers, the session has
None instead, and requests have no extra cost. Each observed request has a
`cassandra.observers.ObservedRequest`, which is passed to the observers.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakValueDictionary

from cassandra._forks import renewed
from cassandra._logs import Log
from cassandra._threads import Lock, new_thread
from cassandra.engine.callers import current_caller
from cassandra.engine.failures import reraise_on_loop
from cassandra.observers import BRIEF_EVENTS, ObservedRequest, ProfileObservers, overrides
from cassandra.util.intervals import OncePerInterval

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.metadata.endpoint import EndPoint
    from cassandra.metadata.host import Host
    from cassandra.observed import ObservableRequest
    from cassandra.observers import RequestObserver
    from cassandra.throttling import RequestThrottler
else:
    from cassandra._impl import bases

log = Log("cassandra.observers")

# Returns the CPU time of the current thread in seconds, or NaN on the few platforms without it.
_cpu_time: Callable[[], float] = getattr(time, "thread_time", lambda: math.nan)

# The types of the observers' callbacks. Their arguments are (host, latency in seconds), (host,
# error, decision of the retry policy), and (end point, kind of the failure, error).
LatencyObserver = Callable[["Host", float], None]
FailureObserver = Callable[["Host | None", BaseException, "int | None"], None]
ConnectionFailureObserver = Callable[["EndPoint", str, Exception], None]

# The maximum number of events in the queue of a slow observer's thread. Further events are dropped.
MOST_WAITING = 10_000
# A call of an observer that takes longer than this counts as slow.
SLOW = 0.1  # seconds
# One slow call proves nothing: the machine may have had no time for this thread, or another thread
# may have held the GIL. An observer gets its own thread after MOST_SLOW_CALLS slow calls, or after
# two slow calls that take MOST_SLOW_TIME seconds together. These slow calls must be within
# SUSPECTED_CALLS calls.
MOST_SLOW_CALLS = 3
MOST_SLOW_TIME = 1.0  # seconds
SUSPECTED_CALLS = 1000
# `Cluster.shutdown` waits at most this long for observers that are called in their own threads.
LAST_WAIT = 5.0  # seconds
_IDLE = 5.0  # seconds without events after which a slow observer's thread ends
_LOG_INTERVAL = 10.0  # seconds between log lines about the same observer

_CONNECTION_FAILURE = "on_connection_failure"
# The names of the observer methods for the steps of a request, and for the shutdown.
_EVENTS = (
    *("on_start", "on_page", "on_attempt", "on_retry", "on_speculation", "on_end"),
    "on_shutdown",
)


# An event in the queue: (context, hook, function to call, arguments). The hook is None if the
# function belongs to the driver and cannot fail.
_QueuedCall: TypeAlias = "tuple[Context, Hook | None, Callable[..., object], tuple[Any, ...]]"


class _SlowObserver:
    """Calls a slow observer in its own thread, one event after the other.

    The thread is started for the first event. It ends when no event has come for _IDLE seconds.
    """

    __slots__ = (
        "__weakref__", "_dropped", "_events", "_guard", "_is_running", "_is_waiting", "_wake",
        "_watched",
    )  # fmt: skip

    def __init__(self, watched: _Watched) -> None:
        self._watched = watched
        self._events: deque[_QueuedCall] = deque()
        self._renew_locks()
        renewed(self)  # a forked child process also calls `_renew_locks`
        # Limits warnings about events that were dropped.
        self._dropped = OncePerInterval(_LOG_INTERVAL, watched.clock)

    def _renew_locks(self) -> None:
        """Create new locks; in a forked child, the thread of the old locks does not exist."""
        # Use the system's locks even if gevent or eventlet has patched `threading`: the loop runs
        # in a real thread.
        self._guard = Lock()  # protects `_is_running` and `_is_waiting`, and the wake-ups
        # The thread waits for this lock. `put` releases it to wake the thread.
        self._wake = Lock()
        self._wake.acquire()
        self._is_running = False  # True if the thread exists
        self._is_waiting = False  # True if the thread waits for `_wake`

    def put(self, hook: Hook, call: Callable[..., object], *arguments: Any) -> None:
        """Queue ``call(*arguments)`` for the thread, to run in a copy of the current context.

        If the queue is full, the event is dropped.
        """
        with self._guard:
            is_full = len(self._events) >= MOST_WAITING
            if not is_full:
                self._events.append((copy_context(), hook, call, arguments))
            self._wake_thread()
        # Log outside the guard, and only from time to time, how many events were dropped.
        if is_full:
            missed = self._dropped.missed
            if self._dropped.is_due():
                log.warning(
                    "the request observer %r is %d events late: %d were dropped",
                    self._watched.observer,
                    MOST_WAITING,
                    missed + 1,
                )

    def put_last(self, call: Callable[[], None]) -> None:
        """Queue a function, even if the queue is full. The function must not raise."""
        with self._guard:
            self._events.append((copy_context(), None, call, ()))
            self._wake_thread()

    @property
    def is_busy(self) -> bool:
        """True if the thread has not handled all events yet."""
        with self._guard:
            return self._is_running and not self._is_waiting

    def _wake_thread(self) -> None:
        """Start the thread, or wake it if it waits for events. The caller holds `_guard`."""
        if not self._is_running:
            self._is_running = True
            new_thread(self._run, "cassandra-observer", is_brief=True).start()
        elif self._is_waiting:
            self._is_waiting = False
            self._wake.release()

    def _run(self) -> None:
        while self._wait_for_event():
            # `hook` is None for the function of `put_last`, which raises no error.
            context, hook, call, arguments = self._events.popleft()
            try:
                context.run(call, *arguments)
            except BaseException as error:
                if hook is not None:
                    hook.log_error(error)

    def _wait_for_event(self) -> bool:
        """Wait until there is an event in the queue.

        :returns: False if no event came for _IDLE seconds, so that the thread should end.
        """
        with self._guard:
            if self._events:
                return True
            self._is_waiting = True
        is_woken = self._wake.acquire(timeout=_IDLE)
        with self._guard:
            if not is_woken and not self._is_waiting:
                # `_wake_thread` has released `_wake` just after our timeout. Acquire it, as if we
                # had been woken in time, and handle the event.
                self._wake.acquire()
            elif not is_woken:
                self._is_waiting = self._is_running = False
                return False
        return True


class _Suspicion:
    """Measures the calls of an observer after a slow call, to decide whether it is always slow.

    One long call proves nothing, because on a busy machine any call may be slow. So further calls
    are measured. Their CPU time goes into the log: it shows whether the observer computes or waits.
    """

    __slots__ = ("calls", "last_cpu_seconds", "seconds", "slow_calls")

    def __init__(self) -> None:
        self.calls = 0
        self.slow_calls = 0
        self.seconds = 0.0  # the duration of all slow calls together
        self.last_cpu_seconds = 0.0

    @property
    def is_over(self) -> bool:
        """True if SUSPECTED_CALLS calls were measured without proof that the observer is slow."""
        return self.calls >= SUSPECTED_CALLS

    @property
    def is_proved(self) -> bool:
        """True if so many calls were slow that it cannot be a coincidence."""
        return self.slow_calls >= MOST_SLOW_CALLS or (
            self.slow_calls > 1 and self.seconds >= MOST_SLOW_TIME
        )

    def call(self, method: Callable[..., object], *arguments: Any) -> None:
        """Call a method of the observer, and measure its CPU time."""
        self.calls += 1
        started = _cpu_time()
        try:
            method(*arguments)
        finally:
            self.last_cpu_seconds = _cpu_time() - started

    def add(self, seconds: float) -> None:
        """Count a slow call, which has just ended.

        :param seconds: how long the call took.
        """
        self.slow_calls += 1
        self.seconds += seconds


class _Watched:
    """Wraps an observer, so that its errors and slow calls do not affect requests."""

    __slots__ = (
        "__weakref__", "_errors", "_events", "_hooks", "_slow", "_suspicion", "clock", "observer",
    )  # fmt: skip

    def __init__(
        self, observer: RequestObserver, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        self.observer = observer
        self._errors = OncePerInterval(_LOG_INTERVAL, clock)  # limits log lines about its errors
        # Measures the calls after a slow call; None if the observer was not slow recently.
        self._suspicion: _Suspicion | None = None
        # Calls the observer in its own thread; None unless the observer was found to be slow.
        self._slow: _SlowObserver | None = None
        # The names of the methods that the observer overrides.
        self._events = frozenset(
            name for name in (*_EVENTS, *BRIEF_EVENTS) if overrides(observer, name)
        )
        # The hooks by event. All sessions and profiles with this observer share the hooks, so that
        # a change of `Hook.call` affects all of them. The references are weak, because each hook
        # refers to this object: strong references would be a cycle, and an unused observer would
        # not be freed at once.
        self._hooks: WeakValueDictionary[str, Hook] = WeakValueDictionary()

    def hook(self, name: str) -> Hook | None:
        """Return the hook for an event; None if the observer does not override its method."""
        if name not in self._events:
            return None
        hook = self._hooks.get(name)
        if hook is None:
            hook = Hook(self, name)
            hook.call = self._call_of(hook)
            # Another thread may have stored a hook since the look-up. `setdefault` then returns
            # that hook.
            hook = self._hooks.setdefault(name, hook)
        return hook

    def on_error(self, name: str, error: BaseException) -> None:
        """Log an error that the observer has raised, at most once per _LOG_INTERVAL seconds."""
        missed = self._errors.missed
        if self._errors.is_due():
            log.error(
                "%s of the request observer %r raised %r%s",
                name,
                self.observer,
                error,
                f" (and {missed} more since the last such line)" if missed else "",
                exc_info=error,
            )

    @property
    def is_late(self) -> bool:
        """True if the observer is called in its own thread and has not handled all events yet."""
        return self._slow is not None and self._slow.is_busy

    def events_handled(self) -> asyncio.Future[None]:
        """Return a future that is done when the observer has handled the events queued until now.

        Must be called on the loop, and only if `is_late` is true.
        """
        assert self._slow is not None
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def set_done() -> None:
            if not done.done():
                done.set_result(None)

        def report_to_loop() -> None:
            with suppress(RuntimeError):  # the loop is closed, so nobody waits
                loop.call_soon_threadsafe(set_done)

        self._slow.put_last(report_to_loop)
        return done

    def _call_of(self, hook: Hook) -> Callable[..., object]:
        """Return the function that `hook` must call, depending on how slow the observer is."""
        slow, suspicion = self._slow, self._suspicion
        if slow is not None:  # let a thread call the method
            return partial(slow.put, hook, hook.method)
        if suspicion is not None:
            return partial(self._call_suspected, suspicion, hook.method)
        return hook.method

    def _renew_calls(self) -> None:
        """Set the function that each hook calls, because `_slow` or `_suspicion` has changed."""
        for hook in list(self._hooks.values()):
            hook.call = self._call_of(hook)

    def _call_suspected(
        self, suspicion: _Suspicion, method: Callable[..., object], *arguments: Any
    ) -> None:
        """Call a method of an observer that was slow recently, and measure the call."""
        # After SUSPECTED_CALLS measured calls, the suspicion is over: let hooks call the methods
        # directly from the next call on. Skip this if `on_slow` has started another suspicion by
        # now.
        if suspicion.is_over and suspicion is self._suspicion:
            self._suspicion = None
            self._renew_calls()
        suspicion.call(method, *arguments)

    def on_slow(self, name: str, seconds: float) -> None:
        """Called when a call of the observer has blocked the loop for more than SLOW seconds.

        After the first slow call, measure further calls. After several slow calls, call the
        observer in its own thread from now on.
        """
        if self._slow is not None:
            return
        # After the first slow call, begin to measure.
        suspicion = self._suspicion
        if suspicion is None:
            self._suspicion = suspicion = _Suspicion()
            self._renew_calls()
        suspicion.add(seconds)
        # As long as it may be a coincidence, only log the call for debugging.
        if not suspicion.is_proved:
            log.debug("%s of the request observer %r took %.3f s", name, self.observer, seconds)
            return
        log.warning(
            "%s of the request observer %r took %.3f s (CPU time: %.3f s), and %d of its last %d "
            "calls took more than %g s, in which the event loop could do nothing else: from now on "
            "it is called in a thread of its own. Little CPU time means that it waits, for example "
            "for a network, or that the machine or other threads leave it no time",
            name,
            self.observer,
            seconds,
            suspicion.last_cpu_seconds,
            suspicion.slow_calls,
            suspicion.calls + 1,  # with the first slow call, which was not measured
            SLOW,
        )
        # From now on, the observer's hooks put events into the queue of a thread.
        self._suspicion = None
        self._slow = _SlowObserver(self)
        self._renew_calls()


class Hook:
    """One method of an observer.

    `method` is the observer's method. `call` is what to call for an event: the method itself, a
    function that also measures it, or a function that queues the event for a slow observer's
    thread.
    """

    __slots__ = ("__weakref__", "_name", "_watched", "call", "method", "slow_after")

    def __init__(self, watched: _Watched, name: str) -> None:
        self.slow_after = SLOW
        self._watched = watched
        self._name = name
        self.method: Callable[..., object] = getattr(watched.observer, name)
        self.call: Callable[..., object] = self.method

    def on_error(self, error: BaseException) -> None:
        """Log `error`, which the method has raised on the loop or in the caller's thread.

        SystemExit and KeyboardInterrupt are also raised from the loop.
        """
        self.log_error(error)
        reraise_on_loop(error)

    def log_error(self, error: BaseException) -> None:
        """Log that the method has raised `error`."""
        self._watched.on_error(self._name, error)

    def on_slow(self, seconds: float) -> None:
        """Report that a call of the method took `seconds`, which is more than `slow_after`."""
        self._watched.on_slow(self._name, seconds)

    def notify(self, *arguments: Any) -> None:
        """Call the method for an event that does not belong to a request.

        Errors are logged, and slow calls are counted.
        """
        clock = self._watched.clock
        started = clock()
        try:
            self.call(*arguments)
        except BaseException as error:
            self.on_error(error)
        seconds = clock() - started
        if seconds > self.slow_after:
            self.on_slow(seconds)


class Hooks:
    """The hooks of a group of observers, by event."""

    __slots__ = ("attempt", "clock", "end", "page", "retry", "speculation", "start")

    def __init__(
        self, watched: Iterable[_Watched], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        watched_observers = list(watched)

        def hooks_for(name: str) -> tuple[Hook, ...]:
            return tuple(
                hook
                for watched_observer in watched_observers
                if (hook := watched_observer.hook(name)) is not None
            )

        self.start = hooks_for("on_start")
        # By default, the method `on_page` calls `on_start`. If an observer overrides only
        # `on_start`, call `on_start` directly.
        self.page = tuple(
            hook
            for watched_observer in watched_observers
            if (hook := watched_observer.hook("on_page") or watched_observer.hook("on_start"))
            is not None
        )
        self.attempt = hooks_for("on_attempt")
        self.retry = hooks_for("on_retry")
        self.speculation = hooks_for("on_speculation")
        self.end = hooks_for("on_end")

    @property
    def are_needed(self) -> bool:
        """True if at least one observer overrides a method."""
        return any(getattr(self, event) for event in self.__slots__ if event != "clock")


class _GuardedObserver:
    """A function of a policy that is called for each response or failure.

    An error of the function is logged, at most once per _LOG_INTERVAL seconds. It must not reach
    the engine: the request that is reported may be ending, and would never end.

    :param function: the policy's function.
    """

    __slots__ = ("_errors", "function")

    def __init__(self, function: Callable[..., object], clock: Callable[[], float]) -> None:
        self.function = function
        self._errors = OncePerInterval(_LOG_INTERVAL, clock)  # limits the log lines

    def __call__(self, *arguments: Any) -> None:
        try:
            self.function(*arguments)
        except BaseException as error:
            if self._errors.is_due():
                log.error("%r of a policy raised %r", self.function, error, exc_info=error)
            reraise_on_loop(error)


class Observers(bases.CoreBase):
    """The callbacks with which the engine reports responses and failures to observers.

    Each callback is None if no observer needs it:

    * `on_latency(host, seconds)` is called for each result. It is also called for each error that a
      host reports after it has worked on the request, for example after it has asked replicas.
    * `on_refusal(host, seconds)` is called for each other error that a server reports.
    * `on_failure(host, error, decision)` is called for each failed attempt. The host is None if
      nothing was sent, and the decision is None if the retry policy was not asked.
    * `on_connection_failure(endpoint, kind, error)` is called for each connection that could not be
      opened.
    """

    __slots__ = (
        "_brief", "_by_id", "_own", "clock", "on_connection_failure", "on_failure", "on_refusal",
    )  # fmt: skip

    # The core sets this. None if the cluster has no throttler.
    throttler: RequestThrottler | None

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.on_latency: LatencyObserver | None = None
        self.on_refusal: LatencyObserver | None = None
        self.on_failure: FailureObserver | None = None
        self.on_connection_failure: ConnectionFailureObserver | None = None
        # For each of the four callbacks above, by its name (for example "on_latency"): the
        # functions that it calls.
        self._brief: dict[str, tuple[Callable[..., object], ...]] = {}
        # The observers of the cluster itself, without the observers of its sessions and profiles.
        self._own: tuple[RequestObserver, ...] = ()
        # The wrappers by the id of their observer. A wrapper keeps its observer alive, so the id
        # cannot be reused while the entry exists. The references are weak: only hooks keep wrappers
        # alive, so unused wrappers are freed.
        self._by_id: WeakValueDictionary[int, _Watched] = WeakValueDictionary()

    def observe_latencies(self, observer: LatencyObserver) -> None:
        """Call `observer` with the host and the latency (seconds) of each result.

        `observer` is also called for each error that a host reports after it has worked on the
        request.
        """
        self._observe("on_latency", _GuardedObserver(observer, self.clock))

    def observe_failures(self, observer: FailureObserver) -> None:
        """Call `observer` for each failed attempt."""
        self._observe("on_failure", _GuardedObserver(observer, self.clock))

    def forget_latencies(self, observer: LatencyObserver) -> None:
        """Undo one call of `observe_latencies`."""
        observers = list(self._brief.get("on_latency", ()))
        for index, other in enumerate(observers):
            if isinstance(other, _GuardedObserver) and other.function == observer:
                del observers[index]
                self._set_observers("on_latency", tuple(observers))
                return

    def _observe(self, name: str, observer: Callable[..., object]) -> None:
        self._set_observers(name, (*self._brief.get(name, ()), observer))

    def _set_observers(self, name: str, observers: tuple[Callable[..., object], ...]) -> None:
        """Replace the observers of a callback.

        :param name: the attribute for the callback, for example "on_latency".
        """

        def notify_all(*arguments: Any) -> None:
            for observer in observers:
                observer(*arguments)

        self._brief[name] = observers
        # If there is only one observer, call it directly, because this runs for every response.
        setattr(
            self, name, notify_all if len(observers) > 1 else observers[0] if observers else None
        )

    def observe_requests(self, observer: RequestObserver, is_trusted: bool = False) -> None:
        """Report all requests to `observer` from now on.

        :param is_trusted: True for the driver's own observers, which neither raise nor block.
        """
        watched = self.watched(observer)
        for name in BRIEF_EVENTS:
            hook = watched.hook(name)
            if hook is not None and name != _CONNECTION_FAILURE:
                self._observe(name, hook.call if is_trusted else hook.notify)
        self.observe_connection_failures(observer)
        self._own = (*self._own, observer)
        self._on_observers_changed()

    def observe_connection_failures(self, observer: RequestObserver) -> None:
        """Report connections that cannot be opened to `observer`.

        Does nothing if they are reported to `observer` already, or if `observer` does not override
        the method `on_connection_failure`.

        The observers of a cluster are registered here before the engine connects. Requests are
        reported to them only later.
        """
        hook = self.watched(observer).hook(_CONNECTION_FAILURE)
        if hook is not None and hook.notify not in self._brief.get(_CONNECTION_FAILURE, ()):
            self._observe(_CONNECTION_FAILURE, hook.notify)

    def report_connection_failure(self, endpoint: EndPoint, kind: str, error: Exception) -> None:
        """Notify the observers that a connection could not be opened.

        :param kind: see `RequestObserver.on_connection_failure`.
        """
        if self.on_connection_failure is not None:
            self.on_connection_failure(endpoint, kind, error)

    def forget_connection_failures(self) -> None:
        """Undo all calls of `observe_connection_failures`."""
        self._set_observers(_CONNECTION_FAILURE, ())

    def forget_observer(self, observer: RequestObserver) -> None:
        """Stop reporting new requests to `observer`.

        The observer still gets all events of requests that are in flight.
        """
        self._own = tuple(other for other in self._own if other is not observer)
        watched = self.watched(observer)
        for name in BRIEF_EVENTS:
            hook = watched.hook(name)
            if hook is not None:
                # `hook.call` is registered for trusted observers. Each access to it creates another
                # bound method, so compare by equality.
                calls = (hook.notify, hook.call)
                remaining = (call for call in self._brief.get(name, ()) if call not in calls)
                self._set_observers(name, tuple(remaining))
        self._on_observers_changed()

    def watched(self, observer: RequestObserver) -> _Watched:
        """Return the wrapper of `observer`, and create it if there is none yet.

        All calls with the same observer return the same wrapper.
        """
        wrapper = self._by_id.get(id(observer))
        if wrapper is None:
            wrapper = self._by_id.setdefault(id(observer), _Watched(observer, self.clock))
        return wrapper

    def hooks_of(self, observers: Iterable[RequestObserver]) -> Hooks | None:
        """Return the hooks of the cluster's observers and of `observers`; None without hooks."""
        hooks = Hooks([self.watched(observer) for observer in (*self._own, *observers)], self.clock)
        return hooks if hooks.are_needed else None

    def observers_in_use(self) -> list[_Watched]:
        """Return the wrappers of the observers of the cluster, its sessions and its profiles."""
        own = [self.watched(observer) for observer in self._own]
        # `valuerefs` copies the references in one step, because other threads may add observers.
        others = [reference() for reference in self._by_id.valuerefs()]
        # Compare by identity, because an observer may define its own equality.
        by_id = {id(wrapper): wrapper for wrapper in (*own, *others) if wrapper is not None}
        return list(by_id.values())

    async def notify_shutdown(self, watched: Iterable[_Watched]) -> None:
        """Call the method `on_shutdown` of observers.

        If observers are called in their own threads, wait until they have handled all events, at
        most LAST_WAIT seconds.

        :param watched: the wrappers of the observers.
        """
        watched = list(watched)
        for wrapper in watched:
            hook = wrapper.hook("on_shutdown")
            if hook is not None:
                hook.notify()
        late = [wrapper.events_handled() for wrapper in watched if wrapper.is_late]
        if late:
            await asyncio.wait(late, timeout=LAST_WAIT)

    def _on_observers_changed(self) -> None:
        """Called when observers were added or removed; sessions then update their hooks."""


class ObservedSession(bases.EngineBase):
    """The base class of `EngineSession`, the engine's part of a session: it has the observers.

    `hooks` contains the hooks of the observers of the session and the cluster; None if there are
    none. `attends` is True if there are hooks or a throttler. If it is False, a request need not
    call `attend`.
    """

    __slots__ = ("_generation", "hooks", "observers", "throttle")

    core: Observers
    hooks: Hooks | None
    throttle: RequestThrottler | None
    attends: bool
    observers: tuple[RequestObserver, ...]
    # Identifies the current observers of the session and the cluster. It is replaced when these
    # observers change. The observers of an execution profile cache their hooks under this key.
    _generation: _Generation

    def observe(self, *observers: RequestObserver) -> None:
        """Replace the session's own observers. The cluster's observers are not changed."""
        self.observers = observers
        self.follow_observers()

    def follow_observers(self) -> None:
        """Update the hooks and the throttler, because observers or the throttler have changed."""
        self._generation = _Generation()
        self.hooks = self.core.hooks_of(self.observers)
        self.throttle = self.core.throttler
        self.attends = self.hooks is not None or self.throttle is not None

    def attend(
        self, request: ObservableRequest, profile_observers: Sequence[RequestObserver]
    ) -> None:
        """Set the attributes of a new request that its observers and the throttler need.

        :param profile_observers: the observers of the request's profile.
        """
        if self.throttle is not None:
            request.caller = current_caller()
        request.observed = self.observed(request, profile_observers)

    def observed(
        self, request: ObservableRequest, profile_observers: Sequence[RequestObserver]
    ) -> ObservedRequest | None:
        """Return the `ObservedRequest` for the observers of `request`; None without observers.

        :param profile_observers: the observers of the request's profile.
        """
        hooks = self.hooks
        if profile_observers:
            hooks = self._hooks_with(profile_observers)
        return ObservedRequest(request, hooks) if hooks is not None else None

    def _hooks_with(self, profile_observers: Sequence[RequestObserver]) -> Hooks | None:
        """Return the hooks of the observers of the cluster, the session and a profile together.

        None if there are no hooks.
        """
        # The cache belongs to the profile's observers. A cache in the session would keep profiles
        # alive that are used only once.
        cache = profile_observers.hooks if isinstance(profile_observers, ProfileObservers) else None
        # When the observers of the session or cluster change, `_generation` is replaced, so that
        # the old entry is not found any more.
        generation = self._generation
        if cache is not None and generation in cache:
            cached: Hooks | None = cache[generation]
            return cached
        hooks = self.core.hooks_of((*self.observers, *profile_observers))
        if cache is not None:
            cache[generation] = hooks
        return hooks


class _Generation:
    """The key of an entry in a weak cache of hooks.

    Only the session refers to the key. When the observers change, the session drops the key, and
    the entry disappears from the cache.
    """

    __slots__ = ("__weakref__",)
