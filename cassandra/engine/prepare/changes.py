"""The latest schema changes, which matter to statements that are being prepared."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cassandra.query.prepared import PreparedStatement

LATEST_CHANGES = 64  # so many schema changes are known in detail


class SchemaChanges(NamedTuple):
    """The latest schema changes that may have changed the types of statements.

    A response to a PREPARE may describe a statement as it was before a change that was reported
    while the PREPARE was under way.

    :param total: the number of all changes so far.
    :param latest: for each of the latest changes, a function that tells if it affects a statement.
    """

    total: int = 0
    latest: tuple[Callable[[PreparedStatement], bool], ...] = ()

    def with_change(self, affects: Callable[[PreparedStatement], bool]) -> SchemaChanges:
        """Return these changes and a further one."""
        return SchemaChanges(self.total + 1, (*self.latest[1 - LATEST_CHANGES :], affects))

    def have_affected(self, prepared: PreparedStatement, since: int) -> bool:
        """Return True if a change may have affected a statement.

        :param since: only changes after this number of changes matter.
        """
        new = self.total - since
        if new > len(self.latest):
            return True  # some of the changes are not known any more
        return any(affects(prepared) for affects in self.latest[len(self.latest) - new :])
