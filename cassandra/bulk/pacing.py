"""Adapts the number of a load's requests in flight to the speed of the servers."""

from __future__ import annotations

_GROW = 1.25  # factor for the limit after a slice with a good latency
_SHRINK = 0.5  # factor for the limit after an overload
_SLOW = 0.8  # factor for the limit after a slice with a bad latency
_TOLERANCE = 3.0  # a latency is bad if it exceeds this multiple of the best latency
_SLICE = 8  # the number of requests per slice, as a multiple of the limit


class Pace:
    """Adapts the limit of requests in flight to the servers' latency.

    The limit rises while servers respond quickly, and falls if they cannot keep up.

    A load sends its requests in slices (groups of `slice` requests), and calls `note` after each
    slice, which adjusts the limit.

    :param highest: the highest limit.
    :param first: the initial limit.
    """

    def __init__(self, highest: int, first: int = 64) -> None:
        self.highest = highest
        self.limit = min(first, highest)
        # The limit may not rise above this number. `give_way` lowers the number, and each slice
        # with a good latency raises it by 1, up to `highest`.
        self._ceiling = highest
        self._best: float | None = None  # the best latency in seconds

    @property
    def slice(self) -> int:
        """The number of requests that are sent before the limit is adjusted again."""
        return self.limit * _SLICE

    def note(self, count: int, seconds: float, is_overloaded: bool) -> None:
        """Lower the limit after a slice if servers are overloaded or slow; otherwise raise it.

        :param count: the number of requests.
        :param seconds: the time from the first request to the last response.
        :param is_overloaded: True if a server reported overload, or did not respond in time.
        """
        if is_overloaded:
            self.limit = max(1, int(self.limit * _SHRINK))
            return
        if count < self.limit:
            return  # too few requests to measure the latency
        # All `count` requests together took `seconds`, with `limit` requests in flight at a time.
        # So a single request took about this long.
        latency = seconds * min(self.limit, count) / count
        best = self._best
        # Raise the best latency by 1 % per slice, so that a single exceptionally low latency does
        # not count forever.
        self._best = latency if best is None else min(latency, best * 1.01)
        if best is not None and latency > best * _TOLERANCE:
            # The latency has risen, so requests wait in the servers' queues. More requests in
            # flight would not make the load faster.
            self.limit = max(1, int(self.limit * _SLOW))
        else:
            # The ceiling rises by 1 per slice; the limit grows by a quarter until it reaches the
            # ceiling.
            self._ceiling = min(self.highest, self._ceiling + 1)
            self.limit = min(self._ceiling, int(self.limit * _GROW) + 1)

    def give_way(self) -> None:
        """Halve the limit, because the cluster's throttler refused requests.

        That throttler limits all requests of the application. After this call, the limit rises
        slowly, by 1 per slice.
        """
        self.limit = max(1, int(self.limit * _SHRINK))
        self._ceiling = self.limit
