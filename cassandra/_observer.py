"""The base class of observers, for modules that must not import the engine."""

from __future__ import annotations


class ObserverBase:
    """The base class of `cassandra.observers.RequestObserver`, for type annotations."""

    __slots__ = ()
