"""Debouncing: one reaction to a burst of events."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from cassandra.engine.randomness import generator_or_default

__all__ = ["Debouncer", "spread"]

# Seconds after the last event of a burst; also the bound of the random delay that spreads clients.
REFRESH_DELAY = 0.2


class Debouncer:
    """Calls `action` once for a burst of events, soon after its last event.

    :param window: returns the seconds within which a burst must be answered, from its first event.
    :param random: draws a random part of the delay; None uses the process-wide generator.
    """

    __slots__ = ("_action", "_by", "_handle", "_random", "_window")

    def __init__(
        self,
        window: Callable[[], float],
        action: Callable[[], None],
        random: random.Random | None = None,
    ) -> None:
        self._window = window
        self._random = random
        self._action = action
        self._handle: asyncio.TimerHandle | None = None
        self._by = 0.0  # loop time: the action is not delayed beyond it

    @property
    def due(self) -> float | None:
        """The loop time of the action; None if no event waits."""
        return self._handle.when() if self._handle is not None else None

    def add(self) -> None:
        """Record an event."""
        loop = asyncio.get_running_loop()
        window = max(self._window(), 0.0)
        if self._handle is not None:
            self._handle.cancel()
        else:
            # Set by the first event, so that a steady stream of events cannot delay the action for
            # ever.
            self._by = loop.time() + window
        delay = min(REFRESH_DELAY + spread(window, self._random), max(self._by - loop.time(), 0.0))
        self._handle = loop.call_later(delay, self._act)

    def _act(self) -> None:
        self._handle = None
        self._action()

    def cancel(self) -> None:
        """Forget the recorded events."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


def spread(window: float, random: random.Random | None = None) -> float:
    """Return a random delay of at most `window` seconds, so that clients do not act all at once.

    :param random: the generator; None uses the process-wide generator.
    """
    return float(generator_or_default(random).uniform(0.0, min(window, REFRESH_DELAY)))
