"""Caches that limit the number of their entries and the memory of the entries.

Limits are necessary because a server may cause any number of entries. The caller passes an estimate
of the memory of each entry.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def text_size(key: object) -> int:
    """Return the total length of all strings and bytes in `key`, which may be a nested tuple."""
    if isinstance(key, (str, bytes)):
        return len(key)
    return sum(map(text_size, key)) if isinstance(key, tuple) else 0


class Bounded(Generic[K, V]):
    """A cache with at most `size` entries, which use about `most_bytes` bytes at most.

    If the cache is full, all entries are dropped. A value that needs more than an eighth of
    `most_bytes` is not stored. Any thread may use the cache. If two threads store a value for the
    same key, both get the value that was stored first, unless it was dropped in between.
    """

    __slots__ = ("_entries", "get", "held", "most_bytes", "size")

    def __init__(self, size: int, most_bytes: int) -> None:
        self.size = size
        self.most_bytes = most_bytes
        self.held = 0  # the estimated bytes of all entries
        self._entries: dict[K, V] = {}
        # Returns the value of a key, or None. `get` is the method of the dict itself, because a
        # method of this class would add a call to each look-up.
        self.get: Callable[[K], V | None] = self._entries.get

    def keep(self, key: K, value: V, cost: int) -> V:
        """Store `value`, unless it is too large or `key` already has a value.

        :param cost: the estimated number of bytes of key and value together.
        :returns: the existing value of `key`, or `value` if there was none.
        """
        # Do not store a value of more than an eighth of the limit: it would displace too many other
        # values.
        if cost * 8 > self.most_bytes:
            return value
        # Drop all entries when the cache is full. To drop only the least recently used entries,
        # each look-up would have to record the order of use, which is slower.
        if len(self._entries) >= self.size or self.held + cost > self.most_bytes:
            self.clear()
        # `setdefault` is atomic: if two threads store a value for the key, both return the value
        # that was stored first.
        if key not in self._entries:
            self.held += cost
        return self._entries.setdefault(key, value)

    def discard(self, unwanted: Callable[[K], bool]) -> None:
        """Drop the entries for whose keys `unwanted` returns True.

        The bytes of these entries still count until `clear` is called.
        """
        for key in [key for key in self._entries if unwanted(key)]:
            self._entries.pop(key, None)

    def clear(self) -> None:
        """Drop all entries."""
        self._entries.clear()
        self.held = 0

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> Iterable[V]:
        """Return the current values."""
        return [*self._entries.values()]
