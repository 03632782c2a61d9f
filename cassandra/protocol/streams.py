"""Allocates the stream ids of one connection.

The lowest free id is used first, so that the ids stay small. The caller keeps track of which
request uses which stream, and detects responses on a stream without a request.
"""

from __future__ import annotations

from heapq import heappop, heappush

# A stream id is a signed 16-bit number, and negative ids are reserved for the server
# (native_protocol_v5.spec, section 2.4.1.3).
MAX_STREAMS = 32768


class StreamIds:
    """Allocates and frees the stream ids from 0 to `limit` - 1."""

    __slots__ = ("_free", "_next", "limit")

    def __init__(self, limit: int = MAX_STREAMS) -> None:
        if not 0 < limit <= MAX_STREAMS:
            raise ValueError(f"{limit} streams; a connection has 1 to {MAX_STREAMS}")
        self.limit = limit
        self._next = 0  # the lowest id that has never been used
        self._free: list[int] = []  # a heap of the ids that were released

    def take(self) -> int:
        """Allocate and return the lowest free id; return -1 if all ids are in use."""
        # Use released ids before new ids, so that the numbers stay small.
        if self._free:
            return heappop(self._free)
        if self._next >= self.limit:
            return -1
        stream = self._next
        self._next = stream + 1
        return stream

    def give_back(self, stream: int) -> None:
        """Free `stream`, after its response has arrived."""
        heappush(self._free, stream)
