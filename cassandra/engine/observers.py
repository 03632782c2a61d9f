"""The observers of requests: policies that measure latencies, metrics, those of programs.

There is one seam. `Observers` is a part of the engine's core and knows the observers of the
cluster; a session has `Hooks`, of its own observers and those of the cluster, or None, which costs
nothing. A request that is observed has an `cassandra.observers.ObservedRequest`.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextvars import Context, copy_context
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from cassandra._forks import renewed
from cassandra._threads import Lock, new_thread
from cassandra.engine.callers import current_caller
from cassandra.engine.failures import reraise_on_loop
from cassandra.observers import BRIEF_EVENTS, ObservedRequest, ProfileObservers, overrides
from cassandra.util.intervals import OncePerInterval

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.engine.core import Core
    from cassandra.engine.happy_path import RequestBase
    from cassandra.metadata.host import Host
    from cassandra.observers import RequestObserver
    from cassandra.throttling import RequestThrottler
else:
    from cassandra._impl import bases

__all__ = ["Hook", "Hooks", "ObservedSession", "Observers"]

log = logging.getLogger("cassandra.observers")

LatencyObserver = Callable[["Host", float], None]
FailureObserver = Callable[["Host | None", BaseException, "int | None"], None]

# Events that may wait for the thread of a slow observer.
MOST_WAITING = 10_000
# Seconds that a call may take before the observer is told in a thread of its own.
SLOW = 0.1
_IDLE = 5.0  # seconds after which such a thread ends
_LOG_INTERVAL = 10.0  # seconds between log lines on one observer

_EVENTS = ("on_start", "on_page", "on_attempt", "on_retry", "on_speculation", "on_end")


class _Late:
    """Tells a slow observer of events, one after the other, in a thread that ends when idle."""

    __slots__ = (
        "__weakref__",
        "_dropped",
        "_events",
        "_guard",
        "_is_running",
        "_is_waiting",
        "_wake",
        "_watched",
    )

    def __init__(self, watched: _Watched) -> None:
        self._watched = watched
        self._events: deque[tuple[Context, Hook, Callable[..., object], tuple[Any, ...]]] = deque()
        self._renew_locks()
        renewed(self)
        self._dropped = OncePerInterval(_LOG_INTERVAL, watched.clock)

    def _renew_locks(self) -> None:
        # Real locks: the loop's thread is a real one also if those of the program are greenlets.
        self._guard = Lock()
        self._wake = Lock()
        self._wake.acquire()  # whoever waits for it waits until it is released
        self._is_running = False
        self._is_waiting = False

    def put(self, hook: Hook, call: Callable[..., object], *arguments: Any) -> None:
        """Have ``call(*arguments)`` called, in a copy of the context of now."""
        with self._guard:
            is_full = len(self._events) >= MOST_WAITING
            if not is_full:
                self._events.append((copy_context(), hook, call, arguments))
            if not self._is_running:
                self._is_running = True
                new_thread(self._run, "cassandra-observer").start()
            elif self._is_waiting:
                self._is_waiting = False
                self._wake.release()
        if is_full:
            missed = self._dropped.missed
            if self._dropped.is_due():
                log.warning(
                    "the request observer %r is %d events late: %d were dropped",
                    self._watched.observer,
                    MOST_WAITING,
                    missed + 1,
                )

    def _run(self) -> None:
        while self._has_events():
            context, hook, call, arguments = self._events.popleft()
            try:
                context.run(call, *arguments)
            except BaseException as error:
                hook.log_error(error)

    def _has_events(self) -> bool:
        """Wait for an event; return False if the thread is to end."""
        with self._guard:
            if self._events:
                return True
            self._is_waiting = True
        is_woken = self._wake.acquire(timeout=_IDLE)
        with self._guard:
            if not is_woken and not self._is_waiting:
                self._wake.acquire()  # it was released after the wait was over
            elif not is_woken:
                self._is_waiting = self._is_running = False
                return False
        return True


class _Watched:
    """An observer, whose faults are kept from requests and from other observers."""

    __slots__ = ("__weakref__", "_errors", "_events", "_hooks", "_late", "clock", "observer")

    def __init__(
        self, observer: RequestObserver, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        self.observer = observer
        self._errors = OncePerInterval(_LOG_INTERVAL, clock)
        self._late: _Late | None = None
        self._events = frozenset(
            name for name in (*_EVENTS, *BRIEF_EVENTS) if overrides(observer, name)
        )
        # Shared by all who tell this observer, so that all notice if it is slow. Weak, because each
        # hook holds this object: an observer that nobody tells any more is let go at once.
        self._hooks: WeakValueDictionary[str, Hook] = WeakValueDictionary()

    def hook(self, name: str) -> Hook | None:
        """Return the hook for an event; None if the observer does not want to know of it."""
        if name not in self._events:
            return None
        hook = self._hooks.get(name)
        if hook is None:
            hook = Hook(self, name)
            if self._late is not None:
                hook.call = partial(self._late.put, hook, hook.call)
            hook = self._hooks.setdefault(name, hook)
        return hook

    def on_error(self, name: str, error: BaseException) -> None:
        """The observer has raised."""
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

    def on_slow(self, name: str, seconds: float) -> None:
        """The observer has kept the loop waiting: it is not waited for again."""
        if self._late is not None:
            return
        log.warning(
            "%s of the request observer %r took %.3f s, in which the event loop could do nothing "
            "else: from now on it is told in a thread of its own",
            name,
            self.observer,
            seconds,
        )
        self._late = late = _Late(self)
        for hook in list(self._hooks.values()):
            hook.call = partial(late.put, hook, hook.call)


class Hook:
    """One method of an observer. `call` tells the observer, now or later."""

    __slots__ = ("__weakref__", "_name", "_watched", "call", "slow_after")

    def __init__(self, watched: _Watched, name: str) -> None:
        self.slow_after = SLOW
        self._watched = watched
        self._name = name
        self.call: Callable[..., object] = getattr(watched.observer, name)

    def on_error(self, error: BaseException) -> None:
        """The call has raised `error`, on the loop or in the caller's thread."""
        self.log_error(error)
        reraise_on_loop(error)

    def log_error(self, error: BaseException) -> None:
        """Say in the log that the call has raised `error`."""
        self._watched.on_error(self._name, error)

    def on_slow(self, seconds: float) -> None:
        """The call has taken too long."""
        self._watched.on_slow(self._name, seconds)

    def tell(self, *arguments: Any) -> None:
        """Call it with nothing but these arguments; for the events that have no request."""
        clock = self._watched.clock
        before = clock()
        try:
            self.call(*arguments)
        except BaseException as error:
            self.on_error(error)
        seconds = clock() - before
        if seconds > self.slow_after:
            self.on_slow(seconds)


