"""`Debouncer`: calls a function once for a burst of events."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from cassandra.engine.randomness import generator_or_default

# `action` is called this time after the last event of a burst. A random delay of at most the same
# length is added, so that not all clients react at the same time.
REFRESH_DELAY = 0.2  # seconds


class Debouncer:
    """Calls `action` once for a burst of events, shortly after the last event.

    :param window: returns the longest time in seconds from the first event of a burst to the call.
    :param random: chooses the random part of the delay; None uses the process-wide generator.
    """

    __slots__ = ("_action", "_due", "_handle", "_latest_call", "_random", "_window")

    def __init__(
        self,
        window: Callable[[], float],
        action: Callable[[], None],
        random: random.Random | None = None,
    ) -> None:
        self._window = window
        self._random = random
        self._action = action
        # The timer of the call; None if no event was recorded.
        self._handle: asyncio.TimerHandle | None = None
        # The loop's time at which the timer ends. uvloop's handles do not always know it.
        self._due = 0.0
        self._latest_call = 0.0  # the loop's time at which `action` is called at the latest

    @property
    def due(self) -> float | None:
        """The loop's time at which `action` will be called; None if no event was recorded."""
        return self._due if self._handle is not None else None

    def add(self) -> None:
        """Record an event; call `action` after the delay, which begins again with each event."""
        loop = asyncio.get_running_loop()
        window = max(self._window(), 0.0)
        if self._handle is not None:
            self._handle.cancel()
        else:
            # Set `_latest_call` only for the first event of a burst: otherwise a steady stream of
            # events could delay the call for ever.
            self._latest_call = loop.time() + window
        delay = min(
            REFRESH_DELAY + spread(window, self._random), max(self._latest_call - loop.time(), 0.0)
        )
        self._due = loop.time() + delay
        self._handle = loop.call_at(self._due, self._act)

    def _act(self) -> None:
        """Call `action`. Called at the end of the delay; the next event begins a new burst."""
        self._handle = None
        self._action()

    def cancel(self) -> None:
        """Forget the recorded events, and do not call `action` for them."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


def spread(window: float, random: random.Random | None = None) -> float:
    """Return a random delay in seconds, so that not all clients react at the same time.

    The delay is at most `window` seconds and at most REFRESH_DELAY.

    :param random: the generator; None uses the process-wide generator.
    """
    return float(generator_or_default(random).uniform(0.0, min(window, REFRESH_DELAY)))
