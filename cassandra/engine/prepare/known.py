"""The prepared statements that are still in use."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra.query.prepared import PreparedStatement

__all__ = ["KnownStatements"]


class KnownStatements:
    """The prepared statements that somebody holds; for use on the event loop.

    Weakly: a statement that the program has dropped is not prepared again on hosts that come back.
    There may be a million of them, so one is found by its id without a look at the others.
    """

    __slots__ = ("_by_id", "_others")

    def __init__(self) -> None:
        self._by_id: weakref.WeakValueDictionary[bytes, PreparedStatement] = (
            weakref.WeakValueDictionary()
        )
        # Those whose id another one has: callers that prepare the same text get one each.
        # A dictionary, because it is walked in the order of insertion.
        self._others: weakref.WeakKeyDictionary[PreparedStatement, None] = (
            weakref.WeakKeyDictionary()
        )

    def add(self, prepared: PreparedStatement) -> None:
        """Remember `prepared`, for as long as somebody holds it."""
        if self._by_id.setdefault(prepared.query_id, prepared) is not prepared:
            self._others[prepared] = None

    def __len__(self) -> int:
        return len(self._by_id) + len(self._others)

    def by_id(self, query_id: bytes) -> PreparedStatement | None:
        """Return a statement with this id, or None if nobody holds one."""
        found = self._by_id.get(query_id)
        if found is not None and found.query_id == query_id:
            return found
        # The one that was filed is gone, or its id has changed: it was prepared again.
        for prepared in self.each_once():
            if prepared.query_id == query_id:
                if found is not None:
                    self._others[found] = None
                self._by_id[query_id] = prepared
                return prepared
        return None

    def each_once(self) -> Iterator[PreparedStatement]:
        """Return an iterator over the statements of now: one for each id."""
        # References first, which is one step for all of them: statements come and go meanwhile.
        held = [*self._by_id.valuerefs(), *map(weakref.ref, self._others)]
        return self._distinct(held)

    @staticmethod
    def _distinct(held: list[weakref.ref[PreparedStatement]]) -> Iterator[PreparedStatement]:
        seen: set[bytes] = set()
        for reference in held:
            prepared = reference()
            if prepared is not None and prepared.query_id not in seen:
                seen.add(prepared.query_id)
                yield prepared
            # Or the generator would hold it while others wait.
            del prepared
