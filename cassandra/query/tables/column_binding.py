"""Serializes the rows of tables; the compiled version is ``cassandra._accel.column_binding``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra.protocol.bind import BindPlan, RowsBlock
    from cassandra.query.tables.rows import TableRows

__all__ = ["bind_table"]


def bind_table(plan: BindPlan, rows: TableRows, version: int) -> RowsBlock:
    """Bind the rows of a table.

    The compiled version reads numbers, strings, dates and times directly from the memory of Arrow
    and NumPy.

    :param plan: the bind plan of the statement.
    :param rows: the table.
    :param version: the protocol version.
    :raises ValueError: if a value is out of range.
    :raises TypeError: if a value does not fit its column's type.
    """
    return plan.bind_many(rows, version)
