"""Helpers for tests that bind tables: make Arrow tables, and get the values that are bound."""

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

# The default options, and options with which durations are read as structs.
OPTIONS = [ColumnOptions(), ColumnOptions(durations="struct")]


def table_of(
    implementation: Implementation,
    cqltype: Any,
    cells: Sequence[bytes | None],
    options: ColumnOptions = OPTIONS[0],
) -> Any:
    """Return an Arrow table with one column c0 that has these encoded values (None for null).

    :param options: options that choose the Arrow types of the columns.
    """
    page = column_plan(implementation, [cqltype], options).read(
        page_of([[cell] for cell in cells]), 0, len(cells)
    )
    return pyarrow.Table.from_batches([pyarrow.record_batch(ArrowPage(page))])


def bound(implementation: Implementation, cqltype: Any, table: Any) -> list[bytes | None]:
    """Return the encoded value (or None) of each row, bound to one marker of type `cqltype`."""
    marker = ColumnMetadata("ks", "t", "c0", cqltype)
    plan = implementation.bind.BindPlan(
        [FakeColumn("c0", cqltype.build_codec(implementation.codecs))], None
    )
    block = plan.bind_many(rows_of(table, [marker]), version=4)
    return [row.values()[0] for row in block.rows()]


def one_by_one(cqltype: Any, table: Any) -> list[Any]:
    """Return each row's value in the form in which it is passed to a bind marker of `cqltype`."""
    return [row[0] for row in rows_of(table, [ColumnMetadata("ks", "t", "c0", cqltype)])]


def arrow(values: list[Any], arrow_type: Any) -> Any:
    """Return an Arrow table with one column c0 of the type `arrow_type` that has these values."""
    return pyarrow.table({"c0": pyarrow.array(values, arrow_type)})


def type_or_skip(name: str, *parameters: Any) -> Any:
    """Return a type of pyarrow; skip the test if pyarrow is too old to have it.

    :param name: the name of the function that makes the type.
    :param parameters: the function's arguments.
    """
    if not hasattr(pyarrow, name):
        pytest.skip(f"pyarrow {pyarrow.__version__} has no type {name}")
    return getattr(pyarrow, name)(*parameters)
