"""The columns of tables, from pages of system_schema.columns.

This is the Python twin of `cassandra._accel.column_rows`. The table is by far the largest schema
table, with a row for each column of each table. `note_runs` walks along a page once and notes the
places of each table's rows. `columns_of` makes the columns of one table from its rows, at the first
access. Rows have the cells keyspace_name, table_name, column_name, clustering_order, kind, position
and type, each a [bytes] (native_protocol_v4.spec, section 4.2.5.2).

`usual_table` makes a whole table if it is like most: the rest of the work on it would take as long
as its columns. Thousands of columns have the same names and types, so `texts` keeps each text once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cassandra.errors import DecodeError
from cassandra.metadata.schema.elements import ColumnMetadata
from cassandra.metadata.schema.snapshot import NOTHING, TableSource
from cassandra.metadata.schema.tables import TableMetadataV3

if TYPE_CHECKING:
    from cassandra.metadata.schema.tables import MaterializedViewMetadata, TableMetadata

__all__ = ["Texts", "columns_of", "note_runs", "usual_table"]

_CELLS = 7

USUAL_FLAGS = frozenset({"compound"})

_int32_at = struct.Struct(">i").unpack_from

# For each run of rows of one table: the page, the offset of the first row, and the number of rows,
# one after the other. There are thousands of tables, so a tuple for each run would slow down the
# garbage collector.
Runs = tuple[Any, ...]
RowsOf = dict[str, dict[str, Runs]]  # by keyspace and table


class Texts:
    """Texts by their UTF-8 bytes, each kept once."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}

    def _text(self, cell: bytes | None, name: str | None) -> str:
        """Return the text of a name, or of the type of the column `name`."""
        if cell is None:
            raise bad_text(None, name)
        text = self._known.get(cell)
        if text is None:
            try:
                text = self._known[cell] = cell.decode()
            except UnicodeDecodeError as error:
                raise bad_text(error, name) from None
        return text


def note_runs(rows_of: RowsOf, body: bytes, at: int, count: int) -> None:
    """Note in `rows_of` the places of each table's rows.

    Names that are not valid text are left out.

    :param body: the page.
    :param at: offset of the first row.
    :param count: number of rows.
    :raises DecodeError: if rows go past the end of the page. The rows before them are noted.
    """
    known: bytes | None = None
    begin = rows = 0
    names: tuple[str, str] | None = None
    size_at, others = _int32_at, range(_CELLS - 2)
    try:
        for _ in range(count):
            start = at
            keyspace_end = at + 4 + max(size_at(body, at)[0], 0)
            at = keyspace_end + 4 + max(size_at(body, keyspace_end)[0], 0)
            # Compared as bytes: rows of one table stand together, so its names are decoded once.
            if body[start:at] != known:
                if names is not None:
                    _note(rows_of, names, (body, begin, rows))
                known, begin, rows = body[start:at], start, 0
                names = _names(body[start + 4 : keyspace_end], body[keyspace_end + 4 : at])
            rows += 1
            for _ in others:
                size = size_at(body, at)[0]
                at += size + 4 if size > 0 else 4
    except struct.error:
        raise _past_the_end() from None
    # Slices past the end are short without an error, so the end is checked here.
    if at > len(body):
        raise _past_the_end()
    if names is not None:
        _note(rows_of, names, (body, begin, rows))


def _note(rows_of: RowsOf, names: tuple[str, str], run: Runs) -> None:
    tables = rows_of.setdefault(names[0], {})
    # A page may end in the middle of a table, so a table may have several runs.
    tables[names[1]] = tables.get(names[1], ()) + run


def _past_the_end() -> DecodeError:
    return DecodeError("a row of system_schema.columns goes past the end of its page")


def _names(keyspace: bytes, table: bytes) -> tuple[str, str] | None:
    try:
        return keyspace.decode(), table.decode()
    except UnicodeDecodeError:
        return None


def _rows(body: bytes, at: int, count: int) -> Iterator[list[bytes | None]]:
    """Return the cells of each row, None for null."""
    size_at, end = _int32_at, len(body)
    for _ in range(count):
        cells: list[bytes | None] = []
        try:
            for _ in range(_CELLS):
                size = size_at(body, at)[0]
                at += 4
                cells.append(body[at : at + size] if size >= 0 else None)
                at += size if size > 0 else 0
        except struct.error:
            raise _past_the_end() from None
        if at > end:
            raise _past_the_end()
        yield cells


