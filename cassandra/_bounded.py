"""Caches with a bound on what they hold, in number and in bytes: what stands in them may come from
a server, or be generated.

Sizes are estimates: of the texts and bytes in a key, and of what the program that keeps a value
says that it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

__all__ = ["Bounded", "text_size"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def text_size(key: object) -> int:
    """Bytes of the texts, and of the bytes, in `key` and in the tuples that it is made of."""
    if isinstance(key, (str, bytes)):
        return len(key)
    return sum(map(text_size, key)) if isinstance(key, tuple) else 0


class Bounded(Generic[K, V]):
    """At most `size` entries of at most `most_bytes` together: where there is no room, all are
    forgotten.

    What alone would take an eighth of the bytes is not kept. Any thread may use it: two that make
    the same at the same time both get what the first has kept, unless it was forgotten in between.
    """

    __slots__ = ("_entries", "held", "most_bytes", "size")

    def __init__(self, size: int, most_bytes: int) -> None:
        self.size = size
        self.most_bytes = most_bytes
        self.held = 0
        self._entries: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value of `key`; None if it is not there."""
        return self._entries.get(key)

    def keep(self, key: K, value: V, cost: int) -> V:
        """Keep `value`, which takes some `cost` bytes with its key; what is there now, or `value`
        if it is not kept.
        """
        if cost * 8 > self.most_bytes:
            return value
        if len(self._entries) >= self.size or self.held + cost > self.most_bytes:
            self.clear()
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
        """What is kept, now."""
        return [*self._entries.values()]
