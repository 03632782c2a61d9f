"""The base class of observers, for modules below the engine."""

from __future__ import annotations

__all__ = ["ObserverBase"]


class ObserverBase:
    """The base of `cassandra.observers.RequestObserver`, whose methods refer to requests of the
    engine.
    """

    __slots__ = ()
