"""A mapping of limited size that forgets the entries that were used longest ago."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from cassandra._bounded import text_size
from cassandra._forks import renewed
from cassandra._threads import RLock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentlyUsed(Generic[K, V]):
    """A mapping of limited size, safe to use from any thread.

    The mapping holds at most `size` entries, and at most `most_bytes` bytes of strings in the keys
    of these entries. The limit counts only the keys. If the values are prepared statements, the
    whole mapping needs about three times as much memory, because a statement contains its query
    string and the names of its columns again.
    """

    __slots__ = ("__weakref__", "_entries", "_lock", "held", "most_bytes", "size")

    def __init__(self, size: int, most_bytes: int = 1 << 24) -> None:
        if size < 1:
            raise ValueError(f"size must be at least 1, but is {size}")
        self.size = size
        self.most_bytes = most_bytes
        self.held = 0  # the number of bytes in the strings of the keys
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = RLock()  # reentrant, because a signal handler may also prepare a statement
        renewed(self)  # replaces the lock in the child process after a fork

    def _renew_locks(self) -> None:
        """Replace the lock in a forked child, in which the thread that holds it does not exist."""
        self._lock = RLock()

    def get(self, key: K) -> V | None:
        """Return the value of `key` and mark it as used now; None if `key` is absent."""
        with self._lock:
            value = self._entries.get(key)
            # If the key is missing, do not call `move_to_end`, which would raise KeyError.
            if value is not None:
                self._entries.move_to_end(key)
            return value

    def drop(self, key: K) -> None:
        """Forget the value of `key`, if it is present."""
        with self._lock:
            if self._entries.pop(key, None) is not None:
                self.held -= text_size(key)

    def put(self, key: K, value: V) -> None:
        """Store `value`; forget the entries that were used longest ago if a limit is exceeded."""
        cost = text_size(key)
        with self._lock:
            # Two threads may prepare the same query, so count the size of a key only once.
            if key not in self._entries:
                self.held += cost
            self._entries[key] = value
            self._entries.move_to_end(key)
            # Keep the newest entry, however long its key is, because it is about to be used.
            while len(self._entries) > self.size or (
                self.held > self.most_bytes and len(self._entries) > 1
            ):
                self.held -= text_size(self._entries.popitem(last=False)[0])

    # This needs no lock, because `len` of the dict is atomic.
    def __len__(self) -> int:
        return len(self._entries)
