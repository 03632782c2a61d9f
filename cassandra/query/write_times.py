"""Warns if a value that is bound to ``USING TIMESTAMP ?`` has a wrong unit.

The unit is microseconds. Servers accept a write with a timestamp in another unit, but the write
then loses against older values, or wins over all later writes.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cassandra._patterns import pattern
from cassandra._write_times import warn_of_timestamp

if TYPE_CHECKING:
    from cassandra.protocol import bind as bind_plans
    from cassandra.protocol.bind import BindPlan, RowsBlock, ValuesBlock
    from cassandra.protocol.column_specs import ColumnMetadata
    from cassandra.query.prepared import PreparedStatement
else:
    from cassandra._impl import bind as bind_plans

# The name that servers give to the bind marker of ``USING TIMESTAMP ?``.
_UNNAMED = "[timestamp]"
# Matches the named bind marker of ``USING TIMESTAMP :name``.
_NAMED = pattern(r"\bTIMESTAMP\s*:(\w+)", re.IGNORECASE)


def bind_plan_of(
    prepared: PreparedStatement, columns: Sequence[ColumnMetadata], strict: bool = False
) -> BindPlan:
    """Return a bind plan that checks the first write timestamp of a prepared statement, if any.

    :param prepared: the statement.
    :param columns: the statement's bind markers.
    :param strict: see `BindPlan`.
    """
    query, routing_key_indexes = prepared.query_string, prepared.routing_key_indexes
    names = {_UNNAMED}
    if isinstance(query, str) and ":" in query:  # tests of applications may pass None
        names.update(name.lower() for name in _NAMED.findall(query))
    positions = tuple(index for index, column in enumerate(columns) if column.name in names)
    if not positions:
        return bind_plans.BindPlan(columns, routing_key_indexes, strict)
    plan = WriteTimePlan(columns, routing_key_indexes, strict)
    plan.positions = positions
    plan.prepared = weakref.ref(prepared)
    return plan


class WriteTimePlan(bind_plans.BindPlan):
    """A bind plan that warns if the write timestamp of a row has a wrong unit.

    The plan checks only the first row that has a timestamp, because the check takes longer than
    binding a row. The plan then replaces itself in its statement by a plan without the check.

    The plan does not override `bind_many`: its callers check the timestamps themselves, so that
    bulk loads can name the row.
    """

    __slots__ = ("positions", "prepared")

    positions: tuple[int, ...]  # the positions of the timestamps' bind markers
    prepared: weakref.ref[PreparedStatement]

    def bind(self, values: Sequence[object], version: int) -> ValuesBlock:
        """Encode values by position, and check the write timestamp; see `BindPlan.bind`."""
        return self.look_at(super().bind(values, version))

    def bind_row(self, row: Any, version: int) -> ValuesBlock:
        """Encode one row, and check its write timestamp; see `BindPlan.bind_row`."""
        return self.look_at(super().bind_row(row, version))

    def bind_into(self, block: RowsBlock, row: object, version: int) -> None:
        """Bind `row`, check its write timestamp, and append the row to `block`."""
        block.append(self.bind_row(row, version))

    def look_at(self, block: ValuesBlock) -> ValuesBlock:
        """Check the write timestamps of a row, and return the row's values unchanged.

        :param block: the values of the row.
        """
        values = block.values()
        # A value that is null or not set is not a timestamp.
        timestamps = [
            int.from_bytes(values[position], "big", signed=True)
            for position in self.positions
            if isinstance(values[position], bytes)
        ]
        # Check only once: replace this plan of the statement by a plan without the check, unless
        # another plan has already replaced it.
        prepared = self.prepared()
        if timestamps and prepared is not None and prepared.bind_plan is self:
            unchecked = bind_plans.BindPlan(self.columns, self.routing_key_indexes, self.strict)
            prepared.exchange_plan(self, unchecked)
        for timestamp in timestamps:
            warn_of_timestamp(timestamp)
        return block