class Hooks:
    """The methods of some observers by the event that they are called for."""

    __slots__ = ("attempt", "clock", "end", "page", "retry", "speculation", "start")

    def __init__(
        self, watched: Iterable[_Watched], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        known = list(watched)

        def of(name: str) -> tuple[Hook, ...]:
            return tuple(hook for one in known if (hook := one.hook(name)) is not None)

        self.start = of("on_start")
        # `on_page` calls `on_start` unless it is overridden.
        self.page = tuple(
            hook
            for one in known
            if (hook := one.hook("on_page") or one.hook("on_start")) is not None
        )
        self.attempt = of("on_attempt")
        self.retry = of("on_retry")
        self.speculation = of("on_speculation")
        self.end = of("on_end")

    @property
    def are_needed(self) -> bool:
        """True if there is any."""
        return any(getattr(self, event) for event in self.__slots__ if event != "clock")


class Observers(bases.CoreBase):
    """Whom requests tell.

    `on_latency` is called with the host and the seconds of each answer that shows how fast it
    works, `on_refusal` with those of each other error. `on_failure` is called with the host
    (None if nothing was sent), the error of each failed attempt and the retry policy's decision
    (None if it was not asked). Each is None if
    nobody wants to know: that costs nothing.
    """

    __slots__ = ("_brief", "_by_id", "_own", "clock", "on_failure", "on_refusal")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.on_latency: LatencyObserver | None = None
        self.on_refusal: LatencyObserver | None = None
        self.on_failure: FailureObserver | None = None
        self._brief: dict[str, tuple[Callable[..., object], ...]] = {}
        self._own: tuple[RequestObserver, ...] = ()
        # They hold their observers, so that no other object gets the id meanwhile. Whoever tells an
        # observer holds its guard: those that nobody tells are forgotten.
        self._by_id: WeakValueDictionary[int, _Watched] = WeakValueDictionary()

    def observe_latencies(self, observer: LatencyObserver) -> None:
        """Call `observer` for each result, and each error that the host had to work for."""
        self._observe("on_latency", observer)

    def _observe(self, name: str, observer: Callable[..., object]) -> None:
        self._call(name, (*self._brief.get(name, ()), observer))

    def _call(self, name: str, every: tuple[Callable[..., object], ...]) -> None:
        def tell_all(*arguments: Any) -> None:
            for observer in every:
                observer(*arguments)

        self._brief[name] = every
        # A single observer is called directly: this is part of every answer's cost.
        setattr(self, name, tell_all if len(every) > 1 else every[0] if every else None)

    def observe_requests(self, observer: RequestObserver, is_trusted: bool = False) -> None:
        """Tell an observer of all requests from now on.

        :param is_trusted: True for the driver's own, which neither raise nor wait.
        """
        watched = self.watched(observer)
        for name in BRIEF_EVENTS:
            hook = watched.hook(name)
            if hook is not None:
                self._observe(name, hook.call if is_trusted else hook.tell)
        self._own = (*self._own, observer)
        self._on_observers_changed()

    def forget_observer(self, observer: RequestObserver) -> None:
        """Tell `observer` of no more requests; of those under way to their end."""
        self._own = tuple(one for one in self._own if one is not observer)
        watched = self.watched(observer)
        for name in BRIEF_EVENTS:
            hook = watched.hook(name)
            if hook is not None:
                left = (one for one in self._brief[name] if one != hook.tell)
                self._call(name, tuple(left))
        self._on_observers_changed()

    def watched(self, observer: RequestObserver) -> _Watched:
        """Return a guard against the faults of `observer`, one for each observer."""
        found = self._by_id.get(id(observer))
        if found is None:
            found = self._by_id.setdefault(id(observer), _Watched(observer, self.clock))
        return found

    def hooks_of(self, observers: Iterable[RequestObserver]) -> Hooks | None:
        """Return the hooks of the cluster's observers and of `observers`; None if there is none."""
        hooks = Hooks([self.watched(one) for one in (*self._own, *observers)], self.clock)
        return hooks if hooks.are_needed else None

    def _on_observers_changed(self) -> None:
        """The sessions look at the observers again."""


class ObservedSession(bases.EngineBase):
    """The part of the engine's session that is for observers.

    `hooks` are those of the observers of the session and the cluster; None if there is none.
    `attends` is True if requests have to be told to them, or to the throttler: one look for both.
    """

    __slots__ = ("_generation", "hooks", "observers", "throttle")

    core: Core
    hooks: Hooks | None
    throttle: RequestThrottler | None
    attends: bool
    observers: tuple[RequestObserver, ...]
    # Stands for the session and the observers that it and the cluster have now: the observers of a
    # profile keep their hooks by it.
    _generation: _Generation

    def observe(self, *observers: RequestObserver) -> None:
        """Tell these, and only these beside the cluster's, of requests from now on."""
        self.observers = observers
        self.follow_observers()

    def follow_observers(self) -> None:
        """The observers of the session or the cluster have changed."""
        self._generation = _Generation()
        self.hooks = self.core.hooks_of(self.observers)
        self.throttle = self.core.throttler
        self.attends = self.hooks is not None or self.throttle is not None

    def attend(self, request: RequestBase, own: Sequence[RequestObserver]) -> None:
        """Prepare `request`, which is new, for its observers and the throttler.

        :param own: the observers of the request's profile.
        """
        if self.throttle is not None:
            request.caller = current_caller()
        request.observed = self.observed(request, own)

    def observed(
        self, request: RequestBase, own: Sequence[RequestObserver]
    ) -> ObservedRequest | None:
        """Return the observation of `request`, or None.

        :param own: the observers of the request's profile.
        """
        hooks = self.hooks
        if own:
            hooks = self._hooks_beside(own)
        return ObservedRequest(request, hooks) if hooks is not None else None

    def _hooks_beside(self, own: Sequence[RequestObserver]) -> Hooks | None:
        """Return the hooks of the session's observers and those of a profile."""
        # Kept with the profile's observers, and not here: a profile that is made for a call would
        # never be let go.
        kept = own.hooks if isinstance(own, ProfileObservers) else None
        generation = self._generation
        if kept is not None and generation in kept:
            found: Hooks | None = kept[generation]
            return found
        hooks = self.core.hooks_of((*self.observers, *own))
        if kept is not None:
            kept[generation] = hooks
        return hooks


class _Generation:
    """A key that nothing but its session holds."""

    __slots__ = ("__weakref__",)
