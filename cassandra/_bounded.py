"""Caches with a limit on the number of entries and on their bytes.

Entries may come from a server, or may be generated. Sizes are estimates: the strings and bytes in a
key, plus the memory that the caller states for the value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

__all__ = ["Bounded", "text_size"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def text_size(key: object) -> int:
    """Return the size of the strings and bytes in `key`, which may be nested tuples."""
    if isinstance(key, (str, bytes)):
        return len(key)
    return sum(map(text_size, key)) if isinstance(key, tuple) else 0


class Bounded(Generic[K, V]):
    """A cache of at most `size` entries, with at most `most_bytes` bytes together.

    If the cache is full, all entries are dropped. A value that takes an eighth of the bytes alone
    is not stored. Any thread may use the cache: if two threads build the same value at the same
    time, both get the value that was stored first, unless it was dropped in between.
    """

    __slots__ = ("_entries", "held", "most_bytes", "size")

    def __init__(self, size: int, most_bytes: int) -> None:
        self.size = size
        self.most_bytes = most_bytes
        self.held = 0
        self._entries: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return the value of `key`, or None if it is not in the cache."""
        return self._entries.get(key)

    def keep(self, key: K, value: V, cost: int) -> V:
        """Store `value`. Key and value together take about `cost` bytes.

        :returns: the existing value, or `value` if there was none.
        """
        if cost * 8 > self.most_bytes:
            return value
        # Drop all at once: tracking the order of use would slow down each look-up.
        if len(self._entries) >= self.size or self.held + cost > self.most_bytes:
            self.clear()
        # setdefault is atomic: if two threads built the same value, the first one stays.
        self.held += cost
        return self._entries.setdefault(key, value)

    def discard(self, unwanted: Callable[[K], bool]) -> None:
        """Drop the entries whose key is `unwanted`. Their bytes still count until all entries are
        dropped.
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
