"""Warns if a value that is bound to ``USING TIMESTAMP ?`` has a wrong unit.

Servers accept such a write, but older values win over it, or it wins over all later writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cassandra._patterns import pattern
from cassandra._write_times import warns_of_timestamp

if TYPE_CHECKING:
    from cassandra.protocol import bind as bind_plans
    from cassandra.protocol.bind import BindPlan, RowsBlock, ValuesBlock
    from cassandra.protocol.column_specs import ColumnMetadata
else:
    from cassandra._impl import bind as bind_plans

# The name that servers give to the marker of ``USING TIMESTAMP ?``.
_UNNAMED = "[timestamp]"
_NAMED = pattern(r"\bTIMESTAMP\s*:(\w+)", re.IGNORECASE)


def bind_plan_of(
    query: str,
    columns: Sequence[ColumnMetadata],
    routing_key_indexes: Sequence[int] | None,
    strict: bool = False,
) -> BindPlan:
    """Return the bind plan of a prepared statement. It checks the write timestamps, if any.

    :param query: the statement's CQL.
    :param columns: its bind markers.
    :param routing_key_indexes: see `BindPlan`.
    :param strict: see `BindPlan`.
    """
    names = {_UNNAMED}
    if isinstance(query, str) and ":" in query:  # tests of applications may pass None
        names.update(name.lower() for name in _NAMED.findall(query))
    positions = tuple(index for index, column in enumerate(columns) if column.name in names)
    if not positions:
        return bind_plans.BindPlan(columns, routing_key_indexes, strict)
    plan = WriteTimePlan(columns, routing_key_indexes, strict)
    plan.positions = positions
    return plan


class WriteTimePlan(bind_plans.BindPlan):
    """A bind plan that looks at the write timestamp of each row, and warns once.

    It does not override `bind_many`: loads have a check of their own, which names the row.
    """

    __slots__ = ("_has_warned", "positions")

    positions: tuple[int, ...]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._has_warned = False

    def bind(self, values: Sequence[object], version: int) -> ValuesBlock:
        """Encode values by position (see `BindPlan.bind`)."""
        return self.look_at(super().bind(values, version))

    def bind_row(self, row: Any, version: int) -> ValuesBlock:
        """Encode one row (see `BindPlan.bind_row`)."""
        return self.look_at(super().bind_row(row, version))

    def bind_into(self, block: RowsBlock, row: object, version: int) -> None:
        """Bind `row` and append it to `block`."""
        block.append(self.bind_row(row, version))

    def look_at(self, block: ValuesBlock) -> ValuesBlock:
        """Look at the write timestamps of a row, and return its values unchanged.

        :param block: the values of the row.
        """
        if not self._has_warned:
            values = block.values()
            for position in self.positions:
                # A value that is null or not set is no timestamp.
                if isinstance(values[position], bytes):
                    timestamp = int.from_bytes(values[position], "big", signed=True)
                    self._has_warned |= warns_of_timestamp(timestamp)
        return block