def columns_of(
    table: TableMetadata | MaterializedViewMetadata, found: Runs, texts: Texts
) -> tuple[list[ColumnMetadata], list[ColumnMetadata], dict[str, ColumnMetadata]]:
    """Return the partition key, the clustering key and all columns by name of `table`.

    Columns are in the order of today's drivers: the key, then the others by name, as they come.

    :param found: the runs of its rows that `note_runs` has found.
    :raises DecodeError: if a cell is not valid text, or not a number.
    :raises ValueError: for a null or an unknown kind.
    """
    partition_key: list[tuple[int, ColumnMetadata]] = []
    clustering_key: list[tuple[int, ColumnMetadata]] = []
    others: list[ColumnMetadata] = []
    for place in range(0, len(found), 3):
        body, at, count = found[place : place + 3]
        for _, _, name_cell, order, kind, position_cell, type_cell in _rows(body, at, count):
            name = texts._text(name_cell, None)
            position = _position(position_cell, name)
            cql_type = texts._text(type_cell, name)
            if kind == b"regular":
                others.append(ColumnMetadata(table, name, cql_type))
            elif kind == b"clustering":
                clustering_key.append(
                    (position, ColumnMetadata(table, name, cql_type, False, order == b"desc"))
                )
            elif kind == b"partition_key":
                partition_key.append((position, ColumnMetadata(table, name, cql_type)))
            elif kind == b"static":
                others.append(ColumnMetadata(table, name, cql_type, True))
            else:
                raise unknown_kind(name, kind)
    keys = in_positions(partition_key), in_positions(clustering_key)
    return *keys, {column.name: column for columns in (*keys, others) for column in columns}


def _position(cell: bytes | None, name: str) -> int:
    if cell is None or len(cell) != 4:
        raise bad_position(name, cell)
    return int.from_bytes(cell, "big", signed=True)


def bad_text(error: UnicodeDecodeError | None, name: str | None) -> Exception:
    """Return the error for a text that is null or, with `error`, not valid.

    :param name: the column whose type it is; None if it is a column's name.
    """
    what = "a column's name" if name is None else f"the type of column {name!r}"
    return (
        ValueError(f"{what} is None")
        if error is None
        else DecodeError(f"{what} cannot be decoded: {error}")
    )


def bad_position(name: str, cell: bytes | None) -> Exception:
    """Return the error for a position that is not a number of 32 bits."""
    if cell is None:
        return ValueError(f"the position of column {name!r} is None")
    return DecodeError(
        f"the position of column {name!r} cannot be decoded: an int has 4 bytes, "
        f"and this {len(cell)}"
    )


def unknown_kind(name: str, kind: bytes | None) -> Exception:
    """Return the error for an unknown kind of column."""
    if kind is None:
        return ValueError(f"the kind of column {name!r} is None")
    try:
        return ValueError(f"column {name!r} is of the unknown kind {kind.decode()!r}")
    except UnicodeDecodeError as error:
        return DecodeError(f"the kind of column {name!r} cannot be decoded: {error}")


def usual_table(source: TableSource) -> TableMetadataV3 | None:
    """Return the table of `source` without its indexes.

    None if there is more to it than `usual_table` knows, or its rows are damaged. The pages of its
    columns must have been walked by `note_runs`.
    """
    names, row, pages = source.names, source.row, source.columns
    if (
        pages is None
        or names.flags is None
        or source.virtual
        or source.error is not None
        or source.triggers
        or source.dropped
        or source.masks
        or source.scylla
        or row[names.flags] != USUAL_FLAGS
        or (names.extensions is not None and row[names.extensions])
    ):
        return None
    tables = pages.rows_of.get(source.keyspace, {})
    found = tables.pop(source.name, None)
    if found is None:
        return None
    made = TableMetadataV3(source.keyspace, source.name, triggers=NOTHING)
    try:
        made.partition_key, made.clustering_key, made.columns = columns_of(made, found, pages.texts)
    except (DecodeError, ValueError):
        made.partition_key = []
    if not made.partition_key:
        tables[source.name] = found  # the slow way finds and names the error
        return None
    made.take_row(names, row)
    made.indexes = made.views = made.dropped_columns = NOTHING
    return made


def in_positions(columns: list[tuple[int, ColumnMetadata]]) -> list[ColumnMetadata]:
    """Return the columns of a key in the order of their positions."""
    if len(columns) > 1:
        columns.sort(key=_first)
    return [column for _, column in columns]


def _first(place: tuple[int, ColumnMetadata]) -> int:
    return place[0]
