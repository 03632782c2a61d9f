"""The number of requests of a load in flight: as many as the servers can take."""

from __future__ import annotations

__all__ = ["Pace"]

_GROW = 1.25
_SHRINK = 0.5
_TOLERANCE = 3.0  # times the best latency
_SLICE = 8  # requests of one slice, for each that may be in flight


class Pace:
    """A limit that rises while answers are quick, and falls if servers cannot keep up.

    :param most: the highest limit.
    :param first: the limit to begin with.
    """

    def __init__(self, most: int, first: int = 64) -> None:
        self.most = most
        self.limit = min(first, most)
        self._ceiling = most  # below `most` once the cluster's throttler had no room
        self._best: float | None = None

    @property
    def slice(self) -> int:
        """The number of requests that are sent before the limit is looked at again."""
        return self.limit * _SLICE

    def note(self, count: int, seconds: float, is_overloaded: bool) -> None:
        """Take the outcome of a slice.

        :param count: how many requests.
        :param seconds: how long they took together.
        :param is_overloaded: True if a server said so, or did not answer in time.
        """
        if is_overloaded:
            self.limit = max(1, int(self.limit * _SHRINK))
            return
        if count < self.limit:
            return  # too few to say anything
        latency = seconds * min(self.limit, count) / count
        best = self._best
        self._best = latency if best is None else min(latency, best * 1.01)
        if best is not None and latency > best * _TOLERANCE:
            self.limit = max(1, int(self.limit * 0.8))
        else:
            self._ceiling = min(self.most, self._ceiling + 1)
            self.limit = min(self._ceiling, int(self.limit * _GROW) + 1)

    def give_way(self) -> None:
        """Take it that the cluster's own throttler had no room: rise slowly from now on."""
        self.limit = max(1, int(self.limit * _SHRINK))
        self._ceiling = self.limit
