"""Registering observers of requests with clusters and sessions, for both faces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from cassandra._imports import at_first_cluster
from cassandra.client.settings.table import ClusterSettings

if TYPE_CHECKING:
    from cassandra.engine.core import Core
    from cassandra.engine.session import EngineSession
    from cassandra.observers import RequestObserver, checked_observers
else:
    at_first_cluster(__name__, checked_observers="cassandra.observers")

__all__ = ["ObservedByCluster", "ObservedBySession"]


class ObservedByCluster(ClusterSettings):
    """The observers of all requests of a cluster."""

    _core: Core | None = None
    _observing: tuple[RequestObserver, ...] = ()
    """Those that the engine knows."""

    def _registered(self) -> tuple[RequestObserver, ...]:
        # The setting was checked when it was set.
        return cast("tuple[RequestObserver, ...]", tuple(self.request_observers))

    def _follow_observers(self) -> None:
        """Have the engine tell those that are observers now, and no others."""
        core = self._core
        # Before connect there is nobody to tell: `_observe` does it then.
        if core is not None:
            for one in self._observing:
                core.forget_observer(one)
            self._observe(core)

    def add_request_observer(self, observer: RequestObserver) -> None:
        """Have an observer told of all requests of all sessions from now on.

        :param observer: see `cassandra.observers`.
        :raises TypeError: if it is not a `RequestObserver`.
        """
        self.request_observers = (*self.request_observers, observer)

    def remove_request_observer(self, observer: RequestObserver) -> None:
        """Undo `add_request_observer`. Requests under way are told to the end.

        :param observer: one that was registered.
        :raises ValueError: if it is not registered.
        """
        self.request_observers = without(observer, self._registered())

    def _observe(self, core: Core) -> None:
        """Register the observers with an engine."""
        self._observing = self._registered()
        for one in self._observing:
            core.observe_requests(one)


class ObservedBySession:
    """The observers of the requests of a session."""

    _engine: EngineSession

    def add_request_observer(self, observer: RequestObserver) -> None:
        """Have an observer told of the requests of this session from now on.

        :param observer: see `cassandra.observers`.
        :raises TypeError: if it is not a `RequestObserver`.
        :raises ValueError: if it has methods that only observers of a cluster are called by.
        """
        checked_observers((observer,), "session")
        self._engine.observe(*self._engine.observers, observer)

    def remove_request_observer(self, observer: RequestObserver) -> None:
        """Undo `add_request_observer`. Requests under way are told to the end.

        :param observer: one that was registered.
        :raises ValueError: if it is not registered.
        """
        self._engine.observe(*without(observer, self._engine.observers))


def without(
    observer: RequestObserver, observers: Sequence[RequestObserver]
) -> tuple[RequestObserver, ...]:
    """Return `observers` without `observer`, which need not have an equality of its own.

    :raises ValueError: if it is not one of them.
    """
    left = tuple(one for one in observers if one is not observer)
    if len(left) == len(observers):
        raise ValueError(f"{observer!r} is not registered: the observers are {list(observers)!r}")
    return left
