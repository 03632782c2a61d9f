"""Stream ids of one connection: lowest free id first, so that the ids in use stay few and small.

The caller knows which request a stream belongs to, and notices an answer on a stream without one.
"""

from __future__ import annotations

from heapq import heappop, heappush

# [short], and negative ids belong to the server (native_protocol_v5.spec, section 2.4.1.3)
MAX_STREAMS = 32768


class StreamIds:
    """Takes and gives back stream ids 0 .. limit-1."""

    __slots__ = ("_free", "_next", "limit")

    def __init__(self, limit: int = MAX_STREAMS) -> None:
        if not 0 < limit <= MAX_STREAMS:
            raise ValueError(f"{limit} streams; a connection has 1 to {MAX_STREAMS}")
        self.limit = limit
        self._next = 0
        self._free: list[int] = []

    def take(self) -> int:
        """Return the lowest free id, or -1 if all are in use."""
        if self._free:
            return heappop(self._free)
        if self._next >= self.limit:
            return -1
        stream = self._next
        self._next = stream + 1
        return stream

    def give_back(self, stream: int) -> None:
        """Free `stream`: its answer has come."""
        heappush(self._free, stream)
