"""The registry of prepared statements that are still in use."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from cassandra.query.prepared import existing_statements

if TYPE_CHECKING:
    from cassandra.query.prepared import PreparedStatement


class StatementRegistry:
    """The prepared statements that the application still refers to.

    The registry must be used on the event loop. Only its length and `all_with` may also be used in
    other threads. The registry has weak references: when the application has dropped a statement,
    the statement is not prepared again on hosts that come back. There may be a million statements,
    so a look-up by id should not scan all of them.

    `all_with` and `each` also return statements that were not added: copies, unpickled statements,
    and those of clusters that were shut down, which may be executed with this cluster, too.

    :param other_homes: returns the `home` of each other cluster that is open. Their statements are
        left out.
    """

    __slots__ = ("_by_id", "_other_homes", "_others")

    def __init__(self, other_homes: Callable[[], Collection[object]] = tuple) -> None:
        self._other_homes = other_homes
        self._by_id: weakref.WeakValueDictionary[bytes, PreparedStatement] = (
            weakref.WeakValueDictionary()
        )
        # Other statements whose id is already in `_by_id`: callers that prepare the same CQL get
        # separate objects. This is a dict, because we iterate in insertion order.
        self._others: weakref.WeakKeyDictionary[PreparedStatement, None] = (
            weakref.WeakKeyDictionary()
        )

    def add(self, prepared: PreparedStatement) -> PreparedStatement:
        """Add `prepared`. It stays in the registry as long as the application refers to it.

        :returns: an earlier statement with the same id, or `prepared` if there is none.
        """
        query_id = prepared.query_id
        existing = self._by_id.setdefault(query_id, prepared)
        if existing is not prepared:
            if existing.query_id == query_id:
                self._others[prepared] = None
                return existing
            # The earlier statement has got another id since it was added. Keep it in `_others`, and
            # store the new statement by the id.
            self._others[existing] = None
            self._by_id[query_id] = prepared
        return prepared

    def __len__(self) -> int:
        return len(self._by_id) + len(self._others)

    def by_id(self, query_id: bytes) -> PreparedStatement | None:
        """Return a statement with this id; None if the application does not use one any more."""
        candidate = self._by_id.get(query_id)
        if candidate is not None and candidate.query_id == query_id:
            return candidate
        # The statement was garbage collected, or got another id when it was prepared again. Scan
        # all statements, because a statement in `_others` may have this id.
        for prepared in self.each_added_once():
            if prepared.query_id == query_id:
                # Move the statement that now has another id to `_others`, and store this statement
                # by the id.
                if candidate is not None:
                    self._others[candidate] = None
                self._by_id[query_id] = prepared
                return prepared
        return None

    def all_with(self, query_id: bytes) -> list[PreparedStatement]:
        """Return all statements with this id, also those that were not added.

        There may be several, because callers that prepare the same CQL get separate objects. This
        method scans all statements. It may be called from the additional loops of
        `cassandra.engine.workers`.
        """
        statements = [*self._existing(self._references()), *self._not_added()]
        with_id = [prepared for prepared in statements if prepared.query_id == query_id]
        return list(dict.fromkeys(with_id))  # a dict has each statement once

    def each(self) -> Iterator[PreparedStatement]:
        """Return an iterator over the current statements, also those that were not added."""
        references = dict.fromkeys([*self._references(), *map(weakref.ref, self._not_added())])
        return self._existing(references)

    def each_added_once(self) -> Iterator[PreparedStatement]:
        """Return an iterator over the statements that were added, with only one for each id."""
        return self._distinct(self._existing(self._references()))

    def _not_added(self) -> list[PreparedStatement]:
        """Return statements that may be executed with this cluster; some may have been added."""
        statements = existing_statements()
        other_homes = self._other_homes()
        if not other_homes:
            return statements
        return [prepared for prepared in statements if prepared._home not in other_homes]

    def _references(self) -> list[weakref.ref[PreparedStatement]]:
        # Copy the references, because statements may be added and freed during the iteration, also
        # by the main loop while another loop calls `all_with`.
        return [*self._by_id.valuerefs(), *self._others.keyrefs()]

    @staticmethod
    def _existing(
        references: Iterable[weakref.ref[PreparedStatement]],
    ) -> Iterator[PreparedStatement]:
        """Yield the statements of `references` that still exist."""
        for reference in references:
            prepared = reference()
            if prepared is not None:
                yield prepared
            # Delete this variable; otherwise the generator would keep the statement alive until the
            # caller asks for the next statement.
            del prepared

    @staticmethod
    def _distinct(statements: Iterator[PreparedStatement]) -> Iterator[PreparedStatement]:
        """Yield one statement for each id."""
        seen: set[bytes] = set()
        for prepared in statements:
            if prepared.query_id not in seen:
                seen.add(prepared.query_id)
                yield prepared
            del prepared  # for the same reason as in `_existing`
