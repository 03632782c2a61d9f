"""Caches with a bound on their contents, in number and in bytes.

Their contents may come from a server, or be generated. Sizes are estimates: of the texts and bytes
in a key, and of the memory that the code which keeps a value says that it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

__all__ = ["Bounded", "text_size"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def text_size(key: object) -> int:
    """Return the size of the texts and bytes in `key`, which may be made of tuples."""
    if isinstance(key, (str, bytes)):
        return len(key)
    return sum(map(text_size, key)) if isinstance(key, tuple) else 0


class Bounded(Generic[K, V]):
    """Holds at most `size` entries, of at most `most_bytes` together.

    If there is no room, all entries are forgotten. A value that alone would take an eighth of the
    bytes is not kept. Any thread may use it: if two make the same value at the same time, both get
    the one that the first has kept, unless that was forgotten in between.
    """

    __slots__ = ("_entries", "held", "most_bytes", "size")

    def __init__(self, size: int, most_bytes: int) -> None:
        self.size = size
        self.most_bytes = most_bytes
        self.held = 0
        self._entries: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return the value of `key`, or None if it is not there."""
        return self._entries.get(key)

    def keep(self, key: K, value: V, cost: int) -> V:
        """Keep `value`, which takes some `cost` bytes with its key.

        :returns: the value that is there already, or `value` if there is none.
        """
        if cost * 8 > self.most_bytes:
            return value
        # All at once: an order of use would cost something at each look-up.
        if len(self._entries) >= self.size or self.held + cost > self.most_bytes:
            self.clear()
        # setdefault is atomic: of two threads that made the same, the first one's value stays.
        self.held += cost
        return self._entries.setdefault(key, value)

    def discard(self, unwanted: Callable[[K], bool]) -> None:
        """Forget the entries whose key is `unwanted`. Their bytes count until all are forgotten."""
        for key in [key for key in self._entries if unwanted(key)]:
            self._entries.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self.held = 0

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> Iterable[V]:
        """Return the values that are kept now."""
        return [*self._entries.values()]
