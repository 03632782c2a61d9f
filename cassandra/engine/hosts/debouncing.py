"""Bursts of events: an answer to all of them at once, and soon."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from cassandra.engine.randomness import own_or_process

__all__ = ["Debouncer", "spread"]

# Seconds after the last of a burst of events; how far clients spread, so that not all come at once.
REFRESH_DELAY = 0.2


class Debouncer:
    """Calls `action` once for a burst of events, soon after its last one.

    :param window: returns the seconds within which the first event of a burst must be answered.
    :param random: draws a part of them; None for numbers of the process.
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
        self._by = 0.0  # the loop's time that the action is not put off beyond

    @property
    def due(self) -> float | None:
        """The loop's time of the action, or None if no event waits for it."""
        return self._handle.when() if self._handle is not None else None

    def add(self) -> None:
        """Note an event."""
        loop = asyncio.get_running_loop()
        window = max(self._window(), 0.0)
        if self._handle is not None:
            self._handle.cancel()
        else:
            # Set by the first event: a steady stream of them must not put the action off forever.
            self._by = loop.time() + window
        delay = min(REFRESH_DELAY + spread(window, self._random), max(self._by - loop.time(), 0.0))
        self._handle = loop.call_later(delay, self._act)

    def _act(self) -> None:
        self._handle = None
        self._action()

    def cancel(self) -> None:
        """Forget the events that wait for the action."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


def spread(window: float, random: random.Random | None = None) -> float:
    """Return a random part of a window in seconds, so that not all clients come at once.

    :param random: draws it; None for numbers of the process.
    """
    return float(own_or_process(random).uniform(0.0, min(window, REFRESH_DELAY)))
