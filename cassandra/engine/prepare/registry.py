"""The registry of prepared statements that are still in use."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra.query.prepared import PreparedStatement

__all__ = ["StatementRegistry"]


class StatementRegistry:
    """Prepared statements that are still referenced; for use on the event loop.

    Weak references: a statement that the application has dropped is not prepared again on hosts
    that come back. There may be a million of them, so look-ups by id do not scan the others.
    """

    __slots__ = ("_by_id", "_others")

    def __init__(self) -> None:
        self._by_id: weakref.WeakValueDictionary[bytes, PreparedStatement] = (
            weakref.WeakValueDictionary()
        )
        # Statements whose id is taken in `_by_id`: callers that prepare the same CQL get separate
        # objects. A dict, because we iterate in insertion order.
        self._others: weakref.WeakKeyDictionary[PreparedStatement, None] = (
            weakref.WeakKeyDictionary()
        )

    def add(self, prepared: PreparedStatement) -> PreparedStatement:
        """Add `prepared`; it stays as long as somebody else refers to it.

        :returns: `prepared`, or an earlier statement with the same id.
        """
        query_id = prepared.query_id
        first = self._by_id.setdefault(query_id, prepared)
        if first is not prepared:
            if first.query_id == query_id:
                self._others[prepared] = None
                return first
            # The earlier statement has got another id since then.
            self._others[first] = None
            self._by_id[query_id] = prepared
        return prepared

    def __len__(self) -> int:
        return len(self._by_id) + len(self._others)

    def by_id(self, query_id: bytes) -> PreparedStatement | None:
        """Return a statement with this id, or None if there is none any more."""
        candidate = self._by_id.get(query_id)
        if candidate is not None and candidate.query_id == query_id:
            return candidate
        # The statement was collected, or got another id when it was prepared again: scan the
        # others.
        for prepared in self.each_once():
            if prepared.query_id == query_id:
                if candidate is not None:
                    self._others[candidate] = None
                self._by_id[query_id] = prepared
                return prepared
        return None

    def all_with(self, query_id: bytes) -> list[PreparedStatement]:
        """Return all statements with this id: callers with the same CQL have separate objects.

        This scans all statements.
        """
        held = [*self._by_id.values(), *self._others.keys()]
        return [prepared for prepared in held if prepared.query_id == query_id]

    def each_once(self) -> Iterator[PreparedStatement]:
        """Return an iterator over the present statements, with distinct ids."""
        # Copy the references in one step, because statements come and go while we iterate.
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
            # Otherwise the suspended generator would keep the statement alive.
            del prepared
