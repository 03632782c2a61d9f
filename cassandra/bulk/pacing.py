"""Adapts the number of a load's requests in flight to what the servers can take."""

from __future__ import annotations

__all__ = ["Pace"]

_GROW = 1.25
_SHRINK = 0.5
_TOLERANCE = 3.0  # times the best latency
_SLICE = 8  # requests per slice, for each that may be in flight


class Pace:
    """A limit that rises while answers are quick, and falls if servers cannot keep up.

    :param highest: the highest limit.
    :param first: the initial limit.
    """

    def __init__(self, highest: int, first: int = 64) -> None:
        self.highest = highest
        self.limit = min(first, highest)
        # lower than `highest` once the cluster's throttler refused requests
        self._ceiling = highest
        self._best: float | None = None

    @property
    def slice(self) -> int:
        """The number of requests that are sent before the limit is adjusted again."""
        return self.limit * _SLICE

    def note(self, count: int, seconds: float, is_overloaded: bool) -> None:
        """Record the outcome of a slice.

        :param count: the number of requests.
        :param seconds: their total duration.
        :param is_overloaded: True if a server reported overload, or did not answer in time.
        """
        if is_overloaded:
            self.limit = max(1, int(self.limit * _SHRINK))
            return
        if count < self.limit:
            return  # too few to tell
        latency = seconds * min(self.limit, count) / count
        best = self._best
        self._best = latency if best is None else min(latency, best * 1.01)
        if best is not None and latency > best * _TOLERANCE:
            self.limit = max(1, int(self.limit * 0.8))
        else:
            self._ceiling = min(self.highest, self._ceiling + 1)
            self.limit = min(self._ceiling, int(self.limit * _GROW) + 1)

    def give_way(self) -> None:
        """Back off because the cluster's own throttler refused requests; then rise slowly."""
        self.limit = max(1, int(self.limit * _SHRINK))
        self._ceiling = self.limit
