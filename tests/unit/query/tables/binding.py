"""Helpers for tests of tables: Arrow tables of encoded values, and their rows as bound values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.columnar.layouts import ColumnOptions
from cassandra.protocol.columnar.pages import ArrowPage
from cassandra.query.tables.rows import rows_of
from tests.conftest import Implementation
from tests.unit.protocol.pages import column_plan, page_of
from tests.unit.protocol.wire import FakeColumn

pyarrow = pytest.importorskip("pyarrow")

OPTIONS = [ColumnOptions(), ColumnOptions(durations="struct")]


def table_of(
    implementation: Implementation,
    cqltype: Any,
    cells: Sequence[bytes | None],
    options: ColumnOptions = OPTIONS[0],
) -> Any:
    """Return an Arrow table with one column c0 that has these cells."""
    page = column_plan(implementation, [cqltype], options).read(
        page_of([[cell] for cell in cells]), 0, len(cells)
    )
    return pyarrow.Table.from_batches([pyarrow.record_batch(ArrowPage(page))])


def bound(implementation: Implementation, cqltype: Any, table: Any) -> list[bytes | None]:
    """Return the encoded value (or None) of each row of `table`, bound as a row of one column."""
    marker = ColumnMetadata("ks", "t", "c0", cqltype)
    plan = implementation.bind.BindPlan(
        [FakeColumn("c0", cqltype.build_codec(implementation.codecs))], None
    )
    block = plan.bind_many(rows_of(table, [marker]), version=4)
    return [row.values()[0] for row in block.rows()]


def one_by_one(cqltype: Any, table: Any) -> list[Any]:
    """Return the value of each row of `table`, as it is passed to a bind marker of `cqltype`."""
    return [row[0] for row in rows_of(table, [ColumnMetadata("ks", "t", "c0", cqltype)])]


def arrow(values: list[Any], arrow_type: Any) -> Any:
    """Return an Arrow table with one column c0 that has these values."""
    return pyarrow.table({"c0": pyarrow.array(values, arrow_type)})
