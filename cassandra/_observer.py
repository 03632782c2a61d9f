"""The base class of observers, for modules that must not import the engine."""

from __future__ import annotations


class ObserverBase:
    """The base of `cassandra.observers.RequestObserver`, for type annotations in modules that must
    not import the engine.
    """

    __slots__ = ()
