"""The base of observers, which modules below the engine can name."""

from __future__ import annotations

__all__ = ["ObserverBase"]


class ObserverBase:
    """A base of `cassandra.observers.RequestObserver`, whose methods know the engine's requests."""

    __slots__ = ()
