"""Tables to the bytes of their rows. The compiled twin is ``cassandra._accel.column_binding``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra.protocol.bind import BindPlan, RowsBlock
    from cassandra.query.tables.rows import TableRows

__all__ = ["bind_table"]


def bind_table(plan: BindPlan, rows: TableRows, version: int) -> RowsBlock:
    """Bind the rows of a table.

    The compiled twin reads numbers, texts and moments straight from the memory of Arrow and NumPy.

    :param plan: how values are bound.
    :param rows: the table.
    :param version: the version of the protocol.
    :raises ValueError: if a value is out of range.
    :raises TypeError: if a value does not suit its type.
    """
    return plan.bind_many(rows, version)
