"""Helpers for tests that build pages of rows of any types, and make columns comparable."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.protocol.columnar.layouts import (
    DEFAULT_OPTIONS,
    ColumnArray,
    ColumnOptions,
    Layout,
    layout_of,
)
from cassandra.protocol.messages.results import ResultMessage
from cassandra.protocol.opcodes import RESULT_KIND_ROWS
from tests.unit.protocol.wire import value

# This is an encoded value; None is null.
Cell = bytes | None


def page_of(rows: Sequence[Sequence[Cell]]) -> bytes:
    """Return the rows as the content of a ROWS response: each cell after its length."""
    return b"".join(value(cell) for row in rows for cell in row)


def message_of(
    columns: dict[str, Any], rows: Sequence[Sequence[Cell]], paging_state: bytes | None = None
) -> ResultMessage:
    """Return a result message with these rows.

    :param columns: type classes of `cassandra.cqltypes` by column name.
    :param paging_state: None if there are no more pages.
    """
    metadata = ResultMetadata(
        [ColumnMetadata("ks", "t", name, cql_type) for name, cql_type in columns.items()]
    )
    return message_with(metadata, page_of(rows), len(rows), paging_state)


def message_with(
    metadata: ResultMetadata, body: bytes, row_count: int, paging_state: bytes | None = None
) -> ResultMessage:
    """Return a result message in the state in which a session receives it.

    :param body: the rows in the form in which `page_of` returns them.
    :param row_count: the number of rows in `body`.
    :param paging_state: None if there are no more pages.
    """
    message = ResultMessage(RESULT_KIND_ROWS)
    message.metadata = metadata
    message.take_rows(body, row_count)
    message.paging_state = paging_state
    return message


def column_plan(
    implementation: Any, cql_types: Sequence[Any], options: ColumnOptions = DEFAULT_OPTIONS
) -> Any:
    """Return a column plan of one implementation for columns c0, c1 and so on of these types."""
    codecs: ModuleType = implementation.codecs
    names = [f"c{index}" for index in range(len(cql_types))]
    return implementation.column_buffers.ColumnPlan(
        names,
        [cql_type.build_codec(codecs) for cql_type in cql_types],
        [layout_of(cql_type, options) for cql_type in cql_types],
    )


def dumped(column: ColumnArray) -> Any:
    """Return everything that `column` contains as plain objects, for comparisons."""
    buffers = [
        None if buffer is None else bytes(memoryview(buffer).cast("B")) for buffer in column.buffers
    ]
    return (
        column.layout,
        column.length,
        column.null_count,
        buffers,
        [dumped(child) for child in column.children],
    )


# Values of these Arrow formats do not always fit Python's datetime. Maps the formats to the formats
# of plain numbers, which tests use instead.
_PLAIN = {"tdD": "i", "tsm:UTC": "l", "ttn": "l"}


def with_plain_types(column: ColumnArray) -> ColumnArray:
    """Return `column` with numbers instead of dates and times, and bytes instead of UUIDs.

    Every reader of Arrow returns numbers and bytes unchanged.
    """
    layout = column.layout
    children = tuple(with_plain_types(child) for child in column.children)
    layout = layout._replace(
        format=_PLAIN.get(layout.format, layout.format),
        extension="",
        children=tuple(child.layout for child in children),
    )
    return ColumnArray(layout, column.length, column.null_count, column.buffers, children)


def as_column(layout: Layout, item: Any) -> Any:
    """Return what a reader of Arrow returns for `item`, a value of a decoded row.

    The reader gets the column as `with_plain_types` returns it.

    :param layout: the layout of the column.
    """
    if item is None:
        return None
    convert = _CONVERT.get(layout.kind)
    if convert is not None:
        return convert(layout, item)
    return item


def _millis(layout: Layout, item: Any) -> Any:
    """Return a datetime of a timestamp column as milliseconds since 1970.

    Other items are returned unchanged.
    """
    if not layout.format.startswith("ts") or isinstance(item, int):
        return item
    # 719163 is the ordinal number of 1970-01-01.
    days_since_1970 = item.toordinal() - 719163
    return (
        ((days_since_1970 * 24 + item.hour) * 60 + item.minute) * 60_000
        + item.second * 1000
        + item.microsecond // 1000
    )


def _pairs(layout: Layout, item: Any) -> Any:
    """Return a map as a list of pairs (key, value)."""
    key_layout, value_layout = layout.children[0].children
    return [
        (as_column(key_layout, key), as_column(value_layout, mapped))
        for key, mapped in item.items()
    ]


# the function that converts an item, for each kind of layout
_CONVERT: dict[str, Any] = {
    "number": _millis,
    "bytes": lambda layout, item: item.bytes,
    "date": lambda layout, item: item.days_from_epoch,
    "time": lambda layout, item: item.nanosecond_time,
    "varint": lambda layout, item: str(item),
    "decimal": lambda layout, item: str(item),
    "duration": lambda layout, item: (item.months, item.days, item.nanoseconds),
    "list": lambda layout, item: [as_column(layout.children[0], element) for element in item],
    "vector": lambda layout, item: [as_column(layout.children[0], element) for element in item],
    "map": _pairs,
    "struct": lambda layout, item: {
        name: as_column(child, element)
        for name, child, element in zip(layout.names, layout.children, item, strict=True)
    },
}
