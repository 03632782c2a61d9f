"""The methods with which clusters and sessions register request observers, for both APIs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from cassandra._forks import renew_in_child
from cassandra._imports import at_first_cluster
from cassandra._threads import Lock
from cassandra.client.settings.table import ClusterSettings

if TYPE_CHECKING:
    from cassandra.engine.core import Core
    from cassandra.engine.session import EngineSession
    from cassandra.metrics import Metrics
    from cassandra.observers import RequestObserver, checked_observers
else:
    at_first_cluster(__name__, checked_observers="cassandra.observers")

# Held while observers are added or removed, so that no change is lost if two threads do that at the
# same time.
_changing = Lock()


@renew_in_child
def _renew_lock() -> None:
    """Replace the lock in a forked child, where the thread that held it does not exist."""
    global _changing
    _changing = Lock()


class ObservedByCluster(ClusterSettings):
    """The base class of both `Cluster` classes that has the observers of all requests."""

    metrics: Metrics | None

    _core: Core | None = None
    _observing: tuple[RequestObserver, ...] = ()
    """The observers that are now registered with the engine."""

    def _registered(self) -> tuple[RequestObserver, ...]:
        # The setting's check has ensured that each item is a `RequestObserver`.
        return cast("tuple[RequestObserver, ...]", tuple(self.request_observers))

    def _follow_observers(self) -> None:
        """Register the observers in the changed setting `request_observers` with the engine.

        The previous observers are removed first.
        """
        core = self._core
        # Before `connect` there is no engine. `connect` then calls `_observe`, which registers the
        # observers.
        if core is not None:
            for observer in self._observing:
                core.forget_observer(observer)
            self._observe(core)

    def add_request_observer(self, observer: RequestObserver) -> None:
        """Notify an observer of all requests of all sessions from now on.

        :param observer: see `cassandra.observers`.
        :raises TypeError: if `observer` is not a `RequestObserver`.
        """
        with _changing:
            self.request_observers = (*self.request_observers, observer)

    def remove_request_observer(self, observer: RequestObserver) -> None:
        """Remove an observer. It is still notified about requests that have already started.

        :param observer: a registered observer.
        :raises ValueError: if it is not registered.
        """
        with _changing:
            self.request_observers = without(observer, self._registered())

    def _observe_connecting(self, core: Core) -> None:
        """Let observers and metrics count the connections that fail while the engine connects."""
        for observer in self._registered():
            core.observe_connection_failures(observer)
        if self.metrics is not None:
            core.observe_connection_failures(self.metrics._connection_observer())

    def _observe(self, core: Core) -> None:
        """Register the observers of the setting `request_observers` with an engine."""
        self._observing = self._registered()
        for observer in self._observing:
            core.observe_requests(observer)


class ObservedBySession:
    """The base class of both `Session` classes that has the observers of a session's requests."""

    _engine: EngineSession

    def add_request_observer(self, observer: RequestObserver) -> None:
        """Notify an observer of the requests of this session from now on.

        :param observer: see `cassandra.observers`.
        :raises TypeError: if `observer` is not a `RequestObserver`.
        :raises ValueError: if `observer` has methods that are called only for observers of a
            cluster.
        """
        checked_observers((observer,), "session")
        with _changing:
            self._engine.observe(*self._engine.observers, observer)

    def remove_request_observer(self, observer: RequestObserver) -> None:
        """Remove an observer. It is still notified about requests that have already started.

        :param observer: a registered observer.
        :raises ValueError: if it is not registered.
        """
        with _changing:
            self._engine.observe(*without(observer, self._engine.observers))


def without(
    observer: RequestObserver, observers: Sequence[RequestObserver]
) -> tuple[RequestObserver, ...]:
    """Return `observers` without `observer`, compared by identity.

    :raises ValueError: if `observer` is not registered.
    """
    remaining = tuple(other for other in observers if other is not observer)
    if len(remaining) == len(observers):
        raise ValueError(f"{observer!r} is not registered: the observers are {list(observers)!r}")
    return remaining
